//! What a medium does for memory when it has so many stations that none is in a cache whose turn
//! has come: it asks for that of the next ones while others have theirs. Nothing here changes them.

use crate::access::Access;
use crate::air::Air;
use crate::upper::Upper;
use sojourn_memory::{fetch, fetch_part};

/// Bytes of the work that most of what a station does needs.
const WORK: usize = 192;

impl<P: Copy> Air<P> {
    /// Asks for the memory of the stations whose turn may come next, as long as they may: once for
    /// what is theirs, and once more for what that leads to.
    #[inline(never)]
    pub(crate) fn look_ahead(&mut self, upper: &impl Upper<Packet = P>) {
        let soon = self.access.timers.soon();
        for (station, (asked, again)) in soon.into_iter().zip(&mut self.asked) {
            if core::mem::replace(asked, station) == station {
                if core::mem::take(again) {
                    upper.expect_soon(station);
                }
                continue;
            }
            *again = true;
            expect(&self.access, station);
            self.neighbours.fetch(station);
            upper.expect(station);
        }
    }

    /// Asks for the memory of a station that is going to have a packet.
    pub fn expect(&self, station: u32) {
        expect(&self.access, station);
    }
}

fn expect<P>(access: &Access<P>, station: u32) {
    fetch(&access.near[station as usize]);
    fetch_part(&access.works[station as usize], 0..WORK);
}
