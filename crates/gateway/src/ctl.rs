//! `sojourn ctl`: asks a running bridge, or has it changed.

mod capture;
mod circuits;
mod verify;

use crate::connection::Connection;
use crate::{WrongInput, print};
use capture::CaptureArgs;
use circuits::CircuitsArgs;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use sojourn_service::CONTROL;
use std::fmt::Write as _;
use std::path::PathBuf;
use verify::VerifyArgs;

/// Query or change a running bridge
///
/// The bridge listens at its `--control` socket; the service uses the default. A change keeps every
/// packet and prints the queue before and after; an invalid one changes nothing.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn ctl stats
  sojourn ctl change up cake rtt 50ms
  sojourn ctl replace up fq_codel
  sojourn ctl --pair wan rate down 80mbit
  sojourn ctl reload --dry-run
  sojourn ctl capture | tshark -r -")]
pub struct CtlArgs {
    /// The bridge's control socket
    #[arg(long, value_name = "PATH", default_value = CONTROL, global = true)]
    socket: PathBuf,

    /// Which pair of interfaces, for a bridge with several [default: all, or the only one]
    #[arg(long, value_name = "NAME", global = true)]
    pair: Option<String>,

    /// Print the bridge's answer as JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    request: Request,
}

#[derive(Subcommand)]
enum Request {
    /// Print the statistics of both directions, as `tc -s qdisc` does
    Stats,

    /// Change one direction's queue as `tc qdisc change` does
    ///
    /// Options that are not named keep their values. A queue of another kind takes over the packets
    /// and starts with its defaults. A queue without a rate is refused if the running one has a
    /// rate.
    Change(QueueArgs),

    /// Set one direction's queue as `tc qdisc add` does
    ///
    /// What the words do not name has its default: a shaper's rate too. No packet is lost.
    Replace(QueueArgs),

    /// Set one direction's rate
    Rate {
        side: Way,

        /// The rate, or `unlimited`
        rate: String,
    },

    /// Print the last 1000 changes since the bridge started, with time and user
    History,

    /// Apply the bridge's file: change what differs, without losing a packet
    Reload {
        /// Say what differs, and change nothing
        #[arg(long)]
        dry_run: bool,
    },

    Circuits(CircuitsArgs),

    Verify(VerifyArgs),

    Capture(CaptureArgs),
}

/// A queue for a direction.
#[derive(Args)]
struct QueueArgs {
    /// Parse the queue as tc does: the last of several alternatives counts, and numbers may lack
    /// units
    #[arg(long)]
    tc: bool,

    side: Way,

    /// The queue, in tc's syntax
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    spec: Vec<String>,
}

impl QueueArgs {
    /// As the bridge reads it.
    fn request(&self, command: &str) -> Value {
        let (side, spec) = (self.side.name(), self.spec.join(" "));
        json!({"command": command, "side": side, "spec": spec, "tc": self.tc})
    }
}

/// A direction of the bridge.
#[derive(Clone, Copy, ValueEnum)]
enum Way {
    /// From left to right
    Up,
    /// From right to left
    Down,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl CtlArgs {
    /// As the bridge reads it.
    fn request(&self) -> Value {
        let mut request = match &self.request {
            Request::Stats if self.json => json!({"command": "stats"}),
            Request::Stats => json!({"command": "text"}),
            Request::Change(queue) => queue.request("change"),
            Request::Replace(queue) => queue.request("replace"),
            Request::Rate { side, rate } => {
                json!({"command": "rate", "side": side.name(), "rate": rate})
            }
            Request::History => json!({"command": "history"}),
            Request::Reload { dry_run } => json!({"command": "reload", "dry_run": dry_run}),
            Request::Circuits(_) => json!({"command": "circuits"}),
            Request::Verify(_) => json!({"command": "verify"}),
            Request::Capture(capture) => capture.request(),
        };
        if let Some(pair) = &self.pair {
            request["pair"] = pair.as_str().into();
        }
        request
    }
}

/// An answer, unless it is a refusal.
fn agreed(answer: Value) -> Result<Value, WrongInput> {
    if answer["ok"] == true {
        return Ok(answer);
    }
    let error = answer["error"].as_str().unwrap_or("the bridge says no");
    Err(WrongInput(error.to_owned()))
}

/// Runs `ctl`; yields the exit status.
///
/// # Errors
/// Why the bridge cannot be asked, or what it refuses.
pub fn ctl(args: &CtlArgs) -> anyhow::Result<u8> {
    if let Request::Capture(capture) = &args.request {
        capture.check()?;
    }
    let mut connection = Connection::open(&args.socket)?;
    if let Request::Circuits(circuits) = &args.request {
        return circuits.ask(&mut connection, args.pair.as_deref(), args.json);
    }
    if let Request::Verify(verify) = &args.request {
        return verify.ask(&mut connection, args.pair.as_deref(), args.json);
    }
    let answer = agreed(connection.ask(&args.request())?)?;
    if let Request::Capture(capture) = &args.request {
        return capture.copy(connection.into_rest());
    }
    if args.json {
        print(&format!("{answer}\n"))?;
    } else if let Some(text) = answer["text"].as_str() {
        print(text)?;
    } else if let Some(history) = answer["history"].as_array() {
        let line = |entry: &Value| {
            let field = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            format!("{}  {}: {}\n", field("time"), field("by"), field("what"))
        };
        print(&history.iter().map(line).collect::<Vec<_>>().concat())?;
    } else if let Some(changes) = answer["changes"].as_array() {
        let mut lines: Vec<&str> = changes.iter().filter_map(Value::as_str).collect();
        if lines.is_empty() {
            lines.push("nothing differs");
        }
        print(&format!("{}\n", lines.join("\n")))?;
    } else {
        print(&changed(&answer))?;
    }
    Ok(0)
}

/// What was before a change and what is after it, and what words were taken for.
fn changed(answer: &Value) -> String {
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    let side = text("side");
    let mut notes = String::new();
    for note in answer["notes"].as_array().into_iter().flatten() {
        let note = note.as_str().unwrap_or_default();
        let _ = writeln!(notes, "{side} note:   {note}");
    }
    format!(
        "{side} before: {}\n{side} after:  {}\n{notes}",
        text("before"),
        text("after")
    )
}
