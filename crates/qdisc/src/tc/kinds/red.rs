//! RED's row.

use super::super::catalogue::{Initial, Kind, Unit};
use super::{COUNT, ECN_MEANING, RATE, SIZE, also, first, opt, ours, stat, switch};
use Initial::{From, Is, Off, Required};

pub(super) const RED: Kind = Kind {
    name: "red",
    summary: "random early detection: signals by the average length of the queue",
    source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; tc-red(8)",
    example: "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive \
              bandwidth 10Mbit",
    options: &[
        opt(
            "limit",
            Unit::BytesOrPackets,
            (1, SIZE),
            Required,
            "hard limit of the queue",
        ),
        opt(
            "min",
            Unit::BytesOrPackets,
            (1, SIZE),
            From("max / 3"),
            "average length below which nothing is signalled",
        ),
        opt(
            "max",
            Unit::BytesOrPackets,
            (1, SIZE),
            From("3 min if min is given, else limit / 4"),
            "average length at which `probability` is reached",
        ),
        opt(
            "avpkt",
            Unit::Bytes,
            (1, COUNT),
            From("500, as in ns-2, with a limit in packets; required with one in bytes"),
            "mean size of a packet",
        ),
        opt(
            "burst",
            Unit::Count,
            (1, COUNT),
            From("(2 min + max) / (3 avpkt)"),
            "packets that may pass at once before the average follows",
        ),
        ours(opt(
            "weight",
            Unit::Fraction,
            (0, 1),
            From("`burst`"),
            "weight of the newest sample in the average, as q_weight_ of ns-2",
        )),
        opt(
            "probability",
            Unit::Fraction,
            (0, 1),
            Is("0.02"),
            "probability of a signal at `max`",
        ),
        opt(
            "bandwidth",
            Unit::Rate,
            (1, RATE),
            Is("10Mbit"),
            "rate at which the average decays while the queue is idle",
        ),
        also(
            switch(
                "adaptive",
                None,
                Off,
                "adapt `probability` between 1 % and 50 %",
            ),
            &["adaptative"],
        ),
        switch("ecn", None, Off, ECN_MEANING),
        switch(
            "harddrop",
            None,
            Off,
            "with `ecn`: still drop everything above `max`",
        ),
        switch(
            "nodrop",
            None,
            Off,
            "with `ecn`: drop nothing early that is not ECN-capable",
        ),
        ours(switch(
            "gentle",
            None,
            Off,
            "from `max` to twice `max`, raise the probability to 1 step by step",
        )),
        ours(switch(
            "wait",
            None,
            Off,
            "never signal twice within 1/probability packets, as ns-2 and ns-3 do by default",
        )),
        ours(switch(
            "spare",
            None,
            Off,
            "never signal a packet that finds at most one waiting, as ns-2 and ns-3 do",
        )),
        ours(switch(
            "bytemode",
            None,
            Off,
            "`probability` is that of a packet of `avpkt` bytes, and grows with its size",
        )),
    ],
    absent: &[("qevent", "there are no filter blocks to hand packets to")],
    stats: &[
        first(stat("marked", "packets marked early")),
        stat("early", "packets dropped early"),
        stat("pdrop", "packets dropped at the limit"),
        stat("other", "packets dropped for other reasons"),
    ],
};
