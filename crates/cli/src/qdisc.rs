//! `sojourn qdisc`: the queue disciplines, their options and defaults; and queues of the kernel
//! module, as the gateway's program has them.

use crate::{WrongInput, print};
use clap::{Args, Subcommand};
use sojourn_gateway::qdisc as installed;
use sojourn_qdisc::{explain, list};

/// List and explain queue disciplines; install them with the kernel module
///
/// `add`, `change`, `del` and `show` use the kernel module sch_sojourn, which runs this program's
/// queues in the kernel. It is experimental.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn qdisc list
  sojourn qdisc explain fq_codel
  sojourn qdisc explain cake bandwidth 20mbit
  sojourn qdisc add eth0 cake bandwidth 20mbit
  sojourn qdisc show eth0")]
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
    #[command(flatten)]
    Installed(installed::QdiscCommand),
}

pub(crate) fn qdisc(args: &QdiscArgs) -> anyhow::Result<u8> {
    match &args.command {
        QdiscCommand::List => print(&list())?,
        QdiscCommand::Explain { words } => {
            let text = words.join(" ");
            let explained = explain(&text);
            print(&explained.map_err(|error| WrongInput(error.pretty().trim_end().to_owned()))?)?;
        }
        QdiscCommand::Installed(command) => return installed::run(command),
    }
    Ok(0)
}
