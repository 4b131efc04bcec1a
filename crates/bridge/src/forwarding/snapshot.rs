//! What a bridge has counted, at one moment. Text and JSON are made of it by whoever wants them.

use super::config::BridgeConfig;
use super::delays::Delays;
use super::dual::DualStats;
use super::following::Followed;
use super::port::PortCounters;
use super::side::Side;
use crate::port::PortState;
use crate::prober::Reflectors;
use serde_json::{Value, json};
use sojourn_qdisc::{Backlog, CakeMqParams, Counters, Place, Report, Spec, Tally};
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
    /// Copies made on purpose after transmission.
    pub duplicated: Tally,
    /// Frames on their way after transmission.
    pub under_way: u64,
    /// Bytes that its frames hold, those included that are ready to be received into.
    pub memory: u64,
    /// Bytes of frames that have gone back to the allocator, which may keep them.
    pub freed: u64,
    /// Frames that the kernel bridge forwarded while this thread stood still.
    pub by_kernel: u64,
    /// Frames dropped before or behind the queue because it had stood still for too long.
    pub stale: u64,
    /// At the interface where frames come in.
    pub input: PortCounters,
    /// At the interface where they go out.
    pub output: PortCounters,
}

/// Something that the bridge counts itself, beside the queue.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// What is counted.
    pub name: &'static str,
    /// In what.
    pub unit: &'static str,
    /// Whether it can fall.
    pub is_gauge: bool,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// How many.
    pub number: u64,
}

impl SideStats {
    /// Adds those of another worker.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.queue.absorb(&other.queue);
        self.backlog += other.backlog;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.input.absorb(&other.input);
        self.output.absorb(&other.output);
        let pairs = [
            (&mut self.under_way, other.under_way),
            (&mut self.memory, other.memory),
            (&mut self.freed, other.freed),
            (&mut self.by_kernel, other.by_kernel),
            (&mut self.stale, other.stale),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }

    /// What the bridge counts itself, always in the same order.
    pub fn counts(&self) -> Vec<Count> {
        let frames = |name, number, about| Count {
            name,
            unit: "frames",
            is_gauge: false,
            about,
            number,
        };
        let (input, output) = (&self.input, &self.output);
        vec![
            frames("received", input.received, "Frames received."),
            frames("sent", output.sent, "Frames sent."),
            frames(
                "missed",
                input.missed,
                "Frames that the kernel dropped: read too late.",
            ),
            frames(
                "no_buffer",
                input.no_buffer,
                "Frames dropped for want of memory.",
            ),
            frames(
                "unreadable",
                input.unreadable,
                "Frames that could not be read.",
            ),
            frames(
                "refused",
                output.refused,
                "Frames that the interface refused to send.",
            ),
            Count {
                unit: "packets",
                ..frames("lost", self.lost.packets, "Packets lost on purpose.")
            },
            Count {
                unit: "packets",
                ..frames(
                    "duplicated",
                    self.duplicated.packets,
                    "Copies made on purpose.",
                )
            },
            Count {
                is_gauge: true,
                ..frames(
                    "under_way",
                    self.under_way,
                    "Frames on their way behind the queue.",
                )
            },
            Count {
                unit: "bytes",
                is_gauge: true,
                ..frames("memory", self.memory, "Bytes that frames hold.")
            },
            frames(
                "by_kernel",
                self.by_kernel,
                "Frames that the kernel bridge forwarded.",
            ),
            frames(
                "stale",
                self.stale,
                "Frames dropped because they had become too old.",
            ),
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
    /// What packets have waited in the queues, by side.
    pub delays: [Delays; 2],
    /// Both queues of a pair (`dualpi2`) apart, by side; none of other queues.
    pub duals: [Option<DualStats>; 2],
    /// What brings frames in and out.
    pub port: PortState,
    /// Of rates that follow their link where they are, by side.
    pub followed: [Option<Followed>; 2],
    /// Who is asked for those rates beside the packets that pass.
    pub reflectors: Option<Reflectors>,
}

impl Snapshot {
    /// What all workers have counted, at least one, as one.
    pub(super) fn of_workers(mut all: Vec<Self>, config: &BridgeConfig) -> Self {
        if all.len() == 1 {
            return all.swap_remove(0);
        }
        let mut sum = all[0].clone();
        for side in Side::BOTH {
            let at = side as usize;
            for worker in &all[1..] {
                sum.stats[at].absorb(&worker.stats[at]);
                sum.delays[at].absorb(&worker.delays[at]);
            }
            sum.duals[at] = DualStats::of_workers(all.iter().map(|it| it.duals[at].as_ref()));
            let spec = match config.direction(side).qdisc {
                Spec::Cake(cake) => {
                    let queues = all.len() as u32;
                    let mq = CakeMqParams { queues };
                    Spec::CakeMq { mq, cake }
                }
                ref other => other.clone(),
            };
            let stats = &sum.stats[at];
            let reports: Vec<Report> = all.iter().map(|it| it.reports[at].clone()).collect();
            sum.reports[at] = Report::of_queues(Some(&spec), &stats.queue, stats.backlog, &reports);
        }
        sum
    }

    /// Statistics of both directions: of each queue what `tc -s -j qdisc` prints, and beside it
    /// what the bridge counts.
    pub fn json(&self) -> Value {
        let sides = Side::BOTH.map(|side| {
            let tc = self.reports[side as usize].tc_json(self.place(side));
            let qdisc = serde_json::from_str::<Value>(&tc).expect("tc_json prints JSON");
            let mut side_json = json!({"qdisc": qdisc, "port": self.port.word()});
            if let Some(dual) = &self.duals[side as usize] {
                side_json["dual"] = dual.json();
            }
            if let Some(why) = self.port.refused() {
                side_json["xdp_refused"] = why.into();
            }
            if let Some(Followed { rate, delay }) = self.followed[side as usize] {
                side_json["autorate_bps"] = rate.as_bps().into();
                side_json["path_delay_ms"] = delay.as_millis_f64().into();
            }
            if let Some(reflectors) = &self.reflectors {
                side_json["reflectors"] = reflectors.asked.into();
                side_json["reflectors_answer"] = reflectors.answer.into();
                if let Some(why) = &reflectors.failed {
                    side_json["reflectors_failed"] = why.as_str().into();
                }
            }
            for count in self.stats[side as usize].counts() {
                side_json[format!("{}_{}", count.name, count.unit)] = count.number.into();
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
            let _ = write!(text, " {} port {}", side.name(), self.port.word());
            if let Some(followed) = self.followed[side as usize] {
                let delay = followed.delay.as_millis_f64();
                let _ = write!(text, " autorate {followed} path_delay {delay:.1}ms");
            }
            for Count { name, number, .. } in self.stats[side as usize].counts() {
                let _ = write!(text, " {name} {number}");
            }
            text.push('\n');
            if let Some(dual) = &self.duals[side as usize] {
                text.push_str(&dual.text(side.name()));
            }
        }
        if let Some(reflectors) = &self.reflectors {
            let _ = writeln!(text, " autorate: {reflectors}");
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
