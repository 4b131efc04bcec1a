//! What a run yields.

use crate::name::WorldName;
use sojourn_apps::Metric;
use sojourn_qdisc::Report as QdiscReport;
use sojourn_units::{Rate, Span, Unit};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The result of one cell in one world.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The world that yielded it.
    pub world: WorldName,
    /// The cell's seed.
    pub seed: u64,
    /// What was swept or set for this cell.
    pub params: Vec<(String, String)>,
    /// Links by name: the network's interfaces, in their order. In a dumbbell `up` and `down`.
    pub links: Vec<(String, LinkResult)>,
    /// Flows by name, in the scenario's order.
    pub flows: Vec<(String, FlowResult)>,
    /// Over all flows.
    pub aggregate: Aggregate,
    /// What the run cost.
    pub cost: Cost,
    /// A rolling hash over every event of a run in virtual time: equal hashes, equal runs.
    /// Zero where runs do not repeat.
    pub digest: u64,
}

/// What happened at a link's queue, from the warm-up to the end.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkResult {
    /// Packets offered to the queue.
    pub offered_packets: u64,
    /// Bytes offered to the queue.
    pub offered_bytes: u64,
    /// Packets the queue gave to the link.
    pub dequeued_packets: u64,
    /// Bytes the queue gave to the link.
    pub dequeued_bytes: u64,
    /// Packets the queue dropped.
    pub dropped_packets: u64,
    /// Packets the queue marked.
    pub marked_packets: u64,
    /// Dequeued bits over rate times time; none when the rate is infinite.
    pub utilisation: Option<f64>,
    /// Mean number of packets held, weighted by time.
    pub backlog_packets_mean: f64,
    /// Time in the queue of packets that were sent.
    pub sojourn: Distribution,
    /// The queue's own statistics at the end of the run, from its beginning.
    pub qdisc: QdiscReport,
    /// Over time: `throughput` (bit/s), `backlog` (packets), `drops` (packets per interval),
    /// `sojourn` (ms, mean of the interval), and the queue's own variables (`target` and so on).
    pub series: Vec<Series>,
}

/// What happened to a flow, from the warm-up to the end.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResult {
    /// `bulk`, `ping` and so on.
    pub app: Cow<'static, str>,
    /// Whether it takes all bandwidth it can get.
    pub elastic: bool,
    /// Payload delivered to the app at `to`, per second; for `ping` that of the requests.
    pub goodput: Rate,
    /// Data packets sent by `from`, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions by `from`.
    pub retransmitted_packets: u64,
    /// Round-trip times: of every ACK that gives one (TCP, sender's side), of every echo (ping).
    pub rtt: Distribution,
    /// Round-trip time less the flow's base RTT.
    pub induced_rtt: Distribution,
    /// Round-trip times by synthetic packet pairs: of packets at both ends, whatever they carry,
    /// seen from `from`. Empty unless [`Cell::spp`](crate::Cell::spp) asks for it.
    pub spp_rtt: Distribution,
    /// The same less the flow's base RTT.
    pub spp_induced_rtt: Distribution,
    /// One-way delay of every datagram that arrived (UDP).
    pub delay: Distribution,
    /// IP-layer throughput at `to` in bit/s, in a window of 5 s that slides by 0.25 s.
    pub throughput: Distribution,
    /// What the app has measured of itself.
    pub measured: Vec<Measured>,
    /// Datagrams lost over datagrams sent, both directions of an echo (UDP; none for TCP).
    pub loss_ratio: Option<f64>,
    /// Messages skipped because the send buffer was full (cbr over TCP).
    pub blocked_messages: u64,
    /// When the first `file` had been delivered in full, since the flow's start.
    pub completed: Option<Span>,
    /// How often the flow began after the warm-up: more than once with `every`.
    pub started: u64,
    /// From each of those beginnings to the delivery of its whole `file`, of those that finished.
    pub completion: Distribution,
    /// Over time: `goodput` (bit/s), `rtt` (ms, mean of the interval), `cwnd` and
    /// `ssthresh` (segments, TCP), `pacing_rate` (bit/s, TCP that spaces its segments).
    pub series: Vec<Series>,
}

/// A figure that an app has measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What.
    pub metric: Metric,
    /// How much of it.
    pub amount: Amount,
}

/// How much an app has measured, in the metric's own unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// All reports added up.
    Sum(f64),
    /// The distribution of the reports.
    Spread(Distribution),
}

/// A sample's distribution, in milliseconds unless its figure says otherwise. Empty samples have
/// `count` zero and no values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Quantiles.
    pub p5: f64,
    /// First quartile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// Third quartile.
    pub p75: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
    /// Points of the cumulative distribution (value, fraction at or below), rising, at most 200.
    pub cdf: Vec<(f64, f64)>,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the start of the run: the end of the interval.
    pub t: f64,
    /// Value; NaN where an interval has no sample.
    pub value: f64,
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `throughput`, `backlog`, `rtt` and so on.
    pub metric: Cow<'static, str>,
    /// Of its values.
    pub unit: Unit,
    /// Evenly spaced points, from the start of the run.
    pub points: Vec<Point>,
}

/// Over all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// Jain's index over the goodputs of elastic flows from one node to another (1 = equal): the
    /// lowest of all such groups, since flows in opposite directions do not compete. None
    /// without elastic flows.
    pub jain: Option<f64>,
    /// Sum of all goodputs in bit/s.
    pub goodput_bps: f64,
}

impl Aggregate {
    /// The aggregate of a run: `results` in the order of the cell's `flows`.
    pub fn of(flows: &[crate::Flow], results: &[(String, FlowResult)]) -> Self {
        let bps = |f: &FlowResult| f.goodput.as_bps() as f64;
        let mut groups: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for (flow, (_, result)) in flows.iter().zip(results).filter(|(_, (_, r))| r.elastic) {
            groups
                .entry((flow.from, flow.to))
                .or_default()
                .push(bps(result));
        }
        Self {
            jain: groups.into_values().filter_map(jain).reduce(f64::min),
            goodput_bps: results.iter().map(|(_, f)| bps(f)).sum(),
        }
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Events of the simulator; frames handled by the bridge in the live world.
    pub events: u64,
    /// Packets sent by the busiest link's queue, from the start of the run.
    pub bottleneck_packets: u64,
    /// Processor seconds of the run.
    pub cpu_s: f64,
    /// Seconds of the run.
    pub wall_s: f64,
    /// Largest resident memory of the process so far, in bytes.
    pub peak_rss_bytes: u64,
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984): (Σx)² / (n·Σx²); none for no or all-zero
/// shares.
pub fn jain(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) = shares
        .into_iter()
        .fold((0_u32, 0.0, 0.0), |(n, sum, squares), x| {
            (n + 1, sum + x, squares + x * x)
        });
    (squares > 0.0).then(|| sum * sum / (f64::from(n) * squares))
}
