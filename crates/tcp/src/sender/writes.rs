//! What the send buffer takes of an app that has more to send, and where its writes end.
//!
//! Such an app fills the buffer, waits until a third of it is free (Linux `sk_stream_is_writeable`)
//! and fills it again; the last segment of each write carries PSH (`tcp_push`), which a receiver
//! that has been read empty answers at once (`tcp_cleanup_rbuf`). It writes 64 KiB a call, as the
//! apps of the live world; of the end of a call that the next one goes on from nobody hears, but
//! within it a segment more than half of the largest window behind its beginning carries PSH
//! (`forced_push`), as it does while a connection begins. The buffer is memory, which grows to the
//! window while an app waits for room (`tcp_new_space`), and a segment takes more of it than its
//! bytes.
//! Source: Linux 6.1, `tcp_input.c`, `tcp.c`, `sock.h`; figures hold for 64-bit machines.

/// What a segment's `sk_buff` takes beside its data, bytes.
const OVERHEAD: u64 = 768;
/// What `tcp_sndbuf_expand` adds to a segment before it rounds up to a power of two: headers
/// (`MAX_TCP_HEADER`) and `skb_shared_info`; and after it: `sk_buff`.
const HEADERS: u64 = 576;
const SK_BUFF: u64 = 256;
/// Linux `TCP_INIT_CWND`, the least window that the buffer is made for; and the largest that we
/// make it for.
const WINDOWS: (u32, u32) = (10, 1 << 20);
/// What an app writes in one call, bytes.
const CALL: u64 = 64 << 10;
/// Segments with PSH beyond what has been sent; a window in flight leaves one and a half in the
/// buffer, in writes of at least a third of it, but for a window that has just shrunk.
const AHEAD: usize = 6;

/// What the buffer is asked to hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) una: u64,
    /// End of what the app wants to have sent.
    pub(super) written: u64,
    /// Bytes that may be written beyond a full buffer, as [`spared`] has it.
    pub(super) spared: u64,
    /// The congestion window, segments.
    pub(super) window: u32,
    /// Windows that the buffer is made to hold.
    pub(super) windows: u32,
    /// Payload of a full segment, at least 1.
    pub(super) mss: u16,
    /// The most that the buffer may hold, bytes of data.
    pub(super) most: u64,
    /// The largest window that the peer has offered, bytes.
    pub(super) largest_window: u64,
}

/// Room for data that a SACKed segment gives back while the buffer holds it still: each block
/// becomes one `sk_buff` (`tcp_shift_skb_data`), to which the segment was added.
pub(super) fn spared(mss: u16) -> u64 {
    let mss = u64::from(mss);
    OVERHEAD * mss / (mss + OVERHEAD)
}

/// Segments that the buffer is to be made for.
#[inline]
pub(super) fn wanted(window: u32, windows: u32) -> u64 {
    u64::from(window.clamp(WINDOWS.0, WINDOWS.1)) * u64::from(windows)
}

/// The send buffer, and the ends of writes that have not been sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Writes {
    /// Segments of memory that the buffer has been made for, and the data that it holds when it is
    /// full; neither shrinks.
    made_for: u64,
    room: u64,
    /// End of what it holds or has held.
    end: u64,
    /// The app waits for room.
    waiting: bool,
    ends: [u64; AHEAD],
    pending: u8,
}

impl Writes {
    /// The buffer holds so much, however small the window.
    pub(super) fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// The app writes what it may. Returns the end of what the buffer holds then, and the SND.UNA,
    /// spared bytes included, at which to ask again; zero if it holds all that was asked.
    pub(super) fn fill(&mut self, demand: &Demand) -> (u64, u64) {
        let mss = u64::from(demand.mss);
        let segments = wanted(demand.window, demand.windows);
        let fits = demand.written <= demand.una + demand.spared + self.room;
        // Asked with each ACK of a growing buffer: no division unless the window has grown. Linux
        // makes the buffer larger only for a socket that waits for room (`SOCK_NOSPACE`).
        if segments > self.made_for && !fits {
            self.made_for = segments;
            let memory = segments * ((mss + HEADERS).next_power_of_two() + SK_BUFF);
            let grown = memory * mss / (mss + OVERHEAD);
            self.room = grown.max(self.room).min(demand.most);
        }
        let room = self.room + demand.spared;
        if demand.written <= demand.una + room {
            self.write_through(demand.written, demand);
            self.waiting = false;
            return (self.end, 0);
        }
        if !self.waiting || demand.una + demand.spared + self.room / 3 * 2 >= self.end {
            self.waiting = true;
            // The last segment is taken whole, if there is any room left for it.
            self.write_through(demand.una + room.div_ceil(mss) * mss, demand);
            self.push(self.end);
        }
        (self.end, self.ask(demand.una + demand.spared, demand.most))
    }

    /// When SND.UNA and the spared bytes have come to `from`, where they must be for the app to
    /// write again.
    #[inline]
    pub(super) fn ask(&self, from: u64, most: u64) -> u64 {
        let ask = if self.room < most {
            0
        } else {
            self.end - self.room / 3 * 2
        };
        ask.max(from + 1)
    }

    /// Whether [`fill`](Self::fill) would change nothing: the app waits for more room than there
    /// is, and the window has not grown. Of a buffer that may still grow most ACKs find that.
    #[inline]
    pub(super) fn stays(&self, from: u64, written: u64, window: u32, windows: u32) -> bool {
        self.waiting
            && wanted(window, windows) <= self.made_for
            && written > from + self.room
            && from + self.room / 3 * 2 < self.end
    }

    /// Of a buffer that [stays](Self::stays): until which `from`, and for how many segments, it
    /// does, as far as that must be asked with each ACK.
    pub(super) fn stays_until(&self, written: u64, most: u64) -> (u64, u64) {
        if self.room < most {
            let until = (self.end - self.room / 3 * 2).min(written - self.room);
            (until, self.made_for)
        } else {
            (0, 0)
        }
    }

    /// Writes up to `end`, call by call.
    fn write_through(&mut self, end: u64, demand: &Demand) {
        let (mss, start) = (u64::from(demand.mss), self.end);
        let half = demand.largest_window / 2;
        // Nothing is known of the peer before the handshake's end.
        if half > 0 && half < CALL {
            let mut call = start;
            while call < end && usize::from(self.pending) < AHEAD {
                let next = call.saturating_add(CALL);
                let mut pushed = call;
                loop {
                    pushed = start + ((pushed + half - start) / mss + 1) * mss;
                    if pushed > next || pushed >= end || usize::from(self.pending) == AHEAD {
                        break;
                    }
                    self.push(pushed);
                }
                call = next;
            }
        }
        self.end = self.end.max(end);
    }

    /// The segment that ends here carries PSH.
    fn push(&mut self, end: u64) {
        if let Some(place) = self.ends.get_mut(usize::from(self.pending)) {
            *place = end;
            self.pending += 1;
        }
    }

    /// Where the first segment with PSH ends that has not been sent whole; [`u64::MAX`] if none is
    /// known.
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
    use super::{Demand, Writes, spared};
    use alloc::format;
    use alloc::vec::Vec;

    /// Who writes without end over a window of ten segments of 1448 bytes.
    const ENDLESS: Demand = Demand {
        una: 0,
        written: u64::MAX / 4,
        spared: 0,
        window: 10,
        windows: 2,
        mss: 1448,
        most: 1 << 30,
        largest_window: 1 << 30,
    };

    /// Twenty segments of 2304 bytes are 46080 bytes of memory; the 21st segment of 2216 bytes
    /// crosses that. Two thirds of it hold 13.
    #[test]
    fn a_third_is_written_at_a_time() {
        let mut writes = Writes::default();
        let mut ends = Vec::new();
        for una in 0..100 {
            let una = una * 1448;
            writes.fill(&Demand { una, ..ENDLESS });
            if writes.next_end() <= una + 14_480 {
                ends.push(writes.next_end() / 1448);
                writes.send_through(una + 14_480);
            }
        }
        assert_eq!(ends[..5], [21, 29, 37, 45, 53]);
    }

    /// Half of 65 160 bytes is more than 22 segments, 64 KiB more than 45: the first call pushes
    /// its 23rd, the second none in the seven that fit into the buffer, the third its 23rd again.
    #[test]
    fn half_of_the_largest_window_is_pushed_within_a_call() {
        let demand = Demand {
            windows: 5,
            largest_window: 65_160,
            ..ENDLESS
        };
        let mut writes = Writes::default();
        let mut ends = Vec::new();
        for una in 0..110 {
            let una = una * 1448;
            writes.fill(&Demand { una, ..demand });
            if writes.next_end() <= una + 14_480 {
                ends.push(writes.next_end() / 1448);
                writes.send_through(una + 14_480);
            }
        }
        assert_eq!(ends, [23, 52, 70, 88, 106]);
        let half = 20 * 1448;
        let mut writes = Writes::default();
        writes.fill(&Demand {
            windows: 12,
            largest_window: 2 * half,
            ..ENDLESS
        });
        // Of 124.7 segments; the second call begins after 45.3, the third after 90.5.
        assert_eq!(
            writes.ends.map(|end| end / 1448),
            [21, 42, 66, 87, 111, 125]
        );
    }

    /// 1448 of 2216 bytes are data: 2 x 20 x 2304 bytes of memory hold 60 220.
    #[test]
    fn the_buffer_grows_with_the_window_up_to_its_limit_and_stays() {
        let mut writes = Writes::default();
        let most = 90_000;
        for (window, room) in [(2, 30_110), (20, 60_220), (10, 60_220), (1000, most)] {
            let demand = Demand {
                window,
                most,
                ..ENDLESS
            };
            writes.fill(&demand);
            assert_eq!(writes.room, room);
        }
    }

    /// 46 080 bytes of memory hold 1448 bytes of data in each 2216.
    #[test]
    fn a_buffer_grows_only_while_an_app_waits_for_room() {
        let mut writes = Writes::default();
        let message = |written, window| Demand {
            written,
            window,
            ..ENDLESS
        };
        writes.fill(&message(100, 10));
        writes.fill(&message(200, 40));
        assert_eq!(writes.room, 30_110);
        let (end, _) = writes.fill(&message(30_200, 10));
        assert!(end >= 30_200 && writes.room == 30_110);
        writes.fill(&message(40_000, 40));
        assert_eq!(writes.room, 4 * 30_110);
    }

    /// Of 2216 bytes a segment gives 768 back that joins another, which hold 501 bytes of data.
    #[test]
    fn what_sack_reports_makes_room() {
        assert_eq!(2 * spared(1448), 1002);
        let mut writes = Writes::default();
        let (end, _) = writes.fill(&ENDLESS);
        let spared = 30 * spared(1448);
        let (later, _) = writes.fill(&Demand { spared, ..ENDLESS });
        assert_eq!((end, later), (21 * 1448, 32 * 1448));
    }

    #[test]
    fn what_fits_is_taken_at_once() {
        let mut writes = Writes::default();
        for written in [0, 1, 20_000, 30_110] {
            let filled = writes.fill(&Demand { written, ..ENDLESS });
            assert_eq!(filled, (written, 0));
        }
        assert_eq!(writes.next_end(), u64::MAX);
    }

    /// Steps of an app that writes now and then over a window that grows and shrinks.
    #[test]
    fn what_stays_is_not_changed_by_filling() {
        let mut writes = Writes::default();
        let (mut state, mut stayed, mut changed) = (1_u64, 0, 0);
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let (mut una, mut written, mut window) = (1, 1, 10);
        for _ in 0..20_000 {
            written = (written + below(5) * below(2000)).max(una);
            una += below(4) * 1448 * below(2);
            una = una.min(written);
            window = (window + below(3) as u32)
                .saturating_sub(below(3) as u32)
                .clamp(1, 40);
            let demand = Demand {
                una,
                written,
                window,
                most: 60_000,
                ..ENDLESS
            };
            let stays = writes.stays(una, written, window, demand.windows);
            let before = writes.clone();
            let (end, ask) = writes.fill(&demand);
            if stays {
                stayed += 1;
                assert_eq!(format!("{before:?}"), format!("{writes:?}"));
                assert_eq!((end, ask), (before.end, before.ask(una, demand.most)));
            } else {
                changed += usize::from(before.end != writes.end);
            }
            writes.send_through(una);
        }
        assert!(stayed > 1000 && changed > 1000, "{stayed} {changed}");
    }

    #[test]
    fn any_numbers_will_do() {
        for (most, mss) in [(0, 1), (1, 1448), (u64::MAX, u16::MAX)] {
            let mut writes = Writes::default();
            for una in [0, 1, 2, 1 << 61] {
                let window = u32::MAX;
                let (_, ask) = writes.fill(&Demand {
                    una,
                    window,
                    mss,
                    most,
                    ..ENDLESS
                });
                assert!(ask > una);
                writes.send_through(una);
                assert!(writes.next_end() > una);
            }
            writes.send_through(u64::MAX);
            assert_eq!(writes.next_end(), u64::MAX);
        }
    }
}
