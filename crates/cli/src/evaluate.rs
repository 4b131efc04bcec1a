//! `sojourn evaluate`: a queue or a congestion control, measured by the cases that RFCs ask for.
//!
//! The cases are ordinary scenarios (`scenarios/evaluate`), in which one thing is replaced. What is
//! measured in them says `cases.rs`, and how it is shown `card.rs`. There is no single score.

mod card;
mod cases;
mod measure;

use crate::out::check_out;
use crate::progress::Bar;
use crate::run::{interrupted, run_cells};
use crate::worlds::{QueuesChoice, Row, repeating};
use crate::{WrongInput, print};
use anyhow::{Context as _, bail};
use card::{Card, Cell};
use cases::{CONTROL, Case, QUEUE};
use clap::Args;
use sojourn_batch::Results;
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_qdisc::Spec;
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_world::RunResult;
use std::fs;
use std::path::{Path, PathBuf};
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

Exit status: 0 when there is a card, 1 when a run failed, 2 when the input is wrong (nothing is
run), 130 after Ctrl-C.")]
pub(crate) struct EvaluateArgs {
    /// The queue, in tc's words
    #[arg(long, value_name = "SPEC", required_unless_present = "cc")]
    qdisc: Option<String>,

    /// The congestion control, as scenarios name it
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
    world: &'static Row,

    #[command(flatten)]
    queues: QueuesChoice,

    /// Write card.json, card.md, and a folder with a page for each case into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace what another scenario or study has left in the folders of the cases
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
    let (subject, own, all) = match (&args.qdisc, &args.cc) {
        (Some(qdisc), _) => (format!("--qdisc '{qdisc}'"), qdisc, QUEUE),
        (None, Some(cc)) => (format!("--cc {cc}"), cc, CONTROL),
        (None, None) => bail!("--qdisc or --cc"),
    };
    let cases = chosen(all, &args.case)?;
    let read = cases.iter().map(|case| read(case, own, args.seeds));
    let scenarios = read.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(out) = &args.out {
        for (case, scenario) in cases.iter().zip(&scenarios) {
            let name = Results::Scenario(scenario.info.name.clone());
            check_out(&out.join(case.name), &name, args.overwrite)?;
        }
    }
    let world = args.world.world(args.queues.setup(&[args.world])?)?;
    let stop = stop_on_signal()?;
    let runs: Vec<_> = scenarios.iter().flat_map(|it| it.cells.clone()).collect();
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
    let card = Card {
        subject,
        world: args.world.name_with(args.queues.queues()).to_string(),
        seeds: args.seeds,
        cells: cells(&cases, &scenarios, &results),
    };
    if let Some(out) = &args.out {
        let cannot = || format!("--out {}", out.display());
        write(out, &card, (&cases, &scenarios), &results).with_context(cannot)?;
    }
    print(&if args.json { card.json() } else { card.text() })?;
    Ok(0)
}

/// The cases with these names, or all.
fn chosen(
    all: &'static [&'static [Case]],
    names: &[String],
) -> Result<Vec<&'static Case>, WrongInput> {
    let all: Vec<&Case> = all.iter().copied().flatten().collect();
    if names.is_empty() {
        return Ok(all);
    }
    let known: Vec<_> = all.iter().map(|case| case.name).collect();
    let named = names.iter().map(|name| {
        let case = all.iter().copied().find(|case| case.name == name);
        case.ok_or_else(|| {
            let help = suggestion(name, &known);
            WrongInput(format!("--case {name}: no case has this name; {help}"))
        })
    });
    named.collect()
}

/// The scenario of a case with what is evaluated in its place.
fn read(case: &Case, own: &str, seeds: u64) -> anyhow::Result<Scenario> {
    let options = Options {
        sets: case.places.iter().map(|at| format!("{at}={own}")).collect(),
        seeds: Some(seeds),
        ..Options::default()
    };
    let name = format!("case {}", case.name);
    let read = Scenario::parse(&name, case.text, Path::new(""), &options);
    read.map_err(|problems| of_subject(&problems, own).unwrap_or_else(|| problems.into()))
}

/// What is wrong with the queue or the control itself, under the name of its option: the places in
/// a case, which the user has not written, do not help.
fn of_subject(problems: &Problems, own: &str) -> Option<anyhow::Error> {
    let problem = problems.iter().next()?;
    let option = match problem.field().rsplit('.').next()? {
        "qdisc" => "--qdisc",
        "cc" => "--cc",
        _ => return None,
    };
    let message = match own.parse::<Spec>() {
        Err(error) if option == "--qdisc" && problem.way_out().is_none() => {
            error.pretty().trim_end().to_owned()
        }
        _ => [Some(problem.message()), problem.way_out()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
    };
    Some(WrongInput(format!("{option}: {message}")).into())
}

/// The cells of all cases, each over its seeds.
fn cells(cases: &[&Case], scenarios: &[Scenario], results: &[RunResult]) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut rest = results;
    for (case, scenario) in cases.iter().zip(scenarios) {
        let (own, others) = rest.split_at(scenario.cells.len());
        rest = others;
        let same = |a: &RunResult, b: &RunResult| a.params == b.params;
        cells.extend(own.chunk_by(same).map(|runs| Cell::of(case, runs)));
    }
    cells
}

/// Writes the card, and the pages of its cases.
fn write(
    out: &Path,
    card: &Card,
    (cases, scenarios): (&[&Case], &[Scenario]),
    results: &[RunResult],
) -> anyhow::Result<()> {
    let mut rest = results;
    for (case, scenario) in cases.iter().zip(scenarios) {
        let (own, others) = rest.split_at(scenario.cells.len());
        rest = others;
        let notes = [format!("{}: {}.", card.subject, case.source)];
        sojourn_report::write(&out.join(case.name), &scenario.info, own, &notes)?;
    }
    fs::write(out.join("card.json"), card.json())?;
    fs::write(out.join("card.md"), card.markdown())?;
    Ok(())
}
