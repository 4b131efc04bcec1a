//! CoDel's rows.

use super::common::{LIMIT, ecn};
use super::flows::{
    ACK_DROPS, ACKS, ASSOCIATIVE, BULK_FLOWS, DROP_BATCH, FLOW_LIMIT, FLOWS, ISOLATION,
    MEMORY_LIMIT, NAT, NEW_FLOWS_LEN, OLD_FLOWS_LEN, WAY_COLLISIONS, WAY_INDIRECT_HITS, WAY_MISSES,
    quantum,
};
use crate::params::{CeSelector, CodelLaw, CodelParams, FlowParams};
use crate::spec::{Part, Spec};
use crate::tc::kind::Kind;
use crate::tc::opt::{
    Datum, Json, Opt, Unit, When, field, first, json, kept, opt, options, ours, stats, when,
};

options! { CodelParams;
    pub(super) TARGET: time target, "standing delay that is acceptable";
    pub(super) INTERVAL: time interval,
        "time in which the delay must fall below the target once; a worst-case RTT";
    CE_THRESHOLD: time ce_threshold, "mark every ECN-capable packet that waited longer than this";
    WHOSE: opt(LAWS, 0..=CodelLaw::WORDS.len() as u64 - 1) law,
        "CoDel's arithmetic: Linux drops again sooner than RFC 8289; linux-3.5 is Linux before \
         March 2026, where sparse flows lose more; ns2 is the code of 2012";
}
/// Nothing without a threshold, as in Linux.
const SELECTOR: Opt = json(
    opt(
        "ce_threshold_selector",
        Unit::Word(&CeSelector::WORDS),
        0..=CeSelector::WORDS.len() as u64 - 1,
        kept!(
            CodelParams;
            |codel| match (codel.ce_threshold, codel.ce_selector) {
                (None, _) | (_, CeSelector::All) => None,
                (_, selector) => selector.amount(),
            };
            |codel, amount| codel.ce_selector = Datum::of(amount)
        ),
        "packets that `ce_threshold` marks, by value and mask of the ECN field: all, ECT(1) (L4S) \
         or ECT(0)",
    ),
    Json::Parts("ce_threshold_mask"),
);

const LAWS: Unit = Unit::Word(&CodelLaw::WORDS);
const LAW: Opt = ours(when(WHOSE, When::Changed, When::Changed));
const ECN: Opt = ecn(Some("noecn"), field!(CodelParams, ecn));

pub(super) const CODEL: Kind = Kind {
    name: "codel",
    summary: "controlled delay: drops at the head while a standing delay exceeds the target",
    source: "RFC 8289; tc-codel(8)",
    linux: Some("sch_codel"),
    example: "codel limit 1000 target 5ms interval 100ms ecn",
    options: &[LIMIT, TARGET, CE_THRESHOLD, INTERVAL, ECN, LAW],
    stats: stats! {
        [count: "drops since this dropping state was entered";
         lastcount: "count when it was entered";
         ldelay as Time: "delay of the newest departure";
         dropping as Flag: "in the dropping state";
         drop_next as Time: "time until the next drop"]
        [maxpacket: "largest packet so far, bytes";
         ecn_mark: "packets marked instead of dropped";
         drop_overlimit: "packets dropped at the limit";
         ce_mark: "packets marked above `ce_threshold`"]
    },
    initial: || Spec::single(1000, CodelParams::default()),
    ..Kind::BARE
};

pub(super) const FQ_CODEL: Kind = Kind {
    name: "fq_codel",
    summary: "flow queues in turn, sparse flows first, each with its own CoDel",
    source: "RFC 8290; tc-fq_codel(8)",
    linux: Some("sch_fq_codel"),
    example: "fq_codel limit 1001 target 5ms interval 100ms quantum 300 noecn",
    options: &[
        FLOW_LIMIT,
        FLOWS,
        quantum(Unit::Count),
        TARGET,
        CE_THRESHOLD,
        when(SELECTOR, When::Changed, When::Changed),
        INTERVAL,
        MEMORY_LIMIT,
        when(ECN, When::Always, When::On),
        DROP_BATCH,
        LAW,
        ISOLATION,
        ASSOCIATIVE,
        NAT,
        ACKS,
    ],
    stats: stats! {
        [maxpacket: "largest packet so far, bytes";
         drop_overlimit: "packets dropped at the packet or memory limit";
         new_flow_count: "times that a flow became a new one";
         ecn_mark: "packets marked instead of dropped";
         ce_mark: "packets marked above `ce_threshold`";
         memory_used: "bytes held";
         drop_overmemory: "packets dropped at the memory limit"]
        ..first(NEW_FLOWS_LEN), OLD_FLOWS_LEN, BULK_FLOWS, WAY_INDIRECT_HITS, WAY_MISSES,
        WAY_COLLISIONS, ACK_DROPS
    },
    initial: || {
        let codel = CodelParams {
            ecn: true,
            ..CodelParams::default()
        };
        Spec::flows(FlowParams::default(), codel)
    },
    rules: |_, spec| {
        if let Some(codel) = CodelParams::of_mut(spec)
            && codel.ce_threshold.is_none()
        {
            codel.ce_selector = CeSelector::All;
        }
        Ok(())
    },
    ..Kind::BARE
};
