//! The departure rate, as PIE without time stamps measures it over cycles of [`CYCLE`] bytes.
//!
//! Source: RFC 8033 section 5.2; Linux 6.1 `sch_pie.c`; FreeBSD `dn_aqm_pie.c`.

use sojourn_units::{Span, Time};

/// Bytes of backlog that start, and bytes that complete, a measurement.
const CYCLE: u64 = 1 << 14;

/// One queue's departures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Departures {
    /// Rate in byte/s, zero while unknown.
    pub(super) rate: f64,
    /// Start of the measurement, or with time stamps the last departure.
    pub(super) mark: Option<Time>,
    /// Bytes that left in this measurement; none while none runs.
    sent: Option<u64>,
}

impl Departures {
    /// Starts a measurement.
    pub(super) fn start(&mut self, now: Time) {
        self.mark = Some(now);
        self.sent = Some(0);
    }

    /// Counts a departure that leaves `backlog` bytes behind; the length of the measurement, if it
    /// ends one.
    fn count(&mut self, len: u32, now: Time) -> Option<Span> {
        let sent = self.sent? + u64::from(len);
        self.sent = Some(sent);
        let took = self.mark.map_or(Span::ZERO, |start| now - start);
        (sent >= CYCLE && !took.is_zero()).then_some(took)
    }

    /// As Linux: the packet that starts a measurement counts, rates average with 1/8. The length of
    /// the measurement that ended, if one did.
    pub(super) fn note(&mut self, backlog: u64, len: u32, now: Time) -> Option<Span> {
        if backlog >= CYCLE && self.sent.is_none() {
            self.start(now);
        }
        let took = self.count(len, now)?;
        let rate = self.sent? as f64 / took.as_secs_f64();
        self.rate += (rate - self.rate) / if self.rate > 0.0 { 8.0 } else { 1.0 };
        self.mark = Some(now);
        self.sent = (backlog >= CYCLE).then_some(0);
        Some(took)
    }

    /// As dummynet: what averages, with 1/4, are the times that [`CYCLE`] bytes take, and the first
    /// measurement goes on until it has counted twice.
    pub(super) fn note_time(&mut self, backlog: u64, len: u32, now: Time) {
        if let Some(took) = self.count(len, now) {
            let time = took.as_secs_f64() / CYCLE as f64;
            if self.rate > 0.0 {
                self.rate = 1.0 / (0.75 / self.rate + 0.25 * time);
                self.sent = None;
            } else {
                self.rate = 1.0 / time;
            }
        }
        if self.sent.is_none() && backlog >= CYCLE {
            self.start(now);
        }
    }
}
