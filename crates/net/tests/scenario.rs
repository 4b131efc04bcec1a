//! Flows whose scenario names a stack: they run as flows of ours do, with their figures, packets
//! and times.

mod common;

use common::CUBIC;
use sojourn_net::WithStacks;
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Sim;
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, Tap, TapPoint, Taps, World, WorldError};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A line of 20 Mbit/s and 40 ms under `fq_codel`, with these flows.
fn cell(flows: &str) -> Cell {
    let text = common::scenario("fq_codel", flows);
    let read = Scenario::parse("test.toml", &text, Path::new("."), &Options::default());
    read.expect("our own scenario").cells.remove(0)
}

const QUIC: &str = r#"
    [[flow]]
    name = "quic"
    direction = "up"
    app = "bulk"
    stack = "quinn"
"#;

fn run(flows: &str) -> RunResult {
    let result = WithStacks.run(&cell(flows), Taps::default(), &mut |_| {
        ControlFlow::Continue(())
    });
    result.expect("it runs")
}

fn mbit(result: &RunResult, flow: usize) -> f64 {
    result.flows[flow].1.goodput.as_bps() as f64 / 1e6
}

#[test]
fn a_flow_over_quinn_has_the_figures_of_ours() {
    let result = run(&format!("{QUIC}{CUBIC}"));
    let (quic, cubic) = (mbit(&result, 0), mbit(&result, 1));
    assert!((8.0..11.0).contains(&quic), "{quic}");
    assert!((8.0..11.0).contains(&cubic), "{cubic}");
    let (_, flow) = &result.flows[0];
    assert!(flow.delay.mean > 20.0);
    let (_, up) = &result.links[0];
    // QUIC is ECN-capable, our flow is not.
    assert!(up.marked_packets > 0 && up.sojourn.mean > 0.0);
    assert_eq!(result.digest, run(&format!("{QUIC}{CUBIC}")).digest);
}

/// Behind a long queue of its own a loss-based control fills it, and BBR does not.
#[test]
fn it_has_the_control_of_its_scenario() {
    let delay = |control: &str| {
        let text = common::scenario("pfifo limit 400", &format!("{QUIC}{control}"));
        let read = Scenario::parse("test.toml", &text, Path::new("."), &Options::default());
        let cell = read.expect("our own scenario").cells.remove(0);
        let result = WithStacks
            .run(&cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
            .expect("it runs");
        (result.links[0].1.sojourn.mean, result.digest)
    };
    let none = delay("");
    assert_eq!(none, delay("cc = 'cubic'"));
    assert_ne!(none.1, delay("cc = 'reno'").1);
    let (bbr, _) = delay("cc = 'bbr'");
    assert!(bbr < none.0 / 2.0, "{bbr} ms, with CUBIC {} ms", none.0);
}

#[test]
fn it_starts_stops_and_begins_anew_as_told() {
    let times = "start = '3s'\nstop = '4s'\nevery = '3s'";
    let result = run(&format!("{QUIC}{times}"));
    let mut series = result.flows[0].1.series.iter();
    let goodput = series.find(|series| series.metric == "goodput");
    let points = &goodput.expect("recorded").points;
    let in_second = |second: usize| -> f64 {
        let points = points.iter().skip(10 * second).take(10);
        points.map(|point| point.value).sum::<f64>() / 10.0 / 1e6
    };
    for second in 0..8 {
        let rate = in_second(second);
        match second {
            3 | 6 => assert!((5.0..20.0).contains(&rate), "second {second}: {rate}"),
            // What was under way when it stopped arrives.
            4 | 7 => assert!(rate < 3.0, "second {second}: {rate}"),
            _ => assert!(rate < 0.1, "second {second}: {rate}"),
        }
    }
}

struct Counting(Arc<AtomicU64>);

impl Tap for Counting {
    fn frame(&mut self, _: Time, outgoing: bool, bytes: &[u8], _: u32) {
        // IPv4 and UDP after Ethernet's header.
        if outgoing && bytes[14] == 0x45 && bytes[23] == 17 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn its_packets_are_captured() {
    let seen = Arc::new(AtomicU64::new(0));
    let taps = Taps {
        points: vec![(TapPoint::Node(0), Box::new(Counting(Arc::clone(&seen))))],
        snap_len: 64,
    };
    let go_on = &mut |_| ControlFlow::Continue(());
    let result = WithStacks.run(&cell(QUIC), taps, go_on).expect("it runs");
    let sent = result.flows[0].1.sent_packets;
    // Before `warmup` too, which the figure leaves out.
    let seen = seen.load(Ordering::Relaxed);
    assert!(seen > sent && sent > 5000, "{seen} and {sent}");
}

#[test]
fn a_run_can_be_interrupted() {
    let stop = &mut |at: Time| {
        if at < Time::from_nanos(1_000_000_000) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let stopped = WithStacks.run(&cell(QUIC), Taps::default(), stop);
    assert!(matches!(stopped, Err(WorldError::Interrupted)));
}

#[test]
fn a_program_without_the_stack_says_how_to_get_it() {
    let go_on = &mut |_| ControlFlow::Continue(());
    let error = Sim.run(&cell(QUIC), Taps::default(), go_on).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("flow `quic` has the stack `quinn`"), "{told}");
    assert!(told.contains("--features quinn"), "{told}");
}

#[test]
fn ends_in_a_program_are_still_refused() {
    let outside = QUIC
        .replace("bulk", "outside")
        .replace("stack = \"quinn\"", "");
    let flows = format!("{QUIC}{}", outside.replace("\"quic\"", "\"mine\""));
    let go_on = &mut |_| ControlFlow::Continue(());
    let error = { WithStacks.run(&cell(&flows), Taps::default(), go_on) }.unwrap_err();
    assert!(
        error.to_string().contains("flow `mine` is of the kind"),
        "{error}"
    );
}
