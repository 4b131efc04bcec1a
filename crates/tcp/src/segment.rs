//! A TCP segment as the model carries it: 56 bytes, so that a simulated packet is a cache line.

use sojourn_units::Time;

/// The flags of the TCP header that the model uses (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset.
    pub const RST: Self = Self(0x04);
    /// Push: the last segment of a write.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all of `other`'s flags are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of an established connection: an ACK, and neither SYN nor RST.
    pub(crate) const fn is_established(self) -> bool {
        self.0 & (Self::ACK.0 | Self::SYN.0 | Self::RST.0) == Self::ACK.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The header's flag byte.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// One SACK block: `start..end` has arrived (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: u32,
    /// The sequence number after the block.
    pub end: u32,
}

/// A segment without its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Timestamp option: when this was sent (RFC 7323, with the model's nanoseconds).
    pub ts: Time,
    /// Timestamp option: echo of the peer's `ts`; zero when there is none.
    pub ts_echo: Time,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// SACK blocks, the first [`Segment::sack_count`] of which are valid.
    pub sack: [SackBlock; 3],
    /// Receive window in bytes, scaling done.
    pub window: u32,
    /// Payload in bytes.
    pub payload: u16,
    /// Header flags.
    pub flags: Flags,
    /// Number of valid SACK blocks, 0 to 3.
    pub sack_count: u8,
}

impl Segment {
    /// The valid SACK blocks.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count.min(3))]
    }
}

const _: () = assert!(size_of::<Segment>() == 56);
