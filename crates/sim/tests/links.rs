//! Each link element against arithmetic, with datagrams only.

mod common;
use common::*;
use sojourn_apps::Bulk;
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_tcp::Config;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, LineRate, Network, RateTrace, Reorder};
use std::sync::Arc;

#[test]
fn an_idle_link_takes_serialisation_and_delay() {
    // 100 bytes at 1 Mbit/s are 0.8 ms; each way, plus 20 ms.
    let cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", mbit(1.0)),
        ms(2000),
        vec![ping("probe", ms(20), ms(40))],
    );
    let probe = run(&cell);
    let probe = flow_of(&probe, "probe");
    assert_eq!(probe.rtt.count, 100);
    assert!((probe.rtt.mean - 41.6).abs() < 1e-6, "{}", probe.rtt.mean);
    assert!((probe.induced_rtt.mean - 1.6).abs() < 1e-6);
    assert_eq!(probe.loss_ratio, Some(0.0));
}

#[test]
fn the_header_of_the_link_counts() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(1000),
        vec![ping("probe", ms(20), ms(0))],
    );
    cell.link_header = 14;
    // 114 bytes at 1 Mbit/s; nothing on the way back.
    let result = run(&cell);
    assert!((flow_of(&result, "probe").rtt.mean - 0.912).abs() < 1e-6);
}

#[test]
fn an_overload_fills_the_queue_and_loses_the_rest() {
    // 1250 bytes every 5 ms are 2 Mbit/s into 1 Mbit/s with room for 20 packets.
    let mut up = hop("up", mbit(1.0));
    up.qdisc = QdiscSpec::pfifo(20);
    let mut cell = dumbbell(
        up,
        hop("down", mbit(1.0)),
        ms(21_000),
        vec![cbr("load", 1250, ms(5), ms(0))],
    );
    cell.warmup = ms(1000);
    let result = run(&cell);
    let up = link(&result, "up");
    assert!(
        near(up.utilisation.unwrap(), 1.0, 1e-3),
        "{:?}",
        up.utilisation
    );
    assert!(
        near(up.dropped_packets as f64, 2000.0, 0.002),
        "{}",
        up.dropped_packets
    );
    // A full queue: the packet that finds the last place waits 20 transmissions of 10 ms, less
    // the half transmission that is over when it comes.
    assert!(near(up.sojourn.mean, 195.0, 0.03), "{}", up.sojourn.mean);
    assert!(
        near(up.backlog_packets_mean, 19.5, 0.03),
        "{}",
        up.backlog_packets_mean
    );
    assert!(near(
        flow_of(&result, "load").loss_ratio.unwrap(),
        0.5,
        0.01
    ));
    assert!(near(
        flow_of(&result, "load").goodput.as_bps() as f64,
        1e6 * 1222.0 / 1250.0,
        1e-3
    ));
}

#[test]
fn each_flow_has_its_own_base_rtt() {
    let flows = vec![ping("near", ms(20), ms(10)), ping("far", ms(20), ms(201))];
    let cell = dumbbell(
        hop("up", LineRate::Infinite),
        hop("down", LineRate::Infinite),
        ms(2000),
        flows,
    );
    let result = run(&cell);
    for (name, rtt) in [("near", 10.0), ("far", 201.0)] {
        assert!((flow_of(&result, name).rtt.mean - rtt).abs() < 1e-9);
        assert!(flow_of(&result, name).induced_rtt.max < 1e-9);
    }
}

/// It is no part of the base RTT, so that it is seen as delay.
#[test]
fn a_host_that_takes_time_takes_it_each_way() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", mbit(1.0)),
        ms(2000),
        vec![ping("probe", ms(50), ms(20))],
    );
    let induced = |cell: &_| flow_of(&run(cell), "probe").induced_rtt.mean;
    let without = induced(&cell);
    cell.host_delay = Span::from_micros(300);
    let with = induced(&cell);
    assert!((with - without - 0.6).abs() < 1e-9, "{without} {with}");
}

#[test]
fn loss_has_its_probability() {
    let mut up = hop("up", LineRate::Infinite);
    up.line.loss = 0.1.into();
    let cell = dumbbell(
        up,
        hop("down", LineRate::Infinite),
        ms(100_000),
        vec![cbr("load", 100, ms(1), ms(0))],
    );
    // Four standard deviations of 100 000 throws are 0.0038.
    let loss = flow_of(&run(&cell), "load").loss_ratio.unwrap();
    assert!((loss - 0.1).abs() < 0.0038, "{loss}");
}

#[test]
fn what_a_line_gets_arrives_or_is_lost_and_copies_are_counted() {
    let mut up = hop("up", mbit(10.0));
    up.line.loss = "gemodel 2% 20% 80%".parse().expect("netem's words");
    up.line.duplicate = 0.05.into();
    (up.line.delay, up.line.jitter) = (ms(5), ms(3));
    up.line.reorder = Reorder::Allowed;
    let flows = vec![cbr("load", 1000, ms(1), ms(5))];
    let result = run(&dumbbell(
        up,
        hop("down", LineRate::Infinite),
        ms(100_000),
        flows,
    ));
    let (up, load) = (link(&result, "up"), flow_of(&result, "load"));
    let count = |figure: Option<f64>| figure.expect("the line loses and copies");
    let (lost, copied) = (count(up.lost_packets), count(up.duplicated_packets));
    let again = count(load.duplicates);
    // What is sent at the very end arrives after it, and is counted all the same.
    let arrived = load.delay.count as f64 + again;
    assert!((up.dequeued_packets as f64 + copied - arrived - lost).abs() < 1.5);
    // The model's share is 1/11 of 0.8, of which one in twenty passes because it was to be copied;
    // copies are lost as often.
    let share = 0.8 / 11.0;
    assert!(near(lost, 1e5 * share, 0.05), "{lost}");
    assert!(near(copied, 1e5 * 0.05 * (1.0 - share), 0.06), "{copied}");
    assert!(
        again <= copied && again > 0.8 * copied,
        "{again} of {copied}"
    );
    let ratio = load.loss_ratio.expect("it is UDP");
    assert!((0.0..share).contains(&ratio), "{ratio}");
    assert_eq!(link(&result, "down").lost_packets, None);
}

#[test]
fn every_tenth_passes_the_delay_by() {
    let mut up = hop("up", LineRate::Infinite);
    up.line.delay = ms(10);
    up.line.reorder = "100% gap 10".parse().expect("netem's words");
    // The path has 4 ms more, which nobody passes by.
    let flows = vec![cbr("load", 100, ms(1), ms(18))];
    let result = run(&dumbbell(
        up,
        hop("down", LineRate::Infinite),
        ms(10_000),
        flows,
    ));
    let delay = &flow_of(&result, "load").delay;
    assert!((delay.min - 4.0).abs() < 1e-6 && (delay.max - 14.0).abs() < 1e-6);
    assert!((delay.mean - 13.0).abs() < 0.01, "{}", delay.mean);
}

#[test]
fn jitter_is_uniform_and_keeps_the_order_unless_told() {
    let mut up = hop("up", LineRate::Infinite);
    (up.line.delay, up.line.jitter, up.line.reorder) = (ms(10), ms(8), Reorder::Allowed);
    let flows = || vec![cbr("load", 100, ms(1), ms(10))];
    let down = || hop("down", LineRate::Infinite);
    let free = run(&dumbbell(up.clone(), down(), ms(50_000), flows()));
    let delay = &flow_of(&free, "load").delay;
    assert!(
        near(delay.mean, 14.0, 0.01) && near(delay.p25, 12.0, 0.02),
        "{delay:?}"
    );
    assert!(delay.min >= 10.0 && delay.max < 18.0);
    // In order, a packet waits for those before it. Its lag is the largest of u0, u1 - 1 ms, ...,
    // u7 - 7 ms, all uniform in 0..8 ms: the mean of that is 5.289 ms (the integral of
    // 1 - product of min(1, (x + i)/8) over x in 0..8, done numerically).
    up.line.reorder = Reorder::Never;
    let kept = run(&dumbbell(up, down(), ms(50_000), flows()));
    let delay = &flow_of(&kept, "load").delay;
    assert!(near(delay.mean, 15.289, 0.005), "{delay:?}");
    assert!(delay.min >= 10.0 && delay.max < 18.0);
}

#[test]
fn a_trace_gives_its_opportunities() {
    // Two opportunities of 1500 bytes every 10 ms: 2.4 Mbit/s.
    let trace = Arc::new(RateTrace {
        opportunities_ms: vec![4, 10],
    });
    let cell = dumbbell(
        hop("up", LineRate::Trace(trace)),
        hop("down", LineRate::Infinite),
        ms(10_000),
        vec![cbr("load", 1500, ms(1), ms(0))],
    );
    let result = run(&cell);
    assert_eq!(link(&result, "up").dequeued_packets, 2000);
    let used = link(&result, "up").utilisation;
    assert!(
        used.is_some_and(|used| (used - 1.0).abs() < 1e-9),
        "{used:?}"
    );
}

#[test]
fn a_traces_utilisation_is_the_share_of_its_bytes() {
    // 1000 of the 3000 bytes that may leave in every 10 ms, whatever header the link has.
    let trace = Arc::new(RateTrace {
        opportunities_ms: vec![4, 10],
    });
    let mut cell = dumbbell(
        hop("up", LineRate::Trace(trace)),
        hop("down", LineRate::Infinite),
        ms(10_000),
        vec![cbr("load", 1000, ms(10), ms(0))],
    );
    for header in [0, 14] {
        cell.link_header = header;
        let result = run(&cell);
        let up = link(&result, "up");
        let used = up.utilisation.expect("a trace has bytes");
        assert!((used - 1.0 / 3.0).abs() < 1e-3, "{used}");
        let series = up
            .series
            .iter()
            .find(|series| series.metric == "utilisation");
        let points = &series.expect("the rate varies").points;
        assert_eq!(points.len(), 100);
        assert!(
            points[1..]
                .iter()
                .all(|p| (p.value - 1.0 / 3.0).abs() < 0.04),
            "{points:?}"
        );
    }
}

#[test]
fn a_graph_adds_up_its_links() {
    let names = ["a", "b", "c"];
    let mut network = Network::new(names);
    for (from, to, delay, rate) in [
        (0, 1, 3, mbit(1.0)),
        (1, 2, 4, mbit(2.0)),
        (2, 1, 5, LineRate::Infinite),
        (1, 0, 6, mbit(4.0)),
    ] {
        let mut hop = hop(&format!("{}-{}", names[from], names[to]), rate);
        hop.line.delay = ms(delay);
        network.join([from, to], &hop.name, hop.qdisc, hop.line);
    }
    let mut flow = ping("probe", ms(50), ms(30));
    flow.to = 2;
    let mut cell = dumbbell(
        hop("", LineRate::Infinite),
        hop("", LineRate::Infinite),
        ms(5000),
        vec![flow],
    );
    cell.network = network;
    // Links' delays are 18 ms, the host adds 12; 100 bytes take 0.8 + 0.4 + 0.2 ms.
    let result = run(&cell);
    let probe = flow_of(&result, "probe");
    assert!((probe.rtt.mean - 31.4).abs() < 1e-6, "{}", probe.rtt.mean);
    assert_eq!(result.links.len(), 4);
}

#[test]
fn an_access_link_serialises_too() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", mbit(1.0)),
        ms(1000),
        vec![ping("probe", ms(20), ms(0))],
    );
    cell.network.access = Some(sojourn_units::Rate::from_bps(10_000_000));
    // Two bottlenecks of 0.8 ms and four access links of 0.08 ms.
    assert!((flow_of(&run(&cell), "probe").rtt.mean - 1.92).abs() < 1e-6);
}

#[test]
fn what_is_under_way_at_the_end_is_not_lost() {
    let mut up = hop("up", mbit(0.1));
    up.qdisc = QdiscSpec::pfifo(40);
    // A load of 0.2 Mbit/s into 0.1 for 4 s, then the run ends with 4 s of queue.
    let mut load = cbr("load", 1250, ms(50), ms(0));
    load.stop = Some(Time::ZERO + Span::from_millis(3990));
    let result = run(&dumbbell(up, hop("down", mbit(1.0)), ms(4000), vec![load]));
    assert_eq!(flow_of(&result, "load").loss_ratio, Some(0.0));
    assert_eq!(flow_of(&result, "load").delay.count, 80);
}

#[test]
fn a_seed_gives_one_result() {
    let cell = |seed| {
        let mut up = hop("up", mbit(1.0));
        (up.line.loss, up.line.jitter) = (0.05.into(), ms(5));
        let flows = vec![
            ping("probe", ms(20), ms(40)),
            cbr("load", 1250, ms(12), ms(40)),
        ];
        let mut cell = dumbbell(up, hop("down", mbit(1.0)), ms(5000), flows);
        cell.seed = seed;
        cell
    };
    let (one, again, other) = (run(&cell(1)), run(&cell(1)), run(&cell(2)));
    assert_eq!(one.digest, again.digest);
    assert_eq!(format!("{one:?}"), format!("{again:?}"));
    assert_ne!(one.digest, other.digest);
}

/// Sixteen windows of ten segments wait 2 s at 1 Mbit/s, longer than a first timeout. In a network
/// the senders do not see that, and send again what waits. What is lost they send again here too.
#[test]
fn on_one_machine_nothing_is_sent_again_that_still_waits() {
    let flows = (0..16).map(|number| {
        let name = format!("bulk{number}");
        tcp(&name, Bulk, ms(300), Config::default())
    });
    let cell = |limit: u32| {
        let mut up = hop("up", mbit(1.0));
        up.qdisc = QdiscSpec::pfifo(limit);
        let flows = flows.clone().collect();
        dumbbell(up, hop("down", mbit(1.0)), ms(20_000), flows)
    };
    let again = |cell: &Cell| {
        let result = run(cell);
        let flows = result.flows.iter().map(|(_, flow)| flow);
        let sent: u64 = flows.map(|flow| flow.retransmitted_packets).sum();
        (sent, link(&result, "up").dropped_packets)
    };
    let (with_room, full) = (cell(10_000), cell(30));
    let (many, none_lost) = again(&with_room);
    assert!(many >= 8 && none_lost == 0, "{many} {none_lost}");
    let alone = |cell: Cell| {
        again(&Cell {
            one_machine: true,
            ..cell
        })
    };
    // What has just come is sent again, as its ACK is still under way.
    let (few, none_lost) = alone(with_room);
    assert!(
        4 * few <= many && none_lost == 0,
        "{few} {many} {none_lost}"
    );
    let (sent, lost) = alone(full);
    assert!(lost > 100 && 10 * sent >= 8 * lost, "{sent} {lost}");
}
