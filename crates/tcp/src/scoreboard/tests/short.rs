//! The short ways of a recovery against the long ones.

use super::*;
use crate::reassembly::Reassembly;
use std::format;

const MIN_RTT: Span = Span::from_millis(3);

#[derive(Clone, Copy, Debug)]
enum Move {
    Send(u8),
    /// What was sent after all that has arrived, behind so many that are lost or late.
    Next(u8),
    /// The first that is missing.
    First,
    /// What is missing, of so many parts of 256.
    Any(u8),
    Resend(u8),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => (1..20_u8).prop_map(Move::Send),
        12 => Just(Move::Next(0)),
        2 => (1..4_u8).prop_map(Move::Next),
        6 => Just(Move::First),
        1 => any::<u8>().prop_map(Move::Any),
        6 => (1..4_u8).prop_map(Move::Resend),
    ]
}

/// Two boards that hear of the same ACKs, and the receiver that sends them.
struct Both {
    short: Scoreboard,
    long: Scoreboard,
    store: Reassembly,
    una: u64,
    sent: u64,
    told: [(u64, u64); 3],
    now: Time,
    /// ACKs that took a short way: of one block that grew, and of a gap that was filled.
    taken: [u32; 2],
    judged: u32,
}

impl Both {
    fn new() -> Self {
        Self {
            short: Scoreboard::new(true),
            long: Scoreboard::new(true),
            store: Reassembly::default(),
            // The SYN came before.
            una: 1,
            sent: 1,
            told: [(0, 0); 3],
            now: Time::ZERO,
            taken: [0; 2],
            judged: 0,
        }
    }

    fn go(&mut self, step: Move) {
        self.now += Span::from_millis(1);
        let missing: Vec<u64> = (self.una..self.sent)
            .filter(|at| {
                !self
                    .store
                    .iter()
                    .any(|&(start, end)| start <= *at && *at < end)
            })
            .collect();
        let above = self.store.iter().last().map_or(self.una, |&(_, end)| end);
        match step {
            Move::Send(count) => (0..count).for_each(|_| self.send()),
            Move::Next(behind) if above + u64::from(behind) < self.sent => {
                self.arrive(above + u64::from(behind));
            }
            Move::First if !missing.is_empty() => self.arrive(missing[0]),
            Move::Any(part) if !missing.is_empty() => {
                self.arrive(missing[usize::from(part) * missing.len() / 256]);
            }
            Move::Resend(count) => (0..count).for_each(|_| self.resend()),
            Move::Next(_) | Move::First | Move::Any(_) => {}
        }
    }

    fn send(&mut self) {
        for board in [&mut self.short, &mut self.long] {
            board.push(
                self.sent * LEN,
                LEN as u16,
                false,
                self.now,
                &Stamp::default(),
            );
        }
        self.sent += 1;
    }

    fn resend(&mut self) {
        let id = self.long.next_lost();
        assert_eq!(self.short.next_lost(), id);
        for board in [&mut self.short, &mut self.long] {
            id.inspect(|&id| board.resend(id, self.now, &Stamp::default()));
        }
    }

    /// A segment comes, and its ACK.
    fn arrive(&mut self, at: u64) {
        self.store.insert(at, at + 1);
        let una = self.store.advance(self.una);
        let mut ranges = [(0, 0); 3];
        for (range, &(start, end)) in ranges.iter_mut().zip(self.store.recent()) {
            *range = (start * LEN, end * LEN);
        }
        let mut out = self.outcome();
        if ranges[0].1 > 0 {
            self.long.sack_all(ranges, &mut out);
        }
        self.long
            .ack_through(una * LEN, self.long.highest(), &mut out);
        if let Some(run) = self.short_way(una, ranges) {
            assert_eq!(
                (run.segments, run.bytes, run.sent.1),
                (
                    out.delivered,
                    out.delivered_bytes,
                    out.newest.expect("there is one").sent
                )
            );
            assert_eq!(out.reordered, 0);
        } else {
            let mut out = self.outcome();
            if ranges[0].1 > 0 {
                self.short.sack_all(ranges, &mut out);
            }
            self.short
                .ack_through(una * LEN, self.short.highest(), &mut out);
        }
        self.una = una;
        if ranges[0].1 > 0 {
            self.told = ranges;
        }
        self.judge();
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            now: self.now,
            min_rtt: MIN_RTT,
            ..Outcome::default()
        }
    }

    /// As `Sender::on_repair_ack`.
    fn short_way(&mut self, una: u64, ranges: [(u64, u64); 3]) -> Option<Run> {
        let count = ranges.iter().filter(|range| range.1 > 0).count();
        let grows = count > 0 && ranges[0].0 == self.told[0].0 && ranges[1..] == self.told[1..];
        if una == self.una {
            if !grows {
                return None;
            }
            let run = self.short.sack_next(ranges[0].1, self.now);
            self.taken[0] += u32::from(run.is_some());
            return run;
        }
        let repeats = ranges[..count] == self.told[..count];
        if !repeats || !self.short.reports_above(una * LEN, count) {
            return None;
        }
        let run = self.short.ack_filled(una * LEN, MIN_RTT, self.now)?;
        if count > 0 {
            self.short.keep_reported(count);
        }
        self.taken[1] += 1;
        Some(run)
    }

    fn judge(&mut self) {
        let judged = self.short.is_judged();
        self.judged += u32::from(judged);
        let verdict = if judged {
            (0, None)
        } else {
            self.short.judge_by_time(self.now, Span::ZERO)
        };
        assert_eq!(self.long.judge_by_time(self.now, Span::ZERO), verdict);
        self.short.check();
        assert_eq!(told(&self.short), told(&self.long));
    }
}

/// What a board knows, beside what only makes it faster.
fn told(board: &Scoreboard) -> std::string::String {
    let flags: Vec<u8> = (board.first..board.next)
        .map(|id| board.get(id).flags)
        .collect();
    let counts = (board.first, board.next, board.sacked, board.joined);
    let marks = (board.lost, board.retransmitted, board.highest);
    format!("{counts:?} {marks:?} {:?} {flags:?}", board.rack)
}

proptest! {
    #[test]
    fn short_ways_do_what_the_long_ones_do(steps in prop::collection::vec(moves(), 1..200)) {
        let mut both = Both::new();
        for step in steps {
            both.go(step);
        }
    }
}

/// One of ten is lost. Of the nine others the first begins a block, and eight let it grow.
/// The retransmission of the lost one fills the gap, if another is still missing.
#[test]
fn most_acks_of_a_recovery_take_a_short_way() {
    let mut both = Both::new();
    both.go(Move::Send(12));
    both.go(Move::Next(1));
    for _ in 0..8 {
        both.go(Move::Next(0));
    }
    assert_eq!(both.taken, [8, 0]);
    both.go(Move::Resend(1));
    for step in [Move::Next(1), Move::First] {
        both.go(step);
    }
    assert_eq!((both.taken, both.una), ([8, 1], 11));
    assert!(both.judged >= 8, "{}", both.judged);
}
