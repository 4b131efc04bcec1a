//! One qdisc: a discipline, its string, and what is counted beside it.

use crate::skb::{Handle, Kernel, Offer, Skb};
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
    /// Whether the discipline asks for more than lengths.
    reads: bool,
    /// Packets that there was no memory for.
    lost: Tally,
    /// Packets held.
    held: u64,
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

/// Whether a discipline asks for more than packets' lengths.
fn reads(spec: &Spec) -> bool {
    match spec {
        Spec::Fifo(_) => false,
        Spec::Htb { inner, .. } | Spec::Tbf { inner, .. } => reads(inner),
        _ => true,
    }
}

/// Hands drops to the kernel.
struct Tell<'a, F> {
    held: &'a mut u64,
    tell: F,
}

impl<K: Kernel, F: FnMut(Handle, DropReason)> Outlet<Skb<K>> for Tell<'_, F> {
    fn dropped(&mut self, packet: Skb<K>, reason: DropReason) {
        *self.held -= 1;
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
            reads: reads(&spec),
            spec,
            link,
            lost: Tally::default(),
            held: 0,
            most: 0,
        })
    }

    /// Offers a packet. Drops that follow, of this packet or of others, are told.
    #[inline]
    pub fn enqueue(&mut self, offer: &Offer<'_>, now: Time, tell: impl FnMut(Handle, DropReason)) {
        let packet = if self.reads {
            Skb::read(offer)
        } else {
            Skb::unread(offer)
        };
        self.held += 1;
        let held = &mut self.held;
        self.live.enqueue(packet, now, &mut Tell { held, tell });
        self.most = self.most.max(self.held);
    }

    /// Prepares for a packet although nothing may become twice as large. Yields the bytes that must
    /// be free in one block for it; none: it has to be lost.
    ///
    /// Stores keep the memory that they have once had. What has one store takes a packet as long as
    /// it has held more. What has several (CAKE's tins, DualPI2) cannot say which of them has it,
    /// and begins anew once it is empty; else it would take nothing any more.
    pub fn makes_do(&mut self) -> Option<usize> {
        let held = self.held;
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
    #[inline]
    pub fn dequeue(&mut self, now: Time, tell: impl FnMut(Handle, DropReason)) -> Taken {
        let held = &mut self.held;
        match self.live.dequeue(now, &mut Tell { held, tell }) {
            Dequeue::Packet { packet, .. } => {
                self.held -= 1;
                Taken::Packet {
                    marked: packet.is_marked(),
                    handle: packet.into_handle(),
                }
            }
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
        self.reads = reads(&self.spec);
        self.most = self.held;
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
        (self.held, self.most) = (0, 0);
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
