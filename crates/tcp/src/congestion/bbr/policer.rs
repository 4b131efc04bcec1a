//! Detection of policers: a token bucket that drops what is above its rate.
//! Source: Linux `tcp_bbr`, `bbr_lt_bw_sampling` and its constants; Flach et al., "An
//! Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
//! Between losses, when the tokens are used up, a policed flow is delivered at the policer's
//! rate. Two such intervals in a row with many losses and the same rate mean a policer: then that
//! rate is used as it is for a while, without probing.

use crate::AckEvent;
use sojourn_units::Time;

/// Rounds of an interval: at least this, and four times as many at most.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Lost over delivered that means a policer (Linux: 50/256).
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Rates are the same within an eighth, or within 4 kbit/s.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// Rounds that the policer's rate is trusted.
const USE_ROUNDS: u32 = 48;

/// The long-term sampling of Linux's BBR (`lt_*`).
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    rounds: u32,
    /// Bytes a second of the last interval, and in force once `in_use`; zero for none.
    rate: f64,
    since: Time,
    delivered: u64,
    /// Segments lost so far, and at the beginning of the interval.
    lost: u64,
    prior_lost: u64,
}

impl Policer {
    /// The policer's rate, if there seems to be one.
    pub(super) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    pub(super) fn reset(&mut self, ack: &AckEvent) {
        self.forget();
        self.start_interval(ack);
    }

    /// Nothing that was measured counts any more.
    pub(super) fn forget(&mut self) {
        self.sampling = false;
        self.in_use = false;
        self.rate = 0.0;
    }

    fn start_interval(&mut self, ack: &AckEvent) {
        self.since = ack.now;
        self.delivered = ack.delivered_total;
        self.prior_lost = self.lost;
        self.rounds = 0;
    }

    pub(super) fn note_losses(&mut self, ack: &AckEvent) {
        self.lost += u64::from(ack.lost);
    }

    /// An ACK with a rate sample; `cruising`: in the phases that probe for bandwidth. Returns
    /// whether the policer's rate has been used for long enough.
    pub(super) fn on_ack(
        &mut self,
        ack: &AckEvent,
        mss: f64,
        round_start: bool,
        cruising: bool,
    ) -> bool {
        if self.in_use {
            self.rounds += u32::from(cruising && round_start);
            if self.rounds < USE_ROUNDS {
                return false;
            }
            self.reset(ack);
            return true;
        }
        if !self.sampling {
            // Not before the first loss: until then the bucket has tokens.
            if ack.lost_by_ack > 0 {
                self.start_interval(ack);
                self.sampling = true;
            }
            return false;
        }
        self.rounds += u32::from(round_start);
        let limited = ack.rate.is_some_and(|rate| rate.app_limited);
        if limited || self.rounds > MAX_ROUNDS {
            self.reset(ack);
        } else if self.rounds >= MIN_ROUNDS && ack.lost_by_ack > 0 {
            self.end_interval(ack, mss);
        }
        false
    }

    /// A loss ends the interval, if it had enough of them.
    fn end_interval(&mut self, ack: &AckEvent, mss: f64) {
        let bytes = ack.delivered_total.saturating_sub(self.delivered) as f64;
        let lost = (self.lost - self.prior_lost) as f64 * mss;
        let seconds = (ack.now - self.since).as_secs_f64();
        if lost < LOSS_SHARE * bytes || bytes == 0.0 || seconds < 1e-3 {
            return;
        }
        let rate = bytes / seconds;
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= SAME_SHARE * self.rate || apart <= SAME_BYTES) {
            self.rate = f64::midpoint(rate, self.rate);
            self.in_use = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.start_interval(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::events::ack;
    use sojourn_units::Span;

    const MSS: f64 = 1000.0;

    /// Rounds of 100 ms, each with `delivered` segments of which the first ACK shows `lost`
    /// losses.
    struct Path {
        now: Time,
        bytes: u64,
    }

    impl Path {
        fn round(&mut self, policer: &mut Policer, delivered: u64, lost: u32) -> bool {
            let mut released = false;
            for index in 0..delivered {
                self.now += Span::from_millis(100) / delivered;
                self.bytes += 1000;
                let mut event = ack(self.now, Span::from_millis(100));
                event.delivered_total = self.bytes;
                event.lost = if index == 0 { lost } else { 0 };
                event.lost_by_ack = event.lost;
                policer.note_losses(&event);
                released |= policer.on_ack(&event, MSS, index == 0, true);
            }
            released
        }
    }

    fn start() -> (Policer, Path) {
        let path = Path {
            now: Time::ZERO,
            bytes: 0,
        };
        (Policer::default(), path)
    }

    /// 10 segments a round and 5 lost (a third of what was sent, half of what was delivered): the
    /// first interval begins with the first loss and ends in the fourth round after it, the
    /// second four rounds later: 100 kB/s both. 48 rounds later the path is tried afresh.
    #[test]
    fn two_equal_intervals_with_losses_mean_a_policer() {
        let (mut policer, mut path) = start();
        path.round(&mut policer, 20, 0);
        for _ in 0..8 {
            path.round(&mut policer, 10, 5);
            assert_eq!(policer.rate(), None);
        }
        path.round(&mut policer, 10, 5);
        let rate = policer.rate().expect("a policer");
        assert!((rate - 1e5).abs() < 1e3, "{rate}");
        for _ in 0..47 {
            assert!(!path.round(&mut policer, 10, 0));
        }
        assert!(path.round(&mut policer, 10, 0));
        assert_eq!(policer.rate(), None);
    }

    /// 1 lost for 10 delivered is below 50/256; rates that differ by more than an eighth are no
    /// policer's.
    #[test]
    fn few_losses_or_varying_rates_are_no_policer() {
        let (mut policer, mut path) = start();
        for _ in 0..100 {
            path.round(&mut policer, 10, 1);
        }
        assert_eq!(policer.rate(), None);
        let (mut policer, mut path) = start();
        for round in 0..96 {
            path.round(&mut policer, 10 + round / 4 % 2 * 10, 8);
        }
        assert_eq!(policer.rate(), None);
    }
}
