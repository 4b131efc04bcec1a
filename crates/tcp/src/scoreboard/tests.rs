//! The scoreboard against a model that scans everything.

mod short;

use super::*;
use proptest::prelude::*;

const LEN: u64 = 10;

#[derive(Clone, Debug)]
enum Step {
    Send(u8),
    Ack(u8),
    Sack(u8, u8),
    Resend(u8),
    Timeout,
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..40_u8).prop_map(Step::Send),
        2 => any::<u8>().prop_map(Step::Ack),
        8 => (any::<u8>(), 1..20_u8).prop_map(|(at, len)| Step::Sack(at, len)),
        4 => any::<u8>().prop_map(Step::Resend),
        1 => Just(Step::Timeout),
        1 => Just(Step::Undo),
    ]
}

/// What a scan says about one segment.
#[derive(Clone, Copy, Debug, Default)]
struct Model {
    sacked: bool,
    lost: bool,
    resent: bool,
}

proptest! {
    /// RFC 6675 by definition: lost is what has three SACKed segments above it; pipe is what is
    /// neither SACKed nor lost, plus what was sent again.
    #[test]
    fn agrees_with_a_full_scan(steps in prop::collection::vec(step(), 1..120)) {
        let mut board = Scoreboard::new(false);
        let mut model: Vec<Model> = Vec::new();
        let mut una = 0;
        let mut last = [(0, 0); 2];
        let mut out = Outcome::default();
        for step in steps {
            let flight = model.len() - una;
            match step {
                Step::Send(count) => for _ in 0..count {
                    let start = model.len() as u64 * LEN;
                    board.push(start, LEN as u16, false, Time::ZERO, &Stamp::default());
                    model.push(Model::default());
                },
                Step::Ack(part) if flight > 0 => {
                    una += usize::from(part) * flight / 1000;
                    // A receiver acknowledges all that is in order.
                    una += model[una..].iter().take_while(|one| one.sacked).count();
                    board.ack_through(una as u64 * LEN, board.highest(), &mut out);
                }
                Step::Sack(at, len) if flight > 1 => {
                    // The head is not SACKed: it would be acknowledged.
                    let start = una + 1 + usize::from(at) % (flight - 1);
                    let end = (start + usize::from(len)).min(model.len());
                    let before = out.sacked;
                    let range = (start as u64 * LEN, end as u64 * LEN);
                    // With those before, as ACKs do.
                    board.sack_all([range, last[0], last[1]], &mut out);
                    last = [range, last[0]];
                    let fresh = model[start..end].iter().filter(|one| !one.sacked).count();
                    prop_assert_eq!((out.sacked - before) as usize, fresh);
                    for one in &mut model[start..end] {
                        *one = Model { sacked: true, ..Model::default() };
                    }
                    board.judge_by_duplicates();
                    let mut above = 0;
                    for one in model[una..].iter_mut().rev() {
                        if one.sacked {
                            above += 1;
                        } else if above >= 3 && !one.resent {
                            one.lost = true;
                        }
                    }
                }
                Step::Resend(count) => for _ in 0..count {
                    let first = (una..model.len())
                        .find(|&at| model[at].lost && !model[at].resent);
                    let next = board.next_lost();
                    prop_assert_eq!(next.map(|id| board.get(id).start() / LEN),
                        first.map(|at| at as u64));
                    let (Some(id), Some(at)) = (next, first) else { break };
                    board.resend(id, Time::ZERO, &Stamp::default());
                    model[at].resent = true;
                },
                Step::Timeout => {
                    board.mark_all_lost(Time::ZERO, false);
                    for one in model[una..].iter_mut().filter(|one| !one.sacked) {
                        *one = Model { lost: true, ..Model::default() };
                    }
                }
                Step::Undo => {
                    board.unmark_lost();
                    for one in &mut model[una..] {
                        one.lost = false;
                    }
                }
                Step::Ack(_) | Step::Sack(..) => {}
            }
            board.check();
            if matches!(step, Step::Undo) {
                // Judged again with the next SACK, in the board and in the model alike.
                continue;
            }
            let pipe = model[una..]
                .iter()
                .map(|one| u32::from(!one.sacked && !one.lost) + u32::from(one.resent))
                .sum::<u32>();
            prop_assert_eq!(board.in_flight(), pipe);
        }
    }
}

/// One without RACK, with so many segments that were sent at time zero.
fn filled(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(false);
    for index in 0..count {
        let start = index * LEN;
        board.push(start, LEN as u16, false, Time::ZERO, &Stamp::default());
    }
    board
}

/// A burst of 10 000 losses: each SACK is one segment, and nothing is walked twice. The counts
/// are what matters here; the time is measured by the bench.
#[test]
fn a_burst_of_losses_is_found_as_the_sacks_come() {
    let mut board = filled(20_000);
    let mut out = Outcome::default();
    for index in 10_000..20_000 {
        let range = (10_000 * LEN, (index + 1) * LEN);
        board.sack_all([range, (0, 0), (0, 0)], &mut out);
        board.judge_by_duplicates();
    }
    assert_eq!((board.sacked(), board.lost()), (10_000, 10_000));
    assert_eq!(board.in_flight(), 0);
    for index in 0..10_000 {
        let id = board.next_lost().expect("all are lost");
        assert_eq!(board.get(id).start(), index * LEN);
        board.resend(id, Time::ZERO, &Stamp::default());
    }
    assert_eq!((board.next_lost(), board.in_flight()), (None, 10_000));
}

/// Eight of ten are lost and the first five sent again; of these the fourth is lost again, and then
/// the second. The second goes first, and what was lost once comes last.
#[test]
fn the_first_of_what_is_lost_is_sent_first() {
    let mut board = filled(10);
    for id in 0..8 {
        board.mark_lost(id);
    }
    let resend = |board: &mut Scoreboard| {
        let id = board.next_lost().expect("some are lost");
        board.resend(id, Time::ZERO, &Stamp::default());
        id
    };
    let order: Vec<u64> = (0..5).map(|_| resend(&mut board)).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
    assert!(board.mark_lost(3) && board.mark_lost(1));
    let order: Vec<u64> = (0..5).map(|_| resend(&mut board)).collect();
    assert_eq!((order, board.next_lost()), (std::vec![1, 3, 5, 6, 7], None));
}

/// Sent at 0, 45, 60 and 80 ms; the third is SACKed at 110 ms, 50 ms after it was sent. A timeout at
/// 110 ms finds the head lost whatever its age, the second after 65 ms, and the last one, sent
/// 30 ms ago, still on its way.
#[test]
fn a_timeout_leaves_what_was_sent_within_a_round_trip() {
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let mut board = Scoreboard::new(true);
    for (index, millis) in [0, 45, 60, 80].into_iter().enumerate() {
        let start = index as u64 * LEN;
        board.push(start, LEN as u16, false, at(millis), &Stamp::default());
    }
    let mut out = Outcome {
        now: at(110),
        ..Outcome::default()
    };
    board.sack_all([(2 * LEN, 3 * LEN), (0, 0), (0, 0)], &mut out);
    board.mark_all_lost(at(110), true);
    let lost: Vec<bool> = (0..4).map(|id| board.get(id).has(LOST)).collect();
    assert_eq!(lost, [true, true, false, false]);
}

/// What an ACK repeats is passed over, unless the receiver has dropped it since, or a segment that
/// the range held in part has become shorter.
#[test]
fn a_range_that_was_reported_counts_again_when_something_has_changed() {
    let mut board = filled(4);
    let sacked = |board: &mut Scoreboard, start, end| {
        let mut out = Outcome::default();
        board.sack_all([(start, end), (0, 0), (0, 0)], &mut out);
        out.sacked
    };
    assert_eq!(sacked(&mut board, LEN, 3 * LEN), 2);
    assert_eq!(sacked(&mut board, LEN, 3 * LEN), 0);
    board.ack_through(LEN, board.highest(), &mut Outcome::default());
    // Its head has been reported and yet times out: reneging.
    board.mark_all_lost(Time::ZERO, false);
    assert_eq!(sacked(&mut board, LEN, 3 * LEN), 2);
    assert_eq!(sacked(&mut board, 3 * LEN + 5, 4 * LEN), 0);
    board.ack_through(3 * LEN + 5, board.highest(), &mut Outcome::default());
    assert_eq!(sacked(&mut board, 3 * LEN + 5, 4 * LEN), 1);
    board.check();
}
