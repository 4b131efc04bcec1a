//! `sojourn rtt`: round-trip times between two points from captures made there.

use crate::figures::plain;
use crate::{FAILED, WrongInput, print};
use clap::Args;
use serde_json::{Value, json};
use sojourn_capture::{Reader, Record, unpacked};
use sojourn_gateway::Table;
use sojourn_scenario::explained;
use sojourn_units::{Span, Time, parse_span};
use sojourn_wire::{FlowKey, Network, identity, parse, protocol};
use sojourn_world::{PacketMatcher, PacketPairs, Passage};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// Measure round-trip times between two points of a path from captures made there
///
/// Finds each packet of A again in B, and pairs a packet of one direction with one of the other
/// (synthetic packet pairs, Zander and Armitage 2006). The clocks of A and B need not agree. The
/// round trip is that from A to B and back; the time until B answers does not count.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn rtt client.pcapng server.pcapng
  sojourn rtt bridge.pcapng                 the two ports in a capture of `sojourn bridge --pcap`
  sojourn rtt a.pcapng b.pcapng --base-rtt 40ms --json

A and B are pcapng or pcap files of Ethernet or bare IP. They need the headers of each packet (a
snap length of 128 is enough) and addresses that do not change on the way (no NAT in between).

Exit status: 0 when there is a round trip, 1 when there is none, 2 when a file cannot be used.")]
pub(crate) struct RttArgs {
    /// Capture at the reference point
    #[arg(value_name = "A")]
    reference: PathBuf,

    /// Capture at the other point; without it A must have two interfaces
    #[arg(value_name = "B")]
    monitor: Option<PathBuf>,

    /// Subtract this: show what queues and links add to an empty path
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    base_rtt: Span,

    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// What one point has seen: packets with their identity, by direction of a flow.
#[derive(Default)]
struct Sightings {
    flows: BTreeMap<Key, Vec<(u64, Time)>>,
    /// Packets that cannot be used: no time, no ports, fragments.
    unusable: u64,
}

/// One direction of a flow, in an order of its own.
type Key = (u8, [u8; 16], u16, [u8; 16], u16, u16);

fn key(flow: &FlowKey) -> Key {
    let (src, dst) = ((flow.src, flow.src_port), (flow.dst, flow.dst_port));
    (flow.protocol, src.0, src.1, dst.0, dst.1, flow.ether_type)
}

fn reversed(&(kind, src, src_port, dst, dst_port, ether_type): &Key) -> Key {
    let (from, to) = match kind {
        // An echo has an identifier, the same in both directions.
        protocol::ICMP | protocol::ICMPV6 => (src_port, dst_port),
        _ => (dst_port, src_port),
    };
    (kind, dst, from, src, to, ether_type)
}

/// A flow with its round trips in milliseconds, sorted.
struct Flow {
    key: Key,
    /// Packets found at both points, there and back.
    matched: [usize; 2],
    trips: Vec<f64>,
}

pub(crate) fn rtt(args: &RttArgs) -> anyhow::Result<u8> {
    let seen = load(&args.reference)?;
    let [reference, monitor] = if let Some(monitor) = &args.monitor {
        let all = |points: Vec<Sightings>| points.into_iter().reduce(Sightings::join);
        [seen, load(monitor)?].map(|points| all(points).unwrap_or_default())
    } else {
        <[_; 2]>::try_from(seen).map_err(|seen| {
            WrongInput(format!(
                "{}: has packets of {} interfaces; give a second capture, or one file with two",
                args.reference.display(),
                seen.len()
            ))
        })?
    };
    let flows = flows(&reference, &monitor, args.base_rtt);
    if flows.is_empty() {
        let count = |point: &Sightings| point.flows.values().map(Vec::len).sum::<usize>();
        eprintln!(
            "sojourn: no flow has packets in both directions that are in both captures ({} usable \
             packets in A, {} in B; {} and {} have no time, no ports or no whole header)",
            count(&reference),
            count(&monitor),
            reference.unusable,
            monitor.unusable
        );
        return Ok(FAILED);
    }
    if args.json {
        let all: Vec<Value> = flows.iter().map(Flow::json).collect();
        let base = args.base_rtt.as_millis_f64();
        let text = serde_json::to_string_pretty(&json!({"base_rtt_ms": base, "flows": all}))?;
        print(&format!("{text}\n"))?;
    } else if args.csv {
        print(&csv(&flows))?;
    } else {
        print(&text(&flows))?;
    }
    Ok(0)
}

/// What each interface of a file has seen.
fn load(path: &Path) -> Result<Vec<Sightings>, WrongInput> {
    let read = || {
        let file = File::open(path).map_err(|error| explained(path, error))?;
        let mut reader = Reader::new(unpacked(BufReader::new(file))?)?;
        let mut points: BTreeMap<usize, Sightings> = BTreeMap::new();
        while let Some(record) = reader.next_record()? {
            let point = points.entry(record.interface).or_default();
            match sighting(&record)? {
                Some((key, identity, at)) => {
                    point.flows.entry(key).or_default().push((identity, at));
                }
                None => point.unusable += 1,
            }
        }
        anyhow::Ok(points.into_values().collect())
    };
    read().map_err(|error| WrongInput(format!("{}: {error}", path.display())))
}

/// A packet as it is looked for at the other point.
fn sighting(record: &Record) -> Result<Option<(Key, u64, Time)>, WrongInput> {
    let frame = record.ethernet().map_err(|kind| {
        WrongInput(format!(
            "has packets of link type {kind}; Ethernet, bare IP and Linux cooked captures \
             (`-i any`) can be read"
        ))
    })?;
    let parsed = parse(&frame);
    let (Some(at), true) = (record.at, parsed.network != Network::Opaque) else {
        return Ok(None);
    };
    Ok(identity(&frame, &parsed).map(|identity| (key(&parsed.flow), identity, at)))
}

impl Sightings {
    fn join(mut self, other: Self) -> Self {
        for (key, packets) in other.flows {
            let all = self.flows.entry(key).or_default();
            all.extend(packets);
            all.sort_by_key(|(_, at)| *at);
        }
        self.unusable += other.unusable;
        self
    }
}

/// All flows with round trips.
fn flows(reference: &Sightings, monitor: &Sightings, base: Span) -> Vec<Flow> {
    let mut flows = Vec::new();
    let forward = reference.flows.keys();
    for key in forward.filter(|key| **key <= reversed(key)) {
        let back = reversed(key);
        let matched = |key: &Key| {
            let seen = (reference.flows.get(key), monitor.flows.get(key));
            let (Some(here), Some(there)) = seen else {
                return Vec::new();
            };
            matches(here, there)
        };
        let (one, other) = (matched(key), matched(&back));
        let (Some(one_lead), Some(other_lead)) = (median_lead(&one), median_lead(&other)) else {
            continue;
        };
        // Times there less times here are the clocks' difference and the way there, or less the
        // way back: the larger difference tells which direction leads there.
        let (key, there, home) = if one_lead >= other_lead {
            (*key, one, other)
        } else {
            (back, other, one)
        };
        let trips = trips(&there, &home, base);
        if !trips.is_empty() {
            flows.push(Flow {
                key,
                matched: [there.len(), home.len()],
                trips,
            });
        }
    }
    flows
}

/// Times of the packets at both points, here and there, in the order of there.
fn matches(here: &[(u64, Time)], there: &[(u64, Time)]) -> Vec<(Time, Time)> {
    let mut matcher = PacketMatcher::new(usize::MAX);
    for (identity, at) in here {
        matcher.left(*identity, *at);
    }
    let found = |&(identity, at): &(u64, Time)| Some((matcher.reached(identity)?, at));
    there.iter().filter_map(found).collect()
}

/// By how much the clock there is ahead, and the way, in nanoseconds.
fn median_lead(matches: &[(Time, Time)]) -> Option<i128> {
    let nanos = |time: Time| i128::from(time.as_nanos());
    let mut leads: Vec<i128> = matches
        .iter()
        .map(|(here, there)| nanos(*there) - nanos(*here))
        .collect();
    leads.sort_unstable();
    leads.get(leads.len() / 2).copied()
}

fn trips(there: &[(Time, Time)], home: &[(Time, Time)], base: Span) -> Vec<f64> {
    let mut pairs = PacketPairs::default();
    let mut waiting = there.iter().peekable();
    let mut trips = Vec::new();
    for &(arrived, sent) in home {
        while let Some((sent, arrived)) = waiting.next_if(|(_, reached)| *reached <= sent) {
            let (sent, arrived) = (*sent, *arrived);
            pairs.forth(Passage { sent, arrived });
        }
        if let Some(trip) = pairs.back(Passage { sent, arrived }) {
            trips.push((trip.rtt - base).as_millis_f64());
        }
    }
    trips.sort_by(f64::total_cmp);
    trips
}

/// What is shown of a flow's round trips.
const STATISTICS: [&str; 10] = [
    "count", "mean", "min", "p5", "p25", "p50", "p75", "p95", "p99", "max",
];

impl Flow {
    /// The values of [`STATISTICS`]. A quantile is the smallest sample that at least so many are
    /// at or below.
    fn statistics(&self) -> [f64; 10] {
        let count = self.trips.len();
        let at = |q: f64| self.trips[((q * count as f64).ceil() as usize).clamp(1, count) - 1];
        let mean = self.trips.iter().sum::<f64>() / count as f64;
        let quantiles = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0].map(at);
        let [min, p5, p25, p50, p75, p95, p99, max] = quantiles;
        [count as f64, mean, min, p5, p25, p50, p75, p95, p99, max]
    }

    fn protocol(&self) -> String {
        match self.key.0 {
            protocol::TCP => "tcp".into(),
            protocol::UDP => "udp".into(),
            protocol::ICMP | protocol::ICMPV6 => "icmp".into(),
            other => other.to_string(),
        }
    }

    /// The end at A and the end at B.
    fn ends(&self) -> [String; 2] {
        const IPV6: u16 = 0x86dd;
        let (_, src, src_port, dst, dst_port, ether_type) = self.key;
        [(src, src_port), (dst, dst_port)].map(|(address, port)| {
            if ether_type == IPV6 {
                return format!("[{}]:{port}", Ipv6Addr::from(address));
            }
            let [.., a, b, c, d] = address;
            format!("{}:{port}", Ipv4Addr::new(a, b, c, d))
        })
    }

    fn json(&self) -> Value {
        let [a, b] = self.ends();
        let mut rtt = json!({});
        for (name, value) in STATISTICS.into_iter().zip(self.statistics()) {
            rtt[name] = json!(value);
        }
        rtt["count"] = json!(self.trips.len());
        json!({
            "protocol": self.protocol(), "a": a, "b": b,
            "matched_there": self.matched[0], "matched_back": self.matched[1], "rtt_ms": rtt,
        })
    }
}

fn csv(flows: &[Flow]) -> String {
    let mut text = format!(
        "protocol,a,b,matched_there,matched_back,{}\n",
        STATISTICS.join(",")
    );
    for flow in flows {
        let [a, b] = flow.ends();
        let [there, back] = flow.matched;
        let _ = write!(text, "{},{a},{b},{there},{back}", flow.protocol());
        for value in flow.statistics() {
            let _ = write!(text, ",{}", plain(value));
        }
        text.push('\n');
    }
    text
}

fn text(flows: &[Flow]) -> String {
    let mut table = Table::new([
        "protocol", "A", "B", ">pairs", ">min ms", ">p25 ms", ">p50 ms", ">p75 ms", ">p95 ms",
        ">max ms",
    ]);
    for flow in flows {
        let [a, b] = flow.ends();
        let [count, _, min, _, p25, p50, p75, p95, _, max] = flow.statistics();
        let mut row = vec![flow.protocol(), a, b, format!("{count}")];
        row.extend([min, p25, p50, p75, p95, max].map(|ms| format!("{ms:.3}")));
        table.row(row);
    }
    table.show()
}
