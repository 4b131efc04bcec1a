//! A queue that holds no packets.

use crate::QueueView;
use sojourn_units::{Span, Time};

/// A queue that drains slower than the link. It delays no packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Virtual {
    /// Byte/s.
    pub(super) rate: f64,
    pub(super) bytes: f64,
    /// Delay beyond which it does not grow.
    pub(super) longest: Span,
    pub(super) drained: Time,
    /// When the rate was moved last.
    pub(super) moved: Time,
}

impl Virtual {
    pub(super) fn drain(&mut self, now: Time) {
        let gone = (now - self.drained).as_secs_f64() * self.rate;
        self.bytes = (self.bytes - gone).max(0.0);
        self.drained = self.drained.max(now);
    }

    pub(super) fn add(&mut self, len: u32) {
        let most = self.rate * self.longest.as_secs_f64();
        self.bytes = (self.bytes + f64::from(len)).min(most.max(f64::from(len)));
    }

    pub(super) fn delay(&self) -> Span {
        Span::from_secs_f64(self.bytes / self.rate.max(1.0))
    }

    pub(super) fn view(&self, len: u32) -> QueueView {
        let bytes = self.bytes as u64;
        let packets = bytes.div_ceil(u64::from(len.max(1)));
        QueueView {
            bulk_flows: 0,
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            bytes,
            total_bytes: bytes,
            head_wait: self.delay(),
        }
    }
}
