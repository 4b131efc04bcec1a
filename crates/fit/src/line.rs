//! A line, and the scenario of a load on it.

use crate::measurement::{DOWN, Measurement, UP};
use sojourn_units::Unit;
use std::fmt::{self, Write as _};

/// Fewest bytes that a buffer holds: two full frames, so that one can wait while another is sent.
pub(crate) const LEAST_BUFFER: f64 = 2.0 * 1514.0;
/// Most seconds of load that are simulated; longer tests say the same again.
const LONGEST: f64 = 60.0;
/// Idle seconds before the load.
pub(crate) const IDLE: f64 = 5.0;

/// What stands at the entrance of each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// A FIFO of so many bytes.
    Fifo,
    /// A flow queue that is managed, for which FQ-CoDel stands.
    FlowQueue,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Its queues.
    pub queue: Queue,
    /// Round-trip time without load, in ms.
    pub rtt_ms: f64,
    /// Rates by direction, in bit/s of whole Ethernet frames; none where nothing was sent.
    pub rate: [Option<f64>; 2],
    /// What each direction's FIFO holds at most, in bytes; means nothing without a rate.
    pub buffer: [f64; 2],
}

impl Line {
    /// With no more digits than a measurement tells: four.
    pub(crate) fn rounded(self) -> Self {
        let round = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
        Self {
            queue: self.queue,
            rtt_ms: round(self.rtt_ms),
            rate: self.rate.map(|rate| rate.map(round)),
            buffer: self.buffer.map(|bytes| round(bytes).round()),
        }
    }

    /// A direction's queue in tc's words.
    pub fn qdisc(&self, way: usize) -> String {
        match self.queue {
            Queue::Fifo => format!("bfifo limit {:.0}", self.buffer[way]),
            Queue::FlowQueue => "fq_codel".to_owned(),
        }
    }

    /// The time that a full FIFO takes to empty, in ms.
    pub fn buffer_ms(&self, way: usize) -> Option<f64> {
        let is_fifo = self.queue == Queue::Fifo;
        Some(self.buffer[way] * 8e3 / self.rate[way]?).filter(|_| is_fifo)
    }

    /// The measurement's load on this line, as a scenario file without a comment.
    pub fn scenario(&self, load: &Measurement) -> String {
        let length = load.load().map_or(0.0, |(start, end)| end - start);
        let duration = (IDLE + length.min(LONGEST)).ceil();
        let mut text = format!(
            "format = \"sojourn-scenario/1\"\n\
             name = \"line\"\n\
             title = {}\n\
             duration = \"{duration}s\"\n\
             warmup = \"{}s\"\n\
             sample = \"200ms\"\n\n\
             [dumbbell]\n\
             rtt = \"{}ms\"\n",
            quoted(&format!("The line of {}", load.name)),
            (IDLE + 0.3 * (duration - IDLE)).floor(),
            self.rtt_ms,
        );
        for (way, name) in [(UP, "up"), (DOWN, "down")] {
            let _ = match self.rate[way] {
                None => writeln!(text, "{name} = {{ rate = \"unlimited\" }}"),
                Some(rate) => writeln!(
                    text,
                    "{name} = {{ rate = \"{}mbit\", qdisc = \"{}\" }}",
                    rate / 1e6,
                    self.qdisc(way)
                ),
            };
        }
        if let Some(name) = &load.congestion_control {
            let _ = write!(text, "\n[tcp]\ncc = {}\n", quoted(name));
        }
        for kind in load.kinds() {
            let count = load.count(kind);
            let way = kind.direction();
            let _ = writeln!(text, "\n[[flow]]\nname = \"{}\"", kind.flow());
            if count > 1 {
                let _ = writeln!(text, "count = {count}");
            }
            let _ = writeln!(text, "direction = \"{way}\"\napp = \"bulk\"");
            if kind.dscp != 0 {
                let _ = writeln!(text, "dscp = {}", kind.dscp);
            }
            let _ = writeln!(text, "start = \"{IDLE}s\"\nstart_spread = \"200ms\"");
        }
        text += "\n[[flow]]\n\
                 name = \"ping\"\n\
                 direction = \"up\"\n\
                 app = { kind = \"ping\", size = 64, interval = \"200ms\" }\n";
        text
    }
}

/// In words: a sentence, and a second one about the queues where they are no FIFOs.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base RTT {}", Unit::Ms.show(self.rtt_ms))?;
        for (way, name) in [(UP, "up"), (DOWN, "down")] {
            let Some(rate) = self.rate[way] else {
                write!(f, "; {name}: nothing was sent")?;
                continue;
            };
            write!(f, "; {name} {}", Unit::Bps.show(rate))?;
            if let Some(ms) = self.buffer_ms(way) {
                let bytes = Unit::Bytes.show(self.buffer[way]);
                write!(f, " with a buffer of {bytes} ({})", Unit::Ms.show(ms))?;
            }
        }
        f.write_str(match self.queue {
            Queue::Fifo => ".",
            Queue::FlowQueue => ". Managed flow queues (fq_codel) come nearer to it than a FIFO.",
        })
    }
}

/// As a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
