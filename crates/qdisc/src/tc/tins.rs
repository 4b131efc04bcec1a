//! CAKE's statistics as `tc -s` prints them: sizes, then the table of tins.
//!
//! Source: iproute2 6.1 `tc/q_cake.c`.

use super::print::{rate, size, time};
use crate::DiffServ;
use crate::report::{Field, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// The number of a field; zero where there is none.
pub(super) fn number(fields: &[Field], name: &str) -> i64 {
    let field = fields.iter().find(|field| field.name == name);
    match field.map(|field| &field.value) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

/// A row of the table: tc's label, the field of the JSON, and how it is shown.
type TinLine = (&'static str, &'static str, fn(i64) -> String);

const ROWS: [TinLine; 20] = [
    ("thresh", "threshold_rate", |n| rate(n.unsigned_abs())),
    ("target", "target_us", time),
    ("interval", "interval_us", time),
    ("pk_delay", "peak_delay_us", time),
    ("av_delay", "avg_delay_us", time),
    ("sp_delay", "base_delay_us", time),
    ("backlog", "backlog_bytes", |n| size(n.unsigned_abs())),
    ("pkts", "sent_packets", |n| n.to_string()),
    ("bytes", "sent_bytes", |n| n.to_string()),
    ("way_inds", "way_indirect_hits", |n| n.to_string()),
    ("way_miss", "way_misses", |n| n.to_string()),
    ("way_cols", "way_collisions", |n| n.to_string()),
    ("drops", "drops", |n| n.to_string()),
    ("marks", "ecn_mark", |n| n.to_string()),
    ("ack_drop", "ack_drops", |n| n.to_string()),
    ("sp_flows", "sparse_flows", |n| n.to_string()),
    ("bk_flows", "bulk_flows", |n| n.to_string()),
    ("un_flows", "unresponsive_flows", |n| n.to_string()),
    ("max_len", "max_pkt_len", |n| n.to_string()),
    ("quantum", "flow_quantum", |n| n.to_string()),
];

const QUEUE_ROWS: [TinLine; 6] = [
    ("share", "share_rate", |n| rate(n.unsigned_abs())),
    ("pkts", "packets", |n| n.to_string()),
    ("bytes", "bytes", |n| n.to_string()),
    ("drops", "drops", |n| n.to_string()),
    ("backlog", "backlog", |n| size(n.unsigned_abs())),
    ("qlen", "qlen", |n| n.to_string()),
];

/// What follows the backlog in `tc -s qdisc show`: sizes, then the table of tins.
pub(super) fn text_stats(out: &mut String, stats: &[Field]) {
    let of = |name| number(stats, name);
    let memory = |name| size(of(name).unsigned_abs());
    let _ = write!(
        out,
        " memory used: {} of {}\n capacity estimate: {}\n \
         min/max network layer size: {:>12} /{:>8}\n \
         min/max overhead-adjusted size: {:>8} /{:>8}\n \
         average network hdr offset: {:>12}\n\n",
        memory("memory_used"),
        memory("memory_limit"),
        rate(of("capacity_estimate").unsigned_abs()),
        of("min_network_size"),
        of("max_network_size"),
        of("min_adj_size"),
        of("max_adj_size"),
        of("avg_hdr_offset"),
    );
    text_queues(out, groups(stats, "queues"));
    let tins = groups(stats, "tins");
    if tins.is_empty() {
        return;
    }
    let names = DiffServ::ALL.iter().find(|mode| mode.tins() == tins.len());
    out.push_str("          ");
    for name in names.map_or(&[][..], |mode| mode.names()) {
        let _ = write!(out, "{name:>13}");
    }
    table(out, &ROWS, tins);
}

/// The groups of a field; none where there is no such field.
fn groups<'a>(stats: &'a [Field], name: &str) -> &'a [Vec<Field>] {
    let groups = stats.iter().find_map(|field| match &field.value {
        Value::Groups(groups) if field.name == name => Some(&**groups),
        _ => None,
    });
    groups.unwrap_or_default()
}

/// The queues of `cake_mq`, which tc lists as disciplines of their own.
fn text_queues(out: &mut String, queues: &[Vec<Field>]) {
    if queues.is_empty() {
        return;
    }
    out.push_str("          ");
    for number in 1..=queues.len() {
        let name = format!("queue {number}");
        let _ = write!(out, "{name:>13}");
    }
    table(out, &QUEUE_ROWS, queues);
}

/// The rows of groups that stand beside each other, below their names.
fn table(out: &mut String, rows: &[TinLine], groups: &[Vec<Field>]) {
    out.push('\n');
    for (label, name, shown) in rows {
        let _ = write!(out, "  {label:8}");
        for group in groups {
            let _ = write!(out, "{:>13}", shown(number(group, name)));
        }
        out.push('\n');
    }
    out.push('\n');
}
