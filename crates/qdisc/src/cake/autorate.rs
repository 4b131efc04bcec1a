//! `autorate-ingress`: the rate of a link whose other end limits it, from what arrives.
//!
//! Source: Linux `sch_cake.c`. Between pauses longer than usual, what arrived is a sample of the
//! rate; the estimate follows rises with a weight of 1/4 and falls with 1/256, and at most every
//! 250 ms the shaper is set to 15/16 of it.

use super::tin::ewma;
use sojourn_units::{Rate, Span, Time};

const PERIOD: Span = Span::from_millis(250);

/// The estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Autorate {
    peak: u64,
    interval: u64,
    last: Time,
    began: Time,
    bytes: u64,
    changed: Time,
}

impl Autorate {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            peak: rate.bytes_per_sec(),
            ..Self::default()
        }
    }

    pub(super) fn estimate(&self) -> Rate {
        Rate::from_bps(self.peak.saturating_mul(8))
    }

    /// A packet arrives; a new rate for the shaper, when it is time for one.
    pub(super) fn arrived(&mut self, len: u32, now: Time) -> Option<Rate> {
        let gap = (now - self.last).as_nanos().min(1_000_000_000);
        let shift = if gap > self.interval { 2 } else { 8 };
        self.interval = ewma(self.interval, gap, shift);
        self.last = now;
        self.bytes += u64::from(len);
        if gap <= self.interval {
            return None;
        }
        let window = (now - self.began).as_nanos();
        if window == 0 {
            return None;
        }
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(window);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let shift = if rate > self.peak { 2 } else { 8 };
        self.peak = ewma(self.peak, rate, shift);
        self.bytes = 0;
        self.began = now;
        if now - self.changed < PERIOD {
            return None;
        }
        self.changed = now;
        let bytes = (u128::from(self.peak) * 15) >> 4;
        // Never nothing: a rate of zero would mean no limit at all.
        let bits = u64::try_from(bytes * 8).unwrap_or(u64::MAX).max(8);
        Some(Rate::from_bps(bits))
    }
}
