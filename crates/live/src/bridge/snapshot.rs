//! What a bridge has counted, at one moment. Text and JSON are made of it by whoever wants them.

use super::config::Side;
use super::port::PortCounters;
use serde_json::{Value, json};
use sojourn_qdisc::{Backlog, Counters, Place, Report, Tally};
use std::fmt::Write as _;

/// What has happened in one direction since the bridge was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideStats {
    /// At the queue; after the end of the bridge at its stop, as `backlog`.
    pub queue: Counters,
    /// Held by the queue.
    pub backlog: Backlog,
    /// Lost on purpose after transmission.
    pub lost: Tally,
    /// Frames on their way after transmission.
    pub under_way: u64,
    /// Bytes that its frames hold, those included that are ready to be received into.
    pub memory: u64,
    /// Frames that the kernel bridge forwarded while this thread stood still.
    pub by_kernel: u64,
    /// Frames dropped before or behind the queue because it had stood still for too long.
    pub stale: u64,
    /// At the interface where frames come in.
    pub input: PortCounters,
    /// At the interface where they go out.
    pub output: PortCounters,
}

impl SideStats {
    /// What the bridge counts itself, and in what.
    fn counts(&self) -> [(&'static str, &'static str, u64); 11] {
        [
            ("received", "frames", self.input.received),
            ("sent", "frames", self.output.sent),
            ("missed", "frames", self.input.missed),
            ("no_buffer", "frames", self.input.no_buffer),
            ("unreadable", "frames", self.input.unreadable),
            ("refused", "frames", self.output.refused),
            ("lost", "packets", self.lost.packets),
            ("under_way", "frames", self.under_way),
            ("memory", "bytes", self.memory),
            ("by_kernel", "frames", self.by_kernel),
            ("stale", "frames", self.stale),
        ]
    }
}

/// Both directions at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The two interfaces, left and right.
    pub names: [String; 2],
    /// By side.
    pub stats: [SideStats; 2],
    /// The queues' parameters and statistics, by side.
    pub reports: [Report; 2],
}

impl Snapshot {
    /// Statistics of both directions: of each queue what `tc -s -j qdisc` prints, and beside it
    /// what the bridge counts.
    pub fn json(&self) -> Value {
        let sides = Side::BOTH.map(|side| {
            let tc = self.reports[side as usize].tc_json(self.place(side));
            let qdisc = serde_json::from_str::<Value>(&tc).expect("tc_json prints JSON");
            let mut side_json = json!({"qdisc": qdisc});
            for (name, unit, number) in self.stats[side as usize].counts() {
                side_json[format!("{name}_{unit}")] = number.into();
            }
            (side.name().to_owned(), side_json)
        });
        Value::Object(sides.into_iter().collect())
    }

    /// Statistics of both directions as `tc -s qdisc` prints them, and beside it what the bridge
    /// counts.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for side in Side::BOTH {
            text.push_str(&self.reports[side as usize].tc_text(self.place(side)));
            let _ = write!(text, " {}", side.name());
            for (name, _, number) in self.stats[side as usize].counts() {
                let _ = write!(text, " {name} {number}");
            }
            text.push('\n');
        }
        text
    }

    /// A queue stands where its frames go out.
    fn place(&self, side: Side) -> Place<'_> {
        let (dev, handle) = match side {
            Side::Up => (&self.names[1], 0x8001),
            Side::Down => (&self.names[0], 0x8002),
        };
        Place {
            dev: Some(dev),
            handle,
        }
    }
}
