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
mod outcome;
mod overrides;
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

use clap::{Parser, Subcommand};
use outcome::{FAILED, INTERRUPTED, WRONG_INPUT, WrongInput, print, refuse};
use overrides::Overrides;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

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
