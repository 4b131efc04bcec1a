//! CAKE: shaper over tins over host-fair flow queues under COBALT.
//!
//! Source: Høiland-Jørgensen, Täht, Morton, "Piece of CAKE" (2018); `tc-cake(8)`; compared with
//! Linux `sch_cake.c` (6.1).
//! Units: bytes, bit/s, integer nanoseconds.
//!
//! The parts work alone: [`VirtualClock`], [`LinkLayer`](crate::LinkLayer),
//! [`DiffServ`](crate::DiffServ), [`HostFair`](crate::HostFair) over any flow queue,
//! [`AckFilter`](crate::AckFilter), [`Cobalt`](crate::Cobalt). `cake/tin.rs` has a tin. This file
//! puts them together and adds what concerns all tins: choosing one, the memory limit, the estimate
//! of an incoming rate.
//!
//! With a shaper, the highest tin whose own clock is due goes first, else the one whose clock is
//! due soonest: a threshold limits a tin's priority, not what it may use. Without one, tins take
//! turns by weight.
//!
//! Invariants: offered = dequeued + dropped + held; packets of a flow leave in order; at most the
//! memory limit is held after every call.
//!
//! Memory: about 900 bytes for each tin before its first packet; then 9 KiB of buckets for each
//! tin in use, 88 bytes a flow, and each packet with about 24 bytes; 8 KiB for a tin in which more
//! than 64 flows have had turns at once, and 1600 bytes for one in which 13 to 64 flows of one host
//! have.
//!
//! Differs from Linux: there is no list of decaying flows (see `cobalt`); a super-packet that the
//! world cannot cut ([`Outlet::cut`]) stays whole and is charged by its segments; `wash` clears
//! the DSCP of what leaves, not of what arrives, so that new tins can still be chosen by it; tc
//! filters do not choose tins or flows. Each tin has its own table of hosts, as in Linux.
//!
//! Cost: with many bulk flows of one host, `triple-isolate` and the dual modes give each flow a few
//! bytes a turn, so that a packet takes many turns. Linux walks them all, and so do we with up to
//! 12 flows. From 13 to 64 flows of one host a ring visits only flows that may have credit, with
//! the same probabilities (see `flow::ring`). Beyond, flows in debt wait outside the round (see
//! `flow::debts`).

use crate::accounts::{Backlog, Counters, DropReason};
use crate::change::{ChangeError, alike, unchanged};
use crate::flow::Sharing;
use crate::packet::Packet;
use crate::params::CakeParams;
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::{Field, Report, Value, int};
use crate::shaper::{Pace, VirtualClock};
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use autorate::Autorate;
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};
use tin::Tin;

mod autorate;
mod choice;
mod sizes;
mod tin;
mod turns;
mod worker;

/// Least memory limit of a shaper.
const LEAST_MEMORY: u64 = 4 << 20;
/// Packets of full size that fit into the memory limit at most.
const MOST_PACKETS: u64 = 10_240;

/// CAKE.
#[derive(Clone, Debug)]
pub struct Cake<P, C = VirtualClock> {
    params: CakeParams,
    mtu: u32,
    link_header: u32,
    /// How all tins share: what follows from the parameters.
    sharing: Sharing,
    /// The rate in force; zero is unlimited.
    rate: Rate,
    clock: C,
    tins: Vec<Tin<P>>,
    /// Which tins hold packets, and their turns when there is no shaper.
    turns: turns::Turns,
    /// Tin that the last packet came from.
    served: u32,
    /// Memory of the packets in all tins.
    held: u64,
    memory_limit: u64,
    memory_most: u64,
    is_overloaded: bool,
    sizes: sizes::Sizes,
    autorate: Autorate,
    counters: Counters,
}

/// Counts drops and marks on their way out, and what dropped packets have used of the link.
struct Audit<'a, P> {
    counters: &'a mut Counters,
    /// With `ingress`: how packets are charged, and the sum.
    charge: Option<&'a Sharing>,
    charged: u64,
    out: &'a mut dyn Outlet<P>,
}

impl<'a, P> Audit<'a, P> {
    fn new(
        counters: &'a mut Counters,
        charge: Option<&'a Sharing>,
        out: &'a mut dyn Outlet<P>,
    ) -> Self {
        Self {
            counters,
            charge,
            charged: 0,
            out,
        }
    }
}

impl<P: Packet> Outlet<P> for Audit<'_, P> {
    fn dropped(&mut self, packet: P, reason: DropReason) {
        self.counters.drop(packet.len(), reason);
        // An acknowledgement that the filter drops is made up for by the one that has replaced
        // it, and never used the link twice.
        if let Some(sharing) = self.charge.filter(|_| reason != DropReason::AckFilter) {
            self.charged += u64::from(sharing.size(&packet));
        }
        self.out.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &P) {
        self.counters.marked.add(packet.len());
        self.out.marked(packet);
    }
}

impl<P: Packet> Cake<P> {
    /// An empty instance. `mtu` is the link's largest packet as [`Packet::len`] counts it,
    /// `link_header` the part of it before the network header; `dice` perturb the hashes and are
    /// BLUE's.
    pub fn new(params: CakeParams, mtu: u32, link_header: u32, dice: Stream) -> Self {
        let clock = VirtualClock::new(params.bandwidth.unwrap_or(Rate::ZERO));
        Self::paced(params, mtu, link_header, dice, "", clock)
    }
}

impl<P: Packet, C: Pace> Cake<P, C> {
    fn paced(
        params: CakeParams,
        mtu: u32,
        link_header: u32,
        mut dice: Stream,
        name: &str,
        clock: C,
    ) -> Self {
        let seed = dice.bits();
        let tin = |index: usize| Tin::new(seed, &format!("{name}tin{index}"), mtu);
        let rate = params.bandwidth.unwrap_or(Rate::ZERO);
        let mut cake = Self {
            params,
            mtu,
            link_header,
            sharing: Sharing::default(),
            rate,
            clock,
            tins: (0..params.diffserv.tins()).map(tin).collect(),
            turns: turns::Turns::new(params.diffserv.tins()),
            served: 0,
            held: 0,
            memory_limit: 0,
            memory_most: 0,
            is_overloaded: false,
            sizes: sizes::Sizes::default(),
            autorate: Autorate::new(rate),
            counters: Counters::default(),
        };
        cake.configure();
        cake
    }

    /// The parameters in force.
    pub const fn params(&self) -> &CakeParams {
        &self.params
    }

    /// The rate in force, which `autorate-ingress` changes; zero is unlimited.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Memory that may be used, in bytes.
    pub const fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Brings all parts in line with the parameters and the rate.
    fn configure(&mut self) {
        let params = self.params;
        self.sharing = Sharing {
            isolation: params.isolation,
            set_associative: true,
            ack_filter: params.ack_filter,
            nat: params.nat,
            link: params.link,
            ingress: params.ingress,
            link_header: self.link_header,
            emptied_wait: false,
        };
        self.sizes.forget();
        self.clock.set_rate(self.rate);
        for (index, tin) in self.tins.iter_mut().enumerate() {
            let rate = params.diffserv.threshold(index, self.rate);
            self.turns.set_weight(index, params.diffserv.quantum(index));
            tin.configure(rate, &params, self.sharing, self.mtu);
        }
        // Linux: 10240 full packets when the rate says nothing, else four times rate times delay,
        // so that a burst of a round trip fits beside a standing queue.
        let most = MOST_PACKETS * u64::from(self.mtu);
        self.memory_limit = match params.memlimit {
            Some(bytes) => bytes,
            None if self.rate.is_zero() => most,
            None => (self.rate.bytes_in(params.rtt))
                .saturating_mul(4)
                .clamp(LEAST_MEMORY.min(most), most),
        };
    }

    fn memory(&self) -> u64 {
        debug_assert_eq!(
            self.held,
            self.tins.iter().map(|tin| tin.queue.memory()).sum::<u64>(),
            "a tin's memory has changed unseen"
        );
        self.held
    }

    /// Drops from the longest queues over all tins until memory is enough.
    #[cold]
    fn shed(&mut self, now: Time, out: &mut dyn Outlet<P>) {
        self.is_overloaded = true;
        while self.memory() > self.memory_limit {
            let mut longest: Option<(usize, u32, u64)> = None;
            for (index, tin) in self.tins.iter_mut().enumerate() {
                if let Some((flow, bytes)) = tin.queue.fattest()
                    && longest.is_none_or(|(_, _, most)| bytes > most)
                {
                    longest = Some((index, flow, bytes));
                }
            }
            let Some((index, flow, _)) = longest else {
                debug_assert!(false, "over the limit with nothing held");
                return;
            };
            let charge = self.params.ingress.then_some(&self.sharing);
            let mut audit = Audit::new(&mut self.counters, charge, out);
            let queue = &mut self.tins[index].queue;
            // The head of the longest queue, as every drop of CAKE: its sender hears of it
            // soonest.
            self.held -= queue.memory();
            queue.drop_head(flow, now, &mut audit);
            self.held += queue.memory();
            self.turns.set_busy(index, queue.held().packets > 0);
            let charged = audit.charged;
            self.pay_for_drops(index, charged, now);
        }
    }

    #[inline]
    fn pay_for_drops(&mut self, tin: usize, bytes: u64, now: Time) {
        if bytes > 0 {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            // With `ingress` the shaper stands behind the bottleneck: what was dropped has come
            // through it all the same.
            self.clock.dropped(bytes);
            self.tins[tin].clock.sent(bytes, now);
            self.turns.sent(tin, bytes);
        }
    }

    /// Takes in a super-packet's segments but the last.
    #[cold]
    fn cut(&mut self, packet: &mut P, now: Time, out: &mut dyn Outlet<P>) {
        while let Some(segment) = out.cut(packet) {
            self.admit(segment, now, out);
        }
    }

    /// Takes in one packet, or a super-packet that stays whole.
    #[expect(
        clippy::inline_always,
        reason = "one call for each packet, which the compiler leaves as one"
    )]
    #[inline(always)]
    fn admit(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        let index = self.tin_of(&packet);
        let is_idle = !self.turns.is_any_busy();
        self.counters.offered.add(len);
        let tin = &mut self.tins[index];
        self.sizes.see(&packet, &self.sharing);
        tin.max_pkt_len = tin.max_pkt_len.max(len);
        // An idle tin's clock lags behind. Woken, it has no credit for the time in which it had
        // nothing to send: the shaper is burst-free.
        if tin.queue.held().packets == 0 {
            tin.clock.wake(now);
        }
        if is_idle {
            self.clock.wake(now);
        }
        let mut audit = Audit::new(&mut self.counters, None, out);
        self.held -= tin.queue.memory();
        tin.queue.offer(packet, now, &mut audit);
        self.held += tin.queue.memory();
        self.turns.set_busy(index, tin.queue.held().packets > 0);
        if self.params.autorate
            && let Some(rate) = self.autorate.arrived(len, now)
        {
            self.rate = rate;
            self.configure();
        }
        // As the kernel counts it: with the packet that is one too many.
        self.memory_most = self.memory_most.max(self.memory());
        if self.memory() > self.memory_limit {
            self.shed(now, out);
        }
        self.tell_needs(now);
    }

    /// The tin of a packet: the firewall's choice, else the sender's, else the DSCP's. Chosen tins
    /// are counted from 1 in the order in which tc shows them.
    fn tin_of(&self, packet: &P) -> usize {
        let diffserv = self.params.diffserv;
        if diffserv.tins() == 1 {
            return 0;
        }
        let mask = self.params.fwmark;
        let mark = (packet.mark() & mask).checked_shr(mask.trailing_zeros());
        let chosen = |number: usize| {
            let index = number.checked_sub(1)?;
            diffserv.shown().get(index).copied()
        };
        chosen(mark.unwrap_or(0) as usize)
            .or_else(|| chosen(usize::from(packet.class())))
            .unwrap_or_else(|| diffserv.tin(packet.dscp()))
    }

    /// The next packet; some tin holds one. What is returned has one place from the start, so that
    /// no packet is copied from here to there.
    #[inline]
    fn send(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let index = self.choose(now);
        let charge = self.params.ingress.then_some(&self.sharing);
        let mut audit = Audit::new(&mut self.counters, charge, out);
        let queue = &mut self.tins[index].queue;
        self.held -= queue.memory();
        let mut taken = queue.take(now, &mut audit);
        self.held += queue.memory();
        self.turns.set_busy(index, queue.held().packets > 0);
        let charged = audit.charged;
        self.pay_for_drops(index, charged, now);
        if let Dequeue::Packet { packet, sojourn } = &mut taken {
            if self.params.wash {
                packet.clear_dscp();
            }
            self.served = index as u32;
            self.leaves(index, packet, *sojourn, now);
            // Half, not the limit itself: at the limit the heaps of the longest queues would be
            // built and thrown away with every packet.
            if self.is_overloaded && self.memory() <= self.memory_limit / 2 {
                self.is_overloaded = false;
                self.tins.iter_mut().for_each(|tin| tin.queue.calm());
            }
            self.tell_needs(now);
        } else {
            // All that the tin held was dropped: another one may have a packet.
            taken = self.dequeue(now, out);
        }
        taken
    }

    /// Counts and charges a packet that leaves tin `index`.
    #[inline]
    fn leaves(&mut self, index: usize, packet: &P, sojourn: Span, now: Time) {
        let tin = &mut self.tins[index];
        let size = tin.queue.policy().charged();
        self.counters.dequeued.add(packet.len());
        self.clock.sent(size, now);
        tin.clock.sent(size, now);
        self.turns.sent(index, size);
        tin.delays.see(sojourn);
    }
}

impl<P: Packet, C: Pace> Qdisc<P> for Cake<P, C> {
    fn enqueue(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        if self.params.split_gso && packet.segments().is_some() {
            self.cut(&mut packet, now, out);
        }
        self.admit(packet, now, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        debug_assert_eq!(self.turns.is_any_busy(), self.backlog().packets > 0);
        if !self.turns.is_any_busy() {
            self.tell_needs(now);
            return Dequeue::Empty;
        }
        // Without a rate there is no clock to wait for: the tins take turns by deficit.
        if !self.rate.is_zero() {
            let due = self.due(now);
            if due > now {
                self.counters.overlimits += 1;
                return Dequeue::NotBefore(due);
            }
        }
        self.send(now, out)
    }

    fn backlog(&self) -> Backlog {
        self.counters.held()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _now: Time) -> Report {
        let mut own = Vec::from([
            int("memory_used", self.memory_most),
            int("memory_limit", self.memory_limit),
            int(
                "capacity_estimate",
                self.autorate.estimate().bytes_per_sec(),
            ),
        ]);
        own.extend(self.sizes.fields());
        let tins = self
            .params
            .diffserv
            .shown()
            .iter()
            .map(|&index| self.tins[index].report())
            .collect();
        own.push(Field::new("tins", Value::Groups(tins)));
        let part = self.clock.part();
        own.extend(part.map(|rate| int("share_rate", rate.bytes_per_sec())));
        let (spec, backlog) = (self.spec(), self.backlog());
        Report::new(spec.as_ref(), &self.counters, backlog, own)
    }

    fn spec(&self) -> Option<Spec> {
        Some(Spec::Cake(self.params))
    }

    fn tin(&self) -> Option<usize> {
        let mut shown = self.params.diffserv.shown().iter();
        shown.position(|&index| index == self.served as usize)
    }

    fn change(&mut self, spec: &Spec, _now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::Cake(params) = *spec else {
            return Ok(());
        };
        // Packets stand in queues by these; a flow in two queues at once would be reordered.
        let old = &self.params;
        unchanged([
            (params.diffserv == old.diffserv, "diffserv"),
            (params.isolation == old.isolation, "flowmode"),
            (params.nat == old.nat, "nat"),
            (params.fwmark == old.fwmark, "fwmark"),
        ])?;
        // While `autorate-ingress` goes on with the same first rate, what it has learned stays.
        if params.bandwidth != self.params.bandwidth || !params.autorate {
            self.rate = params.bandwidth.unwrap_or(Rate::ZERO);
            self.autorate = Autorate::new(self.rate);
        }
        self.params = params;
        self.configure();
        Ok(())
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        self.clock.rests(Time::ZERO);
        self.held = 0;
        self.turns.set_all_idle();
        let queues = self.tins.iter_mut().map(|tin| tin.queue.empty());
        queues.flatten().collect()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        for (arrived, packet) in held {
            let index = self.tin_of(&packet);
            self.tins[index].clock.wake(arrived);
            self.clock.wake(arrived);
            self.held += u64::from(packet.memory());
            self.turns.set_busy(index, true);
            self.tins[index].queue.admit(packet, arrived);
        }
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(self.fork_with(self.clock.fork()?)))
    }
}

#[cfg(test)]
mod tests;
