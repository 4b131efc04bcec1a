//! Figures 2, 4, 5 and 7 of RFC 9332, by hand.

use super::super::tests::{Full, dual, ms, next, us};
use super::*;
use crate::params::DualLaw;
use crate::qdisc::{Discard, Qdisc as _};
use alloc::vec::Vec;

/// Of one: the probability, its bits, and what they stand for.
const FIFTH: u32 = u32::MAX / 5;

fn ramp(change: impl FnOnce(&mut DualPi2Params)) -> DualPi2Params {
    let mut params = DualPi2Params::default();
    change(&mut params);
    params
}

/// Figures 2 and 5: nothing up to 800 µs, all from 1200 on, half of it half-way. A range of zero is
/// a step at its beginning.
#[test]
fn the_ramp_rises_from_800_to_1200_microseconds() {
    let usual = ramp(|_| {});
    for (micros, wanted) in [
        (0, 0),
        (800, 0),
        (900, ONE / 4),
        (1000, ONE / 2),
        (1100, ONE / 4 * 3 + 2),
        (1200, ONE),
        (5000, ONE),
    ] {
        assert_eq!(
            native(&usual, Span::from_micros(micros)),
            wanted,
            "{micros} µs"
        );
    }
    let step = ramp(|it| it.ramp_range = Span::ZERO);
    assert_eq!(native(&step, Span::from_nanos(799_999)), 0);
    assert_eq!(native(&step, Span::from_micros(800)), ONE);
}

/// Figure 4: a quarter adds up to more than one at the fifth packet, and then at each fourth.
#[test]
fn a_count_takes_each_nth_packet() {
    let mut count = 0;
    let hits: Vec<u32> = (1..=16).filter(|_| recur(&mut count, ONE / 4)).collect();
    assert_eq!(hits, [5, 9, 13]);
    let mut count = 0;
    assert!((1..=8).all(|_| !recur(&mut count, 0)));
}

/// A base probability of 0.2: 4 % of the C queue, 40 % of the L queue, whose ramp counts where it
/// is the larger one. Little that waits spares nobody.
#[test]
fn the_larger_of_ramp_and_coupling_marks() {
    let mut queue = dual(|it| it.law = DualLaw::Rfc9332);
    queue.probability = FIFTH;
    let mut of_1000 = |is_low, ecn, micros: Option<u64>| {
        let sojourn = micros.map(Span::from_micros);
        let fates: Vec<_> = (0..1000)
            .map(|_| queue.judge_by_rfc(is_low, ecn, sojourn))
            .collect();
        let count = |wanted| fates.iter().filter(|(fate, _)| *fate == wanted).count();
        let by_ramp = fates.iter().all(|(_, ramp)| *ramp);
        (count(Fate::Drop), count(Fate::Mark), by_ramp)
    };
    // A count begins at zero: the first signal is one packet late.
    assert_eq!(of_1000(false, Ecn::NotEct, None), (39, 0, false));
    assert_eq!(of_1000(false, Ecn::Ect0, None), (0, 40, false));
    assert_eq!(of_1000(true, Ecn::Ect1, None), (0, 399, false));
    assert_eq!(of_1000(true, Ecn::Ect1, Some(900)), (0, 400, false));
    assert_eq!(of_1000(true, Ecn::Ect1, Some(1000)), (0, 500, true));
    assert_eq!(of_1000(true, Ecn::Ect1, Some(1200)), (0, 1000, true));
}

/// From a base probability of one half on, the coupled one is one: the L queue drops as the C queue
/// does, which no longer marks, and marks all others.
#[test]
fn overload_drops_in_both_queues() {
    let mut queue = dual(|it| it.law = DualLaw::Rfc9332);
    queue.probability = u32::MAX / 5 * 3;
    let mut of_1000 = |is_low, ecn| {
        let fates: Vec<Fate> = (0..1000)
            .map(|_| queue.judge_by_rfc(is_low, ecn, None).0)
            .collect();
        let count = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
        (count(Fate::Drop), count(Fate::Mark))
    };
    // 0.36, and each packet that stays.
    let (drops, marks) = of_1000(true, Ecn::Ect1);
    assert!((359..=360).contains(&drops), "{drops}");
    assert_eq!(drops + marks, 1000);
    let (drops, marks) = of_1000(false, Ecn::Ect0);
    assert!((359..=360).contains(&drops), "{drops}");
    assert_eq!(marks, 0);
    queue.params.overload = DualOverload::Overflow;
    let fates = (0..1000).map(|_| queue.judge_by_rfc(true, Ecn::Ect1, None).0);
    assert!(fates.into_iter().all(|fate| fate == Fate::Mark));
}

/// `min_qlen_step 1` is the RFC's `Th_len`: a packet that found none is not marked by the ramp.
#[test]
fn a_queue_of_one_packet_is_not_marked() {
    for (least, wanted) in [(0, [Ecn::Ce, Ecn::Ce]), (1, [Ecn::Ect1, Ecn::Ce])] {
        let mut queue = dual(|it| {
            it.law = DualLaw::Rfc9332;
            it.min_qlen_step = least;
        });
        // One packet's likelihood beforehand: a count signals above one.
        queue.counts.low = 1;
        queue.enqueue(Full(1, Ecn::Ect1), ms(1), &mut Discard);
        queue.enqueue(Full(2, Ecn::Ect1), ms(1), &mut Discard);
        let seen = [next(&mut queue, us(2200)), next(&mut queue, us(2200))];
        assert_eq!(seen.map(|packet| packet.unwrap().1), wanted);
        assert_eq!(
            queue.step_mark,
            wanted.iter().filter(|it| **it == Ecn::Ce).count() as u64
        );
    }
}
