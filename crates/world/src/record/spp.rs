//! Round-trip times of one flow by synthetic packet pairs; the reference point is its `from`.

use super::spread::Spread;
use super::window::Window;
use crate::figure::Distribution;
use crate::spp::{PacketMatcher, PacketPairs, Passage};
use sojourn_units::{Span, Time};

/// Packets of one direction that are looked for at the other end: more than any queue holds.
const UNDER_WAY: usize = 1 << 16;

/// Records round trips of one flow from its packets at both ends. Events are told in the order in
/// which they happen.
#[derive(Clone, Debug)]
pub struct SppRecorder {
    window: Window,
    pairs: PacketPairs,
    /// Packets under way from `from`, and back.
    under_way: [PacketMatcher; 2],
    rtt: Spread,
}

impl SppRecorder {
    /// For a flow with this base RTT.
    pub fn new(window: Window, base_rtt: Span) -> Self {
        Self {
            window,
            pairs: PacketPairs::default(),
            under_way: [(); 2].map(|()| PacketMatcher::new(UNDER_WAY)),
            rtt: Spread::new(base_rtt),
        }
    }

    /// A packet left the end that it comes from: `forth` from the flow's `from`, or back.
    pub fn left(&mut self, now: Time, forth: bool, identity: u64) {
        self.under_way[usize::from(!forth)].left(identity, now);
    }

    /// A packet of which [`left`](Self::left) was told reached the other end.
    pub fn reached(&mut self, now: Time, forth: bool, identity: u64) {
        if let Some(sent) = self.under_way[usize::from(!forth)].reached(identity) {
            self.passed(now, forth, sent);
        }
    }

    /// A packet that had left one end at `sent` reached the other.
    pub fn passed(&mut self, now: Time, forth: bool, sent: Time) {
        let passage = Passage { sent, arrived: now };
        if forth {
            self.pairs.forth(passage);
        } else if let Some(trip) = self.pairs.back(passage)
            && self.window.holds(trip.at)
        {
            self.rtt.add(trip.rtt);
        }
    }

    /// The round trips less `base`.
    pub(super) fn less(&mut self, base: Span) -> Distribution {
        self.rtt.less(base)
    }
}
