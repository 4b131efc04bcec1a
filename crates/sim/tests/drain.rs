//! What is queued or on the way when a run stops is neither lost nor delivered, by arithmetic.

mod common;

use common::radio::{NS2, chain, steps};
use common::{cbr, dumbbell, flow_of, hop, mbit, ms, near, run};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_units::{Span, Time};
use sojourn_world::Cell;

/// 100 packets of 1000 bytes a second for 10 s over a link that takes 50 of them, 20 ms each.
fn overloaded(qdisc: &str, drain: Span) -> [f64; 3] {
    let mut up = hop("up", mbit(0.4));
    up.qdisc = qdisc.parse::<QdiscSpec>().expect("a queue");
    let flow = cbr("f", 1000, ms(10), ms(0));
    let mut cell = dumbbell(up, hop("down", mbit(10.0)), Span::from_secs(10), vec![flow]);
    cell.drain = drain;
    let result = run(&cell);
    let flow = flow_of(&result, "f");
    let in_flight = flow.in_flight_ratio.expect("counted");
    [
        flow.delay.count as f64,
        flow.loss_ratio.expect("of datagrams"),
        in_flight,
    ]
}

#[test]
fn a_standing_queue_is_in_flight_and_not_lost() {
    // Of 1000 packets one leaves every 20 ms from 0 on: at 10 s 500 have arrived, 500 are queued.
    let [arrived, lost, in_flight] = overloaded("pfifo limit 1000", Span::ZERO);
    assert_eq!((arrived, lost), (500.0, 0.0));
    assert!(near(in_flight, 0.5, 1e-9), "{in_flight}");
    // In 4 s more another 200 arrive; in the usual 10 s all do.
    let [arrived, lost, in_flight] = overloaded("pfifo limit 1000", Span::from_secs(4));
    assert_eq!((arrived, lost), (700.0, 0.0));
    assert!(near(in_flight, 0.3, 1e-9), "{in_flight}");
    let [arrived, lost, in_flight] = overloaded("pfifo limit 1000", Cell::DRAIN);
    assert_eq!((arrived, lost, in_flight), (1000.0, 0.0, 0.0));
}

/// Every discipline hands over all that it holds, also what it would drop from an old queue, and
/// what a shaper holds back.
#[test]
fn queues_of_all_kinds_tell_what_they_hold() {
    for qdisc in [
        "pfifo limit 1000",
        "codel",
        "fq_codel",
        "cake bandwidth 300kbit",
        "tbf rate 300kbit burst 5kb over fq_codel",
        "htb rate 300kbit over pie",
        "adth target 100ms full head",
        "steer util 99% delay 30ms over gsp",
    ] {
        let [arrived, lost, in_flight] = overloaded(qdisc, Span::ZERO);
        let whole = arrived / 1000.0 + lost + in_flight;
        assert!(
            near(whole, 1.0, 1e-9) && lost >= 0.0,
            "{qdisc}: {arrived} {lost} {in_flight}"
        );
        assert!(in_flight > 0.0, "{qdisc}");
    }
}

/// Stations, routing and queues of a radio hold packets too: with an ample queue and links that
/// never break none is lost.
#[test]
fn a_radio_loses_nothing_at_the_end() {
    let network = chain(1, NS2, "pfifo limit 100000");
    let flow = steps("f", [0, 1], (1000, 8.0), (Span::ZERO, None));
    let mut cell = Cell::new("end", network, vec![flow], Span::from_secs(5));
    cell.drain = Span::ZERO;
    for end in [1, 7, 1003, 4999] {
        cell.duration = (Time::from_nanos(end * 1_000_000)) - Time::ZERO;
        let flow = &run(&cell).flows[0].1;
        assert_eq!(
            flow.loss_ratio.map(|lost| lost.abs() < 1e-9),
            Some(true),
            "{end} ms"
        );
        assert!(flow.in_flight_ratio > Some(0.0), "{end} ms");
    }
}
