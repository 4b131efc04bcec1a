//! The report of several queues as one: what each counts added up, and each on its own.

use super::tins::number;
use crate::accounts::{Backlog, Counters};
use crate::report::{Field, Report, Value};
use crate::spec::Spec;
use alloc::vec::Vec;

/// How a statistic of several queues becomes one.
enum Merge {
    Sum,
    Least,
    Most,
    Mean,
}

fn rule(name: &str) -> Merge {
    match name {
        "min_network_size" | "min_adj_size" | "base_delay_us" => Merge::Least,
        "avg_delay_us" | "avg_hdr_offset" => Merge::Mean,
        "threshold_rate" | "target_us" | "interval_us" | "flow_quantum" | "capacity_estimate"
        | "peak_delay_us" | "max_network_size" | "max_adj_size" | "max_pkt_len" => Merge::Most,
        _ => Merge::Sum,
    }
}

/// What is told of each queue.
const OWN: [&str; 6] = ["share_rate", "bytes", "packets", "drops", "backlog", "qlen"];

impl Report {
    /// The report of `queues` as one of `spec`, with the accounts of all: statistics are added up,
    /// or the least, the largest or the mean where a sum means nothing, and `queues` has those of
    /// each.
    pub fn of_queues(
        spec: Option<&Spec>,
        counters: &Counters,
        backlog: Backlog,
        queues: &[Self],
    ) -> Self {
        let all: Vec<&[Field]> = queues.iter().map(|report| &*report.stats).collect();
        let base = Self::new(spec, counters, backlog, Vec::new());
        let is_own = |field: &Field| {
            field.name != "share_rate" && !base.stats.iter().any(|own| own.name == field.name)
        };
        let mut own = merged(&all);
        own.retain(is_own);
        let each = all.iter().map(|stats| {
            let told = OWN.iter().filter_map(|name| {
                let field = stats.iter().find(|field| field.name == *name)?;
                Some(field.clone())
            });
            told.collect()
        });
        own.push(Field::new("queues", Value::Groups(each.collect())));
        Self::new(spec, counters, backlog, own)
    }
}

/// One group of fields out of several with the same names.
fn merged(all: &[&[Field]]) -> Vec<Field> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let value = |field: &Field| {
        let name = &*field.name;
        match &field.value {
            Value::Int(_) => Value::Int(number_of(all, name)),
            Value::Groups(groups) => {
                let group = |index: usize| {
                    let parts = all.iter().filter_map(|stats| group_of(stats, name, index));
                    merged(&parts.collect::<Vec<_>>())
                };
                Value::Groups((0..groups.len()).map(group).collect())
            }
            other => other.clone(),
        }
    };
    let fields = first.iter().map(|field| Field {
        name: field.name.clone(),
        value: value(field),
    });
    fields.collect()
}

fn group_of<'a>(stats: &'a [Field], name: &str, index: usize) -> Option<&'a [Field]> {
    let field = stats.iter().find(|field| field.name == name)?;
    match &field.value {
        Value::Groups(groups) => groups.get(index).map(|group| &**group),
        _ => None,
    }
}

fn number_of(all: &[&[Field]], name: &str) -> i64 {
    // A queue that no packet has come to has seen no size and no delay.
    let is_used = |stats: &&&[Field]| number(stats, "sent_packets") + number(stats, "packets") > 0;
    let in_use: Vec<_> = all.iter().filter(is_used).collect();
    let used = in_use.iter().map(|stats| number(stats, name));
    let mut of_all = all.iter().map(|stats| number(stats, name));
    let found = match rule(name) {
        Merge::Sum => return of_all.fold(0, i64::saturating_add),
        Merge::Most => return of_all.max().unwrap_or(0),
        Merge::Least => used.min(),
        Merge::Mean => {
            let count = i64::try_from(used.len()).unwrap_or(i64::MAX).max(1);
            Some(used.fold(0, i64::saturating_add) / count)
        }
    };
    found.or_else(|| of_all.next()).unwrap_or(0)
}
