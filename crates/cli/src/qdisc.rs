//! `sojourn qdisc`: the queue disciplines, their options and defaults.

use crate::{WrongInput, print};
use clap::{Args, Subcommand};
use sojourn_qdisc::{catalogue, kind, list};

/// List the queue disciplines, or explain one
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn qdisc list
  sojourn qdisc explain fq_codel")]
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
        /// The discipline's name, as in tc
        name: String,
    },
}

pub(crate) fn qdisc(args: &QdiscArgs) -> anyhow::Result<u8> {
    match &args.command {
        QdiscCommand::List => print(&list())?,
        QdiscCommand::Explain { name } => {
            let Some(kind) = kind(name) else {
                let distance = |known: &&str| strsim::damerau_levenshtein(known, name);
                let names = catalogue().iter().map(|kind| kind.name);
                let near = names.min_by_key(distance);
                let near = near.filter(|near| distance(near) <= 3);
                let help = near.map_or_else(
                    || "see `sojourn qdisc list`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                anyhow::bail!(WrongInput(format!("no qdisc is named `{name}`; {help}")));
            };
            print(&kind.explain())?;
        }
    }
    Ok(0)
}
