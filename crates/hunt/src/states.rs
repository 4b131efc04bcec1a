//! The states that a run's queues and flows came into, as marks that other runs have too or not.
//!
//! Numbers count by their power of two: a queue that dropped 5 packets was where one that dropped 7
//! was, and not where one was that dropped 70.

use sojourn_qdisc::{Field, Report, Value};
use sojourn_random::mix;
use sojourn_world::{FlowResult, LinkResult, RunResult};
use std::collections::BTreeSet;

/// Marks of states.
pub(crate) type States = BTreeSet<u64>;

/// Takes down marks of one link or flow.
struct Marker<'a> {
    whose: u64,
    states: &'a mut States,
}

impl Marker<'_> {
    fn mark(&mut self, what: &str, value: u64) {
        // FNV-1a over the name.
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        self.states.insert(mix(hash ^ mix(self.whose ^ mix(value))));
    }

    /// A number, by its sign and its power of two.
    fn number(&mut self, what: &str, value: f64) {
        let power = if value == 0.0 || !value.is_finite() {
            0
        } else {
            let exponent = (value.to_bits() >> 52) & 0x7ff;
            1 + exponent + if value < 0.0 { 0x800 } else { 0 }
        };
        self.mark(what, power);
    }

    /// A share, by its quarter; none and all are of their own.
    fn share(&mut self, what: &str, share: f64) {
        let quarter = match share {
            share if share <= 0.0 => 0,
            share if share < 0.25 => 1,
            share if share < 0.5 => 2,
            share if share < 0.75 => 3,
            share if share < 0.95 => 4,
            share if share >= 0.95 => 5,
            _ => 6,
        };
        self.mark(what, quarter);
    }

    fn fields(&mut self, fields: &[Field]) {
        for Field { name, value } in fields {
            match value {
                Value::Int(number) => self.number(name, *number as f64),
                Value::Float(number) => self.number(name, *number),
                Value::Bool(truth) => self.mark(name, u64::from(*truth)),
                Value::Groups(groups) => groups.iter().for_each(|group| self.fields(group)),
                // A word is no state.
                Value::Text(_) => {}
            }
        }
    }

    fn report(&mut self, report: &Report) {
        self.fields(&report.stats);
        if let Some(inner) = &report.inner {
            self.report(inner);
        }
    }

    fn link(&mut self, link: &LinkResult) {
        self.number("dropped", link.dropped_packets as f64);
        self.number("marked", link.marked_packets as f64);
        self.number("backlog", link.backlog_packets_mean);
        self.number("lost", link.lost_packets.unwrap_or(0.0));
        self.share("used", link.utilisation.unwrap_or(f64::NAN));
        self.report(&link.qdisc);
        // What the queue was like at any time: empty, standing, full, and how it controlled then.
        for series in &link.series {
            for point in &series.points {
                self.number(&series.metric, point.value);
            }
        }
    }

    fn flow(&mut self, flow: &FlowResult) {
        self.number("retransmitted", flow.retransmitted_packets as f64);
        self.number("completions", flow.completion.count as f64);
        self.number("induced", flow.induced_rtt.p95);
        self.share("loss", flow.loss_ratio.unwrap_or(0.0));
        self.share("window", flow.window_limited.unwrap_or(0.0));
        for series in &flow.series {
            for point in &series.points {
                self.number(&series.metric, point.value);
            }
        }
    }
}

/// The states of a run. Flows of a group are one.
pub(crate) fn states(run: &RunResult, states: &mut States) {
    for (whose, (_, link)) in (0..).zip(&run.links) {
        Marker { whose, states }.link(link);
    }
    for (name, flow) in &run.flows {
        let group = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let whose = group.bytes().fold(1 << 32, |h, b| mix(h ^ u64::from(b)));
        Marker { whose, states }.flow(flow);
    }
}
