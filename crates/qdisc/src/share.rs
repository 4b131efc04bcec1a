//! One rate that several workers share, each with a queue of its own on a core of its own.
//!
//! Anchor: Linux's `cake_mq` (7.0), whose instances divide a rate by the number of those that are
//! active, counted anew every 200 µs. Here workers charge what they send to one clock, which is
//! the link's, and pace themselves by what they need:
//!
//! - **The rate.** A packet may leave when the shared clock is due; whoever sends moves it on. In
//!   any window of length t all workers together send at most `rate·t`, one packet each, and what
//!   [`LEND`] brings. Packets are charged after they were taken, hence the packet each. As CAKE's
//!   own, the clock may lag while no worker that has packets is awake, so that nothing is lost.
//! - **Fairness.** A worker needs as many shares as it has flows in turn, each divided by the load
//!   of its hosts over all workers. A clock of its own runs at its part of the sum of all needs,
//!   and it waits for that too. `cake_mq` divides by workers alone: one with a single flow gets as
//!   much as one with a hundred. A sparse flow's packet does not wait for that clock, as it goes
//!   first in one CAKE.
//! - **Lending.** A worker without packets needs nothing from the packet on that emptied it, and
//!   the others' clocks run faster from their next packet on. Where one that needs something does
//!   not send (its thread sleeps), the shared clock falls behind, and from [`LEND`] on whoever has
//!   packets may send.
//!
//! Driven by one thread, all of this repeats. Not shared: the AQM, the sets of flows, priority
//! among tins, which hold within each worker. Needs are told every [`LEND`] and whenever a worker
//! begins or ends. A host's load is counted in one of 1024 places for each tin and direction; two
//! hosts of one place count as one.

use crate::shaper::Pace;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{self, AtomicU32, Ordering::Relaxed};
use link::Link;
use sojourn_units::{Rate, Span, Time, TxClock};

mod link;

/// How long the link may be free before a worker ahead of its share may have it.
pub const LEND: Span = Span::from_micros(200);

/// Hosts of one direction that are told apart between workers.
const PLACES: usize = 1024;

/// Most workers that share a rate.
pub const WORKERS: u32 = 64;

/// Most tins of a worker.
const TINS: usize = 8;

/// One flow, in the unit of needs.
const ONE: u64 = 1 << 16;

/// The rate that workers share: one for all of them.
#[derive(Debug)]
pub struct SharedRate {
    link: Link,
    workers: u32,
    /// Bulk flows of hosts, by tin, direction and place.
    hosts: Box<[AtomicU32]>,
}

impl SharedRate {
    /// For so many workers.
    pub fn new(workers: u32) -> Arc<Self> {
        Arc::new(Self {
            link: Link::new(),
            workers: workers.clamp(1, WORKERS),
            hosts: (0..2 * PLACES * TINS).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// A copy: what it has counted, for as many workers.
    pub(crate) fn fork(&self) -> Arc<Self> {
        let load = |place: &AtomicU32| AtomicU32::new(place.load(Relaxed));
        let link = Link::new();
        link.charge(self.link.due());
        link.change_need(0, self.link.need());
        Arc::new(Self {
            link,
            workers: self.workers,
            hosts: self.hosts.iter().map(load).collect(),
        })
    }

    /// Workers that share it.
    pub const fn workers(&self) -> u32 {
        self.workers
    }
}

/// The loads of hosts in one tin and direction, over all workers.
#[derive(Clone, Debug)]
pub(crate) struct SharedHosts {
    shared: Arc<SharedRate>,
    first: usize,
}

impl SharedHosts {
    pub(crate) fn new(shared: &Arc<SharedRate>, tin: usize, direction: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            first: (2 * tin + direction) * PLACES,
        }
    }

    /// The same in another rate.
    pub(crate) fn onto(&self, shared: &Arc<SharedRate>) -> Self {
        Self {
            shared: Arc::clone(shared),
            first: self.first,
        }
    }

    fn place(&self, hash: u32) -> Option<&AtomicU32> {
        let place = (hash >> 22) as usize;
        self.shared.hosts.get(self.first + place)
    }

    /// Bulk flows of the host with this hash.
    pub(crate) fn load(&self, hash: u32) -> u32 {
        self.place(hash).map_or(0, |place| place.load(Relaxed))
    }

    /// The host has more bulk flows, or fewer.
    pub(crate) fn add(&self, hash: u32, bulk: i32) {
        if let Some(place) = self.place(hash) {
            place.fetch_add(bulk.cast_unsigned(), Relaxed);
        }
    }
}

/// A worker's part of a [`SharedRate`], in the place of a [`VirtualClock`](crate::VirtualClock).
#[derive(Debug)]
pub struct Share {
    shared: Arc<SharedRate>,
    clock: TxClock,
    /// What it has told that it needs.
    need: u64,
    told: Time,
    /// When it is its turn again, by its share.
    turn: Time,
    /// The same at two thirds of the share, and not for what was dropped.
    failsafe: Time,
    /// Something was charged without being sent, since it last began.
    has_dropped: bool,
    /// How far its turn may be in the past or the future.
    slack: Span,
    mtu: u32,
}

impl Share {
    /// A part of `shared` for one worker, of packets of up to `mtu` bytes; a rate of zero never
    /// holds anything back.
    pub fn new(shared: Arc<SharedRate>, rate: Rate, mtu: u32) -> Self {
        let mut share = Self {
            shared,
            clock: TxClock::new(rate),
            need: 0,
            told: Time::ZERO,
            turn: Time::ZERO,
            failsafe: Time::ZERO,
            has_dropped: false,
            slack: Span::ZERO,
            mtu,
        };
        share.set_rate(rate);
        share
    }

    /// What it is a part of.
    pub(crate) const fn shared(&self) -> &Arc<SharedRate> {
        &self.shared
    }

    /// The same part of another rate, which counts its need already.
    pub(crate) fn fork_onto(&self, shared: &Arc<SharedRate>) -> Self {
        Self {
            shared: Arc::clone(shared),
            clock: self.clock,
            need: self.need,
            told: self.told,
            turn: self.turn,
            failsafe: self.failsafe,
            has_dropped: self.has_dropped,
            slack: self.slack,
            mtu: self.mtu,
        }
    }

    fn link_due(&self) -> Time {
        Time::from_nanos(self.shared.link.due())
    }

    /// What the worker's clocks are charged with for what takes the link `span`.
    fn stretched(&self, span: Span) -> Span {
        let (all, own) = (self.shared.link.need(), self.need);
        if own == 0 || all <= own {
            return span;
        }
        // In 1/65536: exact enough, and no division of 128 bits.
        let ratio = all.saturating_mul(ONE) / own;
        let nanos = (u128::from(span.as_nanos()) * u128::from(ratio)) >> 16;
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn tell(&mut self, need: u64, now: Time) {
        self.shared.link.change_need(self.need, need);
        self.need = need;
        self.told = now;
    }

    /// When the next packet may leave; one of a sparse flow does not wait for the worker's turn.
    pub(crate) fn due(&self, is_sparse: bool) -> Time {
        let link = self.link_due();
        let mut due = link;
        if !is_sparse {
            due = link.max(self.turn.min(link + LEND));
        }
        if self.has_dropped {
            due = due.min(self.failsafe);
        }
        due
    }

    /// When it is the worker's turn, whether or not the link is free.
    pub(crate) const fn turn(&self) -> Time {
        self.turn
    }
}

impl Pace for Share {
    fn set_rate(&mut self, rate: Rate) {
        self.clock.set_rate(rate);
        // Others may be served first, a packet of full size each, and again while it looks away.
        let packet = if rate.is_zero() {
            Span::ZERO
        } else {
            rate.time_for(u64::from(self.mtu))
        };
        self.slack = LEND.max(packet * (2 * u64::from(self.shared.workers)));
    }

    fn wake(&mut self, now: Time) {
        self.shared.link.wake(now.as_nanos());
        if self.turn < now {
            self.turn = now;
            self.failsafe = now.max(self.link_due());
            self.has_dropped = false;
        }
    }

    fn due(&self, is_sparse: impl FnOnce() -> bool) -> Time {
        Self::due(self, is_sparse())
    }

    fn sent(&mut self, bytes: u32, now: Time) {
        if self.clock.rate().is_zero() {
            return;
        }
        let span = self.clock.advance(bytes);
        self.shared.link.charge(span.as_nanos());
        let step = self.stretched(span);
        // Neither saved up nor owed for longer than needed: shares change.
        let turn = self.turn.max(now - self.slack) + step;
        self.turn = turn.min(now + self.slack.max(step));
        self.failsafe = self.failsafe + step + Span::from_nanos(step.as_nanos() / 2);
    }

    fn dropped(&mut self, bytes: u32) {
        if !self.clock.rate().is_zero() {
            let span = self.clock.advance(bytes);
            self.shared.link.charge(span.as_nanos());
            self.turn += self.stretched(span);
            self.has_dropped = true;
        }
    }

    fn needs(&mut self, now: Time, need: impl FnOnce() -> u64) {
        // A worker that begins or ends says so at once, all else every now and then.
        if self.need == 0 || now - self.told >= LEND || now < self.told {
            let need = need();
            if need != self.need {
                self.tell(need, now);
            }
        }
    }

    fn rests(&mut self, now: Time) {
        if self.need > 0 {
            self.tell(0, now);
        }
    }

    fn part(&self) -> Option<Rate> {
        let (all, own) = (self.shared.link.need().max(1), self.need);
        let bps = u128::from(self.clock.rate().as_bps()) * u128::from(own) / u128::from(all);
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.tell(0, self.told);
    }
}
