//! Full TCP segments that came alone, put together behind the queue as GRO would have before it.
//!
//! Two become one super-packet only if cutting that gives back both, byte by byte: what is cut has
//! headers that differ in nothing but lengths, checksums, numbers that count up, and PSH on the
//! last. So all that must be so is compared, and checksums are looked at: a wrong one stays.

use super::{Bytes, Frame, HEAD, HEADROOM, Inner, Pool, VnetHeader};
use crate::checksum::{is_complete, is_right, partial};
use sojourn_qdisc::Packet;
use sojourn_wire::{Network, Segment, can_be_cut, join_segment, protocol, write_segment};

/// Least payload: less is no bulk.
const LEAST: u32 = 512;
/// Bytes of the part of a super-packet beyond [`HEAD`].
const BEYOND: usize = 16 << 10;
/// `VIRTIO_NET_HDR_GSO_TCPV4` and `_TCPV6` (virtio 1.1 section 5.1.6).
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// Flags of TCP.
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Where TCP's checksum is in its header.
const CHECKSUM: u16 = 16;

/// A number of two bytes.
fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A number of four bytes.
fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Frame {
    /// Of a segment that others may follow or that may follow others, a hash of its flow.
    pub(crate) fn in_a_row(&self) -> Option<u32> {
        self.0.is_bulk().then(|| self.flow_hash(0))
    }

    /// Has `next` follow in one super-packet, if both are segments of a flow that follow each
    /// other and cutting it gives them back. Tells whether it did: then `next` is not needed any
    /// more.
    pub(crate) fn follow(&mut self, next: &Self, pool: &mut Pool) -> bool {
        let (inner, next) = (&mut *self.0, &*next.0);
        if !(inner.is_bulk() && next.is_bulk() && inner.is_before(next)) {
            return false;
        }
        if inner.row <= 1 {
            if !inner.has_right_sums() {
                return false;
            }
            inner.leave_sums();
        }
        next.has_right_sums() && inner.take_payload(next, pool)
    }
}

impl Inner {
    fn payload(&self) -> u32 {
        self.size - u32::from(self.parsed.header_len)
    }

    /// A full segment of TCP with nothing special, or several of them.
    fn is_bulk(&self) -> bool {
        let (parsed, front) = (&self.parsed, self.front());
        let (network, transport) = (parsed.network_offset, parsed.transport_offset);
        let (length, expected) = match parsed.network {
            Network::Ipv4 => (network + 2, 20),
            Network::Ipv6 => (network + 4, 40),
            Network::Opaque => return false,
        };
        let is_whole = parsed.flow.protocol == protocol::TCP
            && matches!(self.bytes, Bytes::Own(_))
            && transport == network + expected
            && can_be_cut(front, parsed)
            && self.size > u32::from(parsed.header_len)
            && self.payload() >= LEAST;
        if !is_whole {
            return false;
        }
        let behind = match parsed.network {
            Network::Ipv6 => transport,
            _ => network,
        };
        let is_partial = self.vnet.flags & VnetHeader::NEEDS_CSUM != 0;
        // The sum of what was joined is the pseudo-header's alone.
        let is_plain =
            !is_partial || self.vnet.csum_start == transport && self.vnet.csum_offset == CHECKSUM;
        u32::from(short(front, length.into())) == self.size - u32::from(behind)
            && front[usize::from(transport) + 13] & !PSH == ACK
            && is_plain
            && (self.vnet.gso_type == 0 || self.row > 1)
    }

    /// Whether `next` has what follows, and headers that only differ as those of the segments of
    /// one super-packet.
    fn is_before(&self, next: &Self) -> bool {
        let (front, other) = (self.front(), next.front());
        let network = usize::from(self.parsed.network_offset);
        let transport = usize::from(self.parsed.transport_offset);
        let end = usize::from(self.parsed.header_len);
        let each = match self.row {
            0 | 1 => self.payload(),
            _ => u32::from(self.vnet.gso_size),
        };
        let row = u32::from(self.row.max(1));
        let is_partial = [self, next].map(|it| it.vnet.flags & VnetHeader::NEEDS_CSUM);
        if next.row > 1
            || end != usize::from(next.parsed.header_len)
            || network != usize::from(next.parsed.network_offset)
            || self.payload() != row * each
            || next.payload() > each
            || front[transport + 13] != ACK
            || self.row <= 1 && is_partial[0] != is_partial[1]
        {
            return false;
        }
        let same = |from: usize, to: usize| front[from..to] == other[from..to];
        let of_network = match self.parsed.network {
            Network::Ipv4 => {
                let id = short(front, network + 4).wrapping_add(row as u16);
                same(network, network + 2)
                    && short(other, network + 4) == id
                    && same(network + 6, network + 10)
                    && same(network + 12, transport)
            }
            _ => same(network, network + 4) && same(network + 6, transport),
        };
        let number = long(front, transport + 4).wrapping_add(self.payload());
        of_network
            && same(0, network)
            && same(transport, transport + 4)
            && long(other, transport + 4) == number
            && same(transport + 8, transport + 13)
            && same(transport + 14, transport + 16)
            && same(transport + 18, end)
    }

    /// Whether checksums say what they would after cutting.
    fn has_right_sums(&self) -> bool {
        let (front, parsed) = (self.front(), &self.parsed);
        let headers = usize::from(parsed.network_offset)..usize::from(parsed.transport_offset);
        if parsed.network == Network::Ipv4 && !is_right(&front[headers]) {
            return false;
        }
        // What is partial is finished by the kernel.
        if self.vnet.flags & VnetHeader::NEEDS_CSUM != 0 {
            return partial(front, parsed).is_some();
        }
        self.size as usize == front.len() && is_complete(front, parsed)
    }

    /// Leaves its checksum to the kernel.
    fn leave_sums(&mut self) {
        let (len, parsed) = (self.payload() as u16, self.parsed);
        let whole = Segment {
            index: 0,
            offset: 0,
            len,
            is_last: true,
        };
        let (front, _) = self.front_mut();
        write_segment(front, &parsed, whole);
        self.vnet.flags |= VnetHeader::NEEDS_CSUM;
        (self.vnet.csum_start, self.vnet.csum_offset) = (parsed.transport_offset, CHECKSUM);
    }

    /// Puts the payload of `next` behind its own, if there is room.
    fn take_payload(&mut self, next: &Self, pool: &mut Pool) -> bool {
        let (header, more) = (usize::from(next.parsed.header_len), next.payload());
        let (size, each) = (self.size as usize, self.payload() as u16);
        let Bytes::Own(own) = &mut self.bytes else {
            return false;
        };
        let near = HEADROOM + HEAD - usize::from(own.start);
        if size + more as usize > near + BEYOND {
            return false;
        }
        if own.tail.is_none() && size + more as usize > near {
            if !pool.has_room(BEYOND) {
                return false;
            }
            own.tail = Some(pool.take_tail(BEYOND));
        }
        let mut payload = &next.front()[header..];
        if size < near {
            let (first, rest) = payload.split_at(payload.len().min(near - size));
            let at = usize::from(own.start) + size;
            own.head[at..at + first.len()].copy_from_slice(first);
            payload = rest;
        }
        if let Some(tail) = &mut own.tail {
            let at = size.saturating_sub(near);
            tail[at..at + payload.len()].copy_from_slice(payload);
        }
        let parsed = self.parsed;
        let (front, _) = self.front_mut();
        join_segment(front, &parsed, next.front(), more as u16);
        if self.row <= 1 {
            self.vnet.gso_size = each;
            self.vnet.hdr_len = parsed.header_len;
            self.vnet.gso_type = match parsed.network {
                Network::Ipv4 => GSO_TCPV4,
                _ => GSO_TCPV6,
            };
        }
        self.row = self.row.max(1) + 1;
        self.size += more;
        self.wire_len += next.wire_len;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::receive;
    use super::*;
    use crate::checksum::finish;
    use crate::sys::Partial;
    use sojourn_wire::parse;

    const EACH: usize = 1400;

    /// A segment with checksums, complete or as a host leaves them to its interface.
    fn segment(v6: bool, number: u16, payload: usize, partial: bool) -> (Vec<u8>, VnetHeader) {
        let mut frame = vec![2; 12];
        let after = 20 + payload as u16;
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 7]);
            frame.extend(after.to_be_bytes());
            frame.extend([6, 64]);
            frame.extend([0x20; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((20 + after).to_be_bytes());
            frame.extend(65_530_u16.wrapping_add(number).to_be_bytes());
            frame.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            finish(
                &mut frame[..34],
                Partial {
                    start: 14,
                    offset: 10,
                },
            );
        }
        let transport = frame.len();
        frame.extend([0x13, 0x88, 0x13, 0x89]);
        let sequence = (u32::MAX - 2000).wrapping_add(u32::from(number) * EACH as u32);
        frame.extend(sequence.to_be_bytes());
        // A short one is the last, and pushed.
        let flags = if payload < EACH { ACK | PSH } else { ACK };
        frame.extend([0, 0, 0, 9, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        frame.extend((0..payload).map(|at| (at * 7 + usize::from(number)) as u8));
        let parsed = parse(&frame);
        let whole = Segment {
            index: 0,
            offset: 0,
            len: payload as u16,
            is_last: true,
        };
        write_segment(&mut frame, &parsed, whole);
        let place = Partial {
            start: transport as u16,
            offset: CHECKSUM,
        };
        let mut vnet = VnetHeader::default();
        if partial {
            vnet.flags = VnetHeader::NEEDS_CSUM;
            (vnet.csum_start, vnet.csum_offset) = (place.start, place.offset);
        } else {
            finish(&mut frame, place);
        }
        (frame, vnet)
    }

    /// What the kernel makes of a super-packet: segments with complete checksums.
    fn cut(pool: &mut Pool, frame: &Frame) -> Vec<Vec<u8>> {
        let mut whole = receive(pool, &frame.parts().concat(), *frame.vnet(), None);
        let mut segments: Vec<_> = std::iter::from_fn(|| pool.cut(&mut whole)).collect();
        segments.push(whole);
        let mut complete = |segment: Frame| {
            let mut bytes = segment.parts().concat();
            let vnet = segment.vnet();
            let place = Partial {
                start: vnet.csum_start,
                offset: vnet.csum_offset,
            };
            finish(&mut bytes, place);
            pool.give(segment);
            bytes
        };
        segments.into_iter().map(&mut complete).collect()
    }

    #[test]
    fn cutting_gives_back_what_was_put_together() {
        for (v6, partial) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut pool = Pool::new(100);
            let mut came = Vec::new();
            let mut whole: Option<Frame> = None;
            for number in 0..9 {
                let payload = if number == 8 { 600 } else { EACH };
                let (bytes, vnet) = segment(v6, number, payload, partial);
                let frame = receive(&mut pool, &bytes, vnet, None);
                came.push(bytes);
                match &mut whole {
                    None => whole = Some(frame),
                    Some(first) => {
                        assert!(first.follow(&frame, &mut pool), "{v6} {partial} {number}");
                        pool.give(frame);
                    }
                }
            }
            let whole = whole.expect("there is one");
            let wire: usize = came.iter().map(Vec::len).sum();
            assert_eq!(whole.len() as usize, wire);
            if partial {
                for bytes in &mut came {
                    let start = if v6 { 54 } else { 34 };
                    finish(
                        bytes,
                        Partial {
                            start,
                            offset: CHECKSUM,
                        },
                    );
                }
            }
            assert_eq!(cut(&mut pool, &whole), came);
            pool.give(whole);
            assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
        }
    }

    #[test]
    fn what_cutting_would_not_give_back_stays_alone() {
        let mut pool = Pool::new(100);
        // Any byte of the headers that differs otherwise, and any of the payload, whose sum is
        // wrong then.
        let (bytes, vnet) = segment(false, 1, EACH, false);
        for place in (0..54).chain([60, 1000, 54 + EACH - 1]) {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[place] ^= 1 << bit;
                let (first, of_first) = segment(false, 0, EACH, false);
                let mut first = receive(&mut pool, &first, of_first, None);
                let before = first.parts().concat();
                let next = receive(&mut pool, &other, vnet, None);
                assert!(!first.follow(&next, &mut pool), "byte {place}, bit {bit}");
                let after = first.parts().concat();
                assert_eq!(after.len(), before.len());
                pool.give(first);
                pool.give(next);
            }
        }
        // Not in order, the same one again, behind a short one, behind one that is pushed.
        let pairs = [
            (
                segment(false, 1, EACH, false),
                segment(false, 0, EACH, false),
            ),
            (
                segment(false, 1, EACH, false),
                segment(false, 1, EACH, false),
            ),
            (
                segment(false, 0, 600, false),
                segment(false, 1, EACH, false),
            ),
            (
                segment(false, 0, EACH, true),
                segment(false, 1, EACH, false),
            ),
            (segment(false, 0, 400, true), segment(false, 1, 400, true)),
        ];
        for ((first, of_first), (next, of_next)) in pairs {
            let mut first = receive(&mut pool, &first, of_first, None);
            let next = receive(&mut pool, &next, of_next, None);
            assert!(!first.follow(&next, &mut pool));
            pool.give(first);
            pool.give(next);
        }
    }

    #[test]
    fn there_is_an_end_to_it() {
        let mut pool = Pool::new(100);
        let (bytes, vnet) = segment(false, 0, EACH, true);
        let mut whole = receive(&mut pool, &bytes, vnet, None);
        let mut count = 1;
        loop {
            let (bytes, vnet) = segment(false, count, EACH, true);
            let next = receive(&mut pool, &bytes, vnet, None);
            let follows = whole.follow(&next, &mut pool);
            pool.give(next);
            if !follows {
                break;
            }
            count += 1;
        }
        assert_eq!(usize::from(count), (HEAD + BEYOND - 54) / EACH);
        pool.give(whole);
        assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
    }
}
