//! Trains: segments that the network takes as one packet (TSO, GSO).
//! Source: Linux 6.1 `tcp_tso_autosize`, `tcp_cwnd_test`, `tcp_tso_should_defer`,
//! `tcp_update_skb_after_send`, `bbr_min_tso_segs`.
//!
//! Linux also ends a train where one of its buffers of up to 64 KiB ends, in the middle of what an
//! app has written; here only the stream's end does.

use super::{Recovery, Sender};
use crate::{Config, Rate, Span, Time};

/// Most bytes of a train's payload: 64 KiB without room for headers (`sk_gso_max_size`).
const MOST_BYTES: u64 = 65_536 - 193;
/// Fewest segments of a full train (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// Below this rate a control that sets the rate itself sends single segments (`bbr_min_tso_rate`).
const SINGLE_BELOW: Rate = Rate::from_bps(1_200_000);
/// A train waits for more only if the last one is no older than this, and if the next ACK is
/// expected within this time.
const RECENT: Span = Span::from_millis(1);
/// Of a window, so large a part is sent without waiting for more (`tcp_tso_win_divisor`).
const PART: u64 = 3;

/// The train under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Train {
    /// Most segments of one.
    most: u16,
    /// Segments that may follow the last one in its train.
    left: u16,
    /// By how much it was late for pacing, which it may still make up for.
    late: Span,
}

impl Train {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            most: config.train.max(1),
            ..Self::default()
        }
    }

    /// Whether each segment goes alone.
    pub(super) fn is_single(&self) -> bool {
        self.most == 1
    }
}

impl Sender {
    /// Whether the next segment goes in the same train as the last one.
    pub(crate) fn train_goes_on(&self) -> bool {
        self.train.left > 0
    }

    /// A segment was sent, or nothing more can be.
    pub(super) fn count_train(&mut self, sent: bool) {
        self.train.left = match (sent, self.train.left) {
            (false, _) => 0,
            (true, 0) => {
                let half = (self.window() / 2).max(1);
                self.train_size().min(half.into()) as u16 - 1
            }
            (true, left) => left - 1,
        };
    }

    /// Segments of a full train: what is sent in a millisecond.
    fn train_size(&self) -> u64 {
        let rate = self.pacing_rate();
        // A rate counts in bytes, of which a train has those of 1/1024 s.
        let mut bytes = match rate.as_bps() >> 13 {
            0 if rate.is_zero() => MOST_BYTES,
            bytes => bytes,
        };
        // On short paths more: they have shorter queues.
        let round_trip = self.rtt.min().map_or(u64::MAX, Span::as_nanos);
        bytes += MOST_BYTES
            .checked_shr(((round_trip / 1000) >> 9).min(64) as u32)
            .unwrap_or(0);
        let sets_rate = self.control.pacing_rate().is_some();
        let least = if sets_rate && rate < SINGLE_BELOW {
            1
        } else {
            LEAST
        };
        (bytes.min(MOST_BYTES) / u64::from(self.mss))
            .max(least)
            .min(u64::from(self.train.most))
    }

    /// Of the time by which a segment is `late` for pacing, as much as its train may make up for.
    pub(super) fn make_up(&mut self, late: Span, gap: Span) -> Span {
        if !self.train_goes_on() {
            self.train.late = late;
        }
        let made_up = self.train.late.min(gap / 2);
        self.train.late -= made_up;
        made_up
    }

    /// Whether new data waits for an ACK that will let a longer train go, and is expected soon.
    pub(super) fn defers(&mut self, now: Time) -> bool {
        let (mss, window) = (u64::from(self.mss), self.window());
        let unsent = self.written.min(self.buffered).saturating_sub(self.next);
        let repairs = matches!(self.recovery.state, Recovery::Recovering | Recovery::Loss);
        let last = if self.paced() {
            self.pace_at
        } else {
            self.last_sent
        };
        if repairs || unsent <= mss || now > last.max(self.last_sent) + RECENT {
            return false;
        }
        let room = u64::from(window.saturating_sub(self.board.in_flight())) * mss;
        let offered = self.window_end.saturating_sub(self.next);
        let can_go = room.min(offered);
        let part = (u64::from(window) * mss).min(self.window_end - self.una) / PART;
        if can_go >= self.train_size() * mss || can_go >= part {
            return false;
        }
        let Some(head) = self.board.head() else {
            return false;
        };
        let srtt = self.rtt.srtt();
        let ack_at = self.board.get(head).sent() + srtt;
        if ack_at > now + (srtt / 2).min(RECENT) {
            return false;
        }
        // All that is left could go: only an end that is known ends the wait.
        if can_go > unsent && self.closing {
            return false;
        }
        self.window_limited |= room < offered;
        true
    }
}
