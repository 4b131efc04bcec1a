//! A packet that the kernel owns.
//!
//! Queues move packets about, so that this one is small: 24 bytes. What a queue asks for seldom, or
//! only when the packet comes, is read where the kernel has it.

use core::marker::PhantomData;
use core::mem;
use core::num::NonZeroUsize;
use sojourn_qdisc::{AckFacts, Ecn, InsideHashes, Packet};
use sojourn_random::mix;
use sojourn_wire::{FlowKey, Network, Parsed, Plain, ack_facts, ether_type, parse, plain_tos};

/// Bytes of a packet that are looked at: Ethernet with two VLAN tags, IPv6 with a short extension
/// header, and the longest TCP header.
pub const FRONT: usize = 128;

/// DSCP of what has none and keeps a network going.
const CS7: u8 = 56;

/// What the kernel knows a packet by, opaque here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(NonZeroUsize);

impl Handle {
    /// None for zero, which is no packet.
    #[inline]
    pub const fn new(number: usize) -> Option<Self> {
        match NonZeroUsize::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number that it was made from.
    #[inline]
    pub const fn number(self) -> usize {
        self.0.get()
    }
}

/// What a discipline asks of the kernel about a packet.
pub trait Kernel: Send + 'static {
    /// Copies the packet's first bytes, and returns how many there are. They are those that it was
    /// offered with, but for ECN and DSCP. They begin with an Ethernet header, which the kernel
    /// makes up for devices without one.
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize;

    /// Shows the packet's first bytes, up to [`FRONT`], where they lie if that can be.
    #[inline]
    fn look<R>(packet: Handle, look: impl FnOnce(&[u8]) -> R) -> R {
        let mut room = [0; FRONT];
        let filled = Self::front(packet, &mut room).min(FRONT);
        look(&room[..filled])
    }

    /// Sets CE in a packet that is ECN-capable; returns false when its header cannot be written.
    fn set_ce(packet: Handle) -> bool;

    /// Clears the DSCP, if the header can be written.
    fn clear_dscp(packet: Handle);

    /// `skb->mark`.
    fn mark(_packet: Handle) -> u32 {
        0
    }

    /// What an IPv4 packet's source, destination and ports (the source's in the upper half) are
    /// inside a network address translation, in the host's byte order. None: nothing is known.
    fn inside(_packet: Handle) -> Option<[u32; 3]> {
        None
    }

    /// Minor number of `skb->priority` if its major one is the qdisc's; else zero.
    fn class(_packet: Handle) -> u16 {
        0
    }

    /// Frees a packet that a discipline gave up with its memory.
    fn free(packet: Handle);
}

/// A packet that is offered, as the kernel describes it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The packet.
    pub handle: Handle,
    /// `qdisc_pkt_len`: bytes.
    pub len: u32,
    /// `skb->truesize`: bytes.
    pub memory: u32,
    /// `skb->hash`, if it is one over addresses and ports; zero: there is none.
    pub hash: u32,
    /// The packet's first bytes, up to [`FRONT`]; none: they are looked at when they are needed.
    pub front: &'a [u8],
}

/// A packet of the kernel's, and what is known of it.
#[derive(Debug)]
pub struct Skb<K: Kernel> {
    handle: Handle,
    len: u32,
    memory: u32,
    hash: u32,
    /// What follows is not known if this is [`UNREAD`]. Where the IP header begins; zero: there is
    /// none, or it is not safely found.
    network_offset: u8,
    tos: u8,
    /// Whether the discipline has set CE. Not a `bool`: the compiler would tell a free place in a
    /// queue by it, and then not move the packet as whole words.
    marked: u8,
    kernel: PhantomData<K>,
}

/// A [`Skb::network_offset`] that no packet has.
const UNREAD: u8 = u8::MAX;

impl<K: Kernel> Skb<K> {
    /// A packet whose headers nobody has read.
    #[inline]
    pub const fn unread(offer: &Offer<'_>) -> Self {
        Self::of(offer, UNREAD, 0)
    }

    /// A packet whose TOS byte is known: AQMs ask often for the ECN field.
    #[inline]
    pub fn read(offer: &Offer<'_>) -> Self {
        let (network_offset, tos) = facts(offer.front);
        Self::of(offer, network_offset, tos)
    }

    #[inline]
    const fn of(offer: &Offer<'_>, network_offset: u8, tos: u8) -> Self {
        Self {
            handle: offer.handle,
            len: offer.len,
            memory: offer.memory,
            hash: offer.hash,
            network_offset,
            tos,
            marked: 0,
            kernel: PhantomData,
        }
    }

    /// What its headers say, read again.
    #[cold]
    fn parsed(&self) -> Parsed {
        K::look(self.handle, parse)
    }

    /// What is read of a packet that was not when it came.
    #[cold]
    fn read_late(&self) -> (u8, u8) {
        K::look(self.handle, facts)
    }

    /// The network offset and the TOS byte.
    #[inline]
    fn facts(&self) -> (u8, u8) {
        match self.network_offset {
            UNREAD => self.read_late(),
            offset => (offset, self.tos),
        }
    }

    /// A hash of its key.
    #[inline]
    fn hashed<R>(&self, hash: impl Fn(&FlowKey) -> R) -> R {
        K::look(self.handle, |front| match Plain::read(front) {
            Some(plain) => hash(&plain.flow()),
            None => hash(&parse(front).flow),
        })
    }

    /// Whether the discipline has set CE.
    #[inline]
    pub const fn is_marked(&self) -> bool {
        self.marked != 0
    }

    /// Gives the packet back to the kernel.
    #[inline]
    pub fn into_handle(self) -> Handle {
        let handle = self.handle;
        mem::forget(self);
        handle
    }
}

/// Where the IP header begins, and the TOS byte. There are less than 128 bytes before it.
#[inline]
fn facts(front: &[u8]) -> (u8, u8) {
    match plain_tos(front) {
        Some(tos) => (Plain::NETWORK_OFFSET as u8, tos),
        None => facts_of_others(front),
    }
}

/// The same of the less frequent packets.
#[inline(never)]
fn facts_of_others(front: &[u8]) -> (u8, u8) {
    let parsed = parse(front);
    (parsed.network_offset as u8, parsed.tos)
}

/// A discipline that is given up takes what it holds along.
impl<K: Kernel> Drop for Skb<K> {
    fn drop(&mut self) {
        K::free(self.handle);
    }
}

impl<K: Kernel> Packet for Skb<K> {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn memory(&self) -> u32 {
        self.memory
    }

    /// That of a socket or a network card, where there is one. It is the same for all packets of a
    /// flow, and the perturbation is in it too.
    #[inline]
    fn flow_hash(&self, perturbation: u64) -> u32 {
        match self.hash {
            0 => self.hashed(|flow| flow.hash(perturbation)),
            hash => (mix(perturbation ^ u64::from(hash)) >> 32) as u32,
        }
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.facts().1)
    }

    fn set_ce(&mut self) -> bool {
        (self.network_offset, self.tos) = self.facts();
        match self.ecn() {
            Ecn::NotEct => false,
            Ecn::Ce => true,
            Ecn::Ect0 | Ecn::Ect1 => {
                let is_set = K::set_ce(self.handle);
                if is_set {
                    self.marked = 1;
                    self.tos |= Ecn::Ce as u8;
                }
                is_set
            }
        }
    }

    #[inline]
    fn dscp(&self) -> u8 {
        match self.facts() {
            (0, _) => self.dscp_without_ip(),
            (_, tos) => tos >> 2,
        }
    }

    fn clear_dscp(&mut self) {
        (self.network_offset, self.tos) = self.facts();
        if self.tos >> 2 != 0 {
            K::clear_dscp(self.handle);
            self.tos &= Ecn::Ce as u8;
        }
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        self.hashed(|flow| (flow.src_hash(perturbation), flow.dst_hash(perturbation)))
    }

    /// As Linux's CAKE, which takes ports from the translation if the packet has some.
    fn inside_hashes(&self, perturbation: u64) -> Option<InsideHashes> {
        let [src, dst, ports] = K::inside(self.handle)?;
        self.hashed(|outside| {
            let (src_port, dst_port) = if outside.dst_port == 0 {
                (outside.src_port, 0)
            } else {
                ((ports >> 16) as u16, ports as u16)
            };
            let inside = FlowKey {
                src_port,
                dst_port,
                ..FlowKey::of_v4(src, dst, 0, outside.protocol)
            };
            (inside != *outside).then(|| InsideHashes {
                flow: inside.hash(perturbation),
                hosts: (inside.src_hash(perturbation), inside.dst_hash(perturbation)),
            })
        })
    }

    fn mark(&self) -> u32 {
        K::mark(self.handle)
    }

    fn class(&self) -> u16 {
        K::class(self.handle)
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.parsed().flow == other.parsed().flow
    }

    fn ack(&self) -> Option<AckFacts> {
        K::look(self.handle, |front| ack_facts(front, &parse(front)))
    }

    /// Where it is that of the link, the link says it: a device without Ethernet has none there.
    #[inline]
    fn network_offset(&self) -> Option<u32> {
        let (offset, _) = self.facts();
        (u16::from(offset) > Plain::NETWORK_OFFSET).then_some(offset.into())
    }
}

impl<K: Kernel> Skb<K> {
    #[cold]
    fn dscp_without_ip(&self) -> u8 {
        let parsed = self.parsed();
        let is_arp = parsed.flow.ether_type == ether_type::ARP;
        if parsed.network == Network::Opaque && is_arp {
            return CS7;
        }
        parsed.dscp()
    }
}
