//! Links that are down for a while: what waits, what is lost, and how TCP goes on.

mod common;
use common::*;
use sojourn_apps::Bulk;
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_tcp::{Algorithm, Config};
use sojourn_units::{Rate, Time};
use sojourn_world::{Cell, Change, LineChange, LineRate, Loss, RunResult};

const DOWN: LineRate = LineRate::Fixed(Rate::ZERO);

fn at(millis: u64, line: impl Into<LineChange>) -> Change {
    Change {
        at: Time::ZERO + ms(millis),
        line: line.into(),
        ..Change::default()
    }
}

fn loss(millis: u64, share: f64) -> Change {
    let line = LineChange {
        loss: Some(Loss::from(share)),
        ..LineChange::default()
    };
    at(millis, line)
}

/// Every packet offered has been dequeued, dropped, or is still there.
fn balances(result: &RunResult, name: &str, left: u64) {
    let link = link(result, name);
    assert_eq!(
        link.offered_packets,
        link.dequeued_packets + link.dropped_packets + left,
        "{link:?}"
    );
}

/// By hand: 1250 bytes each 20 ms, 10 ms at 1 Mbit/s. Down from 1005 ms to 1205 ms: the packet of
/// 1000 ms is sent as it began; those of 1020 to 1200 ms, ten, wait and leave from 1205 ms on,
/// each 10 ms later than the one before, while new ones come. The packet of 1020 ms takes 195 ms,
/// each later one 10 ms less until none waits.
#[test]
fn what_comes_while_a_link_is_down_waits_in_its_queue() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(2000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![at(1005, DOWN), at(1205, mbit(1.0))];
    let result = run(&cell);
    let load = flow_of(&result, "load");
    assert_eq!(load.delay.count, 100);
    assert!((load.delay.max - 195.0).abs() < 1e-6, "{}", load.delay.max);
    // 195, 185, ..., 15 ms are 19 packets that waited; the 81 others take 10 ms.
    let mean = (f64::midpoint(195.0, 15.0) * 19.0 + 81.0 * 10.0) / 100.0;
    assert!(
        (load.delay.mean - mean).abs() < 1e-6,
        "{} {mean}",
        load.delay.mean
    );
    balances(&result, "up", 0);
    // 100 packets of 10 ms each in 1.8 s that it was up.
    let used = link(&result, "up").utilisation.expect("it has a rate");
    assert!((used - 1.0 / 1.8).abs() < 1e-9, "{used}");
}

#[test]
fn a_full_queue_of_a_link_that_is_down_drops_and_the_accounts_balance() {
    let mut up = hop("up", mbit(1.0));
    up.qdisc = QdiscSpec::pfifo(5);
    let mut cell = dumbbell(
        up,
        hop("down", LineRate::Infinite),
        ms(2000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![at(1005, DOWN)];
    let result = run(&cell);
    let up = link(&result, "up");
    // 51 until 1000 ms are sent; of 49 more 5 wait to the end, and 44 find the queue full.
    assert_eq!(
        (up.offered_packets, up.dequeued_packets, up.dropped_packets),
        (100, 51, 44)
    );
    balances(&result, "up", 5);
    // What waits to the end is neither delivered nor lost: 44 of 100 are.
    let lost = flow_of(&result, "load")
        .loss_ratio
        .expect("datagrams were sent");
    assert!((lost - 0.44).abs() < 1e-9, "{lost}");
}

#[test]
fn a_loss_of_all_loses_all_behind_the_queue() {
    let mut cell = dumbbell(
        hop("up", mbit(1.0)),
        hop("down", LineRate::Infinite),
        ms(2000),
        vec![cbr("load", 1250, ms(20), ms(0))],
    );
    cell.changes = vec![loss(1000, 1.0), loss(1500, 0.0)];
    let result = run(&cell);
    let up = link(&result, "up");
    // Those of 1000 to 1480 ms.
    assert_eq!((up.dequeued_packets, up.lost_packets), (100, Some(25.0)));
    assert_eq!(flow_of(&result, "load").loss_ratio, Some(0.25));
    balances(&result, "up", 0);
}

/// A stream over 8 Mbit/s and 40 ms, with an outage from 5 s to 8 s.
fn stream(changes: Vec<Change>, algorithm: Algorithm) -> (Cell, RunResult) {
    let config = Config {
        algorithm,
        ..Config::default()
    };
    let mut up = hop("up", mbit(8.0));
    up.qdisc = QdiscSpec::pfifo(100);
    let flows = vec![tcp("bulk", Bulk, ms(40), config)];
    let mut cell = dumbbell(up, hop("down", mbit(8.0)), ms(20_000), flows);
    cell.changes = changes;
    let result = run(&cell);
    (cell, result)
}

/// Payload that arrived in a second of the run, in bit/s.
fn goodput(result: &RunResult, second: usize) -> f64 {
    let series = &flow_of(result, "bulk").series;
    let goodput = series
        .iter()
        .find(|s| s.metric == "goodput")
        .expect("it is kept");
    let points = &goodput.points[second * 10..(second + 1) * 10];
    points.iter().map(|point| point.value).sum::<f64>() / 10.0
}

/// The timer doubles from the 200 ms and more that 40 ms and a queue give: it has expired at 0.3,
/// 0.9 and 2.1 s or so of the outage, and next at 4.5 s, within two seconds of its end.
#[test]
fn tcp_goes_on_after_an_outage_by_its_retransmission_timer() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno, Algorithm::Bbr] {
        let outages = [
            vec![at(5000, DOWN), at(8000, mbit(8.0))],
            vec![loss(5000, 1.0), loss(8000, 0.0)],
        ];
        for outage in outages {
            let is_lossy = outage[0].line.loss.is_some();
            let (_, result) = stream(outage, algorithm);
            for dead in [6, 7] {
                let rate = goodput(&result, dead);
                assert!(
                    rate < 1.0,
                    "{algorithm:?} {is_lossy}: {rate} in second {dead}"
                );
            }
            for second in [4, 14, 18] {
                let rate = goodput(&result, second);
                assert!(
                    rate > 7.0e6,
                    "{algorithm:?} {is_lossy}: {rate} in second {second}"
                );
            }
            let up = link(&result, "up");
            let under_way = up.offered_packets - up.dequeued_packets - up.dropped_packets;
            assert!(under_way <= 100, "{under_way}");
        }
    }
}

/// The same with the link down at the very beginning: the SYN waits, and nothing is sent twice but
/// what its timer sends.
#[test]
fn a_link_that_is_down_at_first_carries_all_later() {
    let (_, result) = stream(vec![at(0, DOWN), at(3000, mbit(8.0))], Algorithm::Cubic);
    assert!(goodput(&result, 2) < 1.0);
    assert!(goodput(&result, 10) > 7.0e6);
}

/// What limits the stream during the outage is its window: it has data, and an empty network.
#[test]
fn shares_of_what_limits_add_up_to_one() {
    let (_, result) = stream(vec![at(5000, DOWN), at(8000, mbit(8.0))], Algorithm::Cubic);
    let flow = flow_of(&result, "bulk");
    let shares = [
        flow.window_limited,
        flow.send_buffer_limited,
        flow.receive_window_limited,
        flow.application_limited,
        flow.pacing_limited,
    ];
    let sum: f64 = shares.into_iter().flatten().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
    assert!(shares[0].is_some_and(|window| window > 0.95), "{shares:?}");
}

/// By hand: over 1 Gbit/s and 200 ms a buffer of 2 740 682 bytes is sent within 22 ms of each round
/// trip, and its application waits for the rest.
#[test]
fn a_flow_held_by_its_send_buffer_says_so() {
    let flows = vec![tcp("bulk", Bulk, ms(200), Config::default())];
    let mut cell = dumbbell(
        hop("up", mbit(1000.0)),
        hop("down", mbit(1000.0)),
        ms(20_000),
        flows,
    );
    cell.warmup = ms(10_000);
    let result = run(&cell);
    let flow = flow_of(&result, "bulk");
    assert!(
        flow.send_buffer_limited.is_some_and(|share| share > 0.9),
        "{flow:?}"
    );
    assert!(flow.goodput < Rate::from_bps(115_000_000));
}
