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
}

impl Default for Sizes {
    fn default() -> Self {
        // As the kernel starts; shown so until there is a packet.
        Self {
            network: (0xffff, 0),
            adjusted: (0xffff, 0),
            offset: 0,
        }
    }
}

impl Sizes {
    pub(super) fn see<P: Packet>(&mut self, packet: &P, sharing: &Sharing) {
        let count = packet.segments().map_or(1, |(count, _)| count.max(1));
        let each = packet.segments().map_or(packet.len(), |(_, each)| each);
        let offset = sharing.network_offset(packet);
        let network = if sharing.link.raw {
            each
        } else {
            each.saturating_sub(offset)
        };
        let adjusted = sharing.link.size(each, offset);
        debug_assert!(count > 0, "a packet is at least one segment");
        self.network = (self.network.0.min(network), self.network.1.max(network));
        self.adjusted = (self.adjusted.0.min(adjusted), self.adjusted.1.max(adjusted));
        self.offset = ewma(self.offset, u64::from(offset) << 16, 8);
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
