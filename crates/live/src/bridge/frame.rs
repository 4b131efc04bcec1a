//! Frames in memory, and the pool that they come from and return to.

use super::port::BATCH;
use crate::sys::Partial;
use sojourn_qdisc::{AckFacts, Ecn, InsideHashes, Packet};
use sojourn_units::Time;
use sojourn_wire::{
    FlowKey, Network, Parsed, ack_facts, clear_dscp, ether_type, parse, protocol, set_ce,
};
use sojourn_world::Label;

/// Room before the frame, for a VLAN tag that the kernel has taken out.
pub(crate) const HEADROOM: usize = 16;
/// Bytes of a frame's first part: a full Ethernet frame with tags, and all of its headers.
pub(crate) const HEAD: usize = 2048;
/// Bytes of a frame's second part. With `HEAD` above the largest segmentation offload that
/// Linux makes unless told otherwise (64 KiB and headers).
pub(crate) const TAIL: usize = 64 * 1024;
/// A VLAN tag (IEEE 802.1Q).
const TAG: usize = 4;

/// `struct virtio_net_hdr` of a packet socket (Linux `if_packet.h`, virtio 1.1 section 5.1.6):
/// what segmentation and checksum the sender left to the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    pub(crate) flags: u8,
    pub(crate) gso_type: u8,
    pub(crate) hdr_len: u16,
    pub(crate) gso_size: u16,
    pub(crate) csum_start: u16,
    pub(crate) csum_offset: u16,
}

impl VnetHeader {
    /// The checksum at `csum_start + csum_offset` is partial.
    pub(crate) const NEEDS_CSUM: u8 = 1;
    /// Its bytes before a frame, in native order.
    pub(crate) const LEN: usize = 10;

    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let [flags, gso_type, h0, h1, g0, g1, s0, s1, o0, o1] = bytes;
        Self {
            flags,
            gso_type,
            hdr_len: u16::from_ne_bytes([h0, h1]),
            gso_size: u16::from_ne_bytes([g0, g1]),
            csum_start: u16::from_ne_bytes([s0, s1]),
            csum_offset: u16::from_ne_bytes([o0, o1]),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let [h0, h1] = self.hdr_len.to_ne_bytes();
        let [g0, g1] = self.gso_size.to_ne_bytes();
        let [s0, s1] = self.csum_start.to_ne_bytes();
        let [o0, o1] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, g0, g1, s0, s1, o0, o1]
    }
}

/// A VLAN tag that the kernel took out of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VlanTag {
    pub(crate) protocol: u16,
    pub(crate) tci: u16,
}

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
    /// The leaf of a tree of rates that it is for; 0: none.
    circuit: u32,
    /// Segments that were cut off, while a super-packet is being cut.
    cut: u16,
    /// Where the frame begins in `head`.
    start: u16,
    head: [u8; HEADROOM + HEAD],
    tail: Option<Box<[u8]>>,
}

impl Frame {
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
        let head = bytes.len().min(HEAD);
        frame.0.head[HEADROOM..HEADROOM + head].copy_from_slice(&bytes[..head]);
        if bytes.len() > HEAD {
            let mut tail = pool.take_tail(bytes.len() - HEAD);
            tail[..bytes.len() - HEAD].copy_from_slice(&bytes[HEAD..]);
            frame.0.tail = Some(tail);
        }
        frame.filled(bytes.len(), VnetHeader::default(), tag, arrived);
        Some(frame)
    }

    /// Another one with the same bytes, behind the queue; none without memory for it.
    pub(crate) fn copied(&self, pool: &mut Pool) -> Option<Self> {
        let mut copy = pool.take()?;
        let (inner, to) = (&*self.0, &mut *copy.0);
        let (head, tail) = self.parts();
        let start = usize::from(inner.start);
        to.head[start..start + head.len()].copy_from_slice(head);
        if !tail.is_empty() {
            let mut room = pool.take_tail(tail.len());
            room[..tail.len()].copy_from_slice(tail);
            to.tail = Some(room);
        }
        (to.parsed, to.arrived, to.vnet) = (inner.parsed, inner.arrived, inner.vnet);
        (to.size, to.wire_len, to.start) = (inner.size, inner.wire_len, inner.start);
        (to.inside, to.mark, to.class, to.cut) = (inner.inside, inner.mark, inner.class, 0);
        to.circuit = inner.circuit;
        Some(copy)
    }

    /// The buffer to receive the first [`HEAD`] bytes into.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.0.head[HEADROOM..]
    }

    /// Attaches the buffer that holds what did not fit into [`Frame::buffer`].
    pub(crate) fn attach(&mut self, tail: Box<[u8]>) {
        self.0.tail = Some(tail);
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
        inner.start = HEADROOM as u16;
        inner.size = len as u32;
        inner.vnet = vnet;
        // Other flags say what the receiver may trust; they have no meaning when sending.
        inner.vnet.flags &= VnetHeader::NEEDS_CSUM;
        inner.arrived = arrived;
        (inner.inside, inner.mark, inner.class, inner.cut) = (None, 0, 0, 0);
        inner.circuit = 0;
        if let Some(tag) = tag.filter(|_| len >= 12) {
            inner.put_tag_back(tag);
        }
        let head = inner.head_end();
        inner.parsed = parse(&inner.head[usize::from(inner.start)..head]);
        inner.wire_len = inner.count_wire_len();
    }

    /// The frame's bytes in two parts; the second is empty for all but jumbo frames and
    /// super-packets.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        let inner = &*self.0;
        let start = usize::from(inner.start);
        let head = &inner.head[start..inner.head_end()];
        let rest = inner.size as usize - head.len();
        let tail = inner.tail.as_deref().map_or(&[][..], |tail| &tail[..rest]);
        (head, tail)
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

    /// The addresses inside a translation.
    pub(crate) fn set_inside(&mut self, inside: Option<FlowKey>) {
        self.0.inside = inside;
    }

    pub(crate) fn vnet(&self) -> &VnetHeader {
        &self.0.vnet
    }

    /// Its checksum is partial.
    pub(crate) fn leave_checksum(&mut self, (start, offset): Partial) {
        let vnet = &mut self.0.vnet;
        vnet.flags |= VnetHeader::NEEDS_CSUM;
        (vnet.csum_start, vnet.csum_offset) = (start, offset);
    }

    /// Its checksum, if that is partial.
    pub(crate) fn partial_checksum(&self) -> Option<Partial> {
        let vnet = self.vnet();
        let is_partial = vnet.flags & VnetHeader::NEEDS_CSUM != 0;
        is_partial.then_some((vnet.csum_start, vnet.csum_offset))
    }
}

impl Inner {
    /// Where the first part ends. A tag put back makes the first part longer, not the second.
    fn head_end(&self) -> usize {
        let room = HEADROOM + HEAD - usize::from(self.start);
        usize::from(self.start) + (self.size as usize).min(room)
    }

    fn put_tag_back(&mut self, tag: VlanTag) {
        self.head
            .copy_within(HEADROOM..HEADROOM + 12, HEADROOM - TAG);
        self.head[HEADROOM + 8..HEADROOM + 10].copy_from_slice(&tag.protocol.to_be_bytes());
        self.head[HEADROOM + 10..HEADROOM + 12].copy_from_slice(&tag.tci.to_be_bytes());
        self.start = (HEADROOM - TAG) as u16;
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
        let tail = self.0.tail.as_ref().map_or(0, |tail| tail.len());
        (FRAME + tail) as u32
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        self.0.parsed.flow.hash(perturbation)
    }

    fn ecn(&self) -> Ecn {
        self.0.parsed.ecn()
    }

    fn set_ce(&mut self) -> bool {
        let inner = &mut *self.0;
        set_ce(
            &mut inner.head[usize::from(inner.start)..],
            &mut inner.parsed,
        )
    }

    fn dscp(&self) -> u8 {
        const CS7: u8 = 56;
        let parsed = &self.0.parsed;
        if parsed.network == Network::Opaque && parsed.flow.ether_type == ether_type::ARP {
            return CS7;
        }
        self.0.parsed.dscp()
    }

    fn clear_dscp(&mut self) {
        let inner = &mut *self.0;
        clear_dscp(
            &mut inner.head[usize::from(inner.start)..],
            &mut inner.parsed,
        );
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
        ack_facts(self.parts().0, &self.0.parsed)
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

/// Bytes that a frame holds, beside its second part.
pub(crate) const FRAME: usize = size_of::<Inner>();
/// Smallest second part.
const LEAST_TAIL: usize = 4 * 1024;
/// Sizes of second parts: 4, 8, 16, 32 and 64 KiB.
const TAILS: usize = (TAIL / LEAST_TAIL).ilog2() as usize + 1;
/// Bytes that a pool keeps for the next frames. What it gets back beyond that it gives back too.
const SPARE: usize = 16 << 20;

/// Buffers, used again: in the usual run of things nothing is allocated per frame. A buffer fits
/// its frame, and all that is lent out is counted as what it takes.
#[derive(Debug)]
pub struct Pool {
    spare: Vec<Frame>,
    /// By size.
    spare_tails: [Vec<Box<[u8]>>; TAILS],
    spare_bytes: usize,
    out: usize,
    bytes: usize,
    limit: usize,
    /// Bytes that have gone back to the allocator.
    freed: u64,
}

impl Pool {
    /// A pool that lends out up to `limit` frames of up to 2 KiB, or the memory of so many.
    pub fn new(limit: usize) -> Self {
        Self {
            spare: Vec::new(),
            spare_tails: std::array::from_fn(|_| Vec::new()),
            spare_bytes: 0,
            out: 0,
            bytes: 0,
            limit: limit.saturating_mul(FRAME),
            freed: 0,
        }
    }

    /// A pool that lends out up to `bytes`, and as much again as a port keeps ready to receive
    /// into: whole batches of the longest frames.
    pub(crate) fn of(bytes: u64) -> Self {
        let mut pool = Self::new(0);
        pool.set_limit(bytes);
        pool
    }

    /// Lends out so many bytes from now on, as [`Pool::of`] counts. What is lent out beyond that
    /// comes back in its own time.
    pub(crate) fn set_limit(&mut self, bytes: u64) {
        let ready = BATCH * (FRAME + TAIL);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.limit = bytes.saturating_add(ready);
    }

    /// An empty frame; none when all memory is lent out.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        if self.room() == 0 {
            return None;
        }
        self.out += 1;
        self.bytes += FRAME;
        if let Some(frame) = self.spare.pop() {
            self.spare_bytes -= FRAME;
            return Some(frame);
        }
        Some(Frame(Box::new(Inner {
            parsed: Parsed::default(),
            arrived: Time::ZERO,
            size: 0,
            wire_len: 0,
            vnet: VnetHeader::default(),
            inside: None,
            mark: 0,
            class: 0,
            circuit: 0,
            cut: 0,
            start: HEADROOM as u16,
            head: [0; HEADROOM + HEAD],
            tail: None,
        })))
    }

    /// How many frames there still are.
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes) / FRAME
    }

    /// A second part for this many bytes. There is always one: a frame has at most one, and the
    /// next frame is refused.
    pub(crate) fn take_tail(&mut self, len: usize) -> Box<[u8]> {
        let size = len.next_power_of_two().clamp(LEAST_TAIL, TAIL);
        self.bytes += size;
        let spare = self.spare_tails[Self::class(size)].pop();
        if spare.is_some() {
            self.spare_bytes -= size;
        }
        spare.unwrap_or_else(|| vec![0; size].into_boxed_slice())
    }

    fn class(size: usize) -> usize {
        (size / LEAST_TAIL).ilog2() as usize
    }

    /// Whether something of this size is to be kept for the next frame.
    fn keeps(&mut self, size: usize) -> bool {
        let keeps = self.spare_bytes + size <= SPARE;
        if keeps {
            self.spare_bytes += size;
        } else {
            self.freed += size as u64;
        }
        keeps
    }

    /// Takes a frame back.
    pub fn give(&mut self, mut frame: Frame) {
        debug_assert!(self.out > 0, "more frames came back than were lent out");
        self.out -= 1;
        self.bytes -= FRAME;
        if let Some(tail) = frame.0.tail.take() {
            self.bytes -= tail.len();
            if self.keeps(tail.len()) {
                self.spare_tails[Self::class(tail.len())].push(tail);
            }
        }
        if self.keeps(FRAME) {
            self.spare.push(frame);
        }
    }

    /// Frames that are lent out.
    pub fn lent(&self) -> usize {
        self.out
    }

    /// Bytes that have gone back to the allocator since the pool was made.
    pub(crate) fn freed(&self) -> u64 {
        self.freed
    }

    /// Bytes that are lent out.
    pub(crate) fn lent_bytes(&self) -> u64 {
        self.bytes as u64
    }
}

mod cut;
#[cfg(test)]
mod tests;
