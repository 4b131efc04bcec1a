//! Recorders against sums that can be done by hand.

use super::spread::MAX_CDF_POINTS;
use super::*;
use crate::{Cell, Line, LineRate, Network, jain};
use sojourn_qdisc::{Backlog, Report, Spec};

fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn window() -> Window {
    Window {
        from: ms(1000),
        to: ms(3000),
        every: Span::from_millis(100),
    }
}

#[test]
fn a_link_counts_from_the_warm_up_and_averages_over_time() {
    let mut link = LinkRecorder::new(window(), Some(Rate::from_bps(1_000_000)));
    let one = Backlog {
        packets: 1,
        bytes: 1000,
    };
    link.offered(ms(500), 1000); // before the window
    link.backlog(ms(500), one);
    link.dequeued(ms(1500), 1000, Span::from_millis(1000));
    link.backlog(ms(1500), Backlog::default());
    let result = link.finish(Report::default());
    assert_eq!((result.offered_packets, result.dequeued_packets), (0, 1));
    // One packet for half a second of a window of two.
    assert!((result.backlog_packets_mean - 0.25).abs() < 1e-9);
    // 8000 bits of two million.
    assert!((result.utilisation.unwrap() - 0.004).abs() < 1e-12);
    assert!((result.sojourn.mean - 1000.0).abs() < 1e-9);
    assert_eq!(result.series[0].points.len(), 30);
    let busy: Vec<_> = result.series[0]
        .points
        .iter()
        .filter(|p| p.value > 0.0)
        .collect();
    assert!(busy.len() == 1 && (busy[0].value - 80_000.0).abs() < 1e-6);
    assert!((busy[0].t - 1.5).abs() < 1e-9, "{busy:?}");
}

#[test]
fn quantiles_are_within_half_a_percent() {
    let mut spread = Spread::new(Span::ZERO);
    for us in 1..=100_000 {
        spread.add(Span::from_micros(us));
    }
    let d = spread.less(Span::from_millis(10));
    assert!((d.p50 - 40.0).abs() < 0.3, "{}", d.p50);
    assert!((d.p99 - 89.0).abs() < 0.6, "{}", d.p99);
    assert!((d.mean - 40.0005).abs() < 1e-3 && d.max >= 90.0 && d.max < 90.001 && d.min <= 0.0);
    assert!(d.cdf.len() <= MAX_CDF_POINTS + 1 && d.cdf.windows(2).all(|w| w[0].1 <= w[1].1));
    assert!(d.cdf.last().unwrap().1 >= 1.0);
}

#[test]
fn quantiles_are_the_nearest_rank_of_few_samples() {
    let mut spread = Spread::new(Span::ZERO);
    for millis in [40, 10, 30, 20] {
        spread.add(Span::from_millis(millis));
    }
    let d = spread.distribution();
    let near = |value: f64, expected: f64| (value - expected).abs() <= 0.005 * expected;
    for (value, expected) in [(d.p5, 10.0), (d.p25, 10.0), (d.p50, 20.0), (d.p75, 30.0)] {
        assert!(near(value, expected), "{value} {expected}");
    }
    assert!(near(d.p95, 40.0) && near(d.p99, 40.0), "{d:?}");
    let shares: Vec<_> = d.cdf.iter().map(|&(_, share)| share).collect();
    assert_eq!(shares, [0.25, 0.5, 0.75, 1.0]);
}

#[test]
fn what_exceeds_a_base_is_resolved_finely() {
    // 2.2 ms above 200 ms: the histogram's half per cent is of the 2.2 ms.
    let mut spread = Spread::new(Span::from_millis(200));
    for us in [1900, 2200, 2500] {
        spread.add(Span::from_millis(200) + Span::from_micros(us));
    }
    let induced = spread.less(Span::from_millis(200));
    assert!((induced.p50 - 2.2).abs() < 0.012, "{}", induced.p50);
    assert!((spread.distribution().p50 - 202.2).abs() < 0.012);
    // A span below the base keeps the minimum exact.
    spread.add(Span::from_millis(150));
    assert!((spread.distribution().min - 150.0).abs() < 1e-9);
}

#[test]
fn an_empty_flow_has_no_figures_and_no_nan() {
    let mut flow = FlowRecorder::new(window(), Span::ZERO);
    assert_eq!(flow.rtt.distribution(), Distribution::default());
    assert_eq!(jain([]), None);
    assert_eq!(jain([0.0, 0.0]), None);
    assert_eq!(jain([2.0, 2.0]), Some(1.0));
    assert_eq!(jain([1.0, 0.0]), Some(0.5));
    assert_eq!(jain([2.0]), None, "one share is equal to nothing");
}

#[test]
fn series_never_grow_beyond_their_window() {
    let mut bins = Bins::new(&window());
    bins.add(Time::MAX, 1.0);
    bins.add(ms(1), 1.0); // a clock that runs backwards
    let quantity = Quantity {
        metric: "",
        unit: Unit::None,
    };
    assert_eq!(bins.series(ms(3000), quantity, mean).points.len(), 30);
}

#[test]
fn fairness_is_among_flows_that_compete() {
    let flow = |from, to, bps: u64| {
        let (name, bulk) = (format!("{from}-{bps}"), sojourn_apps::Bulk);
        let flow = crate::Flow {
            from,
            to,
            ..crate::Flow::new(&name, crate::Transport::Udp, bulk)
        };
        let mut recorder = FlowRecorder::new(window(), Span::ZERO);
        recorder.delivered(ms(2000), bps / 4); // two seconds are measured
        let result = (flow.name.clone(), recorder.finish(&flow));
        (flow, result)
    };
    // Equal upstream, 3 to 1 downstream: 16 / (2 * 10).
    let cells = [
        flow(0, 1, 80),
        flow(0, 1, 80),
        flow(1, 0, 24_000),
        flow(1, 0, 8000),
    ];
    let (flows, mut results): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
    let mut network = Network::new(["a", "b"]);
    for (ends, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line::new(LineRate::Fixed(Rate::from_bps(1_000_000)));
        network.join(ends, name, Spec::pfifo(1), line);
    }
    let mut cell = Cell::new("c", network, flows, Span::from_secs(3));
    let aggregate = crate::Aggregate::of(&cell, &results);
    assert!(
        (aggregate.jain.unwrap() - 0.8).abs() < 1e-9,
        "{aggregate:?}"
    );
    assert!((aggregate.goodput_bps - 32_160.0).abs() < 1e-9);
    // One flow each way: nothing to be fair to.
    for list in [1, 2] {
        cell.flows.remove(list);
        results.remove(list);
    }
    assert_eq!(crate::Aggregate::of(&cell, &results).jain, None);
    cell.flows.clear();
    assert_eq!(crate::Aggregate::of(&cell, &[]).jain, None);
}

/// What is told in one call is what is told in three.
#[test]
fn a_packet_that_was_never_held_counts_as_one_held_for_no_time() {
    let new = || LinkRecorder::new(window(), Some(Rate::from_bps(1_000_000)));
    let (mut short, mut long) = (new(), new());
    let one = Backlog {
        packets: 1,
        bytes: 1000,
    };
    for at in [500, 1000, 1040, 1700, 3000, 3001] {
        short.passed(ms(at), 1000);
        long.offered(ms(at), 1000);
        long.backlog(ms(at), one);
        long.backlog(ms(at), Backlog::default());
        long.dequeued(ms(at), 1000, Span::ZERO);
    }
    // And one that was held: what has left, and what is left then, in one call or two.
    for recorder in [&mut short, &mut long] {
        recorder.offered(ms(3100), 1000);
        recorder.backlog(ms(3100), one);
    }
    short.left(ms(3101), Backlog::default(), 1000, Span::from_millis(1));
    long.backlog(ms(3101), Backlog::default());
    long.dequeued(ms(3101), 1000, Span::from_millis(1));
    let told = |link: LinkRecorder| format!("{:?}", link.finish(Report::default()));
    let told = (told(short), told(long));
    assert!(told.0.contains("dequeued_packets: 4"), "{}", told.0);
    assert_eq!(told.0, told.1);
}
