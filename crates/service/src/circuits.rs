//! What a bridge's circuits and sites have counted, some at a time: there may be many thousands.

use crate::fleet::{AskError, Fleet};
use crate::talkers::Site;
use serde_json::{Value, json};
use sojourn_bridge::{Circuits, Classes, Remote, Side};
use sojourn_qdisc::{ClassCounts, TreeClass};
use sojourn_units::{Rate, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// Most circuits and sites in an answer.
pub(crate) const MOST: u64 = 100;

/// Addresses of no circuit in an answer.
const ADDRESSES: usize = 5;

/// Which are wanted: in the order of their file, sites before circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The number of the first, from 0.
    pub(crate) first: u32,
    /// How many, [`MOST`] at most.
    pub(crate) count: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            first: 0,
            count: MOST as u32,
        }
    }
}

impl Fleet {
    /// Those of one pair by its name, or of the only one.
    pub(crate) fn circuits(&self, pair: Option<&str>, wanted: Wanted) -> Result<Value, AskError> {
        let (name, remote) = self.find(pair)?;
        let classes = remote
            .classes(wanted.first, wanted.count)
            .map_err(|error| AskError::Remote(name.clone(), error))?;
        let Some(tree) = classes.trees.iter().flatten().next() else {
            return Err(AskError::NoSubscribers(name));
        };
        let all = tree.classes();
        let addresses = remote
            .config()
            .side(Side::Up)
            .circuits
            .clone()
            .unwrap_or_default();
        let prefixes = addresses.prefixes_of_each();
        let first = wanted.first as usize;
        let shown = all.iter().skip(first).take(wanted.count as usize);
        let circuits: Vec<Value> = shown
            .enumerate()
            .map(|(index, class)| {
                let parent = class.parent.map(|parent| &*all[parent as usize].name);
                let mut circuit = json!({
                    "name": class.name,
                    "kind": if class.queue.is_some() { "circuit" } else { "site" },
                    "parent": parent,
                });
                if class.queue.is_some() {
                    // Its number is one more than that of its class.
                    let number = (first + index) as u32 + 1;
                    let count = prefixes.get(&number).copied().unwrap_or(0);
                    circuit["addresses"] = count.into();
                    if count == 0 {
                        circuit["unshaped"] = "has no address".into();
                    }
                }
                for side in Side::BOTH {
                    if let Some((class, counts)) = of(&classes, side, first, index) {
                        circuit[side.name()] = show(class, counts);
                        if class.queue.is_some() {
                            let trip = addresses
                                .round_trip((first + index) as u32 + 1, side)
                                .map(Span::as_millis_f64);
                            circuit[side.name()]["round_trip_ms"] = trip.into();
                        }
                    }
                }
                circuit
            })
            .collect();
        let mut answer = json!({"ok": true, "known": all.len(), "circuits": circuits});
        if first == 0 {
            answer["unmatched"] = self.unmatched(&name, &remote, all.len() as u32);
        }
        answer["pair"] = name.into();
        Ok(answer)
    }

    /// What matches no circuit, and the first addresses of that. Addresses are known from the
    /// second question within two seconds on, since flows are counted only while somebody asks.
    fn unmatched(&self, pair: &str, remote: &Remote, number: u32) -> Value {
        let counts = remote.classes(number, 1).unwrap_or_default().counts;
        let watched = self.watched(Some(pair)).unwrap_or_default();
        let mut config = remote.config();
        let mut answer = json!({});
        for side in Side::BOTH {
            let Some(counts) = counts[side as usize].first() else {
                continue;
            };
            answer[side.name()] = count(counts);
            let circuits = config.side(side).circuits.as_ref();
            if let (Some(member), Some(circuits)) = (watched.first(), circuits) {
                let mut flows = member.flows.lock().unwrap_or_else(PoisonError::into_inner);
                // One that hangs has no news.
                let _ = flows.look(remote);
                let first = flows
                    .unmatched(side, circuits, ADDRESSES)
                    .into_iter()
                    .map(|(who, rate)| json!({"address": who, "rate_bps": rate}));
                answer[side.name()]["addresses"] = first.collect();
            }
        }
        answer
    }
}

impl Fleet {
    /// All those of all pairs that have some and answer, with the pairs' names, and whose addresses
    /// are whose.
    pub(crate) fn all_circuits(&self) -> Vec<(String, Classes, Arc<Circuits>)> {
        let members = self.members();
        let remotes: Vec<_> = members
            .iter()
            .map(|m| (m.name.clone(), m.remote.clone()))
            .collect();
        drop(members);
        let all = |(name, remote): (String, Remote)| {
            let classes = remote.classes(0, u32::MAX).ok()?;
            let has_some = classes.trees.iter().any(Option::is_some);
            let addresses = remote.config().side(Side::Up).circuits.clone();
            has_some.then(|| (name, classes, addresses.unwrap_or_default()))
        };
        remotes.into_iter().filter_map(all).collect()
    }
}

impl Fleet {
    /// Those of one pair by its name, or of the only one.
    pub(crate) fn talkers(&self, pair: Option<&str>, most: usize) -> Result<Value, AskError> {
        let (name, _) = self.find(pair)?;
        let mut all = self.all_talkers(Some(&name), most);
        let Some(sites) = all.remove(&name) else {
            return Err(AskError::NoSubscribers(name));
        };
        let sites = sites.map(|sites| sites.iter().map(show_site).collect::<Value>());
        Ok(json!({"ok": true, "pair": name, "sites": sites}))
    }

    /// Those of all pairs that have circuits and answer, by the pairs' names, or of one.
    pub(crate) fn all_talkers(
        &self,
        name: Option<&str>,
        most: usize,
    ) -> BTreeMap<String, Option<Vec<Site>>> {
        let watched = self.watched(name).unwrap_or_default();
        let of = watched.into_iter().filter_map(|pair| {
            let classes = pair.remote.classes(0, u32::MAX).ok()?;
            classes.trees.iter().flatten().next()?;
            let addresses = pair
                .remote
                .config()
                .side(Side::Up)
                .circuits
                .clone()
                .unwrap_or_default();
            let mut talkers = pair.talkers.lock().unwrap_or_else(PoisonError::into_inner);
            let sites = talkers.look(&classes, &addresses, most, Instant::now());
            Some((pair.name, sites))
        });
        of.collect()
    }
}

/// One direction of a class; both directions have the same ones in the same order.
fn of(
    classes: &Classes,
    side: Side,
    first: usize,
    index: usize,
) -> Option<(&TreeClass, &ClassCounts)> {
    let tree = classes.trees[side as usize].as_ref()?;
    let counts = classes.counts[side as usize].get(index)?;
    Some((tree.classes().get(first + index)?, counts))
}

fn show(class: &TreeClass, counts: &ClassCounts) -> Value {
    let mut shown = count(counts);
    shown["rate_bps"] = class.rate.as_bps().into();
    shown["ceil_bps"] = class.ceil.map(Rate::as_bps).into();
    shown
}

/// What a class has counted.
pub(crate) fn count(counts: &ClassCounts) -> Value {
    json!({
        "sent_packets": counts.sent.packets,
        "sent_bytes": counts.sent.bytes,
        "lent_packets": counts.lent,
        "borrowed_packets": counts.borrowed,
        "dropped_packets": counts.dropped.packets,
        "marked_packets": counts.marked.packets,
        "backlog_packets": counts.backlog.packets,
        "backlog_bytes": counts.backlog.bytes,
        "delay_ms": counts.delay.as_millis_f64(),
        "delay_sum_ms": counts.waited.as_millis_f64(),
    })
}

/// A site's talkers.
fn show_site(site: &Site) -> Value {
    let circuits = site.talkers.iter().map(|talker| {
        let mut circuit = json!({"name": talker.name});
        for side in Side::BOTH {
            let at = side as usize;
            circuit[side.name()] = json!({
                "rate_bps": talker.rates[at].as_bps(),
                "round_trip_ms": talker.trips[at].map(Span::as_millis_f64),
            });
        }
        circuit
    });
    json!({"site": site.name, "circuits": circuits.collect::<Value>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talkers::tests::talker;

    #[test]
    fn sites_are_shown_with_both_ways() {
        let site = Site {
            name: Some("hill".to_owned()),
            talkers: vec![talker()],
        };
        let shown = show_site(&site);
        assert_eq!(shown["site"], "hill");
        assert_eq!(shown["circuits"][0]["up"]["rate_bps"], 2_000_000);
        assert_eq!(shown["circuits"][0]["down"]["round_trip_ms"], 7.0);
        assert_eq!(shown["circuits"][0]["up"]["round_trip_ms"], Value::Null);
    }
}
