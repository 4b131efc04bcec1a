//! `sojourn check`: validates a scenario and prints what it means.

use crate::table::Table;
use crate::{Overrides, WrongInput, print};
use anyhow::bail;
use clap::Args;
use sojourn_units::{Time, show_rate, show_span};
use sojourn_world::{Cell, LineRate, Transport};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Validate a scenario and print its resolved cells; nothing is run
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn check scenarios/demo.toml
  sojourn check scenarios/demo.toml --set dumbbell.rtt=80ms --cell 2
  sojourn check --schema > scenario.schema.json

Exit status: 0 when the scenario is right, 2 when it is not.")]
pub(crate) struct CheckArgs {
    /// The scenario file
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,

    #[command(flatten)]
    overrides: Overrides,

    /// The cell whose links and flows are shown
    #[arg(long, value_name = "N", default_value_t = 1)]
    cell: usize,

    /// Print the scenario format as JSON Schema instead
    #[arg(long)]
    schema: bool,
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    if args.schema {
        print(&sojourn_scenario::schema())?;
    }
    let Some(file) = &args.file else { return Ok(0) };
    let scenario = args.overrides.load(file)?;
    if args.schema {
        return Ok(0);
    }
    let cells = &scenario.cells;
    let Some(cell) = args.cell.checked_sub(1).and_then(|index| cells.get(index)) else {
        let (asked, last) = (args.cell, cells.len());
        bail!(WrongInput(format!(
            "--cell {asked}: there are cells 1 to {last}"
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
        args.cell,
        show_span(cell.duration),
        show_span(cell.warmup),
        cell.seed
    );
    let _ = write!(text, "{}\n{}", links(cell).show(), flows(cell).show());
    print(&text)?;
    Ok(0)
}

fn counted(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {word}{s}")
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
        let hearers = medium.hearers(interface.node).iter();
        let hearers: Vec<&str> = hearers.map(|&to| network.nodes[to].name.as_str()).collect();
        let rate = match medium.rate() {
            Some(LineRate::Infinite) => "unlimited".to_owned(),
            Some(LineRate::Fixed(rate)) => show_rate(*rate),
            Some(LineRate::Trace(_)) => "trace".to_owned(),
            None => "-".to_owned(),
        };
        table.row(vec![
            interface.name.clone(),
            rate,
            show_span(medium.delay()),
            line.map_or("-".to_owned(), |line| show_span(line.jitter)),
            line.map_or("-".to_owned(), |line| format!("{}%", line.loss * 100.0)),
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
        let transport = match flow.transport {
            Transport::Udp => "udp".to_owned(),
            Transport::Tcp(config) => format!("tcp {}", config.algorithm.name()),
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
