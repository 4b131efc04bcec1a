//! Every figure that a run yields: its name, unit, meaning and source.
//!
//! One list feeds the summary's keys, the table's rows and the report's definitions, so that
//! they cannot drift apart.

use serde_json::{Value, json};
use sojourn_world::{Aggregate, Distribution, FlowResult, LinkResult};

/// What a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The queue at a link's entrance.
    Link,
    /// A flow.
    Flow,
    /// All flows together.
    Aggregate,
}

impl Kind {
    /// As it stands in results: `link`, `flow`, `aggregate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Flow => "flow",
            Self::Aggregate => "aggregate",
        }
    }
}

/// The shape of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number for the run.
    Scalar,
    /// Mean, minimum, maximum, quantiles and points of the cumulative distribution.
    Distribution,
    /// A number for each interval of the run.
    Series,
}

/// A figure by its names and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is about.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// Its key in `summary.json`; for a series the recorder's name.
    pub key: &'static str,
    /// Its name in the `metric` column of `results.parquet`.
    pub metric: &'static str,
    /// Its unit; empty for a ratio or an index.
    pub unit: &'static str,
    /// For headings.
    pub title: &'static str,
    /// What it says and how it is measured.
    pub meaning: &'static str,
    /// Where the definition comes from; empty where it is plain counting.
    pub source: &'static str,
}

const fn figure(
    (kind, shape): (Kind, Shape),
    [key, metric, unit]: [&'static str; 3],
    title: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> Figure {
    Figure {
        kind,
        shape,
        key,
        metric,
        unit,
        title,
        meaning,
        source,
    }
}

const LINK: (Kind, Shape) = (Kind::Link, Shape::Scalar);
const FLOW: (Kind, Shape) = (Kind::Flow, Shape::Scalar);
const LINK_SPREAD: (Kind, Shape) = (Kind::Link, Shape::Distribution);
const FLOW_SPREAD: (Kind, Shape) = (Kind::Flow, Shape::Distribution);
const LINK_SERIES: (Kind, Shape) = (Kind::Link, Shape::Series);
const FLOW_SERIES: (Kind, Shape) = (Kind::Flow, Shape::Series);
const ALL: (Kind, Shape) = (Kind::Aggregate, Shape::Scalar);

/// All figures, in the order of the summary.
pub const FIGURES: &[Figure] = &[
    figure(
        LINK,
        ["offered_packets", "offered_packets", "packets"],
        "Offered",
        "Packets offered to the queue after the warm-up, dropped ones included.",
        "",
    ),
    figure(
        LINK,
        ["offered_bytes", "offered_bytes", "bytes"],
        "Offered bytes",
        "Bytes of the offered packets, link header included.",
        "",
    ),
    figure(
        LINK,
        ["dequeued_packets", "dequeued_packets", "packets"],
        "Dequeued",
        "Packets that the queue gave to the link after the warm-up.",
        "",
    ),
    figure(
        LINK,
        ["dequeued_bytes", "dequeued_bytes", "bytes"],
        "Dequeued bytes",
        "Bytes of the dequeued packets, link header included.",
        "",
    ),
    figure(
        LINK,
        ["dropped_packets", "dropped_packets", "packets"],
        "Dropped",
        "Packets that the queue dropped after the warm-up, for whatever reason. The reasons \
         stand in the discipline's own statistics.",
        "",
    ),
    figure(
        LINK,
        ["marked_packets", "marked_packets", "packets"],
        "Marked",
        "Packets whose ECN field the queue set to Congestion Experienced instead of dropping \
         them.",
        "RFC 3168 section 5",
    ),
    figure(
        LINK,
        ["drop_ratio", "drop_ratio", ""],
        "Drop ratio",
        "Dropped over offered packets. No value when nothing was offered.",
        "",
    ),
    figure(
        LINK,
        ["utilisation", "utilisation", ""],
        "Utilisation",
        "Dequeued bits over the link's rate times the measured time: 1 is a full link. No value \
         for a link without a rate.",
        "RFC 5136",
    ),
    figure(
        LINK,
        ["backlog_packets_mean", "backlog_packets_mean", "packets"],
        "Mean backlog",
        "Packets held by the queue, averaged over time (not over packets).",
        "",
    ),
    figure(
        LINK_SPREAD,
        ["sojourn_ms", "sojourn", "ms"],
        "Sojourn time",
        "Time from enqueue to dequeue of every packet that the queue gave to the link. Dropped \
         packets do not count.",
        "RFC 8289 section 2",
    ),
    figure(
        FLOW,
        ["goodput_bps", "goodput", "bit/s"],
        "Goodput",
        "Payload bits delivered to the receiving application per second, from the warm-up (or \
         the flow's start, when later) to the end. Headers, retransmitted copies and lost \
         packets do not count. For a ping it is that of the requests.",
        "RFC 2647 section 3.17",
    ),
    figure(
        FLOW,
        ["sent_packets", "sent_packets", "packets"],
        "Sent",
        "Data packets sent by the flow's first end, retransmissions included; pure ACKs are not.",
        "",
    ),
    figure(
        FLOW,
        ["retransmitted_packets", "retransmitted_packets", "packets"],
        "Retransmitted",
        "Data packets that were not the first copy.",
        "",
    ),
    figure(
        FLOW,
        ["retransmit_ratio", "retransmit_ratio", ""],
        "Retransmit ratio",
        "Retransmitted over sent packets. No value when nothing was sent.",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["rtt_ms", "rtt", "ms"],
        "Round-trip time",
        "TCP: a sample for every acknowledgement that gives one, taken at the sender. Ping: from \
         a request to its echo.",
        "RFC 6298 section 3; RFC 7323 section 4",
    ),
    figure(
        FLOW_SPREAD,
        ["induced_rtt_ms", "induced_rtt", "ms"],
        "Induced RTT",
        "Round-trip time less the flow's base RTT (that of the empty path): what queues and \
         serialisation add. The figure that an AQM is judged by.",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW,
        ["loss_ratio", "loss_ratio", ""],
        "Loss ratio",
        "Datagrams lost over datagrams sent, both directions of an echo. UDP only; for TCP see \
         the retransmit ratio.",
        "RFC 7680 section 2",
    ),
    figure(
        FLOW_SPREAD,
        ["delay_ms", "delay", "ms"],
        "One-way delay",
        "From sending a datagram to its arrival, of those that arrived (UDP).",
        "RFC 7679 section 3",
    ),
    figure(
        FLOW,
        ["blocked_messages", "blocked_messages", "messages"],
        "Blocked messages",
        "Messages that a constant-bit-rate sender skipped because its TCP send buffer was full.",
        "",
    ),
    figure(
        FLOW,
        ["completed_s", "completed", "s"],
        "Completion time",
        "From the flow's start to the delivery of the whole file. No value for flows without an \
         end, or when it did not finish.",
        "",
    ),
    figure(
        ALL,
        ["jain", "jain", ""],
        "Jain's index",
        "Fairness of the goodputs of the flows that take all they can get: (Σx)² / (n·Σx²). \
         1 is equal, 1/n is one flow taking everything.",
        "Jain, Chiu, Hawe 1984 (DEC-TR-301)",
    ),
    figure(
        ALL,
        ["goodput_bps", "goodput", "bit/s"],
        "Sum of goodputs",
        "Over all flows, both directions.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["throughput", "throughput", "bit/s"],
        "Throughput over time",
        "Bits given to the link in each interval, per second, link header included.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["backlog", "backlog", "packets"],
        "Backlog over time",
        "Packets held, averaged over the events of each interval.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["drops", "drops", "packets"],
        "Drops over time",
        "Packets dropped in each interval.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["sojourn", "sojourn", "ms"],
        "Sojourn time over time",
        "Mean sojourn time of the packets that left in each interval.",
        "RFC 8289 section 2",
    ),
    figure(
        FLOW_SERIES,
        ["goodput", "goodput", "bit/s"],
        "Goodput over time",
        "Payload bits delivered in each interval, per second.",
        "RFC 2647 section 3.17",
    ),
    figure(
        FLOW_SERIES,
        ["rtt", "rtt", "ms"],
        "Round-trip time over time",
        "Mean of the samples of each interval; a gap where there was none.",
        "RFC 6298 section 3",
    ),
    figure(
        FLOW_SERIES,
        ["cwnd", "cwnd", "segments"],
        "Congestion window over time",
        "Mean of each interval, in segments (TCP).",
        "RFC 5681 section 2",
    ),
    figure(
        FLOW_SERIES,
        ["ssthresh", "ssthresh", "segments"],
        "Slow-start threshold over time",
        "Mean of each interval, in segments (TCP); a gap while it is unset.",
        "RFC 5681 section 2",
    ),
    figure(
        FLOW_SERIES,
        ["pacing_rate", "pacing_rate", "bit/s"],
        "Pacing rate over time",
        "Rate at which the sender spaces its segments, mean of each interval (TCP); a gap for \
         senders that do not.",
        "",
    ),
];

/// The figure with `key` among the scalars and distributions of `kind`.
pub fn find(kind: Kind, key: &str) -> Option<&'static Figure> {
    FIGURES
        .iter()
        .find(|f| f.kind == kind && f.key == key && f.shape != Shape::Series)
}

/// The statistics of a distribution, in the order of the summary.
pub const STATISTICS: [&str; 10] = [
    "mean", "p25", "p50", "p75", "p95", "p99", "max", "min", "p5", "count",
];

/// A distribution's statistics; no values (but the count) for an empty one.
pub(crate) fn statistics(d: &Distribution) -> [(&'static str, Value); 10] {
    let value = |v: f64| if d.count == 0 { Value::Null } else { json!(v) };
    let values = [
        d.mean, d.p25, d.p50, d.p75, d.p95, d.p99, d.max, d.min, d.p5, 0.0,
    ];
    let mut pairs = core::array::from_fn(|i| (STATISTICS[i], value(values[i])));
    pairs[9].1 = json!(d.count);
    pairs
}

/// A figure's value: a number (or nothing), or a distribution.
#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    /// A JSON number or null.
    Scalar(Value),
    /// A sample's distribution.
    Spread(&'a Distribution),
}

fn ratio(part: u64, whole: u64) -> Content<'static> {
    Content::Scalar(json!((whole > 0).then(|| part as f64 / whole as f64)))
}

fn scalar(value: impl serde::Serialize) -> Content<'static> {
    Content::Scalar(json!(value))
}

/// A link's figures by key.
pub(crate) fn of_link(l: &LinkResult) -> Vec<(&'static str, Content<'_>)> {
    vec![
        ("offered_packets", scalar(l.offered_packets)),
        ("offered_bytes", scalar(l.offered_bytes)),
        ("dequeued_packets", scalar(l.dequeued_packets)),
        ("dequeued_bytes", scalar(l.dequeued_bytes)),
        ("dropped_packets", scalar(l.dropped_packets)),
        ("marked_packets", scalar(l.marked_packets)),
        ("drop_ratio", ratio(l.dropped_packets, l.offered_packets)),
        ("utilisation", scalar(l.utilisation)),
        ("backlog_packets_mean", scalar(l.backlog_packets_mean)),
        ("sojourn_ms", Content::Spread(&l.sojourn)),
    ]
}

/// A flow's figures by key.
pub(crate) fn of_flow(f: &FlowResult) -> Vec<(&'static str, Content<'_>)> {
    vec![
        ("goodput_bps", scalar(f.goodput.as_bps())),
        ("sent_packets", scalar(f.sent_packets)),
        ("retransmitted_packets", scalar(f.retransmitted_packets)),
        (
            "retransmit_ratio",
            ratio(f.retransmitted_packets, f.sent_packets),
        ),
        ("rtt_ms", Content::Spread(&f.rtt)),
        ("induced_rtt_ms", Content::Spread(&f.induced_rtt)),
        ("loss_ratio", scalar(f.loss_ratio)),
        ("delay_ms", Content::Spread(&f.delay)),
        ("blocked_messages", scalar(f.blocked_messages)),
        (
            "completed_s",
            scalar(f.completed.map(|at| at.as_nanos() as f64 / 1e9)),
        ),
    ]
}

/// The figures over all flows by key.
pub(crate) fn of_all(a: &Aggregate) -> Vec<(&'static str, Content<'static>)> {
    vec![
        ("jain", scalar(a.jain)),
        ("goodput_bps", scalar(a.goodput_bps)),
    ]
}
