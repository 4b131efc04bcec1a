//! What a report needs to know of the scenario that cells come from.

/// A scenario in words, without its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioInfo {
    /// Short name: the scenario's `name`, or the file's stem.
    pub name: String,
    /// One line for a heading; empty: the name serves.
    pub title: String,
    /// Sentences for people; may be empty.
    pub description: String,
    /// Version of the scenario format that the file is written in.
    pub version: u32,
    /// What is swept, in the order of the grid; empty without a sweep.
    pub axes: Vec<Axis>,
    /// The text of the file, for the reader of a report.
    pub source: Option<String>,
    /// Which of the scenario's runs there are; None: all.
    pub shard: Option<Shard>,
}

/// Every `of`th run of a scenario, from the `number`th on, in each of its worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, counted from 1.
    pub number: usize,
    /// How many shards make the whole.
    pub of: usize,
    /// Runs of the whole in one world.
    pub runs: usize,
}

impl Shard {
    /// Places of its runs among those of the whole, from 0.
    pub fn places(self) -> impl ExactSizeIterator<Item = usize> {
        (self.number.saturating_sub(1)..self.runs).step_by(self.of.max(1))
    }
}

/// A swept field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// The key under which it stands in a cell's `params`.
    pub field: String,
    /// Its values as they stand in `params`, in the scenario's order.
    pub values: Vec<String>,
}

impl Axis {
    /// Adds values of a field to the axes, those that are new behind the others.
    pub fn add<'a>(
        axes: &mut Vec<Self>,
        field: &str,
        values: impl IntoIterator<Item = &'a String>,
    ) {
        let known = axes.iter().position(|axis| axis.field == field);
        let at = known.unwrap_or_else(|| {
            let (field, values) = (field.to_owned(), Vec::new());
            axes.push(Self { field, values });
            axes.len() - 1
        });
        for value in values {
            if !axes[at].values.contains(value) {
                axes[at].values.push(value.clone());
            }
        }
    }
}
