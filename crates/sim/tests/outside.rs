//! Flows whose ends a program holds: what it sends arrives as the network has it.

mod common;

use common::{Hop, dumbbell, flow_of, hop, mbit, ms, tcp};
use sojourn_apps::{Bulk, Outside};
use sojourn_qdisc::Ecn;
use sojourn_sim::{Arrival, Datagram, End, Run, Setup, Sim, Turn};
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, Network, Tap, TapPoint, Taps, Transport, World as _};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn outside(rtt: Span) -> Flow {
    Flow {
        base_rtt: rtt,
        ..Flow::new("outside", Transport::Udp, Outside)
    }
}

/// A flow from outside over 10 Mbit/s, with a round-trip time of 20 ms, for a second.
fn cell(up: Hop) -> Cell {
    dumbbell(up, hop("down", mbit(10.0)), ms(1000), vec![outside(ms(20))])
}

fn start(cell: &Cell) -> (Run, [End; 2]) {
    let run = Run::new(cell.clone()).expect("the cell can be run");
    let ends = run.look().ends("outside")[0];
    (run, ends)
}

/// The next datagram: when it came, where, and what it is.
fn next(run: &mut Run) -> (Time, End, Datagram) {
    match run.forward(Time::MAX).expect("few packets") {
        Turn::Arrived(end, arrival) => {
            assert_eq!(arrival.at, run.look().now());
            (arrival.at, end, arrival.datagram)
        }
        turn => panic!("{turn:?}"),
    }
}

fn at(span: Span) -> Time {
    Time::ZERO + span
}

fn of(byte: u8, len: usize) -> Datagram {
    Datagram {
        payload: vec![byte; len],
        ..Datagram::default()
    }
}

/// What comes to an end until then, or until the run is over.
fn until(run: &mut Run, end: End, then: Time) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    while let Turn::Arrived(to, arrival) = run.forward(then).expect("few packets") {
        if to == end {
            arrivals.push(arrival);
        }
    }
    arrivals
}

/// All that comes to an end.
fn all(run: &mut Run, end: End) -> Vec<Arrival> {
    until(run, end, Time::MAX)
}

#[test]
fn a_datagram_arrives_whole_when_arithmetic_says() {
    let (mut run, [here, there]) = start(&cell(hop("up", mbit(10.0))));
    assert_eq!(run.forward(at(ms(100))).unwrap(), Turn::Until);
    // 1000 bytes of UDP are 1028 of IP: 822.4 us at 10 Mbit/s, and 10 ms on the way.
    run.send(here, of(7, 1000));
    let arrival = Arrival {
        datagram: of(7, 1000),
        sent: at(ms(100)),
        at: at(Span::from_nanos(110_822_400)),
    };
    let now = arrival.at;
    let turn = run.forward(Time::MAX).unwrap();
    assert_eq!(turn, Turn::Arrived(there, arrival));
    assert_eq!(run.look().now(), now);
    // The answer takes as long as 28 bytes do.
    run.send(there, of(0, 0));
    let back = at(Span::from_nanos(120_844_800));
    assert_eq!(next(&mut run), (back, here, of(0, 0)));
    assert_eq!(run.forward(Time::MAX).unwrap(), Turn::Over);
    assert_eq!(run.forward(at(ms(1))).unwrap(), Turn::Over);
    let result = run.finish();
    let flow = flow_of(&result, "outside");
    assert_eq!((flow.sent_packets, flow.goodput.as_bps()), (1, 8000));
}

#[test]
fn what_comes_at_a_time_is_told_before_that_time() {
    let (mut run, [here, there]) = start(&cell(hop("up", mbit(10.0))));
    run.send(here, of(1, 10));
    run.send(there, of(2, 10));
    let arrived = at(ms(10) + Span::from_nanos(30_400));
    let just_before = arrived - Span::from_nanos(1);
    assert_eq!(run.forward(just_before).unwrap(), Turn::Until);
    assert_eq!(run.look().now(), just_before);
    // In the order in which they were sent, and no time passes in between.
    let mut told = |until| run.forward(until).unwrap();
    let of_end = |turn| match turn {
        Turn::Arrived(end, arrival) => Some((end, arrival.at)),
        _ => None,
    };
    assert_eq!(of_end(told(arrived)), Some((there, arrived)));
    assert_eq!(of_end(told(arrived)), Some((here, arrived)));
    assert_eq!(told(arrived), Turn::Until);
    // A time that has passed is none to go back to.
    assert_eq!(told(Time::ZERO), Turn::Until);
    assert_eq!(run.look().now(), arrived);
}

#[test]
fn a_step_leaves_what_has_come_to_be_taken() {
    let (mut run, [here, there]) = start(&cell(hop("up", mbit(10.0))));
    run.send(here, of(1, 10));
    while run.step().unwrap().is_some() {}
    // It came earlier than this.
    let now = run.look().now();
    let Turn::Arrived(end, arrival) = run.forward(now).unwrap() else {
        panic!("it has come");
    };
    assert_eq!(end, there);
    assert!(arrival.at <= now);
}

#[test]
fn queues_mark_what_can_be_marked_and_drop_the_rest() {
    let mut up = hop("up", mbit(10.0));
    up.qdisc = "codel ecn".parse().unwrap();
    let (mut run, [here, there]) = start(&cell(up));
    let mut arrivals = Vec::new();
    for round in 0..900 {
        arrivals.extend(until(&mut run, there, at(ms(round))));
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
            run.send(here, Datagram { ecn, ..of(1, 472) });
        }
    }
    arrivals.extend(until(&mut run, there, Time::MAX));
    let with = |ecn| arrivals.iter().filter(|it| it.datagram.ecn == ecn).count();
    let report = run.look().queue("up").unwrap().counters();
    assert!(with(Ecn::Ce) > 10, "{} marked", with(Ecn::Ce));
    assert_eq!(with(Ecn::Ce) as u64, report.marked.packets);
    assert_eq!(with(Ecn::NotEct) as u64, 900 - report.dropped.packets);
    assert!(with(Ecn::NotEct) < 900 && with(Ecn::Ect0) > 0 && with(Ecn::Ect1) > 0);
    // What was dropped leaves room: places for payloads are used again.
    let lost = flow_of(&run.finish(), "outside").loss_ratio;
    assert!(lost.is_some_and(|lost| lost > 0.0), "{lost:?}");
}

#[test]
fn nodes_in_between_count_the_ttl_down() {
    let mut network = Network::new(["a", "b", "c"]);
    for (way, name) in [
        ([0, 1], "ab"),
        ([1, 2], "bc"),
        ([2, 1], "cb"),
        ([1, 0], "ba"),
    ] {
        let Hop { qdisc, line, .. } = hop(name, mbit(10.0));
        network.join(way, name, qdisc, line);
    }
    let flow = Flow {
        to: 2,
        ..outside(ms(20))
    };
    let cell = Cell::new("line", network, vec![flow], ms(1000));
    let (mut run, [here, there]) = start(&cell);
    for ttl in [0, 1, 2, 64] {
        run.send(here, Datagram { ttl, ..of(ttl, 9) });
    }
    let arrived: Vec<_> = all(&mut run, there)
        .iter()
        .map(|it| (it.datagram.payload[0], it.datagram.ttl))
        .collect();
    assert_eq!(arrived, [(2, 1), (64, 63)]);
}

#[test]
fn copies_of_a_line_arrive_twice_and_count_once() {
    let mut up = hop("up", mbit(10.0));
    up.line.duplicate = 1.0.into();
    let (mut run, [here, there]) = start(&cell(up.clone()));
    run.send(here, of(5, 100));
    let arrivals = all(&mut run, there);
    assert_eq!(arrivals.len(), 2);
    assert!(arrivals.iter().all(|it| it.datagram == of(5, 100)));
    assert_eq!(flow_of(&run.finish(), "outside").goodput.as_bps(), 800);
    up.line.duplicate = 0.0.into();
    up.line.loss = 1.0.into();
    let (mut run, [here, there]) = start(&cell(up));
    run.send(here, of(5, 100));
    assert_eq!(all(&mut run, there), []);
}

/// Both ends answer what they get with a byte more.
fn converse(run: &mut Run) -> u64 {
    while let Ok(Turn::Arrived(end, arrival)) = run.forward(Time::MAX) {
        let mut datagram = arrival.datagram;
        datagram.payload.push(0);
        run.send(end, datagram);
    }
    run.look().result().digest
}

#[test]
fn a_copy_has_what_is_under_way_and_what_has_come() {
    let mut cell = cell(hop("up", mbit(10.0)));
    let bulk = tcp("bulk", Bulk, ms(30), sojourn_tcp::Config::default());
    cell.flows.push(bulk);
    let whole = {
        let (mut run, [here, _]) = start(&cell);
        run.send(here, of(0, 1000));
        converse(&mut run)
    };
    for millis in [0, 3, 10] {
        let (mut run, [here, _]) = start(&cell);
        run.send(here, of(0, 1000));
        run.forward(at(ms(millis))).unwrap();
        let mut copy = run.fork().unwrap();
        assert_eq!(converse(&mut copy), whole, "the copy at {millis} ms");
        assert_eq!(converse(&mut run), whole, "the original at {millis} ms");
    }
    // What has come and was not taken waits in both.
    let (mut run, [here, there]) = start(&cell);
    run.send(here, of(0, 1000));
    let nothing_waits = |run: &Run| run.look().now() < at(ms(10));
    while nothing_waits(&run) {
        run.step().unwrap();
    }
    let arrived = loop {
        let mut copy = run.fork().unwrap();
        if let Turn::Arrived(..) = copy.forward(run.look().now()).unwrap() {
            break run.fork().unwrap();
        }
        run.step().unwrap();
    };
    for mut run in [arrived, run] {
        let (_, end, mut datagram) = next(&mut run);
        assert_eq!((end, datagram.payload.len()), (there, 1000));
        datagram.payload.push(0);
        run.send(there, datagram);
        assert_eq!(converse(&mut run), whole);
    }
}

#[test]
fn sizes_and_marks_are_in_the_digest_and_bytes_are_not() {
    let digest = |datagram: Datagram| {
        let (mut run, [here, there]) = start(&cell(hop("up", mbit(10.0))));
        run.send(here, datagram);
        all(&mut run, there);
        run.finish().digest
    };
    let plain = digest(of(1, 100));
    assert_eq!(digest(of(2, 100)), plain);
    assert_ne!(digest(of(1, 101)), plain);
    let ecn = Ecn::Ect0;
    assert_ne!(digest(Datagram { ecn, ..of(1, 100) }), plain);
}

/// Keeps frames.
struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

impl Tap for Kept {
    fn frame(&mut self, _: Time, _: bool, bytes: &[u8], _: u32) {
        self.0.lock().unwrap().push(bytes.to_vec());
    }
}

#[test]
fn captures_show_the_bytes() {
    let frames = Arc::default();
    let taps = Taps {
        points: vec![(TapPoint::Offered(0), Box::new(Kept(Arc::clone(&frames))))],
        snap_len: 2000,
    };
    let cell = cell(hop("up", mbit(10.0)));
    let mut run = Run::new(Setup {
        taps,
        ..Setup::from(cell)
    })
    .expect("the cell can be run");
    let [here, there] = run.look().ends("outside")[0];
    run.send(here, of(9, 50));
    all(&mut run, there);
    let frames = frames.lock().unwrap();
    assert_eq!(frames.len(), 1);
    // IPv4 and UDP before it.
    assert_eq!(frames[0][28..], [9; 50]);
}

#[test]
fn nobody_runs_a_flow_from_outside_alone() {
    let cell = cell(hop("up", mbit(10.0)));
    let run = Sim.run(&cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    let told = run.expect_err("there is no program").to_string();
    assert!(
        told.contains("`outside`") && told.contains("docs/net.md"),
        "{told}"
    );
}
