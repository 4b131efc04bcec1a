//! `sojourn reproduce`: runs a published study and holds its claims against what comes out.

mod again;
mod folder;

pub(crate) use again::again;

use crate::out::check_out;
use crate::plugins;
use crate::progress::Bar;
use crate::python;
use crate::run::interrupted;
use crate::worlds::{self, QueuesChoice, WORLDS, WorldRow};
use crate::{FAILED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use folder::RunFolder;
use sojourn_batch::{BatchError, Cost, StudyRuns};
use sojourn_batch::{Results, clear};
use sojourn_gateway::Table;
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_loader::Plugins;
use sojourn_qdisc::{Spec, SpecError};
use sojourn_report::{ReportError, forget};
use sojourn_scenario::Options;
use sojourn_study::{Changes, Choice, Extent, Outcomes, Reproduced, Study};
use sojourn_world::{ByWorld, World, WorldName};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Run a published study and judge its claims one by one
///
/// A study is a folder with a `study.toml`: STUDY is its path, its name in `studies/` of the
/// working directory, or the name of a built-in study.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn reproduce --list
  sojourn reproduce codel-red --quick
  sojourn reproduce codel-red --claims R1,R4 --json | jq '.claims[].status'
  sojourn reproduce codel-red --out out/codel-red
  sojourn reproduce codel-red --queue 'fq_pie target 5ms' --out out/mine
  sojourn reproduce codel-red --queue 'python:own.py:OneOfN n=50' --out out/mine
  sojourn reproduce codel-red --queue 'rust:libslope.so:Slope low=1ms' --out out/mine
  sojourn reproduce steering --claims S5,S7 --set tcp.mss=8948 --seeds 3
  sojourn reproduce codel-red --out out/codel-red --resume   (continues after an interruption)
  sojourn reproduce my-study --world both --out out/my-study   (as root)

Exit status: 0 when no verdict is worse than the study records, 1 when one is or a run failed, 2
when the input is wrong (nothing is run or written), 130 after Ctrl-C (what --out keeps of finished
runs is there for --resume).")]
pub(crate) struct ReproduceArgs {
    /// The study: its name or its folder
    #[arg(required_unless_present = "list")]
    study: Option<String>,

    /// List the studies and their claims; nothing is run
    #[arg(
        long,
        conflicts_with_all = [
            "world", "claims", "set", "quick", "seeds", "jobs", "json", "out", "resume"
        ]
    )]
    list: bool,

    /// Where to run: simulated, on real packets, in a real kernel, or both side by side
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = worlds::some(),
        default_value = WORLDS[0].name.as_str()
    )]
    world: Vec<&'static [WorldRow]>,

    #[command(flatten)]
    queues: QueuesChoice,

    /// Run this queue too, in place of each queue that the study compares, as `yours` in its charts
    /// and tables; claims are still judged on the study's own queues. It is in tc's words, or an
    /// AQM of yours: `python:FILE:CLASS` or `rust:FILE:TYPE`, with NAME=VALUE options
    #[arg(long, value_name = "QUEUE", conflicts_with = "list")]
    queue: Option<Own>,

    /// Only these claims, and only the settings that they need
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    claims: Vec<String>,

    /// Set a field to a value in all scenarios that are run, as `sojourn run --set` does; may be
    /// repeated. Claims, and what the study records of them, stay the same
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// One seed instead of all (or as many as `--seeds` says), without the slow settings: under a
    /// minute on two cores. Slow settings of the claims named by `--claims` are run
    #[arg(long)]
    quick: bool,

    /// The settings too that are otherwise run only for claims named by `--claims`
    #[arg(long, conflicts_with_all = ["list", "claims", "quick"])]
    all: bool,

    /// Number of seeds instead of the scenarios' own
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, 10_000))]
    seeds: Option<u64>,

    #[arg(long, value_name = "N", help = worlds::jobs_help())]
    #[arg(value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
    jobs: Option<NonZeroUsize>,

    /// Print the claims as JSON on standard output, and nothing else there
    #[arg(long)]
    json: bool,

    /// Write report.html, results.parquet, summary.json and claims.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace results of another study or scenario in the folder of --out
    #[arg(long, requires = "out")]
    overwrite: bool,

    /// Run only what is missing in the folder of --out; finished runs of the same scenarios by this
    /// version of the program are kept, even if it was interrupted or killed
    #[arg(long, requires = "out")]
    resume: bool,

    /// No progress; standard output has only the result of --json
    #[arg(long, short)]
    quiet: bool,
}

impl ReproduceArgs {
    const fn extent(&self) -> Extent {
        match (self.quick, self.all) {
            (true, _) => Extent::Quick,
            (_, true) => Extent::All,
            _ => Extent::Usual,
        }
    }
}

/// A queue of the user's.
#[derive(Clone)]
enum Own {
    /// One of ours, with its options.
    Ours(Spec),
    /// The name of a class of Python.
    Python(String),
    /// The name of an AQM of a library.
    Library(String),
}

impl FromStr for Own {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if python::is_named(text) {
            return Ok(Self::Python(text.to_owned()));
        }
        if Plugins::is_named(text) {
            return Ok(Self::Library(text.to_owned()));
        }
        text.parse().map(Self::Ours)
    }
}

pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let Some(name) = &args.study else {
        return list();
    };
    if let Some(Own::Python(class)) = &args.queue {
        if let Some(set) = args.set.first() {
            return Err(WrongInput(format!(
                "--set {set}: does not go with a queue in Python (--queue {class}); leave one out"
            ))
            .into());
        }
        return python::hand_over("--queue", class, &worlds::once(&args.world));
    }
    let (mut study, mut plugins) = load(name, args)?;
    if args.list {
        print(&claims_of(&study))?;
        return Ok(0);
    }
    let rows = worlds::once(&args.world);
    let setup = args.queues.setup(&rows)?;
    let named = |row: &&'static WorldRow| (*row, row.name_with(setup.queues));
    let names: Vec<(&WorldRow, WorldName)> = rows.iter().map(named).collect();
    for (row, name) in names.iter().filter(|(row, name)| row.name != *name) {
        study = study.called(&row.name, name);
    }
    let choice = choose(&study, &names, args)?;
    let mut worlds = Vec::new();
    for (row, name) in names {
        let world = match plugins.take() {
            Some(plugins) => plugins::world(plugins, "--queue", &rows, args.resume)?,
            None => worlds::world(row, setup.clone())?,
        };
        worlds.push((row, name, world));
    }
    let folder = RunFolder::of(args)?;
    let mut parts = Vec::new();
    for (_, name, _) in &worlds {
        let dir = folder.path();
        let part = StudyRuns::of(&study, &choice, name, dir, args.resume, &worlds::names());
        parts.push(part.map_err(wrong)?);
    }
    if !args.resume {
        forget(folder.path()).map_err(WrongInput::from)?;
    }
    let stop = stop_on_signal()?;
    let mut cost = Cost::default();
    let mut found = ByWorld::default();
    for ((row, name, world), part) in worlds.iter().zip(parts) {
        let jobs = row.jobs(args.jobs);
        let outcomes = waited(part, world.as_ref(), jobs, args.quiet, &stop, &mut cost);
        found.insert(name.clone(), outcomes.with_context(|| folder.name())?);
        if stop.load(Ordering::Relaxed) {
            return Ok(interrupted(args.out.is_some()));
        }
    }
    let found = Reproduced::new(&study, &choice.claims, found, cost.figures(), None)?;
    for failure in &found.failures {
        eprintln!("sojourn: {failure}");
    }
    finish(args, &found, &cost)
}

/// Writes and prints what came out. Returns the exit status.
fn finish(args: &ReproduceArgs, found: &Reproduced<'_>, cost: &Cost) -> anyhow::Result<u8> {
    if let Some(dir) = &args.out {
        let written = found.write(dir).and_then(|()| forget(dir));
        written.with_context(|| format!("--out {}", dir.display()))?;
        clear(dir, &Results::Study(found.info.name.clone()))?;
    }
    if args.json {
        print(&found.json())?;
    } else if !args.quiet {
        let runs = format!("{} runs in {:.1} s\n", cost.runs, cost.wall_s);
        print(&(text(found) + &runs + &place(args.out.as_deref())))?;
    }
    let failed = found.is_worse() || !found.failures.is_empty();
    Ok(if failed { FAILED } else { 0 })
}

/// The study with what the options change of it, and the plug-in that one of them names.
fn load(name: &str, args: &ReproduceArgs) -> anyhow::Result<(Study, Option<Plugins>)> {
    let options = Options {
        seeds: args.seeds.or(args.quick.then_some(1)),
        ..Options::default()
    };
    let mut study = Study::load(name, &options, &worlds::names())?;
    if !args.set.is_empty() {
        let chosen = study
            .choose(&args.claims, args.extent())
            .map_err(WrongInput::from)?;
        let changed = study.with_set(&args.set, &chosen, &options);
        study = changed.map_err(WrongInput::from)?;
    }
    match &args.queue {
        Some(Own::Ours(queue)) => study = study.with_queue(queue).map_err(WrongInput::from)?,
        Some(Own::Library(queue)) => {
            let (plugins, spec) = plugins::queue("--queue", queue)?;
            let beside = study.with_queue_called(&spec, queue);
            return Ok((beside.map_err(WrongInput::from)?, Some(plugins)));
        }
        // The package runs those of Python.
        Some(Own::Python(_)) | None => {}
    }
    Ok((study, None))
}

/// What the command line says of a folder that cannot be gone on with.
fn wrong(error: BatchError) -> anyhow::Error {
    WrongInput::from(anyhow::Error::from(error).context("--resume")).into()
}

/// Runs them under the eyes of somebody who waits.
#[expect(clippy::disallowed_methods, reason = "the user waits in real time")]
fn waited(
    part: StudyRuns<'_>,
    world: &(dyn World + Sync),
    jobs: NonZeroUsize,
    quiet: bool,
    stop: &AtomicBool,
    cost: &mut Cost,
) -> Result<Outcomes, ReportError> {
    let bar = Bar::new(&part.left(), quiet);
    let begin = Instant::now();
    let outcomes = part.run(world, jobs, stop, &bar, cost);
    bar.clear();
    cost.wall_s += begin.elapsed().as_secs_f64();
    outcomes
}

/// The claims that are asked for, if the worlds that are asked for can tell anything of them.
fn choose(
    study: &Study,
    worlds: &[(&WorldRow, WorldName)],
    args: &ReproduceArgs,
) -> Result<Choice, WrongInput> {
    if let Some(dir) = &args.out {
        check_out(dir, &Results::Study(study.name.clone()), args.overwrite)?;
    }
    let choice = study
        .choose(&args.claims, args.extent())
        .map_err(WrongInput::from)?;
    if !choice.left_out.is_empty() && !args.quiet {
        let left_out = choice.left_out.join(", ");
        eprintln!("sojourn: takes long and is not run unless --claims names it: {left_out}");
    }
    for (WorldRow { name: world, .. }, name) in worlds {
        let mut settings = study.settings.iter();
        if settings.all(|setting| setting.scenarios.get(name).is_none()) {
            return Err(WrongInput(format!(
                "{} has no part for the {world} world: no setting names a `{world}` scenario",
                study.name
            )));
        }
        if study.testable(&choice.claims, name).is_empty() && !choice.claims.is_empty() {
            return Err(WrongInput(format!(
                "the {world} world has no cells for {}",
                args.claims.join(", ")
            )));
        }
    }
    Ok(choice)
}

fn list() -> anyhow::Result<u8> {
    let studies = Study::list(&worlds::names())?;
    let mut table = Table::new(["study", "title", "from"]);
    for study in studies {
        table.row(vec![study.name, study.title, study.place]);
    }
    print(&table.show())?;
    Ok(0)
}

/// What a study claims, without running it.
/// The claims with the settings that they are about.
pub(crate) fn claims_of(study: &Study) -> String {
    let mut table = Table::new(["id", "setting", ">cells", ">seeds", "statement"]);
    for claim in &study.claims {
        let setting = &study.settings[claim.setting];
        table.row(vec![
            claim.id.clone(),
            setting.name.clone(),
            setting.scenario().cells.len().to_string(),
            claim.seeds.to_string(),
            claim.statement.clone(),
        ]);
    }
    table.show()
}

/// The claims for a terminal.
fn text(found: &Reproduced<'_>) -> String {
    let info = &found.info;
    let source = &found.study.source;
    let mut text = format!("{}: {}\n{source}\n", info.name, info.title);
    if let Some(Changes { fields, settings }) = found.study.changes() {
        let _ = writeln!(
            text,
            "set: {} (in {})",
            fields.join(", "),
            settings.join(", ")
        );
    }
    text.push('\n');
    for judged in &found.claims {
        let _ = writeln!(text, "{:<5} {}", judged.claim.id, judged.claim.statement);
        let _ = writeln!(text, "      published  {}", judged.claim.published);
        for (world, verdict) in &judged.verdicts {
            if found.worlds.len() > 1 {
                let _ = writeln!(text, "      {world}");
            }
            if !verdict.ours.is_empty() {
                let _ = writeln!(text, "      ours       {}", verdict.ours);
            }
            let interval = verdict.interval_text();
            if !interval.is_empty() {
                let _ = writeln!(text, "      95 %       {interval}");
            }
            let _ = write!(text, "      {}", verdict.status.title());
            if verdict.is_worse {
                text.push_str(" (worse than recorded)");
            }
            if !verdict.reason.is_empty() {
                let _ = write!(text, ": {}", verdict.reason);
            }
            text.push('\n');
        }
        text.push('\n');
    }
    for world in &found.worlds {
        let _ = writeln!(text, "{world}: {}", found.headline(world));
    }
    text
}

/// Where the page was written, on a line.
fn place(out: Option<&Path>) -> String {
    out.map_or_else(String::new, |dir| {
        format!("{}\n", dir.join(sojourn_report::PAGE).display())
    })
}
