//! How fast a direction sends: over the last four steps, cake-autorate's
//! `monitor_achieved_rates_interval_ms` of 200 ms.

use sojourn_units::{Rate, Span, Time};

const STEPS: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// Since the last turn.
    bytes: u64,
    turned: Option<Time>,
    /// The last steps, with their lengths: a step may be late.
    past: [(u64, Span); STEPS],
    next: usize,
}

impl Meter {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.bytes = self.bytes.saturating_add(bytes.into());
    }

    /// A step is over; the rate of the last ones.
    pub(crate) fn turn(&mut self, now: Time) -> Rate {
        let length = now - self.turned.unwrap_or(now);
        self.past[self.next] = (core::mem::take(&mut self.bytes), length);
        self.next = (self.next + 1) % STEPS;
        self.turned = Some(now);
        let (bytes, length) = self.past.iter().fold((0_u64, Span::ZERO), |sum, step| {
            (sum.0.saturating_add(step.0), sum.1 + step.1)
        });
        if length.is_zero() {
            return Rate::ZERO;
        }
        Rate::from_bps_f64(bytes as f64 * 8.0 / length.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_four_steps() {
        let mut meter = Meter::default();
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        meter.add(1500);
        // The first turn has no length.
        assert_eq!(meter.turn(at(0)), Rate::ZERO);
        // 12 500 bytes in 50 ms are 2 Mbit/s; the 1500 bytes above count with them.
        meter.add(11_000);
        assert_eq!(meter.turn(at(50)), Rate::from_bps(2_000_000));
        // A late step, and 4 · 12 500 bytes in 350 ms in all.
        for (ms, bytes) in [(100, 12_500), (150, 12_500), (350, 12_500)] {
            meter.add(bytes);
            meter.turn(at(ms));
        }
        meter.add(12_500);
        // 50 000 bytes in 50 + 50 + 200 + 50 ms.
        let rate = meter.turn(at(400)).as_bps();
        assert_eq!(rate, 50_000 * 8 * 1000 / 350);
    }
}
