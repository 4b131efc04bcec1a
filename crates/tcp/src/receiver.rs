//! The receiving half: reassembly, when to acknowledge, how much to offer.
//! Source: RFC 9293 section 3.10.7.4, RFC 2018 section 4 (SACK), RFC 2883 (DSACK), RFC 5681
//! section 4.2 (delayed ACKs), RFC 7323 section 4.3 (timestamps), RFC 3168 section 6.1.3 (ECN),
//! RFC 8257 section 3.2 (exact echo).
//! As Linux 6.1: the first 16 segments, those after an idle time and those that make the window
//! grow are acknowledged at once, and so is the end of a write once the app has read it, unless the
//! app answers (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`, `tcp_event_data_sent`). How long an ACK
//! waits follows the distance of segments (`tcp_event_data_recv`, `tcp_delack_timer_handler`) up to
//! a round trip (`tcp_send_delayed_ack`). Behind a gap, the ACKs of a millisecond are one
//! (`__tcp_ack_snd_check`, SACK compression). `window` says how much is offered.

mod delay;
mod read;
mod window;

use crate::config::DelayedAck;
use crate::reassembly::{RECENT, Range, Reassembly};
use crate::rtt::RttEstimator;
use crate::segment::{Flags, SackBlock, Segment};
use crate::{Config, Span, Time, seq};
use core::mem::offset_of;
use sojourn_memory::fetch_part;
use window::Window;

/// Linux TCP_MAX_QUICKACKS.
const MAX_QUICK: u32 = 16;
/// Linux TCP_MSS_DEFAULT: what a full segment is taken to be before one has been seen.
const LEAST_MSS: u16 = 536;
/// Linux TCP_MIN_MSS: shorter segments never count as full ones.
const MIN_MSS: u16 = 88;

/// Linux TCP_ATO_MIN and TCP_DELACK_MIN: how long an ACK waits at first, and the bound that no
/// round trip lowers.
const DELAY_MIN: Span = Span::from_millis(40);

/// Out-of-order segments since RCV.NXT moved that are acknowledged at once (RFC 5681's three
/// duplicates); Linux holds the ACKs of later ones for up to `SACK_DELAY` or a twentieth of a
/// round trip, and fires the timer up to `SACK_SLACK` late (`tcp_comp_sack_*`).
const PROMPT_SACKS: u32 = 3;
const SACK_DELAY: Span = Span::from_millis(1);
const SACK_SLACK: Span = Span::from_micros(100);
/// Blocks that fit beside a duplicate report (Linux TCP_SACK_BLOCKS_EXPECTED).
const SAFE_BLOCKS: usize = 2;
/// At most so many are held.
const MAX_HELD_SACKS: u32 = 44;

/// What a data segment did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// Bytes newly readable.
    pub(crate) delivered: u64,
    /// The peer's FIN is in order now.
    pub(crate) closed: bool,
}

/// The receiving half of a connection.
///
/// In this order: what a segment of any kind needs at both ends is one cache line, what data need
/// are three more. The rest is needed behind a gap, or seldom.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    next: u64,
    acked: u64,
    ts_recent: Time,
    /// When a delayed ACK is due; [`Time::MAX`] for none.
    pub(crate) ack_at: Time,
    edge: u64,
    isn: u32,
    quick: u32,
    /// What a full segment is taken to be (Linux `rcv_mss`).
    full: u16,
    last_len: u16,
    timestamps: bool,
    sack: bool,
    pub(crate) ack_now: bool,
    /// The SYN of the peer is acknowledged before data go out: who connects returns from that
    /// before it writes (Linux `tcp_rcv_synsent_state_process`).
    pub(crate) syn_ack_first: bool,
    /// ECN-echo tells of each segment, not of the time since the last CWR.
    exact_echo: bool,
    echo: bool,
    /// The window has been offered as it is now: one who only sends asks with every segment.
    offered: bool,
    reading: bool,
    closed: bool,
    /// What comes belongs to the train of the segment before: one packet for Linux.
    pub(crate) follows: bool,
    /// Whether there is an `earlier` ACK, and whether something stands in one of the fields behind
    /// it. Kept here, so that they need not be read where most segments find them empty.
    owes_earlier: bool,
    is_odd: bool,

    /// Segments sent, of any kind.
    pub(crate) sent: u64,
    held: u64,
    /// When data last came in order.
    last_data: Option<Time>,
    /// When the timer of a delayed ACK was set; [`Time::MAX`] once that has a tick, or needs none.
    ack_since: Time,
    /// How long an ACK is to wait before bounds (Linux `ato`), and at most; none waits if that is
    /// zero.
    delay: Span,
    delay_max: Span,
    held_sacks: u32,
    mss: u16,
    pushed: Pushed,
    /// The connection is interactive: data goes out soon after data came in.
    interactive: bool,

    window: Window,
    tick: Span,
    /// RCV.NXT when out-of-order segments were last counted, and how many were acknowledged at
    /// once since; the ACKs held back.
    gap_at: u64,
    prompt_sacks: u32,

    /// ACK number and echo that are owed since before the marks changed.
    earlier: Option<(u64, bool)>,
    fin_at: Option<u64>,
    duplicate: Option<(u64, u64)>,
    store: Reassembly,
    /// What the next ACK reports, if not all that is there: how many blocks, and these.
    told: Option<(usize, [Range; RECENT])>,
}

/// Whether ends of writes wait for an ACK (Linux `ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pushed {
    No,
    Once,
    Twice,
}

impl Receiver {
    /// So many of its first bytes are what an end needs that only sends.
    pub(crate) const NEEDED_BY_ACK: usize = offset_of!(Self, window);
    /// So many are what most segments with data need, and behind a gap.
    pub(crate) const NEEDED_BY_DATA: usize = offset_of!(Self, earlier);
    pub(crate) const NEEDED_BEHIND_GAP: core::ops::Range<usize> =
        Self::NEEDED_BY_DATA..offset_of!(Self, told);

    pub(crate) fn new(config: &Config) -> Self {
        let window = Window::new(config);
        Self {
            isn: 0,
            timestamps: config.timestamps,
            sack: config.sack,
            delay: DELAY_MIN,
            delay_max: match config.delayed_ack {
                DelayedAck::Off => Span::ZERO,
                DelayedAck::On { timeout } => timeout,
            },
            mss: config.mss.max(1),
            next: 0,
            store: Reassembly::default(),
            duplicate: None,
            fin_at: None,
            closed: false,
            follows: false,
            ack_now: false,
            ack_at: Time::MAX,
            ack_since: Time::MAX,
            tick: config.timer_tick,
            acked: 0,
            quick: 0,
            full: LEAST_MSS.min(config.mss.max(1)),
            last_len: 0,
            pushed: Pushed::No,
            gap_at: 0,
            prompt_sacks: 0,
            held_sacks: 0,
            told: None,
            interactive: false,
            last_data: None,
            ts_recent: Time::ZERO,
            echo: false,
            exact_echo: config.echoes_exactly(),
            earlier: None,
            // A SYN does not know yet whether there will be timestamps.
            edge: window.initial(config.mss + config.header_len(0) - 40),
            window,
            reading: true,
            offered: false,
            held: 0,
            syn_ack_first: false,
            owes_earlier: false,
            is_odd: false,
            sent: 0,
        }
    }

    /// Asks for the memory of what data needs behind a gap.
    #[inline]
    pub(crate) fn fetch_apart(&self) {
        if self.is_odd {
            fetch_part(self, Self::NEEDED_BEHIND_GAP);
        }
    }

    /// Whether the fields are empty that most segments find so.
    fn is_plain(&self) -> bool {
        let waits = self.fin_at.is_some() || !self.store.is_empty();
        !waits && self.duplicate.is_none() && self.told.is_none()
    }

    /// Bytes that wait behind gaps.
    #[inline]
    fn gaps(&self) -> u64 {
        if self.is_odd {
            self.bytes_behind_gaps()
        } else {
            0
        }
    }

    /// The peer's SYN arrived, which `answers` ours or is answered by it.
    pub(crate) fn start(&mut self, segment: &Segment, answers: bool, now: Time) {
        self.isn = segment.seq;
        self.next = 1;
        self.acked = 0;
        if !answers {
            self.edge = self.window.initial(self.mss);
        }
        self.edge += 1;
        self.offered = false;
        self.ts_recent = segment.ts;
        self.window.start(1, now);
    }

    /// The handshake is over.
    pub(crate) fn establish(&mut self, now: Time) {
        self.window.establish(now);
    }

    /// Whether segments tell when they were sent.
    pub(crate) fn timestamps(&self) -> bool {
        self.timestamps
    }

    /// RCV.NXT on the wire.
    pub(crate) fn ack_number(&self) -> u32 {
        seq::wire(self.isn, self.next)
    }

    pub(crate) fn ts_recent(&self) -> Time {
        self.ts_recent
    }

    /// Whether a sequence number lies inside the window, and not at its left edge.
    pub(crate) fn is_inside(&self, number: u32) -> bool {
        let offset = seq::offset(self.isn, number, self.next);
        offset > self.next && offset < self.edge
    }

    /// Bytes delivered in order so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.next
            .saturating_sub(1 + u64::from(self.closed) + self.held)
    }

    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    /// The offered window; the right edge never moves back.
    #[inline]
    pub(crate) fn offer(&mut self) -> u32 {
        if !self.offered {
            self.open();
            self.offered = true;
        }
        u32::try_from(self.edge.saturating_sub(self.next)).unwrap_or(u32::MAX)
    }

    /// Moves the right edge of the offered window (`tcp_select_window`).
    fn open(&mut self) {
        let gaps = self.gaps();
        let (window, short) = self.window.select(gaps, self.held, self.full);
        if short {
            self.quick = 0;
        }
        let edge = self.next + window;
        if self.window.is_scaled() {
            self.edge = if edge >= self.edge {
                edge
            } else {
                self.next + self.window.scaled(self.edge.saturating_sub(self.next))
            };
            return;
        }
        // Without scaling whole segments: a window that opens by crumbs makes the peer send crumbs
        // (RFC 1122 section 4.2.3.3).
        let step = u64::from(self.mss).min(self.window.earned() / 2);
        if edge >= self.edge + step.max(1) {
            self.edge = edge;
        }
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.earned()
    }

    /// Whether ECN-echo must be set.
    pub(crate) fn echo(&self) -> bool {
        self.echo
    }

    /// Marks are counted elsewhere (AccECN), and every segment tells of them.
    pub(crate) fn echo_counts(&mut self) {
        self.exact_echo = false;
        self.echo = true;
    }

    /// Whether data has come that no ACK has covered.
    pub(crate) fn has_unacknowledged(&self) -> bool {
        self.next > self.acked
    }

    /// Whether ECN-echo follows the marks segment by segment.
    pub(crate) fn echoes_exactly(&self) -> bool {
        self.exact_echo
    }

    /// Whether an ACK must go before all others.
    pub(crate) fn owes_earlier(&self) -> bool {
        self.owes_earlier
    }

    // A function of its own, or the field would be read before it is known that it is needed.
    #[cold]
    #[inline(never)]
    fn bytes_behind_gaps(&self) -> u64 {
        self.store.bytes()
    }

    /// The number and echo of an ACK that must go before all others.
    pub(crate) fn take_earlier_ack(&mut self) -> Option<(u32, bool)> {
        self.owes_earlier = false;
        let (next, echo) = self.earlier.take()?;
        Some((seq::wire(self.isn, next), echo))
    }

    /// How many SACK blocks the next segment carries.
    #[inline]
    pub(crate) fn sack_count(&self) -> u8 {
        debug_assert!(self.is_odd || self.is_plain(), "an oddity was not noted");
        if !self.is_odd {
            return 0;
        }
        self.count_blocks()
    }

    #[inline(never)]
    fn count_blocks(&self) -> u8 {
        if !self.sack {
            return 0;
        }
        (self.reported().len() + usize::from(self.duplicate.is_some())).min(3) as u8
    }

    /// The blocks of which the next ACK tells, newest first.
    fn reported(&self) -> &[Range] {
        match &self.told {
            Some((len, blocks)) => &blocks[..*len],
            None => self.store.recent(),
        }
    }

    /// The SACK blocks, the duplicate report first.
    #[inline(never)]
    pub(crate) fn sacks(&self) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let ranges = self.duplicate.iter().chain(self.reported());
        for (block, &(start, end)) in blocks.iter_mut().zip(ranges) {
            *block = SackBlock {
                start: seq::wire(self.isn, start),
                end: seq::wire(self.isn, end),
            };
        }
        blocks
    }

    /// A segment with data, a FIN, or an old sequence number. `ce`: the IP header was marked;
    /// `rtt`: this side's round trips, and the timeout, after which the peer counts as idle.
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment,
        ce: bool,
        rtt: &RttEstimator,
        now: Time,
    ) -> Arrival {
        // The segment of which nothing has to be asked (what Van Jacobson's header prediction
        // finds): in order, while nothing waits. What it does is what `on_any` does then.
        let plain = !ce && !self.exact_echo && segment.flags.is_plain();
        if plain && segment.seq == self.ack_number() {
            if segment.payload == 0 {
                self.note_timestamp(segment, self.next);
                return Arrival::default();
            }
            let end = self.next + u64::from(segment.payload);
            if end <= self.edge {
                if self.is_odd {
                    return self.on_next(segment, end, rtt, now);
                }
                self.offered = false;
                self.note_timestamp(segment, self.next);
                self.window.note_echo(segment, self.full, now);
                return self.accept_in_order::<true>(segment, end, rtt, now);
            }
        }
        if plain && self.sack {
            return self.on_later(segment, rtt, now);
        }
        self.on_any(segment, ce, rtt, now)
    }

    /// [`on_any`](Self::on_any) of such a segment that is next in order, while others wait behind a
    /// gap or something else is odd.
    #[inline(never)]
    fn on_next(&mut self, segment: &Segment, end: u64, rtt: &RttEstimator, now: Time) -> Arrival {
        if self.fin_at.is_some() {
            return self.on_any(segment, false, rtt, now);
        }
        self.offered = false;
        self.note_timestamp(segment, self.next);
        self.window.note_echo(segment, self.full, now);
        let arrival = self.accept_in_order::<false>(segment, end, rtt, now);
        self.is_odd = !self.is_plain();
        arrival
    }

    /// [`on_any`](Self::on_any) of a segment without a mark, a FIN or CWR. Behind a gap most begin
    /// where the one before ends.
    #[inline(never)]
    fn on_later(&mut self, segment: &Segment, rtt: &RttEstimator, now: Time) -> Arrival {
        let start = seq::offset(self.isn, segment.seq, self.next);
        let end = start + u64::from(segment.payload);
        let waiting = self.store.bytes();
        if end > self.edge || !self.store.extend(start, end) {
            return self.on_any(segment, false, rtt, now);
        }
        self.offered = false;
        self.window.note_echo(segment, self.full, now);
        self.told = None;
        self.wait_behind_gap(segment.payload, waiting, rtt, now);
        Arrival::default()
    }

    /// [`on_segment`](Self::on_segment) of any segment.
    #[inline(never)]
    fn on_any(&mut self, segment: &Segment, ce: bool, rtt: &RttEstimator, now: Time) -> Arrival {
        let arrival = self.take_any(segment, ce, rtt, now);
        self.is_odd = !self.is_plain();
        arrival
    }

    fn take_any(&mut self, segment: &Segment, ce: bool, rtt: &RttEstimator, now: Time) -> Arrival {
        let start = seq::offset(self.isn, segment.seq, self.next);
        let fin = segment.flags.has(Flags::FIN);
        let end = start + u64::from(segment.payload);
        if end + u64::from(fin) == start {
            // A pure ACK, or a probe of the window with an old number.
            // The answer to a keep-alive or window probe carries the window in force (RFC 9293
            // section 3.8.6.1).
            self.ack_now |= start < self.next;
            self.note_timestamp(segment, start);
            return Arrival::default();
        }
        self.offered = false;
        self.note_timestamp(segment, start);
        self.note_ecn(segment, ce);
        if end > self.edge || start > self.edge {
            // Beyond the window: the peer probes or misbehaves.
            self.ack_now = true;
            if start >= self.edge {
                return Arrival::default();
            }
        }
        // A FIN that does not fit is not there: the peer sends it again.
        let whole = end <= self.edge;
        let mut end = end.min(self.edge);
        if fin && whole && end >= self.next {
            self.fin_at.get_or_insert(end);
        }
        // A FIN occupies a sequence number: SACK blocks and duplicate reports cover it, as Linux's
        // `end_seq`.
        end += u64::from(fin && whole);
        self.window.note_echo(segment, self.full, now);
        self.accept(segment, start, end, rtt, now)
    }

    fn accept(
        &mut self,
        segment: &Segment,
        start: u64,
        end: u64,
        rtt: &RttEstimator,
        now: Time,
    ) -> Arrival {
        if end <= self.next {
            // RFC 2883: the sender learns that a retransmission was needless, which is what undo
            // and RACK's window live on.
            if end > start {
                let whole = self
                    .duplicate
                    .filter(|(_, last)| self.follows && *last == start);
                self.duplicate = Some((whole.map_or(start, |(first, _)| first), end));
            }
            // A retransmission of old data means that an ACK was lost, or that the peer is in a
            // timeout: it should not wait for ACKs now (Linux `tcp_data_queue`).
            self.enter_quick_mode(MAX_QUICK);
            self.ack_now = true;
            return Arrival::default();
        }
        if start > self.next {
            // A held ACK must not lose a block to newer ones: it goes as it was before this segment
            // began one (`tcp_sack_new_ofo_skb`, `tcp_sack_compress_send_ack`), so that the sender
            // hears of the gap with the next ACK.
            let blocks = self.store.recent();
            let touches = |&(first, last): &Range| start <= last && first <= end;
            let grows = blocks.iter().position(touches);
            let goes = self.held_sacks > 0 && grows.unwrap_or(blocks.len()) >= SAFE_BLOCKS;
            let mut told = goes.then(|| self.store.reported());
            self.ack_now |= goes;
            let waiting = self.store.bytes();
            // True when the range was there: out-of-order data that comes twice is reported too.
            if self.store.insert(start, end) {
                self.duplicate = Some((start, end));
                self.ack_now = true;
                told = None;
            }
            // A block that grew is in its old place.
            if let (Some((_, blocks)), Some(at)) = (&mut told, grows) {
                blocks[at] = self.store.recent()[0];
            }
            self.told = told;
            self.wait_behind_gap(segment.payload, waiting, rtt, now);
            return Arrival::default();
        }
        self.accept_in_order::<false>(segment, end, rtt, now)
    }

    /// A segment was stored behind a gap, where so many bytes had been `waiting`.
    #[expect(
        clippy::inline_always,
        reason = "as `on_later`, and once for all others"
    )]
    #[inline(always)]
    fn wait_behind_gap(&mut self, payload: u16, waiting: u64, rtt: &RttEstimator, now: Time) {
        if self.window.is_overrun(self.store.bytes()) {
            self.quick = 0;
        }
        if self.sack {
            // Before the segment takes memory itself (`tcp_data_queue_ofo`).
            self.grow(payload, false, waiting);
        }
        self.acknowledge_gap(rtt.srtt(), now);
    }

    /// Data that goes on where RCV.NXT is. `PLAIN`: nothing waits behind a gap, and no FIN.
    #[expect(clippy::inline_always, reason = "a copy without what is known")]
    #[inline(always)]
    fn accept_in_order<const PLAIN: bool>(
        &mut self,
        segment: &Segment,
        end: u64,
        rtt: &RttEstimator,
        now: Time,
    ) -> Arrival {
        let before = self.next;
        // Only data in order tells how the peer sends; what fills gaps comes at the pace of the
        // repair.
        self.measure(segment);
        self.note_activity(rtt.rto(), now);
        let gaps = if PLAIN { 0 } else { self.store.bytes() };
        self.grow(segment.payload, true, gaps);
        // Before the store is advanced: an ACK goes at once when a gap is filled in part or whole
        // (RFC 5681 section 4.2).
        let filled = !PLAIN && !self.store.is_empty();
        if filled {
            self.note_overlap(end);
        }
        let first = end.max(self.next);
        self.next = if PLAIN {
            end
        } else {
            self.store.advance(first)
        };
        let fin_arrived = !PLAIN && self.fin_at.is_some_and(|fin| fin < self.next);
        let closed = fin_arrived && !self.closed;
        self.closed |= closed;
        // The FIN takes a sequence number, and the peer waits for its ACK to close.
        self.ack_now |= closed;
        let bytes = self.next - before - u64::from(closed);
        self.held += bytes;
        let delivered = if self.reading {
            core::mem::take(&mut self.held)
        } else {
            0
        };
        self.window.note_progress(self.next, now);
        if self.reading {
            // Of what fills a gap the app reads one buffer, and counts that, before it reads on.
            let fin_read = !PLAIN && self.closed && first == self.next;
            self.window.on_read(first - u64::from(fin_read), now);
        }
        self.schedule_ack(filled, rtt.srtt(), now);
        Arrival { delivered, closed }
    }

    /// What has come in order up to `end` was there in part, beyond the gap: the first such part is
    /// reported (RFC 2883 section 4.1, Linux `tcp_ofo_queue`).
    fn note_overlap(&mut self, end: u64) {
        if let Some((first, last)) = self.store.first()
            && first < end
        {
            self.duplicate = Some((first, last.min(end)));
        }
    }

    /// While the window grows, the peer hears of it at once. `gaps`: bytes that wait behind gaps.
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    fn grow(&mut self, len: u16, in_order: bool, gaps: u64) {
        if self.window.grow(len, in_order, gaps, self.held) {
            self.quick |= 1;
        }
    }

    /// Linux `tcp_measure_rcv_mss`: how long full segments are, and whether a write ends here.
    #[expect(clippy::inline_always, reason = "the way that most segments take")]
    #[inline(always)]
    fn measure(&mut self, segment: &Segment) {
        let len = segment.payload;
        let push = segment.flags.has(Flags::PSH);
        let last = core::mem::take(&mut self.last_len);
        if len >= self.full {
            self.full = len.min(self.mss);
            if push && self.pushed == Pushed::No {
                self.pushed = Pushed::Once;
            }
            return;
        }
        let ends = push || segment.flags.has(Flags::FIN);
        if len >= LEAST_MSS || (len >= MIN_MSS && !ends) {
            // Twice the same length: the path got a smaller MTU.
            self.last_len = len;
            if len == last {
                self.full = len;
                return;
            }
        }
        self.pushed = match self.pushed {
            Pushed::No => Pushed::Once,
            Pushed::Once | Pushed::Twice => Pushed::Twice,
        };
    }

    /// Echo the timestamp of the segment that advanced the left edge (RFC 7323 section 4.3).
    fn note_timestamp(&mut self, segment: &Segment, start: u64) {
        if start <= self.acked.max(1) && segment.ts >= self.ts_recent {
            self.ts_recent = segment.ts;
        }
    }

    fn note_ecn(&mut self, segment: &Segment, ce: bool) {
        if self.exact_echo {
            if ce != self.echo {
                // What a delayed ACK would cover has another mark than this segment.
                if self.next > self.acked {
                    self.earlier = Some((self.next, self.echo));
                    self.owes_earlier = true;
                }
                self.echo = ce;
                self.ack_now = true;
            }
            return;
        }
        if segment.flags.has(Flags::CWR) {
            self.echo = false;
            // Nor this one: it may be the only segment of the window (`tcp_ecn_accept_cwr`).
            self.ack_now |= segment.payload > 0;
        }
        if ce {
            if !self.echo {
                // The sender's window may be small: do not delay the news.
                self.enter_quick_mode(2);
            }
            self.echo = true;
        }
    }
}
