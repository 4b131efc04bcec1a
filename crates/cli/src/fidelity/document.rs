//! `docs/fidelity.md`: what the recorded matrix says.

use crate::judge::beside_kernel;
use crate::worlds::squares;
use sojourn_fidelity::{
    Cause, FIGURES, Matrix, MatrixCell, PhaseSummary, Summary, Tally, command, tolerance,
};
use sojourn_kernel::Kernel;
use sojourn_tidy::generated;
use sojourn_world::WorldName;
use std::fmt::Write as _;

/// How many of the worst cells are shown.
const SHOWN: usize = 12;

fn tolerances() -> String {
    let mut text = String::from("| figure | tolerance |\n| --- | --- |\n");
    for figure in FIGURES {
        let words = tolerance(&figure);
        let _ = writeln!(text, "| {} | {words} |", figure.title);
    }
    text
}

fn row(row: &PhaseSummary) -> String {
    let share = |(tally, median): (&Tally, &Option<f64>)| match median {
        Some(median) => format!("{}, {:.1} %", tally.show(), 100.0 * median),
        None => tally.show(),
    };
    let cells: Vec<String> = row.tallies.iter().zip(&row.median).map(share).collect();
    format!("| {} | {} |\n", row.phase, cells.join(" | "))
}

fn pair(summary: &Summary) -> String {
    let (first, other) = (summary.pair.first, summary.pair.other);
    let mut text = format!(
        "### `{}` and `{}`: another {}\n\n{}; {}. {} cells.\n\n",
        first.world,
        other.world,
        summary.pair.what(),
        first.title,
        other.title,
        summary.cells
    );
    let titles: Vec<&str> = FIGURES.iter().map(|figure| figure.title).collect();
    let _ = writeln!(text, "| phase | {} |", titles.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(titles.len() + 1));
    text.extend(summary.rows.iter().map(row));
    if !summary.causes.is_empty() {
        let cause = |(cause, count): &(Cause, usize)| format!("{count} {}", cause.name());
        let causes: Vec<String> = summary.causes.iter().map(cause).collect();
        let _ = writeln!(
            text,
            "\nDifferent figures, by cause: {}.",
            causes.join(", ")
        );
    }
    let (undecided, of) = summary.undecided();
    let _ = writeln!(
        text,
        "\nUndecided: {undecided} of {of} figures.{} The interval excludes zero in:\n",
        summary
            .seeds_to_decide()
            .map_or_else(String::new, |needs| format!(" {needs}"))
    );
    for one in summary.evidence() {
        let _ = writeln!(text, "- {one}");
    }
    if !summary.worst.is_empty() {
        text += "\n| worst cells | largest difference | cause |\n| --- | --- | --- |\n";
    }
    for worst in summary.worst.iter().take(SHOWN) {
        let (difference, cause) = worst.largest();
        let _ = writeln!(
            text,
            "| `{}` | {} {} | {} |",
            worst.place.name(),
            difference.figure.title,
            difference.show(),
            cause.map_or("", Cause::name)
        );
    }
    text
}

/// What other kernels made of a part of the grid, beside the simulator and the usual kernel; of
/// those two the table's own figures, if it has them.
fn kernels(recorded: &Matrix, table: &str) -> String {
    let table = sojourn_tidy::root().join(table);
    let text = std::fs::read_to_string(table).expect("the repository has it");
    let mut matrix = Matrix::parse(squares(), &text).expect("the table is right");
    let places: Vec<MatrixCell> = matrix.places().into_iter().cloned().collect();
    let usual = [squares().first(), squares().last()].map(|square| &square.expect("some").world);
    let has = |world: &WorldName| matrix.entries.iter().any(|entry| entry.world == *world);
    let wanted: Vec<_> = usual
        .into_iter()
        .filter(|world| !has(world))
        .cloned()
        .collect();
    let mut beside = recorded.only(&places);
    beside.entries.retain(|entry| wanted.contains(&entry.world));
    matrix.merge(beside);
    let summaries = Summary::all(&matrix.only(&places)).into_iter();
    let other = |summary: &Summary| {
        let pair = summary.pair;
        pair.first.kernel.is_some() || pair.other.kernel.is_some()
    };
    let pairs: Vec<String> = summaries.filter(other).map(|one| pair(&one)).collect();
    pairs.join("\n")
}

/// How far ns-3 is from Linux, and the simulator in the same cells.
fn ns_3(recorded: &Matrix) -> String {
    let table = sojourn_tidy::root().join("scenarios/fidelity/ns-3.csv");
    let text = std::fs::read_to_string(table).expect("the repository has it");
    let (theirs, unknown) = beside_kernel(&text).expect("the table is right");
    assert!(unknown.is_empty(), "not recorded: {unknown:?}");
    let places: Vec<MatrixCell> = theirs.places().into_iter().cloned().collect();
    let usual = [squares().first(), squares().last()].map(|square| &square.expect("some").world);
    let mut ours = recorded.only(&places);
    ours.entries.retain(|entry| usual.contains(&&entry.world));
    let summaries = [ours, theirs].map(|matrix| {
        let mut all = Summary::all(&matrix).into_iter();
        all.find(|summary| summary.cells > 0)
            .expect("they have cells in common")
    });
    let titles: Vec<&str> = FIGURES.iter().map(|figure| figure.title).collect();
    let mut text = format!("| simulator, cells | {} |\n", titles.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(titles.len() + 1));
    for summary in &summaries {
        for of_phase in &summary.rows {
            let line = row(of_phase);
            let _ = write!(text, "| `{}`, {}", summary.pair.first.world, &line[2..]);
        }
    }
    for summary in &summaries {
        let (undecided, of) = summary.undecided();
        let _ = writeln!(
            text,
            "\n`{}`: {undecided} of {of} figures undecided. The interval excludes zero in:\n",
            summary.pair.first.world
        );
        for one in summary.evidence() {
            let _ = writeln!(text, "- {one}");
        }
    }
    text
}

#[test]
fn the_page_of_the_recorded_matrix_is_current() {
    let matrix = Matrix::recorded(squares()).expect("the built-in table is right");
    let summaries = Summary::all(&matrix);
    let pairs: Vec<String> = summaries.iter().map(pair).collect();
    generated::part("docs/fidelity.md", "tolerances", &tolerances());
    generated::part("docs/fidelity.md", "matrix", &pairs.join("\n"));
    for part in ["kernels", "ticks"] {
        let table = format!("scenarios/fidelity/{part}.csv");
        generated::part("docs/fidelity.md", part, &kernels(&matrix, &table));
    }
    generated::part("docs/fidelity.md", "ns-3", &ns_3(&matrix));
    let example = command("steady/10mbit/50ms/codel/cubic/4", &Kernel::TC_NAME);
    let page = std::fs::read_to_string(sojourn_tidy::root().join("docs/fidelity.md"));
    assert!(page.expect("it was read above").contains(&example));
}
