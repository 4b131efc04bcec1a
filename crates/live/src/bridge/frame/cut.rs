//! Cutting a super-packet into its segments, each a frame of its own from the pool.
//!
//! Only where it is safe: TCP or UDP whose checksum is left to the hardware (as it is in all
//! super-packets that Linux makes, also from received frames), in segments of a usual frame, with
//! frames left in the pool for all of them. Every other super-packet passes whole.

use super::{Frame, HEAD, HEADROOM, Inner, Pool, VnetHeader};
use sojourn_qdisc::Packet;
use sojourn_wire::{Segment, can_be_cut, write_segment};

impl Pool {
    /// Cuts the first segment off `whole`; see [`sojourn_qdisc::Outlet::cut`].
    pub(crate) fn cut(&mut self, whole: &mut Frame) -> Option<Frame> {
        let (count, each) = whole.segments()?;
        let is_first = whole.0.cut == 0;
        if is_first && !(self.has_room(count) && whole.0.can_be_cut(each)) {
            return None;
        }
        let mut segment = self.take()?;
        let inner = &mut *whole.0;
        inner.write(&mut segment.0, inner.cut, inner.vnet.gso_size, false);
        inner.cut += 1;
        inner.size -= u32::from(inner.vnet.gso_size);
        inner.wire_len -= each;
        if count == 2 {
            self.finish(whole);
        }
        Some(segment)
    }

    fn has_room(&self, frames: u32) -> bool {
        self.room() >= frames as usize
    }

    /// The last segment takes the place of the whole.
    fn finish(&mut self, whole: &mut Frame) {
        let Some(mut last) = self.take() else {
            debug_assert!(
                false,
                "there was room for all segments but one, and one was left"
            );
            return;
        };
        let inner = &mut *whole.0;
        let len = (inner.size - u32::from(inner.parsed.header_len)) as u16;
        inner.write(&mut last.0, inner.cut, len, true);
        core::mem::swap(whole, &mut last);
        self.give(last);
    }
}

impl Inner {
    fn can_be_cut(&self, each: u32) -> bool {
        let headers = usize::from(self.start)..self.head_end();
        let parsed = &self.parsed;
        let has_offload = self.vnet.flags & VnetHeader::NEEDS_CSUM != 0
            && self.vnet.csum_start == parsed.transport_offset;
        has_offload && each as usize <= HEAD && can_be_cut(&self.head[headers], parsed)
    }

    /// Makes `segment` the one with this number and `len` bytes of payload.
    fn write(&self, segment: &mut Self, index: u16, len: u16, is_last: bool) {
        let headers = usize::from(self.parsed.header_len);
        let start = usize::from(self.start);
        let offset = usize::from(index) * usize::from(self.vnet.gso_size);
        let (size, to) = (headers + usize::from(len), HEADROOM + headers);
        segment.head[HEADROOM..to].copy_from_slice(&self.head[start..start + headers]);
        // The payload is in the first part up to its end, then in the second.
        let room = HEADROOM + HEAD - start;
        let (from, end) = (headers + offset, headers + offset + usize::from(len));
        let middle = end.min(room).max(from.min(room));
        let near = middle - from.min(room);
        segment.head[to..to + near]
            .copy_from_slice(&self.head[start + middle - near..start + middle]);
        if let Some(tail) = self.tail.as_deref().filter(|_| end > room) {
            let rest = &tail[from.max(room) - room..end - room];
            segment.head[to + near..HEADROOM + size].copy_from_slice(rest);
        }
        let headers = &mut segment.head[HEADROOM..to];
        let place = Segment {
            index,
            offset: offset as u32,
            len,
            is_last,
        };
        write_segment(headers, &self.parsed, place);
        segment.start = HEADROOM as u16;
        (segment.size, segment.wire_len) = (size as u32, size as u32);
        segment.parsed = self.parsed;
        segment.arrived = self.arrived;
        (segment.inside, segment.mark, segment.cut) = (self.inside, self.mark, 0);
        (segment.class, segment.circuit) = (self.class, self.circuit);
        segment.vnet = VnetHeader {
            flags: VnetHeader::NEEDS_CSUM,
            csum_start: self.vnet.csum_start,
            csum_offset: self.vnet.csum_offset,
            ..VnetHeader::default()
        };
    }
}
