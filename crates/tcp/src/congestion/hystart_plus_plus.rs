//! HyStart++: leaves slow start by delay, with a cautious phase in between.
//! Source: RFC 9406 section 4.2, constants of section 4.3.

use super::{AckEvent, INFINITE, Window};
use sojourn_units::Span;

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L: the most segments an ACK may add without pacing.
const LIMIT: u32 = 8;

/// The state of RFC 9406, beside the window it steers.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    limit: u32,
    last_round_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    /// Conservative slow start: its baseline and the rounds begun in it.
    conservative: Option<(Span, u32)>,
}

impl HyStartPlusPlus {
    /// `paced` senders may grow by any number of segments an ACK.
    pub fn new(paced: bool) -> Self {
        Self {
            limit: if paced { u32::MAX } else { LIMIT },
            last_round_min: None,
            round_min: None,
            samples: 0,
            conservative: None,
        }
    }

    /// Congestion ends conservative slow start.
    pub fn on_congestion(&mut self) {
        *self = Self::new(self.limit == u32::MAX);
    }

    /// Judges an ACK received in slow start.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, window: &mut Window) {
        // Only the initial slow start (section 4.3): a known threshold is better advice.
        if window.ssthresh != INFINITE {
            return;
        }
        if ack.round_start {
            self.last_round_min = self.round_min;
            self.round_min = None;
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    window.ssthresh = window.segments;
                    self.conservative = None;
                    return;
                }
            }
        }
        let Some(rtt) = ack.rtt else {
            return;
        };
        let round_min = self.round_min.map_or(rtt, |least| least.min(rtt));
        self.round_min = Some(round_min);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.conservative, self.last_round_min) {
            (Some((baseline, _)), _) if round_min < baseline => self.conservative = None,
            (None, Some(last)) => {
                let thresh = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if round_min >= last + thresh {
                    self.conservative = Some((round_min, 0));
                }
            }
            _ => {}
        }
    }

    /// Grows the window for `acked` segments; returns those left over at `ssthresh`.
    pub(crate) fn grow(&mut self, acked: u32, window: &mut Window) -> u32 {
        let counted = acked.min(self.limit);
        if self.conservative.is_none() {
            return window.slow_start(counted);
        }
        window.grow(counted, 1.0 / CSS_GROWTH_DIVISOR);
        0
    }
}
