//! The catalogue: all disciplines, and how to look one up. Each file below has the rows of one
//! policy or container.
//!
//! Sources: iproute2 `tc/q_*.c` and `man/man8/tc-*.8` for names, units and defaults; the RFC or
//! paper named in each row for meanings.

mod adth;
mod cake;
mod cobalt;
mod codel;
mod common;
mod dualpi2;
mod fifo;
mod flows;
mod gsp;
mod htb;
mod pie;
mod red;
mod steer;
mod tbf;

use super::kind::Kind;
use crate::spec::Spec;

static KINDS: &[Kind] = &[
    fifo::PFIFO,
    fifo::BFIFO,
    fifo::PFIFO_HEAD_DROP,
    red::RED,
    codel::CODEL,
    cobalt::COBALT,
    pie::PIE,
    gsp::GSP,
    adth::ADTH,
    codel::FQ_CODEL,
    pie::FQ_PIE,
    gsp::FQ_GSP,
    adth::FQ_ADTH,
    steer::STEER,
    cake::CAKE,
    cake::CAKE_MQ,
    dualpi2::DUALPI2,
    htb::HTB,
    tbf::TBF,
];

/// All disciplines, in the order in which they are listed.
pub fn catalogue() -> &'static [Kind] {
    KINDS
}

/// The discipline called `name`.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The row of a tree of rates, which no string says: it is not in the catalogue.
static TREE: Kind = Kind {
    name: "tree",
    summary: "classes of HTB that lend and borrow, with a queue in each leaf",
    source: "tc-htb(8)",
    ..Kind::BARE
};

/// The row of a spec.
pub(super) fn of(spec: &Spec) -> &'static Kind {
    if matches!(spec, Spec::Tree(_)) {
        return &TREE;
    }
    let row = KINDS.iter().find(|kind| (kind.initial)().is_like(spec));
    debug_assert!(row.is_some(), "a spec without a row in the catalogue");
    row.unwrap_or(&KINDS[0])
}

/// Disciplines of Linux that are not here (yet).
pub(super) const ELSEWHERE: &[&str] = &[
    "bpf",
    "cbs",
    "choke",
    "clsact",
    "drr",
    "etf",
    "ets",
    "fq",
    "gred",
    "hfsc",
    "hhf",
    "ingress",
    "mq",
    "mqprio",
    "multiq",
    "netem",
    "noqueue",
    "pfifo_fast",
    "plug",
    "prio",
    "qfq",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "teql0",
    "cbq",
    "atm",
    "dsmark",
    "rr",
];
