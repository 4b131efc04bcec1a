//! One end of a connection: handshake, the two halves, and closing.
//! Source: RFC 9293 section 3.10, RFC 6298 section 5.7 and RFC 5681 section 3.1 (lost SYN).
//!
//! Options are agreed out of band: both ends get the same [`Config`]. Only ECN is negotiated on
//! the wire, because its flags are there.
//! Not here: resets for segments that no connection wants; TIME-WAIT has no timer.

mod accurate;
mod handshake;
mod kernel;
mod program;
mod write;

use crate::Codepoint;
use crate::accecn::Reflector;
use crate::config::{Config, Ecn};
use crate::congestion::{CongestionControl, Control};
use crate::receiver::Receiver;
use crate::segment::{Flags, Segment};
use crate::sender::{Outgoing, Sender};
use crate::{Span, Time, seq};
use alloc::boxed::Box;
use core::mem::offset_of;
use core::ops::Range;

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// What the ECN field of the IP header is to say: ECT(0), or ECT(1), for data of a connection
    /// that has agreed on ECN.
    pub ecn: Codepoint,
    /// Data that was sent before.
    pub retransmission: bool,
    /// What may follow.
    pub then: Then,
}

/// What may follow on a segment, before any other input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Anything: [`Connection::poll_transmit`] tells.
    Ask,
    /// Nothing but [one like it](Connection::poll_alike), if any.
    Alike,
    /// Nothing.
    Nothing,
}

impl Transmit {
    /// A segment without data, as [`Connection::take_ack`] puts it in a place.
    pub const fn without_data(segment: Segment, ecn: Codepoint) -> Self {
        Self {
            segment,
            ecn,
            retransmission: false,
            then: Then::Ask,
        }
    }

    /// The segment goes to a place, and what is told of it back.
    #[inline]
    fn into_parts(self, to: &mut Segment) -> Sent {
        *to = self.segment;
        Sent {
            ecn: self.ecn,
            retransmission: self.retransmission,
            then: self.then,
        }
    }
}

/// What [`Connection::poll_into`] tells of a segment, as [`Transmit`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The ECN field of the IP header.
    pub ecn: Codepoint,
    /// Data that was sent before.
    pub retransmission: bool,
    /// What may follow.
    pub then: Then,
}

/// What [`Connection::poll_transmit`] has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owes {
    /// Nothing.
    Nothing,
    /// To return one ACK.
    Ack,
    /// Perhaps more than that.
    More,
}

/// What a received segment did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Bytes newly in order for the application.
    pub delivered: u64,
    /// Unsmoothed round-trip time, if this segment gave one.
    pub rtt: Option<Span>,
    /// Bytes of sequence space newly acknowledged by the peer.
    pub acked: u64,
    /// After a short write there is room again.
    pub writable: bool,
    /// The connection became established.
    pub established: bool,
    /// The peer's FIN arrived in order: nothing more will be delivered.
    pub peer_closed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Open,
}

/// A reset to send: without an acknowledgement as an answer, with one, and the timestamp to echo,
/// of one's own accord (Linux `tcp_v4_send_reset`, `tcp_send_active_reset`).
#[derive(Clone, Copy, Debug, Default)]
struct Reset {
    seq: u32,
    ack: Option<(u32, Time)>,
}

/// One end of a TCP connection.
///
/// After every input (anything that takes `&mut self`), call
/// [`poll_transmit`](Self::poll_transmit) until it returns `None`; then
/// [`next_timer`](Self::next_timer) tells when to call [`on_timer`](Self::on_timer) at the
/// latest. Calling it too early does no harm.
///
/// In this order, as the two halves in theirs: what each segment needs lies in as few cache lines
/// as may be, if these begin with the receiving half.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    isn: u32,
    /// Payload of a full segment beside options of constant length.
    mss: u16,
    phase: Phase,
    /// Negotiated.
    ecn: Ecn,
    receiver: Receiver,
    syn_count: u32,
    syn_due: bool,
    /// It was broken off at this end: what still comes is answered by a reset.
    aborted: bool,
    /// A reset with a wrong number came in the handshake, which an ACK must answer.
    challenge_due: bool,
    /// The peer closed first.
    passive_close: bool,
    syn_at: Time,
    /// When pacing lets the next segment go; [`Time::MAX`] when it does not wait for that.
    pace_timer: Time,
    sender: Sender,
    syn_sent: Time,
    /// A reset that is due.
    reset_due: Option<Reset>,
    /// What the peer must hear of marks, once AccECN is agreed on.
    accurate: Option<Box<Reflector>>,
    config: Config,
}

const SENDER: usize = offset_of!(Connection, sender);
const RECEIVER: usize = offset_of!(Connection, receiver);

impl Connection {
    /// A closed connection; [`open`](Self::open) or [`listen`](Self::listen) comes next. The
    /// initial sequence number is zero: the model has no attackers, and captures read better.
    pub fn new(config: &Config) -> Self {
        Self::with_isn(config, 0)
    }

    /// As [`new`](Self::new), with an initial sequence number.
    pub fn with_isn(config: &Config, isn: u32) -> Self {
        Self {
            isn,
            mss: config.mss,
            phase: Phase::Closed,
            ecn: Ecn::Off,
            syn_at: Time::MAX,
            pace_timer: Time::MAX,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            syn_sent: Time::ZERO,
            syn_count: 0,
            syn_due: false,
            aborted: false,
            reset_due: None,
            challenge_due: false,
            passive_close: false,
            accurate: None,
            config: *config,
        }
    }

    /// Puts a congestion control of one's own in the place of [`Config::algorithm`]'s, before the
    /// connection opens. What else follows from the algorithm stays: whether ECN is negotiated, and
    /// how marks are echoed. ns-2's senders ([`Config::ns2`]) do not ask it.
    pub fn set_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        self.sender.control = Control::own(control);
    }

    /// The congestion control that [`Connection::set_control`] put here; none where it is built in.
    pub fn own_control(&self) -> Option<&(dyn CongestionControl + Send)> {
        self.sender.control.own_ref()
    }

    /// The same, to be changed. What it says differently from now on counts from the next segment
    /// on.
    pub fn own_control_mut(&mut self) -> Option<&mut (dyn CongestionControl + Send)> {
        self.sender.control.own_mut()
    }

    /// A copy that goes on as this one would have. None if its congestion control cannot be copied
    /// ([`CongestionControl::fork`]).
    pub fn fork(&self) -> Option<Self> {
        self.sender.control.can_fork().then(|| Self {
            sender: self.sender.clone(),
            receiver: self.receiver.clone(),
            accurate: self.accurate.clone(),
            ..*self
        })
    }

    /// 64 random bits for what the congestion control decides by lot (BBR: when it probes).
    /// Without, connections with the same history decide alike.
    pub fn seed(&mut self, bits: u64) {
        self.sender.seed(bits);
    }

    /// Opens actively: a SYN will be sent.
    pub fn open(&mut self, _now: Time) {
        if self.phase == Phase::Closed {
            self.phase = Phase::SynSent;
            self.syn_due = true;
        }
    }

    /// Waits for the peer's SYN.
    pub fn listen(&mut self) {
        if self.phase == Phase::Closed {
            self.phase = Phase::Listen;
        }
    }

    /// A segment of the peer arrived, with this in the ECN field of its IP header.
    #[expect(
        clippy::inline_always,
        reason = "that most segments are is soon found out"
    )]
    #[inline(always)]
    pub fn receive(&mut self, segment: &Segment, ecn: Codepoint, now: Time) -> Received {
        let is_usual = self.phase == Phase::Open && self.ecn != Ecn::Accurate;
        if is_usual && segment.flags.is_established() {
            self.receive_open(segment, self.is_marked(ecn), now)
        } else {
            self.receive_rare(segment, ecn, now)
        }
    }

    /// Whether the mark of a segment counts as RFC 3168 has it.
    #[inline]
    fn is_marked(&self, ecn: Codepoint) -> bool {
        self.ecn == Ecn::Classic && ecn == Codepoint::Ce
    }

    /// A segment before or after the time in which data flows, or one that disturbs it.
    #[inline(never)]
    fn receive_rare(&mut self, segment: &Segment, ecn: Codepoint, now: Time) -> Received {
        let mut received = Received::default();
        if segment.flags.has(Flags::RST) {
            self.reset(segment);
            return received;
        }
        match self.phase {
            Phase::Closed => {
                // RFC 9293 section 3.10.7.1.
                self.reset_due = self.aborted.then_some(Reset {
                    seq: segment.ack,
                    ..Reset::default()
                });
                return received;
            }
            Phase::Listen => {
                if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
                    self.answer_syn(segment, ecn, now);
                }
                return received;
            }
            Phase::SynSent => {
                self.receive_in_syn_sent(segment, ecn, now, &mut received);
                return received;
            }
            Phase::SynReceived => {
                if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
                    // The SYN once more: our answer was lost.
                    self.receive_syn_again(segment, ecn);
                    return received;
                }
                if !segment.flags.has(Flags::ACK) || segment.ack != self.isn.wrapping_add(1) {
                    return received;
                }
                self.establish(segment, now, &mut received);
                self.read_last_ack(segment, now);
            }
            Phase::Open => {}
        }
        if segment.flags.has(Flags::SYN) {
            // A repeated SYN-ACK: our ACK was lost.
            self.receiver.ack_now = true;
            self.note_syn_ack(ecn);
            return received;
        }
        if segment.flags.has(Flags::ACK) {
            let news = if self.ecn == Ecn::Accurate {
                self.receive_accurate(segment, ecn, now)
            } else {
                self.receive_open(segment, self.is_marked(ecn), now)
            };
            received = Received {
                rtt: received.rtt.or(news.rtt),
                established: received.established,
                ..news
            };
        }
        received
    }

    /// A segment of an open connection, whose flags for ECN are those of RFC 3168.
    #[inline(never)]
    fn receive_open(&mut self, segment: &Segment, ce: bool, now: Time) -> Received {
        let acked = self.sender.on_ack(segment, self.isn, now);
        if acked.unacceptable {
            self.receiver.ack_now = true;
            return Received::default();
        }
        let writable = acked.bytes > 0 && self.sender.take_writable();
        let rtt = &self.sender.rtt;
        let arrival = self.receiver.on_segment(segment, ce, rtt, now);
        if arrival.closed && !self.sender.fin_sent() {
            self.passive_close = true;
        }
        Received {
            delivered: arrival.delivered,
            rtt: acked.rtt,
            acked: acked.bytes,
            writable,
            established: false,
            peer_closed: arrival.closed,
        }
    }

    fn reset(&mut self, segment: &Segment) {
        self.challenge(segment);
        let plausible = match self.phase {
            Phase::Closed | Phase::Listen => false,
            Phase::SynSent => segment.ack == self.isn.wrapping_add(1),
            // RFC 5961 section 3.2: only an exact match resets.
            Phase::SynReceived | Phase::Open => segment.seq == self.receiver.ack_number(),
        };
        if plausible {
            self.forget();
        }
    }

    /// A reset in the window, but not at its left edge, is answered by an ACK (RFC 5961 section
    /// 3.2; Linux `tcp_validate_incoming`, `tcp_check_req`).
    fn challenge(&mut self, segment: &Segment) {
        let doubtful = self.receiver.is_inside(segment.seq);
        match self.phase {
            Phase::SynReceived => self.challenge_due |= doubtful,
            Phase::Open => self.receiver.ack_now |= doubtful,
            Phase::Closed | Phase::Listen | Phase::SynSent => {}
        }
    }

    fn forget(&mut self) {
        self.phase = Phase::Closed;
        self.syn_due = false;
        self.syn_at = Time::MAX;
        self.pace_timer = Time::MAX;
        self.ecn = Ecn::Off;
        self.accurate = None;
        self.mss = self.config.mss;
        let (meter, sees) = (self.sender.meter, self.sender.copies.is_some());
        let sent = self.receiver.sent;
        self.sender = Sender::new(&self.config);
        self.sender.meter = meter;
        if sees {
            self.sender.see_copies();
        }
        self.receiver = Receiver::new(&self.config);
        self.receiver.sent = sent;
    }

    /// Breaks off at once: what is written and what arrives is lost, and a reset tells the peer
    /// (RFC 9293 section 3.10.5), once more for each segment that still comes.
    pub fn abort(&mut self) {
        if matches!(self.phase, Phase::SynReceived | Phase::Open) {
            self.reset_due = Some(Reset {
                seq: seq::wire(self.isn, self.sender.next),
                ack: Some((self.receiver.ack_number(), self.receiver.ts_recent())),
            });
            self.aborted = true;
        }
        self.forget();
    }

    /// A timer may have expired; harmless when none has.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.syn_at {
            self.syn_at = Time::MAX;
            self.syn_due = true;
        }
        if now >= self.pace_timer {
            self.pace_timer = Time::MAX;
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(self.sender.rtt.rto(), now);
    }

    /// Its first byte that is to begin a cache line.
    pub const ALIGNED: usize = RECEIVER;
    /// The bytes of it that most segments with data need, when they arrive.
    pub const NEEDED_BY_DATA: [Range<usize>; 2] = [
        0..RECEIVER + Receiver::NEEDED_BY_DATA,
        offset_of!(Self, syn_at)..SENDER + Sender::NEEDED_BY_DATA,
    ];
    /// The bytes of it that most segments without data need.
    pub const NEEDED_BY_ACK: [Range<usize>; 3] = [
        0..RECEIVER + Receiver::NEEDED_BY_ACK,
        offset_of!(Self, syn_at)..SENDER + Sender::NEEDED_BY_ACK,
        SENDER + Sender::BOARD.start..SENDER + Sender::BOARD.end,
    ];

    /// Asks for the memory of what a segment needs besides, and where else it is.
    #[inline]
    pub fn fetch_apart(&self) {
        if self.sender.has_outstanding() {
            self.sender.board.fetch_ends();
        }
        self.receiver.fetch_apart();
    }

    /// When [`on_timer`](Self::on_timer) must be called at the latest.
    pub fn next_timer(&self) -> Option<Time> {
        let next = self
            .sender
            .timer
            .at
            .min(self.receiver.ack_at)
            .min(self.syn_at)
            .min(self.pace_timer);
        (next != Time::MAX).then_some(next)
    }

    /// What [`poll_transmit`](Self::poll_transmit) has to do, which is soon found out of an end
    /// that only receives.
    #[expect(clippy::inline_always, reason = "mostly it is a few comparisons")]
    #[inline(always)]
    pub fn owes(&self) -> Owes {
        let more =
            self.sender.window_probe | self.receiver.syn_ack_first | self.receiver.owes_earlier();
        let waits = self.phase != Phase::Open || self.pace_timer != Time::MAX;
        if more || waits || !self.sender.is_idle() {
            Owes::More
        } else if self.receiver.ack_now {
            Owes::Ack
        } else {
            Owes::Nothing
        }
    }

    /// Puts the ACK of an end that [owes that](Owes::Ack) in a place of the caller's. After it the
    /// end owes nothing. Returns the ECN field of its IP header.
    #[expect(clippy::inline_always, reason = "as `fill`")]
    #[inline(always)]
    pub fn take_ack(&mut self, to: &mut Segment, now: Time) -> Codepoint {
        debug_assert_eq!(self.owes(), Owes::Ack);
        let number = seq::wire(self.isn, self.sender.next);
        self.plain_here(to, number, Flags::ACK, now)
    }

    /// The next segment to send, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut segment = Segment::default();
        let sent = self.poll_into(&mut segment, now)?;
        Some(Transmit {
            segment,
            ecn: sent.ecn,
            retransmission: sent.retransmission,
            then: sent.then,
        })
    }

    /// [`poll_transmit`](Self::poll_transmit), which puts the segment in a place of the caller's.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most segments take"
    )]
    #[inline(always)]
    pub fn poll_into(&mut self, to: &mut Segment, now: Time) -> Option<Sent> {
        if self.phase != Phase::Open {
            return self.poll_handshake(now).map(|sent| sent.into_parts(to));
        }
        let owes =
            self.sender.window_probe | self.receiver.syn_ack_first | self.receiver.owes_earlier();
        if owes && let Some(sent) = self.poll_owed(now) {
            return Some(sent.into_parts(to));
        }
        if self.sender.is_idle() {
            self.pace_timer = Time::MAX;
            return self.owed_ack(to, now);
        }
        let blocks = self.receiver.sack_count();
        let room = match blocks {
            0 => self.mss,
            blocks => self.mss.saturating_sub(Config::sack_len(blocks)).max(1),
        };
        if self.sender.is_calm() {
            if let Some(outgoing) = self.sender.poll_calm(room, now) {
                let mut sent = self.data_here(to, &outgoing, room, blocks, now);
                sent.then = self.what_follows(&outgoing, room, now);
                return Some(sent);
            }
            self.pace_timer = Time::MAX;
            return self.owed_ack(to, now);
        }
        if let Some(outgoing) = self.sender.poll(room, now) {
            return Some(self.data(to, &outgoing, room, blocks, now));
        }
        self.pace_timer = if self.sender.pace_pending(now) {
            self.sender.pace_at
        } else {
            Time::MAX
        };
        self.owed_ack(to, now)
    }

    /// What follows on a segment that the short way has sent beside options of `room`'s length.
    #[expect(clippy::inline_always, reason = "as `fill`")]
    #[inline(always)]
    fn what_follows(&mut self, outgoing: &Outgoing, room: u16, now: Time) -> Then {
        if room != self.mss || self.receiver.echo() {
            return Then::Ask;
        }
        if !outgoing.fills {
            return Then::Alike;
        }
        // What the next poll would find out, in fewer instructions.
        self.sender.after_full_burst(now);
        self.pace_timer = Time::MAX;
        Then::Nothing
    }

    /// Turns the segment that was returned last into the next one of its burst, which differs in
    /// its place and payload only. `None` if there is no more to send. To be called after one on
    /// which [such a one](Then::Alike) may follow, before any other input.
    #[expect(clippy::inline_always, reason = "as `fill`")]
    #[inline(always)]
    pub fn poll_alike(&mut self, segment: &mut Segment, now: Time) -> Option<Then> {
        let Some(outgoing) = self.sender.poll_calm(self.mss, now) else {
            self.pace_timer = Time::MAX;
            debug_assert!(!self.receiver.ack_now, "the last one was an ACK too");
            return None;
        };
        debug_assert!(!outgoing.fin && !outgoing.reduced, "neither is calm");
        self.receiver.sent += 1;
        segment.seq = seq::wire(self.isn, outgoing.offset);
        segment.payload = outgoing.payload;
        segment.flags = if outgoing.push {
            Flags::ACK.with(Flags::PSH)
        } else {
            Flags::ACK
        };
        Some(self.what_follows(&outgoing, self.mss, now))
    }

    /// Whether a segment that [`poll_transmit`](Self::poll_transmit) returns next, before any other
    /// input, belongs to the train of the one before, if it goes on where that one ends and has the
    /// same headers ([`Config::train`]).
    pub fn train_goes_on(&self) -> bool {
        self.sender.train_goes_on()
    }

    /// [`poll_transmit`](Self::poll_transmit) of a sender of trains, as it is not compiled into the
    /// way that others take.
    #[inline(never)]
    pub fn poll_train(&mut self, now: Time) -> Option<Transmit> {
        self.poll_transmit(now)
    }

    /// The segments that are received until this is told otherwise have come in one train with the
    /// one before.
    pub fn receive_in_train(&mut self, follows: bool) {
        self.receiver.follows = follows;
    }

    /// What goes before all else.
    #[inline(never)]
    fn poll_owed(&mut self, now: Time) -> Option<Transmit> {
        if self.sender.window_probe {
            self.sender.window_probe = false;
            let old = seq::wire(self.isn, self.sender.una - 1);
            return Some(self.plain(old, Flags::ACK, now));
        }
        if let Some((ack, echo)) = self.receiver.take_earlier_ack() {
            return Some(self.earlier_ack(ack, echo, now));
        }
        if core::mem::take(&mut self.receiver.syn_ack_first) {
            let number = seq::wire(self.isn, self.sender.next);
            return Some(self.plain(number, Flags::ACK, now));
        }
        None
    }

    /// The acknowledgement that must not wait, if there is one.
    #[inline]
    fn owed_ack(&mut self, to: &mut Segment, now: Time) -> Option<Sent> {
        let number = seq::wire(self.isn, self.sender.next);
        (self.receiver.ack_now).then(|| self.plain(number, Flags::ACK, now).into_parts(to))
    }

    /// An ACK of what had arrived before the marks changed (RFC 8257 section 3.2).
    fn earlier_ack(&mut self, ack: u32, echo: bool, now: Time) -> Transmit {
        let number = seq::wire(self.isn, self.sender.next);
        let due = (self.receiver.ack_now, self.receiver.ack_at);
        let mut sent = self.plain(number, Flags::ACK, now);
        sent.segment.ack = ack;
        sent.segment.flags = if echo {
            Flags::ACK.with(Flags::ECE)
        } else {
            Flags::ACK
        };
        (self.receiver.ack_now, self.receiver.ack_at) = due;
        sent
    }
}

#[cfg(test)]
impl Connection {
    /// Checks the scoreboard's counters against a scan.
    pub(crate) fn check(&self) {
        self.sender.board.check();
    }
}
