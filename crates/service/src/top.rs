//! What `sojourn top` shows: of each direction the queue's accounts, its tins and its first flows.

use crate::circuits::count;
use crate::fleet::{AskError, Fleet, Watched};
use crate::flows::{self, Flow, Order};
use crate::pair::{queue, show_line_rate};
use crate::request::fail_open;
use crate::tins::{Tin, tins_of};
use serde_json::{Map, Value, json};
use sojourn_bridge::{DELAYS, Direction, DualQueue, Remote, RemoteError, Side, Snapshot};
use sojourn_wire::FlowKey;
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

/// Most flows of a direction in an answer.
pub(crate) const MOST: u64 = 100;

/// Which flows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// So many of each direction.
    pub(crate) flows: usize,
    /// The first by this.
    pub(crate) order: Order,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            flows: 20,
            order: Order::default(),
        }
    }
}

/// A tin's statistics: tc's names, ours, and how many of tc's make one of ours.
const TIN: [(&str, &str, i64); 10] = [
    ("sent_packets", "offered_packets", 1),
    ("sent_bytes", "offered_bytes", 1),
    ("drops", "dropped_packets", 1),
    ("ack_drops", "filtered_acks", 1),
    ("ecn_mark", "marked_packets", 1),
    ("backlog_bytes", "backlog_bytes", 1),
    ("peak_delay_us", "peak_delay_ms", 1000),
    ("avg_delay_us", "delay_ms", 1000),
    ("sparse_flows", "sparse_flows", 1),
    ("bulk_flows", "bulk_flows", 1),
];

impl Fleet {
    /// The answer to `top`: of one pair by its name, or of all.
    pub(crate) fn top(&self, pair: Option<&str>, wanted: Wanted) -> Result<Value, AskError> {
        let day = SystemTime::now().duration_since(UNIX_EPOCH);
        let watched = self.watched(pair)?;
        let pairs = watched.iter().map(|member| {
            let mut answer =
                look(member, wanted).unwrap_or_else(|error| json!({"error": error.to_string()}));
            answer["name"] = member.name.as_str().into();
            answer
        });
        Ok(json!({
            "ok": true,
            "time": day.unwrap_or_default().as_secs_f64(),
            "delay_bounds_ms": DELAYS.map(|bound| millis(bound.as_secs_f64())),
            "pairs": pairs.collect::<Vec<_>>(),
        }))
    }
}

fn millis(seconds: f64) -> f64 {
    // Microseconds are as much as anybody reads.
    (seconds * 1e6).round() / 1e3
}

fn look(member: &Watched, wanted: Wanted) -> Result<Value, RemoteError> {
    let remote = &member.remote;
    let mut flows = member.flows.lock().unwrap_or_else(PoisonError::into_inner);
    flows.look(remote)?;
    let snapshot = remote.snapshot()?;
    let config = remote.config();
    let mut unmatched = unmatched(remote)?;
    let mut answer = json!({
        "left": config.left,
        "right": config.right,
        "fail_open": fail_open(&remote.fail_open()),
    });
    for (side, direction) in Side::BOTH.into_iter().zip([&config.up, &config.down]) {
        let (first, all) = flows.first(side as usize, wanted.order, wanted.flows);
        let mut way = way(side, direction, &snapshot);
        let tins = tins_of(&snapshot.reports[side as usize]);
        let first = first.into_iter().map(|(key, flow)| show(key, flow, &tins));
        way["flows"] = first.collect();
        way["flows_known"] = all.into();
        way["tins"] = tins.iter().map(tin).collect();
        if let (Some(mut counts), Some(circuits)) =
            (unmatched[side as usize].take(), &direction.circuits)
        {
            let first = flows.unmatched(side, circuits, 1).into_iter().next();
            counts["address"] = first.map(|(who, _)| who).into();
            way["unmatched"] = counts;
        }
        answer[side.name()] = way;
    }
    Ok(answer)
}

/// By side, what matches no circuit, where there are circuits.
fn unmatched(remote: &Remote) -> Result<[Option<Value>; 2], RemoteError> {
    let trees = remote.classes(0, 0)?.trees;
    let known = trees
        .iter()
        .flatten()
        .map(|tree| tree.classes().len())
        .max();
    let Some(known) = known else {
        return Ok([None, None]);
    };
    // It stands behind those that are known.
    let [up, down] = remote.classes(known as u32, 1)?.counts;
    Ok([up, down].map(|counts| counts.first().map(count)))
}

/// A direction without its tins and flows.
fn way(side: Side, direction: &Direction, snapshot: &Snapshot) -> Value {
    let stats = &snapshot.stats[side as usize];
    let delays = &snapshot.delays[side as usize];
    let counters = &stats.queue;
    let rate = match snapshot.followed[side as usize] {
        Some(followed) => followed.to_string(),
        None => show_line_rate(&direction.line.rate),
    };
    let queues = snapshot.duals[side as usize].as_ref().map(|dual| {
        let queues = dual.queues();
        queues.map(|queue| dual_queue(&queue)).to_vec()
    });
    json!({
        "queues": queues.unwrap_or_default(),
        "queue": queue(direction).to_string(),
        "rate": rate,
        "offered_packets": counters.offered.packets,
        "offered_bytes": counters.offered.bytes,
        "sent_packets": counters.dequeued.packets,
        "sent_bytes": counters.dequeued.bytes,
        "dropped_packets": counters.dropped.packets,
        "marked_packets": counters.marked.packets,
        "backlog_packets": stats.backlog.packets,
        "backlog_bytes": stats.backlog.bytes,
        "delay_sum_ms": millis(delays.sum.as_secs_f64()),
        "delay_counts": delays.counts,
    })
}

/// One queue of a pair (`dualpi2`).
fn dual_queue(queue: &DualQueue<'_>) -> Value {
    let DualQueue {
        name,
        counts,
        delays,
    } = queue;
    json!({
        "name": name,
        "sent_packets": counts.dequeued.packets,
        "sent_bytes": counts.dequeued.bytes,
        "dropped_packets": counts.dropped,
        "marked_packets": counts.marked,
        "came_marked_packets": counts.came_marked,
        "backlog_packets": counts.backlog.packets,
        "backlog_bytes": counts.backlog.bytes,
        "delay_sum_ms": millis(delays.sum.as_secs_f64()),
        "delay_counts": delays.counts,
    })
}

fn tin(tin: &Tin<'_>) -> Value {
    let mut answer = Map::new();
    answer.insert("name".into(), tin.name.into());
    for (tcs, name, parts) in TIN {
        if let Some(number) = tin.number(tcs) {
            let value = match parts {
                1 => number.into(),
                parts => (number as f64 / parts as f64).into(),
            };
            answer.insert(name.into(), value);
        }
    }
    answer.into()
}

fn show(key: &FlowKey, flow: &Flow, tins: &[Tin<'_>]) -> Value {
    let (protocol, [(source, source_port), (destination, destination_port)]) = flows::name(key);
    let counts = &flow.counts;
    let tin = counts.tin.and_then(|tin| tins.get(usize::from(tin)));
    let [packets, drops, marks] = flow.packets();
    let [delay, peak] = flow.delays();
    let round = |number: f64| (number * 10.0).round() / 10.0;
    json!({
        "protocol": protocol,
        "source": source,
        "source_port": source_port,
        "destination": destination,
        "destination_port": destination_port,
        "tin": tin.map(|tin| tin.name),
        "rate_bps": flow.rate().round(),
        "packets_per_s": round(packets),
        "drops_per_s": round(drops),
        "marks_per_s": round(marks),
        "delay_ms": millis(delay),
        "peak_delay_ms": millis(peak),
        "sent_packets": counts.sent.packets,
        "sent_bytes": counts.sent.bytes,
        "dropped_packets": counts.dropped.packets,
        "marked_packets": counts.marked.packets,
    })
}
