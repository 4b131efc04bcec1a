//! One class of HTB: shapes what another discipline holds, and charges a packet once it has left.
//!
//! Source: `tc-htb(8)`, Linux `sch_htb.c` (`htb_class_mode`, `htb_accnt_tokens`).
//! Units: bytes, bit/s, integer nanoseconds.
//!
//! A packet may leave while the bucket is not in debt, whatever its length, and is charged then:
//! at its rate a link sends the packet's first bit when HTB lets it go, not its last one. Counted
//! in time that is a clock which is due once the debt is paid; an idle class earns at most `burst`.
//!
//! Invariants: in any window of length t at most `burst + rate·t` bytes and one packet leave;
//! [`Dequeue::NotBefore`] is the first nanosecond at which a packet may leave.
//!
//! Differs from Linux: one class, with `ceil` equal to `rate` and `cburst` to `burst`; no debt is
//! forgiven after a minute; an unknown class's packets do not pass unshaped.
//!
//! Not here: classes that borrow from each other.

use crate::accounts::{Backlog, Counters, Dual, Gauge};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::params::HtbParams;
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::spec::Spec;
use crate::tbf::Audit;
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Span, Time, TxClock, forward};

/// A class of HTB over the discipline `Q`.
#[derive(Clone, Debug)]
pub struct Htb<Q> {
    params: HtbParams,
    inner: Q,
    clock: TxClock,
    /// Time in which the bucket fills: how far before `full_at` the debt is paid.
    credit: Span,
    /// When the bucket is full again.
    full_at: Time,
    counters: Counters,
}

impl<Q> Htb<Q> {
    /// Shapes what `inner` holds. The bucket starts full.
    pub fn new(params: HtbParams, inner: Q) -> Self {
        Self {
            params,
            inner,
            clock: TxClock::new(params.rate),
            credit: params.rate.time_for(params.burst),
            full_at: Time::ZERO,
            counters: Counters::default(),
        }
    }

    fn charge(&mut self, len: u32, now: Time) {
        self.full_at = self.full_at.max(now) + self.clock.advance(len);
    }
}

impl<P: Packet, Q: Qdisc<P>> Qdisc<P> for Htb<Q> {
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let counters = &mut self.counters;
        counters.offered.add(packet.len());
        self.inner
            .enqueue(packet, now, &mut Audit { counters, out });
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        let due = self.full_at - self.credit;
        if due > now && self.inner.backlog().packets > 0 {
            self.counters.overlimits += 1;
            return Dequeue::NotBefore(due);
        }
        let counters = &mut self.counters;
        let answer = self.inner.dequeue(now, &mut Audit { counters, out });
        if let Dequeue::Packet { packet, .. } = &answer {
            let len = packet.len();
            self.counters.dequeued.add(len);
            self.charge(len, now);
        }
        answer
    }

    forward! { self.inner;
        backlog(self: &Self) -> Backlog;
        room(self: &Self) -> Option<usize>;
        tin(self: &Self) -> Option<usize>;
        dual(self: &Self) -> Option<Dual>;
        gauges(self: &Self, now: Time, tell: &mut dyn FnMut(Gauge));
        drain(self: &mut Self) -> Vec<(Time, P)>;
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, now: Time) -> Report {
        Report {
            inner: Some(Box::new(self.inner.report(now))),
            ..Report::new(
                self.spec().as_ref(),
                &self.counters,
                self.backlog(),
                Vec::new(),
            )
        }
    }

    fn spec(&self) -> Option<Spec> {
        let inner = Box::new(self.inner.spec()?);
        let htb = self.params;
        Some(Spec::Htb { htb, inner })
    }

    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::Htb { htb, inner } = spec else {
            return Ok(());
        };
        self.inner.change(inner, now)?;
        // What is missing from a full bucket stays missing, in time at the old rate.
        self.clock = TxClock::new(htb.rate);
        self.credit = htb.rate.time_for(htb.burst);
        self.params = *htb;
        Ok(())
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        self.inner.adopt(held, counters);
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(Htb {
            params: self.params,
            inner: self.inner.fork()?,
            clock: self.clock,
            credit: self.credit,
            full_at: self.full_at,
            counters: self.counters,
        }))
    }
}
