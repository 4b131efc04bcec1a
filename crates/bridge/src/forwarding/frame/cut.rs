//! Cutting a super-packet into its segments, and joining them again.
//!
//! A segment is a handle with headers of its own before a part of the super-packet's payload, which
//! stays where it was received: nothing is copied but headers, and nothing allocated. Segments that
//! follow each other and agree in what their headers say of the network become one super-packet
//! again, as the sender's would have been had it sent no more.
//!
//! Cut is only where it is safe: TCP or UDP whose checksum is left to the hardware (as it is in all
//! super-packets that Linux makes, also from received frames), with headers of up to
//! [`HEADERS`] bytes, in segments of a usual frame, with memory left in the pool for all of them.
//! Every other super-packet passes whole.

use super::pool::HANDLE;
use super::{Bytes, Frame, HEAD, Inner, Own, Parsed, Pool, VnetHeader};
use sojourn_wire::{Segment, can_be_cut, join_segment, write_segment};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest headers of a segment: Ethernet with two tags, IPv6, and TCP with all options, are 122.
const HEADERS: usize = 128;

/// What the parts of a super-packet share. Empty between two uses.
#[derive(Debug, Default)]
pub(super) struct Whole {
    own: Option<Own>,
    /// Bytes of headers before the payload.
    headers: u16,
    /// Its segments.
    count: u16,
    /// What was left to the hardware.
    vnet: VnetHeader,
    /// What was noted with the last of its parts.
    note: AtomicU64,
}

/// Segments of a super-packet that follow each other.
#[derive(Debug)]
pub(super) struct Part {
    whole: Arc<Whole>,
    /// The first segment, and how many there are.
    first: u16,
    count: u16,
    headers: [u8; HEADERS],
}

impl Own {
    /// Bytes that it holds.
    pub(super) fn memory(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, |tail| tail.len())
    }

    /// The bytes of the frame from `from` on, in two parts.
    fn range(&self, from: usize, len: usize) -> [&[u8]; 2] {
        let head = &self.head[usize::from(self.start)..];
        let tail = self.tail.as_deref().unwrap_or_default();
        let (near, far) = (head.len().min(from), head.len().min(from + len));
        let beyond = [from, from + len].map(|at| at.saturating_sub(head.len()));
        [&head[near..far], &tail[beyond[0]..beyond[1]]]
    }
}

impl Whole {
    /// Gives up its bytes.
    pub(super) fn empty(&mut self) -> Option<Own> {
        self.own.take()
    }
}

impl Part {
    pub(super) fn headers(&self, parsed: &Parsed) -> &[u8] {
        &self.headers[..usize::from(parsed.header_len)]
    }

    pub(super) fn headers_mut(&mut self, parsed: &Parsed) -> &mut [u8] {
        &mut self.headers[..usize::from(parsed.header_len)]
    }

    /// The first `len` bytes of its payload.
    pub(super) fn payload(&self, len: usize) -> [&[u8]; 2] {
        let before = usize::from(self.first) * usize::from(self.whole.vnet.gso_size);
        let from = usize::from(self.whole.headers) + before;
        let own = self.whole.own.as_ref();
        own.map_or([&[]; 2], |own| own.range(from, len))
    }

    /// What it holds beside the handle. All memory is held until the last segment has gone, so that
    /// one has all of it: what a queue has counted is never less than what it holds, as long as
    /// segments leave in their order.
    pub(super) fn memory(&self) -> usize {
        let own = self.whole.own.as_ref().filter(|_| self.has_last());
        own.map_or(0, Own::memory)
    }

    fn has_last(&self) -> bool {
        self.first + self.count == self.whole.count
    }

    pub(super) fn into_whole(self) -> Arc<Whole> {
        self.whole
    }
}

impl Pool {
    /// Cuts the first segment off `whole`; see [`sojourn_qdisc::Outlet::cut`].
    pub(crate) fn cut(&mut self, whole: &mut Frame) -> Option<Frame> {
        let (count, each) = whole.0.left_to_cut()?;
        if let Bytes::Own(_) = &whole.0.bytes {
            let handles = (count as usize - 1) * HANDLE;
            if !(self.has_room(handles) && whole.0.can_be_cut(each)) {
                return None;
            }
            self.share(&mut whole.0, count as u16);
        }
        let mut segment = self.take_handle();
        let rest = &mut *whole.0;
        segment.0.become_first_of(rest);
        rest.size -= u32::from(rest.vnet.gso_size);
        rest.wire_len -= each;
        if let Bytes::Part(part) = &mut rest.bytes {
            part.first += 1;
            part.count -= 1;
            if part.count == 1 {
                rest.become_last();
            }
        }
        Some(segment)
    }

    /// Makes a super-packet one that its parts share.
    fn share(&mut self, whole: &mut Inner, count: u16) {
        let Bytes::Own(own) = std::mem::replace(&mut whole.bytes, Bytes::Nowhere) else {
            return;
        };
        let mut headers = [0; HEADERS];
        let len = whole.parsed.header_len;
        let start = usize::from(own.start);
        headers[..len.into()].copy_from_slice(&own.head[start..start + usize::from(len)]);
        let shared = Whole {
            own: Some(own),
            headers: len,
            count,
            vnet: whole.vnet,
            note: AtomicU64::new(0),
        };
        whole.bytes = Bytes::Part(Part {
            whole: self.take_whole(shared),
            first: 0,
            count,
            headers,
        });
    }
}

impl Frame {
    /// Of a part, what was noted with one of the same super-packet; 0: nothing yet.
    pub(crate) fn noted(&self) -> Option<u64> {
        match &self.0.bytes {
            Bytes::Part(part) => Some(part.whole.note.load(Ordering::Relaxed)),
            _ => None,
        }
    }

    /// Notes a number with the super-packet that this is part of.
    pub(crate) fn note(&self, number: u64) {
        if let Bytes::Part(part) = &self.0.bytes {
            part.whole.note.store(number, Ordering::Relaxed);
        }
    }

    /// Has `next` follow in the same super-packet, if it is the next part of the one that this is
    /// part of, and differs in nothing that all segments of one have in common. Tells whether it
    /// did: then `next` is not needed any more.
    pub(crate) fn join(&mut self, next: &Self) -> bool {
        let (inner, next) = (&mut *self.0, &*next.0);
        let (Bytes::Part(part), Bytes::Part(after)) = (&mut inner.bytes, &next.bytes) else {
            return false;
        };
        // A mark or a washed DSCP may have come between.
        if !(Arc::ptr_eq(&part.whole, &after.whole)
            && part.first + part.count == after.first
            && inner.parsed.tos == next.parsed.tos)
        {
            return false;
        }
        let more = next.size - u32::from(next.parsed.header_len);
        let headers = &mut part.headers[..usize::from(inner.parsed.header_len)];
        join_segment(headers, &inner.parsed, &after.headers, more as u16);
        part.count += after.count;
        inner.size += more;
        inner.wire_len += next.wire_len;
        let whole = part.whole.vnet;
        inner.vnet.gso_size = whole.gso_size;
        inner.vnet.hdr_len = whole.hdr_len;
        inner.vnet.gso_type = match part.first {
            0 => whole.gso_type,
            // CWR stays on the super-packet's first segment.
            _ => whole.gso_type & !VnetHeader::GSO_ECN,
        };
        true
    }
}

impl Inner {
    /// As [`sojourn_qdisc::Packet::segments`], but without a division for each segment: a
    /// super-packet that its parts share has counted them.
    #[inline]
    fn left_to_cut(&self) -> Option<(u32, u32)> {
        let counted = match &self.bytes {
            Bytes::Part(part) if self.vnet.gso_type != 0 => {
                let each = u32::from(self.vnet.gso_size) + u32::from(self.parsed.header_len);
                Some((u32::from(part.count), each))
            }
            _ => self.segments(),
        };
        counted.filter(|(count, _)| *count > 1)
    }

    fn can_be_cut(&self, each: u32) -> bool {
        let parsed = &self.parsed;
        let has_offload = self.vnet.flags & VnetHeader::NEEDS_CSUM != 0
            && self.vnet.csum_start == parsed.transport_offset;
        has_offload
            && each as usize <= HEAD
            && usize::from(parsed.header_len) <= HEADERS
            && can_be_cut(self.front(), parsed)
    }

    /// Becomes the first segment of what is left of a super-packet.
    fn become_first_of(&mut self, rest: &Self) {
        let Bytes::Part(part) = &rest.bytes else {
            debug_assert!(false, "what is being cut is shared");
            return;
        };
        self.describe(rest);
        self.bytes = Bytes::Part(Part {
            whole: Arc::clone(&part.whole),
            first: part.first,
            count: 1,
            headers: part.headers,
        });
        self.become_segment(&part.whole.vnet, rest.vnet.gso_size, false);
    }

    /// What is left of a super-packet is its last segment.
    fn become_last(&mut self) {
        let len = self.size - u32::from(self.parsed.header_len);
        let vnet = self.vnet;
        self.become_segment(&vnet, len as u16, true);
    }

    /// Its headers, which are the super-packet's, become those of one segment.
    fn become_segment(&mut self, vnet: &VnetHeader, len: u16, is_last: bool) {
        let Bytes::Part(part) = &mut self.bytes else {
            return;
        };
        let place = Segment {
            index: part.first,
            offset: u32::from(part.first) * u32::from(vnet.gso_size),
            len,
            is_last,
        };
        write_segment(&mut part.headers, &self.parsed, place);
        self.size = u32::from(self.parsed.header_len) + u32::from(len);
        self.wire_len = self.size;
        self.vnet = VnetHeader {
            flags: VnetHeader::NEEDS_CSUM,
            csum_start: vnet.csum_start,
            csum_offset: vnet.csum_offset,
            ..VnetHeader::default()
        };
    }
}
