//! Frames in memory, and what a queue may know of them. [`pool`] has the memory, [`placed`] has
//! frames in that of AF_XDP, [`cut`] segments of super-packets as parts of what was received.

use crate::hurry::is_in_a_hurry;
use crate::sys::{Chunk, Partial};
use cut::Part;
use sojourn_qdisc::{AckFacts, Ecn, InsideHashes, Label, Packet, truesize};
use sojourn_units::Time;
use sojourn_wire::{
    FlowKey, Network, Parsed, ack_facts, clear_dscp, ether_type, parse, protocol, set_ce,
};

/// Room before the frame, for a VLAN tag that the kernel has taken out.
pub(crate) const HEADROOM: usize = 16;
/// Bytes of a frame's first part: a full Ethernet frame with tags, and all of its headers.
pub(crate) const HEAD: usize = 2048;
/// Bytes of a frame's second part. With `HEAD` above the largest segmentation offload that
/// Linux makes unless told otherwise (64 KiB and headers).
pub(crate) const TAIL: usize = 64 * 1024;
/// A VLAN tag (IEEE 802.1Q).
const TAG: usize = 4;
/// A frame's first part, with the room before it.
type Head = [u8; HEADROOM + HEAD];

/// One Ethernet frame, or a super-packet that the kernel will cut into several.
///
/// A handle of one pointer: queues move it, never its bytes. Give it back with [`Pool::give`].
#[derive(Debug)]
pub struct Frame(Box<Inner>);

#[derive(Debug)]
struct Inner {
    parsed: Parsed,
    arrived: Time,
    /// Bytes of the frame.
    size: u32,
    /// Bytes as Linux counts them in a queue.
    wire_len: u32,
    vnet: VnetHeader,
    /// What a network address translation has made these addresses from, if it is known.
    inside: Option<FlowKey>,
    /// The firewall's mark.
    mark: u32,
    /// The queue's class that was asked for.
    class: u16,
    /// How many that came alone have been [put together](Frame::follow); 0 and 1: it is one.
    row: u16,
    /// It is in a hurry.
    hurries: bool,
    /// The leaf of a tree of rates that it is for; 0: none.
    circuit: u32,
    bytes: Bytes,
}

/// Where a frame's bytes are.
#[derive(Debug)]
enum Bytes {
    /// Between two uses of the handle.
    Nowhere,
    /// In memory of its own.
    Own(Own),
    /// In memory that it was received into by others.
    Placed(Placed),
    /// In a super-packet that was cut, but for its headers.
    Part(Part),
}

/// A frame's own memory.
#[derive(Debug)]
struct Own {
    /// Where the frame begins in `head`.
    start: u16,
    head: Box<Head>,
    tail: Option<Box<[u8]>>,
}

/// Where a frame lies in memory that it was received into by others.
#[derive(Debug)]
struct Placed {
    chunk: Chunk,
    start: usize,
}

impl Placed {
    fn memory(&self) -> usize {
        self.chunk.len()
    }
}

impl Frame {
    /// Bytes of this process's memory that the frame holds until it is given back.
    pub(crate) fn held(&self) -> usize {
        let bytes = match &self.0.bytes {
            Bytes::Nowhere => 0,
            Bytes::Own(own) => own.memory(),
            Bytes::Placed(placed) => placed.memory(),
            Bytes::Part(part) => part.memory(),
        };
        HANDLE + bytes
    }

    /// A frame with these bytes, as it would arrive at `arrived`; none when they are too many.
    pub fn from_bytes(pool: &mut Pool, bytes: &[u8], arrived: Time) -> Option<Self> {
        Self::received(pool, bytes, None, arrived)
    }

    /// As `from_bytes`, with a VLAN tag that belongs into it.
    pub(crate) fn received(
        pool: &mut Pool,
        bytes: &[u8],
        tag: Option<VlanTag>,
        arrived: Time,
    ) -> Option<Self> {
        if bytes.len() > HEAD + TAIL {
            return None;
        }
        let mut frame = pool.take()?;
        // Headers lie in the first part whole, so that one `parse` sees them.
        let head = bytes.len().min(HEAD);
        frame.buffer()[..head].copy_from_slice(&bytes[..head]);
        if bytes.len() > HEAD {
            let mut tail = pool.take_tail(bytes.len() - HEAD);
            tail[..bytes.len() - HEAD].copy_from_slice(&bytes[HEAD..]);
            frame.attach(tail);
        }
        frame.filled(bytes.len(), VnetHeader::default(), tag, arrived);
        Some(frame)
    }

    /// Another one with the same bytes, behind the queue; none without memory for it.
    pub(crate) fn copied(&self, pool: &mut Pool) -> Option<Self> {
        let mut copy = pool.take()?;
        let (inner, to) = (&*self.0, &mut *copy.0);
        let Bytes::Own(own) = &mut to.bytes else {
            return None;
        };
        if let Bytes::Own(from) = &inner.bytes {
            own.start = from.start;
        }
        // A segment fits into the first part.
        let copied = self.copy_front(&mut own.head[usize::from(own.start)..]);
        let [front, beyond, _] = self.parts();
        if copied < inner.size as usize {
            let beyond = front
                .get(copied..)
                .filter(|rest| !rest.is_empty())
                .unwrap_or(beyond);
            let mut tail = pool.take_tail(beyond.len());
            tail[..beyond.len()].copy_from_slice(beyond);
            own.tail = Some(tail);
        }
        to.describe(inner);
        (to.size, to.wire_len, to.vnet) = (inner.size, inner.wire_len, inner.vnet);
        Some(copy)
    }

    /// The buffer to receive the first [`HEAD`] bytes into.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        match &mut self.0.bytes {
            Bytes::Own(own) => &mut own.head[HEADROOM..],
            _ => &mut [],
        }
    }

    /// Attaches the buffer that holds what did not fit into [`Frame::buffer`].
    pub(crate) fn attach(&mut self, tail: Box<[u8]>) {
        if let Bytes::Own(own) = &mut self.0.bytes {
            own.tail = Some(tail);
        }
    }

    /// The frame's bytes are in the buffer: `len` of them. Puts a VLAN tag back where it was and
    /// looks at the headers.
    pub(crate) fn filled(
        &mut self,
        len: usize,
        vnet: VnetHeader,
        tag: Option<VlanTag>,
        arrived: Time,
    ) {
        let inner = &mut *self.0;
        if let Bytes::Own(own) = &mut inner.bytes {
            own.start = HEADROOM as u16;
        }
        inner.size = len as u32;
        inner.vnet = vnet;
        // Other flags say what the receiver may trust; they have no meaning when sending.
        inner.vnet.flags &= VnetHeader::NEEDS_CSUM;
        inner.arrived = arrived;
        (inner.inside, inner.mark, inner.class) = (None, 0, 0);
        (inner.circuit, inner.row, inner.hurries) = (0, 0, false);
        if let Some(tag) = tag.filter(|_| len >= 12) {
            inner.put_tag_back(tag);
        }
        inner.parsed = parse(inner.front());
        inner.wire_len = inner.count_wire_len();
    }

    /// The frame's bytes in order, in up to three parts. The first has all headers.
    pub fn parts(&self) -> [&[u8]; 3] {
        let inner = &*self.0;
        let front = inner.front();
        match &inner.bytes {
            Bytes::Nowhere => [&[]; 3],
            Bytes::Placed(_) => [front, &[], &[]],
            Bytes::Own(own) => {
                let rest = inner.size as usize - front.len();
                [
                    front,
                    own.tail.as_deref().map_or(&[], |tail| &tail[..rest]),
                    &[],
                ]
            }
            Bytes::Part(part) => {
                let [near, far] = part.payload(inner.size as usize - front.len());
                [front, near, far]
            }
        }
    }

    /// Copies its first bytes into `to`, as many as there are and fit. Yields how many.
    pub fn copy_front(&self, to: &mut [u8]) -> usize {
        let mut at = 0;
        for part in self.parts() {
            let len = part.len().min(to.len() - at);
            to[at..at + len].copy_from_slice(&part[..len]);
            at += len;
        }
        at
    }

    /// Bytes of the frame.
    pub(crate) fn size(&self) -> u32 {
        self.0.size
    }

    /// What is known of its headers.
    pub fn parsed(&self) -> &Parsed {
        &self.0.parsed
    }

    /// When the kernel received it.
    pub fn arrived(&self) -> Time {
        self.0.arrived
    }

    /// The firewall's mark (`skb->mark`).
    pub(crate) fn set_mark(&mut self, mark: u32) {
        self.0.mark = mark;
    }

    /// Mark and class.
    pub(crate) fn set_label(&mut self, label: Label) {
        (self.0.mark, self.0.class) = (label.mark, label.class);
    }

    /// The leaf of a tree of rates.
    pub(crate) fn set_circuit(&mut self, circuit: u32) {
        self.0.circuit = circuit;
    }

    /// Whether it is [in a hurry](is_in_a_hurry); until that is noted it is not, nor is a copy.
    pub(crate) fn hurries(&self) -> bool {
        self.0.hurries
    }

    /// Notes whether it is in a hurry.
    pub(crate) fn note_hurry(&mut self) {
        let inner = &mut *self.0;
        inner.hurries = is_in_a_hurry(inner.size, &inner.parsed, inner.front());
    }

    /// The addresses inside a translation.
    pub(crate) fn set_inside(&mut self, inside: Option<FlowKey>) {
        self.0.inside = inside;
    }

    pub(crate) fn vnet(&self) -> &VnetHeader {
        &self.0.vnet
    }

    /// Its checksum is partial.
    pub(crate) fn leave_checksum(&mut self, partial: Partial) {
        let vnet = &mut self.0.vnet;
        vnet.flags |= VnetHeader::NEEDS_CSUM;
        (vnet.csum_start, vnet.csum_offset) = (partial.start, partial.offset);
    }

    /// Its checksum, if that is partial.
    pub(crate) fn partial_checksum(&self) -> Option<Partial> {
        let vnet = self.vnet();
        let is_partial = vnet.flags & VnetHeader::NEEDS_CSUM != 0;
        is_partial.then_some(Partial {
            start: vnet.csum_start,
            offset: vnet.csum_offset,
        })
    }
}

impl Inner {
    /// The first part: all headers. A tag put back makes it longer, not the second part.
    fn front(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Nowhere => &[],
            Bytes::Own(own) => {
                let room = &own.head[usize::from(own.start)..];
                &room[..room.len().min(self.size as usize)]
            }
            Bytes::Placed(placed) => {
                &placed.chunk.bytes()[placed.start..placed.start + self.size as usize]
            }
            Bytes::Part(part) => part.headers(&self.parsed),
        }
    }

    /// The headers, to be changed in place, and what is known of them.
    fn front_mut(&mut self) -> (&mut [u8], &mut Parsed) {
        let front = match &mut self.bytes {
            Bytes::Nowhere => &mut [],
            Bytes::Own(own) => &mut own.head[usize::from(own.start)..],
            Bytes::Placed(placed) => &mut placed.chunk.bytes_mut()[placed.start..],
            Bytes::Part(part) => part.headers_mut(&self.parsed),
        };
        (front, &mut self.parsed)
    }

    /// Takes over what is known of another frame beside its bytes and their number.
    fn describe(&mut self, other: &Self) {
        (self.parsed, self.arrived) = (other.parsed, other.arrived);
        (self.inside, self.mark) = (other.inside, other.mark);
        (self.class, self.circuit) = (other.class, other.circuit);
        (self.row, self.hurries) = (0, false);
    }

    fn put_tag_back(&mut self, tag: VlanTag) {
        let room = match &mut self.bytes {
            Bytes::Own(own) => {
                own.start -= TAG as u16;
                &mut own.head[usize::from(own.start)..]
            }
            Bytes::Placed(placed) => {
                placed.start -= TAG;
                &mut placed.chunk.bytes_mut()[placed.start..]
            }
            Bytes::Nowhere | Bytes::Part(_) => return,
        };
        // The addresses move to the front; the tag stands between them and the type.
        room.copy_within(TAG..TAG + 12, 0);
        room[12..14].copy_from_slice(&tag.protocol.to_be_bytes());
        room[14..16].copy_from_slice(&tag.tci.to_be_bytes());
        self.size += TAG as u32;
        // Offsets in the header count from the start of the frame, which moved.
        if self.vnet.flags & VnetHeader::NEEDS_CSUM != 0 {
            self.vnet.csum_start = self.vnet.csum_start.saturating_add(TAG as u16);
        }
        if self.vnet.gso_type != 0 {
            self.vnet.hdr_len = self.vnet.hdr_len.saturating_add(TAG as u16);
        }
    }

    /// Linux counts a super-packet with the headers that each of its segments will have
    /// (`qdisc_pkt_len` since Linux 3.9).
    fn count_wire_len(&self) -> u32 {
        let more = self.segments().map_or(0, |(segments, _)| segments - 1);
        self.size + more * u32::from(self.parsed.header_len)
    }

    /// Of a super-packet, the number of its segments and the length of each but the last.
    fn segments(&self) -> Option<(u32, u32)> {
        let headers = u32::from(self.parsed.header_len);
        let size = u32::from(self.vnet.gso_size);
        // Of other protocols the header's length is not known, so that nothing can be added.
        let known = matches!(self.parsed.flow.protocol, protocol::TCP | protocol::UDP);
        if self.vnet.gso_type == 0 || size == 0 || !known || headers == 0 || self.size <= headers {
            return None;
        }
        Some(((self.size - headers).div_ceil(size), size + headers))
    }
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.0.wire_len
    }

    fn memory(&self) -> u32 {
        let parsed = &self.0.parsed;
        match parsed.flow.protocol {
            protocol::TCP => {
                let headers = u32::from(parsed.header_len);
                truesize::of_segment(self.0.size.saturating_sub(headers))
            }
            _ => truesize::of_datagram(self.0.size),
        }
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        self.0.parsed.flow.hash(perturbation)
    }

    fn ecn(&self) -> Ecn {
        self.0.parsed.ecn()
    }

    fn set_ce(&mut self) -> bool {
        let (headers, parsed) = self.0.front_mut();
        set_ce(headers, parsed)
    }

    fn dscp(&self) -> u8 {
        const CS7: u8 = 56;
        let parsed = &self.0.parsed;
        // As `cake_handle_diffserv`: ARP is treated as network control.
        if parsed.network == Network::Opaque && parsed.flow.ether_type == ether_type::ARP {
            return CS7;
        }
        self.0.parsed.dscp()
    }

    fn clear_dscp(&mut self) {
        let (headers, parsed) = self.0.front_mut();
        clear_dscp(headers, parsed);
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        let flow = &self.0.parsed.flow;
        (flow.src_hash(perturbation), flow.dst_hash(perturbation))
    }

    fn inside_hashes(&self, perturbation: u64) -> Option<InsideHashes> {
        let inside = self.0.inside?;
        Some(InsideHashes {
            flow: inside.hash(perturbation),
            hosts: (inside.src_hash(perturbation), inside.dst_hash(perturbation)),
        })
    }

    fn mark(&self) -> u32 {
        self.0.mark
    }

    fn class(&self) -> u16 {
        self.0.class
    }

    fn circuit(&self) -> u32 {
        self.0.circuit
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.0.parsed.flow == other.0.parsed.flow
    }

    fn ack(&self) -> Option<AckFacts> {
        ack_facts(self.0.front(), &self.0.parsed)
    }

    fn network_offset(&self) -> Option<u32> {
        match self.0.parsed.network {
            Network::Opaque => None,
            _ => Some(u32::from(self.0.parsed.network_offset)),
        }
    }

    fn segments(&self) -> Option<(u32, u32)> {
        self.0.segments().filter(|(segments, _)| *segments > 1)
    }
}

mod cut;
mod follow;
mod offload;
mod placed;
mod pool;
#[cfg(test)]
pub(super) mod tests;

pub(crate) use offload::{VlanTag, VnetHeader};
#[cfg(test)]
use pool::FRAME;
use pool::HANDLE;
pub use pool::{BATCH, Pool};
