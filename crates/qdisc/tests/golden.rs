//! Trajectories against tables that were computed from the sources by other means; see
//! `golden/README.md`.

use crate::common::{Log, TestPacket};
use sojourn_qdisc::{
    Aqm, Codel, CodelLaw, CodelParams, Ecn, Facts, Limit, Pie, PieLaw, PieParams, PieState, Qdisc,
    QueueView, Red, RedLaw, RedParams, RedUnit, RedWeight, SingleQueue,
};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|row| row.split(',').collect())
}

#[test]
fn codel_drops_the_packets_of_the_rfc_at_its_times() {
    codel_drops(CodelLaw::Rfc8289, include_str!("golden/codel.csv"));
}

#[test]
fn codel_drops_the_packets_of_linux_at_its_times() {
    codel_drops(CodelLaw::Linux, include_str!("golden/codel-linux.csv"));
}

#[test]
fn codel_drops_the_packets_of_ns2_at_its_times() {
    codel_drops(CodelLaw::Ns2, include_str!("golden/codel-ns2.csv"));
}

fn codel_drops(law: CodelLaw, table: &str) {
    let params = CodelParams {
        law,
        ..CodelParams::default()
    };
    let mut queue = SingleQueue::new(Limit::Packets(100_000), Codel::new(params, 1514));
    let mut arrivals = VecDeque::new();
    for (start, end) in [(0, 2000), (3200, 4200), (7000, 8000)] {
        arrivals.extend((start * MS..end * MS).step_by(800_000));
    }
    let (mut id, mut log, mut drops) = (0, Log::default(), Vec::new());
    for now in (MS / 2..9000 * MS).step_by(MS as usize) {
        while arrivals.front().is_some_and(|t| *t <= now) {
            let t = arrivals.pop_front().expect("just looked at");
            queue.enqueue(TestPacket::new(id, 1500), Time::from_nanos(t), &mut log);
            id += 1;
        }
        queue.dequeue(Time::from_nanos(now), &mut log);
        drops.extend(log.dropped.drain(..).map(|(p, _)| (now, p.id)));
    }
    let wanted: Vec<(u64, u64)> = rows(table)
        .map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap()))
        .collect();
    assert_eq!(drops, wanted);
}

#[test]
fn codel_control_law_is_interval_over_root_of_count() {
    // Marks do not move the queue, so drop_next can be read after each of 2000 signals.
    let params = CodelParams {
        ecn: true,
        law: CodelLaw::Rfc8289,
        ..CodelParams::default()
    };
    let mut codel = Codel::new(params, 1514);
    let mut state = <Codel as Aqm>::State::default();
    let standing = QueueView {
        bulk_flows: 0,
        packets: 100,
        bytes: 150_000,
        total_bytes: 150_000,
        ..QueueView::default()
    };
    let packet = Facts::new(1500, &Ecn::Ect0);
    let mut due: Option<(Time, u32)> = None;
    for micros in (0..8_000_000).step_by(50) {
        let now = Time::from_nanos(micros * 1000);
        codel.leave(&mut state, standing, packet, Span::from_millis(20), now);
        if let Some((before, count)) = due
            && state.count > count
        {
            let step = (state.drop_next - before).as_secs_f64();
            let exact = 0.1 / f64::from(state.count).sqrt();
            assert!((step / exact - 1.0).abs() < 1e-3, "{}: {step}", state.count);
        }
        due = state.dropping.then_some((state.drop_next, state.count));
    }
    assert!(state.count > 1000, "{}", state.count);
}

#[test]
fn pie_moves_its_probability_as_the_rfc_says() {
    // Linux's timer is set half a second ahead when the queue is made.
    pie_probabilities(PieLaw::Linux, 500, include_str!("golden/pie.csv"));
}

#[test]
fn dummynets_pie_stops_at_one_and_grows_no_faster_above_250_ms() {
    let table = include_str!("golden/pie-dummynet.csv");
    pie_probabilities(PieLaw::Dummynet, 15, table);
}

/// Compares every update with a table, the first one `first` milliseconds after the first packet.
fn pie_probabilities(law: PieLaw, first: u64, table: &str) {
    let params = PieParams {
        law,
        ..PieParams::default()
    };
    let mut pie = Pie::new(params, 1514, Stream::named(1, "pie"));
    let mut state = PieState::default();
    let packet = Facts::new(1500, &Ecn::NotEct);
    let held = |packets: u32| QueueView {
        bulk_flows: 0,
        packets,
        bytes: u64::from(packets) * 1500,
        total_bytes: u64::from(packets) * 1500,
        ..QueueView::default()
    };
    // The first packet starts the clock.
    pie.arrive(&mut state, held(0), packet, Time::ZERO);
    for row in rows(table) {
        let update: u64 = row[0].parse().unwrap();
        let delay: u64 = row[1].parse().unwrap();
        let wanted: f64 = row[2].parse().unwrap();
        let behind = if delay == 0 { 0 } else { 10 };
        let due = Time::from_nanos((first + update * 15) * MS);
        let before = due - Span::from_millis(1);
        let sojourn = Span::from_millis(delay);
        pie.leave(&mut state, held(behind), packet, sojourn, before);
        pie.arrive(&mut state, held(behind), packet, due);
        assert!(
            (state.prob - wanted).abs() <= 1e-12,
            "update {update}: {} and not {wanted}",
            state.prob
        );
    }
}

#[test]
fn red_follows_linux_packet_by_packet() {
    let params = RedParams {
        unit: RedUnit::Packets,
        min: 5,
        max: 15,
        avpkt: 1000,
        weight: RedWeight::Exact(0.02),
        probability: 0.1,
        bandwidth: Rate::from_bps(8_000_000),
        adaptive: false,
        ecn: false,
        harddrop: false,
        nodrop: false,
        gentle: true,
        wait: false,
        spare: false,
        bytemode: false,
        law: RedLaw::Paper,
    };
    let red = Red::new(params, Stream::named(7, "red"));
    let mut queue = SingleQueue::new(Limit::Packets(35), red);
    let mut log = Log::default();
    let mut departure = MS;
    for (id, row) in rows(include_str!("golden/red.csv")).enumerate() {
        let now: u64 = row[0].parse().unwrap();
        let average: f64 = row[1].parse().unwrap();
        while departure <= now {
            queue.dequeue(Time::from_nanos(departure), &mut log);
            departure += MS;
        }
        let before = *queue.aqm().counters();
        let packet = TestPacket::new(id as u64, 1000);
        queue.enqueue(packet, Time::from_nanos(now), &mut log);
        let after = queue.aqm().counters();
        let dropped = log.dropped.drain(..).next().is_some();
        let fate = if after.prob_drop > before.prob_drop {
            "early"
        } else if after.forced_drop > before.forced_drop {
            "forced"
        } else if dropped {
            "tail"
        } else {
            "pass"
        };
        assert_eq!(fate, row[2], "packet {id}");
        let ours = queue.state().average;
        assert!((ours - average).abs() <= 1e-9, "{id}: {ours} {average}");
    }
}
