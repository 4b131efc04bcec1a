//! Frames with TCP or UDP over IPv4: the headers, with right lengths and checksums.
//! Sources: RFC 791, RFC 768, RFC 9293, RFC 1071 (checksums), RFC 2018 (SACK), RFC 7323
//! (timestamps, window scale), RFC 9768 section 3.2.3 (AccECN). Options stand in the order and with
//! the padding of Linux.
//!
//! Payloads are zeros but for their first bytes, so a checksum needs no payload to be at hand.

use crate::parsed::ones_complement;
use crate::protocol;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// Most bytes that [`Envelope::tcp`] and [`Envelope::udp`] write: the headers with all options
/// that fit, or with the first bytes of a datagram.
pub const MOST_HEADERS: usize = ETHERNET + IPV4 + 60;
/// Most payload bytes of a datagram that are not zero.
pub const MOST_PREFIX: usize = 52;

/// What TCP and UDP packets are sent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// MAC addresses of sender and receiver.
    pub macs: [[u8; 6]; 2],
    /// IPv4 addresses of sender and receiver.
    pub addresses: [[u8; 4]; 2],
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    /// DSCP and ECN.
    pub tos: u8,
    /// The packet's identification. Fragments are forbidden.
    pub identification: u16,
    /// Time to live, in hops; zero for 64, which is Linux's.
    pub ttl: u8,
}

/// A TCP segment without addresses and data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSegment<'a> {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// AE, CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the bit 0x100 on.
    pub flags: u16,
    /// The window as it stands in the header, scaling done.
    pub window: u16,
    /// Largest segment (SYN only).
    pub mss: Option<u16>,
    /// Window scale (SYN only).
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are understood (SYN only).
    pub sack_permitted: bool,
    /// AccECN's option: its kind, and fields of 24 bits.
    pub accecn: Option<(u8, &'a [u32])>,
    /// Timestamp and its echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks; the first three, or four without timestamps, find room.
    pub sack: &'a [(u32, u32)],
    /// Bytes of payload.
    pub payload: u16,
}

/// Headers as they stand on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    bytes: [u8; MOST_HEADERS],
    len: usize,
    payload: usize,
}

impl Headers {
    /// From the Ethernet header to the transport's last option, or to the last payload byte that
    /// is not zero. What follows, up to [`Headers::frame_len`], is zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Bytes of the whole frame.
    pub fn frame_len(&self) -> usize {
        self.len + self.payload
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

impl Envelope {
    /// A TCP segment.
    pub fn tcp(&self, segment: &TcpSegment<'_>) -> Headers {
        let mut headers = self.begin(protocol::TCP);
        let start = headers.len;
        self.push_ports(&mut headers);
        headers.push(&segment.sequence.to_be_bytes());
        headers.push(&segment.acknowledgement.to_be_bytes());
        let [high, low] = segment.flags.to_be_bytes();
        headers.push(&[high & 1, low]);
        headers.push(&segment.window.to_be_bytes());
        // Checksum and urgent pointer.
        headers.push(&[0; 4]);
        options(segment, &mut headers);
        headers.bytes[start + 12] |= ((headers.len - start) as u8 / 4) << 4;
        headers.payload = usize::from(segment.payload);
        Self::seal(headers, start + 16)
    }

    /// A datagram of `len` payload bytes that begins with `prefix`, of which no more than `len` and
    /// [`MOST_PREFIX`] bytes are taken.
    pub fn udp(&self, prefix: &[u8], len: u16) -> Headers {
        let mut headers = self.begin(protocol::UDP);
        let start = headers.len;
        self.push_ports(&mut headers);
        headers.push(&len.saturating_add(UDP as u16).to_be_bytes());
        headers.push(&[0; 2]);
        let prefix = &prefix[..prefix.len().min(usize::from(len)).min(MOST_PREFIX)];
        headers.push(prefix);
        headers.payload = usize::from(len) - prefix.len();
        Self::seal(headers, start + 6)
    }

    /// Ethernet and IPv4 headers, without length and checksum.
    fn begin(&self, protocol: u8) -> Headers {
        let mut headers = Headers {
            bytes: [0; MOST_HEADERS],
            len: 0,
            payload: 0,
        };
        let [from, to] = self.macs;
        headers.push(&to);
        headers.push(&from);
        headers.push(&[0x08, 0x00]);
        headers.push(&[0x45, self.tos, 0, 0]);
        headers.push(&self.identification.to_be_bytes());
        let ttl = if self.ttl == 0 { 64 } else { self.ttl };
        // Do not fragment.
        headers.push(&[0x40, 0, ttl, protocol, 0, 0]);
        headers.push(&self.addresses[0]);
        headers.push(&self.addresses[1]);
        headers
    }

    fn push_ports(&self, headers: &mut Headers) {
        headers.push(&self.ports[0].to_be_bytes());
        headers.push(&self.ports[1].to_be_bytes());
    }

    /// Fills in lengths and checksums; that of the transport stands at `checksum`.
    fn seal(mut headers: Headers, checksum: usize) -> Headers {
        let transport = ETHERNET + IPV4;
        let total = headers.frame_len() - ETHERNET;
        headers.bytes[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&(total as u16).to_be_bytes());
        let sum = ones_complement(&headers.bytes[ETHERNET..transport], 0);
        headers.bytes[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&(!sum).to_be_bytes());
        // The pseudo header: addresses, protocol, length (RFC 9293 section 3.1).
        let kind = headers.bytes[ETHERNET + 9];
        let start = u32::from(kind) + (total - IPV4) as u32;
        let start = ones_complement(&headers.bytes[ETHERNET + 12..transport], start);
        let sum = !ones_complement(&headers.bytes[transport..headers.len], u32::from(start));
        // Zero would mean "no checksum" in UDP (RFC 768).
        let is_none = sum == 0 && kind == protocol::UDP;
        let sum = if is_none { 0xffff } else { sum };
        headers.bytes[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
        headers
    }
}

/// Options as Linux writes them (`tcp_options_write`).
fn options(segment: &TcpSegment<'_>, headers: &mut Headers) {
    const NOP: u8 = 1;
    let start = headers.len;
    if let Some(mss) = segment.mss {
        headers.push(&[2, 4]);
        headers.push(&mss.to_be_bytes());
    }
    let lead = if segment.sack_permitted {
        [4, 2]
    } else {
        [NOP; 2]
    };
    if let Some((stamp, echo)) = segment.timestamps {
        headers.push(&lead);
        headers.push(&[8, 10]);
        headers.push(&stamp.to_be_bytes());
        headers.push(&echo.to_be_bytes());
    } else if segment.sack_permitted {
        headers.push(&[NOP, NOP, 4, 2]);
    }
    if let Some(shift) = segment.window_scale {
        headers.push(&[NOP, 3, 3, shift]);
    }
    if let Some((kind, fields)) = segment.accecn {
        let len = 2 + 3 * fields.len();
        headers.push(&[NOP; 3][..len.next_multiple_of(4) - len]);
        headers.push(&[kind, len as u8]);
        for field in fields {
            headers.push(&field.to_be_bytes()[1..]);
        }
    }
    let room = 40 - (headers.len - start);
    let blocks = segment.sack.len().min(room.saturating_sub(4) / 8);
    if blocks > 0 {
        headers.push(&[NOP, NOP, 5, 2 + 8 * blocks as u8]);
        for (start, end) in &segment.sack[..blocks] {
            headers.push(&start.to_be_bytes());
            headers.push(&end.to_be_bytes());
        }
    }
}

const _: () = assert!(MOST_HEADERS >= ETHERNET + IPV4 + TCP + 40);
const _: () = assert!(MOST_HEADERS >= ETHERNET + IPV4 + UDP + MOST_PREFIX);
