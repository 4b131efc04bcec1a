//! How much of a link is used whose rate varies: by a trace, or by changes.

use super::{Bins, Quantity, Window};
use crate::LineRate;
use crate::figure::Series;
use sojourn_units::Time;

/// Bits that could be sent and were. While a trace says when, IP packets count, as in the trace.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    window: Window,
    link_header: u32,
    /// From which time on each rate holds.
    rates: Vec<(Time, LineRate)>,
    /// Bits sent within the window.
    sent: f64,
    bins: Bins,
}

impl Usage {
    pub(super) fn new(window: Window, rate: LineRate, link_header: u16) -> Self {
        Self {
            window,
            link_header: link_header.into(),
            rates: vec![(Time::ZERO, rate)],
            sent: 0.0,
            bins: Bins::new(&window),
        }
    }

    pub(super) fn rate(&mut self, now: Time, rate: LineRate) {
        self.rates.push((now, rate));
    }

    pub(super) fn sent(&mut self, now: Time, len: u32) {
        let by_trace = matches!(self.rates.last(), Some((_, LineRate::Trace(_))));
        let header = if by_trace { self.link_header } else { 0 };
        let bits = f64::from(len.saturating_sub(header)) * 8.0;
        self.bins.add(now, bits);
        if self.window.holds(now) {
            self.sent += bits;
        }
    }

    /// Bits that could be sent between two times; none where that has no meaning.
    fn possible(&self, from: Time, to: Time) -> Option<f64> {
        let ends = self.rates.iter().skip(1).map(|(at, _)| *at);
        let spans = self.rates.iter().zip(ends.chain([Time::MAX]));
        let within = spans.map(|((since, rate), until)| {
            let (from, to) = (from.max(*since), to.min(until));
            if from < to {
                rate.bits_between(from, to)
            } else {
                0.0
            }
        });
        let sum: f64 = within.sum();
        (sum.is_finite() && sum > 0.0).then_some(sum)
    }

    /// The share of the whole window, and of each interval.
    pub(super) fn finish(self, quantity: Quantity) -> (Option<f64>, Series) {
        let whole = self.possible(self.window.from, self.window.to);
        let share = whole.map(|possible| self.sent / possible);
        let mut series = self
            .bins
            .clone()
            .series(self.window.to, quantity, |sum, _| sum);
        for (point, number) in series.points.iter_mut().zip(0..) {
            let from = Time::ZERO + self.window.every * number;
            let possible = self.possible(from, from + self.window.every);
            point.value = possible.map_or(f64::NAN, |possible| point.value / possible);
        }
        (share, series)
    }
}
