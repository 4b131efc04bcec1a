//! `sojourn fidelity`: a fixed grid of cells in several worlds, and how far they agree.

mod dataset;
#[cfg(test)]
mod document;
mod rounds;
mod ticks;

use crate::kernel::KernelChoice;
use crate::out::check_folder;
use crate::progress::Bar;
use crate::run::run_cells;
use crate::worlds::{self, Setup, WORLDS, WorldRow, squares, with_kernel};
use crate::{FAILED, INTERRUPTED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rounds::Rounds;
use sojourn_fidelity::{Code, FIGURES, Grid, Matrix, MatrixCell, Square, Summary, Tally};
use sojourn_gateway::Table;
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_kernel::Tick;
use sojourn_scenario::{Outcome, Watch, read_text};
use sojourn_world::{Cell, World, WorldName};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use ticks::as_in_kernel;

/// The page's file name.
pub(crate) const PAGE: &str = "fidelity.html";
/// The table's file name.
const TABLE: &str = "fidelity.csv";
/// Most bytes of a table that is read.
const MOST_OF_RECORD: u64 = 64 << 20;
/// Seeds of cells that are not recorded, and of the first step of `--decide`.
const SEEDS: u64 = 3;
/// Most seeds of a cell where no number is given: what runs in seconds.
const MOST_UNASKED: u64 = 20;
/// How many of the cells that differ most are printed.
const SHOWN: usize = 5;

/// Run a fixed grid of cells in several worlds and compare the results
///
/// Worlds that are not run come from the recorded matrix that is built into the program. So the
/// simulator can be compared with the kernel on a machine without one.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn fidelity                                    the simulator beside the recorded kernel
  sojourn fidelity --quick --world sim,kernel-tc      one cell of eleven, both run here
  sojourn fidelity --cell steady/10mbit/50ms/codel    only these cells
  sojourn fidelity --out out/fidelity                 fidelity.html, .csv and .parquet
  sojourn fidelity --seeds recorded                   with all seeds of the recorded matrix
  sojourn fidelity --world sim,kernel-tc --decide 24 --out out/decided
                                                      more seeds where figures are undecided
  sojourn fidelity --world sim,kernel-tc --decide 24 --out out/decided \\
      --record out/decided/fidelity.csv               the same, from where it was interrupted
  sojourn fidelity --world sim,kernel-tc --decide 96 --budget 200 --out out/decided
                                                      200 more runs, where they decide most
  sojourn fidelity --world sim --decide 200 --out out/decided
                                                      more seeds in the simulator alone

Exit status: 0 when every run succeeded, however far the worlds agree, 1 when one failed, 2 when
the input is wrong (nothing is run or written), 130 after Ctrl-C (nothing is written, but by
--decide what was run so far).")]
pub(crate) struct FidelityArgs {
    /// Run the grid in these worlds; the others show recorded figures
    #[arg(
        long,
        value_name = "WORLD,...",
        value_delimiter = ',',
        value_parser = square(),
        default_value = WORLDS[0].name.as_str()
    )]
    world: Vec<&'static Square>,

    /// Every eleventh cell, with one seed: every queue and every congestion control is included
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,

    /// Only cells whose name contains this; may be repeated
    #[arg(long, value_name = "TEXT")]
    cell: Vec<String>,

    /// Number of seeds, or `recorded`: as many as the table has of the cell in the world
    ///
    /// With more than one, intervals are shown. The default is as many as the table has of the cell
    /// in Linux, 20 at most, or 3.
    #[arg(long, value_name = "N", value_parser = wanted_seeds)]
    seeds: Option<Seeds>,

    /// Run more seeds, up to this many, for cells with undecided figures; the same in all worlds
    /// that are run
    ///
    /// If one world is run, its figures are decided against those of the table: the simulator's
    /// against Linux's, and others against the simulator's. The seeds of the table (the recorded
    /// one, or --record) are kept, and the following ones are added, step by step: first in the
    /// cell where they decide most figures for what they cost. A step adds at most as many seeds
    /// as there are, and the table is written after each.
    #[arg(long, value_name = "N", requires = "out", conflicts_with_all = ["seeds", "quick"],
          value_parser = whole::<u64>(2, 1000))]
    decide: Option<u64>,

    /// With --decide, add no more runs than this, over all worlds [default: no bound]
    ///
    /// A step that needs more runs than are left is skipped.
    #[arg(long, value_name = "RUNS", requires = "decide",
          value_parser = whole::<u64>(1, u64::MAX))]
    budget: Option<u64>,

    #[arg(long, value_name = "N", help = worlds::jobs_help())]
    #[arg(value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    kernel: KernelChoice,

    /// Use this table instead of the recorded matrix for what is not run
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Print the table as CSV on standard output, and nothing else there
    #[arg(long)]
    csv: bool,

    /// Write fidelity.html, fidelity.csv and fidelity.parquet into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl FidelityArgs {
    /// What clap cannot check.
    fn check(&self) -> Result<(), WrongInput> {
        let words = self.kernel.words();
        for (_, word) in words.into_iter().filter(|(given, _)| *given) {
            // The simulator has the ticks of the kernel that it is held against.
            let fits = |square: &Square| {
                place(square).has_kernels || (word == "--hz" && square.tcp == Code::Ours)
            };
            if !self.world.iter().any(|square| fits(square)) {
                let squares = WORLDS.iter().flat_map(|row| row.squares);
                let fit = squares.filter(|square| fits(square));
                let names: Vec<&str> = fit.map(|square| square.world.as_str()).collect();
                let fit = names.join(" or ");
                return Err(WrongInput(format!("{word} needs --world {fit}")));
            }
        }
        Ok(())
    }

    /// The cells, each with as many seeds as are wanted of a world, or as `recorded` has of it.
    fn grid(&self, recorded: &Matrix, world: &WorldName) -> anyhow::Result<Grid> {
        let quick = self.quick.then_some(1);
        let (given, of, most) = match self.seeds {
            Some(Seeds::Number(seeds)) => (Some(seeds), world, u64::MAX),
            Some(Seeds::Recorded) => (None, world, u64::MAX),
            None => (self.decide.or(quick), &linux().world, MOST_UNASKED),
        };
        let of = |place: &MatrixCell| {
            let entry = recorded.get(place, of);
            entry.map_or(SEEDS, |entry| entry.seeds as u64).min(most)
        };
        let most = given.or_else(|| recorded.places().into_iter().map(of).max());
        let grid = Grid::new(most.unwrap_or(SEEDS), self.quick, &self.cell)?
            .with_seeds(|place| given.unwrap_or_else(|| of(place)));
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
    let recorded = args.recorded()?;
    let places = args.grid(&recorded, &linux().world)?.places();
    let mut matrix = recorded.only(&places);
    args.out.as_deref().map_or(Ok(()), check_folder)?;
    let worlds = args
        .world
        .iter()
        .map(|square| Ready::new(square, args))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let stop = stop_on_signal()?;
    let mut failures = Vec::new();
    if let (Some(most), Some(dir)) = (args.decide, &args.out) {
        let grid = args.grid(&recorded, &linux().world)?;
        let mut rounds = Rounds {
            most: most as usize,
            left: args.budget.unwrap_or(u64::MAX),
            beside: match &worlds[..] {
                [one] => Some(&beside(one.square).world),
                _ => None,
            },
            dir,
            stop: &stop,
        };
        failures = rounds.decide(&grid, &worlds, &mut matrix)?;
        if stop.load(Ordering::Relaxed) {
            eprintln!(
                "sojourn: interrupted; with --record {} it goes on from there",
                dir.join(TABLE).display()
            );
            return Ok(INTERRUPTED);
        }
    } else {
        for world in &worlds {
            let grid = args.grid(&recorded, &world.square.world)?;
            let (found, failed) = run(&grid, world, &stop);
            if stop.load(Ordering::Relaxed) {
                eprintln!("sojourn: interrupted; nothing was written");
                return Ok(INTERRUPTED);
            }
            matrix.merge(found);
            failures.extend(failed);
        }
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
        .filter(|square| square.kernel.is_none())
        .map(|square| PossibleValue::new(square.world.as_str()).help(square.title));
    PossibleValuesParser::new(names).map(|name| {
        let mut squares = squares().iter();
        let square = squares.find(|square| square.world.as_str() == name);
        square.expect("the name is one of the table's")
    })
}

/// Where a world of the matrix stands in the program's table.
fn place(square: &Square) -> &'static WorldRow {
    let row = WORLDS.iter().find(|row| row.squares.contains(square));
    row.expect("each square is of a row")
}

/// Linux with its own queues: the last of the matrix.
fn linux() -> &'static Square {
    squares().last().expect("there are several")
}

/// Whose figures in the table those of a world are decided against.
fn beside(square: &Square) -> &'static Square {
    match square.tcp {
        Code::Ours => linux(),
        _ => &squares()[0],
    }
}

/// What `--seeds` says.
#[derive(Clone, Copy, Debug)]
enum Seeds {
    /// So many.
    Number(u64),
    /// As many as the table has of the cell in the world.
    Recorded,
}

fn wanted_seeds(text: &str) -> Result<Seeds, String> {
    match text {
        "recorded" => Ok(Seeds::Recorded),
        _ => match text.parse() {
            Ok(seeds @ 1..=1000) => Ok(Seeds::Number(seeds)),
            _ => Err(format!(
                "`{text}` is neither a whole number from 1 to 1000 nor `recorded`"
            )),
        },
    }
}

/// A world that can run cells.
struct Ready {
    /// Its place in the matrix.
    square: &'static Square,
    world: Box<dyn World + Sync>,
    jobs: NonZeroUsize,
    /// Of the simulator, as often as the kernel ticks that it is held to.
    tick: Option<Tick>,
}

impl Ready {
    fn new(square: &'static Square, args: &FidelityArgs) -> anyhow::Result<Self> {
        let row = place(square);
        Ok(Self {
            world: worlds::world(row, Setup::of(square, args.kernel.wanted()))?,
            square: with_kernel(square, args.kernel.wanted())?,
            jobs: row.jobs(args.jobs),
            tick: (square.tcp == Code::Ours).then_some(args.kernel.wanted().tick),
        })
    }

    /// Runs cells of a phase; what became of them, and failures by their cells.
    fn run(&self, phase: &str, cells: &[Cell], stop: &AtomicBool) -> (Matrix, Vec<String>) {
        let bar = Bar::new(cells, false);
        let outcomes = self.outcomes(cells, stop, &bar);
        bar.clear();
        self.of(phase, cells, outcomes)
    }

    /// Runs cells, with queues that are told the intervals that Linux's keep.
    fn outcomes(&self, cells: &[Cell], stop: &AtomicBool, watch: &dyn Watch) -> Vec<Outcome> {
        let world = self.world.as_ref();
        let Some(tick) = self.tick else {
            return run_cells(world, cells, self.jobs, stop, watch);
        };
        let told = cells.iter().cloned().map(|cell| as_in_kernel(cell, tick));
        run_cells(world, &told.collect::<Vec<_>>(), self.jobs, stop, watch)
    }

    fn of(&self, phase: &str, cells: &[Cell], outcomes: Vec<Outcome>) -> (Matrix, Vec<String>) {
        let (results, failed) = sojourn_scenario::split(cells, outcomes);
        let mut matrix = Matrix::of(squares(), phase, &results);
        for entry in &mut matrix.entries {
            entry.world = self.square.world.clone();
        }
        let failed = failed.iter().map(|text| format!("{phase} {text}"));
        (matrix, failed.collect())
    }
}

/// So many runs at a time, as a result takes far more memory than its figures.
const AT_ONCE: usize = 1000;

/// Runs the grid in one world.
fn run(grid: &Grid, world: &Ready, stop: &AtomicBool) -> (Matrix, Vec<String>) {
    let cells: Vec<&Cell> = grid.phases.iter().flat_map(|p| &p.cells).collect();
    let bar = Bar::new(&cells, false);
    let (mut matrix, mut failures, mut first) = (Matrix::default(), Vec::new(), 0);
    for phase in &grid.phases {
        for cells in whole_cells(&phase.cells, AT_ONCE) {
            let outcomes = world.outcomes(cells, stop, &bar.from(first));
            let (found, failed) = world.of(phase.name, cells, outcomes);
            first += cells.len();
            matrix.merge(found);
            failures.extend(failed);
        }
    }
    bar.clear();
    (matrix, failures)
}

/// Parts of a phase's runs, of about so many, none of which has some of a cell's seeds only.
fn whole_cells(runs: &[Cell], at_once: usize) -> Vec<&[Cell]> {
    let (mut parts, mut from, mut to) = (Vec::new(), 0, 0);
    for seeds in runs.chunk_by(|a, b| a.params == b.params) {
        if to > from && to - from + seeds.len() > at_once {
            parts.push(&runs[from..to]);
            from = to;
        }
        to += seeds.len();
    }
    parts.push(&runs[from..to]);
    parts
}

/// Writes the page, the table that it names, and the data set.
pub(crate) fn write(dir: &Path, matrix: &Matrix, notes: &[String]) -> anyhow::Result<()> {
    let page = sojourn_fidelity::page(matrix, notes, sojourn_version::VERSION)?;
    sojourn_report::write_files(dir, &[(PAGE.into(), &page), (TABLE.into(), &matrix.csv())])?;
    dataset::write(dir, matrix)?;
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
            let causes: Vec<String> = summary
                .causes
                .iter()
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
    let needs = summary.seeds_to_decide().unwrap_or_default();
    format!(
        "Undecided: {undecided} of {of} figures. {needs}{}The interval excludes zero in (5 % would \
         be chance): {}; above: {} has more.\n",
        if needs.is_empty() { "" } else { " " },
        evidence.join("; "),
        summary.pair.first.world
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cells_seeds_run_together() {
        let sizes = |seeds: u64, at_once: usize| -> Vec<usize> {
            let grid = Grid::new(seeds, false, &["start-up/6mbit/50ms/pie".into()])
                .expect("the built-in scenarios are right");
            let parts = whole_cells(&grid.phases[0].cells, at_once);
            parts.iter().map(|part| part.len()).collect()
        };
        // Three cells.
        assert_eq!(sizes(5, 4), [5, 5, 5]);
        assert_eq!(sizes(5, 9), [5, 5, 5]);
        assert_eq!(sizes(5, 10), [10, 5]);
        assert_eq!(sizes(5, 100), [15]);
    }

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
