//! COBALT's schedule and BLUE's steps, against traces worked out by hand from the rules of Linux's
//! `sch_cake.c` (`cobalt_should_drop`, `cobalt_queue_empty`, `cobalt_queue_full`).

use sojourn_qdisc::{
    Aqm, CeSelector, Cobalt, CobaltParams, CobaltState, Ecn, Facts, QueueView, Verdict,
};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// One queue with a target of 5 ms and an interval of 100 ms, from which others stand behind the
/// packet in question.
struct Queue {
    cobalt: Cobalt,
    state: CobaltState,
}

impl Queue {
    fn new() -> Self {
        Self {
            cobalt: Cobalt::new(CobaltParams::default(), Stream::named(1, "cobalt")),
            state: CobaltState::default(),
        }
    }

    fn leave(&mut self, waited: u64, now: u64) -> Verdict {
        let behind = QueueView {
            packets: 9,
            bytes: 9000,
            ..QueueView::default()
        };
        let facts = Facts::new(1000, &Ecn::NotEct);
        let waited = Span::from_millis(waited);
        self.cobalt
            .leave(&mut self.state, behind, facts, waited, at(now))
    }

    /// One packet each ten milliseconds from `from` to `to`, each after a wait of `waited`: the
    /// times of drops.
    fn drops(&mut self, waited: u64, from: u64, to: u64) -> Vec<u64> {
        (from..=to)
            .step_by(10)
            .filter(|&now| self.leave(waited, now) == Verdict::Drop)
            .collect()
    }
}

/// A queue that was never late before drops the second late packet, not one an interval later.
/// Then 100/√2, 100/√3, 100/√4 ms: due at 0, 70.7, 128.4, 178.4 and 223.2 ms.
#[test]
fn the_first_signal_of_all_comes_at_once() {
    let mut queue = Queue::new();
    assert_eq!(queue.drops(20, 1000, 1190), [1010, 1080, 1130, 1180]);
    assert_eq!(queue.state.count, 5);
    // Packets on time: one less at 1223.2, 1273.2, 1330.9, 1401.6 and 1501.6 ms.
    assert!(queue.drops(0, 1200, 1400).is_empty());
    assert_eq!(queue.state.count, 2);
    assert!(queue.drops(0, 1410, 1510).is_empty());
    assert_eq!(queue.state.count, 0);
    // Late again: now the first one after an interval.
    assert_eq!(queue.drops(20, 1520, 1640), [1620]);
}

/// With a count of zero each packet sets the schedule one interval ahead. A queue from which none
/// has left for longer is behind it: the first late packet brings it to now, the second is dropped.
#[test]
fn after_a_pause_of_an_interval_a_signal_comes_at_once() {
    for (pause, wanted) in [(90, 1800), (100, 1810), (110, 1730)] {
        let mut queue = Queue::new();
        // Two signals (the second due at 70.7 ms), all forgotten at 128.4 + 57.7 + 70.7 + 100 ms.
        assert_eq!(queue.drops(20, 1000, 1080), [1010, 1080]);
        assert!(queue.drops(0, 1090, 1610).is_empty());
        assert_eq!(queue.state.count, 0);
        let late = queue.drops(20, 1610 + pause, 1900);
        assert_eq!(late.first(), Some(&wanted), "{pause}");
    }
}

/// BLUE: 1/256 up when a packet is lost to overflow, 1/4096 down when the queue is found empty,
/// both only after more than a target (5 ms) since the last step.
#[test]
fn blue_moves_once_a_target() {
    let mut queue = Queue::new();
    for now in [100, 105, 106] {
        queue.cobalt.overflowed(&mut queue.state, 1, at(now));
    }
    assert_eq!(queue.state.blue_prob, 2 << 24);
    queue.cobalt.found_empty(&mut queue.state, at(111));
    assert_eq!(queue.state.blue_prob, 2 << 24);
    let facts = Facts::new(1000, &Ecn::NotEct);
    // What an idle queue has missed is made up for when the next packet comes: 111 − 106 is one.
    let empty = QueueView::default();
    queue.cobalt.arrive(&mut queue.state, empty, facts, at(112));
    assert_eq!(queue.state.blue_prob, (2 << 24) - (1 << 20));
    // Being empty is no step when there is nothing to lose: the next overflow is one.
    let mut quiet = Queue::new();
    quiet.cobalt.found_empty(&mut quiet.state, at(200));
    quiet.cobalt.overflowed(&mut quiet.state, 1, at(201));
    assert_eq!(quiet.state.blue_prob, 1 << 24);
}

/// The step marks what has waited longer, of the packets that the selector names, and takes no
/// signal's place. A packet that waits 2 ms is below the target.
#[test]
fn a_step_marks_those_that_it_is_for() {
    for (selector, marked) in [
        (CeSelector::All, [false, true, true]),
        (CeSelector::Ect1, [false, false, true]),
        (CeSelector::Ect0, [false, true, false]),
    ] {
        let params = CobaltParams {
            ce_threshold: Some(Span::from_millis(1)),
            ce_selector: selector,
            ..CobaltParams::default()
        };
        let mut cobalt = Cobalt::new(params, Stream::named(1, "cobalt"));
        let mut state = CobaltState::default();
        let behind = QueueView {
            packets: 9,
            bytes: 9000,
            ..QueueView::default()
        };
        for (ecn, is_marked) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].into_iter().zip(marked) {
            let mut leave = |micros| {
                let waited = Span::from_micros(micros);
                cobalt.leave(&mut state, behind, Facts::new(1000, &ecn), waited, at(1000))
            };
            assert_eq!(leave(1000), Verdict::Pass, "{ecn:?}");
            let wanted = if is_marked {
                Verdict::Mark
            } else {
                Verdict::Pass
            };
            assert_eq!(leave(2000), wanted, "{selector:?} {ecn:?}");
        }
        assert_eq!(state.count, 0, "no signal of CoDel's law");
    }
}
