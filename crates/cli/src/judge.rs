//! `sojourn judge`: another simulator's figures of the fidelity grid, held to the recorded kernel.

use crate::fidelity::{PAGE, pairs, write};
use crate::out::check_folder;
use crate::worlds::squares;
use crate::{WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use sojourn_fidelity::{Code, Entry, Grid, Matrix, Square};
use sojourn_scenario::read_text;
use sojourn_world::WorldName;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Most bytes of a table that is read.
const MOST: u64 = 64 << 20;

/// Compare another simulator's figures with recorded results of Linux
///
/// The table is that of `sojourn fidelity --csv`: a line for each cell, with the simulator's own
/// name as its world, and means over seeds with half the width of their 95 % intervals. Figures
/// that it does not have are left empty. `--cells` prints the table's first columns for all cells.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn judge --cells > ns3.csv       the cells that are recorded, with no figures
  sojourn judge ns3.csv                 how far they are from Linux
  sojourn judge ns3.csv --out out/ns3   the same as a page with heat maps, and as a table

Exit status: 0 when the table was compared, whatever the result, 2 when it cannot be read.")]
pub(crate) struct JudgeArgs {
    /// The table of the other simulator
    #[arg(value_name = "FILE", required_unless_present = "cells")]
    file: Option<PathBuf>,

    /// Print the recorded cells as a table without figures
    #[arg(long, conflicts_with_all = ["file", "out"])]
    cells: bool,

    /// Write fidelity.html, fidelity.csv and fidelity.parquet into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn judge(args: &JudgeArgs) -> anyhow::Result<u8> {
    let Some(file) = &args.file else {
        print(&cells()?)?;
        return Ok(0);
    };
    let wrong = |error: String| WrongInput(format!("{}: {error}", file.display()));
    let text = read_text(file, MOST).map_err(|error| wrong(error.to_string()))?;
    let (matrix, unknown) = beside_kernel(&text).map_err(wrong)?;
    let mut notes = Vec::new();
    if let Some(first) = unknown.first() {
        notes.push(format!(
            "{} cells are not recorded, such as {first}: they are left out",
            unknown.len()
        ));
    }
    let mut said = pairs(&matrix);
    for note in &notes {
        let _ = writeln!(said, "Note: {note}.");
    }
    if let Some(dir) = &args.out {
        check_folder(dir)?;
        write(dir, &matrix, &notes).with_context(|| format!("--out {}", dir.display()))?;
        let _ = writeln!(said, "{}", dir.join(PAGE).display());
    }
    print(&said)?;
    Ok(0)
}

/// The table's cells beside what Linux with its own queues made of them, and the names of those
/// that are not recorded. The error says what is wrong with the table.
pub(crate) fn beside_kernel(text: &str) -> Result<(Matrix, Vec<String>), String> {
    let theirs = Matrix::parse(&[], text).map_err(|error| error.to_string())?;
    let known = squares();
    let linux = known.last().expect("there are worlds");
    let names: BTreeSet<&WorldName> = theirs.entries.iter().map(|entry| &entry.world).collect();
    if names.is_empty() {
        return Err("it has no cell; `sojourn judge --cells` prints the ones there are".into());
    }
    let has_figures = |entry: &Entry| entry.figures.iter().any(Option::is_some);
    if !theirs.entries.iter().any(has_figures) {
        return Err(
            "no cell has a figure; fill in at least one of the columns, such as `goodput_mbps`"
                .into(),
        );
    }
    if let Some(taken) = known.iter().find(|square| names.contains(&square.world)) {
        return Err(format!(
            "the world `{}` is one of Sojourn's; give the simulator a name of its own",
            taken.world
        ));
    }
    let others = names.into_iter().map(|name| Square {
        world: name.clone(),
        title: "another simulator: its TCP, its queues",
        tcp: Code::Other,
        queues: Code::Other,
        inside: false,
        repeats: true,
        kernel: None,
    });
    // For the rest of the program's life, as the table of worlds.
    let all: &'static [Square] = Vec::leak(others.chain([linux.clone()]).collect());
    let recorded = Matrix::recorded(known).map_err(|error| error.to_string())?;
    let mut matrix = Matrix {
        squares: all,
        entries: Vec::new(),
    };
    let mut unknown = Vec::new();
    for entry in theirs.entries {
        match recorded.get(&entry.place, &linux.world) {
            Some(kernel) => matrix.entries.extend([entry, kernel.clone()]),
            None => unknown.push(entry.place.name()),
        }
    }
    if matrix.entries.is_empty() {
        return Err(format!(
            "none of its cells is recorded, such as {}; `sojourn judge --cells` prints those that \
             are",
            unknown[0]
        ));
    }
    // Of several simulators in one table the kernel's line stands once.
    let mut once = Matrix {
        squares: all,
        entries: Vec::new(),
    };
    once.merge(matrix);
    Ok((once, unknown))
}

/// The cells that are recorded, without figures.
fn cells() -> anyhow::Result<String> {
    let places = Grid::new(1, false, &[])?.places();
    let mut matrix = Matrix::recorded(squares())?.only(&places);
    let linux = squares().last().expect("there are worlds");
    matrix.entries.retain(|entry| entry.world == linux.world);
    for entry in &mut matrix.entries {
        entry.world = WorldName::new("name-of-the-simulator");
        entry.figures = [None; sojourn_fidelity::FIGURES.len()];
    }
    Ok(matrix.csv())
}
