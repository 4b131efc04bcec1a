//! How the application reads, and what the peer hears of it.
//! Source: Linux 6.1's `tcp_cleanup_rbuf`.

use super::{Pushed, Receiver};
use crate::Time;

impl Receiver {
    /// The application stops or starts reading. Returns what it reads at once.
    pub(crate) fn set_reading(&mut self, reading: bool) -> u64 {
        self.reading = reading;
        self.offered = false;
        if !reading {
            return 0;
        }
        let before = self.edge;
        let read = core::mem::take(&mut self.held);
        if self.next > 0 {
            // The app has made room: the peer may stand before a closed window and must hear of
            // it.
            self.offer();
            self.ack_now |= self.edge > before;
        }
        read
    }

    /// Bytes that the application has not read.
    pub(crate) fn unread(&self) -> u64 {
        self.held
    }

    /// The application reads up to `most` bytes. As Linux, an ACK that waits goes now if it covers
    /// more than a full segment or the end of a write has been read, and one goes for the sake of
    /// the window if that has doubled (`tcp_cleanup_rbuf`).
    pub(crate) fn read(&mut self, most: u64, now: Time) -> u64 {
        let read = most.min(self.held);
        if read == 0 {
            return 0;
        }
        self.held -= read;
        self.window
            .on_read(self.next - u64::from(self.closed) - self.held, now);
        let write_read = self.held == 0
            && match self.pushed {
                Pushed::No => false,
                Pushed::Once => !self.interactive,
                Pushed::Twice => true,
            };
        let full = self.next - self.acked > u64::from(self.full);
        if self.ack_at != Time::MAX && (full || write_read) {
            self.ack_now = true;
        }
        let offered = self.edge.saturating_sub(self.next);
        self.offered = false;
        if 2 * offered <= self.window.most() {
            let gaps = self.gaps();
            let (window, _) = self.window.select(gaps, self.held, self.full);
            self.ack_now |= window > 0 && window >= 2 * offered;
        }
        read
    }
}
