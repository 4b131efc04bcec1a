//! Capture files: pcapng is written and read, classic pcap read.
//!
//! Sources: draft-ietf-opsawg-pcapng (PCAP Next Generation) and draft-ietf-opsawg-pcap.
//!
//! A [`Writer`] writes one section in the machine's byte order with time stamps in nanoseconds. A
//! [`Reader`] takes what others write: either byte order, several sections and interfaces, any
//! resolution, blocks without time, blocks that it does not know. Any bytes may come in: damage is
//! an error with its position, never a panic, and no length in a file makes it take more memory
//! than [`MOST_BLOCK`]. [`unpacked`] opens what gzip has packed.
//!
//! Not here: what is in the packets (`sojourn-wire`), and threads.
#![forbid(unsafe_code)]

mod pcapng;
mod read;
mod unpack;
mod write;

pub use read::{Problem, ReadError, Reader, Record};
pub use unpack::{Unpacked, unpacked};
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
    /// Linux's cooked header, which captures on `any` have (SLL).
    Cooked,
    /// Its second version, which names the interface (SLL2).
    Cooked2,
    /// Something else, by its number.
    Other(u16),
}

impl LinkType {
    /// Its number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Cooked => 113,
            Self::Radiotap => 127,
            Self::Cooked2 => 276,
            Self::Other(number) => number,
        }
    }

    /// The type of this number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            // What BSDs write for it (12, 14), and those for one version of IP only.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            127 => Self::Radiotap,
            276 => Self::Cooked2,
            number => Self::Other(number),
        }
    }

    /// Bytes before the payload of a packet.
    pub(crate) const fn header(self) -> u32 {
        match self {
            Self::Ethernet => 14,
            Self::Cooked => 16,
            Self::Cooked2 => 20,
            Self::Raw | Self::Radiotap | Self::Other(_) => 0,
        }
    }
}

/// Its number and, of the common ones, what it stands for.
impl std::fmt::Display for LinkType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.number();
        let name = match number {
            0 | 108 => "BSD loopback",
            1 => "Ethernet",
            9 | 50 | 51 => "PPP",
            101 => "bare IP",
            105 => "802.11",
            113 => "Linux cooked",
            127 => "802.11 with radiotap",
            189 | 220 | 249 => "USB",
            192 => "PPI",
            195 | 215 | 230 => "802.15.4",
            201 | 251 | 256 => "Bluetooth",
            227 => "CAN",
            276 => "Linux cooked, version 2",
            _ => return write!(f, "{number}"),
        };
        write!(f, "{number} ({name})")
    }
}
