//! HTB's row.

use super::super::catalogue::{Initial, Kind, Unit};
use super::{RATE, SIZE, also, opt};
use Initial::{From, Is, Required};

pub(super) const HTB: Kind = Kind {
    name: "htb",
    summary: "one class of the hierarchical token bucket: shapes and charges afterwards",
    source: "tc-htb(8)",
    example: "htb rate 20mbit over fq_codel",
    options: &[
        opt(
            "rate",
            Unit::Rate,
            (8, RATE),
            Required,
            "rate of the class, and its ceiling",
        ),
        also(
            opt(
                "burst",
                Unit::Bytes,
                (1, SIZE),
                Is("1600b"),
                "bytes that an idle class may send at once, beside one packet",
            ),
            &["buffer", "maxburst"],
        ),
        opt(
            "over",
            Unit::Discipline,
            (0, 0),
            From("pfifo limit 1000"),
            "the discipline of the class, tc's leaf; must come last",
        ),
    ],
    absent: &[],
    stats: &[],
};
