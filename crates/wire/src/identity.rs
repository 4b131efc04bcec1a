//! What tells one packet from all others at two points of its way.
//!
//! The fields are those that the tool of S. Zander and G. Armitage for synthetic packet pairs can
//! compare: addresses, ports, protocol and the IPv4 identification, of TCP also sequence and
//! acknowledgement number, of UDP its length and the first twelve bytes of its payload. Beside
//! them TCP's flags and options, whose timestamps set retransmissions apart. Left out is what may
//! change on the way: the time to live, DiffServ and ECN bits, and checksums, which hosts leave to
//! the hardware.

use crate::parsed::{Network, Parsed};
use crate::protocol;
use sojourn_random::mix;

/// Bytes of UDP payload that are compared.
const PAYLOAD: usize = 12;
/// Bytes of what is neither TCP nor UDP that are compared.
const OTHER: usize = 20;

/// The identity of an IP packet: equal for the same packet at two points, and with the utmost
/// probability different for any other. None for what is not IP, for fragments without ports, and
/// where a capture has cut the headers off.
pub fn identity(frame: &[u8], parsed: &Parsed) -> Option<u64> {
    let ip = usize::from(parsed.network_offset);
    let v4_identification = match parsed.network {
        Network::Ipv4 => frame.get(ip + 4..ip + 8)?,
        Network::Ipv6 => &[],
        Network::Opaque => return None,
    };
    if !parsed.has_ports() {
        return None;
    }
    let transport = usize::from(parsed.transport_offset);
    let headers = usize::from(parsed.header_len);
    let (first, second) = match parsed.flow.protocol {
        // Ports to window, then the options: between them are checksum and urgent pointer.
        protocol::TCP => (
            frame.get(transport..transport + 16)?,
            frame.get(transport + 20..headers)?,
        ),
        // Without the checksum.
        protocol::UDP => (
            frame.get(transport..transport + 6)?,
            frame.get(headers..frame.len().min(headers + PAYLOAD))?,
        ),
        _ => (
            frame.get(transport..frame.len().min(transport + OTHER))?,
            &[][..],
        ),
    };
    let start = u64::from(parsed.flow.hash(0)) << 32 | u64::from(parsed.flow.hash(1));
    let parts = [v4_identification, first, second];
    Some(parts.into_iter().fold(mix(start), fold))
}

/// Folds bytes into a hash, in words of eight.
fn fold(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .chunks(8)
        .fold(mix(hash ^ bytes.len() as u64), |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(hash ^ u64::from_le_bytes(word))
        })
}
