//! One qdisc: a discipline, its string, and what is counted beside it.

use crate::skb::{Handle, Kernel, Offer, Skb};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use sojourn_qdisc::{
    Backlog, Counters, Dequeue, DropReason, FlowParts, Outlet, Place, Qdisc, Setting, Spec,
    SpecError, Tally,
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
    /// Packets that there was no memory for.
    lost: Tally,
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

/// Whether a discipline asks for the DSCP or the ECN field of each packet.
fn reads(spec: &Spec) -> bool {
    match spec {
        // An AQM asks for the ECN field when it has decided to signal.
        Spec::Fifo(_) | Spec::Single { .. } => false,
        Spec::Flows { flows, .. } => flows.parts != FlowParts::NONE,
        Spec::Htb { inner, .. } | Spec::Tbf { inner, .. } => reads(inner),
        Spec::Cake(_) | Spec::DualPi2(_) | Spec::CakeMq { .. } | Spec::Tree(_) => true,
    }
}

/// Hands drops to the kernel.
struct Tell<F>(F);

impl<K: Kernel, F: FnMut(Handle, DropReason)> Outlet<Skb<K>> for Tell<F> {
    fn dropped(&mut self, packet: Skb<K>, reason: DropReason) {
        (self.0)(packet.into_handle(), reason);
    }
}

impl<K: Kernel> Instance<K> {
    /// A discipline by its string.
    ///
    /// # Errors
    /// When the string names no discipline.
    pub fn new(text: &str, link: Link) -> Result<Self, SpecError> {
        let spec: Spec = text.parse()?;
        Ok(Self {
            live: spec.build(link.setting()),
            spec,
            link,
            lost: Tally::default(),
        })
    }

    /// Whether packets had better be offered with their first bytes. Without them their headers are
    /// read when the discipline asks for what is there.
    pub fn reads(&self) -> bool {
        reads(&self.spec)
    }

    /// Offers a packet. Drops that follow, of this packet or of others, are told.
    #[inline]
    pub fn enqueue(&mut self, offer: &Offer<'_>, now: Time, tell: impl FnMut(Handle, DropReason)) {
        let packet = if offer.front.is_empty() {
            Skb::unread(offer)
        } else {
            Skb::read(offer)
        };
        self.live.enqueue(packet, now, &mut Tell(tell));
    }

    /// Prepares for a packet although nothing may become twice as large. Yields the bytes that must
    /// be free in one block for it; none: it has to be lost.
    ///
    /// Stores keep the memory that they have once had. What has one store takes a packet as long as
    /// that has room. What has several (CAKE's tins, DualPI2) cannot say which of them has it, and
    /// begins anew once it is empty; else it would take nothing any more.
    pub fn makes_do(&mut self) -> Option<usize> {
        match flows_of_one_store(&self.spec) {
            Some(flows) => {
                let has_room = self.live.room().is_some_and(|packets| packets > 0);
                has_room.then_some(flows as usize * OF_FLOW)
            }
            None if self.live.backlog().packets == 0 => {
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
        match self.live.dequeue(now, &mut Tell(tell)) {
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
    /// When the string names no discipline; then nothing changes.
    pub fn change(&mut self, text: &str, now: Time) -> Result<(), SpecError> {
        let spec: Spec = text.parse()?;
        spec.reconfigure(&mut self.live, self.link.setting(), now);
        // Of what was left out, the live instance keeps what it has.
        self.spec = self.live.spec().unwrap_or(spec);
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
