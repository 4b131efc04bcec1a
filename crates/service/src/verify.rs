//! Whether a shaper is in force, and where the queue is: judged from what a bridge has counted over
//! some seconds.
//!
//! A bottleneck has a queue. Under load a direction whose queue is empty is not the bottleneck,
//! whatever its rate is set to; one whose queue is not empty sends at its rate. What an interface
//! has received and the queue was not offered went past it.

use crate::fleet::{AskError, Fleet, Watched};
use serde_json::{Map, Value, json};
use sojourn_bridge::{RemoteError, Side, gathering};
use sojourn_units::{Rate, show_rate};
use std::fs;

/// Most circuits that are named.
const NAMED: usize = 100;
/// Of the rate set, what is sent at least where the shaper holds packets back.
const REACHED: f64 = 0.9;
/// Of the rate set, what is sent at most: what waits in the devices' own queues may be above it.
const EXCEEDED: f64 = 1.05;
/// Of the rate set, what a load sends at least.
const LOAD: f64 = 0.1;
/// Lowest share of samples with packets where there is a queue.
const QUEUED: f64 = 0.5;
/// Highest share of samples with packets where there is no queue.
const EMPTY: f64 = 0.05;
/// Bytes that an interface receives for itself: frames that end there.
const OWN_FRAMES: u64 = 100_000;

impl Fleet {
    /// The answer to `verify`: what is set and counted now, of one pair by its name, or of all.
    pub(crate) fn look(&self, pair: Option<&str>) -> Result<Value, AskError> {
        let watched = self.watched(pair)?;
        let interfaces = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let pairs = watched.iter().map(|member| {
            let found = sample(member, &interfaces);
            let mut answer = found.unwrap_or_else(|error| json!({"error": error.to_string()}));
            answer["name"] = member.name.as_str().into();
            answer
        });
        Ok(json!({"ok": true, "pairs": pairs.collect::<Vec<_>>()}))
    }
}

/// What is set and counted of a pair.
fn sample(member: &Watched, interfaces: &str) -> Result<Value, RemoteError> {
    let remote = &member.remote;
    let snapshot = remote.snapshot()?;
    let config = remote.config();
    let classes = match (&config.up.circuits, &config.down.circuits) {
        (None, None) => None,
        _ => Some(remote.classes(0, u32::MAX)?),
    };
    let ports = [&config.left, &config.right];
    let mut answer = json!({"left": ports[0], "right": ports[1]});
    for (side, direction) in Side::BOTH.into_iter().zip([&config.up, &config.down]) {
        let at = side as usize;
        let stats = &snapshot.stats[at];
        let line = match snapshot.followed[at] {
            Some(followed) => Some(followed.rate),
            None => direction.line.rate.fixed(),
        };
        let set = line.into_iter().chain(direction.qdisc.shapes_to()).min();
        let mut way = json!({
            "set_bps": set.map(Rate::as_bps),
            "offered_bytes": stats.queue.offered.bytes,
            "sent_bytes": stats.queue.dequeued.bytes,
            "dropped_packets": stats.queue.dropped.packets,
            "backlog_packets": stats.backlog.packets,
            "missed_frames": stats.input.missed + stats.input.no_buffer,
            "by_kernel_frames": stats.by_kernel,
            "interface_bytes": received(interfaces, ports[at]),
            "gathering": gathering(ports[at]).unwrap_or_default(),
        });
        if let Some(classes) = &classes
            && let Some(tree) = &classes.trees[at]
        {
            let leaves = tree
                .classes()
                .iter()
                .zip(&classes.counts[at])
                .filter(|(class, _)| class.queue.is_some());
            let sent: u64 = leaves.map(|(_, counts)| counts.sent.bytes).sum();
            way["circuits_bytes"] = sent.into();
            let known = direction
                .circuits
                .as_ref()
                .map(|it| it.prefixes_of_each())
                .unwrap_or_default();
            let bare: Vec<&str> = (1..)
                .zip(tree.classes())
                .filter(|(number, class)| class.queue.is_some() && !known.contains_key(number))
                .map(|(_, class)| &*class.name)
                .take(NAMED)
                .collect();
            way["circuits_without_address"] = bare.into();
        }
        answer[side.name()] = way;
    }
    Ok(answer)
}

/// Bytes that an interface has received, of `/proc/net/dev`.
fn received(interfaces: &str, name: &str) -> Option<u64> {
    let line = interfaces.lines().find_map(|line| {
        let (found, counts) = line.split_once(':')?;
        (found.trim() == name).then_some(counts)
    });
    line?.split_whitespace().next()?.parse().ok()
}

/// What is said of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The shaper holds packets back, and the queue is here.
    InForce,
    /// There is too little load to tell.
    Idle,
    /// Nothing shapes here.
    NotSet,
    /// Under load the queue here is empty.
    Elsewhere,
    /// There is a queue here at times.
    AtTimes,
    /// There is a queue here, and less than the rate leaves it.
    Below,
    /// More than the rate leaves.
    Above,
    /// Frames go past the queue.
    Bypassed,
}

impl Verdict {
    /// The word for it in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InForce => "in_force",
            Self::Idle => "idle",
            Self::NotSet => "not_set",
            Self::Elsewhere => "elsewhere",
            Self::AtTimes => "at_times",
            Self::Below => "below",
            Self::Above => "above",
            Self::Bypassed => "bypassed",
        }
    }

    /// Whether nothing contradicts that the shaper is in force.
    pub const fn is_well(self) -> bool {
        matches!(self, Self::InForce | Self::Idle | Self::AtTimes)
    }
}

/// What was seen of a direction for some time; bytes, packets and frames are those of that time.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    seconds: f64,
    set: Option<f64>,
    offered: u64,
    sent: u64,
    dropped: u64,
    missed: u64,
    by_kernel: u64,
    /// What the interface has received, where it says so.
    interface: Option<u64>,
    /// The share of looks that found packets waiting.
    busy: f64,
    /// What has matched no circuit, where there are some.
    unmatched: Option<u64>,
    without_address: Vec<String>,
    gathering: Vec<String>,
}

fn shown(bps: f64) -> String {
    let rounded = if bps >= 1e6 { 1e4 } else { 1.0 };
    show_rate(Rate::from_bps(((bps / rounded).round() * rounded) as u64))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

impl Seen {
    fn bps(&self, bytes: u64) -> f64 {
        if self.seconds > 0.0 {
            bytes as f64 * 8.0 / self.seconds
        } else {
            0.0
        }
    }

    /// Bytes that the interface has received and the queue was not offered.
    fn past(&self) -> u64 {
        let most = self.offered + self.offered / 10 + OWN_FRAMES;
        match self.interface {
            Some(bytes) if bytes > most && self.missed == 0 => bytes - self.offered,
            _ => 0,
        }
    }

    fn judge(&self) -> (Verdict, String) {
        if self.by_kernel > 0 {
            let what = format!(
                "the kernel bridge forwarded {} frames past the queue: this bridge stood still",
                self.by_kernel
            );
            return (Verdict::Bypassed, what);
        }
        if self.past() > 0 {
            let interface = self.interface.unwrap_or(0);
            let share = percent(self.past() as f64 / interface as f64);
            let what = format!(
                "{share} of what the interface receives does not come to the queue: look for a \
                 hardware or flow offload (`ethtool -k`, nft `flowtable`) or another bridge"
            );
            return (Verdict::Bypassed, what);
        }
        let sent = self.bps(self.sent);
        let Some(set) = self.set.filter(|set| *set > 0.0) else {
            let what = "no rate is set: the queue is at the next slower link; give a rate below \
                        that of the link";
            return (Verdict::NotSet, what.to_owned());
        };
        let (share, busy) = (sent / set, percent(self.busy));
        let (rates, queue) = (
            format!("{} of {} sent", shown(sent), shown(set)),
            format!("packets waited in {busy} of the samples"),
        );
        if share > EXCEEDED {
            let what = format!("{rates}: more than the shaper lets pass; it was just changed");
            return (Verdict::Above, what);
        }
        if share >= REACHED && self.busy > EMPTY {
            let what = format!("{rates}, {queue}: the shaper is in force and the queue is here");
            return (Verdict::InForce, what);
        }
        if self.busy >= QUEUED {
            let what = format!(
                "{rates}, {queue}: the queue is here, and less than the rate leaves it; the rate \
                 counts `overhead` and cells, and the processor, or the rate of a site or circuit, \
                 may be the limit"
            );
            return (Verdict::Below, what);
        }
        if share < LOAD {
            let what = format!("{rates}: too little load to tell; send more and ask again");
            return (Verdict::Idle, what);
        }
        if self.busy <= EMPTY {
            let what = format!(
                "{rates}, {queue}: the queue here is empty under load, so that the bottleneck is \
                 elsewhere; a rate below {} would bring the queue here",
                shown(sent)
            );
            return (Verdict::Elsewhere, what);
        }
        let what = format!("{rates}, {queue}: the queue is here at times, the load comes and goes");
        (Verdict::AtTimes, what)
    }

    /// What else is worth a look.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.missed > 0 {
            let missed = self.missed;
            remarks.push(format!(
                "{missed} frames were lost before the queue: the processor or `memory` is short"
            ));
        }
        if !self.gathering.is_empty() {
            let names = self.gathering.join(", ");
            remarks.push(format!(
                "{names} gathers packets before the queue (`keep_offloads`): the queue sees bursts"
            ));
        }
        if let Some(bytes) = self.unmatched.filter(|bytes| *bytes > 0 && self.sent > 0) {
            let share = percent(bytes as f64 / self.sent as f64);
            let rate = shown(self.bps(bytes));
            remarks.push(format!(
                "{rate} ({share}) match no circuit and share one queue"
            ));
        }
        if !self.without_address.is_empty() {
            let names = self.without_address.join(", ");
            remarks.push(format!(
                "circuits without an address are not shaped: {names}"
            ));
        }
        remarks
    }

    fn json(&self) -> Value {
        let (verdict, sentence) = self.judge();
        let bps = |bytes| self.bps(bytes).round();
        json!({
            "verdict": verdict.word(),
            "well": verdict.is_well(),
            "sentence": sentence,
            "remarks": self.remarks(),
            "set_bps": self.set,
            "sent_bps": bps(self.sent),
            "offered_bps": bps(self.offered),
            "interface_bps": self.interface.map(bps),
            "unmatched_bps": self.unmatched.map(bps),
            "busy": self.busy,
            "dropped_packets": self.dropped,
            "missed_frames": self.missed,
            "by_kernel_frames": self.by_kernel,
            "gathering": self.gathering,
            "circuits_without_address": self.without_address,
        })
    }
}

/// Looks at a bridge, one after another: answers to `verify`.
#[derive(Debug, Default)]
pub struct Looks {
    first: Option<Value>,
    last: Value,
    /// Of each pair and side, looks that found packets waiting.
    busy: Map<String, Value>,
    count: u64,
}

impl Looks {
    /// Adds an answer.
    pub fn add(&mut self, answer: Value) {
        for pair in answer["pairs"].as_array().into_iter().flatten() {
            for side in Side::BOTH {
                if pair[side.name()]["backlog_packets"].as_u64() > Some(0) {
                    let key = key(pair, side);
                    let before = self.busy.get(&key).and_then(Value::as_u64).unwrap_or(0);
                    self.busy.insert(key, (before + 1).into());
                }
            }
        }
        self.count += 1;
        self.first.get_or_insert_with(|| answer.clone());
        self.last = answer;
    }

    /// What is said of each direction after so many seconds.
    pub fn judge(&self, seconds: f64) -> Value {
        let pairs = self.last["pairs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|last| {
                if let Some(error) = last["error"].as_str() {
                    return json!({"name": last["name"], "error": error});
                }
                let mut judged = json!({"name": last["name"]});
                for side in Side::BOTH {
                    let seen = self.seen(last, side, seconds);
                    judged[side.name()] = seen.json();
                }
                judged
            });
        json!({"ok": true, "seconds": seconds, "pairs": pairs.collect::<Vec<_>>()})
    }

    fn seen(&self, last: &Value, side: Side, seconds: f64) -> Seen {
        let first = self
            .first
            .as_ref()
            .and_then(|first| first["pairs"].as_array())
            .into_iter()
            .flatten()
            .clone()
            .find(|first| first["name"] == last["name"]);
        let now = &last[side.name()];
        let then = first.map_or(&Value::Null, |first| &first[side.name()]);
        let grown = |field: &str| {
            let at = |of: &Value| of[field].as_u64();
            Some(at(now)?.saturating_sub(at(then)?))
        };
        let words = |field: &str| {
            let words = now[field].as_array().into_iter().flatten();
            words.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let count = |field| grown(field).unwrap_or(0);
        let sent = count("sent_bytes");
        let busy = self.busy.get(&key(last, side)).and_then(Value::as_u64);
        Seen {
            seconds,
            set: now["set_bps"].as_f64(),
            offered: count("offered_bytes"),
            sent,
            dropped: count("dropped_packets"),
            missed: count("missed_frames"),
            by_kernel: count("by_kernel_frames"),
            interface: grown("interface_bytes"),
            busy: busy.unwrap_or(0) as f64 / self.count.max(1) as f64,
            unmatched: grown("circuits_bytes").map(|bytes| sent.saturating_sub(bytes)),
            without_address: words("circuits_without_address"),
            gathering: words("gathering"),
        }
    }
}

fn key(pair: &Value, side: Side) -> String {
    let name = pair["name"].as_str().unwrap_or_default();
    format!("{} {name}", side.name())
}

#[cfg(test)]
mod tests;
