//! A packet that the kernel owns.

use core::marker::PhantomData;
use core::mem;
use core::num::NonZeroUsize;
use sojourn_qdisc::{AckFacts, Ecn, Packet, truesize};
use sojourn_wire::{Network, Parsed, ack_facts, ether_type, parse, protocol};

/// Bytes of a packet that are looked at: Ethernet with two VLAN tags, IPv6 with a short extension
/// header, and the longest TCP header.
pub const FRONT: usize = 128;

/// What the kernel knows a packet by, opaque here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(NonZeroUsize);

impl Handle {
    /// None for zero, which is no packet.
    pub const fn new(number: usize) -> Option<Self> {
        match NonZeroUsize::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number that it was made from.
    pub const fn number(self) -> usize {
        self.0.get()
    }
}

/// What a discipline asks of the kernel about a packet.
pub trait Kernel: Send + 'static {
    /// Copies the packet's first bytes, and returns how many there are.
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize;

    /// Sets CE in a packet that is ECN-capable; returns false when its header cannot be written.
    fn set_ce(packet: Handle) -> bool;

    /// Clears the DSCP, if the header can be written.
    fn clear_dscp(packet: Handle);

    /// Frees a packet that a discipline gave up with its memory.
    fn free(packet: Handle);
}

/// A packet of the kernel's, and what is known of it.
#[derive(Debug)]
pub struct Skb<K: Kernel> {
    handle: Handle,
    len: u32,
    mark: u32,
    class: u16,
    marked: bool,
    parsed: Parsed,
    kernel: PhantomData<K>,
}

impl<K: Kernel> Skb<K> {
    /// A packet of `len` bytes that begins with `front`.
    pub fn new(handle: Handle, len: u32, mark: u32, class: u16, front: &[u8]) -> Self {
        Self {
            handle,
            len,
            mark,
            class,
            marked: false,
            parsed: parse(front),
            kernel: PhantomData,
        }
    }

    /// Whether the discipline has set CE.
    pub const fn is_marked(&self) -> bool {
        self.marked
    }

    /// Gives the packet back to the kernel.
    pub fn into_handle(self) -> Handle {
        let handle = self.handle;
        mem::forget(self);
        handle
    }
}

/// A discipline that is given up takes what it holds along.
impl<K: Kernel> Drop for Skb<K> {
    fn drop(&mut self) {
        K::free(self.handle);
    }
}

impl<K: Kernel> Packet for Skb<K> {
    fn len(&self) -> u32 {
        self.len
    }

    fn memory(&self) -> u32 {
        match self.parsed.flow.protocol {
            protocol::TCP => {
                truesize::of_segment(self.len.saturating_sub(self.parsed.header_len.into()))
            }
            _ => truesize::of_datagram(self.len),
        }
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        self.parsed.flow.hash(perturbation)
    }

    fn ecn(&self) -> Ecn {
        self.parsed.ecn()
    }

    fn set_ce(&mut self) -> bool {
        match self.parsed.ecn() {
            Ecn::NotEct => false,
            Ecn::Ce => true,
            Ecn::Ect0 | Ecn::Ect1 => {
                self.marked = K::set_ce(self.handle);
                self.parsed.tos |= if self.marked { Ecn::Ce as u8 } else { 0 };
                self.marked
            }
        }
    }

    fn dscp(&self) -> u8 {
        const CS7: u8 = 56;
        let parsed = &self.parsed;
        if parsed.network == Network::Opaque && parsed.flow.ether_type == ether_type::ARP {
            return CS7;
        }
        parsed.dscp()
    }

    fn clear_dscp(&mut self) {
        if self.parsed.dscp() != 0 {
            K::clear_dscp(self.handle);
            self.parsed.tos &= Ecn::Ce as u8;
        }
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        let flow = &self.parsed.flow;
        (flow.src_hash(perturbation), flow.dst_hash(perturbation))
    }

    fn mark(&self) -> u32 {
        self.mark
    }

    fn class(&self) -> u16 {
        self.class
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.parsed.flow == other.parsed.flow
    }

    fn ack(&self) -> Option<AckFacts> {
        if self.parsed.flow.protocol != protocol::TCP {
            return None;
        }
        let mut room = [0; FRONT];
        let filled = K::front(self.handle, &mut room).min(FRONT);
        ack_facts(&room[..filled], &self.parsed)
    }

    fn network_offset(&self) -> Option<u32> {
        match self.parsed.network {
            Network::Opaque => None,
            Network::Ipv4 | Network::Ipv6 => Some(self.parsed.network_offset.into()),
        }
    }
}
