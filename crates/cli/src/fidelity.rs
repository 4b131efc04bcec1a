//! `sojourn fidelity`: a fixed grid of cells in several worlds, and how far they agree.

use crate::kernel::KernelChoice;
use crate::out::check_folder;
use crate::progress::Bar;
use crate::run::run_cells;
use crate::worlds::{self, Row, Setup, WORLDS, squares};
use crate::{FAILED, INTERRUPTED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sojourn_fidelity::{Code, FIGURES, Grid, Matrix, Square, Summary, Tally};
use sojourn_gateway::Table;
use sojourn_gateway::stop_on_signal;
use sojourn_live::Queues;
use sojourn_scenario::read_text;
use sojourn_world::Cell;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The page's file name.
pub(crate) const PAGE: &str = "fidelity.html";
/// The table's file name.
const TABLE: &str = "fidelity.csv";
/// Most bytes of a table that is read.
const MOST_OF_RECORD: u64 = 64 << 20;
/// How many of the cells that differ most are printed.
const SHOWN: usize = 5;

/// Run a fixed grid of cells in several worlds and say how far they agree
///
/// What is not run here is taken from the recorded matrix that is built into the program, so that
/// the simulator is held to the kernel where there is none.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn fidelity                                    the simulator beside the recorded kernel
  sojourn fidelity --quick --world sim,kernel-tc      one cell of eleven, both run here
  sojourn fidelity --cell steady/10mbit/50ms/codel    only these cells
  sojourn fidelity --out out/fidelity                 fidelity.html and fidelity.csv

Exit status: 0 when every run succeeded, however far the worlds agree, 1 when one failed, 2 when
the input is wrong (nothing is run or written), 130 after Ctrl-C (nothing is written).")]
pub(crate) struct FidelityArgs {
    /// Run it in these worlds; of the others the recorded figures are shown
    #[arg(
        long,
        value_name = "WORLD,...",
        value_delimiter = ',',
        value_parser = square(),
        default_value = WORLDS[0].name.as_str()
    )]
    world: Vec<&'static Square>,

    /// One cell of eleven, with one seed: every queue and every congestion control comes up
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,

    /// Only cells whose name contains this; may be repeated
    #[arg(long, value_name = "TEXT")]
    cell: Vec<String>,

    /// Number of seeds; of more than one, intervals are shown
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    #[arg(long, value_name = "N", help = worlds::jobs_help())]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    kernel: KernelChoice,

    /// Take what is not run from this table instead of the recorded matrix
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Print the table as CSV on standard output, and nothing else there
    #[arg(long)]
    csv: bool,

    /// Write fidelity.html and fidelity.csv into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl FidelityArgs {
    /// What clap cannot check.
    fn check(&self) -> Result<(), WrongInput> {
        let words = self.kernel.words();
        for (_, word) in words.into_iter().filter(|(given, _)| *given) {
            if !self.world.iter().any(|square| place(square).0.has_kernels) {
                let rows = WORLDS.iter().filter(|row| row.has_kernels);
                let squares = rows.flat_map(|row| row.squares);
                let fit: Vec<&str> = squares.map(|square| square.world.as_str()).collect();
                let fit = fit.join(" or ");
                return Err(WrongInput(format!("{word} needs --world {fit}")));
            }
        }
        Ok(())
    }

    fn grid(&self) -> anyhow::Result<Grid> {
        let seeds = if self.quick { 1 } else { self.seeds };
        let grid = Grid::new(seeds, self.quick, &self.cell)?;
        if grid.phases.is_empty() {
            let all = Grid::new(1, false, &[])?.places();
            let message = format!(
                "--cell {}: no cell has such a name; there are {}, such as {}",
                self.cell.join(" --cell "),
                all.len(),
                all[all.len() / 2].name()
            );
            return Err(WrongInput(message).into());
        }
        Ok(grid)
    }

    fn recorded(&self) -> anyhow::Result<Matrix> {
        let Some(file) = &self.record else {
            return Ok(Matrix::recorded(squares())?);
        };
        let wrong =
            |error: anyhow::Error| WrongInput(format!("--record {}: {error:#}", file.display()));
        let text = read_text(file, MOST_OF_RECORD).map_err(|error| wrong(error.into()))?;
        Ok(Matrix::parse(squares(), &text).map_err(|error| wrong(error.into()))?)
    }
}

pub(crate) fn fidelity(args: &FidelityArgs) -> anyhow::Result<u8> {
    args.check()?;
    let grid = args.grid()?;
    let places = grid.places();
    let mut matrix = args.recorded()?.only(&places);
    args.out.as_deref().map_or(Ok(()), check_folder)?;
    let stop = stop_on_signal()?;
    let mut failures = Vec::new();
    for square in &args.world {
        let (found, failed) = run(&grid, square, args, &stop)?;
        if stop.load(Ordering::Relaxed) {
            eprintln!("sojourn: interrupted; nothing was written");
            return Ok(INTERRUPTED);
        }
        matrix.merge(found);
        failures.extend(failed);
    }
    for failure in &failures {
        eprintln!("sojourn: {failure}");
    }
    let matrix = matrix.only(&places);
    if let Some(dir) = &args.out {
        write(dir, &matrix, &failures).with_context(|| format!("--out {}", dir.display()))?;
    }
    if args.csv {
        print(&matrix.csv())?;
    } else {
        print(&text(&matrix, args))?;
    }
    Ok(if failures.is_empty() { 0 } else { FAILED })
}

/// Reads the name of a world of the matrix.
fn square() -> impl TypedValueParser<Value = &'static Square> {
    let names = squares()
        .iter()
        .map(|square| PossibleValue::new(square.world.as_str()).help(square.title));
    PossibleValuesParser::new(names).map(|name| {
        let mut squares = squares().iter();
        let square = squares.find(|square| square.world.as_str() == name);
        square.expect("the name is one of the table's")
    })
}

/// Where a world of the matrix stands in the program's table, and how it is set up.
fn place(square: &Square) -> (&'static Row, Setup) {
    let mut setup = Setup::default();
    if square.queues == Code::Kernel {
        setup.queues = Queues::Kernel;
    }
    let row = WORLDS.iter().find(|row| row.squares.contains(square));
    (row.expect("each square is of a row"), setup)
}

/// Runs the grid in one world.
fn run(
    grid: &Grid,
    square: &Square,
    args: &FidelityArgs,
    stop: &AtomicBool,
) -> anyhow::Result<(Matrix, Vec<String>)> {
    let (row, mut setup) = place(square);
    setup.kernel = args.kernel.wanted();
    let world = row.world(setup)?;
    let cells: Vec<Cell> = grid.phases.iter().flat_map(|p| p.cells.clone()).collect();
    let bar = Bar::new(&cells, false);
    let mut outcomes = run_cells(world.as_ref(), &cells, row.jobs(args.jobs), stop, &bar);
    bar.clear();
    let (mut matrix, mut failures) = (Matrix::default(), Vec::new());
    for phase in &grid.phases {
        let rest = outcomes.split_off(phase.cells.len());
        let (results, failed) = sojourn_scenario::split(&phase.cells, outcomes);
        outcomes = rest;
        matrix.merge(Matrix::of(squares(), phase.name, &results));
        failures.extend(failed.iter().map(|text| format!("{} {text}", phase.name)));
    }
    Ok((matrix, failures))
}

/// Writes the page, and the table that it names.
pub(crate) fn write(dir: &Path, matrix: &Matrix, notes: &[String]) -> anyhow::Result<()> {
    let page = sojourn_fidelity::page(matrix, notes, sojourn_version::VERSION)?;
    sojourn_report::write_files(dir, &[(PAGE.into(), &page), (TABLE.into(), &matrix.csv())])?;
    Ok(())
}

/// For terminals: how many cells agree, and where the worlds differ most.
fn text(matrix: &Matrix, args: &FidelityArgs) -> String {
    let mut text = pairs(matrix);
    if text.is_empty() {
        text += "The recorded matrix has none of these cells in another world.\n";
    }
    if let Some(dir) = &args.out {
        let _ = writeln!(text, "{}", dir.join(PAGE).display());
    }
    text
}

/// The same of each pair of worlds; empty when there is none.
pub(crate) fn pairs(matrix: &Matrix) -> String {
    let mut text = String::new();
    for summary in &Summary::all(matrix) {
        let (first, other) = (&summary.pair.first.world, &summary.pair.other.world);
        let what = summary.pair.what();
        let _ = writeln!(
            text,
            "{first} and {other} (another {what}): cells equal/different/undecided"
        );
        let titles = FIGURES.iter().map(|figure| format!(">{}", figure.title));
        let titles: Vec<String> = std::iter::once("phase".to_owned()).chain(titles).collect();
        let mut table = Table::new(titles.iter().map(String::as_str));
        for row in &summary.rows {
            let cells = row.tallies.iter().map(Tally::show);
            table.row(std::iter::once(row.phase.clone()).chain(cells).collect());
        }
        text += &table.show();
        if !summary.causes.is_empty() {
            let causes = summary.causes.iter();
            let causes: Vec<String> = causes
                .map(|(cause, count)| format!("{count} {}", cause.name()))
                .collect();
            let _ = writeln!(text, "Different ones, by cause: {}.", causes.join(", "));
        }
        text += &decided(summary);
        for worst in summary.worst.iter().take(SHOWN) {
            let (difference, cause) = worst.largest();
            let cause = cause.map_or_else(String::new, |cause| format!(", {}", cause.name()));
            let (name, title) = (worst.place.name(), difference.figure.title);
            let _ = writeln!(text, "  {name}: {title} {}{cause}", difference.show());
        }
        text.push('\n');
    }
    text
}

/// How much is decided, and what the intervals say beyond the tolerances.
fn decided(summary: &Summary) -> String {
    let evidence = summary.evidence();
    if evidence.is_empty() {
        let row = summary.all_phases().into_iter();
        let tallies = row.flat_map(|row| row.tallies);
        let (within, of) = tallies.fold((0, 0), |(within, of), tally| {
            (within + tally.within, of + tally.cells)
        });
        return format!(
            "One seed decides nothing (--seeds 3 and more do); {within} of {of} figures are within \
             their tolerance.\n"
        );
    }
    let (undecided, of) = summary.undecided();
    format!(
        "Undecided: {undecided} of {of} figures. The interval excludes zero in (5 % would be \
         chance): {}; above: {} has more.\n",
        evidence.join("; "),
        summary.pair.first.world
    )
}

#[cfg(test)]
mod document;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_files_that_are_beside_it() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), &Matrix::default(), &[]).expect("it can be written");
        let page = std::fs::read_to_string(dir.path().join(PAGE)).expect("it is there");
        let footer = &page[page.find("<footer>").expect("it has one")..];
        let named = footer.split("<code>").skip(1);
        let names: Vec<&str> = named.filter_map(|part| part.split('<').next()).collect();
        assert_eq!(names, [TABLE]);
        assert!(names.iter().all(|name| dir.path().join(name).is_file()));
    }
}
