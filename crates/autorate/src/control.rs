//! The controller of one direction's rate.
//!
//! Constants are cake-autorate's defaults unless said otherwise. Where it differs:
//! - A cut goes to a share of what the link takes and not of the rate, at most to half the rate: a
//!   link that falls from 40 to 10 Mbit/s is met in two cuts. What it takes is what was sent in the
//!   last 200 ms, less what the growing delay shows to have been too much: a queue that grows by
//!   200 ms a second gets 1.2 times what leaves it. While the delay falls there is no cut, since
//!   one has been made for that queue already.
//! - A rise slows down near what the link was found to take, and where the delay grows: what is
//!   done is seen later by a round trip, a step and more. With steps of 4 % up to a delay of the
//!   threshold the rate would be a third above the link before the queue is seen.
//! - A delay is one number for both directions. The one with the higher load answers for it, both
//!   where both are loaded or where it stays for a second.
//! - A delay that stays where it is while the rate falls is no queue's: see `is_path`.
//! - Delays count by steps of 50 ms, by the smallest of each, and not one by one.

use crate::base::Sources;
use crate::recent::{Recent, mean};
use crate::{Decision, Params, STEP, Why};
use sojourn_units::{Rate, Span, Time};

/// Steps that are looked at for a queue, and how many of them tell one.
const WINDOW: usize = 6;
const DELAYED: usize = 3;
/// Steps in which a path is even.
const EVEN: usize = 8;
/// No cut sooner than this after a cut, and no step up.
const REFRACTORY: Span = Span::from_millis(300);
/// Between two steps towards the base.
const DECAY: Span = Span::from_secs(1);
/// A delay is known for so long.
const KNOWN: Span = Span::from_secs(1);
/// From this load on a rate may rise that is not above what the link was found to take.
const HIGH: f64 = 0.75;
/// The same beyond that, and as long as nothing was found: less says that not the rate limits what
/// is sent, but the link or the senders. With 75 % a link whose queue nobody sees would be passed
/// by a third. Of our own.
const FULL: f64 = 0.9;
/// Below this load nobody answers for a delay; of our own.
const IDLE: f64 = 0.1;
/// Largest step up.
const UP: f64 = 0.04;
/// What is done is seen so much later.
const AHEAD: Span = Span::from_millis(150);
/// Steps up near what the link was found to take: this share of the way back to it, of the way
/// beyond it, and the smallest. As CUBIC's plateau (RFC 9438 section 4.2); of our own.
const BACK: f64 = 0.4;
const NEAR: f64 = 0.25;
const SLOW: f64 = 0.004;
/// A step towards the base.
const TOWARDS: f64 = 0.01;
/// Share of what the link takes that a cut leaves, at a delay of the threshold and of twice that.
/// The first was cake-autorate's before version 2, which has 0.99 of the rate.
const CUT: [f64; 2] = [0.9, 0.75];
/// A path's delay is told from a queue's when the rate is this share of what it was; of our own.
const TOLD: f64 = 0.7;
/// Bytes of a full packet with its Ethernet header.
const FULL_PACKET: u64 = 1514;

/// What a direction sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// What it has sent of late.
    pub sent: Rate,
    /// Share of its rate that the other direction has sent, 0 where it has none.
    pub other: f64,
}

/// The rate of one direction.
#[derive(Clone, Debug)]
pub struct Autorate {
    params: Params,
    rate: Rate,
    sources: Sources,
    /// The smallest delays since the last step, of sources that are known and of others.
    slot: [Option<Span>; 2],
    window: Recent<WINDOW>,
    even: Recent<EVEN>,
    /// Time of the last step.
    now: Time,
    /// Of the last cut, or of the last look at a queue that becomes shorter.
    held: Option<Time>,
    moved: Option<Time>,
    /// When a delay was last known.
    known: Option<Time>,
    queue: Option<Queue>,
    unused: Option<Unused>,
    /// What the link was found to take when there last was a queue.
    link: Option<Rate>,
}

/// A time with a queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    since: Time,
    /// The rate when it began.
    rate: Rate,
    /// What was sent then: at most what the link took.
    sent: Rate,
    /// What a link that took all that was sent then would have worked off since.
    worked_off: Span,
}

/// The steps that a queue delays.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    /// Their number.
    steps: usize,
    /// Their mean delay.
    mean: Span,
}

/// A time without load in either direction.
#[derive(Clone, Copy, Debug)]
struct Unused {
    since: Time,
    least: Span,
    samples: u32,
}

impl Autorate {
    /// It begins with the base rate.
    pub fn new(params: Params) -> Self {
        Self {
            rate: params.bound(params.base),
            params,
            sources: Sources::default(),
            slot: [None; 2],
            window: Recent::new(),
            even: Recent::new(),
            now: Time::ZERO,
            held: None,
            moved: None,
            known: None,
            queue: None,
            unused: None,
            link: None,
        }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// What it is told to do.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Mean delay above the base in the last steps; zero where none is known.
    pub fn delay(&self) -> Span {
        mean(self.window.iter()).1
    }

    /// Somebody has seen a round trip to a source, whose delay is compared with its own.
    pub fn sample(&mut self, source: u64, delay: Span, now: Time) {
        let above = self.sources.sample(source, delay, now);
        let slot = &mut self.slot[usize::from(!above.ripe)];
        *slot = Some(slot.map_or(above.delay, |least| least.min(above.delay)));
    }

    /// A step is over. Whoever asks does so every [`STEP`](crate::STEP).
    pub fn step(&mut self, now: Time, load: Load) -> Option<Decision> {
        if now < self.now {
            self.restart(now);
        }
        let passed = now - self.now;
        self.now = now;
        let [ripe, young] = core::mem::take(&mut self.slot);
        let delay = ripe.or(young);
        if let Some(delay) = delay {
            self.window.push(delay);
            self.even.push(delay);
            self.known = Some(now);
        }
        let used = share(load.sent, self.rate);
        self.learn_unused(used.max(load.other) < IDLE, delay, now);
        let why = match self.look_for_queue(used.max(load.other), passed, delay) {
            Some(delayed) => self.answer(delayed, used, load, now),
            None => self.without_queue(used, delay, now),
        };
        let (to, why) = why?;
        let from = core::mem::replace(&mut self.rate, self.params.bound(to));
        let decision = Decision {
            from,
            to: self.rate,
            why,
        };
        (from != self.rate).then_some(decision)
    }

    /// The clock has gone back: times of before mean nothing.
    fn restart(&mut self, now: Time) {
        self.now = now;
        self.sources.restart(now);
        (self.held, self.moved, self.known) = (None, None, None);
        (self.queue, self.unused) = (None, None);
    }

    /// What is above the base for a second without load is no queue's.
    fn learn_unused(&mut self, is_unused: bool, delay: Option<Span>, now: Time) {
        if !is_unused {
            self.unused = None;
            return;
        }
        let unused = self.unused.get_or_insert(Unused {
            since: now,
            least: Span::MAX,
            samples: 0,
        });
        if let Some(delay) = delay {
            unused.least = unused.least.min(delay);
            unused.samples += 1;
        }
        if now - unused.since >= KNOWN {
            if unused.samples >= DELAYED as u32 && !unused.least.is_zero() {
                self.sources.shift(unused.least);
                self.window.clear();
                self.even.clear();
            }
            self.unused = None;
        }
    }

    /// Delay from which on there is a queue.
    fn threshold(&self) -> Span {
        self.params.threshold + self.rate.time_for(FULL_PACKET)
    }

    /// Whether there is a queue: the delayed steps and their mean delay.
    fn look_for_queue(&mut self, used: f64, passed: Span, delay: Option<Span>) -> Option<Delayed> {
        let threshold = self.threshold();
        if delay.is_some_and(|delay| delay <= threshold) || used < IDLE {
            self.queue = None;
        }
        if let Some(queue) = &mut self.queue {
            let less = 1.0 - share(self.rate, queue.sent);
            queue.worked_off += passed.mul_f64(less.max(0.0));
        }
        let delayed = self.window.iter().filter(|delay| *delay > threshold);
        let (steps, mean) = mean(delayed);
        (steps >= DELAYED && used >= IDLE).then_some(Delayed { steps, mean })
    }

    /// What is done about a queue.
    fn answer(
        &mut self,
        delayed: Delayed,
        used: f64,
        load: Load,
        now: Time,
    ) -> Option<(Rate, Why)> {
        let queue = *self.queue.get_or_insert(Queue {
            since: now,
            rate: self.rate,
            sent: load.sent.min(self.rate),
            worked_off: Span::ZERO,
        });
        if self.is_path(&queue) {
            let (least, _) = self.even.range();
            self.sources.shift(least);
            self.window.clear();
            self.even.clear();
            (self.queue, self.link) = (None, None);
            return Some((queue.rate, Why::Path { delay: least }));
        }
        let stays = now - queue.since >= KNOWN && used >= IDLE;
        if self.is_held(now) || !(used >= load.other || used >= HIGH || stays) {
            return None;
        }
        let of = self.window.len() as u32;
        let falls = self.window.falls();
        let sent = load.sent.min(self.rate).as_bps() as f64;
        let link = Rate::from_bps_f64(sent / (1.0 + self.window.growth(STEP)));
        self.window.clear();
        self.held = Some(now);
        if falls {
            return None; // it becomes shorter
        }
        let [first, most] = CUT;
        let excess = between(delayed.mean, self.threshold(), self.threshold() * 2);
        self.link = Some(link);
        let to = link.as_bps() as f64 * (first - excess * (first - most));
        let to = Rate::from_bps_f64(to.max(self.rate.as_bps() as f64 / 2.0));
        let why = Why::Queue {
            delay: delayed.mean,
            delayed: delayed.steps as u32,
            of,
            load: used,
        };
        Some((to, why))
    }

    /// Whether a delay is the path's: it has stayed the same for eight steps at up to 70 % of what
    /// was sent, in which a link as fast as before would have worked it off, had it been a queue's.
    /// More than twice the threshold is never taken for a path; the base follows such one within a
    /// minute.
    fn is_path(&self, queue: &Queue) -> bool {
        let (least, most) = self.even.range();
        self.even.is_full()
            && share(self.rate, queue.sent) <= TOLD
            && queue.worked_off >= most
            && most - least <= self.params.threshold / 2
            && most <= self.threshold() * 2
    }

    /// The load from which on the rate may rise.
    fn high(&self) -> f64 {
        match self.link {
            Some(link) if self.rate <= link => HIGH,
            _ => FULL,
        }
    }

    /// The share by which the rate may rise in a step.
    fn step_up(&self) -> f64 {
        let Some(link) = self.link else {
            return UP;
        };
        let away = 1.0 - share(self.rate, link);
        if away > 0.0 {
            (away * BACK).max(SLOW)
        } else {
            (-away * NEAR).clamp(SLOW, UP)
        }
    }

    fn is_held(&self, now: Time) -> bool {
        self.held.is_some_and(|at| now - at < REFRACTORY)
    }

    /// What is done without a queue.
    fn without_queue(&mut self, used: f64, last: Option<Span>, now: Time) -> Option<(Rate, Why)> {
        if self.is_held(now) {
            return None;
        }
        let rate = self.rate.as_bps() as f64;
        let is_known = self.known.is_some_and(|at| now - at < KNOWN);
        if is_known && used >= self.high() {
            let delay = self.delay().max(last?);
            let ahead = AHEAD.mul_f64(self.window.growth(STEP));
            let near = between(delay + ahead, self.params.threshold / 3, self.threshold());
            let to = rate * (1.0 + self.step_up() * (1.0 - near));
            let why = Why::Loaded { load: used, delay };
            return Some((Rate::from_bps_f64(to), why));
        }
        let moved = *self.moved.get_or_insert(now);
        if now - moved < DECAY {
            return None;
        }
        self.moved = Some(now);
        let base = self.params.base;
        let to = if self.rate > base {
            Rate::from_bps_f64(rate * (1.0 - TOWARDS)).max(base)
        } else if is_known || used < IDLE {
            Rate::from_bps_f64(rate * (1.0 + TOWARDS)).min(base)
        } else {
            return None; // a link that gives no answer is not asked for more
        };
        let why = if is_known || used < IDLE {
            Why::Unused { load: used }
        } else {
            Why::Blind
        };
        Some((to, why))
    }
}

/// What a rate is of another one; 0 of none.
pub(crate) fn share(of: Rate, whole: Rate) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    of.as_bps() as f64 / whole.as_bps() as f64
}

/// Where a time is on the way from one to another, 0 to 1.
fn between(at: Span, from: Span, to: Span) -> f64 {
    let way = (to - from).as_nanos().max(1) as f64;
    ((at - from).as_nanos() as f64 / way).min(1.0)
}

#[cfg(test)]
mod tests;
