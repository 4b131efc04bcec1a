//! HTB's row.

use crate::params::HtbParams;
use crate::spec::Spec;
use crate::tc::kind::Kind;
use crate::tc::opt::{Opt, also, from, options, over, required};
use alloc::boxed::Box;

options! { HtbParams;
    RATE_OF_CLASS: rate rate, "rate of the class, and its ceiling";
    BURST: size burst, "bytes that an idle class may send at once, in addition to one packet";
}
const OVER: Opt = over("the discipline of the class, tc's leaf; must come last");

pub(super) const HTB: Kind = Kind {
    name: "htb",
    summary: "one class of the hierarchical token bucket: sends a packet and charges it afterwards",
    source: "tc-htb(8)",
    linux: Some("sch_htb"),
    example: "htb rate 20mbit over fq_codel",
    options: &[
        required(RATE_OF_CLASS, "rate 20mbit"),
        also(BURST, &["buffer", "maxburst"]),
        from(OVER, "pfifo limit 1000"),
    ],
    absent: &[
        (
            "ceil",
            "one class cannot borrow, so its rate is its ceiling; leave it out",
        ),
        (
            "cburst",
            "one class has no ceiling above its rate; leave it out",
        ),
        (
            "prio",
            "one class has no priority over others; leave it out",
        ),
        (
            "quantum",
            "one class takes no turns with others; leave it out",
        ),
        (
            "default",
            "there is one class, and all packets are its own; leave it out",
        ),
        ("r2q", "one class takes no turns with others; leave it out"),
    ],
    initial: || Spec::Htb {
        htb: HtbParams::default(),
        inner: Box::new(Spec::pfifo(1000)),
    },
    rules: |given, spec| {
        if let (Spec::Htb { inner, .. }, Some(given)) = (spec, &given.inner) {
            **inner = given.clone();
        }
        Ok(())
    },
    ..Kind::BARE
};
