//! The sizes that `tc -s` shows, before and after link-layer compensation.

use super::tin::ewma;
use crate::report::{Field, int};
use crate::{Packet, Sharing};

#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    network: (u32, u32),
    adjusted: (u32, u32),
    /// In 1/65536 byte.
    offset: u64,
    /// Smallest and largest of `network` since the link layer has changed.
    known: (u32, u32),
}

/// No size is known.
const NOTHING: (u32, u32) = (u32::MAX, 0);

impl Default for Sizes {
    fn default() -> Self {
        // As the kernel starts; shown so until there is a packet.
        Self {
            network: (0xffff, 0),
            adjusted: (0xffff, 0),
            offset: 0,
            known: NOTHING,
        }
    }
}

impl Sizes {
    /// The link layer has changed, and with it what a size is adjusted to.
    pub(super) const fn forget(&mut self) {
        self.known = NOTHING;
    }

    /// A packet arrives.
    #[inline]
    pub(super) fn see<P: Packet>(&mut self, packet: &P, sharing: &Sharing) {
        let count = packet.segments().map_or(1, |(count, _)| count.max(1));
        let each = packet.segments().map_or(packet.len(), |(_, each)| each);
        let offset = sharing.network_offset(packet);
        let network = if sharing.link.raw {
            each
        } else {
            each.saturating_sub(offset)
        };
        debug_assert!(count > 0, "a packet is at least one segment");
        self.offset = ewma(self.offset, u64::from(offset) << 16, 8);
        // A larger packet is never adjusted to a smaller size: one between two others is no news.
        if network < self.known.0 || network > self.known.1 {
            self.widen(network, sharing.link.size(each, offset));
        }
    }

    /// A size that is smaller or larger than all.
    #[cold]
    fn widen(&mut self, network: u32, adjusted: u32) {
        let wider = |(least, most): (u32, u32), size: u32| (least.min(size), most.max(size));
        self.known = wider(self.known, network);
        self.network = wider(self.network, network);
        self.adjusted = wider(self.adjusted, adjusted);
    }

    pub(super) fn fields(&self) -> [Field; 5] {
        [
            int("min_network_size", self.network.0),
            int("max_network_size", self.network.1),
            int("min_adj_size", self.adjusted.0),
            int("max_adj_size", self.adjusted.1),
            int("avg_hdr_offset", (self.offset + 0x8000) >> 16),
        ]
    }
}
