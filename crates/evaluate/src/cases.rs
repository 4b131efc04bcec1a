//! The cases: what each is taken from, its scenario, and what is measured in it.

use crate::measure::{
    AGAIN, AGE, AGGRESSIVE, BACK, BESIDE, BURSTS, CALL, FAIRNESS, FAR, FILES, FRIENDLY, FULL,
    L4S_LAG, L4S_SHARE, L4S_TAIL, LAG, LONG, Measure, NEW, NEW_SHORT, OTHER, PAGES, SECOND,
    SECOND_QUEUE, SHORT_MEAN, SHORT_P95, SMALL, START, STEADY, TENFOLD, TOGETHER, UNRESPONSIVE,
};

/// A case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Who asks for it.
    pub(crate) source: &'static str,
    pub(crate) text: &'static str,
    /// Fields that say what is evaluated.
    pub(crate) places: &'static [&'static str],
    /// Beside those that every case has.
    pub(crate) measures: &'static [Measure],
}

macro_rules! cases {
    ($folder:literal, $places:expr; $($name:literal: $source:literal, [$($measure:ident),*];)+) => {
        &[$(Case {
            name: $name,
            source: $source,
            text: include_str!(concat!(
                "../evaluate/", $folder, "/", $name, ".toml"
            )),
            places: $places,
            measures: &[$($measure),*],
        }),+]
    };
}

const UP: &[&str] = &["dumbbell.up.qdisc"];

/// Of a queue on one link.
const BELL: &[Case] = cases! { "queue", UP;
    "friendly": "RFC 7928 section 5.1", [FAIRNESS, SECOND];
    "aggressive": "RFC 7928 section 5.2", [AGGRESSIVE];
    "unresponsive": "RFC 7928 section 5.3", [FRIENDLY, UNRESPONSIVE];
    "rtt": "RFC 7928 section 6", [FAIRNESS, OTHER];
    "burst": "RFC 7928 section 7", [STEADY, BURSTS, PAGES];
    "congestion": "RFC 7928 sections 8.2.2 to 8.2.4", [FAIRNESS, TOGETHER];
    "levels": "RFC 7928 section 8.2.5", [];
    "capacity": "RFC 7928 section 8.2.6", [FAIRNESS];
    "flutter": "RFC 7928 section 8.2.6", [FAIRNESS];
    "mix": "RFC 7928 section 9.1", [CALL, LAG, FILES];
    "ecn": "RFC 7567 section 4.2.1", [FAIRNESS];
    "l4s": "RFC 9332 section 2.1", [L4S_TAIL, L4S_SHARE, L4S_LAG];
    "short": "RFC 7928 section 2.1", [SHORT_MEAN, SHORT_P95, LONG];
    "start": "RFC 7928 section 2.2", [START];
    "sizes": "RFC 7928 section 4.4", [SMALL];
};
/// Of a queue at both ends of the link.
const BOTH_WAYS: &[Case] = cases! { "queue", &["dumbbell.up.qdisc", "dumbbell.down.qdisc"];
    "two-way": "RFC 7928 section 9.2", [FAIRNESS, BACK];
};
/// Of two queues in a row.
const CHAIN: &[Case] = cases! { "queue", &["link.up.qdisc", "link.second.qdisc"];
    "chain": "RFC 7928 section 10", [FAIRNESS, LONG, SECOND_QUEUE];
};

/// Those of a queue.
pub(crate) const QUEUE: &[&[Case]] = &[BELL, BOTH_WAYS, CHAIN];

/// Those of a congestion control.
pub(crate) const CONTROL: &[&[Case]] = &[BESIDE_OTHERS, ALL_FLOWS];

/// Those in which one flow has the control.
const BESIDE_OTHERS: &[Case] = cases! { "control", &["flow.new.tcp.cc"];
    "alone": "RFC 9743 section 5.1.2", [NEW, AGAIN];
    "loss": "RFC 9743 section 5.1.3", [NEW, AGAIN];
    "among-itself": "RFC 9743 sections 5.1.1 and 5.1.4", [FAIRNESS, AGAIN];
    "short": "RFC 9743 section 5.1.5", [NEW_SHORT, LONG];
    "beside": "RFC 9743 section 5.2.1", [BESIDE, AGAIN];
    "call": "RFC 9743 section 5.2.2", [CALL, NEW];
    "queues": "RFC 9743 section 7.1", [BESIDE, AGAIN];
    "changes": "RFC 9743 section 7.9", [NEW, AGAIN];
    "order": "draft-ietf-ccwg-bbr-06 A.18, RFC 9743 section 7.7", [NEW, AGAIN];
    "crowd": "RFC 9743 section 5.2.3", [NEW, SHORT_MEAN, SHORT_P95];
    "satellite": "RFC 9743 section 7.5", [NEW, AGAIN];
    "outage": "RFC 9743 section 7.8", [NEW, AGAIN];
    "data-center": "RFC 9743 section 7.11", [FAIRNESS, AGAIN];
    "startup": "draft-ietf-ccwg-bbr-06 A.1", [FULL, AGAIN];
    "limited": "draft-ietf-ccwg-bbr-06 A.2, A.6, A.7", [NEW, AGAIN];
    "idle": "draft-ietf-ccwg-bbr-06 A.11, A.22", [AGE, AGAIN];
    "aggregation": "draft-ietf-ccwg-bbr-06 A.12, A.13", [NEW, AGAIN];
    "tiny": "draft-ietf-ccwg-bbr-06 A.14, RFC 9743 section 7.4", [NEW, AGAIN];
    "tenfold": "draft-ietf-ccwg-bbr-06 A.15, A.16", [TENFOLD, NEW, AGAIN];
    "policer": "draft-ietf-ccwg-bbr-06 A.17", [NEW, AGAIN];
    "spike": "draft-ietf-ccwg-bbr-06 A.19, RFC 9743 section 7.3", [NEW, AGAIN];
};
/// Those in which both flows have it.
const ALL_FLOWS: &[Case] = cases! { "control", &["flow.new.tcp.cc", "flow.near.tcp.cc"];
    "rtt": "RFC 9743 section 5.1.4", [FAIRNESS, FAR];
};
