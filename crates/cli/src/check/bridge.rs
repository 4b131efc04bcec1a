//! `sojourn check` of a bridge's file, and of its subscribers'.

use super::{CheckArgs, counted, json, rate};
use crate::table::Table;
use crate::{WRONG_INPUT, print};
use sojourn_qdisc::Entrance;
use sojourn_service::{BridgeFile, Subscribers};
use sojourn_units::{show_rate, show_span};
use sojourn_world::Line;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn check_bridge(args: &CheckArgs, file: &Path) -> anyhow::Result<u8> {
    args.no_overrides("a bridge's file")?;
    let Some(bridge) = args.told(BridgeFile::load(file))? else {
        return Ok(WRONG_INPUT);
    };
    if args.json {
        print(&json::pairs(&bridge))?;
    } else if args.schema.is_none() {
        let mut text = format!("a bridge: {}\n\n", counted(bridge.pairs.len(), "pair"));
        text += &directions(&bridge).show();
        print(&text)?;
    }
    Ok(0)
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

pub(super) fn check_subscribers(args: &CheckArgs, name: &str, text: &str) -> anyhow::Result<u8> {
    args.no_overrides("a file of subscribers")?;
    let Some(read) = args.told(Subscribers::parse(name, text))? else {
        return Ok(WRONG_INPUT);
    };
    if args.json {
        print(&json::subscribers(&read))?;
    } else if args.schema.is_none() {
        let (sites, circuits) = read.counts();
        let mut text = format!(
            "subscribers: {} with {} below {}\n",
            counted(circuits, "circuit"),
            counted(read.prefixes().count(), "address range"),
            counted(sites, "site"),
        );
        if sites > 0 {
            let _ = write!(text, "\n{}", crowds(&read).show());
        }
        print(&text)?;
    }
    Ok(0)
}

/// Every site with what is directly below it: rates that together exceed its own are cut.
fn crowds(read: &Subscribers) -> Table {
    let mut table = Table::new([
        "site",
        "parent",
        ">up",
        ">down",
        ">circuits",
        ">least up",
        ">least down",
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
