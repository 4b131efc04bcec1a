#![allow(unreachable_pub, dead_code)] // Shared with the bench, which uses a part of it.
//! Two connections over a scripted link, for tests and benches.

use sojourn_tcp::{Codepoint, Config, Connection, Owes, Segment, Then, Transmit};
use sojourn_units::{Rate, Span, Time, TxClock};
use std::boxed::Box;
use std::collections::VecDeque;
use std::format;
use std::vec::Vec;

/// The end that opens, and mostly sends.
pub const A: usize = 0;
/// The end that listens.
pub const B: usize = 1;

/// What the link does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Pass,
    /// Loses it.
    Drop,
    /// Marks it.
    Mark,
    /// Delays it more than the others.
    Late(Span),
    /// Delivers it twice, the copy later.
    Twice(Span),
}

/// The script: sender's side, how many segments it sent before, the segment, the time.
pub type Script = Box<dyn FnMut(usize, u64, &Transmit, Time) -> Fate>;

/// What middleboxes change: sender's side, the segment.
pub type Mangle = Box<dyn FnMut(usize, &mut Transmit)>;

/// A segment on its way.
struct Flight {
    at: Time,
    segment: Transmit,
}

/// Two connections and the path between them.
pub struct Pair {
    /// The connections, A and B.
    pub ends: [Connection; 2],
    /// The time.
    pub now: Time,
    /// One-way delay.
    pub delay: Span,
    /// Rate of the link from A to B and its tail-drop buffer in segments; no limit otherwise.
    pub bottleneck: Option<(TxClock, u32)>,
    /// What happens to segments.
    pub script: Script,
    /// What middleboxes change in segments, by the sender's side.
    pub mangle: Option<Mangle>,
    /// Bytes delivered to each end.
    pub delivered: [u64; 2],
    /// What was sent, if logging.
    pub log: Option<Vec<(Time, usize, Transmit, Fate)>>,
    /// Segments sent by each side.
    pub sent: [u64; 2],
    /// Segments lost at the bottleneck.
    pub overflowed: u64,
    /// Which ends have seen the peer's FIN.
    pub peer_closed: [bool; 2],
    /// RTT samples at A.
    pub last_rtt: Option<Span>,
    flights: [VecDeque<Flight>; 2],
    free_at: Time,
    departures: VecDeque<Time>,
}

impl Pair {
    /// Both ends with the same configuration; nothing is lost.
    pub fn new(config: &Config, delay: Span) -> Self {
        Self::with_script(config, delay, Box::new(|_, _, _, _| Fate::Pass))
    }

    /// As [`new`](Self::new), with a script.
    pub fn with_script(config: &Config, delay: Span, script: Script) -> Self {
        let mut a = Connection::with_isn(config, u32::MAX - 5000);
        let mut b = Connection::with_isn(config, 77);
        b.listen();
        a.open(Time::ZERO);
        Self {
            ends: [a, b],
            now: Time::ZERO,
            delay,
            bottleneck: None,
            script,
            mangle: None,
            delivered: [0; 2],
            log: None,
            sent: [0; 2],
            overflowed: 0,
            peer_closed: [false; 2],
            last_rtt: None,
            flights: [VecDeque::new(), VecDeque::new()],
            free_at: Time::ZERO,
            departures: VecDeque::new(),
        }
    }

    /// Puts a bottleneck from A to B.
    pub fn limit(&mut self, rate: Rate, buffer: u32) {
        self.bottleneck = Some((TxClock::new(rate), buffer));
    }

    /// Sends all that either end wants to send.
    pub fn pump(&mut self) {
        self.pump_side(A);
        self.pump_side(B);
    }

    /// By the short ways, where they are open. Of the first segments a copy goes the long one, which
    /// must say the same and leave the same behind.
    fn pump_side(&mut self, side: usize) {
        let mut last: Option<Transmit> = None;
        loop {
            let (end, now) = (&mut self.ends[side], self.now);
            let looks = cfg!(test) && self.sent[side] < 40;
            let copy = looks.then(|| end.fork()).flatten();
            let then = last.map_or(Then::Ask, |last| last.then);
            last = match last.filter(|_| then == Then::Alike) {
                Some(mut last) => end.poll_alike(&mut last.segment, now).map(|then| {
                    last.then = then;
                    last
                }),
                None => match end.owes() {
                    Owes::Ack => {
                        let mut segment = Segment::default();
                        let ecn = end.take_ack(&mut segment, now);
                        Some(Transmit::without_data(segment, ecn))
                    }
                    Owes::Nothing | Owes::More => end.poll_transmit(now),
                },
            };
            if let Some(mut copy) = copy {
                assert_eq!(copy.poll_transmit(now), last);
                assert_eq!(format!("{copy:?}"), format!("{end:?}"));
            }
            let Some(transmit) = last else {
                break;
            };
            assert!(
                then != Then::Nothing,
                "nothing was to follow on the one before"
            );
            self.send(side, transmit);
        }
    }

    fn send(&mut self, side: usize, transmit: Transmit) {
        let fate = (self.script)(side, self.sent[side], &transmit, self.now);
        self.sent[side] += 1;
        if let Some(log) = &mut self.log {
            log.push((self.now, side, transmit, fate));
        }
        let mut transmit = transmit;
        if fate == Fate::Mark {
            transmit.ecn = Codepoint::Ce;
        }
        if let Some(mangle) = &mut self.mangle {
            mangle(side, &mut transmit);
        }
        let mut at = self.now + self.delay;
        if let (A, Some((clock, buffer))) = (side, &mut self.bottleneck) {
            while self.departures.front().is_some_and(|&at| at <= self.now) {
                self.departures.pop_front();
            }
            if self.departures.len() > *buffer as usize {
                self.overflowed += 1;
                return;
            }
            let bytes = u32::from(transmit.segment.payload) + 66;
            self.free_at = clock.finish(self.free_at.max(self.now), bytes);
            self.departures.push_back(self.free_at);
            at = self.free_at + self.delay;
        }
        match fate {
            Fate::Drop => return,
            Fate::Late(more) => at += more,
            Fate::Twice(more) => self.fly(side, at + more, transmit),
            Fate::Pass | Fate::Mark => {}
        }
        self.fly(side, at, transmit);
    }

    fn fly(&mut self, side: usize, at: Time, segment: Transmit) {
        let flights = &mut self.flights[1 - side];
        let mut index = flights.len();
        while index > 0 && flights[index - 1].at > at {
            index -= 1;
        }
        flights.insert(index, Flight { at, segment });
    }

    /// Whether segments are under way.
    pub fn in_flight(&self) -> bool {
        !self.flights[A].is_empty() || !self.flights[B].is_empty()
    }

    /// Handles the next event; false when there is none.
    pub fn step(&mut self) -> bool {
        self.pump();
        self.advance(Time::MAX)
    }

    /// Handles the next event unless it comes after `end`; both ends have nothing to send.
    fn advance(&mut self, end: Time) -> bool {
        let arrival = |side: usize| self.flights[side].front().map_or(Time::MAX, |f| f.at);
        let timer = |side: usize| self.ends[side].next_timer().unwrap_or(Time::MAX);
        let (first, second) = (arrival(A), arrival(B));
        let next = first.min(second);
        let expiry = timer(A).min(timer(B));
        let soonest = next.min(expiry);
        if soonest == Time::MAX || soonest > end {
            return false;
        }
        let side;
        if expiry < next {
            self.now = self.now.max(expiry);
            side = if timer(A) <= timer(B) { A } else { B };
            self.ends[side].on_timer(self.now);
        } else {
            side = if first <= second { A } else { B };
            self.now = next;
            let flight = self.flights[side].pop_front().expect("it is the earliest");
            let Transmit { segment, ecn, .. } = flight.segment;
            let received = self.ends[side].receive(&segment, ecn, self.now);
            self.delivered[side] += received.delivered;
            self.peer_closed[side] |= received.peer_closed;
            if side == A && received.rtt.is_some() {
                self.last_rtt = received.rtt;
            }
        }
        self.pump_side(side);
        true
    }

    /// Runs until `end` or until nothing happens any more.
    pub fn run_until(&mut self, end: Time) {
        self.pump();
        while self.advance(end) {}
        self.now = self.now.max(end);
    }

    /// Runs for a time.
    pub fn run_for(&mut self, span: Span) {
        self.run_until(self.now + span);
    }

    /// Runs until B has `bytes`, or for `limit`. Returns when that was.
    pub fn run_to(&mut self, bytes: u64, limit: Span) -> Option<Time> {
        let end = self.now + limit;
        self.pump();
        while self.delivered[B] < bytes {
            if !self.advance(end) {
                return None;
            }
        }
        Some(self.now)
    }

    /// Starts logging.
    pub fn record(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Data segments that A has sent: milliseconds, first byte (from 0) in full segments,
    /// retransmission.
    pub fn trace(&self, mss: u16) -> Vec<(u64, u64, bool)> {
        self.log
            .iter()
            .flatten()
            .filter(|(_, side, sent, _)| *side == A && sent.segment.payload > 0)
            .map(|(at, _, sent, _)| {
                let offset = sent.segment.seq.wrapping_sub(u32::MAX - 5000) - 1;
                (
                    at.as_nanos() / 1_000_000,
                    u64::from(offset) / u64::from(mss),
                    sent.retransmission,
                )
            })
            .collect()
    }
}
