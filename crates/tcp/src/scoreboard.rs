//! What is in flight, what has arrived, what is lost.
//! Source: RFC 6675 (pipe, IsLost, NextSeg), RFC 8985 section 6.2 (RACK), RFC 6582 (no SACK).
//!
//! A ring of 32-byte records, one a segment, addressed by a number that only grows. Nothing here
//! scans the window: a SACKed record stores how many records to skip, with path compression, so
//! a block costs what it newly covers; loss marking and retransmission follow pointers that move
//! forward; `pipe` is counted. Only a retransmission timeout and its undo walk the window.
//!
//! Invariants: records are contiguous; `sacked`, `joined`, `lost`, `retransmitted` equal what a
//! scan would count; `pipe` is never negative (checked in debug builds by the tests).

use crate::rate::Stamp;
use crate::{Span, Time};
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use sojourn_memory::fetch;

mod filled;
mod in_order;
mod judge;
mod lost;
mod sack;
#[cfg(test)]
mod tests;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// The latest retransmission is in flight.
const RETRANSMITTED: u8 = 4;
const EVER_RETRANSMITTED: u8 = 8;
const FIN: u8 = 16;
const APP_LIMITED: u8 = 32;

/// Times relative to a segment's sending are kept in units of 64 ns: up to 274 s, saturating.
const AGO_SHIFT: u32 = 6;

/// One segment in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    start: u64,
    /// Last (re)transmission.
    sent: Time,
    /// Delivered bytes when it was sent, modulo 2³²; once SACKed: records to skip from here.
    link: u32,
    delivered_ago: u32,
    first_sent_ago: u32,
    /// Sequence space, FIN included.
    len: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Record>() == 32);

impl Record {
    fn new(start: u64, len: u16, fin: bool, now: Time, stamp: &Stamp) -> Self {
        let mut record = Self {
            start,
            len,
            flags: if fin { FIN } else { 0 },
            ..Self::default()
        };
        record.stamp(now, stamp);
        record
    }

    fn stamp(&mut self, now: Time, stamp: &Stamp) {
        let ago =
            |time: Time| u32::try_from((now - time).as_nanos() >> AGO_SHIFT).unwrap_or(u32::MAX);
        self.sent = now;
        self.link = stamp.delivered as u32;
        self.delivered_ago = ago(stamp.delivered_at);
        self.first_sent_ago = ago(stamp.first_sent);
        self.flags = self.flags & !APP_LIMITED | if stamp.app_limited { APP_LIMITED } else { 0 };
    }

    /// When it was sent last.
    pub(crate) fn sent(&self) -> Time {
        self.sent
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it was sent after another one; of one burst the sequence number decides.
    #[inline]
    fn is_later(&self, sent: Time, end: u64) -> bool {
        self.sent > sent || (self.sent == sent && self.end() > end)
    }

    /// What it tells of the delivery rate. Not after it was SACKed.
    fn newest(&self) -> Newest {
        Newest {
            sent: self.sent,
            end: self.end(),
            delivered: self.link,
            delivered_ago: self.delivered_ago,
            first_sent_ago: self.first_sent_ago,
            app_limited: self.has(APP_LIMITED),
            retransmitted: self.has(EVER_RETRANSMITTED),
        }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Payload without the FIN.
    pub(crate) fn payload(&self) -> u16 {
        self.len - u16::from(self.fin())
    }

    pub(crate) fn fin(&self) -> bool {
        self.has(FIN)
    }
}

/// The newest delivered segment of an ACK, for the delivery rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    pub(crate) sent: Time,
    end: u64,
    /// Delivered bytes when it was sent, modulo 2³².
    pub(crate) delivered: u32,
    delivered_ago: u32,
    first_sent_ago: u32,
    pub(crate) app_limited: bool,
    pub(crate) retransmitted: bool,
}

impl Newest {
    /// How long before it was sent something was last delivered.
    pub(crate) fn delivered_ago(&self) -> Span {
        Span::from_nanos(u64::from(self.delivered_ago) << AGO_SHIFT)
    }

    /// How long before it was sent the segment was that was delivered then.
    pub(crate) fn first_sent_ago(&self) -> Span {
        Span::from_nanos(u64::from(self.first_sent_ago) << AGO_SHIFT)
    }
}

/// What one ACK changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// When it arrived.
    pub(crate) now: Time,
    /// Retransmissions that seem to return faster than this answer the original (RFC 8985 6.2).
    pub(crate) min_rtt: Span,
    /// Only segments that end here or before count for `original_delivered`.
    pub(crate) frto_limit: u64,
    /// Segments newly acknowledged cumulatively.
    pub(crate) acked: u32,
    /// Segments newly acknowledged cumulatively or selectively.
    pub(crate) delivered: u32,
    pub(crate) delivered_bytes: u64,
    pub(crate) sacked: u32,
    /// Sending times of the first and last newly acknowledged, never retransmitted segment.
    pub(crate) acked_sent: Option<(Time, Time)>,
    pub(crate) sacked_sent: Option<(Time, Time)>,
    /// A segment that had been retransmitted was acknowledged cumulatively.
    pub(crate) retransmission_acked: bool,
    /// A never retransmitted segment below `frto_limit` arrived.
    pub(crate) original_delivered: bool,
    /// A never retransmitted segment arrived after one sent later: how many segments later, the
    /// most of this ACK; zero for none.
    pub(crate) reordered: u32,
    pub(crate) newest: Option<Newest>,
}

impl Outcome {
    /// A record has arrived, which may be the newest of this ACK.
    #[inline]
    fn note_newest(&mut self, record: &Record) {
        if (self.newest).is_none_or(|newest| record.is_later(newest.sent, newest.end)) {
            self.newest = Some(record.newest());
        }
    }
}

/// Segments one after the other that have arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    /// When the first of them was sent last, and the last.
    pub(crate) sent: (Time, Time),
}

/// RACK's newest delivered segment (RFC 8985 section 5.2).
#[derive(Clone, Debug, Default)]
struct Rack {
    sent: Time,
    end: u64,
    rtt: Span,
    advanced: bool,
}

impl Rack {
    /// Whether the absence of a record tells anything: it was not sent after the newest that has
    /// arrived.
    #[inline]
    fn judges(&self, record: &Record) -> bool {
        record.sent < self.sent || (record.sent == self.sent && record.end() < self.end)
    }

    /// A record has arrived that answers its last sending.
    #[expect(clippy::inline_always, reason = "a few comparisons")]
    #[inline(always)]
    fn note(&mut self, record: &Record, now: Time) {
        self.rtt = now - record.sent;
        self.advanced = true;
        if record.is_later(self.sent, self.end) {
            self.sent = record.sent;
            self.end = record.end();
        }
    }
}

/// The sender's view of the segments between SND.UNA and SND.NXT.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    first: u64,
    next: u64,
    sacked: u32,
    /// SACKed records next to one before that is SACKed, too.
    joined: u32,
    lost: u32,
    retransmitted: u32,
    /// Without SACK: duplicate ACKs, each of which stands for a segment that has left.
    reno_sacked: u32,
    track_resent: bool,
    ring: Vec<Record>,

    rack: Rack,
    /// The three highest SACKed records, highest first, plus one (0: none).
    highest: [u64; 3],
    /// The record after the last run that was SACKed: where a block that grows goes on.
    edge: u64,

    /// Ranges whose whole segments are all marked as arrived: those of the last ACK that had any.
    reported: [(u64, u64); 3],
    /// Everything below has been judged by the duplicate threshold.
    dup_judged: u64,
    /// No record below is waiting for its first loss verdict by RACK.
    rack_judged: u64,

    /// The newest record that waits for RACK's verdict, and the first that was too young for it.
    rack_waiting: Option<(u64, u64)>,
    /// No record below is waiting for its first retransmission, and none at or above `lost_end`.
    resend_from: u64,
    lost_end: u64,
    /// Lost again, or found lost out of order.
    lost_again: BinaryHeap<Reverse<u64>>,

    /// Retransmissions in the order of sending.
    resent: VecDeque<(u64, Time)>,
}

impl Scoreboard {
    /// So many of its first bytes are what ACKs need while nothing is lost.
    pub(crate) const NEEDED_BY_ACK: usize = core::mem::offset_of!(Self, reported);

    /// `rack`: whether retransmissions are watched by time.
    pub(crate) fn new(rack: bool) -> Self {
        Self {
            ring: Vec::new(),
            first: 0,
            next: 0,
            sacked: 0,
            joined: 0,
            lost: 0,
            retransmitted: 0,
            reno_sacked: 0,
            highest: [0; 3],
            reported: [(0, 0); 3],
            edge: 0,
            dup_judged: 0,
            rack_judged: 0,
            rack_waiting: None,
            resend_from: 0,
            lost_end: 0,
            lost_again: BinaryHeap::new(),
            resent: VecDeque::new(),
            rack: Rack::default(),
            track_resent: rack,
        }
    }

    /// Asks for the memory of the first two records and the next two to come; there are some.
    #[inline]
    pub(crate) fn fetch_ends(&self) {
        for id in [self.first, self.first + 1, self.next, self.next + 1] {
            fetch(self.get(id));
        }
    }

    fn slot(&self, id: u64) -> usize {
        id as usize & (self.ring.len() - 1)
    }

    pub(crate) fn get(&self, id: u64) -> &Record {
        &self.ring[self.slot(id)]
    }

    fn get_mut(&mut self, id: u64) -> &mut Record {
        let slot = self.slot(id);
        &mut self.ring[slot]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// Segments sent and not yet acknowledged cumulatively.
    pub(crate) fn outstanding(&self) -> u32 {
        (self.next - self.first) as u32
    }

    /// Segments believed to be in the network (`pipe`).
    pub(crate) fn in_flight(&self) -> u32 {
        // RFC 6675 section 4: not SACKed and not lost counts once, a retransmission in flight
        // once more.
        let gone = self.sacked + self.reno_sacked + self.lost;
        debug_assert!(gone <= self.outstanding(), "pipe would be negative");
        self.outstanding().saturating_sub(gone) + self.retransmitted
    }

    /// Segments that have arrived out of order, or duplicate ACKs without SACK.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked + self.reno_sacked
    }

    /// SACKed segments that follow on another one: what each block has beyond its first.
    pub(crate) fn joined(&self) -> u32 {
        self.joined
    }

    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions in flight.
    pub(crate) fn retransmissions(&self) -> u32 {
        self.retransmitted
    }

    /// When the oldest segment was last sent.
    pub(crate) fn oldest_sent(&self) -> Option<Time> {
        (!self.is_empty()).then(|| self.get(self.first).sent)
    }

    /// The first segment in the window.
    pub(crate) fn head(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.first)
    }

    /// Appends a new segment.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most segments take"
    )]
    #[inline(always)]
    pub(crate) fn push(&mut self, start: u64, len: u16, fin: bool, now: Time, stamp: &Stamp) {
        if self.outstanding() as usize == self.ring.len() {
            self.grow();
        }
        let id = self.next;
        self.next += 1;
        *self.get_mut(id) = Record::new(start, len, fin, now, stamp);
    }

    #[cold]
    fn grow(&mut self) {
        // A power of two, so that a number becomes a place by a mask.
        let mut ring = alloc::vec![Record::default(); (self.ring.len() * 2).max(16)];
        let mask = ring.len() - 1;
        for id in self.first..self.next {
            ring[id as usize & mask] = *self.get(id);
        }
        self.ring = ring;
    }

    /// The first record that starts at or after `offset`.
    fn find(&self, offset: u64) -> u64 {
        if self.is_empty() {
            return self.next;
        }
        // Mostly all segments are full: interpolate, then fall back to bisection.
        let head = self.get(self.first);
        let guess = self.first + offset.saturating_sub(head.start) / u64::from(head.len.max(1));
        if guess < self.next && self.get(guess).start == offset {
            return guess;
        }
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).start < offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first record at or after `id` that is not SACKed; shortens the path there.
    fn next_unsacked(&mut self, id: u64) -> u64 {
        let mut at = id;
        while at < self.next && self.get(at).has(SACKED) {
            at += u64::from(self.get(at).link);
        }
        // Path compression: the next walk over this block takes one step, which keeps SACK
        // processing linear under an attack by many blocks.
        if at > id {
            self.get_mut(id).link = (at - id) as u32;
        }
        at
    }

    /// Whether a record from the first one on is SACKed; what has not been sent is not.
    fn is_sacked(&self, id: u64) -> bool {
        id < self.next && self.get(id).has(SACKED)
    }

    /// The highest SACKed record plus one; zero if none was.
    pub(crate) fn highest(&self) -> u64 {
        self.highest[0]
    }

    /// Notes that a record has arrived for the first time; `highest`: of those SACKed before.
    fn deliver(&mut self, id: u64, highest: u64, out: &mut Outcome) {
        let record = *self.get(id);
        let again = record.has(EVER_RETRANSMITTED);
        out.delivered += 1;
        out.delivered_bytes += u64::from(record.len);
        if !again {
            out.original_delivered |= record.end() <= out.frto_limit;
            // It was sent before one that has arrived already, and never again: the network has
            // changed their order.
            if id + 1 < highest {
                out.reordered = out.reordered.max((highest - id) as u32);
            }
        }
        out.note_newest(&record);
        // Faster than any round trip: the ACK of the original, not of the retransmission. RACK
        // would take all that was sent in between for lost.
        if !(again && out.now - record.sent < out.min_rtt) {
            self.rack.note(&record, out.now);
        }
    }

    /// Removes everything below `una`; `highest`: of the records SACKed before this ACK.
    #[inline]
    pub(crate) fn ack_through(&mut self, una: u64, highest: u64, out: &mut Outcome) {
        if self.first < self.next && self.get(self.first).start < una {
            self.ack_some(una, highest, out);
        }
        self.reno_sacked = self.reno_sacked.min(self.reno_room());
    }

    /// The same of an ACK that reaches into the first record at least.
    // What is done to the outcome is done in memory: as a part of its caller it needed more
    // registers than there are, for all ACKs.
    #[inline(never)]
    fn ack_some(&mut self, una: u64, highest: u64, out: &mut Outcome) {
        while self.first < self.next {
            let id = self.first;
            let record = *self.get(id);
            if record.start >= una {
                break;
            }
            if record.end() > una {
                // Acknowledged in the middle: keep the rest, which a range may now hold whole.
                self.reported = [(0, 0); 3];
                let record = self.get_mut(id);
                record.len = (record.end() - una) as u16;
                record.start = una;
                break;
            }
            if record.has(SACKED) {
                self.drop_sacked(una, out);
                continue;
            }
            self.deliver(id, highest, out);
            if !record.has(EVER_RETRANSMITTED) {
                let first = out.acked_sent.map_or(record.sent, |(first, _)| first);
                out.acked_sent = Some((first, record.sent));
            }
            out.retransmission_acked |= record.has(EVER_RETRANSMITTED);
            self.lost -= u32::from(record.has(LOST));
            // The flags go with the record, so must their counts.
            self.retransmitted -= u32::from(record.has(RETRANSMITTED));
            out.acked += 1;
            self.first += 1;
        }
        if self.is_empty() {
            self.lost_again.clear();
            self.resent.clear();
        }
    }

    /// Removes the SACKed records that are first on the board and whole below `una`: one at least.
    #[inline]
    fn drop_sacked(&mut self, una: u64, out: &mut Outcome) {
        let mut flags = 0;
        let mut id = self.first;
        while id < self.next {
            let record = self.get(id);
            if !record.has(SACKED) || record.end() > una {
                break;
            }
            flags |= record.flags;
            id += 1;
        }
        let count = (id - self.first) as u32;
        self.first = id;
        self.sacked -= count;
        self.joined -= count - 1 + u32::from(self.is_sacked(id));
        out.acked += count;
        out.retransmission_acked |= flags & EVER_RETRANSMITTED != 0;
    }

    fn reno_room(&self) -> u32 {
        self.outstanding() - self.lost.min(self.outstanding())
    }

    /// Counts a duplicate ACK of a peer without SACK.
    pub(crate) fn add_duplicate(&mut self) {
        if self.reno_sacked < self.reno_room() {
            self.reno_sacked += 1;
        }
    }

    /// A cumulative ACK of `acked` segments without SACK: one of them was the hole, the others
    /// had been counted by duplicate ACKs.
    pub(crate) fn remove_duplicates(&mut self, acked: u32) {
        self.reno_sacked = self.reno_sacked.saturating_sub(acked.saturating_sub(1));
    }

    /// Forgets the duplicate ACKs.
    pub(crate) fn reset_duplicates(&mut self) {
        self.reno_sacked = 0;
    }

    /// Compares the counters with a full scan.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let count = |flag| {
            (self.first..self.next)
                .filter(|&id| self.get(id).has(flag))
                .count()
        };
        assert_eq!(self.sacked as usize, count(SACKED));
        let joined = |&id: &u64| self.is_sacked(id - 1) && self.is_sacked(id);
        let joined = (self.first + 1..self.next).filter(joined).count();
        assert_eq!(self.joined as usize, joined);
        assert_eq!(self.lost as usize, count(LOST));
        assert_eq!(self.retransmitted as usize, count(RETRANSMITTED));
        for id in self.first + 1..self.next {
            assert_eq!(self.get(id - 1).end(), self.get(id).start);
        }
        assert!(self.sacked() + self.lost <= self.outstanding());
    }
}
