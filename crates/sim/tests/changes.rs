//! Links that change and flows that begin again, against arithmetic.

mod common;
use common::*;
use sojourn_apps::{Bulk, Cbr, File, Gaps};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_tcp::Config;
use sojourn_units::Time;
use sojourn_world::{Cell, Change, LineChange, LineRate, Reorder, Series};

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn rate(millis: u64, rate: LineRate) -> Change {
    Change {
        at: at(millis),
        line: rate.into(),
        ..Change::default()
    }
}

fn queue(millis: u64, spec: &str) -> Change {
    Change {
        at: at(millis),
        qdisc: Some(spec.parse::<QdiscSpec>().expect("a test's own spec")),
        ..Change::default()
    }
}

fn series<'a>(list: &'a [Series], metric: &str) -> &'a Series {
    list.iter().find(|s| s.metric == metric).expect("recorded")
}

#[test]
fn a_slower_link_sends_what_began_as_it_began() {
    // 1250 bytes every 20 ms. At 1 Mbit/s a packet takes 10 ms, at 0.8 Mbit/s 12.5 ms. The
    // change at 1005 ms comes in the middle of one, which still takes 10 ms.
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(2000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![rate(1005, mbit(0.8))];
    let result = run(&cell);
    let load = flow_of(&result, "load");
    // 51 packets from 0 to 1000 ms, 49 from 1020 ms to 1980 ms.
    assert_eq!(load.delay.count, 100);
    let mean = (51.0 * 10.0 + 49.0 * 12.5) / 100.0;
    assert!((load.delay.mean - mean).abs() < 1e-6, "{}", load.delay.mean);
    // Each second's share by its own rate: 1 Mbit/s for 1.005 s, 0.8 Mbit/s for 0.995 s.
    let possible = 1e6 * 1.005 + 0.8e6 * 0.995;
    let used = link(&result, "up").utilisation.expect("it has a rate");
    assert!((used - 100.0 * 10_000.0 / possible).abs() < 1e-9, "{used}");
    let over_time = &series(&link(&result, "up").series, "utilisation").points;
    assert!((over_time[4].value - 0.5).abs() < 1e-9 && (over_time[14].value - 0.625).abs() < 1e-9);
}

/// 1250 bytes every 20 ms for 2 s, at 1 Mbit/s, over a delay of 50 ms that becomes 5 ms at 1005
/// ms.
fn nearer(reorder: Reorder) -> Cell {
    let mut up = hop("up", mbit(1.0));
    (up.line.delay, up.line.reorder) = (ms(50), reorder);
    let flows = vec![cbr("load", 1250, ms(20), ms(50))];
    let mut cell = dumbbell(up, hop("down", LineRate::Infinite), ms(2000), flows);
    cell.changes = vec![Change {
        at: at(1005),
        line: LineChange {
            delay: Some(ms(5)),
            ..LineChange::default()
        },
        ..Change::default()
    }];
    cell
}

#[test]
fn behind_a_shorter_delay_packets_wait_for_those_before_them() {
    // Sending takes 10 ms. The packet of 1000 ms arrives at 1060 ms, so that those of 1020 and
    // 1040 ms take 40 and 20 ms, and the 47 after them 15 ms. Where they may overtake, 49 do.
    for (reorder, late) in [
        (Reorder::Never, 40.0 + 20.0),
        (Reorder::Allowed, 15.0 + 15.0),
    ] {
        let result = run(&nearer(reorder));
        let delay = &flow_of(&result, "load").delay;
        assert_eq!(delay.count, 100);
        let mean = (51.0 * 60.0 + late + 47.0 * 15.0) / 100.0;
        assert!((delay.mean - mean).abs() < 1e-6, "{}", delay.mean);
    }
}

#[test]
fn a_line_changes_its_delay_its_jitter_and_its_loss() {
    let mut up = hop("up", LineRate::Infinite);
    up.line.delay = ms(10);
    // The round trip has 12 ms beyond the line, half of them there.
    let flows = vec![cbr("load", 1250, ms(1), ms(22))];
    let mut cell = dumbbell(up, hop("down", LineRate::Infinite), ms(60_000), flows);
    let change = |millis, delay, jitter, loss: f64| Change {
        at: at(millis),
        line: LineChange {
            delay: Some(ms(delay)),
            jitter: Some(ms(jitter)),
            loss: Some(loss.into()),
            ..LineChange::default()
        },
        ..Change::default()
    };
    cell.changes = vec![change(20_000, 30, 0, 0.2), change(40_000, 4, 1, 0.0)];
    let measured = |from| {
        let mut cell = cell.clone();
        (cell.warmup, cell.duration) = (ms(from), ms(from + 19_000));
        let end = cell.end();
        cell.changes.retain(|change| change.at < end);
        flow_of(&run(&cell), "load").clone()
    };
    let (first, second, third) = (measured(500), measured(20_500), measured(40_500));
    assert!((first.delay.min - 16.0).abs() < 1e-6 && first.delay.max < 16.01);
    assert!((second.delay.min - 36.0).abs() < 1e-6 && second.delay.max < 36.01);
    // Four standard deviations of 19 000 throws are 0.0116.
    let loss = |flow: &sojourn_world::FlowResult| flow.loss_ratio.expect("it is UDP");
    assert!(loss(&first) < 1e-9 && (loss(&second) - 0.2).abs() < 0.0116);
    // Uniform in a millisecond, and a millisecond apart: none waits.
    assert!(loss(&third) < 1e-9 && near(third.delay.mean, 10.5, 0.01));
}

#[test]
fn a_link_without_a_rate_for_a_while_has_no_utilisation() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(2000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![rate(500, LineRate::Infinite), rate(600, mbit(1.0))];
    assert_eq!(link(&run(&cell), "up").utilisation, None);
    // What happens before the warm-up is none of its business.
    cell.warmup = ms(1000);
    assert!(link(&run(&cell), "up").utilisation.is_some());
}

/// A message a second: acknowledgements come in one of ten intervals, windows are there in all.
#[test]
fn windows_are_recorded_while_nothing_is_acknowledged() {
    let seldom = Cbr {
        size: 1000,
        interval: ms(1000),
        gaps: Gaps::Even,
    };
    let mut small = tcp("small", File { size: 10_000 }, ms(40), Config::default());
    small.start = at(500);
    let flows = vec![tcp("seldom", seldom, ms(40), Config::default()), small];
    let result = run(&dumbbell(
        hop("up", mbit(10.0)),
        hop("down", mbit(10.0)),
        ms(5000),
        flows,
    ));
    let of = |flow, metric| &series(&flow_of(&result, flow).series, metric).points;
    let missing = |flow, metric| of(flow, metric).iter().filter(|p| p.value.is_nan()).count();
    assert_eq!(missing("seldom", "cwnd"), 0);
    assert!(missing("seldom", "rtt") > 40);
    // Before the connection and after its end there is none.
    assert!((40..50).contains(&missing("small", "cwnd")));
}

#[test]
fn no_more_comes_in_than_the_line_carries() {
    let mut up = hop("up", mbit(10.0));
    up.line.loss = 0.005.into();
    let flows = vec![tcp("bulk", Bulk, ms(60), Config::default())];
    let result = run(&dumbbell(up, hop("down", mbit(10.0)), ms(20_000), flows));
    let points = &series(&flow_of(&result, "bulk").series, "throughput").points;
    let most = points.iter().map(|p| p.value).fold(0.0, f64::max);
    // A packet more or less in a tenth of a second.
    assert!((1e6..=10.13e6).contains(&most), "{most}");
}

#[test]
fn another_queue_takes_over_what_waits() {
    // Twice the rate for a second fill a FIFO without loss; the one that follows takes its
    // packets, and the end of a tbf does not leave the link waiting for it.
    let mut up = hop("up", mbit(1.0));
    up.qdisc = QdiscSpec::pfifo(1000);
    let mut load = cbr("load", 1250, ms(5), ms(0));
    load.stop = Some(at(1000));
    let mut cell = dumbbell(up, hop("down", LineRate::Infinite), ms(4000), vec![load]);
    cell.changes = vec![
        queue(400, "tbf rate 8kbit burst 2kb limit 1mb"),
        queue(500, "codel limit 1000 target 10s"),
    ];
    let result = run(&cell);
    let up = link(&result, "up");
    assert_eq!((up.dropped_packets, up.dequeued_packets), (0, 200));
    assert_eq!(up.qdisc.kind, "codel");
    // 100 a second, but for the tenth in which the bucket gave one or two.
    let sent = series(&up.series, "throughput").points.iter();
    let packets = |from: f64, to: f64| {
        let within = sent
            .clone()
            .filter(|p| p.t > from + 0.01 && p.t < to + 0.01);
        within
            .map(|p| p.value * 0.1 / 10_000.0)
            .sum::<f64>()
            .round()
    };
    assert!((39.0..=41.0).contains(&packets(0.0, 0.4)));
    assert!(packets(0.4, 0.5) <= 2.0);
    assert!((99.0..=101.0).contains(&packets(0.5, 1.5)));
}

#[test]
fn changes_at_one_time_happen_in_their_order() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(1000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![rate(0, mbit(9.0)), rate(0, mbit(2.0))];
    assert!((flow_of(&run(&cell), "load").delay.mean - 5.0).abs() < 1e-6);
}

#[test]
fn a_file_every_second_is_one_flow_with_many_completions() {
    // 100 kB take a fraction of a second; from 0.5 s to 9.5 s ten begin, nine of them after the
    // warm-up, and the last does not finish.
    let app = File { size: 100_000 };
    let mut file = tcp("file", app, ms(20), Config::default());
    (file.start, file.every) = (at(500), Some(ms(1000)));
    let mut cell = dumbbell(
        hop("up", mbit(2.0)),
        hop("down", mbit(2.0)),
        ms(9600),
        vec![file],
    );
    cell.warmup = ms(1000);
    let result = run(&cell);
    assert_eq!(result.flows.len(), 1);
    let file = flow_of(&result, "file");
    assert_eq!((file.started, file.completion.count), (9, 8));
    // 100 kB in segments of 1448 bytes with 52 of headers are 828.8 kbit; every one meets the same
    // empty link.
    assert!(file.completion.min > 414.0 && file.completion.max < 600.0);
    assert!(
        file.completion.max - file.completion.min < 1e-6,
        "{:?}",
        file.completion
    );
    let first = file.completed.expect("it finished").as_millis_f64();
    assert!((first - file.completion.mean).abs() < 1e-6);
    // 8 files of 800 kbit in the 8.6 s after the warm-up, and what of the last came in 0.1 s.
    let goodput = file.goodput.as_bps() as f64;
    assert!(
        (8.0 * 0.8e6 / 8.6..8.5 * 0.8e6 / 8.6).contains(&goodput),
        "{goodput}"
    );
}

#[test]
fn a_flow_comes_and_goes() {
    // On for 2 s of every 4 s.
    let mut bulk = tcp("bulk", Bulk, ms(20), Config::default());
    (bulk.start, bulk.stop, bulk.every) = (at(1000), Some(at(3000)), Some(ms(4000)));
    let cell = dumbbell(
        hop("up", mbit(10.0)),
        hop("down", mbit(10.0)),
        ms(12_000),
        vec![bulk],
    );
    let result = run(&cell);
    let bulk = flow_of(&result, "bulk");
    assert_eq!(bulk.started, 3);
    let goodput = &series(&bulk.series, "goodput").points;
    let mean = |from: f64, to: f64| {
        let within: Vec<f64> = (goodput.iter())
            .filter(|p| p.t > from + 0.05 && p.t < to + 0.05)
            .map(|p| p.value)
            .collect();
        within.iter().sum::<f64>() / within.len() as f64
    };
    for start in [1.0, 5.0, 9.0] {
        assert!(mean(start + 0.5, start + 2.0) > 9e6, "on at {start}");
        // A window of the queue's 1000 packets is sent after the stop: 1.2 s.
        assert!(
            mean(start + 3.4, start + 4.0) < 1.0 || start > 8.0,
            "off after {start}"
        );
    }
}
