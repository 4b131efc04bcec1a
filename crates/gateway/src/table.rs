//! Plain tables for terminals: columns as wide as their widest cell, if the terminal has room.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

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

    /// The table as text. On a terminal it is as wide as that: titles and texts take several lines.
    pub fn show(&self) -> String {
        let room = io::stdout()
            .is_terminal()
            .then(ratatui::crossterm::terminal::size)
            .and_then(Result::ok);
        self.within(room.map_or(usize::MAX, |(columns, _)| usize::from(columns)))
    }

    /// The same, not wider than `room`, if words allow it.
    fn within(&self, room: usize) -> String {
        let titles: Vec<String> = { self.head.iter() }
            .map(|column| column.title.clone())
            .collect();
        let widths = self.widths(&titles, room);
        let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut out = String::new();
        for row in [&titles, &rules].into_iter().chain(&self.rows) {
            let cells: Vec<Vec<&str>> = { widths.iter().enumerate() }
                .map(|(i, &width)| lines(row.get(i).map_or("", String::as_str), width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for number in 0..height {
                let mut line = String::new();
                for ((column, &width), cell) in self.head.iter().zip(&widths).zip(&cells) {
                    let text = cell.get(number).copied().unwrap_or_default();
                    let _ = if column.right {
                        write!(line, "{text:>width$}  ")
                    } else {
                        write!(line, "{text:<width$}  ")
                    };
                }
                let _ = writeln!(out, "{}", line.trim_end());
            }
        }
        out
    }

    /// The columns' widths: of what stands in them, or narrower for the sake of the room. Titles
    /// are broken first, then the texts of the widest columns.
    fn widths(&self, titles: &[String], room: usize) -> Vec<usize> {
        let widest = |i: usize, of: fn(&str) -> usize| {
            let cells = self.rows.iter().filter_map(move |row| row.get(i));
            cells.map(|cell| of(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = { titles.iter().enumerate() }
            .map(|(i, title)| length(title).max(widest(i, length)))
            .collect();
        let is_too_wide = |widths: &[usize]| {
            let gaps = GAP * widths.len().saturating_sub(1);
            widths.iter().sum::<usize>() + gaps > room
        };
        let by_title = |i: usize| longest_word(&titles[i]).max(widest(i, length));
        let by_words = |i: usize| {
            if self.head[i].right {
                by_title(i)
            } else {
                longest_word(&titles[i]).max(widest(i, longest_word))
            }
        };
        for least in [&by_title as &dyn Fn(usize) -> usize, &by_words] {
            let least: Vec<usize> = (0..widths.len()).map(least).collect();
            while is_too_wide(&widths) {
                let columns = (0..widths.len()).filter(|&i| widths[i] > least[i]);
                let Some(column) = columns.max_by_key(|&i| widths[i]) else {
                    break;
                };
                widths[column] -= 1;
            }
        }
        widths
    }
}

/// Blanks between columns.
const GAP: usize = 2;

fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(length).max().unwrap_or(0)
}

/// A cell's lines, broken between words.
fn lines(text: &str, width: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while length(rest) > width {
        let fits = |&(at, _): &(usize, &str)| length(&rest[..at]) <= width;
        let breaks = rest.match_indices(' ').filter(|&(at, _)| at > 0);
        let Some((at, _)) = breaks.take_while(fits).last() else {
            break;
        };
        lines.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    lines.push(rest);
    lines
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

    #[test]
    fn a_table_is_as_wide_as_its_terminal() {
        let mut table = Table::new(["link", "qdisc", ">Sojourn time p50 ms"]);
        table.row(vec![
            "up".into(),
            "fq_codel limit 10240 flows 1024".into(),
            "4.18".into(),
        ]);
        let whole = table.within(usize::MAX);
        assert_eq!(whole.lines().count(), 3);
        assert_eq!(table.within(58), whole, "it fits");
        assert_eq!(
            table.within(50),
            "link  qdisc                                Sojourn\n\
             \x20                                      time p50 ms\n\
             ----  -------------------------------  -----------\n\
             up    fq_codel limit 10240 flows 1024         4.18\n"
        );
        assert_eq!(
            table.within(30),
            "link  qdisc            Sojourn\n\
             \x20                         time\n\
             \x20                       p50 ms\n\
             ----  ---------------  -------\n\
             up    fq_codel limit      4.18\n\
             \x20     10240 flows\n\
             \x20     1024\n"
        );
        // Words stay whole, whatever the room.
        assert!(table.within(5).contains("up    fq_codel     4.18\n"));
    }
}
