//! `sojourn ctl circuits`: what subscribers of a running bridge have sent and waited.

use crate::connection::Connection;
use crate::table::Table;
use crate::{WrongInput, print, whole};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use sojourn_service::rough_rate;
use sojourn_units::{Rate, show_rate};
use std::thread;
use std::time::Duration;

/// Circuits in a request.
const AT_ONCE: usize = 100;
/// How long addresses are counted.
const COUNTS: Duration = Duration::from_secs(1);
/// Questions until rates are known: another's may have come in between.
const ASKED: u32 = 4;

/// Print the limits, rates, losses and delays of the circuits and sites of a pair with
/// `subscribers`
///
/// The last row has the frames that match no circuit. Below it are their top addresses, and
/// circuits that no packet can match, with the reason.
///
/// There is a row for each direction. Counts are since the bridge's start. `delay` is a moving mean
/// over the last packets. `round trip` is a moving mean from TCP's timestamps: up to the hosts
/// beyond the right interface, down to the subscriber.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn ctl circuits --order delay --count 20
  sojourn ctl circuits --talkers
  sojourn ctl circuits 1138
  sojourn ctl --json circuits | jq '.circuits[].up.sent_bytes'")]
pub(super) struct CircuitsArgs {
    /// Only these circuits and sites [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Sort circuits by this, over both directions, highest first; sites are then left out unless
    /// they are named
    #[arg(long, value_enum, default_value = "file")]
    order: Order,

    /// Show at most this many
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0, u64::MAX))]
    count: Option<usize>,

    /// Show the three circuits of each site (or `--count`) with the highest rates in this second,
    /// with their round trips
    #[arg(long, conflicts_with_all = ["names", "order"])]
    talkers: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// As in their file, sites first
    File,
    /// Bytes that they have sent
    Sent,
    /// Dropped packets
    Dropped,
    /// Packets in their queues
    Backlog,
    /// Delay of their last packets
    Delay,
}

impl Order {
    /// The field that it goes by.
    const fn field(self) -> Option<&'static str> {
        match self {
            Self::File => None,
            Self::Sent => Some("sent_bytes"),
            Self::Dropped => Some("dropped_packets"),
            Self::Backlog => Some("backlog_bytes"),
            Self::Delay => Some("delay_ms"),
        }
    }
}

impl CircuitsArgs {
    /// Asks for all of them, some at a time, and prints those that are wanted.
    pub(super) fn ask(
        &self,
        connection: &mut Connection,
        pair: Option<&str>,
        as_json: bool,
    ) -> anyhow::Result<u8> {
        if self.talkers {
            return self.ask_talkers(connection, pair, as_json);
        }
        let mut circuits = Vec::new();
        let mut unmatched = Value::Null;
        let called = loop {
            let request = json!({
                "command": "circuits",
                "pair": pair,
                "first": circuits.len(),
                "count": AT_ONCE,
            });
            let mut answer = super::agreed(connection.ask(&request)?)?;
            let Value::Array(more) = answer["circuits"].take() else {
                return Err(WrongInput("the bridge knows no circuits".to_owned()).into());
            };
            if circuits.is_empty() {
                unmatched = answer["unmatched"].take();
            }
            let is_last = more.len() < AT_ONCE;
            circuits.extend(more);
            if is_last {
                break answer["pair"].take();
            }
        };
        let known: Vec<&str> = circuits
            .iter()
            .filter_map(|it| it["name"].as_str())
            .collect();
        if let Some(name) = self
            .names
            .iter()
            .find(|name| !known.contains(&name.as_str()))
        {
            return Err(WrongInput(format!("there is no circuit or site `{name}`")).into());
        }
        self.choose(&mut circuits);
        let is_wanted = self.names.is_empty();
        let has_some = |way| unmatched[way]["sent_packets"].as_u64() > Some(0);
        if is_wanted && (has_some("up") || has_some("down")) {
            // Whose they are is counted since the first question.
            thread::sleep(COUNTS);
            let request = json!({"command": "circuits", "pair": called, "count": 1});
            unmatched = super::agreed(connection.ask(&request)?)?["unmatched"].take();
        }
        if as_json {
            let all = json!({"pair": called, "circuits": circuits, "unmatched": unmatched});
            print(&format!("{all}\n"))?;
            return Ok(0);
        }
        let mut rows = circuits.clone();
        if is_wanted && unmatched.is_object() {
            unmatched["kind"] = "unmatched".into();
            rows.push(unmatched.clone());
        }
        print(&(table(&rows).show() + &unshaped(&circuits) + &addresses(&unmatched)))?;
        Ok(0)
    }

    /// Rates take two questions.
    fn ask_talkers(
        &self,
        connection: &mut Connection,
        pair: Option<&str>,
        as_json: bool,
    ) -> anyhow::Result<u8> {
        let request = json!({"command": "talkers", "pair": pair, "count": self.count});
        let mut answer = super::agreed(connection.ask(&request)?)?;
        let mut asked = 1;
        while answer["sites"].is_null() && asked < ASKED {
            thread::sleep(COUNTS);
            answer = super::agreed(connection.ask(&request)?)?;
            asked += 1;
        }
        let text = if as_json {
            format!(
                "{}\n",
                json!({"pair": answer["pair"], "sites": answer["sites"]})
            )
        } else {
            talkers(&answer["sites"]).show()
        };
        print(&text)?;
        Ok(0)
    }

    fn choose(&self, circuits: &mut Vec<Value>) {
        let is_named = |it: &Value| self.names.iter().any(|name| it["name"] == **name);
        circuits.retain(|it| self.names.is_empty() || is_named(it));
        if let Some(field) = self.order.field() {
            // A site has what all its circuits have together, and would always be first.
            circuits.retain(|it| it["kind"] != "site" || is_named(it));
            let both = |it: &Value| -> f64 {
                ["up", "down"]
                    .map(|way| it[way][field].as_f64().unwrap_or(0.0))
                    .iter()
                    .sum()
            };
            circuits.sort_by(|a, b| both(b).total_cmp(&both(a)));
        }
        circuits.truncate(self.count.unwrap_or(usize::MAX));
    }
}

fn table(circuits: &[Value]) -> Table {
    let mut table = Table::new([
        "kind",
        "name",
        "parent",
        "way",
        ">min",
        ">max",
        ">packets",
        ">bytes",
        ">dropped",
        ">marked",
        ">backlog",
        ">delay",
        ">round trip",
    ]);
    for circuit in circuits {
        for way in ["up", "down"] {
            if !circuit[way].is_object() {
                continue;
            }
            let word = |field: &str| circuit[field].as_str().unwrap_or("-").to_owned();
            let number = |field: &str| circuit[way][field].to_string();
            // What matches no circuit has none.
            let rate = |field: &str| {
                let bps = circuit[way][field].as_u64().map(Rate::from_bps);
                bps.map_or("-".to_owned(), show_rate)
            };
            let delay = circuit[way]["delay_ms"].as_f64().unwrap_or(0.0);
            let trip = circuit[way]["round_trip_ms"].as_f64();
            table.row(vec![
                word("kind"),
                word("name"),
                word("parent"),
                way.to_owned(),
                rate("rate_bps"),
                rate("ceil_bps"),
                number("sent_packets"),
                number("sent_bytes"),
                number("dropped_packets"),
                number("marked_packets"),
                format!("{}b", number("backlog_bytes")),
                format!("{delay:.1}ms"),
                trip.map_or("-".to_owned(), |trip| format!("{trip:.1}ms")),
            ]);
        }
    }
    table
}

/// A row for each circuit, under its site.
fn talkers(sites: &Value) -> Table {
    let mut table = Table::new([
        "site",
        "circuit",
        ">up",
        ">down",
        ">round trip up",
        ">round trip down",
    ]);
    for site in sites.as_array().into_iter().flatten() {
        for circuit in site["circuits"].as_array().into_iter().flatten() {
            let rate = |way: &str| {
                let bps = circuit[way]["rate_bps"].as_u64().unwrap_or(0);
                rough_rate(Rate::from_bps(bps))
            };
            let trip = |way: &str| {
                let trip = circuit[way]["round_trip_ms"].as_f64();
                trip.map_or("-".to_owned(), |trip| format!("{trip:.1}ms"))
            };
            table.row(vec![
                site["site"].as_str().unwrap_or("-").to_owned(),
                circuit["name"].as_str().unwrap_or_default().to_owned(),
                rate("up"),
                rate("down"),
                trip("up"),
                trip("down"),
            ]);
        }
    }
    table
}

/// The first addresses of what matches no circuit.
fn addresses(unmatched: &Value) -> String {
    let ways = ["up", "down"].into_iter().filter_map(|way| {
        let first: Vec<_> = unmatched[way]["addresses"]
            .as_array()?
            .iter()
            .map(|one| {
                let rate = Rate::from_bps(one["rate_bps"].as_f64().unwrap_or(0.0) as u64);
                let who = one["address"].as_str().unwrap_or_default();
                format!("{who} {}", rough_rate(rate))
            })
            .collect();
        (!first.is_empty()).then(|| format!("  {way}: {}\n", first.join(", ")))
    });
    let ways: String = ways.collect();
    if ways.is_empty() {
        return ways;
    }
    format!("\nmatches no circuit, by address:\n{ways}")
}

/// Circuits that no packet can be told by, and why.
fn unshaped(circuits: &[Value]) -> String {
    let told: String = circuits
        .iter()
        .filter_map(|circuit| {
            let why = circuit["unshaped"].as_str()?;
            let name = circuit["name"].as_str().unwrap_or_default();
            Some(format!("  circuit `{name}`: {why}\n"))
        })
        .collect();
    if told.is_empty() {
        return told;
    }
    format!("\nnot shaped by a circuit:\n{told}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talkers_stand_under_their_site() {
        let way = |rate: u64, trip: Value| json!({"rate_bps": rate, "round_trip_ms": trip});
        let circuit = json!({
            "name": "1138",
            "up": way(2_000_000, Value::Null),
            "down": way(30_000_000, 7.25.into()),
        });
        let sites = json!([{"site": "hill", "circuits": [circuit]}]);
        let shown = talkers(&sites).show();
        let cells: Vec<_> = { shown.lines().last() }
            .map(|row| row.split_whitespace().collect())
            .unwrap_or_default();
        assert_eq!(
            cells,
            ["hill", "1138", "2.00Mbit", "30.0Mbit", "-", "7.2ms"]
        );
    }

    /// What matches no circuit has neither a name nor a rate, and its addresses stand below.
    #[test]
    fn what_matches_no_circuit_has_a_row() {
        let way = json!({
            "sent_packets": 7,
            "sent_bytes": 7000,
            "dropped_packets": 0,
            "marked_packets": 0,
            "backlog_bytes": 0,
            "delay_ms": 0.25,
            "addresses": [{"address": "100.64.0.77", "rate_bps": 800_000.0}],
        });
        let unmatched = json!({"kind": "unmatched", "up": way});
        let shown = table(std::slice::from_ref(&unmatched)).show();
        let row = shown.lines().last().expect("a row");
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells[..6], ["unmatched", "-", "-", "up", "-", "-"], "{row}");
        assert_eq!(cells[6..8], ["7", "7000"], "{row}");
        assert!(addresses(&unmatched).ends_with("  up: 100.64.0.77 800Kbit\n"));
    }
}
