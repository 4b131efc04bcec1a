//! What an ACK reports as arrived beyond a gap (RFC 2018).

use super::{EVER_RETRANSMITTED, LOST, Outcome, RETRANSMITTED, Run, SACKED, Scoreboard};
use crate::Time;

/// A record with none of these was sent once and is in flight.
const TOUCHED: u8 = SACKED | LOST | RETRANSMITTED | EVER_RETRANSMITTED;

impl Scoreboard {
    /// Marks everything in these ranges as arrived; empty ones tell nothing. ACKs repeat what those
    /// before have reported (RFC 2018 section 4), which is looked at once (as Linux, whose
    /// `recv_sack_cache` has the last ACK's).
    pub(crate) fn sack_all(&mut self, ranges: [(u64, u64); 3], out: &mut Outcome) {
        let reported = core::mem::replace(&mut self.reported, ranges);
        // Where the news of each range begins; at its end if there are none.
        let known = ranges.map(|(start, end)| known(&reported, start, end));
        let fresh = |index: usize| known[index] < ranges[index].1;
        match (fresh(0), fresh(1), fresh(2)) {
            (false, false, false) => {}
            (true, false, false) => {
                let (start, end) = ranges[0];
                self.sack(start, end, known[0], out);
            }
            _ => self.sack_several(ranges, known, out),
        }
    }

    /// Whether so many ranges of the last ACK that reported any lie above `una`.
    #[expect(clippy::inline_always, reason = "as `Sender::on_next_sack`")]
    #[inline(always)]
    pub(crate) fn reports_above(&self, una: u64, count: usize) -> bool {
        self.reported
            .iter()
            .take(count)
            .all(|&(start, _)| start >= una)
    }

    /// [`sack_all`](Self::sack_all) of the first ranges of the last ACK.
    #[inline]
    pub(crate) fn keep_reported(&mut self, count: usize) {
        for range in self.reported.iter_mut().skip(count) {
            *range = (0, 0);
        }
    }

    /// [`sack_all`](Self::sack_all) of those ranges that have news.
    #[inline(never)]
    fn sack_several(&mut self, ranges: [(u64, u64); 3], known: [u64; 3], out: &mut Outcome) {
        let mut order = [0, 1, 2];
        // In the order of sending, or what one ACK reports would seem to have been reordered.
        order.sort_unstable_by_key(|&index: &usize| ranges[index]);
        for index in order {
            let (start, end) = ranges[index];
            if known[index] < end {
                self.sack(start, end, known[index], out);
            }
        }
    }

    /// Marks everything in a range as arrived, of which what lies before `known` was reported.
    // As `ack_some`.
    #[inline(never)]
    fn sack(&mut self, start: u64, end: u64, known: u64, out: &mut Outcome) {
        let goes_on = self.edge >= self.first
            && self.edge < self.next
            && self.get(self.edge).start() == known;
        let mut id = if goes_on { self.edge } else { self.find(start) };
        loop {
            id = self.next_unsacked(id);
            // A block that ends inside a segment (a peer that cuts otherwise) does not cover it.
            if id >= self.next || self.get(id).end() > end {
                self.edge = id;
                return;
            }
            id = if self.get(id).has(TOUCHED) {
                self.sack_one(id, out);
                id + 1
            } else {
                self.sack_run(id, end, out)
            };
        }
    }

    /// Marks this record as arrived, and those after it in the range that were sent once and are in
    /// flight, as [`sack_one`](Self::sack_one) does one after the other. Returns the record after
    /// them.
    #[expect(clippy::inline_always, reason = "the way that most ranges take")]
    #[inline(always)]
    fn sack_run(&mut self, from: u64, end: u64, out: &mut Outcome) -> u64 {
        let highest = self.highest[0];
        let record = self.get(from);
        let (start, sent) = (record.start, record.sent);
        out.original_delivered |= record.end() <= out.frto_limit;
        if from + 1 < highest {
            out.reordered = out.reordered.max((highest - from) as u32);
        }
        let (id, slot) = self.mark_run(from, end);
        // They were sent in this order, so that the last is the newest.
        let last = &mut self.ring[slot];
        out.note_newest(last);
        self.rack.note(last, out.now);
        out.delivered_bytes += last.end() - start;
        let begun = out.sacked_sent.map_or(sent, |(begun, _)| begun);
        out.sacked_sent = Some((begun, last.sent));
        last.link = 1;
        let count = (id - from) as u32;
        self.get_mut(from).link = count;
        out.sacked += count;
        out.delivered += count;
        let before = from > self.first && self.is_sacked(from - 1);
        self.sacked += count;
        self.joined += count - 1 + u32::from(before) + u32::from(self.is_sacked(id));
        if highest <= from {
            self.raise_by(count, id);
        } else {
            for id in from..id {
                self.raise(id + 1);
            }
        }
        id
    }

    /// The first range of the last ACK now ends here: marks what is new as arrived, as
    /// [`sack_all`](Self::sack_all) does. It must have been sent once, be in flight, and lie above
    /// all that has arrived. Otherwise nothing is done.
    #[expect(clippy::inline_always, reason = "as `Sender::on_next_sack`")]
    #[inline(always)]
    pub(crate) fn sack_next(&mut self, end: u64, now: Time) -> Option<Run> {
        let from = self.edge;
        if from != self.highest[0] || from < self.first || from >= self.next {
            return None;
        }
        let record = self.get(from);
        let (start, sent) = (record.start, record.sent);
        if start != self.reported[0].1 || record.has(TOUCHED) || record.end() > end {
            return None;
        }
        self.reported[0].1 = end;
        let (id, slot) = self.mark_run(from, end);
        let last = &mut self.ring[slot];
        let run = Run {
            segments: (id - from) as u32,
            bytes: last.end() - start,
            sent: (sent, last.sent),
        };
        self.rack.note(last, now);
        last.link = 1;
        self.get_mut(from).link = run.segments;
        self.sacked += run.segments;
        self.joined += run.segments - u32::from(from == self.first);
        self.raise_by(run.segments, id);
        self.edge = id;
        // What has arrived waits for no verdict.
        if self.rack_judged == from {
            self.rack_judged = id;
        }
        Some(run)
    }

    /// The marks of [`sack_run`](Self::sack_run). Returns the record after the run, and the slot of
    /// its last one, whose `link` is yet to be set.
    #[expect(clippy::inline_always, reason = "as `sack_run`")]
    #[inline(always)]
    fn mark_run(&mut self, from: u64, end: u64) -> (u64, usize) {
        let mut id = from;
        loop {
            let slot = self.slot(id);
            self.ring[slot].flags |= SACKED;
            id += 1;
            let ends = id >= self.next || {
                let next = self.get(id);
                next.has(TOUCHED) || next.end() > end
            };
            if ends {
                return (id, slot);
            }
            self.ring[slot].link = 1;
        }
    }

    fn sack_one(&mut self, id: u64, out: &mut Outcome) {
        self.deliver(id, self.highest[0], out);
        let record = self.get_mut(id);
        let flags = record.flags;
        let sent = record.sent;
        record.flags = flags & !(LOST | RETRANSMITTED) | SACKED;
        // From now on `link` counts records to skip; `deliver` has read what it held before.
        record.link = 1;
        self.lost -= u32::from(flags & LOST != 0);
        self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
        self.sacked += 1;
        out.sacked += 1;
        let before = id > self.first && self.is_sacked(id - 1);
        self.joined += u32::from(before) + u32::from(self.is_sacked(id + 1));
        if flags & EVER_RETRANSMITTED == 0 {
            let first = out.sacked_sent.map_or(sent, |(first, _)| first);
            out.sacked_sent = Some((first, sent));
        }
        self.raise(id + 1);
    }

    /// So many records before `mark` were SACKed, and no higher one.
    #[inline]
    fn raise_by(&mut self, count: u32, mark: u64) {
        let [one, two, _] = self.highest;
        self.highest = match count {
            1 => [mark, one, two],
            2 => [mark, mark - 1, one],
            _ => [mark, mark - 1, mark - 2],
        };
    }

    /// A record was SACKed: the one before `mark`.
    fn raise(&mut self, mark: u64) {
        let [one, two, three] = self.highest;
        if mark > one {
            self.highest = [mark, one, two];
        } else if mark > two {
            self.highest = [one, mark, two];
        } else if mark > three {
            self.highest[2] = mark;
        }
    }
}

/// How far a range is known from its start on, by the ranges of the ACK before.
#[inline]
fn known(reported: &[(u64, u64); 3], start: u64, end: u64) -> u64 {
    let reach = |known: u64, &(first, last): &(u64, u64)| {
        if first <= start && last > known {
            last
        } else {
            known
        }
    };
    reported.iter().fold(start, reach).min(end)
}
