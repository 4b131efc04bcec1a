//! Values measured elsewhere, which claims and pictures set beside ours.

use super::evaluate::{Missing, Place};
use super::{Unit, Vocabulary};

/// A table of values with their provenance.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    /// What made it: program, version, command.
    pub(crate) source: String,
    /// Its file, as it is named in messages.
    pub(crate) file: String,
    /// The axes that its rows are keyed by.
    pub(crate) axes: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// A quantity that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Empty when there is one quantity only.
    pub(crate) name: String,
    pub(crate) unit: Unit,
}

/// One measurement; several with the same key are repetitions.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// A value of each of the axes.
    pub(crate) key: Vec<usize>,
    /// One of each column, NaN where nothing was measured.
    pub(crate) values: Vec<f64>,
}

impl Recorded {
    /// The names by which quantities know its columns.
    pub(crate) fn words(&self) -> Vec<String> {
        let columns = self.columns.iter();
        columns
            .map(|column| match &column.name[..] {
                "" => format!("ref.{}", self.name),
                column => format!("ref.{}.{column}", self.name),
            })
            .collect()
    }

    /// The repetitions of a column's value at a place. An axis that the rows are not keyed by
    /// makes no difference.
    pub(crate) fn at(
        &self,
        column: usize,
        place: &Place,
        words: &Vocabulary,
    ) -> Result<Vec<f64>, Missing> {
        let fits = |row: &&Row| {
            let mut key = self.axes.iter().zip(&row.key);
            key.all(|(axis, value)| place.iter().all(|(a, v)| a != axis || v == value))
        };
        let rows: Vec<&Row> = self.rows.iter().filter(fits).collect();
        let said = place.iter().filter(|(axis, _)| self.axes.contains(axis));
        let said = super::evaluate::show(words, said);
        if let Some(other) = rows.iter().find(|row| row.key != rows[0].key) {
            let axes = self.axes.iter().zip(rows[0].key.iter().zip(&other.key));
            let differing: Vec<&str> = axes
                .filter(|(_, (a, b))| a != b)
                .map(|(axis, _)| words.axes[*axis].name.as_str())
                .collect();
            let several = Missing::several(&said, "row", &differing).message();
            return Err(Missing::Unclear(format!("{}: {several}", self.file)));
        }
        let values = rows.iter().map(|row| row.values[column]);
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        if values.is_empty() {
            let word = &self.words()[column];
            let missing = format!("{} has no value of `{word}` for {said}", self.file);
            return Err(Missing::Cell(missing.trim_end_matches(" for ").to_owned()));
        }
        Ok(values)
    }
}
