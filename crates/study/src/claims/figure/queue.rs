//! What a queue counts itself, by tc's names.

use sojourn_qdisc::{Report, Value};

/// What of `tc -s -j` may be named behind `link.qdisc.`: counts and sizes.
pub(super) const NAMES: [&str; 15] = [
    "bytes",
    "packets",
    "drops",
    "overlimits",
    "drop_overlimit",
    "new_flow_count",
    "way_indirect_hits",
    "way_misses",
    "way_collisions",
    "ack_drops",
    "memory_used",
    "min_network_size",
    "max_network_size",
    "min_adj_size",
    "max_adj_size",
];

/// The statistic of this name: the queue's own, the sum over CAKE's tins, or that of the
/// discipline below a shaper.
pub(super) fn statistic(report: &Report, name: &str) -> Option<f64> {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let own = report.stats.iter().find(|field| field.name == name);
    if let Some(field) = own {
        return number(&field.value);
    }
    let tins = report.stats.iter().find_map(|field| match &field.value {
        Value::Groups(tins) => Some(tins),
        _ => None,
    });
    let in_tins = tins.and_then(|tins| {
        let fields = tins.iter().flatten().filter(|field| field.name == name);
        let numbers = fields.map(|field| number(&field.value));
        numbers.reduce(|sum, one| Some(sum? + one?))?
    });
    let below = || statistic(report.inner.as_deref()?, name);
    in_tins.or_else(below)
}
