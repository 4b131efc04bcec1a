//! `fidelity.parquet`: the table as a data set, with which kernel each line is of.
//!
//! The recipe is this program's: what it changes and sets in Debian's source before it builds a
//! guest's kernel (`sojourn kernel build`).

use crate::worlds::squares;
use sojourn_fidelity::{Code, FIGURES, Matrix, Square};
use sojourn_kernel::Variant;
use sojourn_report::{ColumnType, Field, Recording, ReportError};
use std::path::Path;

/// The file's name.
pub(super) const DATASET: &str = "fidelity.parquet";

/// Columns before the figures; those of the cell have the names of the CSV table.
const COLUMNS: [(&str, ColumnType); 12] = [
    ("phase", ColumnType::Text),
    ("rate", ColumnType::Text),
    ("rtt", ColumnType::Text),
    ("queue", ColumnType::Text),
    ("cc", ColumnType::Text),
    ("flows", ColumnType::Text),
    ("world", ColumnType::Text),
    ("kernel", ColumnType::Text),
    ("tick_hz", ColumnType::Count),
    ("recipe", ColumnType::Text),
    ("program", ColumnType::Text),
    ("seeds", ColumnType::Count),
];

/// The guest's kernel that a world has; none of what runs in no guest.
fn kernel_of(square: &Square) -> Option<Variant> {
    let in_guest = square.tcp == Code::Kernel && square.repeats;
    let mut all = Variant::all();
    let found = match &square.kernel {
        Some(name) => all.find(|kernel| kernel.to_string() == *name),
        None => all.next(),
    };
    found.filter(|_| in_guest)
}

/// A text, empty where there is none.
const fn text(text: &str) -> Field<'_> {
    if text.is_empty() {
        Field::Empty
    } else {
        Field::Text(text)
    }
}

/// Writes it into a folder.
pub(super) fn write(dir: &Path, matrix: &Matrix) -> Result<(), ReportError> {
    let names: Vec<String> = FIGURES
        .iter()
        .flat_map(|figure| [figure.key.to_owned(), format!("{}_ci95", figure.key)])
        .collect();
    let figures = names.iter().map(|name| (&**name, ColumnType::Number));
    let columns: Vec<_> = COLUMNS.into_iter().chain(figures).collect();
    let mut table = Recording::begin(&dir.join(DATASET), &columns)?;
    for entry in &matrix.entries {
        let square = squares().iter().find(|known| known.world == entry.world);
        let kernel = square.and_then(kernel_of);
        let (version, recipe) = match kernel {
            Some(kernel) => (kernel.version.to_string(), kernel.recipe()),
            None => Default::default(),
        };
        let place = [&entry.place.phase].into_iter().chain(&entry.place.values);
        let mut row: Vec<Field<'_>> = place.map(|value| text(value)).collect();
        row.extend([
            text(entry.world.as_str()),
            text(&version),
            kernel.map_or(Field::Empty, |kernel| Field::Count(kernel.tick.hz().into())),
            text(&recipe),
            text(sojourn_version::VERSION),
            Field::Count(entry.seeds as u64),
        ]);
        for value in &entry.figures {
            let of = |number: Option<f64>| number.map_or(Field::Empty, Field::Number);
            row.push(of(value.map(|value| value.mean)));
            row.push(of(value.and_then(|value| value.ci95)));
        }
        table.row(&row)?;
    }
    table.finish()?;
    Ok(())
}
