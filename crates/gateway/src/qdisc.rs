//! `sojourn qdisc add`, `change`, `del` and `show`: queues of the kernel module.

use crate::{WrongInput, print};
use clap::{Args, Subcommand};
use serde_json::Value;
use sojourn_bridge::module::{self, Installed, ModuleError, Parent};
use sojourn_qdisc::Spec;

/// Give interfaces queues of the kernel module
///
/// The module sch_sojourn runs this program's queues in the kernel. Without it these commands end
/// with an error. It is experimental.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn qdisc add eth0 cake bandwidth 20mbit
  sojourn qdisc change eth0 'tbf rate 20mbit burst 5kb over fq_codel'
  sojourn qdisc show eth0
  sojourn qdisc del eth0")]
pub struct QdiscArgs {
    #[command(subcommand)]
    command: QdiscCommand,
}

/// The commands about queues of the kernel module.
#[derive(Subcommand)]
pub enum QdiscCommand {
    /// Set a queue of the kernel module on an interface
    Add(QueueArgs),
    /// Change such a queue; its packets are kept
    Change(QueueArgs),
    /// Remove such a queue; the interface gets the kernel's default
    #[command(visible_alias = "delete")]
    Del(PlaceArgs),
    /// Print such queues with their statistics, as `tc -s qdisc` does
    Show {
        /// The interface [default: all]
        #[arg(value_name = "DEV")]
        device: Option<String>,
        /// Print JSON, as `tc -s -j qdisc` does
        #[arg(short, long)]
        json: bool,
    },
}

/// An interface, and where at it.
#[derive(Args)]
pub struct PlaceArgs {
    /// The interface
    #[arg(value_name = "DEV")]
    device: String,
    /// The class that gets the queue, in tc's notation (`1:10`)
    #[arg(long, value_name = "CLASS", default_value = "root")]
    parent: Parent,
}

/// The same with a queue for it.
#[derive(Args)]
pub struct QueueArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The queue discipline with its options, in tc's syntax
    #[arg(
        required = true,
        value_name = "DISCIPLINE",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

impl QueueArgs {
    /// The string, which this program's own queues take.
    fn discipline(&self) -> anyhow::Result<String> {
        let text = self.words.join(" ");
        if let Err(error) = text.parse::<Spec>() {
            let error = error.pretty();
            return Err(WrongInput(error.trim_end().to_owned()).into());
        }
        if text.len() > module::TEXT_MAX {
            let (len, most) = (text.len(), module::TEXT_MAX);
            let error = format!("a discipline of {len} bytes: the module takes {most} at most");
            return Err(WrongInput(error).into());
        }
        Ok(text)
    }
}

/// Runs `qdisc`; yields the exit status.
///
/// # Errors
/// When the string is wrong or the kernel refuses it.
pub fn qdisc(args: &QdiscArgs) -> anyhow::Result<u8> {
    run(&args.command)
}

/// Runs one of its commands; yields the exit status.
///
/// # Errors
/// When the string is wrong or the kernel refuses it.
pub fn run(command: &QdiscCommand) -> anyhow::Result<u8> {
    let done = match command {
        QdiscCommand::Add(queue) => {
            let (text, place) = (queue.discipline()?, &queue.place);
            module::add(&place.device, place.parent, &text)
        }
        QdiscCommand::Change(queue) => {
            let (text, place) = (queue.discipline()?, &queue.place);
            module::change(&place.device, place.parent, &text)
        }
        QdiscCommand::Del(place) => module::delete(&place.device, place.parent),
        QdiscCommand::Show { device, json } => {
            let all = module::installed(device.as_deref()).map_err(told)?;
            print(&shown(&all, *json))?;
            return Ok(0);
        }
    };
    done.map_err(told)?;
    Ok(0)
}

fn shown(all: &[Installed], json: bool) -> String {
    if json {
        let all: Value = all.iter().map(Installed::json).collect();
        return format!("{all}\n");
    }
    all.iter().map(Installed::text).collect()
}

/// What is wrong with the request is the user's; the rest has failed.
fn told(error: ModuleError) -> anyhow::Error {
    let is_input = matches!(
        error,
        ModuleError::NoSuchInterface { .. }
            | ModuleError::NotThere { .. }
            | ModuleError::Occupied { .. }
    );
    if is_input {
        WrongInput::from(error).into()
    } else {
        error.into()
    }
}
