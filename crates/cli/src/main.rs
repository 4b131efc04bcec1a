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
mod plugins;
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
    let result = match gateway::arguments::<Cli>(Cli::command()).command {
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use std::ffi::OsString;

    /// What is said of an option's value that none of them takes; `None` if this one takes it.
    fn refused(path: &[String], option: &str) -> Option<String> {
        let value = format!("--{option}=?!");
        let given: Vec<OsString> = path.iter().chain([&value]).map(OsString::from).collect();
        let mut program = Cli::command();
        let error = program.try_get_matches_from_mut(&given).err()?;
        let of_value = [ErrorKind::ValueValidation, ErrorKind::InvalidValue];
        of_value.contains(&error.kind()).then_some(())?;
        gateway::wrong(&program, &given, &error)
    }

    /// All options that take a value: the commands that lead to them, and their names.
    fn options(command: &clap::Command, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
        let path = [path, &[command.get_name().to_owned()]].concat();
        for arg in command.get_arguments() {
            if let (Some(long), true) = (arg.get_long(), arg.get_action().takes_values()) {
                found.push((path.clone(), long.to_owned()));
            }
        }
        for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            options(command, &path, found);
        }
    }

    /// Every option says which value is wrong and what would be right, as all other errors do.
    #[test]
    fn a_wrong_value_of_any_option_is_named() {
        let mut found = Vec::new();
        options(&Cli::command(), &[], &mut found);
        let mut refusals = 0;
        for (path, option) in found {
            let Some(message) = refused(&path, &option) else {
                continue;
            };
            refusals += 1;
            assert!(
                message.starts_with(&format!("--{option}: ")),
                "{path:?}: {message}"
            );
            assert!(message.contains("`?!`"), "{path:?}: {message}");
            for foreign in ["invalid digit", "invalid value", "syntax", "non-zero"] {
                assert!(!message.contains(foreign), "{path:?}: {message}");
            }
        }
        assert!(refusals > 40, "{refusals}");
    }
}
