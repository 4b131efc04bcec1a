//! `check` of a bridge's file, and of its subscribers': what they mean, or what is wrong with them.

pub mod json;

use crate::table::Table;
use crate::{WRONG_INPUT, WrongInput, print};
use clap::{Args, ValueEnum};
use sojourn_bridge::{FailOpen, kernel_can_fail_open};
use sojourn_line::{Line, LineRate};
use sojourn_qdisc::Entrance;
use sojourn_service::{BridgeFile, Subscribers, bridge_schema, subscribers_schema};
use sojourn_text::{Problems, named_text};
use sojourn_units::{show_rate, show_span};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// As tables.
    Tables,
    /// As JSON, also what is wrong with it.
    Json,
    /// Not at all where it is right.
    Nothing,
}

impl Show {
    /// By the options of the program.
    pub const fn of(json: bool, schema: bool) -> Self {
        match (json, schema) {
            (true, _) => Self::Json,
            (false, true) => Self::Nothing,
            (false, false) => Self::Tables,
        }
    }
}

/// What was read; of a wrong file its problems are printed where programs want to have them, and
/// there is nothing.
///
/// # Errors
/// What is wrong with the file, unless it is shown as JSON.
pub fn told<T>(read: Result<T, Problems>, show: Show) -> anyhow::Result<Option<T>> {
    match read {
        Err(problems) if show == Show::Json => {
            print(&json::problems(&problems))?;
            Ok(None)
        }
        read => Ok(Some(read?)),
    }
}

/// So many of something.
pub fn counted(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {word}{s}")
}

/// A link's rate in words.
pub fn rate(rate: Option<&LineRate>) -> String {
    match rate {
        Some(LineRate::Infinite) => "unlimited".to_owned(),
        Some(LineRate::Fixed(rate)) => show_rate(*rate),
        Some(LineRate::Trace(_)) => "trace".to_owned(),
        None => "-".to_owned(),
    }
}

/// Checks and shows a bridge's file; yields the exit status.
///
/// # Errors
/// What is wrong with it.
pub fn check_bridge(file: &Path, show: Show) -> anyhow::Result<u8> {
    let Some(bridge) = told(BridgeFile::load(file), show)? else {
        return Ok(WRONG_INPUT);
    };
    match show {
        Show::Json => print(&json::pairs(&bridge))?,
        Show::Nothing => {}
        Show::Tables => {
            eprint!("{}", bridge.warnings);
            let mut text = format!("a bridge: {}\n\n", counted(bridge.pairs.len(), "pair"));
            text += &directions(&bridge).show();
            if bridge.pairs.iter().any(|it| it.fail_open != FailOpen::Off) {
                let possible = match kernel_can_fail_open() {
                    Ok(None) => "possible (this kernel)".to_owned(),
                    Ok(Some(remark)) => format!("possible (this kernel), {remark}"),
                    Err(why) => format!("not possible, because {why}"),
                };
                let _ = writeln!(text, "\nfail open: {possible}");
            }
            for pair in &bridge.pairs {
                if let Some(read) = &pair.subscribers {
                    let _ = write!(text, "\npair {}, {}", pair.name, all_of(read));
                }
            }
            print(&text)?;
        }
    }
    Ok(0)
}

/// Checks and shows a text that says who its subscribers are; `name` is shown in messages. Yields
/// the exit status.
///
/// # Errors
/// What is wrong with it.
pub fn check_subscribers(name: &str, text: &str, show: Show) -> anyhow::Result<u8> {
    let Some(read) = told(Subscribers::parse(name, text), show)? else {
        return Ok(WRONG_INPUT);
    };
    match show {
        Show::Json => print(&json::subscribers(&read))?,
        Show::Nothing => {}
        Show::Tables => print(&all_of(&read))?,
    }
    Ok(0)
}

/// Validate a bridge's file and print its queues, or its subscribers' file and print its sites;
/// nothing is started
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn check /etc/sojourn/bridge.toml
  sojourn check /etc/sojourn/subscribers.toml
  sojourn check --schema > bridge.schema.json

Exit status: 0 when the file is right, 2 when it is not.")]
pub struct CheckArgs {
    /// The file of a bridge or of its subscribers
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,

    /// Print all pairs, or sites and circuits, as JSON on standard output; of a wrong file its
    /// problems, each with its place
    #[arg(long, conflicts_with = "schema")]
    json: bool,

    /// Print a format as JSON Schema instead; alone, that of a bridge's file
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "bridge"
    )]
    schema: Option<Format>,
}

/// A format of files.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A bridge's file (`bridge --config`)
    Bridge,
    /// The subscribers of a bridge (`subscribers` in its file)
    Subscribers,
}

/// Runs `check` of the program that knows a bridge's files alone; yields the exit status.
///
/// # Errors
/// What is wrong with the file.
pub fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    match args.schema {
        Some(Format::Bridge) => print(&bridge_schema())?,
        Some(Format::Subscribers) => print(&subscribers_schema())?,
        None => {}
    }
    let Some(file) = &args.file else { return Ok(0) };
    let show = Show::of(args.json, args.schema.is_some());
    let Some((name, text)) = told(named_text(file), show)? else {
        return Ok(WRONG_INPUT);
    };
    if Subscribers::is_meant(&text) {
        return check_subscribers(&name, &text, show);
    }
    if sojourn_text::tree::Node::of_file(&name, &text).is_ok_and(|(tree, _)| tree.has("format")) {
        let message = format!(
            "{name}: this is a scenario or a study; the full program, `sojourn`, checks those"
        );
        return Err(WrongInput(message).into());
    }
    check_bridge(file, show)
}

/// Both directions of every pair.
fn directions(bridge: &BridgeFile) -> Table {
    let mut table = Table::new([
        "pair", "from", "to", ">rate", ">delay", ">jitter", ">loss", "qdisc",
    ]);
    for pair in &bridge.pairs {
        let mut row = |from: &str, to: &str, (line, qdisc): &(Line, Entrance), side: usize| {
            let mut rate = rate(Some(&line.rate));
            if let Some(follows) = pair.autorates[side] {
                let [min, max] = [follows.min, follows.max].map(show_rate);
                let _ = write!(rate, " ({min} to {max})");
            }
            table.row(vec![
                pair.name.clone(),
                from.to_owned(),
                to.to_owned(),
                rate,
                show_span(line.delay),
                show_span(line.jitter),
                line.loss.to_string(),
                qdisc.to_string(),
            ]);
        };
        row(&pair.left, &pair.right, &pair.up, 0);
        row(&pair.right, &pair.left, &pair.down, 1);
    }
    table
}

/// Most circuits, and most of what is not shaped, that are shown; `--json` has all.
const SHOWN: usize = 200;

/// Sites and circuits with their rates, and what is not shaped and why.
fn all_of(read: &Subscribers) -> String {
    let (sites, circuits) = read.counts();
    let mut text = format!(
        "subscribers: {} with {} below {}\n",
        counted(circuits, "circuit"),
        counted(read.prefixes().count(), "address range"),
        counted(sites, "site"),
    );
    if sites > 0 {
        let _ = write!(text, "\n{}", crowds(read).show());
    }
    if circuits > 0 {
        let _ = write!(text, "\n{}", each(read).show());
    }
    let more = |all: usize| match all.checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(more) => format!("... and {more} more; `--json` has all\n"),
    };
    text += &more(circuits);
    let unshaped = read.unshaped();
    if !unshaped.is_empty() {
        text += "\nnot shaped by a circuit:\n";
        for one in unshaped.iter().take(SHOWN) {
            let _ = writeln!(text, "  {one}");
        }
        text += &more(unshaped.len());
    }
    text
}

/// The first circuits with what they have for themselves and at most.
fn each(read: &Subscribers) -> Table {
    let mut table = Table::new([
        "circuit",
        "parent",
        ">up min",
        ">up",
        ">down min",
        ">down",
        ">addresses",
    ]);
    for circuit in read.circuits().take(SHOWN) {
        let [up_min, down_min] = circuit.least.map(show_rate);
        let [up, down] = circuit.most.map(show_rate);
        table.row(vec![
            circuit.name.to_owned(),
            circuit.parent.unwrap_or("-").to_owned(),
            up_min,
            up,
            down_min,
            down,
            circuit.addresses.len().to_string(),
        ]);
    }
    table
}

/// Every site with what is directly below it: rates that together exceed its own are cut.
fn crowds(read: &Subscribers) -> Table {
    let mut table = Table::new([
        "site",
        "parent",
        ">up",
        ">down",
        ">circuits",
        ">guaranteed up",
        ">guaranteed down",
    ]);
    for site in read.sites() {
        let [up, down] = site.rates.map(show_rate);
        let [least_up, least_down] = site.least.map(show_rate);
        table.row(vec![
            site.name.to_owned(),
            site.parent.unwrap_or("-").to_owned(),
            up,
            down,
            site.circuits.to_string(),
            least_up,
            least_down,
        ]);
    }
    table
}
