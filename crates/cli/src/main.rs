//! The `sojourn` program.
//!
//! Exit status: 0 when all went well, 1 when something failed while running, 2 when the input
//! was wrong (nothing has been run or written then), 130 after Ctrl-C.
#![forbid(unsafe_code)]

mod advise;
mod check;
mod evaluate;
mod export;
mod fidelity;
mod figures;
mod fit;
mod hunt;
mod judge;
mod kernel;
mod merge;
mod out;
mod overrides;
mod packetdrill;
mod pcap;
mod progress;
mod python;
mod qdisc;
mod report;
mod reproduce;
mod rtt;
mod run;
mod shard;
mod top;
mod verify;
mod worlds;

use clap::{CommandFactory as _, Parser, Subcommand};
use overrides::Overrides;
use sojourn_gateway as gateway;
use sojourn_gateway::{FAILED, INTERRUPTED, WRONG_INPUT, WrongInput, exit, print};
use std::process::ExitCode;

/// Test queue disciplines in a simulator, on real packets and in the real Linux kernel.
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
    Figures(python::FiguresArgs),
    Merge(merge::MergeArgs),
    Reproduce(reproduce::ReproduceArgs),
    Fidelity(fidelity::FidelityArgs),
    Judge(judge::JudgeArgs),
    Export(export::ExportArgs),
    Fit(fit::FitArgs),
    Advise(advise::AdviseArgs),
    Evaluate(evaluate::EvaluateArgs),
    Hunt(hunt::HuntArgs),
    Packetdrill(packetdrill::PacketdrillArgs),
    Qdisc(qdisc::QdiscArgs),
    Rtt(rtt::RttArgs),
    Bridge(Box<gateway::BridgeArgs>),
    Ctl(gateway::CtlArgs),
    Top(top::TopArgs),
    Kernel(kernel::KernelArgs),
    Completions(gateway::CompletionsArgs),
    Man(gateway::ManArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Report(args) => report::report(&args),
        Command::Figures(args) => python::figures(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Fidelity(args) => fidelity::fidelity(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::Export(args) => export::export(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Advise(args) => advise::advise(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Hunt(args) => hunt::hunt(&args),
        Command::Packetdrill(args) => packetdrill::packetdrill(&args),
        Command::Qdisc(args) => qdisc::qdisc(&args),
        Command::Rtt(args) => rtt::rtt(&args),
        Command::Bridge(args) => gateway::bridge(&args),
        Command::Ctl(args) => gateway::ctl(&args),
        Command::Top(args) => top::top(&args),
        Command::Kernel(args) => kernel::kernel(args),
        Command::Completions(args) => gateway::completions(&args, Cli::command()),
        Command::Man(args) => gateway::man(&args, Cli::command()),
    };
    exit(result)
}
