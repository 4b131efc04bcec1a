//! `sojourn advise`: which queue at which rate belongs before a line's modem.
//!
//! It writes an ordinary scenario (a home, its modem's buffer, the line), runs it as `sojourn run`
//! would, and reads its figures. What it says can be looked up on the page, and gone on from with
//! `--print-scenario`.

mod choose;
mod line;
mod words;

use crate::fit;
use crate::out::check_out;
use crate::progress::Bar;
use crate::run::{interrupted, run_cells};
use crate::worlds::{Setup, WORLDS, world};
use crate::{FAILED, WrongInput, print};
use anyhow::{Context as _, bail};
use choose::Advice;
use clap::Args;
use line::{Given, Line};
use sojourn_batch::{Results, clear};
use sojourn_fit::Measurement;
use sojourn_gateway::stop_on_signal;
use sojourn_scenario::{Options, Scenario};
use sojourn_units::{Span, parse_span};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Find the best queue and rate to use before a line's modem
///
/// Queues (cake, fq_codel, fq_pie, pie, codel) and rates (85 to 100 % of the line) are simulated
/// before the modem's buffer, with four uploads and four downloads at once. For a third of the time
/// the line carries 3 % less than its nominal rate. Of the combinations whose 95th percentile of
/// the induced RTT is near the lowest one, the one with the highest throughput is advised.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn advise 50/10 25ms                          Mbit/s down and up, base RTT
  sojourn advise 1gbit/50mbit 12ms --out out/advice  with the report behind the advice
  sojourn advise --fit rrul.flent.gz                 the line behind a measurement
  sojourn advise 50/10 25ms --print-scenario > my-line.toml

Exit status: 0 when a queue is advised, 1 when a run failed or no line fits the measurement, 2 when
the input is wrong (nothing is run or written), 130 after Ctrl-C.")]
pub(crate) struct AdviseArgs {
    /// Rates of the line, down and up: in Mbit/s or with units (`50/10`, `1gbit/50mbit`)
    #[arg(value_name = "DOWN/UP", required_unless_present = "fit", value_parser = Given::parse)]
    line: Option<Given>,

    /// Round-trip time of the idle line to typical servers, such as `25ms`
    #[arg(value_name = "RTT", required_unless_present = "fit", value_parser = rtt)]
    rtt: Option<Span>,

    /// Take the line from this measurement, as `sojourn fit` does; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["line", "rtt", "buffer"])]
    fit: Vec<PathBuf>,

    /// Size of the modem's buffers, as time at the line's rate
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = buffer)]
    buffer: Span,

    /// The router's interface to the modem, for the printed commands
    #[arg(long, value_name = "NAME", default_value = "eth0", value_parser = interface)]
    wan: String,

    /// Print the scenario, and run nothing
    #[arg(long, conflicts_with = "out")]
    print_scenario: bool,

    /// Write the scenario, report.html, results.parquet and summary.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace results of another scenario or study in the folder of --out
    #[arg(long, requires = "out")]
    overwrite: bool,

    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn advise(args: &AdviseArgs) -> anyhow::Result<u8> {
    let name = || Results::Scenario(line::NAME.to_owned());
    if let Some(out) = &args.out {
        check_out(out, &name(), args.overwrite)?;
    }
    let line = match (args.line, args.rtt) {
        (Some(given), Some(rtt)) => given.line(rtt, args.buffer),
        _ => match measured(args)? {
            Ok(line) => line,
            Err(status) => return Ok(status),
        },
    };
    let choices = line.choices();
    let text = line.scenario(&choices);
    if args.print_scenario {
        print(&text)?;
        return Ok(0);
    }
    let options = Options::default();
    let scenario = Scenario::parse("the line's scenario", &text, Path::new(""), &options)?;
    let world = world(&WORLDS[0], Setup::default())?;
    let stop = stop_on_signal()?;
    let bar = Bar::new(&scenario.cells, args.quiet);
    let jobs = WORLDS[0].jobs(None);
    let outcomes = run_cells(world.as_ref(), &scenario.cells, jobs, &stop, &bar);
    bar.clear();
    if stop.load(Ordering::Relaxed) {
        return Ok(interrupted(false));
    }
    let (results, failures) = sojourn_scenario::split(&scenario.cells, outcomes);
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    let advice = Advice::of(&line, &choices, &results).context("a run has no figures")?;
    let mut shown = advice.text();
    let _ = write!(shown, "\n{}", words::lines(&line, advice.best(), &args.wan));
    if let Some(out) = &args.out {
        let cannot = || format!("--out {}", out.display());
        let notes = [advice.sentences().join(" ")];
        sojourn_report::write(out, &scenario.info, &results, &notes).with_context(cannot)?;
        let place = PathBuf::from(format!("{}.toml", line::NAME));
        sojourn_report::write_files(out, &[(place, &text)]).with_context(cannot)?;
        clear(out, &name())?;
        let _ = write!(shown, "\n{}\n", out.join(sojourn_report::PAGE).display());
    }
    print(&shown)?;
    Ok(0)
}

/// The line of `--fit`; or the exit status, where there is none and that has been said.
fn measured(args: &AdviseArgs) -> anyhow::Result<Result<Line, u8>> {
    let read = Measurement::read_all(&args.fit, None);
    let measurements = read.map_err(WrongInput::from)?;
    let stop = stop_on_signal()?;
    let Some(found) = fit::search(&measurements, &stop, args.quiet)? else {
        return Ok(Err(crate::INTERRUPTED));
    };
    let table = fit::table(&measurements, &found);
    if fit::status(&found, &table).is_none() {
        return Ok(Err(FAILED));
    }
    if !args.quiet {
        eprint!("{}\n{}", found.line, fit::graded(&found));
    }
    let line = Line::of_fit(&found.line).map_err(WrongInput)?;
    Ok(Ok(line))
}

/// Longest base RTT and buffer: satellites have less, and runs grow with it.
const MOST_RTT: Span = Span::from_secs(2);
const MOST_BUFFER: Span = Span::from_secs(5);

fn rtt(text: &str) -> Result<Span, String> {
    between(text, MOST_RTT)
}

fn buffer(text: &str) -> Result<Span, String> {
    between(text, MOST_BUFFER)
}

fn between(text: &str, most: Span) -> Result<Span, String> {
    let least = Span::from_micros(100);
    let span = parse_span(text).map_err(|error| error.to_string())?;
    if span < least || span > most {
        let [least, most] = [least, most].map(sojourn_units::show_span);
        return Err(format!("`{text}` must be from {least} to {most}"));
    }
    Ok(span)
}

/// A name that Linux takes for an interface and a shell for a word.
fn interface(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    if text.is_empty() || text.len() > 15 || !text.chars().all(is_plain) {
        return Err(format!(
            "`{text}` is not an interface name (1 to 15 letters, digits, `-`, `_`, `.`)"
        ));
    }
    Ok(text.to_owned())
}
