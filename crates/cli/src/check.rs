//! `sojourn check`: validates a scenario or a bridge's file and prints what it means.

mod json;

use crate::python;
use crate::reproduce::claims_of;
use crate::worlds;
use crate::{Overrides, WRONG_INPUT, WrongInput, print};
use anyhow::bail;
use clap::{Args, ValueEnum};
use sojourn_gateway::Table;
use sojourn_gateway::check::{Show, check_bridge, check_subscribers, counted, rate, told};
use sojourn_gateway::whole;
use sojourn_scenario::named_text;
use sojourn_service::{BridgeFile, Subscribers};
use sojourn_study::Study;
use sojourn_units::{Time, show_span};
use sojourn_world::{Cell, Transport};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Check a scenario, a bridge's file, a subscribers' file or a study, and print what it means;
/// nothing is run
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn check scenarios/demo.toml
  sojourn check /etc/sojourn/bridge.toml
  sojourn check /etc/sojourn/subscribers.toml
  sojourn check scenarios/demo.toml --set dumbbell.rtt=80ms --cell 2
  sojourn check scenarios/demo.toml --json | jq '.cells[].flows[].name'
  sojourn check studies/codel-red/study.toml
  sojourn check --schema > scenario.schema.json

Exit status: 0 when the file is right, 2 when it is not.")]
pub(crate) struct CheckArgs {
    /// A scenario, a bridge's file, its subscribers' file, or a study.toml
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,

    #[command(flatten)]
    overrides: Overrides,

    /// The cell whose links and flows are shown; default 1
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, u64::MAX))]
    cell: Option<usize>,

    /// Print all cells, pairs, sites and circuits, or claims as JSON on standard output; for a
    /// wrong file its problems with their places
    #[arg(long, conflicts_with = "schema")]
    json: bool,

    /// Print the JSON Schema of a format instead; without FORMAT, that of scenarios
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "scenario"
    )]
    schema: Option<Format>,
}

/// A format of files.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Scenarios
    Scenario,
    /// A bridge's file (`sojourn bridge --config`)
    Bridge,
    /// The subscribers of a bridge (`subscribers` in its file)
    Subscribers,
    /// A study's `study.toml` (`sojourn reproduce`)
    Study,
}

impl Format {
    fn schema(self) -> String {
        match self {
            Self::Scenario => sojourn_scenario::schema(),
            Self::Bridge => sojourn_service::bridge_schema(),
            Self::Subscribers => sojourn_service::subscribers_schema(),
            Self::Study => sojourn_study::schema(&worlds::names()),
        }
    }
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    if let Some(format) = args.schema {
        print(&format.schema())?;
    }
    let Some(file) = &args.file else { return Ok(0) };
    let read = named_text(file);
    if let Ok((name, text)) = &read
        && Subscribers::is_meant(text)
    {
        args.no_overrides("a file of subscribers")?;
        return check_subscribers(name, text, args.show());
    }
    if let Ok((_, text)) = &read
        && BridgeFile::is_meant(text)
    {
        args.no_overrides("a bridge's file")?;
        return check_bridge(file, args.show());
    }
    if let Ok((_, text)) = &read
        && Study::is_meant(text)
    {
        return check_study(args, file);
    }
    if let Some(ended) = python::check(file, &args.overrides) {
        return ended;
    }
    let read = read.and_then(|(name, text)| args.overrides.parse(&name, &text, file));
    let Some((scenario, _)) = told(read, args.show())? else {
        return Ok(WRONG_INPUT);
    };
    if args.schema.is_some() {
        return Ok(0);
    }
    if args.json {
        print(&json::cells(&scenario))?;
        return Ok(0);
    }
    eprint!("{}", scenario.warnings);
    let cells = &scenario.cells;
    let number = args.cell.unwrap_or(1);
    let Some(cell) = number.checked_sub(1).and_then(|index| cells.get(index)) else {
        let last = cells.len();
        bail!(WrongInput(format!(
            "--cell {number}: there are cells 1 to {last}"
        )));
    };
    let mut text = format!(
        "{}: {}\n{}, {}\n\n",
        scenario.info.name,
        scenario.info.title,
        counted(cells.len(), "cell"),
        counted(cell.flows.len(), "flow")
    );
    text += &grid(cells).show();
    let _ = write!(
        text,
        "\nCell {}: {}, statistics from {}, seed {}\n\n",
        number,
        show_span(cell.duration),
        show_span(cell.warmup),
        cell.seed
    );
    let _ = write!(text, "{}\n{}", links(cell).show(), flows(cell).show());
    print(&text)?;
    Ok(0)
}

impl CheckArgs {
    /// Refuses what is about scenarios, for another file.
    fn no_overrides(&self, what: &str) -> anyhow::Result<()> {
        if self.overrides.is_empty() && self.cell.is_none() {
            return Ok(());
        }
        let options = "--set, --sweep, --seed, --seeds and --cell";
        let message = format!("{options} are for scenarios; this is {what}");
        bail!(WrongInput(message))
    }

    const fn show(&self) -> Show {
        Show::of(self.json, self.schema.is_some())
    }
}

fn check_study(args: &CheckArgs, file: &Path) -> anyhow::Result<u8> {
    args.no_overrides("a study")?;
    let Some(study) = told(Study::load_file(file, &worlds::names()), args.show())? else {
        return Ok(WRONG_INPUT);
    };
    if args.json {
        print(&json::claims(&study))?;
    } else if args.schema.is_none() {
        let settings = counted(study.settings.len(), "setting");
        let text = format!("{}: {}\n{settings}\n\n", study.name, study.title);
        print(&(text + &claims_of(&study)))?;
    }
    Ok(0)
}

fn grid(cells: &[Cell]) -> Table {
    // Every cell has the same keys.
    let keys = cells.first().map_or(&[][..], |cell| &cell.params[..]);
    let titles = [">cell", ">seed", ">duration"].into_iter();
    let mut table = Table::new(titles.chain(keys.iter().map(|(key, _)| key.as_str())));
    for (number, cell) in (1..).zip(cells) {
        let (number, seed): (u64, _) = (number, cell.seed);
        let mut row = vec![
            number.to_string(),
            seed.to_string(),
            show_span(cell.duration),
        ];
        row.extend(cell.params.iter().map(|(_, value)| value.clone()));
        table.row(row);
    }
    table
}

fn links(cell: &Cell) -> Table {
    let mut table = Table::new([
        "link", ">rate", ">delay", ">jitter", ">loss", "from", "to", "qdisc",
    ]);
    let network = &cell.network;
    for (index, interface) in network.interfaces.iter().enumerate() {
        let medium = network.medium(index);
        let line = network.wire(index).map(|wire| &wire.line);
        let hearers: Vec<&str> = medium
            .hearers(interface.node)
            .iter()
            .map(|&to| network.nodes[to].name.as_str())
            .collect();
        table.row(vec![
            interface.name.clone(),
            rate(medium.rate()),
            show_span(medium.delay()),
            line.map_or("-".to_owned(), |line| show_span(line.jitter)),
            line.map_or("-".to_owned(), |line| line.loss.to_string()),
            network.nodes[interface.node].name.clone(),
            hearers.join(", "),
            interface.qdisc.to_string(),
        ]);
    }
    table
}

fn flows(cell: &Cell) -> Table {
    let nodes = cell.network.node_names();
    let mut table = Table::new([
        "flow",
        "from",
        "to",
        "app",
        "transport",
        ">base RTT",
        ">start",
        ">stop",
        ">DSCP",
    ]);
    let time = |time: Time| format!("{:.3}s", time.as_secs_f64());
    for flow in &cell.flows {
        let transport = match (flow.transport, flow.stack) {
            (Transport::Udp, None) => "udp".to_owned(),
            (Transport::Udp, Some(stack)) => format!("udp {}", stack.name()),
            (Transport::Tcp(config), _) => format!("tcp {}", config.algorithm.name()),
        };
        table.row(vec![
            flow.name.clone(),
            nodes[flow.from].to_owned(),
            nodes[flow.to].to_owned(),
            flow.app.kind().name.to_owned(),
            transport,
            show_span(flow.base_rtt),
            time(flow.start),
            flow.stop.map_or_else(|| "-".to_owned(), time),
            flow.dscp.to_string(),
        ]);
    }
    table
}
