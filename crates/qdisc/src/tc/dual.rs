//! DualPI2's statistics as tc's text has them: without an indent, and with an empty line behind.
//!
//! Source: `tc/q_dualpi2.c` of iproute2 6.17.

use super::tins::number;
use crate::report::{Field, Value};
use alloc::string::String;
use core::fmt::Write;

/// Writes them.
pub(super) fn text_stats(out: &mut String, stats: &[Field]) {
    let whole = |name| number(stats, name);
    let probability = stats.iter().find_map(|field| match field.value {
        Value::Float(probability) if field.name == "prob" => Some(probability),
        _ => None,
    });
    let credit = whole("credit");
    let next = if credit > 0 { "C-queue" } else { "L-queue" };
    let _ = write!(
        out,
        "prob {:.6} delay_c {}us delay_l {}us\n\
         pkts_in_c {} pkts_in_l {} maxq {}\n\
         ecn_mark {} step_mark {}\n\
         credit {credit} ({next})\n\
         memory_used {} (max {}) of memory limit {}\n\n",
        probability.unwrap_or_default(),
        whole("delay-c"),
        whole("delay-l"),
        whole("pkts-in-c"),
        whole("pkts-in-l"),
        whole("maxq"),
        whole("ecn-mark"),
        whole("step-mark"),
        whole("memory-used"),
        whole("max-memory-used"),
        whole("memory-limit"),
    );
}
