//! Where an app's writes end that has more to send than the send buffer holds.
//!
//! Such an app fills the buffer, waits until a third of it is free (Linux `sk_stream_is_writeable`)
//! and fills it again; the last segment of each write carries PSH (`tcp_push`), which a receiver
//! that has been read empty answers at once (`tcp_cleanup_rbuf`). The buffer grows with the window
//! (`tcp_sndbuf_expand`). Captures of Linux 6.18 show 25 segments of 1448 bytes at windows of up
//! to ten, written when 16 are left: two and a half windows.

use core::ops::Range;

/// Linux TCP_INIT_CWND, the least window that the buffer is made for.
const LEAST_WINDOW: u32 = 10;
/// Writes that end beyond what has been sent; a window in flight leaves one and a half in the
/// buffer, in pieces of at least a third of it, but for a window that has just shrunk.
const AHEAD: usize = 4;

/// Ends of writes that have not been sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Writes {
    /// What the buffer holds, bytes; never shrinks.
    room: u64,
    ends: [u64; AHEAD],
    pending: u8,
}

impl Writes {
    /// An app wants `written` to be sent, which begins at SND.UNA. If that is more than the buffer
    /// holds, it fills the buffer: returns the SND.UNA at which it may do so again. `None` if all
    /// of it fits. `window` in segments of `mss` bytes, `most`: the bytes that the buffer may hold.
    pub(super) fn fill(
        &mut self,
        written: Range<u64>,
        window: u32,
        mss: u16,
        most: u64,
    ) -> Option<u64> {
        let segments = u64::from(window.max(LEAST_WINDOW)) * 5 / 2;
        self.room = self.room.max(segments * u64::from(mss)).min(most);
        let end = written.start + self.room;
        if end >= written.end {
            return None;
        }
        if let Some(place) = self.ends.get_mut(usize::from(self.pending)) {
            *place = end;
            self.pending += 1;
        }
        Some(written.start + (self.room / 3).max(1))
    }

    /// Where the first write ends that has not been sent whole; [`u64::MAX`] if none is known.
    pub(super) fn next_end(&self) -> u64 {
        match self.pending {
            0 => u64::MAX,
            _ => self.ends[0],
        }
    }

    /// New data up to `end` goes out.
    pub(super) fn send_through(&mut self, end: u64) {
        while self.pending > 0 && self.ends[0] <= end {
            self.ends.rotate_left(1);
            self.pending -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Writes;
    use alloc::vec::Vec;

    /// Segments of 100 bytes, a window of ten: 25 fit, and 9 are written when 16 are left.
    #[test]
    fn a_third_is_written_at_a_time() {
        let mut writes = Writes::default();
        let mut ends = Vec::new();
        let mut refill_at = 0;
        for una in (0..10_000).step_by(100) {
            if una >= refill_at {
                let filled = writes.fill(una..u64::MAX, 10, 100, u64::MAX);
                refill_at = filled.expect("there is more to write");
            }
            if writes.next_end() <= una + 1000 {
                ends.push((una + 1000) / 100);
                writes.send_through(una + 1000);
            }
        }
        assert_eq!(ends[..5], [25, 34, 43, 52, 61]);
    }

    #[test]
    fn the_buffer_grows_with_the_window_up_to_its_limit_and_stays() {
        let mut writes = Writes::default();
        for (window, room) in [(2, 2500), (20, 5000), (10, 5000), (1000, 9000)] {
            writes.fill(0..1, window, 100, 9000);
            assert_eq!(writes.room, room);
        }
    }

    #[test]
    fn any_numbers_will_do() {
        for most in [0, 1, u64::MAX] {
            let mut writes = Writes::default();
            for una in [0, 1, 2, 1 << 62] {
                let filled = writes.fill(una..u64::MAX, u32::MAX, u16::MAX, most);
                assert!(filled > Some(una));
                writes.send_through(una);
                assert!(writes.next_end() > una);
            }
            writes.send_through(u64::MAX);
            assert_eq!(writes.next_end(), u64::MAX);
        }
    }
}
