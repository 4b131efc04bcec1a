//! `sojourn qdisc`: the queue disciplines, their options and defaults.

use crate::{WrongInput, print};
use clap::{Args, Subcommand};
use sojourn_qdisc::{explain, list};

/// List the queue disciplines, or explain one
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn qdisc list
  sojourn qdisc explain fq_codel
  sojourn qdisc explain cake bandwidth 20mbit")]
pub(crate) struct QdiscArgs {
    #[command(subcommand)]
    command: QdiscCommand,
}

#[derive(Subcommand)]
enum QdiscCommand {
    /// All disciplines, a line each
    List,
    /// Options with units, ranges and defaults, and statistics
    Explain {
        /// The discipline's name, as in tc, and options if they are to be explained too
        #[arg(required = true, value_name = "NAME", allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

pub(crate) fn qdisc(args: &QdiscArgs) -> anyhow::Result<u8> {
    match &args.command {
        QdiscCommand::List => print(&list())?,
        QdiscCommand::Explain { words } => {
            let text = words.join(" ");
            let explained = explain(&text);
            print(&explained.map_err(|error| WrongInput(error.pretty().trim_end().to_owned()))?)?;
        }
    }
    Ok(0)
}
