//! The `sojourn` program.
//!
//! Exit status: 0 when all went well, 1 when something failed while running, 2 when the input
//! was wrong (nothing has been run or written then), 130 after Ctrl-C.
#![forbid(unsafe_code)]

mod advise;
mod bridge;
mod check;
mod connection;
mod ctl;
mod export;
mod fidelity;
mod figures;
mod fit;
mod kernel;
mod manual;
mod merge;
mod out;
mod pcap;
mod progress;
mod qdisc;
mod report;
mod reproduce;
mod rtt;
mod run;
mod shard;
mod signal;
mod table;
mod top;
mod verify;
mod worlds;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use sojourn_scenario::{Options, Problems, Scenario};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Something failed while running.
const FAILED: u8 = 1;
/// The input was wrong.
const WRONG_INPUT: u8 = 2;
/// Stopped by Ctrl-C, as shells count it.
const INTERRUPTED: u8 = 130;

/// One scenario, three worlds: the same queue code simulated, on real packets, in a real kernel.
#[derive(Parser)]
#[command(
    name = "sojourn",
    version = sojourn_version::VERSION,
    max_term_width = 100,
    after_help = "Examples:
  sojourn check scenarios/demo.toml              what the file means
  sojourn run scenarios/demo.toml                simulate it and print the main figures
  sojourn run scenarios/demo.toml --out out/sim  report.html, results.parquet, summary.json
  sojourn reproduce codel-red --quick            a published study, claim by claim
  sojourn fidelity                               the simulator beside the real kernel
  sojourn qdisc explain fq_codel                 options, defaults and statistics"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::RunArgs),
    Check(check::CheckArgs),
    Report(report::ReportArgs),
    Merge(merge::MergeArgs),
    Reproduce(reproduce::ReproduceArgs),
    Fidelity(fidelity::FidelityArgs),
    Export(export::ExportArgs),
    Fit(fit::FitArgs),
    Advise(advise::AdviseArgs),
    Qdisc(qdisc::QdiscArgs),
    Rtt(rtt::RttArgs),
    Bridge(Box<bridge::BridgeArgs>),
    Ctl(ctl::CtlArgs),
    Top(top::TopArgs),
    Kernel(kernel::KernelArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

/// What changes a scenario from outside.
#[derive(Args)]
struct Overrides {
    /// Give a field another value; may be repeated. A field that the file sweeps is swept no more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,

    /// Give a field these values one after the other, beside what the file sweeps; may be repeated
    #[arg(long = "sweep", value_name = "KEY=[VALUE, ...]")]
    sweeps: Vec<String>,

    /// First seed; alone, the only one
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,

    /// Number of seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,
}

impl Overrides {
    fn is_empty(&self) -> bool {
        self.options() == Options::default()
    }

    fn options(&self) -> Options {
        Options {
            sets: self.sets.clone(),
            sweeps: self.sweeps.clone(),
            seed: self.seed,
            seeds: self.seeds,
        }
    }

    fn load(&self, file: &Path) -> Result<Scenario, Problems> {
        Scenario::load(file, &self.options())
    }

    /// The same of a text that stands in `file`, for messages called `name`.
    fn parse(&self, name: &str, text: &str, file: &Path) -> Result<Scenario, Problems> {
        let base = file.parent().unwrap_or(Path::new(""));
        Scenario::parse(name, text, base, &self.options())
    }
}

/// Tells people what is wrong with a file.
fn refuse(problems: &Problems) -> u8 {
    eprint!("{problems}");
    match problems.len() {
        1 => eprintln!("1 problem; nothing was done"),
        n => eprintln!("{n} problems; nothing was done"),
    }
    WRONG_INPUT
}

/// Prints to standard output; a closed pipe is an ordinary end, see [`main`].
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// What was asked for cannot be done; a sentence. Nothing has been run or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongInput(String);

impl WrongInput {
    /// From an error, with its reasons.
    fn from(error: impl Into<anyhow::Error>) -> Self {
        Self(format!("{:#}", error.into()))
    }
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Report(args) => report::report(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Fidelity(args) => fidelity::fidelity(&args),
        Command::Export(args) => export::export(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Advise(args) => advise::advise(&args),
        Command::Qdisc(args) => qdisc::qdisc(&args),
        Command::Rtt(args) => rtt::rtt(&args),
        Command::Bridge(args) => bridge::bridge(&args),
        Command::Ctl(args) => ctl::ctl(&args),
        Command::Top(args) => top::top(&args),
        Command::Kernel(args) => kernel::kernel(args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let closed = |cause: &(dyn std::error::Error + 'static)| {
                let io = cause.downcast_ref::<std::io::Error>();
                io.is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
            };
            // `sojourn check FILE | head` has shown what was wanted.
            if error.chain().any(closed) {
                return ExitCode::SUCCESS;
            }
            if let Some(problems) = error.downcast_ref() {
                return ExitCode::from(refuse(problems));
            }
            // Whoever would read it may be gone.
            let _ = writeln!(std::io::stderr(), "sojourn: {error:#}");
            let wrong = error.is::<WrongInput>();
            ExitCode::from(if wrong { WRONG_INPUT } else { FAILED })
        }
    }
}
