//! What a bridge answers to `top`, and what comes of two answers.

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

/// All pairs at one moment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sample {
    /// Seconds since 1970.
    pub(super) time: f64,
    /// Upper bounds of the bins of delays.
    pub(super) delay_bounds_ms: Vec<f64>,
    pub(super) pairs: Vec<Pair>,
}

/// A pair of interfaces.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) state: State,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum State {
    Running(Box<Running>),
    Silent { error: String },
}

/// A pair that answers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Running {
    pub(super) left: String,
    pub(super) right: String,
    /// What happens to the link when the bridge dies; an older bridge does not say.
    #[serde(default)]
    pub(super) fail_open: FailOpen,
    up: Way,
    down: Way,
}

/// What happens to a link when its bridge dies.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FailOpen {
    /// Whether nothing is wrong with that.
    pub(super) well: bool,
    pub(super) text: String,
}

impl Default for FailOpen {
    fn default() -> Self {
        Self {
            well: true,
            text: String::new(),
        }
    }
}

/// A direction of a pair; counts are since its start.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Way {
    /// The queue's words.
    pub(super) queue: String,
    /// The link's, in words.
    pub(super) rate: String,
    #[serde(flatten)]
    pub(super) queued: Queued,
    #[serde(flatten)]
    pub(super) delays: Delays,
    pub(super) tins: Vec<Tin>,
    /// The C and the L queue of a pair (`dualpi2`); none of other queues.
    #[serde(default)]
    pub(super) queues: Vec<DualQueue>,
    /// What matches no circuit of subscribers, where there are some.
    #[serde(default)]
    pub(super) unmatched: Option<Unmatched>,
    pub(super) flows: Vec<Flow>,
    /// How many flows the bridge knows.
    pub(super) flows_known: u64,
}

/// What has left a queue, and what is in it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Queued {
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: u64,
    marked_packets: u64,
    backlog_packets: u64,
    pub(super) backlog_bytes: u64,
}

/// How long packets have waited: the sum, and how many are in each bin.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Delays {
    delay_sum_ms: f64,
    delay_counts: Vec<u64>,
}

/// A tin of CAKE; its delays are those that tc shows.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Tin {
    pub(super) name: String,
    pub(super) offered_packets: u64,
    pub(super) offered_bytes: u64,
    pub(super) dropped_packets: u64,
    pub(super) filtered_acks: u64,
    pub(super) marked_packets: u64,
    pub(super) backlog_bytes: u64,
    pub(super) delay_ms: f64,
    pub(super) peak_delay_ms: f64,
    pub(super) sparse_flows: u64,
    pub(super) bulk_flows: u64,
}

/// One queue of a pair.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct DualQueue {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) queued: Queued,
    /// Packets that came with CE, which are not among those marked.
    pub(super) came_marked_packets: u64,
    #[serde(flatten)]
    pub(super) delays: Delays,
}

/// What matches no circuit.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Unmatched {
    #[serde(flatten)]
    pub(super) queued: Queued,
    pub(super) delay_ms: f64,
    /// Whose most of it is.
    pub(super) address: Option<String>,
}

/// A flow; its paces follow within a second.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Flow {
    protocol: String,
    source: String,
    source_port: u16,
    destination: String,
    destination_port: u16,
    pub(super) tin: Option<String>,
    pub(super) rate_bps: f64,
    pub(super) packets_per_s: f64,
    pub(super) drops_per_s: f64,
    pub(super) marks_per_s: f64,
    pub(super) delay_ms: f64,
    pub(super) peak_delay_ms: f64,
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) dropped_packets: u64,
    pub(super) marked_packets: u64,
}

impl Flow {
    /// Its protocol and both ends.
    pub(super) fn name(&self) -> String {
        let end = |address: &str, port: u16| match (port, address.contains(':')) {
            (0, _) => address.to_owned(),
            (port, false) => format!("{address}:{port}"),
            (port, true) => format!("[{address}]:{port}"),
        };
        let source = end(&self.source, self.source_port);
        let destination = end(&self.destination, self.destination_port);
        format!("{} {source} > {destination}", self.protocol)
    }
}

impl Sample {
    /// Reads an answer.
    pub(super) fn read(answer: Value) -> anyhow::Result<Self> {
        if answer["ok"] != true {
            let error = answer["error"].as_str().unwrap_or("the bridge says no");
            bail!(crate::WrongInput(error.to_owned()));
        }
        let sample: Self = serde_json::from_value(answer)
            .context("the bridge answers in another form: it is of another version")?;
        if sample.pairs.is_empty() {
            bail!("the bridge has no pair of interfaces any more");
        }
        Ok(sample)
    }

    /// The pair of a name.
    pub(super) fn pair(&self, name: &str) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.name == name)
    }
}

impl Pair {
    /// Both directions, if it answers, with their names.
    pub(super) fn ways(&self) -> Option<[(&'static str, &Way); 2]> {
        match &self.state {
            State::Running(running) => Some([("up", &running.up), ("down", &running.down)]),
            State::Silent { .. } => None,
        }
    }
}

/// What happened between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    pub(super) rate_bps: f64,
    pub(super) packets: f64,
    pub(super) drops: f64,
    pub(super) marks: f64,
}

/// What packets have waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waited {
    /// On average.
    pub(super) mean_ms: f64,
    /// 99 of a hundred no longer than this; infinite above all bins.
    pub(super) high_ms: f64,
}

impl Pace {
    /// Of counts of packets, bytes, drops and marks, now and some seconds ago; none when they have
    /// begun anew since.
    fn between(old: [u64; 4], new: [u64; 4], seconds: f64) -> Option<Self> {
        let mut paces = [0.0; 4];
        for ((pace, old), new) in paces.iter_mut().zip(old).zip(new) {
            *pace = new.checked_sub(old)? as f64 / seconds;
        }
        let [packets, bytes, drops, marks] = paces;
        Some(Self {
            rate_bps: bytes * 8.0,
            packets,
            drops,
            marks,
        })
    }
}

impl Waited {
    /// By counts of bins with these bounds, now and before; and what all have waited in between.
    /// None without packets.
    fn between([new, old]: [&[u64]; 2], sum_ms: f64, bounds_ms: &[f64]) -> Option<Self> {
        let pairs = new.iter().zip(old);
        let counts: Vec<u64> = pairs
            .map(|(new, old)| new.checked_sub(*old))
            .collect::<Option<_>>()?;
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return None;
        }
        let mut below = 0;
        let bin = counts.iter().position(|count| {
            below += count;
            below * 100 >= all * 99
        });
        let high_ms = bin.and_then(|bin| bounds_ms.get(bin)).copied();
        Some(Self {
            mean_ms: sum_ms / all as f64,
            high_ms: high_ms.unwrap_or(f64::INFINITY),
        })
    }
}

impl Queued {
    /// Packets, bytes, drops and marks.
    pub(super) const fn counts(&self) -> [u64; 4] {
        [
            self.sent_packets,
            self.sent_bytes,
            self.dropped_packets,
            self.marked_packets,
        ]
    }

    /// Packets and bytes that are in it.
    pub(super) const fn backlog(&self) -> [Option<u64>; 2] {
        [Some(self.backlog_packets), Some(self.backlog_bytes)]
    }

    /// What has left the queue since it was like `old`, so many seconds ago.
    pub(super) fn pace(&self, old: &Self, seconds: f64) -> Option<Pace> {
        Pace::between(old.counts(), self.counts(), seconds)
    }
}

impl Delays {
    /// What packets have waited since it was like `old`, by the bounds of their bins; none without
    /// any.
    pub(super) fn waited(&self, old: &Self, bounds_ms: &[f64]) -> Option<Waited> {
        let counts = [&self.delay_counts[..], &old.delay_counts];
        Waited::between(counts, self.delay_sum_ms - old.delay_sum_ms, bounds_ms)
    }
}

impl DualQueue {
    /// How many packets a second have come with CE since it was like `old`, so many seconds ago.
    pub(super) fn came_marked(&self, old: &Self, seconds: f64) -> Option<f64> {
        let came = self
            .came_marked_packets
            .checked_sub(old.came_marked_packets)?;
        Some(came as f64 / seconds)
    }
}

impl Way {
    /// The queue of a pair with this name.
    pub(super) fn queue_named(&self, name: &str) -> Option<&DualQueue> {
        self.queues.iter().find(|queue| queue.name == name)
    }

    /// The tin of a name.
    pub(super) fn tin(&self, name: &str) -> Option<&Tin> {
        self.tins.iter().find(|tin| tin.name == name)
    }
}

impl Tin {
    /// Packets, bytes, drops with filtered ACKs, and marks.
    pub(super) const fn counts(&self) -> [u64; 4] {
        [
            self.offered_packets,
            self.offered_bytes,
            self.dropped_packets + self.filtered_acks,
            self.marked_packets,
        ]
    }

    /// What has come to it since it was like `old`, so many seconds ago.
    pub(super) fn pace(&self, old: &Self, seconds: f64) -> Option<Pace> {
        Pace::between(old.counts(), self.counts(), seconds)
    }
}
