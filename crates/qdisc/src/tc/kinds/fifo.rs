//! The rows without a policy.

use super::common::packet_limit;
use crate::params::FifoParams;
use crate::spec::Spec;
use crate::tc::kind::Kind;
use crate::tc::opt::{Access, Datum, Opt, kept, size};

const ACCESS: Access = kept!(
    FifoParams;
    |fifo| match *fifo {
        FifoParams::Packets(limit) | FifoParams::HeadDrop(limit) => limit.amount(),
        FifoParams::Bytes(limit) => limit.amount(),
    };
    |fifo, amount| match fifo {
        FifoParams::Packets(limit) | FifoParams::HeadDrop(limit) => *limit = Datum::of(amount),
        FifoParams::Bytes(limit) => *limit = Datum::of(amount),
    }
);
const BYTES: Opt = size("limit", ACCESS, "largest number of bytes in the queue");

pub(super) const PFIFO: Kind = Kind {
    name: "pfifo",
    summary: "first in, first out; a full queue drops what arrives",
    source: "tc-pfifo(8)",
    linux: Some("sch_fifo"),
    example: "pfifo limit 1000",
    options: &[packet_limit(ACCESS)],
    initial: || Spec::pfifo(1000),
    ..Kind::BARE
};

pub(super) const BFIFO: Kind = Kind {
    name: "bfifo",
    summary: "first in, first out with a limit in bytes",
    source: "tc-bfifo(8)",
    linux: Some("sch_fifo"),
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
