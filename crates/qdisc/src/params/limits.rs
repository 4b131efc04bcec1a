//! What a queue may hold, and what it drops when it is full.

/// Most packets and most bytes that a queue may hold; what is not limited is `u64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Capacity {
    /// So many packets of any size.
    pub const fn of_packets(packets: u64) -> Self {
        Self {
            packets,
            bytes: u64::MAX,
        }
    }

    /// So many bytes in any number of packets.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            packets: u64::MAX,
            bytes,
        }
    }

    /// What is left beside a packet of `len` bytes that fits.
    #[must_use]
    pub(crate) fn less(self, len: u32) -> Self {
        Self {
            packets: self.packets - 1,
            bytes: self.bytes - u64::from(len),
        }
    }

    /// What both leave room for.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            packets: self.packets.min(other.packets),
            bytes: self.bytes.min(other.bytes),
        }
    }
}

/// Most that a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
}

impl Limit {
    /// As packets and bytes.
    pub const fn most(self) -> Capacity {
        match self {
            Self::Packets(packets) => Capacity::of_packets(packets),
            Self::Bytes(bytes) => Capacity::of_bytes(bytes),
        }
    }
}

/// An end of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the oldest packet is.
    Head,
    /// Where packets arrive.
    Tail,
}

/// First in, first out (`tc-pfifo(8)`): what is limited, and what a full queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoParams {
    /// `pfifo`: packets, default 1000. A full queue drops what arrives.
    Packets(u32),
    /// `bfifo`: bytes, default 1000 full frames. A full queue drops what arrives.
    Bytes(u64),
    /// `pfifo_head_drop`: packets, default 1000. A full queue drops the oldest for each arrival.
    HeadDrop(u32),
}
