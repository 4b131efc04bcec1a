//! Steering of the pair, against numbers by hand.

use super::super::tests::{Full, ms, next};
use super::*;
use crate::params::SteerParams;
use crate::qdisc::{Discard, Qdisc};
use crate::report::Value;
use alloc::string::ToString;
use sojourn_random::Stream;
use sojourn_units::{Ecn, Rate};

/// A packet a millisecond, and a link that sends as much. From 10 ms on one leaves each
/// millisecond, so that all wait 10 ms, beside one of the L queue that waits for nothing. At 100 ms
/// one of the three that are left is dropped: the queue has drained to 10 ms since the beginning.
fn signalled(util: u32) -> DualPi2<Full> {
    let steer = SteerParams {
        // Two packets a millisecond: one of each queue.
        rate: Some(Rate::from_bps(2 * 1514 * 8 * 1000)),
        util,
        ..SteerParams::default()
    };
    let params = DualPi2Params {
        tupdate: Span::from_secs(100),
        steer: Some(steer),
        ..DualPi2Params::default()
    };
    let mut queue = DualPi2::new(params, 1514, Stream::named(1, "dualpi2"));
    for milli in 0..100 {
        if milli < 93 {
            queue.enqueue(Full(milli, Ecn::NotEct), ms(milli), &mut Discard);
        }
        if milli >= 10 {
            queue.enqueue(Full(1000, Ecn::Ect1), ms(milli), &mut Discard);
            // In the order that the credit says.
            let mut left = [(); 2].map(|()| next(&mut queue, ms(milli)).unwrap().0);
            left.sort_unstable();
            assert_eq!(left, [milli - 10, 1000]);
        }
    }
    assert_eq!(queue.target(), Span::from_millis(15));
    queue.probability = u32::MAX;
    // The last but one is spared, since less than two full packets are left.
    assert_eq!(next(&mut queue, ms(100)), Some(Full(91, Ecn::NotEct)));
    assert_eq!(queue.counters.dropped.packets, 1);
    queue.probability = 0;
    queue
}

fn status(queue: &DualPi2<Full>) -> crate::SteerStatus {
    let steering = queue.steering.as_ref().expect("it is steered");
    steering.steered.status()
}

/// 180 of 200 packets' time are used, more than 80 %. The swing is 15 − 10 = 5 ms, which becomes the
/// target; what the L queue's packets waited, which is nothing, does not count. The controller
/// then steers to it.
#[test]
fn a_target_above_the_swing_is_lowered() {
    let mut queue = signalled(80);
    assert_eq!(queue.target(), Span::from_millis(5));
    let status = status(&queue);
    assert_eq!((status.lowered, status.swing), (1, Span::from_millis(5)));
    (queue.probability, queue.last_delay) = (1000, Span::from_millis(5));
    queue.control(Span::from_millis(5));
    assert_eq!(queue.probability, 1000);
    queue.control(Span::from_millis(4));
    assert_eq!(queue.probability, 0);
}

/// 90 % are less than 99: the target stays, and doubles at an arrival beyond it after the queue has
/// run empty.
#[test]
fn a_target_that_wastes_the_link_is_raised() {
    let mut queue = signalled(99);
    assert_eq!(queue.target(), Span::from_millis(15));
    assert!(next(&mut queue, ms(100)).is_some() && queue.backlog.packets == 0);
    queue.enqueue(Full(0, Ecn::NotEct), ms(1000), &mut Discard);
    // The L queue's arrival is none of the C queue's.
    queue.enqueue(Full(1, Ecn::Ect1), ms(1016), &mut Discard);
    assert_eq!(status(&queue).raised, 0);
    queue.enqueue(Full(2, Ecn::NotEct), ms(1016), &mut Discard);
    assert_eq!(queue.target(), Span::from_millis(30));
    assert_eq!(status(&queue).raised, 1);
}

/// The report shows both, with the target in force; a change keeps where it was moved to.
#[test]
fn it_is_shown_and_changed() {
    let mut queue = signalled(80);
    let report = queue.report(ms(100));
    let inner = report.inner.as_ref().expect("dualpi2 is below");
    assert_eq!((&*report.kind, &*inner.kind), ("steer", "dualpi2"));
    let target = inner.options.iter().find(|field| field.name == "target");
    assert_eq!(target.map(|field| &field.value), Some(&Value::Int(5000)));
    assert!(inner.stats.iter().any(|field| field.name == "pkts-in-l"));
    let spec = queue.spec().expect("it has one");
    let text = "steer rate 24.224mbit util 80% over dualpi2 tupdate 100s";
    assert_eq!(Ok(&spec), text.parse().as_ref());
    let wider = "steer util 80% over dualpi2 tupdate 100s limit 50";
    queue.change(&wider.parse().unwrap(), ms(100)).unwrap();
    assert_eq!(queue.target(), Span::from_millis(5));
    let lower = "steer delay 2ms over dualpi2";
    queue.change(&lower.parse().unwrap(), ms(100)).unwrap();
    assert_eq!(queue.target(), Span::from_millis(2));
    assert!(queue.change(&"dualpi2".parse().unwrap(), ms(100)).is_err());
}

/// Two queues cannot both stand for one virtual queue; the error says what can be.
#[test]
fn a_ceiling_is_refused() {
    let said = "steer util 50% ceiling 60% over dualpi2"
        .parse::<crate::Spec>()
        .expect_err("it is refused")
        .to_string();
    assert!(
        said.contains("dualpi2 has two") && said.contains("fq_codel"),
        "{said}"
    );
}
