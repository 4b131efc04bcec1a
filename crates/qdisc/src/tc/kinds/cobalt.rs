//! COBALT's row.

use super::codel::{INTERVAL, TARGET};
use super::common::{LIMIT, ecn};
use crate::params::CobaltParams;
use crate::spec::Spec;
use crate::tc::kind::Kind;
use crate::tc::opt::{Opt, Style, When, at, field, first, stat, styled, when};

const ECN: Opt = ecn(Some("noecn"), field!(CobaltParams, ecn));

pub(super) const COBALT: Kind = Kind {
    name: "cobalt",
    summary: "CAKE's AQM on one queue: CoDel, and BLUE against flows that do not respond",
    source: "Piece of CAKE (2018); ns-3 CobaltQueueDisc; not a discipline of tc",
    example: "cobalt limit 1000 target 5ms interval 100ms",
    options: &[
        LIMIT,
        at(TARGET, field!(CobaltParams, target)),
        at(INTERVAL, field!(CobaltParams, interval)),
        when(ECN, When::Always, When::Always),
    ],
    stats: &[
        first(stat("count", "signals of CoDel's law, decaying")),
        styled(
            stat("dropping", "the delay is over the target"),
            Style::Flag,
        ),
        styled(
            stat("blue_prob", "probability of BLUE's drops"),
            Style::Float,
        ),
        first(stat("maxpacket", "largest packet so far, bytes")),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("blue_drop", "packets dropped by BLUE"),
        stat("drop_overlimit", "packets dropped at the limit"),
    ],
    initial: || Spec::single(1000, CobaltParams::default()),
    ..Kind::BARE
};
