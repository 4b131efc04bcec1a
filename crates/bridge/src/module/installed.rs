//! A qdisc as the kernel tells of it.

use super::{HEADER, KIND, Parent, TCA_KIND, TCA_OPTIONS};
use crate::netlink::{find, word};
use crate::tc_report;
use serde_json::{Map, Value as Json, json};
use sojourn_qdisc::{Backlog, Place, Report};
use std::fmt::Write as _;

const TCA_STATS2: u16 = 7;
/// In `TCA_STATS2`: `struct gnet_stats_basic`, `gnet_stats_queue`, what the qdisc tells itself, and
/// packets beyond 2³².
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;

/// A qdisc at an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Installed {
    /// Name of the interface.
    pub(super) device: String,
    pub(super) index: u32,
    /// Major number of its handle: zero for the default that nobody gave it.
    pub(super) handle: u16,
    pub(super) parent: Parent,
    pub(super) kind: String,
    pub(super) references: u32,
    /// The discipline's string.
    pub(super) discipline: String,
    pub(super) counted: Counted,
    /// What the library tells, where the kernel had room for it.
    pub(super) report: Option<Report>,
    report_json: Json,
}

/// The kernel's own counters of a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) packets_held: u32,
    pub(super) bytes_held: u32,
    pub(super) drops: u32,
    pub(super) requeues: u32,
    pub(super) overlimits: u32,
}

impl Installed {
    /// From a message of the kernel's: `struct tcmsg` and its attributes.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let attributes = body.get(HEADER..)?;
        let stats = find(attributes, TCA_STATS2).unwrap_or_default();
        let told = find(stats, TCA_STATS_APP).map(text).unwrap_or_default();
        let kind = text(find(attributes, TCA_KIND)?);
        let is_ours = kind == KIND;
        let report = Some(&told)
            .filter(|_| is_ours)
            .and_then(|told| serde_json::from_str::<Json>(told).ok());
        let options = find(attributes, TCA_OPTIONS).filter(|_| is_ours);
        Some(Self {
            device: String::new(),
            index: word(body, 1)?,
            handle: (word(body, 2)? >> 16) as u16,
            parent: Parent::of(word(body, 3)?),
            references: word(body, 4)?,
            discipline: options.map(text).unwrap_or_default(),
            counted: Counted::read(stats),
            report: { report.as_ref().and_then(Json::as_array) }
                .and_then(|queues| tc_report::read_all(queues)),
            report_json: report.unwrap_or_default(),
            kind,
        })
    }

    pub(super) fn is_ours(&self) -> bool {
        self.kind == KIND
    }

    /// What the library tells of itself, where the kernel had room for it.
    pub const fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Packets that the kernel counts as dropped.
    pub const fn drops(&self) -> u32 {
        self.counted.drops
    }

    /// What it holds, as the kernel counts it.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.counted.packets_held.into(),
            bytes: self.counted.bytes_held.into(),
        }
    }

    /// What `tc -s qdisc show` prints of the qdisc, and below it what the library tells.
    pub fn text(&self) -> String {
        let (of, requeues) = (&self.counted, self.counted.requeues);
        let mut out = format!(
            "qdisc {KIND} {:x}: dev {} {} refcnt {} {}\n \
             Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {requeues})\n \
             backlog {}b {}p requeues {requeues}\n",
            self.handle,
            self.device,
            self.parent,
            self.references,
            self.discipline,
            of.bytes,
            of.packets,
            of.drops,
            of.overlimits,
            of.bytes_held,
            of.packets_held,
        );
        let report = self.report.as_ref().map(|report| {
            report.tc_text(Place {
                dev: None,
                handle: self.handle,
            })
        });
        for line in report.iter().flat_map(|text| text.lines()) {
            let _ = writeln!(out, "  {}", line.trim_end());
        }
        out
    }

    /// What `tc -s -j qdisc show` prints of the qdisc, with the library's own as `report`.
    pub fn json(&self) -> Json {
        let mut all = Map::new();
        all.insert("kind".to_owned(), json!(KIND));
        all.insert("handle".to_owned(), json!(format!("{:x}:", self.handle)));
        all.insert("dev".to_owned(), json!(self.device));
        match self.parent {
            Parent::Root => all.insert("root".to_owned(), json!(true)),
            Parent::Class(major, minor) => {
                all.insert("parent".to_owned(), json!(format!("{major:x}:{minor:x}")))
            }
        };
        let of = &self.counted;
        let rest = [
            ("refcnt", json!(self.references)),
            ("options", json!({ "discipline": self.discipline })),
            ("bytes", json!(of.bytes)),
            ("packets", json!(of.packets)),
            ("drops", json!(of.drops)),
            ("overlimits", json!(of.overlimits)),
            ("requeues", json!(of.requeues)),
            ("backlog", json!(of.bytes_held)),
            ("qlen", json!(of.packets_held)),
            ("report", self.report_json.clone()),
        ];
        all.extend(rest.map(|(name, value)| (name.to_owned(), value)));
        Json::Object(all)
    }
}

impl Counted {
    fn read(stats: &[u8]) -> Self {
        let basic = find(stats, TCA_STATS_BASIC).unwrap_or_default();
        let queue = find(stats, TCA_STATS_QUEUE).unwrap_or_default();
        let queue = |number| word(queue, number).unwrap_or_default();
        let packets = find(stats, TCA_STATS_PKT64).and_then(long);
        let few = word(basic, 2).unwrap_or_default();
        Self {
            bytes: long(basic).unwrap_or_default(),
            packets: packets.unwrap_or_else(|| few.into()),
            packets_held: queue(0),
            bytes_held: queue(1),
            drops: queue(2),
            requeues: queue(3),
            overlimits: queue(4),
        }
    }
}

fn long(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.first_chunk()?))
}

/// A text up to the zero that ends it.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}
