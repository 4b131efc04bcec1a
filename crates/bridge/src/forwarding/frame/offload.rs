//! What a packet socket says beside a frame: what was left to the hardware, and the tag taken out.

/// `struct virtio_net_hdr` of a packet socket (Linux `if_packet.h`, virtio 1.1 section 5.1.6):
/// what segmentation and checksum the sender left to the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    pub(crate) flags: u8,
    pub(crate) gso_type: u8,
    pub(crate) hdr_len: u16,
    pub(crate) gso_size: u16,
    pub(crate) csum_start: u16,
    pub(crate) csum_offset: u16,
}

impl VnetHeader {
    /// The checksum at `csum_start + csum_offset` is partial.
    pub(crate) const NEEDS_CSUM: u8 = 1;
    /// In `gso_type`: the first segment has TCP's CWR, which the others must not have.
    pub(crate) const GSO_ECN: u8 = 0x80;
    /// Its bytes before a frame, in native order.
    pub(crate) const LEN: usize = 10;

    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let [flags, gso_type, h0, h1, g0, g1, s0, s1, o0, o1] = bytes;
        Self {
            flags,
            gso_type,
            hdr_len: u16::from_ne_bytes([h0, h1]),
            gso_size: u16::from_ne_bytes([g0, g1]),
            csum_start: u16::from_ne_bytes([s0, s1]),
            csum_offset: u16::from_ne_bytes([o0, o1]),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let [h0, h1] = self.hdr_len.to_ne_bytes();
        let [g0, g1] = self.gso_size.to_ne_bytes();
        let [s0, s1] = self.csum_start.to_ne_bytes();
        let [o0, o1] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, g0, g1, s0, s1, o0, o1]
    }
}

/// A VLAN tag that the kernel took out of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VlanTag {
    pub(crate) protocol: u16,
    pub(crate) tci: u16,
}
