//! The sending half: what to send, when, and how much.
//!
//! Loss detection, recovery and timers follow RFC 5681, 6298, 6582, 6675, 6937, 8985 and 5682 in
//! the way Linux combines them: the states of [`Recovery`] are Linux's. Window arithmetic is in
//! segments.
//! Not here: the handshake (see `connection`), the receiving half (see `receiver`).

mod accurate;
mod ack;
mod burst;
mod copies;
mod limit;
mod ns2;
mod phase;
mod poll;
mod recovery;
mod repair;
mod timers;
mod train;
mod writes;

use crate::accecn::Counter;
use crate::congestion::Control;
use crate::copies::Copies;
use crate::info::Counters;
use crate::limits::{LimitedBy, Meter};
use crate::ns2::Ns2;
use crate::rate::RateEstimator;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::SackBlock;
use crate::{Config, Span, Time};
use alloc::boxed::Box;
use core::mem::offset_of;
use core::ops::Range;
use phase::{Prr, RecoveryState, Undo};
use timers::Timer;
use train::Train;
use writes::{Demand, Writes};

pub use phase::Recovery;

/// "For ever" as a stream length: far enough never to be reached, near enough to add to.
const ENDLESS: u64 = u64::MAX / 4;

/// The tenth data segment is the first after which pacing waits (Linux
/// `tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

/// A segment that the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) offset: u64,
    pub(crate) payload: u16,
    pub(crate) fin: bool,
    /// The last segment of a write.
    pub(crate) push: bool,
    pub(crate) retransmission: bool,
    /// Tell the receiver that the window was reduced (RFC 3168).
    pub(crate) reduced: bool,
    /// It is known to have filled the window.
    pub(crate) fills: bool,
}

/// How much of the window is used (RFC 2861; Linux `tcp_cwnd_validate`).
#[derive(Clone, Debug, Default)]
struct Usage {
    limited: bool,
    most_outstanding: u32,
    until: u64,
    used: u32,
    since: Time,
}

/// The sending half of a connection.
///
/// In this order, of which each paragraph is one or two cache lines: what a segment needs at an end
/// that only receives, then what ACKs need, most often first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// SND.UNA and SND.NXT.
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// End of what the application has written.
    written: u64,
    /// Right edge of the peer's window.
    window_end: u64,
    closing: bool,
    /// One segment may be sent whatever the window says: a tail loss probe.
    probe: bool,
    /// Since the last complete poll: new data went out; the window was the limit.
    sent_new: bool,
    window_limited: bool,
    /// What limits it now; none while it is not open.
    limited: Option<LimitedBy>,
    short_write: bool,
    /// An empty segment that makes the peer tell its window.
    pub(crate) window_probe: bool,
    /// Whether [`ns2`](Self::ns2) decides.
    by_ns2: bool,
    /// Its first word is in the line of the above, the rest in that of the below.
    pub(crate) timer: Timer,

    mss: u16,
    /// Payload of a full segment beside the options of the next one, for Nagle.
    full: u16,
    sack: bool,
    rack: bool,
    nagle: bool,
    pacing: bool,
    /// Segments go in trains.
    joins: bool,
    /// Segments go in trains, paced, or by ns-2's rules.
    spaces: bool,
    /// Only one segment at a time is timed.
    times_one: bool,
    /// The close came after what can be sent now was written.
    fin_waits: bool,
    fin_sent: bool,
    /// Since the last complete poll: that one went out.
    probed: bool,
    reduced: bool,
    /// A window that was not used for a timeout shrinks.
    forgets: bool,
    pub(crate) pace_at: Time,
    /// Decides instead of all the rest, where it is there.
    ns2: Option<Box<Ns2>>,
    last_sent: Time,
    pub(crate) data_segments: u64,

    pub(crate) rtt: RttEstimator,
    largest_window: u64,

    usage: Usage,
    rate: RateEstimator,

    /// What every ACK and every new segment ask of `writes`, kept beside what they read anyway: the
    /// app may fill the send buffer again when SND.UNA gets here; where a write ends next; the end
    /// of what the buffer holds or has held, which may be less than what the app has to write.
    refill_at: u64,
    push_at: u64,
    buffered: u64,
    /// Bytes of room that a SACKed segment gives back which joins another.
    spared: u64,
    /// The app goes on waiting, and the buffer stays as it is, until SND.UNA gets here or the
    /// window asks for more than so many segments.
    stays_until: u64,
    stays_for: u64,
    prr: Prr,

    recovery: RecoveryState,
    next_round: u64,

    pub(crate) control: Control,
    min_rto: Span,

    pub(crate) board: Scoreboard,

    undo: Undo,
    /// The SACK blocks of the last ACK, and how many, if they report what the scoreboard has noted.
    told: [SackBlock; 3],
    told_count: u8,
    frto: bool,
    initial_window: u32,
    /// Without those that are counted apart, because every segment moves them.
    pub(crate) counters: Counters,
    /// The segment that is timed: its end, and when it was sent; given up when something is sent
    /// again (Karn's rule). At least one a round trip (RFC 6298 section 4).
    timed: Option<(u64, Time)>,
    send_buffer: u64,
    /// End of the last segment that was shorter than a full one (Linux `snd_sml`), for Nagle.
    short_end: u64,
    writes: Writes,
    train: Train,
    /// Marks that the peer tells of by counters (AccECN), once that is agreed on.
    pub(crate) marks: Option<Box<Counter>>,
    /// What has limited it so far.
    pub(crate) meter: Meter,
    /// What is still under way on its own machine, where it sees that.
    pub(crate) copies: Option<Box<Copies>>,
    /// [`Config::timer_tick`]; ns-2's senders have a clock of their own.
    pub(crate) tick: Span,
}

/// Bytes of the control that ACKs need while nothing is lost: CUBIC's window and epoch.
const HOT_CONTROL: usize = 128;

impl Sender {
    /// So many of its first bytes are what data needs that comes to an end which only receives.
    pub(crate) const NEEDED_BY_DATA: usize = offset_of!(Self, rtt) + RttEstimator::NEEDED_BY_DATA;
    /// So many are what most ACKs need.
    pub(crate) const NEEDED_BY_ACK: usize = offset_of!(Self, control) + HOT_CONTROL;
    /// Which of its bytes ACKs need of the scoreboard.
    pub(crate) const BOARD: Range<usize> =
        offset_of!(Self, board)..offset_of!(Self, board) + Scoreboard::NEEDED_BY_ACK;

    pub(crate) fn new(config: &Config) -> Self {
        let rack = config.sack && config.rack;
        Self {
            mss: config.mss.max(1),
            sack: config.sack,
            rack,
            frto: config.sack && config.frto,
            nagle: config.nagle,
            pacing: config.pacing,
            joins: config.train > 1 && config.ns2.is_none(),
            spaces: config.train > 1 || config.pacing || config.ns2.is_some(),
            train: Train::new(config),
            short_end: 0,
            full: 0,
            forgets: config.slow_start_after_idle,
            min_rto: config.min_rto,
            initial_window: config.initial_window.max(1),
            send_buffer: config.send_buffer,
            board: Scoreboard::new(rack),
            rtt: RttEstimator::new(config),
            rate: RateEstimator::default(),
            control: Control::new(config),
            counters: Counters::default(),
            una: 1,
            next: 1,
            written: 1,
            closing: false,
            fin_waits: false,
            fin_sent: false,
            short_write: false,
            window_end: 1,
            largest_window: 0,
            recovery: RecoveryState::default(),
            told: [SackBlock::default(); 3],
            told_count: 0,
            prr: Prr::default(),
            undo: Undo::default(),
            usage: Usage::default(),
            timer: Timer::default(),
            pace_at: Time::ZERO,
            next_round: 0,
            refill_at: 0,
            push_at: u64::MAX,
            buffered: 1,
            spared: writes::spared(config.mss.max(1)),
            stays_until: 0,
            stays_for: 0,
            times_one: config.timed_segment,
            timed: None,
            data_segments: 0,
            last_sent: Time::ZERO,
            probe: false,
            probed: false,
            window_probe: false,
            reduced: false,
            sent_new: false,
            window_limited: false,
            limited: None,
            meter: Meter::default(),
            writes: Writes::default(),
            marks: None,
            copies: None,
            tick: if config.ns2.is_some() {
                Span::ZERO
            } else {
                config.timer_tick
            },
            by_ns2: config.ns2.is_some(),
            ns2: config.ns2.map(|agent| Box::new(Ns2::new(agent, config))),
        }
    }

    /// The handshake is over: the peer's window is known, the clocks start.
    pub(crate) fn start(&mut self, window: u32, now: Time) {
        self.window_end = self.una + u64::from(window);
        self.largest_window = u64::from(window);
        self.fill_buffer();
        self.usage.since = now;
        self.last_sent = now;
    }

    /// The SYN was lost more than once: one segment to begin with (RFC 5681 section 3.1).
    pub(crate) fn restart_from_one(&mut self) {
        self.control.on_idle_restart(31, 1);
    }

    /// An app with more to write than the send buffer holds fills it, if enough is free. ns-2's
    /// senders have no buffer.
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    fn fill_buffer(&mut self) {
        if self.by_ns2 {
            self.buffered = u64::MAX;
            return;
        }
        let spared = u64::from(self.board.joined()) * self.spared;
        let from = self.una + spared;
        if from < self.refill_at {
            return;
        }
        let (window, windows) = (self.control.window(), self.control.buffered_windows());
        if from < self.stays_until && writes::wanted(window, windows) <= self.stays_for {
            self.refill_at = from + 1;
            return;
        }
        self.ask_to_refill(from, spared);
    }

    /// [`fill_buffer`](Self::fill_buffer) where it is not known that nothing changes.
    #[inline(never)]
    fn ask_to_refill(&mut self, from: u64, spared: u64) {
        let (window, windows) = (self.control.window(), self.control.buffered_windows());
        if self.writes.stays(from, self.written, window, windows) {
            self.refill_at = self.writes.ask(from, self.send_buffer);
            (self.stays_until, self.stays_for) =
                self.writes.stays_until(self.written, self.send_buffer);
            return;
        }
        self.refill(spared);
    }

    #[inline(never)]
    fn refill(&mut self, spared: u64) {
        let (waits, before) = (self.waits_for_app(), self.buffered);
        (self.buffered, self.refill_at) = self.writes.fill(&Demand {
            una: self.una,
            written: self.written,
            spared,
            window: self.control.window(),
            windows: self.control.buffered_windows(),
            largest_window: self.largest_window,
            mss: self.mss,
            most: self.send_buffer,
        });
        self.push_at = if self.train.is_single() {
            self.writes.next_end()
        } else {
            // What ends within one of Linux's 64-KiB buffers is not pushed, for the next write goes
            // on in it. Each train is.
            u64::MAX
        };
        self.stays_until = 0;
        if waits && self.buffered > before {
            // The rate samples of what follows say what the app wrote, not what the path carries.
            let flight = u64::from(self.board.in_flight()) * u64::from(self.mss);
            self.rate.on_app_limited(flight);
        }
    }

    /// Whether there is room to send and nothing is left for it, which an app's write asks first
    /// (Linux `tcp_rate_check_app_limited`). The host's own queue counts as empty.
    fn waits_for_app(&self) -> bool {
        !self.has_unsent()
            && self.board.in_flight() < self.window()
            && self.board.lost() <= self.board.retransmissions()
    }

    /// Takes up to `bytes` into the send buffer.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        if self.closing {
            return 0;
        }
        let taken = bytes.min(self.room());
        self.written += taken;
        self.short_write = taken < bytes;
        self.fill_buffer();
        taken
    }

    /// Takes all of `bytes` or nothing.
    pub(crate) fn write_message(&mut self, bytes: u64) -> bool {
        let fits = !self.closing && !self.waits_for_room() && bytes <= self.room();
        if fits {
            self.written += bytes;
            self.fill_buffer();
        } else {
            self.short_write = true;
        }
        fits
    }

    pub(crate) fn write_forever(&mut self) {
        if !self.closing {
            self.written = ENDLESS;
            self.fill_buffer();
        }
    }

    /// Whether the end of what was written waits for room in the buffer.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.written > self.buffered
    }

    /// Nagle's algorithm, from now on.
    pub(crate) fn set_nagle(&mut self, nagle: bool) {
        self.nagle = nagle;
    }

    /// The send buffer holds so many bytes now, and this many at most.
    pub(crate) fn set_buffer(&mut self, start: u64, most: u64) {
        self.send_buffer = most;
        self.stays_until = 0;
        self.writes.set_room(start.min(most));
    }

    fn room(&self) -> u64 {
        self.send_buffer
            .saturating_sub(self.written.saturating_sub(self.una))
    }

    /// Whether a short write can go on; asked once after each ACK.
    pub(crate) fn take_writable(&mut self) -> bool {
        // As Linux: a third of the buffer must be free, so that writes are not crumbs.
        let ready = self.short_write && self.room() >= (self.send_buffer / 3).max(1);
        self.short_write &= !ready;
        ready
    }

    /// Nothing more will be written. What the windows let go now leaves without the FIN, as the
    /// app's write has sent it before its close (Linux `tcp_send_fin`: only a segment that still
    /// waits takes the FIN along).
    pub(crate) fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        self.fin_waits = self.ns2.is_none();
        if self.written == ENDLESS {
            self.written = self.next;
            self.stays_until = 0;
        }
    }

    pub(crate) fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// The FIN and everything before it is acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_sent && self.una == self.next
    }

    /// Payload bytes acknowledged so far.
    pub(crate) fn acked_bytes(&self) -> u64 {
        self.una - 1 - u64::from(self.fin_acked())
    }

    /// Whether anything waits for an acknowledgement. Told without the scoreboard, which an end
    /// that only receives never looks at.
    pub(crate) fn has_outstanding(&self) -> bool {
        debug_assert_eq!(self.una == self.next, self.board.is_empty());
        self.una != self.next
    }

    /// The window in force: the control's, or recovery's on the way down to it.
    pub(crate) fn window(&self) -> u32 {
        match &self.ns2 {
            Some(ns2) => ns2.window(),
            None => self.own_window(),
        }
    }

    /// [`window`](Self::window) of all but ns-2's senders.
    #[expect(clippy::inline_always, reason = "as `send_fresh`")]
    #[inline(always)]
    fn own_window(&self) -> u32 {
        if self.recovery.reducing() && !self.control.controls_recovery() {
            self.prr.window
        } else {
            self.control.window()
        }
    }

    pub(crate) fn recovery(&self) -> Recovery {
        self.recovery.state
    }

    /// A FIN is to be sent, by itself or with the last segment.
    fn fin_due(&self) -> bool {
        self.closing && !self.fin_waits && !self.fin_sent
    }

    fn fin_waiting(&self) -> bool {
        self.fin_due() && self.next == self.written
    }

    /// Whether anything waits to be sent for the first time.
    pub(crate) fn has_unsent(&self) -> bool {
        self.next < self.written.min(self.buffered) || self.fin_waiting()
    }

    /// Length of the next new segment, if receiver and Nagle allow one.
    #[inline(never)]
    fn fresh_len(&self, room: u16) -> Option<u16> {
        self.fresh_len_here(room)
    }

    #[expect(clippy::inline_always, reason = "as `send_fresh`")]
    #[inline(always)]
    fn fresh_len_here(&self, room: u16) -> Option<u16> {
        let unsent = self.written.min(self.buffered).saturating_sub(self.next);
        if unsent == 0 {
            return self.fin_waiting().then_some(0);
        }
        let full = u64::from(self.mss.min(room).max(1));
        let len = unsent.min(full);
        if self.next + len > self.window_end {
            // Sender's silly window avoidance (RFC 1122 section 4.2.3.4): wait for room for a
            // full segment, or for half the largest window, but never with nothing in flight.
            let open = self.window_end.saturating_sub(self.next);
            let worthwhile = open * 2 >= self.largest_window && self.board.is_empty();
            return (open > 0 && worthwhile).then_some(open.min(len) as u16);
        }
        // Nagle (RFC 9293 section 3.7.4) as Minshall changed it and Linux has it
        // (`tcp_minshall_check`): a short segment waits while another is unacknowledged. The last
        // one before a FIN does not, as nothing will join it.
        if self.nagle && len < full && self.una < self.short_end && !self.fin_due() {
            return None;
        }
        Some(len as u16)
    }

    #[inline(never)]
    fn send_new(&mut self, len: u16, now: Time) -> Outgoing {
        self.send_fresh::<false>(len, self.board.in_flight(), now)
    }

    /// Sends new data. `CALM`: of a sender that [is calm](Self::is_calm) and does not pace.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most segments take"
    )]
    #[inline(always)]
    fn send_fresh<const CALM: bool>(&mut self, len: u16, in_flight: u32, now: Time) -> Outgoing {
        if in_flight == 0 {
            self.send_first(now);
        }
        let stamp = self.rate.stamp();
        let offset = self.next;
        let end = offset + u64::from(len);
        let fin = !CALM && self.fin_due() && end == self.written;
        self.board
            .push(offset, len + u16::from(fin), fin, now, &stamp);
        self.fin_sent |= fin;
        self.next = end + u64::from(fin);
        if self.times_one {
            self.time_one(now);
        }
        self.sent_new = true;
        if self.nagle && len < self.full {
            self.short_end = end;
        }
        self.prr.sent += 1;
        self.data_segments += 1;
        self.last_sent = now;
        if !CALM {
            self.pace(len, now);
        }
        let write_ends = end >= self.push_at;
        if write_ends {
            self.writes.send_through(end);
            self.push_at = self.writes.next_end();
        }
        Outgoing {
            offset,
            payload: len,
            fin,
            // Not for a FIN alone (Linux `tcp_send_fin`).
            push: write_ends || (len > 0 && end == self.written),
            retransmission: false,
            reduced: core::mem::take(&mut self.reduced),
            fills: false,
        }
    }

    /// New data is about to be sent while nothing is in flight.
    #[inline(never)]
    fn send_first(&mut self, now: Time) {
        let idle = self.board.is_empty();
        if idle {
            self.resume(now);
        }
        self.start_transmission(now);
        if idle {
            // After an idle time the rate sample begins anew, or the pause would count as slow
            // delivery.
            self.rate.start(now);
            self.arm_rto(now);
        }
    }

    /// Times the segment that was sent last, if none is timed.
    #[inline(never)]
    fn time_one(&mut self, now: Time) {
        self.timed.get_or_insert((self.next, now));
    }

    fn send_again(&mut self, id: u64, now: Time) -> Outgoing {
        if self.board.in_flight() == 0 {
            self.start_transmission(now);
        }
        let stamp = self.rate.stamp();
        self.board.resend(id, now, &stamp);
        let record = *self.board.get(id);
        self.copy(record.start());
        // The timer guards the head: a retransmission of another segment must not put its timeout
        // off.
        if self.board.head() == Some(id) && !self.timer.is_reorder() {
            self.arm_rto(now);
        }
        self.undo.on_retransmit(now);
        self.prr.sent += 1;
        self.data_segments += 1;
        self.counters.retransmitted += 1;
        self.last_sent = now;
        self.pace(record.payload(), now);
        Outgoing {
            offset: record.start(),
            payload: record.payload(),
            fin: record.fin(),
            push: record.payload() > 0 && record.end() >= self.written,
            retransmission: true,
            reduced: false,
            fills: false,
        }
    }

    /// A tail loss probe: new data if there is any, else the last segment (RFC 8985 7.3).
    fn send_probe(&mut self, room: u16, now: Time) -> Option<Outgoing> {
        let sent = if let Some(len) = self.fresh_len(room) {
            self.send_new(len, now)
        } else {
            let last = self.board.highest_hole()?;
            if self.is_held(last) {
                self.counters.tail_probes -= 1;
                self.resume_rto(now);
                return None;
            }
            self.send_again(last, now)
        };
        // TLP.end_seq of RFC 8985: the ACK of this tells what the probe has done.
        self.recovery.tail_probe = Some((self.next, sent.retransmission));
        self.probed = true;
        self.arm_rto(now);
        Some(sent)
    }
}
