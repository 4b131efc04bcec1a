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
    /// Length and time of the last packet, if others waited behind it.
    last: Option<(u32, Time)>,
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
        if let Some((len, since)) = self.last {
            self.bytes += u64::from(len);
            self.time += now - since;
            if self.time >= LINK_SAMPLE {
                self.rate.add(self.bytes, self.time);
                (self.bytes, self.time) = (0, Span::ZERO);
            }
        }
        self.last = (!is_last).then_some((len, now));
    }
}
