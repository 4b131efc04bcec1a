//! Plain tables for terminals: columns as wide as their widest cell.

use std::fmt::Write as _;

/// A table that is being filled.
pub struct Table {
    head: Vec<Column>,
    rows: Vec<Vec<String>>,
}

struct Column {
    title: String,
    right: bool,
}

impl Table {
    /// A table with these columns; a title that begins with `>` has its column flush right.
    pub fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Self {
        let column = |title: &str| Column {
            title: title.trim_start_matches('>').to_owned(),
            right: title.starts_with('>'),
        };
        let head = titles.into_iter().map(column).collect();
        let rows = Vec::new();
        Self { head, rows }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as text.
    pub fn show(&self) -> String {
        let cell = |row: &[String], i: usize| row.get(i).cloned().unwrap_or_default();
        let titles: Vec<String> = self
            .head
            .iter()
            .map(|column| column.title.clone())
            .collect();
        let width = |i| {
            let rows = self.rows.iter().chain([&titles]);
            rows.map(|row| cell(row, i).chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut out = String::new();
        for row in [&titles, &rules].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (i, (column, &width)) in self.head.iter().zip(&widths).enumerate() {
                let text = cell(row, i);
                let _ = if column.right {
                    write!(line, "{text:>width$}  ")
                } else {
                    write!(line, "{text:<width$}  ")
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["qdisc", ">ms"]);
        table.row(vec!["pfifo limit 490".into(), "1200.0".into()]);
        table.row(vec!["pie".into(), "42.1".into()]);
        table.row(vec!["é".into()]);
        assert_eq!(
            table.show(),
            "qdisc                ms\n\
             ---------------  ------\n\
             pfifo limit 490  1200.0\n\
             pie                42.1\n\
             é\n"
        );
    }
}
