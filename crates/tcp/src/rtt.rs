//! Round-trip time and the retransmission timeout.
//! Source: RFC 6298; the Linux rule from its documented behaviour (`tcp_rto_min`: the variance
//! term, not the timeout, has the floor, and the variance only decays once a round trip).
//! Invariant: `min <= rto <= max`.

use crate::config::RtoRule;
use crate::{Config, Span, Time};

/// How long a minimum stays valid; Linux `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Span = Span::from_secs(300);
/// Nine years: a longer sample counts as this. With that bound [`average`] cannot overflow, which
/// saves its checks for every ACK.
const LONGEST: Span = Span::from_nanos(1 << 58);

/// Smoothed round-trip time, its variation, the minimum and the timeout.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct RttEstimator {
    /// With its backoff: asked for with every segment.
    timeout: Span,
    srtt: Span,
    rttvar: Span,
    /// Linux: mean deviation and its largest value in this round trip.
    mdev: Span,
    mdev_max: Span,
    round_end: u64,
    base: Span,
    backoff: u32,
    rule: RtoRule,
    /// Linux's rule, with an exact clock.
    is_usual: bool,

    /// Minimum of the running half window and of the one before.
    minimum: [Span; 2],
    minimum_since: Time,
    ceiling: Span,
    tick: Span,
    clock: Span,
    floor: Span,
}

impl RttEstimator {
    /// So many of its first bytes are what an end needs that only receives.
    pub(crate) const NEEDED_BY_DATA: usize = core::mem::offset_of!(Self, minimum);

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            rule: config.rto_rule,
            is_usual: config.rto_rule == RtoRule::Linux && config.tick.is_zero(),
            clock: config.clock,
            tick: config.tick,
            floor: config.min_rto,
            ceiling: config.max_rto.max(config.min_rto),
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            mdev: Span::ZERO,
            mdev_max: Span::ZERO,
            round_end: 0,
            timeout: config.initial_rto.min(config.max_rto.max(config.min_rto)),
            base: config.initial_rto,
            backoff: 0,
            minimum: [Span::MAX; 2],
            minimum_since: Time::ZERO,
        }
    }

    /// Whether there has been a sample.
    pub(crate) fn measured(&self) -> bool {
        !self.srtt.is_zero()
    }

    pub(crate) fn srtt(&self) -> Span {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Span {
        self.rttvar
    }

    /// The shortest round trip of the last minutes; `None` before the first sample.
    pub(crate) fn min(&self) -> Option<Span> {
        let least = self.minimum[0].min(self.minimum[1]);
        (least != Span::MAX).then_some(least)
    }

    /// The timeout with its backoff.
    pub(crate) fn rto(&self) -> Span {
        self.timeout
    }

    /// The timeout after `times` doublings (RFC 6298 rule 5.5).
    pub(crate) fn backed_off(&self, times: u32) -> Span {
        let factor = 1_u64 << times.min(32);
        (self.base * factor).min(self.ceiling)
    }

    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
        self.timeout = self.backed_off(self.backoff);
    }

    pub(crate) fn reset_backoff(&mut self) {
        if self.backoff > 0 {
            self.backoff = 0;
            self.timeout = self.backed_off(0);
        }
    }

    /// Feeds the shortest-RTT filter only.
    pub(crate) fn observe_min(&mut self, sample: Span, now: Time) {
        if now - self.minimum_since > MIN_RTT_WINDOW / 2 {
            self.minimum = [Span::MAX, self.minimum[0]];
            self.minimum_since = now;
        }
        self.minimum[0] = self.minimum[0].min(sample);
    }

    /// A sample from a segment that was sent once, or from a timestamp. `acked` and `sent` are
    /// the offsets of SND.UNA and SND.NXT: they delimit round trips for the Linux rule.
    #[inline]
    pub(crate) fn sample(&mut self, sample: Span, acked: u64, sent: u64) {
        if !self.is_usual || !self.measured() || self.backoff > 0 {
            return self.sample_any(sample, acked, sent);
        }
        self.linux_sample(sample.clamp(Span::from_nanos(1), LONGEST), acked, sent);
        self.base = (self.srtt + self.rttvar * 4).min(self.ceiling);
        self.timeout = self.base;
    }

    /// [`sample`](Self::sample) by any rule and clock.
    #[inline(never)]
    fn sample_any(&mut self, sample: Span, acked: u64, sent: u64) {
        let sample = self.in_ticks(sample).clamp(Span::from_nanos(1), LONGEST);
        if self.measured() {
            match self.rule {
                RtoRule::Rfc6298 => {
                    // Rule 2.3, with alpha = 1/8 and beta = 1/4.
                    let error = distance(self.srtt, sample);
                    self.rttvar = average::<4>(self.rttvar, error);
                    self.srtt = average::<8>(self.srtt, sample);
                }
                RtoRule::Linux => self.linux_sample(sample, acked, sent),
            }
        } else {
            // Rule 2.2.
            self.srtt = sample;
            self.rttvar = sample / 2;
            self.mdev = sample / 2;
            self.mdev_max = self.rttvar.max(self.floor / 4);
            if self.rule == RtoRule::Linux {
                self.rttvar = self.mdev_max;
            }
            self.round_end = sent;
        }
        self.base = match self.rule {
            RtoRule::Rfc6298 => {
                let timeout = self.srtt + self.clock.max(self.rttvar * 4);
                self.whole_ticks(timeout).max(self.floor)
            }
            RtoRule::Linux => self.whole_ticks(self.srtt + self.rttvar * 4),
        }
        .min(self.ceiling);
        self.timeout = match self.backoff {
            0 => self.base,
            times => self.backed_off(times),
        };
    }

    /// A measured time as a coarse clock shows it.
    fn in_ticks(&self, sample: Span) -> Span {
        match self.tick.as_nanos() {
            0 => sample,
            tick => self.tick * ((sample.as_nanos() + tick / 2) / tick).max(1),
        }
    }

    /// A timeout that a coarse clock can keep.
    fn whole_ticks(&self, timeout: Span) -> Span {
        match self.tick.as_nanos() {
            0 => timeout,
            tick => self.tick * (timeout.as_nanos() / tick).max(2),
        }
    }

    #[inline]
    fn linux_sample(&mut self, sample: Span, acked: u64, sent: u64) {
        let error = distance(self.srtt, sample);
        // A falling RTT is no reason to time out later: such errors count an eighth.
        if sample < self.srtt && error > self.mdev {
            self.mdev = average::<32>(self.mdev, error);
        } else {
            self.mdev = average::<4>(self.mdev, error);
        }
        self.srtt = average::<8>(self.srtt, sample);
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if acked > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            }
            self.round_end = sent;
            self.mdev_max = self.floor / 4;
        }
    }
}

/// The average after a new value, which counts one `N`th, 32 at most. The caller sees that neither
/// is above [`LONGEST`].
#[inline]
fn average<const N: u64>(before: Span, value: Span) -> Span {
    Span::from_nanos((before.as_nanos() * (N - 1) + value.as_nanos()) / N)
}

fn distance(a: Span, b: Span) -> Span {
    if a > b { a - b } else { b - a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc(min_rto: Span) -> RttEstimator {
        RttEstimator::new(&Config {
            rto_rule: RtoRule::Rfc6298,
            min_rto,
            ..Config::default()
        })
    }

    /// By hand from RFC 6298 section 2. R = 100 ms: SRTT 100, RTTVAR 50, RTO 300. R' = 180:
    /// RTTVAR = 3/4·50 + 1/4·80 = 57.5, SRTT = 7/8·100 + 180/8 = 110, RTO = 340. R' = 110:
    /// RTTVAR = 43.125, SRTT 110, RTO 282.5.
    #[test]
    fn values_of_rfc_6298() {
        let mut rtt = rfc(Span::from_millis(200));
        assert_eq!(rtt.rto(), Span::from_secs(1));
        let millis = Span::from_millis;
        rtt.sample(millis(100), 0, 0);
        assert_eq!((rtt.srtt(), rtt.rto()), (millis(100), millis(300)));
        rtt.sample(millis(180), 0, 0);
        assert_eq!(rtt.rttvar(), Span::from_micros(57_500));
        assert_eq!((rtt.srtt(), rtt.rto()), (millis(110), millis(340)));
        rtt.sample(millis(110), 0, 0);
        assert_eq!(rtt.rttvar(), Span::from_micros(43_125));
        assert_eq!(rtt.rto(), Span::from_micros(282_500));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), millis(1130));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(120));
        rtt.reset_backoff();
        assert_eq!(rtt.rto(), Span::from_micros(282_500));
    }

    #[test]
    fn the_floor_and_the_clock_count() {
        let mut rtt = rfc(Span::from_secs(1));
        for _ in 0..100 {
            rtt.sample(Span::from_millis(50), 0, 0);
        }
        assert_eq!(rtt.rto(), Span::from_secs(1));
        let mut coarse = RttEstimator::new(&Config {
            rto_rule: RtoRule::Rfc6298,
            min_rto: Span::from_millis(1),
            clock: Span::from_millis(10),
            ..Config::default()
        });
        for _ in 0..100 {
            coarse.sample(Span::from_millis(50), 0, 0);
        }
        assert_eq!(coarse.rto(), Span::from_millis(60));
    }

    /// ns-2 with `tcpTick_` 10 ms, by hand: 44 ms count as 4 ticks, then SRTT 40, RTTVAR 20, RTO
    /// 120; 57 ms count as 6: RTTVAR 3/4·20 + 1/4·20 = 20, SRTT 42.5, timeout 122.5, 12 ticks.
    /// 3 ms count as one tick.
    #[test]
    fn a_coarse_clock_counts_whole_ticks() {
        let config = Config {
            rto_rule: RtoRule::Rfc6298,
            min_rto: Span::from_millis(1),
            tick: Span::from_millis(10),
            ..Config::default()
        };
        let millis = Span::from_millis;
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(millis(44), 0, 0);
        assert_eq!((rtt.srtt(), rtt.rto()), (millis(40), millis(120)));
        rtt.sample(millis(57), 0, 0);
        assert_eq!(rtt.srtt(), Span::from_micros(42_500));
        assert_eq!(rtt.rto(), millis(120));
        let mut short = RttEstimator::new(&config);
        for _ in 0..200 {
            short.sample(millis(3), 0, 0);
        }
        // The deviation has decayed; two ticks are the least.
        assert_eq!((short.srtt(), short.rto()), (millis(10), millis(20)));
    }

    /// Linux with a steady 50 ms: the variance term keeps its floor of 200 ms.
    #[test]
    fn linux_adds_the_floor_to_the_srtt() {
        let mut rtt = RttEstimator::new(&Config::default());
        for round in 0..200 {
            rtt.sample(Span::from_millis(50), round * 10, round * 10 + 10);
        }
        assert_eq!(rtt.rto(), Span::from_millis(250));
    }

    #[test]
    fn an_old_minimum_is_forgotten() {
        let mut rtt = rfc(Span::from_millis(200));
        rtt.observe_min(Span::from_millis(10), Time::ZERO);
        rtt.observe_min(Span::from_millis(20), Time::ZERO + Span::from_secs(100));
        assert_eq!(rtt.min(), Some(Span::from_millis(10)));
        for second in [200, 400, 600] {
            rtt.observe_min(Span::from_millis(20), Time::ZERO + Span::from_secs(second));
        }
        assert_eq!(rtt.min(), Some(Span::from_millis(20)));
    }
}
