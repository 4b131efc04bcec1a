//! Cells that were measured on Linux: real qdiscs and real TCP, 6.1.192, in User-Mode Linux with
//! virtual time, so that the machine's speed plays no part. Means over three seeds in both
//! worlds, 10 to 60 s. The kernel's figures are medians of the induced round trip of a UDP
//! probe and goodputs; ranges over its seeds are given where they matter for the tolerance.

mod common;

use common::{mbit, ms};
use sojourn_apps::Spec as App;
use sojourn_sim::Sim;
use sojourn_tcp::Config;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, Transport, World};
use std::ops::ControlFlow;

const SEEDS: u64 = 3;

/// What Linux measured, and how far the simulator may be off.
struct Kernel {
    qdisc: &'static str,
    /// Median induced round trip, ms; tolerated share of it, or 3 ms if that is more.
    induced: (f64, f64),
    /// Goodput of all bulk flows up and down, Mbit/s; tolerated share.
    up: (f64, f64),
    down: (f64, f64),
}

fn flow(name: String, up: bool, rtt: Span, transport: Transport, app: App) -> Flow {
    Flow {
        name,
        from: usize::from(!up),
        to: usize::from(up),
        start: Time::ZERO,
        stop: None,
        base_rtt: rtt,
        dscp: 0,
        transport,
        app,
    }
}

/// Bulk flows start at different times within the first half second.
fn bulk(name: &str, up: bool, rtt: Span, index: u64, seed: u64) -> Flow {
    let tcp = Transport::Tcp(Config::default());
    let mut flow = flow(format!("{name}{index}"), up, rtt, tcp, App::Bulk);
    let offset = (index * 2 + u64::from(up) + 1) * seed * 7919 * 31;
    flow.start += Span::from_micros(offset * 1000 % 500_000);
    flow
}

fn probe(interval: Span, rtt: Span) -> Flow {
    let app = App::Ping { size: 64, interval };
    flow("probe".into(), true, rtt, Transport::Udp, app)
}

fn cell(up: f64, down: f64, qdisc: &str, seed: u64, flows: Vec<Flow>) -> Cell {
    let hop = |name, rate| {
        let mut hop = common::hop(name, mbit(rate));
        hop.qdisc = qdisc.parse().expect("a qdisc");
        hop
    };
    let (up, down) = (hop("up", up), hop("down", down));
    let mut cell = common::dumbbell(up, down, Span::from_secs(60), flows);
    cell.seed = seed;
    cell.warmup = Span::from_secs(10);
    cell.link_header = 14;
    cell
}

/// Four CUBIC flows each way over 10/10 Mbit/s, 50 ms.
fn rrul_like(qdisc: &str, seed: u64) -> Cell {
    let mut flows = vec![probe(ms(20), ms(50))];
    for index in 0..4 {
        flows.push(bulk("up", true, ms(50), index, seed));
        flows.push(bulk("down", false, ms(50), index, seed));
    }
    cell(10.0, 10.0, qdisc, seed, flows)
}

/// Home broadband, 12/1 Mbit/s, 40 ms: bulk each way, a call each way, small messages up.
fn home(qdisc: &str, seed: u64) -> Cell {
    let rtt = ms(40);
    let call = App::Cbr {
        size: 700,
        interval: ms(20),
    };
    let messages = App::Cbr {
        size: 100,
        interval: ms(8),
    };
    let tcp = Transport::Tcp(Config::default());
    let mut small = flow("small".into(), true, rtt, tcp, messages);
    small.start += ms(1000);
    let flows = vec![
        probe(ms(100), rtt),
        bulk("up", true, rtt, 0, seed),
        bulk("down", false, rtt, 0, seed),
        flow("call-up".into(), true, rtt, Transport::Udp, call.clone()),
        flow("call-down".into(), false, rtt, Transport::Udp, call),
        small,
    ];
    cell(1.0, 12.0, qdisc, seed, flows)
}

fn compare(kernel: &Kernel, cell: fn(&str, u64) -> Cell) {
    let (mut induced, mut up, mut down) = (0.0, 0.0, 0.0);
    for seed in 1..=SEEDS {
        let result = Sim
            .run(
                &cell(kernel.qdisc, seed),
                &mut |_| ControlFlow::Continue(()),
            )
            .expect("a sound cell");
        for (name, flow) in &result.flows {
            let rate = flow.goodput.as_bps() as f64 / 1e6 / SEEDS as f64;
            match name.trim_end_matches(char::is_numeric) {
                "probe" => induced += flow.induced_rtt.p50 / SEEDS as f64,
                "up" => up += rate,
                "down" => down += rate,
                _ => {}
            }
        }
    }
    println!(
        "{}: induced {induced:.1} up {up:.3} down {down:.3}",
        kernel.qdisc
    );
    let near = |what, ours: f64, (theirs, share): (f64, f64), least: f64| {
        let tolerance = (theirs * share).max(least);
        assert!(
            (ours - theirs).abs() <= tolerance,
            "{} {what}: {ours:.3}, Linux {theirs:.3} ± {tolerance:.3}",
            kernel.qdisc
        );
    };
    near("induced RTT", induced, kernel.induced, 3.0);
    near("goodput up", up, kernel.up, 0.0);
    near("goodput down", down, kernel.down, 0.0);
}

#[test]
fn four_flows_each_way() {
    let cells = [
        // The kernel's own range is 806 to 878.
        ("pfifo limit 1000", 839.0, 9.13, 9.20),
        ("codel", 43.3, 8.89, 8.90),
        ("pie", 53.5, 8.30, 8.47),
        ("fq_codel", 1.4, 9.08, 9.08),
    ];
    for (qdisc, induced, up, down) in cells {
        let kernel = Kernel {
            qdisc,
            induced: (induced, 0.15),
            up: (up, 0.05),
            down: (down, 0.05),
        };
        compare(&kernel, rrul_like);
    }
}

#[test]
fn home_broadband() {
    // The FIFO is a known difference: the median is a quarter above the kernel's (938 to 998 ms over
    // three seeds), the download a tenth below, and the cause is not known. Its tolerances only
    // keep it from getting worse.
    let cells = [
        (
            "pfifo limit 490",
            (971.0, 0.35),
            (0.387, 0.1),
            (7.371, 0.15),
        ),
        ("pie", (42.1, 0.15), (0.357, 0.05), (9.930, 0.05)),
        ("fq_codel", (2.2, 0.15), (0.288, 0.05), (10.334, 0.05)),
    ];
    for (qdisc, induced, up, down) in cells {
        let kernel = Kernel {
            qdisc,
            induced,
            up,
            down,
        };
        compare(&kernel, home);
    }
}
