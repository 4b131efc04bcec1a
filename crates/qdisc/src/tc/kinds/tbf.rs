//! TBF's row.

use super::super::catalogue::{Initial, Kind, Unit};
use super::{RATE, SIZE, TIME, also, opt, ours};
use Initial::{From, Is, Off, Required};

pub(super) const TBF: Kind = Kind {
    name: "tbf",
    summary: "token bucket: shapes what another discipline holds to a rate",
    source: "tc-tbf(8)",
    example: "tbf rate 20mbit burst 5kb latency 50ms",
    options: &[
        opt(
            "rate",
            Unit::Rate,
            (8, RATE),
            Required,
            "rate of the bucket's tokens",
        ),
        also(
            opt(
                "burst",
                Unit::Bytes,
                (1, SIZE),
                Required,
                "size of the bucket; longer packets are dropped",
            ),
            &["buffer", "maxburst"],
        ),
        opt(
            "peakrate",
            Unit::Rate,
            (8, RATE),
            Off,
            "rate of a second, small bucket",
        ),
        also(
            opt(
                "mtu",
                Unit::Bytes,
                (1, SIZE),
                From("none; required with `peakrate`"),
                "size of the second bucket; longer packets are dropped",
            ),
            &["minburst"],
        ),
        opt(
            "mpu",
            Unit::Bytes,
            (0, 65_535),
            Is("0"),
            "least size a packet is charged with",
        ),
        opt(
            "overhead",
            Unit::Bytes,
            (0, 65_535),
            Is("0"),
            "bytes added to each packet before it is charged",
        ),
        opt(
            "linklayer",
            Unit::Word(&["ethernet"]),
            (0, 0),
            Is("ethernet"),
            "framing of the link below",
        ),
        opt(
            "limit",
            Unit::Bytes,
            (1, SIZE),
            From("`latency`"),
            "bytes waiting for tokens at most",
        ),
        also(
            opt(
                "latency",
                Unit::Time,
                (1, TIME),
                From("`limit`"),
                "time that a packet waits for tokens at most; sets the limit",
            ),
            &["lat"],
        ),
        ours(opt(
            "over",
            Unit::Discipline,
            (0, 0),
            From("a bfifo with tbf's limit"),
            "the discipline that holds the packets, instead of `limit` or `latency`; must come \
             last",
        )),
    ],
    absent: &[],
    stats: &[],
};
