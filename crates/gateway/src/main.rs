//! `sojourn-bridge`: the program for gateways. Its commands are the library's, which the full
//! program has too.
#![forbid(unsafe_code)]

use clap::builder::{Resettable, StyledStr};
use clap::{Command, CommandFactory as _, Parser, Subcommand};
use sojourn_gateway as gateway;
use std::process::ExitCode;

/// Queues between network interfaces, and what looks after them: the bridge of Sojourn alone.
#[derive(Parser)]
#[command(
    name = "sojourn-bridge",
    version = sojourn_version::VERSION,
    max_term_width = 100,
    after_help = "Examples:
  sojourn check /etc/sojourn/bridge.toml            what the file means
  sojourn bridge --config /etc/sojourn/bridge.toml  run it
  sojourn ctl stats                                 ask the running bridge
  sojourn top                                       watch it"
)]
struct Program {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    Bridge(Box<gateway::BridgeArgs>),
    Ctl(gateway::CtlArgs),
    Top(gateway::top::TopArgs),
    Check(gateway::check::CheckArgs),
    Qdisc(gateway::qdisc::QdiscArgs),
    Completions(gateway::CompletionsArgs),
    Man(gateway::ManArgs),
}

/// The commands' help names the full program: here it names this one.
fn named(command: Command) -> Command {
    let name = |text: &str| {
        text.replace("sojourn ", "sojourn-bridge ")
            .replace("/sojourn\n", "/sojourn-bridge\n")
            .replace("man sojourn-run", "man sojourn-bridge-ctl")
            .replace("sojourn.fish", "sojourn-bridge.fish")
            .replace("_sojourn", "_sojourn-bridge")
    };
    let renamed = |text: Option<&StyledStr>| {
        Resettable::from(text.map(|text| StyledStr::from(name(&text.to_string()))))
    };
    let command = command.mut_args(|arg| {
        let (help, long) = (renamed(arg.get_help()), renamed(arg.get_long_help()));
        arg.help(help).long_help(long)
    });
    let about = renamed(command.get_about());
    let long = renamed(command.get_long_about());
    let after = renamed(command.get_after_help());
    let command = command.about(about).long_about(long).after_help(after);
    command.mut_subcommands(named)
}

fn program() -> Command {
    named(Program::command())
}

fn main() -> ExitCode {
    gateway::set_name("sojourn-bridge");
    let called: Program = gateway::arguments(program());
    gateway::exit(match called.command {
        Commands::Bridge(args) => gateway::bridge(&args),
        Commands::Ctl(args) => gateway::ctl(&args),
        Commands::Top(args) => gateway::top::top(&args, None),
        Commands::Check(args) => gateway::check::check(&args),
        Commands::Qdisc(args) => gateway::qdisc::qdisc(&args),
        Commands::Completions(args) => gateway::completions(&args, program()),
        Commands::Man(args) => gateway::man(&args, program()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every example and sentence of the help names the program that has it.
    #[test]
    fn the_help_is_this_programs() {
        fn look(command: &mut Command, seen: &mut usize) {
            let help = command.render_long_help().to_string();
            let lines = help.lines().filter(|line| line.contains("sojourn"));
            for line in lines {
                *seen += 1;
                assert!(!line.contains("sojourn "), "{line}");
            }
            for command in command.get_subcommands_mut() {
                look(command, seen);
            }
        }
        let mut seen = 0;
        let mut program = program();
        program.build();
        look(&mut program, &mut seen);
        assert!(seen > 10, "{seen}");
    }
}
