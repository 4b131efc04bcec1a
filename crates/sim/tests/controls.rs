//! Every congestion control over the same bottlenecks: does it fill, does it keep the queue, does
//! it share, does it stall?

mod common;
use common::*;
use sojourn_apps::Bulk;
use sojourn_tcp::{Algorithm, Config, DelayedAck};
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult};

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        ..Config::default()
    }
}

/// 10 Mbit/s, 40 ms: 33 full segments fill the path.
fn cell(queue: &str, count: u64, config: Config, seconds: u64) -> Cell {
    let flows = (0..count).map(|i| {
        let mut flow = tcp(&format!("bulk-{i}"), Bulk, ms(40), config);
        flow.start = Time::ZERO + ms(137 * i);
        flow
    });
    let mut up = hop("up", mbit(10.0));
    up.qdisc = queue.parse().expect("a test's own spec");
    let down = hop("down", mbit(10.0));
    let mut cell = dumbbell(up, down, ms(seconds * 1000), flows.collect());
    cell.warmup = ms(5000);
    cell
}

fn utilisation(result: &RunResult) -> f64 {
    link(result, "up").utilisation.expect("a fixed rate")
}

/// Mean time in the queue, in milliseconds.
fn queueing(result: &RunResult) -> f64 {
    link(result, "up").sojourn.mean
}

#[test]
fn each_fills_the_bottleneck() {
    for algorithm in Algorithm::ALL {
        let result = run(&cell("pfifo limit 66", 1, config(algorithm), 30));
        let used = utilisation(&result);
        assert!(used > 0.9, "{}: {used}", algorithm.name());
        assert!(used <= 1.0 + 1e-9, "{}: {used}", algorithm.name());
    }
}

/// Where CUBIC fills 200 segments of buffer (240 ms), Vegas keeps 2 to 4 segments, and BBR at
/// most the second BDP.
#[test]
fn delay_based_controls_keep_the_queue_short() {
    let delay = |algorithm| queueing(&run(&cell("pfifo limit 200", 1, config(algorithm), 40)));
    let cubic = delay(Algorithm::Cubic);
    assert!(cubic > 100.0, "{cubic}");
    for (algorithm, most) in [
        (Algorithm::Vegas, 6.0),
        (Algorithm::Bbr, 25.0),
        (Algorithm::Bbr3, 25.0),
    ] {
        let delay = delay(algorithm);
        assert!(delay < most, "{}: {delay} ms", algorithm.name());
    }
}

/// Step marking at 5 ms: DCTCP stays around it, does not lose, and uses the link.
#[test]
fn dctcp_sits_at_the_marking_threshold() {
    let queue = "codel ecn target 200ms interval 400ms ce_threshold 5ms";
    let result = run(&cell(queue, 2, config(Algorithm::Dctcp), 30));
    let up = link(&result, "up");
    assert!(up.marked_packets > 0 && up.dropped_packets == 0, "{up:?}");
    assert!(utilisation(&result) > 0.95, "{}", utilisation(&result));
    let delay = queueing(&result);
    assert!((1.0..9.0).contains(&delay), "{delay} ms");
}

#[test]
fn equal_flows_share_sanely() {
    for algorithm in Algorithm::ALL {
        let result = run(&cell("pfifo limit 66", 4, config(algorithm), 60));
        let jain = result.aggregate.jain.expect("four flows");
        // Vegas is as unfair as its flows' ideas of the base RTT; the others near equality.
        let least = if algorithm == Algorithm::Vegas {
            0.6
        } else {
            0.8
        };
        assert!(jain > least, "{}: {jain}", algorithm.name());
        assert!(utilisation(&result) > 0.9, "{}", algorithm.name());
    }
}

/// No control stalls for good: with a buffer of one packet, and with 5 % random loss.
#[test]
fn none_stalls() {
    for algorithm in Algorithm::ALL {
        for delayed_ack in [DelayedAck::Off, Config::default().delayed_ack] {
            let config = Config {
                delayed_ack,
                ..config(algorithm)
            };
            let tiny = run(&cell("pfifo limit 1", 2, config, 60));
            let mut lossy = cell("pfifo limit 66", 2, config, 60);
            for link in 0..2 {
                lossy.network.line_mut(link).expect("a wire").loss = 0.05.into();
            }
            for (name, result) in [("tiny", tiny), ("lossy", run(&lossy))] {
                for (flow, figures) in &result.flows {
                    let goodput = figures.goodput.as_bps();
                    let about = format!("{} {name} {flow}: {goodput}", algorithm.name());
                    assert!(goodput > 100_000, "{about}");
                    assert!(goodput < 10_000_000, "{about}");
                }
            }
        }
    }
}

/// The seed decides when BBR probes, and nothing else does.
#[test]
fn the_same_seed_gives_the_same_run() {
    for algorithm in [Algorithm::Bbr, Algorithm::Bbr3] {
        let one = cell("pfifo limit 66", 3, config(algorithm), 20);
        let bytes = |cell: &Cell| {
            let result = run(cell);
            let goodput = result.flows.iter().map(|(_, flow)| flow.goodput.as_bps());
            goodput.collect::<Vec<_>>()
        };
        assert_eq!(bytes(&one), bytes(&one), "{}", algorithm.name());
        let mut other = one.clone();
        other.seed = 2;
        assert_ne!(bytes(&one), bytes(&other), "{}", algorithm.name());
    }
}
