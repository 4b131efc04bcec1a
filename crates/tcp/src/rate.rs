//! Delivery-rate samples.
//! Source: draft-cheng-iccrg-delivery-rate-estimation, sections 3.1 to 3.3; the connection and
//! packet variables are named `delivered`, `delivered_at` (C.delivered_time) and `first_sent`
//! (C.first_sent_time).

use crate::scoreboard::Newest;
use crate::{Rate, Span, Time};

/// What a segment remembers of the connection when it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Time,
    pub(crate) first_sent: Time,
    pub(crate) app_limited: bool,
}

/// How fast the network delivered between a segment's sending and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in `interval`.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging phase.
    pub interval: Span,
    /// `delivered` of the connection when the newest delivered segment was sent.
    pub prior_delivered: u64,
    /// The application, not the network, may have limited the rate.
    pub app_limited: bool,
    /// The newest delivered segment was a retransmission.
    pub retransmitted: bool,
}

impl RateSample {
    /// The rate; `None` for an empty interval.
    pub fn rate(&self) -> Option<Rate> {
        let nanos = self.interval.as_nanos();
        let bits = u128::from(self.delivered) * 8_000_000_000;
        let rate = bits.checked_div(u128::from(nanos))?;
        Some(Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

/// The connection's side of the estimator.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateEstimator {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples of segments sent before this much was delivered are application-limited.
    app_limited_until: u64,
}

impl RateEstimator {
    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Something is sent while nothing was out.
    pub(crate) fn start(&mut self, now: Time) {
        self.first_sent = now;
        self.delivered_at = now;
    }

    /// The stamp of a segment that is sent now.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until > 0,
        }
    }

    /// The app writes while there is room to send and nothing waits; `in_flight` bytes are on the
    /// way.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Bytes arrived, of which the newest segment is this.
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    pub(crate) fn on_delivered(&mut self, bytes: u64, newest: Option<&Newest>, now: Time) {
        let first_sent = newest.map_or(self.first_sent, |newest| newest.sent);
        let delivered_at = if bytes > 0 { now } else { self.delivered_at };
        self.on_arrival(bytes, first_sent, delivered_at);
    }

    /// The same of bytes of which the newest segment was sent at `sent`.
    #[inline]
    pub(crate) fn on_arrival(&mut self, bytes: u64, sent: Time, now: Time) {
        self.delivered += bytes;
        self.delivered_at = now;
        self.first_sent = sent;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// The sample of the newest segment of those that have [just arrived](Self::on_delivered).
    #[inline]
    pub(crate) fn sample(
        &self,
        newest: Option<&Newest>,
        min_rtt: Span,
        now: Time,
    ) -> Option<RateSample> {
        let newest = newest?;
        let delivered = u64::from((self.delivered as u32).wrapping_sub(newest.delivered));
        let ack_elapsed = (now - newest.sent) + newest.delivered_ago();
        let interval = newest.first_sent_ago().max(ack_elapsed);
        // Shorter than any round trip: ACKs were compressed or the segment was spurious.
        (interval >= min_rtt && !interval.is_zero()).then_some(RateSample {
            delivered,
            interval,
            prior_delivered: self.delivered - delivered.min(self.delivered),
            app_limited: newest.app_limited,
            retransmitted: newest.retransmitted,
        })
    }
}
