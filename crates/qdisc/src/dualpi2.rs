//! DualPI2: a queue for classic traffic (C) and one for L4S (L), coupled by one controller.
//!
//! Source: RFC 9332 (appendix A), Linux 7.3 `sch_dualpi2.c`; options: `tc-dualpi2(8)`.
//! Units: packets, bytes, integer nanoseconds; probabilities are in 2⁻³², as in Linux.
//! Invariants: at most `limit` packets and `memlimit` of memory after every call; packets of each
//! queue leave in the order of arrival; offered = dequeued + dropped + held.
//! Memory: an entry per packet held at most at any time; nothing before the first packet.
//!
//! `law linux` is not appendix A.2 of RFC 9332, which is `law rfc9332` (`rfc9332.rs`):
//! - the L queue marks by a step of 1 ms beside the coupled probability, not by the larger of that
//!   and a ramp from 0.8 to 1.2 ms;
//! - dice say which packet it is, not a count that takes each n-th;
//! - nothing is dropped or marked by probability while less than two full packets wait.
//!
//! In both, bytes are shared 90 to 10 while both queues wait, where the RFC suggests a weight of
//! 1/16 (`classic_protection 6`), and a step or ramp looks at how many packets an arrival found.
//!
//! Differs from Linux: there is no timer. The updates, every `tupdate` since time zero, are made up
//! for at the next call; the heads stand still meanwhile, so that the result is the same. A step of
//! the probability that would overflow stops at the end, where Linux's 32 bits wrap.
//!
//! Packets of one flow can be in both queues (a retransmission is not ECN-capable): between the
//! queues there is no order.
//!
//! `steer over dualpi2` moves the target of the C queue (`steer.rs`).
//!
//! Not here: filters that put packets without ECT into the L queue.

use crate::Ecn;
use crate::accounts::{Backlog, Counters, DropReason, Dual, DualCounts, Gauge};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::params::{DualDrop, DualLaw, DualMask, DualOverload, DualPi2Params, StepThreshold};
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::{Field, Report, Value, float, int, micros};
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time, Unit};

mod rfc9332;
mod steer;

use steer::Steering;

/// Updates made up for at once. From one end to the other the probability takes some 420 with the
/// standard weights; what smaller weights leave after so many stays for the next call.
const MAX_CATCH_UP: u32 = 4096;
/// The kernel's unit of weights, 64 ns.
const GRAIN: i128 = 1 << 6;

/// A packet of the L queue.
#[derive(Clone, Copy, Debug)]
struct Low<P> {
    arrived: Time,
    packet: P,
    /// Found enough in the queue for the step.
    steps: bool,
}

/// A coupled dual queue.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    params: DualPi2Params,
    /// The link's largest packet as [`Packet::len`] counts it.
    mtu: u32,
    dice: Stream,
    classic: VecDeque<(Time, P)>,
    low: VecDeque<Low<P>>,
    backlog: Backlog,
    memory: u64,
    memory_most: u64,
    /// Base probability.
    probability: u32,
    /// Delay at the last update.
    last_delay: Span,
    next_update: Time,
    /// Up to zero the L queue is served while both wait.
    credit: i64,
    counters: Counters,
    into_classic: u64,
    into_low: u64,
    /// Of the C queue and of the L queue.
    each: [DualCounts; 2],
    /// Whether the last packet that left was of the L queue.
    served_low: bool,
    most_found: u64,
    ecn_mark: u64,
    step_mark: u64,
    /// What `law rfc9332` has of each queue beside dice.
    counts: rfc9332::Counts,
    /// What moves the target.
    steering: Option<Steering>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// A weight in the kernel's units: of 2⁻³² a 64 ns.
fn scaled(weight: u32) -> i128 {
    i128::from(((u64::from(weight) * u64::from(u32::MAX)) >> 2) / 1_000_000_000)
}

/// A weight as Linux tells it: out of its units again, cut once more.
fn told(weight: u32) -> u32 {
    let back = ((scaled(weight) * 1_000_000_000) << 2) / i128::from(u32::MAX);
    u32::try_from(back).unwrap_or(u32::MAX)
}

impl<P> DualPi2<P> {
    /// An empty one. `mtu` is the link's largest packet as [`Packet::len`] counts it.
    pub fn new(params: DualPi2Params, mtu: u32, dice: Stream) -> Self {
        let mut dual = Self {
            params,
            mtu,
            dice,
            classic: VecDeque::new(),
            low: VecDeque::new(),
            backlog: Backlog::default(),
            memory: 0,
            memory_most: 0,
            probability: 0,
            last_delay: Span::ZERO,
            next_update: Time::ZERO + params.tupdate,
            credit: 0,
            counters: Counters::default(),
            into_classic: 0,
            into_low: 0,
            each: [DualCounts::default(); 2],
            served_low: false,
            most_found: 0,
            ecn_mark: 0,
            step_mark: 0,
            counts: rfc9332::Counts::default(),
            steering: Steering::new(&params),
        };
        dual.credit = dual.first_credit();
        dual
    }

    /// The parameters in force.
    pub const fn params(&self) -> &DualPi2Params {
        &self.params
    }

    /// The base probability, 0 to 1: squared it is the C queue's, times the coupling factor the L
    /// queue's.
    pub fn probability(&self) -> f64 {
        f64::from(self.probability) / f64::from(u32::MAX)
    }

    /// Credit of an empty queue: with it the queue of the larger weight begins.
    fn first_credit(&self) -> i64 {
        let classic = i64::from(self.params.classic_protection);
        i64::from(self.mtu) * (classic - (100 - classic))
    }

    fn memory_limit(&self) -> u64 {
        let usual = u64::from(self.params.limit) * 2 * u64::from(self.mtu);
        self.params.memlimit.unwrap_or(usual.min(u32::MAX.into()))
    }

    /// How long the heads have waited: the C queue's, and the L queue's.
    fn delays(&self, now: Time) -> (Span, Span) {
        let classic = self.classic.front().map(|(arrived, _)| now - *arrived);
        let low = self.low.front().map(|low| now - low.arrived);
        (classic.unwrap_or_default(), low.unwrap_or_default())
    }

    /// Makes up for the updates that have been due.
    #[inline]
    fn keep_up(&mut self, now: Time) {
        if now >= self.next_update {
            self.update(now);
        }
    }

    #[cold]
    fn update(&mut self, now: Time) {
        let every = self.params.tupdate.max(Span::from_nanos(1));
        for _ in 0..MAX_CATCH_UP {
            if now < self.next_update {
                return;
            }
            let (classic, low) = self.delays(self.next_update);
            self.control(classic.max(low));
            self.next_update += every;
            // At rest nothing more changes.
            if self.probability == 0 && self.backlog.packets == 0 && self.last_delay.is_zero() {
                break;
            }
        }
        if now >= self.next_update {
            let missed = (now - self.next_update).as_nanos() / every.as_nanos() + 1;
            self.next_update += every * missed;
        }
    }

    /// One update of the controller.
    fn control(&mut self, delay: Span) {
        let nanos = |span: Span| i128::from(span.as_nanos());
        let change = (nanos(delay) - nanos(self.target())) * scaled(self.params.alpha)
            + (nanos(delay) - nanos(self.last_delay)) * scaled(self.params.beta);
        self.last_delay = delay;
        let next = i128::from(self.probability) + change / GRAIN;
        let most = match self.params.overload {
            DualOverload::Drop => u32::MAX,
            // The L queue's is 1 at most, which keeps windows in proportion while the queue fills.
            DualOverload::Overflow => u32::MAX / self.params.coupling_factor.max(1),
        };
        self.probability = next.clamp(0, most.into()) as u32;
    }

    fn roll(&mut self, probability: u32) -> bool {
        (self.dice.bits() >> 32) as u32 <= probability
    }

    /// Twice in a row: with the square of the probability.
    fn roll_twice(&mut self, probability: u32) -> bool {
        self.roll(probability) && self.roll(probability)
    }

    /// What the probability does to a packet, with what waits beside it.
    fn judge(&mut self, is_low: bool, ecn: Ecn) -> Fate {
        if self.backlog.bytes < 2 * u64::from(self.mtu) {
            return Fate::Pass;
        }
        let base = self.probability;
        let low = u64::from(base) * u64::from(self.params.coupling_factor);
        let overload = low > u32::MAX.into();
        match (is_low, overload) {
            (false, _) if !self.roll_twice(base) => Fate::Pass,
            (false, true) => Fate::Drop,
            (false, false) if ecn == Ecn::NotEct => Fate::Drop,
            (false, false) => Fate::Mark,
            (true, true) => {
                // Losses keep the delay short: marks of all packets say no more than one.
                let drops = self.params.overload == DualOverload::Drop && self.roll_twice(base);
                if drops { Fate::Drop } else { Fate::Mark }
            }
            (true, false) => {
                let is_hit = self.roll(low as u32);
                if is_hit { Fate::Mark } else { Fate::Pass }
            }
        }
    }
}

impl<P: Packet> DualPi2<P> {
    fn is_low(&self, packet: &P) -> bool {
        match packet.ecn() {
            Ecn::NotEct => false,
            Ecn::Ect0 => self.params.mask == DualMask::Any,
            Ecn::Ect1 | Ecn::Ce => true,
        }
    }

    /// Marks a packet, and counts it as Linux does: one that came with CE too.
    fn mark(&mut self, packet: &mut P, is_low: bool, out: &mut dyn Outlet<P>) -> bool {
        let is_new = packet.ecn() != Ecn::Ce;
        let marked = !is_new || packet.ecn() != Ecn::NotEct;
        self.ecn_mark += u64::from(marked);
        if is_new {
            self.counters.mark(packet, packet.len(), out);
            self.each[usize::from(is_low)].marked += u64::from(packet.ecn() == Ecn::Ce);
        }
        marked
    }

    /// Drops a packet.
    #[cold]
    fn refuse(&mut self, packet: P, is_low: bool, reason: DropReason, out: &mut dyn Outlet<P>) {
        self.each[usize::from(is_low)].dropped += 1;
        let len = packet.len();
        self.counters.refuse(packet, len, reason, out);
    }

    /// Takes in one packet, or a super-packet that stays whole.
    fn admit(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        let len = packet.len();
        self.counters.offered.add(len);
        let is_low = self.is_low(&packet);
        self.each[usize::from(is_low)].came_marked += u64::from(packet.ecn() == Ecn::Ce);
        let memory = u64::from(packet.memory());
        let is_full = self.backlog.packets >= u64::from(self.params.limit);
        if is_full || self.memory + memory > self.memory_limit() {
            self.counters.overlimits += 1;
            return self.refuse(packet, is_low, DropReason::Tail, out);
        }
        let judges = self.params.at == DualDrop::Enqueue && self.params.law == DualLaw::Linux;
        let fate = if judges {
            self.judge(is_low, packet.ecn())
        } else {
            Fate::Pass
        };
        self.tell_arrival(&packet, is_low, fate, now);
        match fate {
            Fate::Pass => {}
            Fate::Mark => _ = self.mark(&mut packet, is_low, out),
            Fate::Drop => return self.refuse(packet, is_low, DropReason::Aqm, out),
        }
        self.memory += memory;
        self.memory_most = self.memory_most.max(self.memory);
        self.most_found = self.most_found.max(self.backlog.packets);
        self.put(packet, is_low, now);
        *if is_low {
            &mut self.into_low
        } else {
            &mut self.into_classic
        } += 1;
    }

    /// Puts a packet at the end of its queue.
    fn put(&mut self, packet: P, is_low: bool, arrived: Time) {
        self.backlog.add(packet.len());
        self.each[usize::from(is_low)].backlog.add(packet.len());
        if is_low {
            let steps = self.low.len() >= self.params.min_qlen_step as usize;
            self.low.push_back(Low {
                arrived,
                packet,
                steps,
            });
        } else {
            self.classic.push_back((arrived, packet));
        }
    }

    /// The step of the L queue, of a packet that has left it.
    fn is_above_step(&self, low: &Low<P>, now: Time) -> bool {
        low.steps
            && self.params.law == DualLaw::Linux
            && match self.params.step_thresh {
                StepThreshold::Time(most) => now - low.arrived > most,
                StepThreshold::Packets(most) => self.low.len() > most as usize,
            }
    }

    /// Takes the next packet of the queue whose turn it is, judged: None of it when it is dropped.
    /// `Err` when nothing is held.
    fn take(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Result<Option<(Time, P)>, ()> {
        let takes_low = !self.low.is_empty() && (self.classic.is_empty() || self.credit <= 0);
        let low = if takes_low {
            self.low.pop_front()
        } else {
            None
        };
        let is_low = low.is_some();
        let (mut packet, arrived, steps, is_above) = if let Some(low) = low {
            let is_above = self.is_above_step(&low, now);
            (low.packet, low.arrived, low.steps, is_above)
        } else {
            let (arrived, packet) = self.classic.pop_front().ok_or(())?;
            (packet, arrived, false, false)
        };
        let len = packet.len();
        self.backlog.remove(len);
        self.each[usize::from(is_low)].backlog.remove(len);
        self.memory -= u64::from(packet.memory());
        let (fate, is_ramp) = match (self.params.law, self.params.at) {
            (DualLaw::Rfc9332, _) => {
                let sojourn = steps.then(|| now - arrived);
                self.judge_by_rfc(is_low, packet.ecn(), sojourn)
            }
            (DualLaw::Linux, DualDrop::Dequeue) => (self.judge(is_low, packet.ecn()), false),
            (DualLaw::Linux, DualDrop::Enqueue) => (Fate::Pass, false),
        };
        self.tell_departure(&packet, is_low, fate, now - arrived, now);
        match fate {
            Fate::Pass => {}
            Fate::Mark => {
                let marked = self.mark(&mut packet, is_low, out);
                self.step_mark += u64::from(marked && is_ramp);
            }
            Fate::Drop => {
                self.refuse(packet, is_low, DropReason::Aqm, out);
                return Ok(None);
            }
        }
        if is_above {
            self.step_mark += u64::from(self.mark(&mut packet, is_low, out));
        }
        // Only what is sent while both wait moves the credit.
        let protection = i64::from(self.params.classic_protection);
        if is_low && !self.classic.is_empty() {
            self.credit += protection * i64::from(len);
        } else if !is_low && !self.low.is_empty() {
            self.credit -= (100 - protection) * i64::from(len);
        }
        self.counters.dequeued.add(len);
        self.each[usize::from(is_low)].dequeued.add(len);
        self.served_low = is_low;
        Ok(Some((arrived, packet)))
    }

    fn fields(&self, now: Time) -> Vec<Field> {
        let (classic, low) = self.delays(now);
        Vec::from([
            float("prob", self.probability()),
            micros("delay-c", classic),
            micros("delay-l", low),
            int("pkts-in-c", self.into_classic),
            int("pkts-in-l", self.into_low),
            int("maxq", self.most_found),
            int("ecn-mark", self.ecn_mark),
            int("step-mark", self.step_mark),
            Field::new("credit", Value::Int(self.credit)),
            int("memory-used", self.memory),
            int("max-memory-used", self.memory_most),
            int("memory-limit", self.memory_limit()),
        ])
    }
}

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, out: &mut dyn Outlet<P>) {
        self.keep_up(now);
        if self.params.split_gso && packet.segments().is_some() {
            while let Some(segment) = out.cut(&mut packet) {
                self.admit(segment, now, out);
            }
        }
        self.admit(packet, now, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        self.keep_up(now);
        while let Ok(taken) = self.take(now, out) {
            if let Some((arrived, packet)) = taken {
                let sojourn = now - arrived;
                return Dequeue::Packet { packet, sojourn };
            }
        }
        self.credit = self.first_credit();
        Dequeue::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, now: Time) -> Report {
        let steering = self.steering.as_ref().map(|steering| {
            let status = steering.steered.status();
            (status.target, status.statistics(Some(now)))
        });
        // As Linux tells them.
        let spec = Spec::DualPi2(DualPi2Params {
            alpha: told(self.params.alpha),
            beta: told(self.params.beta),
            memlimit: Some(self.memory_limit()),
            ..self.params
        });
        let own = self.fields(now);
        Report::policed(Some(&spec), &self.counters, self.backlog, own, steering)
    }

    fn spec(&self) -> Option<Spec> {
        Some(Spec::DualPi2(self.params))
    }

    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        let Spec::DualPi2(params) = *spec else {
            return Ok(());
        };
        self.keep_up(now);
        let old = core::mem::replace(&mut self.params, params);
        if old.classic_protection != params.classic_protection {
            self.credit = self.first_credit();
        }
        if old.tupdate != params.tupdate {
            self.next_update = now + params.tupdate;
        }
        self.retune();
        Ok(())
    }

    fn gauges(&self, now: Time, tell: &mut dyn FnMut(Gauge)) {
        if let Some(steering) = &self.steering {
            steering.steered.status().gauges(tell);
        }
        let (classic, low) = self.delays(now);
        for (name, unit, value) in [
            ("probability", Unit::Share, self.probability()),
            ("delay_c", Unit::Ms, classic.as_millis_f64()),
            ("delay_l", Unit::Ms, low.as_millis_f64()),
        ] {
            tell(Gauge { name, unit, value });
        }
    }

    fn dual(&self) -> Option<Dual> {
        let [classic, low] = self.each;
        let probability = self.probability();
        let coupled = probability * f64::from(self.params.coupling_factor);
        Some(Dual {
            classic,
            low,
            served_low: self.served_low,
            probability,
            coupled: coupled.min(1.0),
        })
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        (self.backlog, self.memory) = (Backlog::default(), 0);
        for each in &mut self.each {
            each.backlog = Backlog::default();
        }
        let low = self.low.drain(..).map(|low| (low.arrived, low.packet));
        self.classic.drain(..).chain(low).collect()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        for (arrived, packet) in held {
            self.memory += u64::from(packet.memory());
            let is_low = self.is_low(&packet);
            self.put(packet, is_low, arrived);
        }
        self.memory_most = self.memory_most.max(self.memory);
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
