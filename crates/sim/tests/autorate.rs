//! A shaper whose rate follows the link behind it, beside shapers that stay: over a link whose rate
//! is a trace, and over one whose path changes.
//!
//! home - up - edge - modem - net, and back over links that are fast. The modem has a FIFO of a
//! third of a second at 20 Mbit/s.

mod common;
use common::*;
use sojourn_apps::Bulk;
use sojourn_autorate::Params;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Time};
use sojourn_world::{
    Cell, Change, Following, Line, LineChange, LineRate, Network, RateTrace, RunResult,
};
use std::sync::Arc;

/// Link indices.
const UP: usize = 0;
const MODEM: usize = 1;
const DOWN: usize = 3;

fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// A trace with so many Mbit/s in each second.
fn trace(rates: &[f64]) -> LineRate {
    let (mut opportunities_ms, mut bytes) = (Vec::new(), 0.0);
    for (ms, rate) in (1..).zip(
        rates
            .iter()
            .flat_map(|rate| std::iter::repeat_n(rate, 1000)),
    ) {
        bytes += rate * 1e3 / 8.0;
        while bytes >= 1500.0 {
            opportunities_ms.push(ms);
            bytes -= 1500.0;
        }
    }
    LineRate::Trace(Arc::new(RateTrace { opportunities_ms }))
}

/// Two long uploads and a probe for 80 s, of which the first five do not count; the shaper is at
/// this rate, or follows from there.
fn cell(shaper: u64, follows: bool, modem: LineRate) -> Cell {
    let mut network = Network::new(["home", "edge", "net"]);
    let line = |rate, delay| Line {
        delay: ms(delay),
        ..Line::new(rate)
    };
    let queue = |text: &str| text.parse().expect("a test's own spec");
    let fixed = |rate| LineRate::Fixed(mbps(rate));
    network.join([0, 1], "up", queue("fq_codel"), line(fixed(shaper), 0));
    network.join([1, 2], "modem", queue("pfifo limit 550"), line(modem, 15));
    network.join(
        [2, 1],
        "in",
        queue("pfifo limit 1000"),
        line(fixed(100), 15),
    );
    network.join(
        [1, 0],
        "down",
        queue("pfifo limit 1000"),
        line(fixed(100), 0),
    );
    if follows {
        let params = Params {
            min: mbps(5),
            base: mbps(shaper),
            max: mbps(40),
            threshold: Params::THRESHOLD,
        };
        network.following.push(Following {
            interfaces: [UP, DOWN],
            params: [Some(params), None],
        });
    }
    let to_net = |flow| sojourn_world::Flow { to: 2, ..flow };
    let upload = |name| tcp(name, Bulk, ms(30), Config::default());
    let flows = [
        upload("first"),
        upload("second"),
        ping("ping", ms(20), ms(30)),
    ]
    .map(to_net)
    .to_vec();
    Cell {
        warmup: ms(5000),
        ..Cell::new("autorate", network, flows, ms(80_000))
    }
}

/// What a ping waits beyond the empty path, at the 95th percentile in ms, and how much of the modem
/// is used.
fn figures(result: &RunResult) -> (f64, f64) {
    let used = link(result, "modem").utilisation.expect("it has a rate");
    (flow_of(result, "ping").induced_rtt.p95, used)
}

/// 20, 8, 30 and 12 Mbit/s, ten seconds each, again and again.
fn varying() -> LineRate {
    let rates = [20.0, 8.0, 30.0, 12.0];
    trace(&rates.map(|rate| [rate; 10]).concat())
}

/// A rate at the least that the link ever has is never late and leaves half the link; one at the
/// most fills the modem's buffer. The rate that follows has most of both.
#[test]
fn the_rate_follows_a_trace() {
    let of = |shaper, follows| figures(&run(&cell(shaper, follows, varying())));
    let (low_delay, low_used) = of(8, false);
    let (high_delay, high_used) = of(40, false);
    let (delay, used) = of(20, true);
    println!("8 Mbit/s: {low_delay:.1} ms, {low_used:.3}; 40: {high_delay:.1} ms, {high_used:.3}");
    println!("autorate: {delay:.1} ms, {used:.3}");
    assert!(
        low_delay < 10.0 && low_used < 0.55,
        "{low_delay} {low_used}"
    );
    assert!(
        high_delay > 500.0 && high_used > 0.99,
        "{high_delay} {high_used}"
    );
    assert!(used > 0.9, "{used}");
    assert!(delay < high_delay / 3.0, "{delay}");
}

/// Its rate and what it sees are series of its link; a link that stays has none.
#[test]
fn the_rate_is_a_series() {
    let result = run(&cell(20, true, varying()));
    let values = |metric: &str| -> Vec<f64> {
        let series = link(&result, "up")
            .series
            .iter()
            .find(|series| series.metric == metric);
        let points = &series.expect("recorded").points;
        points.iter().map(|point| point.value).collect()
    };
    let rates = values("autorate");
    assert!(rates.len() > 700, "{}", rates.len());
    assert!(rates.iter().all(|rate| (5e6..=40e6).contains(rate)));
    let (low, high) = rates
        .iter()
        .fold((f64::MAX, 0.0_f64), |(low, high), &rate| {
            (low.min(rate), high.max(rate))
        });
    assert!(low < 10e6 && high > 25e6, "{low} {high}");
    assert!(values("path_delay").iter().any(|&delay| delay > 30.0));
    let still = &link(&result, "down").series;
    assert!(still.iter().all(|series| series.metric != "autorate"));
}

/// As a satellite link's path: another delay every 15 s, up to 40 ms longer than the one before.
fn wandering(mut cell: Cell) -> Cell {
    for (step, delay) in (1..).zip([45, 20, 55, 30, 50]) {
        cell.changes.push(Change {
            at: Time::ZERO + ms(15_000 * step),
            link: MODEM,
            line: LineChange {
                delay: Some(ms(delay)),
                ..LineChange::default()
            },
            ..Change::default()
        });
    }
    for flow in &mut cell.flows {
        flow.base_rtt = ms(30);
    }
    cell
}

/// The longer path is not taken for a queue for more than some seconds: most of a link of 18
/// Mbit/s is used. A delay measured from the first base on would leave the minimum of 5 Mbit/s for
/// two thirds of the time.
#[test]
fn a_path_that_wanders_is_no_queue() {
    let result = run(&wandering(cell(15, true, LineRate::Fixed(mbps(18)))));
    let (_, used) = figures(&result);
    let stays = figures(&run(&cell(15, true, LineRate::Fixed(mbps(18))))).1;
    println!("wandering {used:.3}, staying {stays:.3}");
    assert!(stays > 0.85, "{stays}");
    assert!(used > 0.8 * stays, "{used}");
}

/// A probe alone is no load: the rate stays where it is.
#[test]
fn without_load_nothing_changes() {
    let mut cell = cell(20, true, varying());
    cell.flows.retain(|flow| flow.name == "ping");
    let result = run(&cell);
    let series = link(&result, "up")
        .series
        .iter()
        .find(|series| series.metric == "autorate");
    let points = &series.expect("recorded").points;
    assert!(points.iter().all(|point| (point.value - 20e6).abs() < 1.0));
}

/// Connections without timestamps tell nothing, and a rate that nobody sees the effect of does not
/// rise.
#[test]
fn without_timestamps_the_rate_does_not_rise() {
    let mut cell = cell(20, true, LineRate::Fixed(mbps(40)));
    for flow in &mut cell.flows {
        if let sojourn_world::Transport::Tcp(config) = &mut flow.transport {
            config.timestamps = false;
        }
    }
    let result = run(&cell);
    let throughput = link(&result, "modem").utilisation.expect("it has a rate");
    assert!(throughput < 0.51, "{throughput}");
    let seen = run(&self::cell(20, true, LineRate::Fixed(mbps(40))));
    assert!(figures(&seen).1 > 0.85, "{:?}", figures(&seen));
}
