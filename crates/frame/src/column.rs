//! A column: its name, its unit and its values.

use indexmap::IndexSet;

/// A column of a [`Frame`](crate::Frame).
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, which ends with the unit where there is one.
    pub name: String,
    /// The unit of its numbers as in results (`ms`, `bit/s`); empty where there is none.
    pub unit: String,
    /// What it says, in a sentence; empty for parameters.
    pub meaning: String,
    /// A value for each row.
    pub values: Values,
}

/// The values of a column, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN where there is none. Every figure is one, so that it has the same type in every
    /// table, and the difference of two may be below zero.
    Number(Vec<f64>),
    /// Whole numbers, one in every row.
    Whole(Vec<i64>),
    /// Seeds, one in every row.
    Seed(Vec<u64>),
    /// `true`, `false`, or nothing.
    Switch(Vec<Option<bool>>),
    /// Words, each kept once.
    Text(Words),
}

/// Texts by their number in a list of distinct ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    list: IndexSet<String>,
    is_ordered: bool,
    /// For each row the number of its text.
    numbers: Vec<Option<u32>>,
}

impl Words {
    /// No rows yet, of texts that have an order: that of the list.
    pub(crate) fn ordered<'a>(list: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            list: list.into_iter().map(str::to_owned).collect(),
            is_ordered: true,
            numbers: Vec::new(),
        }
    }

    /// Whether the order of the list means something: that of the sweep.
    pub const fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Adds a row.
    pub fn push(&mut self, text: Option<&str>) {
        let number = text.map(|text| self.number(text));
        self.numbers.push(number);
    }

    /// Adds so many rows of the same text.
    pub(crate) fn repeat(&mut self, text: &str, rows: usize) {
        let number = self.number(text);
        self.numbers.extend(std::iter::repeat_n(Some(number), rows));
    }

    fn number(&mut self, text: &str) -> u32 {
        let known = self.list.get_index_of(text);
        let number = known.unwrap_or_else(|| self.list.insert_full(text.to_owned()).0);
        u32::try_from(number).expect("distinct texts are fewer than 2^32")
    }

    /// The distinct texts: in the order of the sweep if they have one, else of their first rows.
    pub fn list(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str)
    }

    /// For each row the number of its text in the list.
    pub fn numbers(&self) -> &[Option<u32>] {
        &self.numbers
    }

    /// The text of each row.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let text = |number: u32| self.list[number as usize].as_str();
        self.numbers.iter().map(move |number| number.map(text))
    }
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Number(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Seed(values) => values.len(),
            Self::Switch(values) => values.len(),
            Self::Text(words) => words.numbers.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Texts of rows.
    pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut words = Words::default();
        texts.into_iter().for_each(|text| words.push(text));
        Self::Text(words)
    }

    /// The value of a row for people; nothing where there is none.
    pub fn show(&self, row: usize) -> String {
        match self {
            Self::Number(values) if values[row].is_nan() => String::new(),
            Self::Number(values) => format!("{}", values[row]),
            Self::Whole(values) => values[row].to_string(),
            Self::Seed(values) => values[row].to_string(),
            Self::Switch(values) => values[row].map_or_else(String::new, |on| on.to_string()),
            Self::Text(words) => {
                let text =
                    words.numbers[row].and_then(|number| words.list.get_index(number as usize));
                text.cloned().unwrap_or_default()
            }
        }
    }
}
