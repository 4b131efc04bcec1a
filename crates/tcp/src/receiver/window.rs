//! How much a receiver offers: the memory it has, what of that the peer has earned, and how both
//! grow.
//! Source: Linux 6.1 `tcp_grow_window`, `tcp_rcv_space_adjust` (dynamic right-sizing),
//! `tcp_clamp_window`, `tcp_select_initial_window`, `__tcp_select_window` and
//! `tcp_rcv_rtt_update`, with `tcp_adv_win_scale` 1: half of the memory is for payload.
//! Difference: a segment counts as `OVERHEAD` bytes more than its payload while it waits behind a
//! gap, data that the app has not read as twice its length; Linux counts what each buffer takes.

use crate::{Config, Segment, Span, Time};

/// What Linux's buffer of a segment takes beyond its payload: that which its sender made, on one
/// machine (a header of 512 bytes and a structure of 256). It depends on the way that a segment
/// came: what a network card or an `AF_PACKET` socket has put into half a page takes 856 bytes more
/// than 1448.
const OVERHEAD: u64 = 768;
/// What Linux reckons for a segment beside its payload when it makes the buffer larger (headers
/// and two structures), and the steps in which it adds until half is payload's.
const RECKONED: u64 = 896;
const RECKONED_STEP: u64 = 128;
/// Linux `TCP_INIT_CWND`: what a first round trip may bring without making the buffer grow.
const FIRST_ROUND: u64 = 10;
/// Shorter segments in order do not make the window grow.
const LEAST_GROWING: u16 = 128;

/// Memory, window and the round trips that make them grow.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Window {
    /// Memory of the receive buffer (Linux `sk_rcvbuf`), and its most.
    buffer: u64,
    /// Largest window that the buffer is good for (`window_clamp`).
    clamp: u64,
    /// What the peer has earned of it (`rcv_ssthresh`).
    earned: u64,
    /// A round trip as the receiver sees it; zero before the first.
    rtt: Span,
    last_echo: Time,
    /// When RCV.NXT was last a window further, and where it will be next.
    round_end: u64,
    round_since: Time,
    /// What the app read in a round trip, the most so far; since when and where it is counted now.
    space: u64,
    since: Time,
    since_offset: u64,
    mss: u16,
    /// What a segment offers is a whole number of units (RFC 7323 section 2.2), a power of two: one
    /// less.
    below_unit: u16,
    /// Largest 64-bit number divided by `mss`.
    per_mss: u64,
    buffer_max: u64,
}

/// A time as timestamps tell it, in milliseconds.
fn stamp(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// A round trip by timestamps.
fn stamped(echo: Time, now: Time) -> Span {
    Span::from_millis(stamp(now).saturating_sub(stamp(echo)).max(1))
}

/// Memory that the buffer grows by for each segment: 2984 bytes for one of 1448.
fn reckoned(mss: u64) -> u64 {
    let least = mss + RECKONED;
    least
        + (2 * mss)
            .saturating_sub(least)
            .next_multiple_of(RECKONED_STEP)
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let mss = config.mss.max(1);
        let window = u64::from(config.receive_window.max(1));
        let window_max = u64::from(config.receive_window_max).max(window);
        // One that grows keeps a segment in reserve at first (`tcp_init_buffer_space`).
        let first = if window_max > window {
            let segment = u64::from(mss);
            window.saturating_sub(segment).max(window.min(2 * segment))
        } else {
            window
        };
        Self {
            buffer: 2 * window,
            clamp: first,
            earned: first,
            rtt: Span::ZERO,
            last_echo: Time::ZERO,
            round_end: 0,
            round_since: Time::ZERO,
            space: window.min(FIRST_ROUND * u64::from(mss)),
            since: Time::ZERO,
            since_offset: 0,
            mss,
            below_unit: (1 << config.window_scale()) - 1,
            per_mss: u64::MAX / u64::from(mss),
            buffer_max: 2 * window_max,
        }
    }

    /// The peer's SYN arrived: RCV.NXT is `next`.
    pub(super) fn start(&mut self, next: u64, now: Time) {
        self.since_offset = next;
        self.round_since = now;
        self.round_end = next + self.earned;
        self.establish(now);
    }

    /// The handshake is over: what the app reads counts from now on (`tcp_init_buffer_space`).
    pub(super) fn establish(&mut self, now: Time) {
        self.since = now;
    }

    /// What a SYN offers: whole segments, and no more than it can say, since its window is never
    /// scaled (`tcp_select_initial_window`).
    pub(super) fn initial(&self, segment: u16) -> u64 {
        let window = self.buffer / 2;
        let rest = match window.checked_rem(segment.into()) {
            Some(rest) if rest < window => rest,
            _ => 0,
        };
        (window - rest).min(u16::MAX.into())
    }

    /// What may be offered while nothing waits.
    pub(super) fn earned(&self) -> u64 {
        self.earned
    }

    /// The most that may be offered (`window_clamp`).
    pub(super) fn most(&self) -> u64 {
        self.clamp
    }

    /// A round trip as the receiver sees it; zero before the first.
    pub(super) fn rtt(&self) -> Span {
        self.rtt
    }

    /// Memory of `bytes` behind gaps.
    fn memory(&self, bytes: u64) -> u64 {
        bytes + self.segments(bytes) * OVERHEAD
    }

    /// How many segments so many bytes take. A division takes several times as long as the product
    /// with the inverse, and each segment behind a gap asks three times.
    fn segments(&self, bytes: u64) -> u64 {
        // The inverse is too small by less than one. That is made up for by one byte more than
        // rounding up needs, and a buffer is far too small for a larger error.
        debug_assert!(bytes < 1 << 47, "more than any buffer holds");
        let next = u128::from(bytes + u64::from(self.mss));
        ((next * u128::from(self.per_mss)) >> 64) as u64
    }

    /// Room for payload when `gaps` bytes wait behind gaps and `unread` for the app
    /// (`tcp_space`).
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    fn space(&self, gaps: u64, unread: u64) -> u64 {
        let used = match gaps {
            0 => 0,
            _ => self.memory(gaps),
        };
        (self.buffer.saturating_sub(used) / 2).saturating_sub(unread)
    }

    /// What to offer (`__tcp_select_window`), and whether room is short, which ends quick ACKs.
    /// `full`: payload of a full segment.
    pub(super) fn select(&self, gaps: u64, unread: u64, full: u16) -> (u64, bool) {
        // Less than half free counts as short. A window too small to be of use is closed then, so
        // that the peer sends no crumbs (RFC 1122's silly window syndrome).
        let free = self.space(gaps, unread);
        let whole = self.clamp.min(self.buffer / 2);
        let short = free < whole / 2;
        let least = (self.buffer / 32).max(u64::from(full).min(whole));
        if short {
            let free = free & !u64::from(self.below_unit);
            let window = if free < least {
                0
            } else {
                self.scaled(free.min(self.earned))
            };
            return (window, true);
        }
        (self.scaled(free.min(self.earned)), false)
    }

    /// A window as a segment can say it: Linux rounds up, so that the last part is not lost.
    pub(super) fn scaled(&self, window: u64) -> u64 {
        let below_unit = u64::from(self.below_unit);
        (window + below_unit) & !below_unit
    }

    /// Whether windows are scaled at all.
    pub(super) fn is_scaled(&self) -> bool {
        self.below_unit > 0
    }

    /// Data came: in order, or behind a gap. Returns whether the window grew, in which case the
    /// peer should hear of it at once (`tcp_grow_window`).
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    pub(super) fn grow(&mut self, len: u16, in_order: bool, gaps: u64, unread: u64) -> bool {
        // Small segments cost as much memory as large ones: who sends them earns no larger window.
        if self.earned >= self.clamp || (in_order && len < LEAST_GROWING) {
            return false;
        }
        // A segment in order still waits for the app now.
        let waiting = if in_order { u64::from(len) } else { 0 };
        let room = self
            .space(gaps + waiting, unread)
            .min(self.clamp)
            .saturating_sub(self.earned);
        self.earned += room.min(2 * u64::from(self.mss.max(len)));
        room > 0
    }

    /// More waits than the buffer was made for: it grows with what waits (`tcp_clamp_window`).
    /// Returns whether that was so, which ends quick ACKs.
    pub(super) fn is_overrun(&mut self, gaps: u64) -> bool {
        let used = self.memory(gaps);
        if used < self.buffer {
            return false;
        }
        self.buffer = self.buffer.max(used.min(self.buffer_max));
        // Even the largest buffer is too small: the peer starts again from two segments.
        if used > self.buffer {
            self.earned = self.clamp.min(2 * u64::from(self.mss));
        }
        true
    }

    /// A segment answers one of ours: a round trip (`tcp_rcv_rtt_measure_ts`).
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    pub(super) fn note_echo(&mut self, segment: &Segment, full: u16, now: Time) {
        // Of those that echo the same millisecond the first one: the echo of a later one is nearer
        // to the next, so that its round trip would more often count as a millisecond longer.
        let is_new = stamp(segment.ts_echo) != stamp(self.last_echo);
        if segment.ts_echo == Time::ZERO || !is_new {
            return;
        }
        self.last_echo = segment.ts_echo;
        // A short segment may have waited at the sender for more to be written.
        if segment.payload >= full {
            let sample = stamped(segment.ts_echo, now);
            self.rtt = if self.rtt.is_zero() || sample < self.rtt {
                sample
            } else {
                (self.rtt * 7 + sample) / 8
            };
        }
    }

    /// Data is in order up to `next`: a window arrives in a round trip at the soonest.
    pub(super) fn note_progress(&mut self, next: u64, now: Time) {
        if next < self.round_end {
            return;
        }
        let sample = (now - self.round_since).max(Span::from_nanos(1));
        if self.rtt.is_zero() || sample < self.rtt {
            self.rtt = sample;
        }
        self.round_end = next + self.earned;
        self.round_since = now;
    }

    /// The app has read up to `next`: once a round trip the buffer grows to twice what was read in
    /// it, and more while the sender still accelerates (`tcp_rcv_space_adjust`).
    #[inline]
    pub(super) fn on_read(&mut self, next: u64, now: Time) {
        if !self.rtt.is_zero() && now - self.since >= self.rtt {
            self.read_a_round(next, now);
        }
    }

    #[inline(never)]
    fn read_a_round(&mut self, next: u64, now: Time) {
        let copied = next - self.since_offset;
        if copied > self.space {
            // Twice what a round trip brought, as the sender may double in the next; its rise
            // since the last says by how much more.
            let base = 2 * copied + 16 * u64::from(self.mss);
            let rise = copied - self.space;
            let grow = u128::from(base) * u128::from(rise) / u128::from(self.space.max(1));
            let window = u128::from(base) + 2 * grow;
            let mss = u64::from(self.mss);
            let wanted = window / u128::from(mss) * u128::from(reckoned(mss));
            let wanted = u64::try_from(wanted)
                .unwrap_or(u64::MAX)
                .min(self.buffer_max);
            if wanted > self.buffer {
                self.buffer = wanted;
                self.clamp = wanted / 2;
            }
            self.space = copied;
        }
        self.since = now;
        self.since_offset = next;
    }
}

#[cfg(test)]
mod tests;
