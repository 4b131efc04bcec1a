//! CUBIC: the window grows with the cube of the time since the last congestion.
//! Source: RFC 9438; C = 0.4, beta = 0.7. Times in seconds, windows in segments.
//! As Linux: beta and fast convergence's factor are fractions of 1024 (717 and 870.5), the
//! elapsed time is projected by the shortest RTT, windows and targets are whole segments (below
//! the plateau the target is rounded up, above it down), Reno's estimate is whole segments too and
//! never grows faster than alpha, a first congestion avoidance without an earlier maximum grows at
//! least 5 % a round trip, and idle time does not count. With [`Config::timer_tick`] time is whole
//! ticks, and the cubic function is worked out at most once in each.

use super::{AckEvent, Congestion, CongestionControl, HyStart, HyStartPlusPlus, Window};
use crate::config::{Config, SlowStart};
use sojourn_units::{Span, Time};

const C: f64 = 0.4;
const BETA: f64 = 717.0 / 1024.0;
/// The growth is worked out anew when the window has changed, or after more than this time.
const HOLD: Span = Span::from_nanos(1_000_000_000 / 32);
/// Samples this soon after a reduction still show the old queue.
const SETTLE: Span = Span::from_secs(1);

/// RFC 9438 section 4.3: 3·(1 − beta)/(1 + beta). The RFC goes on with 1 when the window before
/// the loss is reached again; Linux does not.
/// Its inverse is 15 eighths there (`beta_scale`), which makes 0.533 of the RFC's 0.529: so many
/// acknowledged segments for each one of the window, rounded down, let Reno's grow by one.
fn reno_grows_after(window: u32) -> u32 {
    u32::try_from(u64::from(window.max(1)) * 15 / 8).unwrap_or(u32::MAX)
}

/// The ticks that have passed whole.
fn floor(span: Span, tick: Span) -> Span {
    Span::from_nanos(span.as_nanos() / tick.as_nanos() * tick.as_nanos())
}

#[derive(Clone, Debug)]
enum Exit {
    Loss,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
}

/// The state of one stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Window at which the cubic has its plateau.
    origin: f64,
    /// Seconds until the plateau.
    k: f64,
    /// What Reno with beta 0.7 would have (section 4.3), and the acknowledged segments that it has
    /// not grown for yet.
    reno: u32,
    acked: u32,
    /// The last answer of [`Cubic::count`], for which window (0: none yet), and when.
    count: f64,
    counted_for: u32,
    counted_at: Time,
}

/// RFC 9438's congestion control.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Cubic {
    window: Window,
    epoch: Option<Epoch>,
    /// [`Span::MAX`] before the first that counts.
    delay_min: Span,
    /// W_max; none before the first congestion event and after a timeout.
    maximum: Option<f64>,
    exit: Exit,
    /// Zero for exact time.
    tick: Span,
    /// [`HOLD`], or as many whole ticks of it and the rest of the last one.
    hold: Span,
    /// `maximum` and `epoch` before the last reduction, for an undo.
    before: Option<(Option<f64>, Option<Epoch>)>,
}

impl Cubic {
    /// With the initial window, threshold and slow start of `config`.
    pub fn new(config: &Config) -> Self {
        let tick = config.timer_tick;
        let hold = if tick.is_zero() {
            HOLD
        } else {
            floor(HOLD, tick) + tick - Span::from_nanos(1)
        };
        Self {
            tick,
            hold,
            window: Window::new(config),
            exit: match config.slow_start {
                SlowStart::Standard => Exit::Loss,
                SlowStart::HyStart => Exit::HyStart(HyStart::default()),
                SlowStart::HyStartPlusPlus => {
                    Exit::HyStartPlusPlus(HyStartPlusPlus::new(config.pacing))
                }
            },
            epoch: None,
            maximum: None,
            before: None,
            delay_min: Span::MAX,
        }
    }

    fn watch_slow_start(&mut self, ack: &AckEvent) {
        if let (Exit::HyStartPlusPlus(exit), true) = (&mut self.exit, self.window.in_slow_start()) {
            exit.on_ack(ack, &mut self.window);
        }
        let Some((rtt, least)) = self.note_delay(ack.rtt, ack.now) else {
            return;
        };
        if let (Exit::HyStart(exit), true) = (&mut self.exit, self.window.in_slow_start()) {
            exit.on_ack(ack, rtt, least, &mut self.window);
        }
    }

    /// Notes a round trip. Returns it and the shortest one, if it counts.
    #[inline]
    fn note_delay(&mut self, rtt: Option<Span>, now: Time) -> Option<(Span, Span)> {
        let settling = (self.epoch.as_ref()).is_some_and(|epoch| now - epoch.start < SETTLE);
        let rtt = rtt.filter(|_| !settling)?;
        self.delay_min = self.delay_min.min(rtt);
        Some((rtt, self.delay_min))
    }

    #[inline]
    pub(super) fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    /// [`on_ack`](CongestionControl::on_ack) beyond slow start; `grows`: as far as the ACK is
    /// concerned.
    #[inline]
    pub(super) fn avoid(&mut self, delivered: u32, rtt: Option<Span>, grows: bool, now: Time) {
        self.note_delay(rtt, now);
        if grows && delivered > 0 {
            let count = self.count(delivered, now);
            self.window.grow_each(delivered, count);
        }
    }

    #[cold]
    fn begin_epoch(&mut self, now: Time) {
        let window = f64::from(self.window.segments);
        let origin = self.maximum.map_or(window, |maximum| maximum.max(window));
        self.epoch = Some(Epoch {
            start: self.tick_of(now),
            origin,
            k: libm::cbrt((origin - window) / C),
            reno: self.window.segments,
            acked: 0,
            count: f64::INFINITY,
            counted_for: 0,
            counted_at: now,
        });
    }

    /// When the tick began that `now` is in.
    fn tick_of(&self, now: Time) -> Time {
        if self.tick.is_zero() {
            return now;
        }
        Time::ZERO + floor(now - Time::ZERO, self.tick)
    }

    /// From the tick in which `epoch` began to a round trip after that of `now`.
    fn elapsed(&self, epoch: &Epoch, now: Time) -> Span {
        let delay = if self.delay_min == Span::MAX {
            Span::ZERO
        } else {
            self.delay_min
        };
        if self.tick.is_zero() {
            return now - epoch.start + delay;
        }
        let ticks = delay.as_nanos().div_ceil(self.tick.as_nanos());
        self.tick_of(now) - epoch.start + self.tick * ticks
    }

    /// How many acknowledged segments make the window grow by one (sections 4.2 to 4.5).
    #[inline]
    fn count(&mut self, acked: u32, now: Time) -> f64 {
        if self.epoch.is_none() {
            if let Some(count) = self.held(now) {
                return count;
            }
            self.begin_epoch(now);
        }
        let Some(epoch) = &mut self.epoch else {
            return f64::INFINITY;
        };
        epoch.acked = epoch.acked.saturating_add(acked);
        if epoch.counted_for == self.window.segments && now - epoch.counted_at <= self.hold {
            return epoch.count;
        }
        self.count_anew(now)
    }

    /// What the last epoch has answered for the present window a moment ago, which holds over a
    /// reduction (Linux `bictcp_update`), but not over a timeout: only of windows of a few segments
    /// a reduced one is the same as one before.
    #[cold]
    fn held(&self, now: Time) -> Option<f64> {
        let (_, last) = self.before.filter(|_| self.maximum.is_some())?;
        let held = last.filter(|last| {
            last.counted_for == self.window.segments && now - last.counted_at <= self.hold
        });
        held.map(|last| last.count)
    }

    /// The same, when the window has changed or some time has passed.
    #[inline(never)]
    fn count_anew(&mut self, now: Time) -> f64 {
        let (window, maximum) = (self.window.segments, self.maximum);
        let Some(epoch) = self.epoch else {
            return f64::INFINITY;
        };
        let within_tick = epoch.counted_for != 0 && now - epoch.counted_at < self.tick;
        let mut count = epoch.count;
        if !within_tick {
            let elapsed = self.elapsed(&epoch, now);
            count = epoch.cubic_count(f64::from(window), elapsed, maximum.is_none());
        }
        let counted_at = self.tick_of(now);
        let Some(epoch) = &mut self.epoch else {
            return f64::INFINITY;
        };
        if !within_tick {
            (epoch.counted_for, epoch.counted_at) = (window, counted_at);
        }
        // Never faster than one segment for two acknowledged.
        epoch.count = count.min(epoch.reno_count(window)).max(2.0);
        epoch.count
    }
}

impl Epoch {
    /// Acknowledged segments for each one added on the way along the cubic.
    fn cubic_count(&self, window: f64, elapsed: Span, first: bool) -> f64 {
        let offset = elapsed.as_secs_f64() - self.k;
        // Whole segments, the way from the plateau rounded down.
        let way = libm::floor(C * libm::fabs(offset * offset * offset));
        let target = self.origin + libm::copysign(way, offset);
        // At the plateau almost hold.
        let count = if target > window {
            libm::floor(window / (target - window))
        } else {
            100.0 * window
        };
        if first { count.min(20.0) } else { count }
    }

    /// The same for a window behind Reno's, which grows here by what has been acknowledged.
    fn reno_count(&mut self, window: u32) -> f64 {
        let each = reno_grows_after(window);
        if self.acked > each {
            let steps = (self.acked - 1) / each;
            self.acked -= steps * each;
            self.reno = self.reno.saturating_add(steps);
        }
        if self.reno > window {
            f64::from(window / (self.reno - window))
        } else {
            f64::INFINITY
        }
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> u32 {
        self.window.segments
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.watch_slow_start(ack);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        // As Linux: what left the network, not what a filled hole releases at once.
        let mut acked = ack.delivered;
        if self.window.in_slow_start() {
            acked = match &mut self.exit {
                Exit::HyStartPlusPlus(exit) => exit.grow(acked, &mut self.window),
                _ => self.window.slow_start(acked),
            };
        }
        if acked > 0 {
            let count = self.count(acked, ack.now);
            self.window.grow_each(acked, count);
        }
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, _now: Time) {
        let window = f64::from(self.window.segments);
        if why.is_timeout() {
            // Section 4.8: the next congestion avoidance starts with K = 0 at its own window.
            self.delay_min = Span::MAX;
            if let Exit::HyStart(exit) = &mut self.exit {
                exit.reset();
            }
        }
        if why == Congestion::TimeoutAgain {
            self.epoch = None;
            self.maximum = None;
            self.window.reduce(0, why, in_flight);
            return;
        }
        self.before = Some((self.maximum, self.epoch.take()));
        // Fast convergence (section 4.7): leave room for newer flows.
        self.maximum = Some(match self.maximum {
            Some(maximum) if window < maximum => libm::floor(window * (1.0 + BETA) / 2.0),
            _ => window,
        });
        self.window.reduce((window * BETA) as u32, why, in_flight);
        if let Exit::HyStartPlusPlus(exit) = &mut self.exit {
            exit.on_congestion();
        }
        if why == Congestion::Timeout {
            self.maximum = None;
        }
    }

    fn on_undo(&mut self) {
        self.window.undo();
        if let Some((maximum, epoch)) = self.before.take() {
            (self.maximum, self.epoch) = (maximum, epoch);
        }
    }

    fn on_transmit_start(&mut self, idle: Span, _next: u64, now: Time) {
        let now_tick = self.tick_of(now);
        let idle = now_tick - self.tick_of(now - idle);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now_tick);
        }
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.window.idle_restart(timeouts, restart);
    }

    fn on_application_limited(&mut self, used: u32) {
        self.window.application_limited(used);
    }
}

#[cfg(test)]
mod tests;
