//! `sojourn evaluate`: a queue or a congestion control, measured by the cases that RFCs ask for.
//!
//! The cases and what is measured in them are those of the crate `evaluate`.

use crate::out::check_out;
use crate::plugins;
use crate::progress::Bar;
use crate::python;
use crate::run::{interrupted, run_cells};
use crate::worlds::{QueuesChoice, WorldRow, repeating, world};
use crate::{WrongInput, print};
use anyhow::{Context as _, bail};
use clap::Args;
use sojourn_batch::Results;
use sojourn_evaluate::{Candidate, Card, Evaluation, Unfit};
use sojourn_gateway::{Table, stop_on_signal, whole};
use sojourn_loader::Sort;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Measure a queue or a congestion control in the test cases of RFCs
///
/// A queue runs in the scenarios of RFC 7928 (kinds of senders, round-trip times, bursts, varying
/// congestion, varying rates, several queues in a row), a congestion control in scenarios for the
/// questions of RFC 9743. The card has the mean of every measure over the seeds with its 95 %
/// confidence interval, and no single score.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn evaluate --qdisc 'fq_codel target 5ms'
  sojourn evaluate --qdisc pie --out out/pie       with card.json, card.md and a page for each case
  sojourn evaluate --cc bbr3 --case beside --seeds 10
  sojourn evaluate --qdisc codel --world kernel    (after `sojourn kernel build`)
  sojourn evaluate --qdisc 'python:own.py:OneOfN n=50'    (the class OneOfN of own.py)
  sojourn evaluate --cc 'rust:libcalm.so:Calm beta=0.8'   (a plug-in)

Exit status: 0 when there is a card, 1 when a run failed, 2 when the input is wrong (nothing is
run), 130 after Ctrl-C.")]
pub(crate) struct EvaluateArgs {
    /// The queue, in tc's words, or an AQM of yours: `python:FILE:CLASS` or `rust:FILE:TYPE`, with
    /// NAME=VALUE options
    #[arg(long, value_name = "SPEC", required_unless_present = "cc")]
    qdisc: Option<String>,

    /// The congestion control, as scenarios name it, or one of yours: `python:FILE:CLASS` or
    /// `rust:FILE:TYPE`, with NAME=VALUE options
    #[arg(long, value_name = "NAME", conflicts_with = "qdisc")]
    cc: Option<String>,

    /// Only this case; may be repeated
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,

    /// Seeds of each cell, 2 to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u64>(2, 1000))]
    seeds: u64,

    /// The world to run in: one of those of `run`, except `live`
    #[arg(long, value_name = "WORLD", default_value = "sim", value_parser = repeating)]
    world: &'static WorldRow,

    #[command(flatten)]
    queues: QueuesChoice,

    /// Write card.json, card.md, and a folder with a page for each case into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace results of another scenario or study in the folders of the cases
    #[arg(long, requires = "out")]
    overwrite: bool,

    /// Print the card as JSON
    #[arg(long)]
    json: bool,

    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn evaluate(args: &EvaluateArgs) -> anyhow::Result<u8> {
    let (subject, own, kind) = match (&args.qdisc, &args.cc) {
        (Some(qdisc), _) => (format!("--qdisc '{qdisc}'"), qdisc, Candidate::Queue),
        (None, Some(cc)) => (format!("--cc {cc}"), cc, Candidate::Control),
        (None, None) => bail!("--qdisc or --cc"),
    };
    let option = format!("--{}", kind.option());
    if python::is_named(own) {
        return python::hand_over(&option, own, &[args.world]);
    }
    let sort = match kind {
        Candidate::Queue => Sort::Aqm,
        Candidate::Control => Sort::Control,
    };
    let (plugins, stand_in) = plugins::one(&option, own, sort)?.unzip();
    let own = stand_in.as_ref().unwrap_or(own);
    let mut evaluation = Evaluation::new(kind, own, &args.case, args.seeds)
        .map_err(|unfit| wrong(&option, unfit))?;
    if let Some(plugins) = &plugins {
        for scenario in evaluation.scenarios() {
            plugins.name(scenario);
        }
    }
    if let Some(out) = &args.out {
        for (folder, name) in evaluation.folders(out) {
            check_out(&folder, &Results::Scenario(name.to_owned()), args.overwrite)?;
        }
    }
    let world = match plugins {
        Some(plugins) => plugins::world(plugins, &option, &[args.world], false)?,
        None => world(args.world, args.queues.setup(&[args.world])?)?,
    };
    let stop = stop_on_signal()?;
    let runs = evaluation.cells();
    let bar = Bar::new(&runs, args.quiet);
    let jobs = args.world.jobs(None);
    let outcomes = run_cells(world.as_ref(), &runs, jobs, &stop, &bar);
    bar.clear();
    if stop.load(Ordering::Relaxed) {
        return Ok(interrupted(false));
    }
    let (results, failures) = sojourn_scenario::split(&runs, outcomes);
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    let world = args.world.name_with(args.queues.queues()).to_string();
    let card = evaluation.card(subject, world, args.seeds, &results);
    if let Some(out) = &args.out {
        let cannot = || format!("--out {}", out.display());
        let written = evaluation.write(out, &card, &results);
        written.with_context(cannot)?;
    }
    print(&if args.json { card.json() } else { text(&card) })?;
    Ok(0)
}

/// What is wrong, with the option that it is about.
fn wrong(option: &str, unfit: Unfit) -> anyhow::Error {
    match unfit {
        Unfit::Case { name, help } => {
            WrongInput(format!("--case {name}: no case has this name; {help}")).into()
        }
        Unfit::Subject(message) => WrongInput(format!("{option}: {message}")).into(),
        Unfit::Scenario(problems) => problems.into(),
    }
}

/// The card for a terminal.
fn text(card: &Card) -> String {
    let mut table = Table::new(["case", "with", "measure", ">value", "unit"]);
    for line in card.lines() {
        table.row(line.to_vec());
    }
    format!("{}\n\n{}", card.title(), table.show())
}
