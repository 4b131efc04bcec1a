//! One qdisc: a discipline, its string, and what is counted beside it.

use crate::skb::{Handle, Kernel, Skb};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use sojourn_qdisc::{
    Backlog, Counters, Dequeue, DropReason, Outlet, Place, Qdisc, Setting, Spec, SpecError, Tally,
};
use sojourn_units::Time;

/// What an instance knows of the device below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Seed of its dice.
    pub seed: u64,
    /// Largest packet, link-layer header included: bytes.
    pub mtu: u32,
    /// Link-layer header: bytes.
    pub link_header: u32,
}

impl Link {
    const fn setting(&self) -> Setting<'static> {
        Setting {
            seed: self.seed,
            name: "qdisc",
            mtu: self.mtu,
            link_header: self.link_header,
        }
    }
}

/// A packet that is offered, as the kernel describes it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The packet.
    pub handle: Handle,
    /// `qdisc_pkt_len`: bytes.
    pub len: u32,
    /// `skb->mark`.
    pub mark: u32,
    /// Minor number of `skb->priority` if its major one is the qdisc's; else zero.
    pub class: u16,
    /// The packet's first bytes, up to [`FRONT`](crate::FRONT).
    pub front: &'a [u8],
}

/// What taking a packet yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Send it.
    Packet {
        /// The packet.
        handle: Handle,
        /// Whether the discipline has set CE.
        marked: bool,
    },
    /// None may leave before this time.
    NotBefore(Time),
    /// None is held.
    Empty,
}

/// One qdisc.
pub struct Instance<K: Kernel> {
    live: Box<dyn Qdisc<Skb<K>>>,
    spec: Spec,
    link: Link,
    /// Packets that there was no memory for.
    lost: Tally,
    /// Most packets that its store has held: for so many it has memory.
    most: u64,
}

/// Bytes that a flow may take in what a flow queue keeps beside its packets, doubled.
const OF_FLOW: usize = 32;

/// The flows of a discipline that keeps all packets in one store; none: it has several.
fn flows_of_one_store(spec: &Spec) -> Option<u32> {
    match spec {
        Spec::Fifo(_) | Spec::Single { .. } => Some(1),
        Spec::Flows { flows, .. } => Some(flows.flows),
        Spec::Htb { inner, .. } | Spec::Tbf { inner, .. } => flows_of_one_store(inner),
        Spec::Cake(_) | Spec::DualPi2(_) | Spec::CakeMq { .. } | Spec::Tree(_) => None,
    }
}

/// Hands drops to the kernel.
struct Tell<'a> {
    tell: &'a mut dyn FnMut(Handle, DropReason),
}

impl<K: Kernel> Outlet<Skb<K>> for Tell<'_> {
    fn dropped(&mut self, packet: Skb<K>, reason: DropReason) {
        (self.tell)(packet.into_handle(), reason);
    }
}

impl<K: Kernel> Instance<K> {
    /// A discipline by its string.
    ///
    /// # Errors
    /// When the string is no discipline's.
    pub fn new(text: &str, link: Link) -> Result<Self, SpecError> {
        let spec: Spec = text.parse()?;
        Ok(Self {
            live: spec.build(link.setting()),
            spec,
            link,
            lost: Tally::default(),
            most: 0,
        })
    }

    /// Offers a packet. Drops that follow, of this packet or of others, are told.
    pub fn enqueue(
        &mut self,
        offer: &Offer<'_>,
        now: Time,
        tell: &mut dyn FnMut(Handle, DropReason),
    ) {
        let packet = Skb::new(
            offer.handle,
            offer.len,
            offer.mark,
            offer.class,
            offer.front,
        );
        self.live.enqueue(packet, now, &mut Tell { tell });
        self.most = self.most.max(self.live.backlog().packets);
    }

    /// Prepares for a packet although nothing may become twice as large. Yields the bytes that must
    /// be free in one block for it; none: it has to be lost.
    ///
    /// Stores keep the memory that they have once had. What has one store takes a packet as long as
    /// it has held more. What has several (CAKE's tins, DualPI2) cannot say which of them has it,
    /// and begins anew once it is empty; else it would take nothing any more.
    pub fn makes_do(&mut self) -> Option<usize> {
        let held = self.live.backlog().packets;
        match flows_of_one_store(&self.spec) {
            Some(flows) => (held < self.most).then_some(flows as usize * OF_FLOW),
            None if held == 0 => {
                self.reset();
                Some(1)
            }
            None => None,
        }
    }

    /// Counts a packet that there was no memory for: it was not offered.
    pub fn lost(&mut self, len: u32) {
        self.lost.add(len);
    }

    /// Takes the next packet. Drops at the head are told.
    pub fn dequeue(&mut self, now: Time, tell: &mut dyn FnMut(Handle, DropReason)) -> Taken {
        match self.live.dequeue(now, &mut Tell { tell }) {
            Dequeue::Packet { packet, .. } => Taken::Packet {
                marked: packet.is_marked(),
                handle: packet.into_handle(),
            },
            Dequeue::NotBefore(time) => Taken::NotBefore(time),
            Dequeue::Empty => Taken::Empty,
        }
    }

    /// Follows another string. What is held stays, in its order.
    ///
    /// # Errors
    /// When the string is no discipline's; then nothing changes.
    pub fn change(&mut self, text: &str, now: Time) -> Result<(), SpecError> {
        let spec: Spec = text.parse()?;
        spec.reconfigure(&mut self.live, self.link.setting(), now);
        // Of what was left out, the live instance keeps what it has.
        self.spec = self.live.spec().unwrap_or(spec);
        self.most = self.live.backlog().packets;
        Ok(())
    }

    /// Drops all that is held and begins anew; what was counted stays.
    pub fn reset(&mut self) {
        let mut counters = self.counters();
        self.lost = Tally::default();
        let held = self.live.backlog();
        counters.dropped += held;
        counters.drops[DropReason::Stale as usize] += held.packets;
        // What is held goes first, so that the new instance finds the memory of the old one.
        self.live = Spec::pfifo(0).build(self.link.setting());
        self.live = self.spec.build(self.link.setting());
        self.live.adopt(alloc::vec::Vec::new(), counters);
        self.most = 0;
    }

    /// What is held.
    pub fn backlog(&self) -> Backlog {
        self.live.backlog()
    }

    /// All that was counted.
    pub fn counters(&self) -> Counters {
        let mut counters = *self.live.counters();
        counters.no_buffer(self.lost);
        counters
    }

    /// The string of what is in force.
    pub fn text(&self) -> String {
        self.spec.to_string()
    }

    /// What `tc -s -j` of a kernel with this discipline would show.
    pub fn json(&self, handle: u16, now: Time) -> String {
        self.live.report(now).tc_json(Place { dev: None, handle })
    }
}
