//! What an end does that is a Linux kernel's on one machine with the network: it sees its segments'
//! copies there.

use super::{Connection, Phase};
use crate::seq;

impl Connection {
    /// The network and the peer are on this end's own machine, as in a test bed: it does not send
    /// again what is still under way there (Linux `skb_still_in_host_queue`). From now on it is
    /// told of [lost copies](Self::lose_copy) and of [what the peer has](Self::peer_expects),
    /// before each [`poll_transmit`](Self::poll_transmit).
    pub fn see_copies(&mut self) {
        self.sender.see_copies();
    }

    /// A copy of the segment with this number is lost.
    pub fn lose_copy(&mut self, number: u32) {
        let offset = seq::offset(self.isn, number, self.sender.una);
        self.sender.lose_copy(offset);
    }

    /// The number that the peer expects next; none before it has the SYN.
    pub fn peer_expects(&mut self, number: Option<u32>) {
        let una = self.sender.una;
        let offset = number.map_or(0, |number| seq::offset(self.isn, number, una));
        self.sender.peer_has(offset);
    }

    /// The number that this end expects next; none before it has the peer's SYN.
    pub fn expects(&self) -> Option<u32> {
        let has = matches!(self.phase, Phase::SynReceived | Phase::Open);
        has.then(|| self.receiver.ack_number())
    }
}
