//! HyStart: leaves slow start before the loss.
//! Source: Ha and Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks"
//! (PFLDnet 2008), with the constants of Linux `tcp_cubic`: window of 16 segments, ACK train
//! with gaps of 2 ms, at least 8 delay samples a round, thresholds between 4 and 16 ms.

use super::{AckEvent, Window};
use sojourn_units::{Rate, Span, Time};

const LOW_WINDOW: u32 = 16;
const TRAIN_GAP: Span = Span::from_millis(2);
const MIN_SAMPLES: u32 = 8;
const MIN_RISE: Span = Span::from_millis(4);
const MAX_RISE: Span = Span::from_millis(16);
/// Four super packets of 64 KiB may be late together: Linux allows the train that much more.
const BURST_BYTES: u64 = 4 * 65_536;
const MAX_BURST_TIME: Span = Span::from_millis(1);

/// Watches the ACKs of slow start.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    started: bool,
    found: bool,
    round_start: Time,
    last_ack: Time,
    samples: u32,
    round_min: Option<Span>,
}

impl HyStart {
    /// Starts over, for example after a timeout.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Looks at an ACK of slow start, with the shortest delay seen so far; sets `ssthresh` to
    /// the window when the pipe seems full.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, delay: Span, min: Span, window: &mut Window) {
        if ack.round_start || !self.started {
            self.started = true;
            self.round_start = ack.now;
            self.last_ack = ack.now;
            self.round_min = None;
            self.samples = 0;
        }
        if self.found || window.segments < LOW_WINDOW {
            return;
        }
        if ack.now - self.last_ack <= TRAIN_GAP {
            self.last_ack = ack.now;
            let mut threshold = min + burst_time(ack.pacing_rate);
            if !ack.paced {
                threshold = threshold / 2;
            }
            self.found |= ack.now - self.round_start > threshold;
        }
        let round_min = self.round_min.map_or(delay, |least| least.min(delay));
        self.round_min = Some(round_min);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let rise = (min / 8).clamp(MIN_RISE, MAX_RISE);
            self.found |= round_min > min + rise;
        }
        if self.found {
            window.ssthresh = window.segments;
        }
    }
}

fn burst_time(rate: Rate) -> Span {
    rate.time_for(BURST_BYTES).min(MAX_BURST_TIME)
}
