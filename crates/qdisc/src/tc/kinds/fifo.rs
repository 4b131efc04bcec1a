//! The rows without a policy.

use super::common::packet_limit;
use crate::params::FifoParams;
use crate::spec::{Part, Spec};
use crate::tc::kind::Kind;
use crate::tc::opt::{Access, Datum, Opt, SIZE, Unit, opt};

const ACCESS: Access = Access {
    get: |spec| match *FifoParams::of(spec)? {
        FifoParams::Packets(limit) | FifoParams::HeadDrop(limit) => limit.amount(),
        FifoParams::Bytes(limit) => limit.amount(),
    },
    set: |spec, amount| match FifoParams::of_mut(spec) {
        Some(FifoParams::Packets(limit) | FifoParams::HeadDrop(limit)) => {
            *limit = Datum::of(amount);
        }
        Some(FifoParams::Bytes(limit)) => *limit = Datum::of(amount),
        None => {}
    },
};
const BYTES: Opt = opt(
    "limit",
    Unit::Bytes,
    (1, SIZE),
    ACCESS,
    "bytes held at most",
);

pub(super) const PFIFO: Kind = Kind {
    name: "pfifo",
    summary: "first in, first out; a full queue drops what arrives",
    source: "tc-pfifo(8)",
    example: "pfifo limit 1000",
    options: &[packet_limit(ACCESS)],
    initial: || Spec::pfifo(1000),
    ..Kind::BARE
};

pub(super) const BFIFO: Kind = Kind {
    name: "bfifo",
    summary: "first in, first out with a limit in bytes",
    source: "tc-bfifo(8)",
    example: "bfifo limit 256kb",
    options: &[BYTES],
    initial: || Spec::bfifo(1_514_000),
    ..PFIFO
};

pub(super) const PFIFO_HEAD_DROP: Kind = Kind {
    name: "pfifo_head_drop",
    summary: "first in, first out; a full queue drops its oldest packet",
    example: "pfifo_head_drop limit 1000",
    initial: || Spec::Fifo(FifoParams::HeadDrop(1000)),
    ..PFIFO
};
