//! The C and the L queue of a pair (`dualpi2`) apart, with the label `queue`.

use super::Way;
use super::text::{MetricType, Page};
use sojourn_bridge::{DELAYS, DualQueue};
use sojourn_qdisc::Dual;
use sojourn_units::Span;

/// Name with its unit, whether it only grows, meaning, value.
type Counted = (
    &'static str,
    MetricType,
    &'static str,
    fn(&DualQueue<'_>) -> u64,
);

const QUEUES: [Counted; 7] = {
    use MetricType::{Counter, Gauge};
    [
        (
            "dual_dequeued_packets",
            Counter,
            "Packets that left this queue of the pair.",
            |queue| queue.counts.dequeued.packets,
        ),
        (
            "dual_dequeued_bytes",
            Counter,
            "Bytes that left this queue of the pair.",
            |queue| queue.counts.dequeued.bytes,
        ),
        (
            "dual_dropped_packets",
            Counter,
            "Packets dropped by this queue of the pair.",
            |queue| queue.counts.dropped,
        ),
        (
            "dual_marked_packets",
            Counter,
            "Packets marked CE by this queue of the pair; none that came with CE.",
            |queue| queue.counts.marked,
        ),
        (
            "dual_came_marked_packets",
            Counter,
            "Packets that came to this queue of the pair with CE.",
            |queue| queue.counts.came_marked,
        ),
        (
            "dual_backlog_packets",
            Gauge,
            "Packets held by this queue of the pair.",
            |queue| queue.counts.backlog.packets,
        ),
        (
            "dual_backlog_bytes",
            Gauge,
            "Bytes held by this queue of the pair.",
            |queue| queue.counts.backlog.bytes,
        ),
    ]
};

/// Name, meaning and value.
type Shown = (&'static str, &'static str, fn(&Dual) -> f64);

const PROBABILITIES: [Shown; 2] = [
    (
        "dual_probability",
        "Base probability of the pair; squared it is the C queue's.",
        |dual| dual.probability,
    ),
    (
        "dual_coupled_probability",
        "Probability of the L queue without its step.",
        |dual| dual.coupled,
    ),
];

/// Adds the families of pairs.
pub(super) fn families(page: &mut Page, ways: &[Way<'_>]) {
    let pairs = || {
        ways.iter()
            .filter_map(|way| way.dual.map(|dual| (way.labels, dual)))
    };
    for (name, kind, about, of) in QUEUES {
        page.family(name, kind, about);
        for ([pair, direction], dual) in pairs() {
            for queue in dual.queues() {
                let labels = [pair, direction, ("queue", queue.name)];
                page.sample(&labels, of(&queue) as f64);
            }
        }
    }
    for (name, about, of) in PROBABILITIES {
        page.family(name, MetricType::Gauge, about);
        for (labels, dual) in pairs() {
            page.sample(&labels, of(&dual.dual));
        }
    }
    let about = "Time that packets spent in this queue of the pair.";
    page.family("dual_delay_seconds", MetricType::Histogram, about);
    let bounds = DELAYS.map(Span::as_secs_f64);
    for ([pair, direction], dual) in pairs() {
        for queue in dual.queues() {
            let labels = [pair, direction, ("queue", queue.name)];
            let sum = queue.delays.sum.as_secs_f64();
            page.histogram(&labels, &bounds, &queue.delays.counts, sum);
        }
    }
}
