//! A table of columns of equal length.

use crate::column::{Column, Values};

/// A table: columns of equal length, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The columns; their names are distinct.
    pub columns: Vec<Column>,
}

impl Frame {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Adds a column; a name that is taken gets a `_` behind it.
    pub(crate) fn push(&mut self, name: &str, unit: &str, meaning: &str, values: Values) {
        let mut name = name.to_owned();
        while self.column(&name).is_some() {
            name.push('_');
        }
        self.columns.push(Column {
            name,
            unit: unit.to_owned(),
            meaning: meaning.to_owned(),
            values,
        });
        let lengths = self.columns.iter().map(|column| column.values.len());
        debug_assert!(
            lengths.min() == Some(self.len()),
            "columns have equal lengths"
        );
    }
}
