//! Checksums of TCP and UDP that the sender has left to its hardware (RFC 1071).
//!
//! Between veth devices a frame may travel so, and AF_XDP does not say which do. It shows: the
//! field has the sum of the pseudo-header alone. A finished checksum that happens to be that sum
//! comes out of [`finish`] as it was.

use crate::sys::Partial;
use sojourn_wire::{Network, Parsed, protocol};

/// Where the checksum of a frame that begins with `head` is, if it is partial.
pub(crate) fn partial(head: &[u8], parsed: &Parsed) -> Option<Partial> {
    let start = parsed.transport_offset;
    let offset = match parsed.flow.protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        _ => return None,
    };
    if start == 0 || parsed.fragment {
        return None;
    }
    let at = usize::from(start + offset);
    let field = u16::from_ne_bytes(*head.get(at..)?.first_chunk()?);
    // In UDP over IPv4 zero says that there is none; the sum of a pseudo-header is never zero.
    let sum = pseudo_header(head, parsed)?;
    (field != 0 && (field == sum || [field, sum] == [0xffff, 0]))
        .then_some(Partial { start, offset })
}

/// The sum of addresses, protocol and length (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn pseudo_header(head: &[u8], parsed: &Parsed) -> Option<u16> {
    let at = usize::from(parsed.network_offset);
    let length = |place: usize| Some(u16::from_be_bytes(*head.get(at + place..)?.first_chunk()?));
    let headers = parsed.transport_offset.checked_sub(parsed.network_offset)?;
    let (addresses, behind) = match parsed.network {
        Network::Ipv4 => (head.get(at + 12..at + 20)?, length(2)?),
        Network::Ipv6 => (head.get(at + 8..at + 40)?, length(4)?.checked_add(40)?),
        Network::Opaque => return None,
    };
    let rest: u64 = [
        u16::from(parsed.flow.protocol),
        behind.checked_sub(headers)?,
    ]
    .map(|part| u64::from(part.to_be()))
    .iter()
    .sum();
    Some(fold(sum(addresses) + rest))
}

/// Whether a header's sum is right (RFC 1071): with its checksum it comes to nothing.
pub(crate) fn is_right(header: &[u8]) -> bool {
    fold(sum(header)) == 0xffff
}

/// Whether TCP's or UDP's checksum of a frame is there and right.
pub(crate) fn is_complete(frame: &[u8], parsed: &Parsed) -> bool {
    let payload = frame.get(usize::from(parsed.transport_offset)..);
    let whole = payload.zip(pseudo_header(frame, parsed));
    whole.is_some_and(|(payload, addresses)| fold(sum(payload) + u64::from(addresses)) == 0xffff)
}

/// Puts the checksum of everything from `start` on, in which the partial one counts, in its place.
pub(crate) fn finish(frame: &mut [u8], partial: Partial) {
    let at = usize::from(partial.offset);
    let Some(covered) = frame.get_mut(usize::from(partial.start)..) else {
        return;
    };
    // Zero would say that there is none (RFC 768).
    let found = match !fold(sum(covered)) {
        0 => 0xffff,
        found => found,
    };
    if let Some(field) = covered.get_mut(at..at + 2) {
        field.copy_from_slice(&found.to_ne_bytes());
    }
}

/// The sum of 16-bit words in native order: swapping the bytes of all swaps those of the sum.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let words = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.sum::<u64>() + u64::from(u32::from_ne_bytes(last))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_wire::parse;

    /// From 10.0.0.1, port 5, to 10.0.0.2, port 6, by UDP: "abc". The pseudo-header's sum is 0a00,
    /// 0001, 0a00, 0002, 0011 and 000b: 141f; with the rest, 0005, 0006, 000b, 6162 and 6300: d897,
    /// whose complement is 2768.
    fn datagram(checksum: u16) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([
            8, 0, 0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        frame.extend([0, 5, 0, 6, 0, 11]);
        frame.extend(checksum.to_be_bytes());
        frame.extend(b"abc");
        frame
    }

    #[test]
    fn a_partial_checksum_is_seen_and_finished() {
        let mut frame = datagram(0x141f);
        let found = partial(&frame, &parse(&frame));
        assert_eq!(
            found,
            Some(Partial {
                start: 34,
                offset: 6
            })
        );
        finish(
            &mut frame,
            Partial {
                start: 34,
                offset: 6,
            },
        );
        assert_eq!(frame, datagram(0x2768));
        assert_eq!(partial(&frame, &parse(&frame)), None);
    }

    #[test]
    fn no_checksum_and_wrong_ones_stay() {
        for checksum in [0, 0x1234, 0x2768] {
            let frame = datagram(checksum);
            assert_eq!(partial(&frame, &parse(&frame)), None, "{checksum:04x}");
        }
        let whole = datagram(0x141f);
        for cut in 0..42 {
            assert_eq!(partial(&whole[..cut], &parse(&whole[..cut])), None);
        }
    }

    /// Two bytes of payload such that the right checksum is the pseudo-header's sum, 141e: with
    /// 0005 + 0006 + 000a they make its complement, ebe1.
    #[test]
    fn a_finished_checksum_that_looks_partial_stays() {
        let mut frame = datagram(0x141e);
        frame.truncate(44);
        frame[16..18].copy_from_slice(&30_u16.to_be_bytes());
        frame[38..40].copy_from_slice(&10_u16.to_be_bytes());
        frame[42..44].copy_from_slice(&0xd7ae_u16.to_be_bytes());
        assert_eq!(
            partial(&frame, &parse(&frame)),
            Some(Partial {
                start: 34,
                offset: 6
            })
        );
        let before = frame.clone();
        finish(
            &mut frame,
            Partial {
                start: 34,
                offset: 6,
            },
        );
        assert_eq!(frame, before);
    }
}
