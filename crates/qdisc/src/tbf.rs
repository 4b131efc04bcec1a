//! Token bucket: shapes what another discipline holds to a rate.
//!
//! Source: `tc-tbf(8)`, Linux `sch_tbf.c`.
//! Units: bytes, bit/s, integer nanoseconds. Tokens are counted in bits times nanoseconds per
//! second, of which a nanosecond brings exactly `rate` and a byte costs exactly 8·10⁹: nothing
//! is ever rounded, so there is no drift.
//!
//! Invariants: in any window of length t at most `burst + rate·t` bytes leave, and at most
//! `mtu + peakrate·t`, where packets and buckets are both charged with `overhead`, `mpu` and cells,
//! as in Linux; [`Dequeue::NotBefore`] is the first
//! nanosecond at which the packet in question may leave; a packet that could never leave is
//! dropped on arrival.
//!
//! When the discipline below is asked, as in Linux, whose TBF peeks: a discipline that knows its
//! next packet without deciding anything ([`Qdisc::head_len`]) keeps it until there are tokens;
//! from another one (CoDel, every flow queue) the next packet is taken at once and held here.
//! There an AQM judges each packet one packet earlier than it leaves, and a sparse flow waits for
//! the packet that is held; under HTB neither is so.
//!
//! A super-packet that is larger than the bucket is cut into its segments, as in Linux.
//!
//! Differs from Linux: the tokens stay when parameters change (Linux fills the bucket); the rate
//! table's `cell` does not exist; a packet that is held does not count towards the limit of the
//! discipline below.

use crate::accounts::{Backlog, Counters, DropReason, Dual, Gauge};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::params::{FifoParams, TbfParams};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::Report;
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Rate, Span, Time};

/// Tokens that a byte costs.
const BYTE: u128 = 8_000_000_000;

/// One bucket; it fills only when asked, and its owner says since when.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: Rate,
    depth: u128,
    tokens: u128,
}

impl Bucket {
    fn full(rate: Rate, bytes: u64) -> Self {
        let depth = u128::from(bytes) * BYTE;
        Self {
            rate,
            depth,
            tokens: depth,
        }
    }

    fn fill(&mut self, elapsed: Span) {
        // Below 2^128: both factors are below 2^64, and the depth below 2^97.
        let more = u128::from(self.rate.as_bps()) * u128::from(elapsed.as_nanos());
        self.tokens = self.tokens.saturating_add(more).min(self.depth);
    }

    /// Time until there are tokens for `bytes`; zero when there are.
    fn wait(&self, bytes: u64) -> Span {
        let missing = (u128::from(bytes) * BYTE).saturating_sub(self.tokens);
        match u128::from(self.rate.as_bps()) {
            _ if missing == 0 => Span::ZERO,
            0 => Span::MAX,
            rate => Span::from_nanos(u64::try_from(missing.div_ceil(rate)).unwrap_or(u64::MAX)),
        }
    }

    fn take(&mut self, bytes: u64) {
        let cost = u128::from(bytes) * BYTE;
        debug_assert!(cost <= self.tokens, "a packet left without tokens");
        self.tokens = self.tokens.saturating_sub(cost);
    }

    /// A bucket with new parameters and the old tokens, as far as they fit.
    fn resized(&self, rate: Rate, bytes: u64) -> Self {
        let full = Self::full(rate, bytes);
        Self {
            tokens: self.tokens.min(full.depth),
            ..full
        }
    }
}

/// A token bucket over the discipline `Q`.
#[derive(Clone, Debug)]
pub struct Tbf<P, Q> {
    params: TbfParams,
    inner: Q,
    /// A packet taken from the discipline below that waits for tokens, and when it arrived.
    held: Option<(Time, P)>,
    rate: Bucket,
    peak: Option<Bucket>,
    /// Until when the buckets are filled.
    filled: Time,
    counters: Counters,
}

impl<P: Packet, Q: Qdisc<P>> Tbf<P, Q> {
    /// Shapes what `inner` holds. The buckets start full.
    pub fn new(params: TbfParams, inner: Q) -> Self {
        Self {
            params,
            inner,
            held: None,
            rate: Bucket::full(params.rate, params.size(params.burst)),
            peak: peak(&params).map(|(rate, mtu)| Bucket::full(rate, params.size(mtu))),
            filled: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// Length of the largest packet that is let in.
    fn largest(&self) -> u64 {
        let mtu = peak(&self.params).map_or(u64::MAX, |(_, mtu)| mtu);
        self.params.burst.min(mtu)
    }

    /// Gives a packet to the discipline below, unless it is too large for ever.
    fn admit(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        if u64::from(len) > self.largest() {
            return self.counters.refuse(packet, len, DropReason::Oversize, out);
        }
        let counters = &mut self.counters;
        self.inner
            .enqueue(packet, now, &mut Audit { counters, out });
    }

    /// Cuts a super-packet that is larger than the bucket.
    #[cold]
    fn admit_segments(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        if packet.segments().is_some() {
            while let Some(segment) = out.cut(&mut packet) {
                self.admit(segment, now, out);
            }
        }
        self.admit(packet, now, out);
    }

    /// What a packet of `len` bytes is charged with. One that was let in by a larger bucket,
    /// before a change, costs a full one: it must not block the rest for ever.
    fn charge(&self, len: u32) -> u64 {
        self.params.size(u64::from(len).min(self.largest()))
    }

    fn fill(&mut self, now: Time) {
        let elapsed = now - self.filled;
        self.rate.fill(elapsed);
        if let Some(peak) = &mut self.peak {
            peak.fill(elapsed);
        }
        // A clock that runs backwards must not bring the same tokens twice.
        self.filled = self.filled.max(now);
    }

    /// Time until a packet of `len` bytes may leave.
    fn wait(&self, len: u32) -> Span {
        let charge = self.charge(len);
        let peak = self.peak.map_or(Span::ZERO, |peak| peak.wait(charge));
        self.rate.wait(charge).max(peak)
    }

    fn pay(&mut self, len: u32) {
        let charge = self.charge(len);
        self.rate.take(charge);
        if let Some(peak) = &mut self.peak {
            peak.take(charge);
        }
    }

    /// Takes the next packet from the discipline below; the answer to give when there is none, or
    /// when it is known to have no tokens yet.
    fn ask(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Result<(Time, P), Dequeue<P>> {
        if let Some(len) = self.inner.head_len() {
            let wait = self.wait(len);
            if !wait.is_zero() {
                return Err(self.hold_back(wait));
            }
        }
        let counters = &mut self.counters;
        match self.inner.dequeue(now, &mut Audit { counters, out }) {
            Dequeue::Packet { packet, sojourn } => Ok((now - sojourn, packet)),
            // A shaper below holds it back, not this one; or there is nothing.
            answer => Err(answer),
        }
    }

    fn hold_back(&mut self, wait: Span) -> Dequeue<P> {
        self.counters.overlimits += 1;
        Dequeue::NotBefore(self.filled + wait)
    }
}

/// Rate and depth of the second bucket.
fn peak(params: &TbfParams) -> Option<(Rate, u64)> {
    // tc insists on `mtu` with `peakrate`; 2047 bytes is what its rate tables assume.
    let mtu = params.mtu.unwrap_or(2047);
    params.peakrate.map(|rate| (rate, mtu))
}

/// Counts the drops and marks of the discipline below on their way out.
pub(crate) struct Audit<'a, P> {
    pub(crate) counters: &'a mut Counters,
    pub(crate) out: &'a mut dyn Outlet<P>,
}

impl<P: Packet> Outlet<P> for Audit<'_, P> {
    fn dropped(&mut self, packet: P, reason: DropReason) {
        self.counters.drop(packet.len(), reason);
        self.out.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &P) {
        self.counters.marked.add(packet.len());
        self.out.marked(packet);
    }

    fn cut(&mut self, packet: &mut P) -> Option<P> {
        let segment = self.out.cut(packet)?;
        // The bytes are counted; of the packets so far only the whole.
        self.counters.offered.packets += 1;
        Some(segment)
    }
}

impl<P: Packet, Q: Qdisc<P>> Qdisc<P> for Tbf<P, Q> {
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        if u64::from(packet.len()) > self.largest() {
            return self.admit_segments(packet, now, out);
        }
        self.admit(packet, now, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        self.fill(now);
        let held = self.held.take().map_or_else(|| self.ask(now, out), Ok);
        let (arrived, packet) = match held {
            Ok(held) => held,
            Err(answer) => return answer,
        };
        let len = packet.len();
        let wait = self.wait(len);
        if !wait.is_zero() {
            self.held = Some((arrived, packet));
            return self.hold_back(wait);
        }
        self.pay(len);
        self.counters.dequeued.add(len);
        let sojourn = now - arrived;
        Dequeue::Packet { packet, sojourn }
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.inner.backlog();
        if let Some((_, packet)) = &self.held {
            backlog.add(packet.len());
        }
        backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, now: Time) -> Report {
        let (spec, backlog) = (self.spec(), self.backlog());
        let mut report = Report::new(spec.as_ref(), &self.counters, backlog, Vec::new());
        let inner = self.inner.spec();
        if !matches!(inner, Some(Spec::Fifo(FifoParams::Bytes(_)))) {
            report.inner = Some(Box::new(self.inner.report(now)));
        }
        report
    }

    fn spec(&self) -> Option<Spec> {
        let inner = Box::new(self.inner.spec()?);
        let tbf = self.params;
        Some(Spec::Tbf { tbf, inner })
    }

    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::Tbf { tbf, inner } = spec else {
            return Ok(());
        };
        self.inner.change(inner, now)?;
        self.fill(now);
        self.rate = self.rate.resized(tbf.rate, tbf.size(tbf.burst));
        self.peak = peak(tbf).map(|(rate, mtu)| match &self.peak {
            Some(old) => old.resized(rate, tbf.size(mtu)),
            None => Bucket::full(rate, tbf.size(mtu)),
        });
        self.params = *tbf;
        Ok(())
    }

    fn tin(&self) -> Option<usize> {
        self.inner.tin()
    }

    fn dual(&self) -> Option<Dual> {
        self.inner.dual()
    }

    fn gauges(&self, now: Time, tell: &mut dyn FnMut(Gauge)) {
        self.inner.gauges(now, tell);
    }

    fn room(&self) -> Option<usize> {
        self.inner.room()
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        let mut all = Vec::from_iter(self.held.take());
        all.append(&mut self.inner.drain());
        all
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        self.inner.adopt(held, counters);
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(Tbf {
            params: self.params,
            inner: self.inner.fork()?,
            held: self.held.clone(),
            rate: self.rate,
            peak: self.peak,
            filled: self.filled,
            counters: self.counters,
        }))
    }
}
