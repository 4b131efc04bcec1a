//! How fast the link is, seen from its queue.

use crate::average::TdrmUtemaCpa;
use sojourn_units::{Span, Time};

/// Memory of the measured rate of the link, in time that packets waited.
const LINK_MEMORY: Span = Span::from_secs(1);
/// Time that packets waited which makes a sample of the link's rate.
const LINK_SAMPLE: Span = Span::from_millis(10);

/// The rate of the link, measured while packets wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    rate: TdrmUtemaCpa,
    bytes: u64,
    time: Span,
    /// Bytes that left at the last moment when any did, if others waited behind them: what leaves
    /// at once, as from a shaper or in a batch, took the time until the next departure.
    last: Option<(u64, Time)>,
}

impl Link {
    /// Nothing measured yet.
    pub(super) const fn new() -> Self {
        Self {
            rate: TdrmUtemaCpa::new(LINK_MEMORY),
            bytes: 0,
            time: Span::ZERO,
            last: None,
        }
    }

    /// Byte/s, once known.
    pub(super) const fn rate(&self) -> Option<f64> {
        self.rate.rate()
    }

    /// A packet of `len` bytes was sent, and nothing waits behind it if it `is_last`.
    #[inline]
    pub(super) fn sent(&mut self, len: u32, is_last: bool, now: Time) {
        let len = u64::from(len);
        let mut burst = len;
        match self.last {
            Some((before, since)) if now > since => {
                self.bytes += before;
                self.time += now - since;
                if self.time >= LINK_SAMPLE {
                    self.rate.add(self.bytes, self.time);
                    (self.bytes, self.time) = (0, Span::ZERO);
                }
            }
            Some((before, _)) => burst = before + len,
            None => {}
        }
        self.last = (!is_last).then_some((burst, now));
    }
}
