//! Capture files: pcapng is written and read, classic pcap read.
//!
//! Sources: draft-ietf-opsawg-pcapng (PCAP Next Generation) and draft-ietf-opsawg-pcap.
//!
//! A [`Writer`] writes one section in the machine's byte order with time stamps in nanoseconds. A
//! [`Reader`] takes what others write: either byte order, several sections and interfaces, any
//! resolution, blocks without time, blocks that it does not know. Any bytes may come in: damage is
//! an error with its position, never a panic, and no length in a file makes it take more memory
//! than [`MOST_BLOCK`].
//!
//! Not here: what is in the packets (`sojourn-wire`), and threads.
#![forbid(unsafe_code)]

mod pcapng;
mod read;
mod write;

pub use read::{Problem, ReadError, Reader, Record};
pub use write::{Direction, Interface, Writer};

/// Longest block that is read, in bytes; capture programs write packets of up to 256 KiB.
pub const MOST_BLOCK: u32 = 16 << 20;

/// Bytes of each packet that a capture of ours keeps unless told otherwise: all headers, and a
/// beginning.
pub const SNAP_LEN: u32 = 192;

/// What the packets of an interface begin with (the LINKTYPE registry of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IPv4 or IPv6 header.
    Raw,
    /// A radiotap header before a frame of IEEE 802.11.
    Radiotap,
    /// Something else, by its number.
    Other(u16),
}

impl LinkType {
    /// Its number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Radiotap => 127,
            Self::Other(number) => number,
        }
    }

    /// The type of this number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            101 => Self::Raw,
            127 => Self::Radiotap,
            number => Self::Other(number),
        }
    }
}
