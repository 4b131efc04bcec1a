//! `sojourn run`: runs a scenario and shows or writes what came out.

use crate::figures;
use crate::kernel::KernelChoice;
use crate::out::{check_folder, check_out};
use crate::pcap::{Captures, Capturing};
use crate::plugins;
use crate::progress::Bar;
use crate::python;
use crate::shard::Shard;
use crate::verify;
use crate::worlds::{self, QueuesChoice, Setup, WORLDS, WorldRow};
use crate::{FAILED, INTERRUPTED, Overrides, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use sojourn_batch::{Part, There, held, kept};
use sojourn_batch::{Results, clear};
use sojourn_capture::SNAP_LEN;
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_live::Queues;
use sojourn_report::{Finished, Merged, Rest, Runs, Slot, Spool, forget};
use sojourn_scenario::{Outcome, Scenario, Watch, split};
use sojourn_world::{Cell, RunResult, ScenarioInfo, World, WorldName};
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Run a scenario: every combination of its sweep with every seed
///
/// The main figures are printed as a table, unless --csv, --json or --quiet say otherwise.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn run scenarios/demo.toml
  sojourn run scenarios/demo.toml --set dumbbell.qdisc='fq_codel target 10ms' --seeds 5
  sojourn run scenarios/demo.toml --set flow.upload.tcp.cc=reno --out out/reno
  sojourn run scenarios/demo.toml --world live --out out/live   (as root)
  sojourn run scenarios/demo.toml --world both --out out/both   (as root: simulated beside live)
  sojourn run scenarios/demo.toml --world kernel                (after `sojourn kernel build`)
  sojourn run scenarios/demo.toml --verify                      (the same: does Linux agree?)
  sojourn run scenarios/demo.toml --json | jq '.cells[].aggregate'
  sojourn run scenarios/demo.toml --seeds 5 --csv > demo.csv

Exit status: 0 when every run succeeded, 1 when one failed (the others are kept), 2 when the
input is wrong (nothing is run or written), 130 after Ctrl-C (what --out keeps of finished runs
is there for --resume).")]
pub(crate) struct RunArgs {
    /// The scenario file
    pub(crate) file: PathBuf,

    /// Where to run: simulated, on real packets in real time, in a real kernel in virtual time, or
    /// several of these side by side
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = worlds::some(),
        default_value = WORLDS[0].name.as_str()
    )]
    world: Vec<&'static [WorldRow]>,

    /// Run the same cells in the kernel world too, with the kernel's own queues, and print whether
    /// Linux agrees
    #[arg(long, conflicts_with_all = ["queues", "shard"])]
    verify: bool,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    #[arg(long, value_name = "N", allow_negative_numbers = true, help = worlds::jobs_help())]
    #[arg(value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
    jobs: Option<NonZeroUsize>,

    /// Write report.html, results.parquet and summary.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace results of another scenario or study in the folder of --out
    #[arg(long, requires = "out")]
    overwrite: bool,

    /// Run only every Nth run, starting with the Ith: `3/8` is the third of eight shards, whose
    /// folders `sojourn merge` combines
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Run only what is missing in the folder of --out; finished runs by this version of the
    /// program are kept, even if it was interrupted or killed
    #[arg(long, requires = "out")]
    resume: bool,

    /// Print the summary as JSON on standard output, and nothing else there
    #[arg(long)]
    json: bool,

    /// Print the main figures as CSV on standard output, and nothing else there
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// No progress and no warnings; standard output has only the result of --json or --csv
    #[arg(long, short)]
    quiet: bool,

    /// Run this shell command on the clients' side of a live or kernel run, in addition to its own
    /// hosts
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,

    /// Run this shell command on the servers' side of a live or kernel run, in addition to its own
    /// hosts
    #[arg(long, value_name = "COMMAND")]
    server_command: Option<String>,

    #[command(flatten)]
    queues: QueuesChoice,

    #[command(flatten)]
    kernel: KernelChoice,

    /// Capture packets that leave these links' queues (`LINK`), arrive at them (`LINK:in`), or pass
    /// these nodes' hosts. Each run writes DIR/run-N-POINT.pcapng, with WORLD- before it for
    /// several worlds
    #[arg(
        long,
        value_name = "POINT,...",
        value_delimiter = ',',
        requires = "out"
    )]
    pcap: Vec<String>,

    /// Bytes of each packet that --pcap keeps, at most 65535; live runs keep at most 256
    #[arg(long, value_name = "BYTES", default_value_t = SNAP_LEN, requires = "pcap",
          allow_negative_numbers = true, value_parser = whole::<u32>(1, 65_535))]
    snap_len: u32,
}

impl RunArgs {
    fn setup(&self) -> Setup {
        Setup {
            client: self.client_command.clone(),
            server: self.server_command.clone(),
            queues: if self.verify {
                Queues::Kernel
            } else {
                self.queues.queues()
            },
            kernel: self.kernel.wanted(),
        }
    }

    /// The worlds to run in.
    fn worlds(&self) -> Result<Vec<&'static WorldRow>, WrongInput> {
        let mut rows = worlds::once(&self.world);
        if self.verify {
            verify::add_kernel(&mut rows)?;
        }
        Ok(rows)
    }

    /// What clap cannot check.
    fn check(&self, worlds: &[&WorldRow]) -> Result<(), WrongInput> {
        let command = self.client_command.is_some() || self.server_command.is_some();
        if command && !worlds.iter().all(|row| row.takes_programs) {
            return Err(WrongInput(format!(
                "--client-command and --server-command need --world {}: a simulated network has \
                 no place for a program",
                worlds::names_with(|row| row.takes_programs)
            )));
        }
        let [version, hz] = self.kernel.words();
        let words = [version, hz, (self.queues.is_made(), "--queues")];
        for (_, word) in words.into_iter().filter(|(given, _)| *given) {
            worlds::need_kernels(worlds, word)?;
        }
        Ok(())
    }

    /// Refuses a folder of other results.
    fn check_out(&self, scenario: &str) -> Result<(), WrongInput> {
        let out = self.out.as_deref();
        out.map_or(Ok(()), |dir| {
            check_out(dir, &Results::Scenario(scenario.to_owned()), self.overwrite)
        })
    }

    /// What is run of the cells in a world, and what is there.
    fn part<'a>(
        &self,
        info: &ScenarioInfo,
        cells: &'a [Cell],
        world: &WorldName,
    ) -> Result<(Part<'a>, There), WrongInput> {
        let mut there = There::new();
        let Some(dir) = &self.out else {
            return Ok((Part::new(cells, Vec::new(), &there), there));
        };
        let (spool, info) = (Spool::of(dir), &Arc::new(info.clone()));
        let slots: Vec<Slot> = (0..cells.len())
            .map(|number| spool.slot(0, info, world, number))
            .collect();
        if self.resume {
            // Captures of runs that were killed are gone.
            if self.pcap.is_empty() {
                there = kept(cells, &slots, world);
            }
            let held = held(&mut there, info, cells, &slots, world, dir);
            held.map_err(|error| WrongInput(format!("--resume: {error}")))?;
        }
        Ok((Part::new(cells, slots, &there), there))
    }

    /// The world behind `--pcap`, if that is wanted.
    fn capturing<'a>(
        &'a self,
        world: &'a (dyn World + Sync),
        cells: &'a [&'a Cell],
    ) -> Result<Option<Capturing<'a>>, WrongInput> {
        let Some(dir) = self.out.as_deref().filter(|_| !self.pcap.is_empty()) else {
            return Ok(None);
        };
        let several = self.verify || worlds::once(&self.world).len() > 1;
        let capturing = Capturing {
            world,
            cells,
            points: &self.pcap,
            dir,
            snap_len: self.snap_len,
            prefix: if several {
                format!("{}-", world.name())
            } else {
                String::new()
            },
            whole: Mutex::default(),
        };
        capturing.check()?;
        std::fs::create_dir_all(dir)
            .map_err(|error| WrongInput(format!("--out {}: {error}", dir.display())))?;
        Ok(Some(capturing))
    }

    /// What is shown of the results on standard output.
    fn show(&self, info: &ScenarioInfo, results: &[RunResult]) -> String {
        if self.json {
            return sojourn_report::summary_json(info, results);
        }
        if self.csv {
            return figures::csv(results);
        }
        if self.quiet {
            return String::new();
        }
        let page = self.out.as_ref().map_or_else(String::new, |dir| {
            format!("\n{}\n", dir.join(sojourn_report::PAGE).display())
        });
        figures::text(results) + &page
    }
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<u8> {
    if let Some(class) = python::class(&args.file, &args.overrides) {
        return run_class(args, &class);
    }
    let (scenario, plugins) = args.overrides.load(&args.file)?;
    let Scenario {
        mut info,
        mut cells,
        warnings,
    } = scenario;
    if !args.quiet {
        eprint!("{warnings}");
    }
    let rows = args.worlds()?;
    args.check(&rows)?;
    args.check_out(&info.name)?;
    info.shard = args.shard.map(|shard| shard.of(&mut cells));
    let (mut worlds, mut parts, mut there) = (Vec::new(), Vec::new(), Vec::new());
    match plugins {
        Some(plugins) => worlds.push(plugins::world(plugins, &info.name, &rows, args.resume)?),
        None => {
            for row in &rows {
                worlds.push(worlds::world(row, args.setup())?);
            }
        }
    }
    for row in &rows {
        let (part, held) = args.part(&info, &cells, &row.name)?;
        parts.push(part);
        there.push(held);
    }
    let mut capturing = Vec::new();
    for (world, part) in worlds.iter().zip(&parts) {
        capturing.push(args.capturing(world.as_ref(), part.left())?);
    }
    if let Some(dir) = args.out.as_deref().filter(|_| !args.resume) {
        forget(dir).map_err(WrongInput::from)?;
    }
    let stop = stop_on_signal()?;
    let (mut runs, mut failures) = (Vec::new(), Vec::new());
    let all = rows
        .iter()
        .zip(&worlds)
        .zip(&capturing)
        .zip(parts.iter().zip(there));
    for (((row, world), capturing), (part, there)) in all {
        let world: &(dyn World + Sync) = match capturing {
            Some(capturing) => capturing,
            None => world.as_ref(),
        };
        let bar = Bar::new(part.left(), args.quiet);
        let outcomes = part.run(there, world, row.jobs(args.jobs), &stop, &bar);
        bar.clear();
        let (good, bad) = split(&cells, outcomes.context("--out")?);
        runs.extend(good);
        failures.extend(bad);
        if stop.load(Ordering::Relaxed) {
            return Ok(interrupted(args.out.is_some()));
        }
    }
    let captures: Vec<Captures> = capturing
        .into_iter()
        .flatten()
        .map(Capturing::whole)
        .collect();
    // Nobody asks for cells any more, which take as much memory as what is written now.
    drop(parts);
    thread::spawn(|| drop(cells));
    finish(args, &info, runs, &failures, captures)
}

/// Runs a scenario that names a class of Python: the package runs it, this program shows and writes
/// the results.
fn run_class(args: &RunArgs, class: &str) -> anyhow::Result<u8> {
    let rows = args.worlds()?;
    python::only_simulated(class, &rows)?;
    let unknown = [
        (args.resume, "--resume"),
        (args.shard.is_some(), "--shard"),
        (!args.pcap.is_empty(), "--pcap"),
    ];
    if let Some((_, option)) = unknown.into_iter().find(|(given, _)| *given) {
        return Err(WrongInput(format!(
            "{class}: a run of a Python class has no {option}; leave it out"
        ))
        .into());
    }
    args.check(&rows)?;
    args.out.as_deref().map_or(Ok(()), check_folder)?;
    let passing = tempfile::tempdir()?;
    let dir = passing.path();
    let status = python::run(
        class,
        &args.file,
        &args.overrides,
        args.jobs,
        args.quiet,
        dir,
    )?;
    if !dir.join(sojourn_report::SUMMARY).exists() {
        return Ok(status);
    }
    let Merged { info, runs, notes } = sojourn_report::merge(&[dir.to_owned()])?;
    args.check_out(&info.name)?;
    finish(args, &info, runs, &notes, Vec::new())
}

/// Says what is left of runs that were interrupted. Returns the exit status.
pub(crate) fn interrupted(is_kept: bool) -> u8 {
    let left = if is_kept {
        "finished runs are kept for --resume"
    } else {
        "nothing was written"
    };
    eprintln!("sojourn: interrupted; {left}");
    INTERRUPTED
}

/// Writes and shows what came out.
fn finish(
    args: &RunArgs,
    info: &ScenarioInfo,
    runs: Vec<Finished>,
    failures: &[String],
    captures: Vec<Captures>,
) -> anyhow::Result<u8> {
    // The program ends with this: nobody needs to give back ten thousand runs one by one.
    let runs = ManuallyDrop::new(Rest::of(runs));
    let (figures, rest) = &*runs;
    for failure in failures {
        eprintln!("sojourn: {failure}");
    }
    if !figures.is_empty() {
        if let Some(said) = sojourn_report::repeated(figures).filter(|_| !args.quiet) {
            eprintln!("sojourn: {said}");
        }
        if let Some(dir) = &args.out {
            let all = Runs::new(figures, rest);
            sojourn_report::write_runs(dir, info, all, failures)
                .and_then(|()| forget(dir))
                .with_context(|| format!("--out {}", dir.display()))?;
            clear(dir, &Results::Scenario(info.name.clone()))?;
            for captures in captures {
                captures.keep().context("--pcap")?;
            }
        }
        print(&args.show(info, figures))?;
        let wanted = args.verify && !args.quiet;
        let said = wanted.then(|| verify::sentence(&info.name, figures));
        match said.flatten() {
            // Standard output is for what was asked for.
            Some(said) if args.json || args.csv => eprintln!("sojourn: {said}"),
            Some(said) => print(&format!("\n{said}\n"))?,
            None => {}
        }
    }
    Ok(if failures.is_empty() { 0 } else { FAILED })
}

/// Runs cells, and signs the results with the version and commit of this program.
pub(crate) fn run_cells(
    world: &(dyn World + Sync),
    cells: &[Cell],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Vec<Outcome> {
    let mut outcomes = sojourn_scenario::run(world, cells, jobs, stop, watch);
    for result in outcomes.iter_mut().flatten() {
        result.program = Some(sojourn_version::VERSION.to_owned());
    }
    outcomes
}
