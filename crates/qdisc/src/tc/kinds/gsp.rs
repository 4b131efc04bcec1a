//! GSP's rows.

use super::common::{LIMIT, ecn};
use super::flows::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, DROP_OVERLIMIT, DROP_OVERMEMORY, FLOW_LIMIT, FLOWS,
    ISOLATION, MEMORY_LIMIT, MEMORY_USED, NAT, NEW_FLOW_COUNT, NEW_FLOWS_LEN, OLD_FLOWS_LEN,
    WAY_COLLISIONS, WAY_INDIRECT_HITS, WAY_MISSES, quantum,
};
use crate::params::{FlowParams, GspParams};
use crate::spec::{Part, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{Opt, Unit, field, from, options, stats};
use alloc::format;
use sojourn_units::show_span;

options! { GspParams;
    THRESHOLD: time threshold, "delay above which an arrival is dropped";
    INTERVAL: time interval,
        "pause after a drop; shrinks while the delay stays above the threshold";
    ALPHA: opt(Unit::Count, 1..=64) alpha, "weight of time above the threshold against time below";
    TAU: time tau, "surplus of time above the threshold that halves the pause";
    PAUSE: time min_interval, "shortest pause after a drop";
}
const MIN_INTERVAL: Opt = from(PAUSE, "1ms, or `interval` if that is shorter");
const ECN: Opt = ecn(Some("noecn"), field!(GspParams, ecn));

/// A pause is at least `min_interval`, and that at most the pause at rest.
fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    if let Some(gsp) = GspParams::of_mut(spec) {
        if given.has("min_interval") && gsp.min_interval > gsp.interval {
            return Err(given.wrong(
                "min_interval",
                format!(
                    "`min_interval` of {} is longer than `interval`",
                    given.kind.name
                ),
                format!("it can be up to {}", show_span(gsp.interval)),
            ));
        }
        gsp.min_interval = gsp.min_interval.min(gsp.interval);
    }
    Ok(())
}

pub(super) const GSP: Kind = Kind {
    name: "gsp",
    summary: "global synchronization protection: one drop above a threshold, then a pause",
    source: "Lautenschlaeger and Francini 2015; draft-lauten-aqm-gsp; not in tc",
    example: "gsp limit 10000 threshold 2500us interval 200ms",
    options: &[LIMIT, THRESHOLD, INTERVAL, ALPHA, TAU, MIN_INTERVAL, ECN],
    stats: stats! {
        [delay as Time: "time that the packet at the head has waited";
         pause as Time: "pause that a drop would start now";
         cumul as Time: "surplus of time above the threshold"]
        [dropped: "packets dropped above the threshold";
         ecn_mark: "packets marked instead of dropped";
         overflows: "times that the queue filled up";
         drop_overlimit: "packets dropped at the packet limit"]
    },
    initial: || Spec::single(1000, GspParams::default()),
    rules,
    ..Kind::BARE
};

pub(super) const FQ_GSP: Kind = Kind {
    name: "fq_gsp",
    summary: "flow queues in turn, sparse flows first, each with its own GSP",
    source: "RFC 8290; Lautenschlaeger and Francini 2015; not in tc",
    example: "fq_gsp limit 10240 flows 1024 threshold 5ms interval 200ms",
    options: &[
        FLOW_LIMIT,
        FLOWS,
        quantum(Unit::Bytes),
        THRESHOLD,
        INTERVAL,
        ALPHA,
        TAU,
        MIN_INTERVAL,
        MEMORY_LIMIT,
        ECN,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    stats: stats! {
        [dropped: "packets dropped above the threshold";
         ecn_mark: "packets marked instead of dropped";
         overflows: "times that a queue filled up"]
        ..DROP_OVERLIMIT, DROP_OVERMEMORY, NEW_FLOW_COUNT, MEMORY_USED, NEW_FLOWS_LEN,
        OLD_FLOWS_LEN, BULK_FLOWS, WAY_INDIRECT_HITS, WAY_MISSES, WAY_COLLISIONS, ACK_DROPS
    },
    initial: || Spec::flows(FlowParams::default(), GspParams::default()),
    rules,
    ..Kind::BARE
};
