//! Pictures in real time (`realtime`) whose rate follows marks, beside TCP on a home line.

mod common;

use common::{dumbbell, flow_of, hop, link, mbit, ms, run, tcp};
use sojourn_apps::{Bulk, Game, Metric, Realtime, Spec};
use sojourn_qdisc::Ecn;
use sojourn_tcp::Algorithm::{Cubic, Prague};
use sojourn_tcp::{Algorithm, Config};
use sojourn_units::Rate;
use sojourn_world::{Amount, Distribution, Flow, RunResult, Transport};

fn datagrams(name: &str, app: impl Into<Spec>, ecn: Ecn) -> Flow {
    Flow {
        ecn,
        base_rtt: ms(30),
        ..Flow::new(name, Transport::Udp, app)
    }
}

/// A call of up to so many Mbit/s and a game beside an upload of this control, on 20 Mbit/s.
fn home(queue: &str, ecn: Ecn, most: u64, algorithm: Algorithm) -> RunResult {
    let mut up = hop("up", mbit(20.0));
    up.qdisc = queue.parse().expect("a test's own queue");
    let config = Config {
        algorithm,
        ..Config::default()
    };
    let call = Realtime {
        max: Rate::from_bps(most * 1_000_000),
        ..Realtime::default()
    };
    let flows = vec![
        datagrams("call", call, ecn),
        datagrams("game", Game::default(), ecn),
        tcp("upload", Bulk, ms(30), config),
    ];
    let mut cell = dumbbell(up, hop("down", mbit(100.0)), ms(60_000), flows);
    cell.warmup = ms(20_000);
    run(&cell)
}

fn amount(result: &RunResult, flow: &str, metric: Metric) -> Amount {
    let mut measured = flow_of(result, flow).measured.iter();
    let found = measured.find(|measured| measured.metric == metric);
    found.expect("the app measures it").amount.clone()
}

fn spread(result: &RunResult, flow: &str, metric: Metric) -> Distribution {
    match amount(result, flow, metric) {
        Amount::Spread(spread) => spread,
        Amount::Sum(_) => panic!("{metric:?} is a sum"),
    }
}

fn lost_frames(result: &RunResult) -> f64 {
    match amount(result, "call", Metric::LostFrames) {
        Amount::Sum(sum) => sum,
        Amount::Spread(_) => panic!("frames are counted"),
    }
}

fn mbit_of(result: &RunResult, flow: &str) -> f64 {
    flow_of(result, flow).goodput.as_bps() as f64 / 1e6
}

/// Behind DualPI2 a call with ECT(1) keeps its rate, its frames arrive without delay and whole, and
/// so do the game's commands. As classic traffic both wait for the C queue's target, and frames are
/// lost. The upload has as much as before. A frame's datagrams are sent within 20 ms, and the way
/// takes 15.
#[test]
fn l4s_takes_the_delay_from_a_call_and_from_a_game() {
    let [low, classic] = [Ecn::Ect1, Ecn::NotEct].map(|ecn| home("dualpi2", ecn, 8, Cubic));
    let frames = |result| spread(result, "call", Metric::FrameMs);
    assert!(frames(&low).p99 < 36.5, "{:?}", frames(&low));
    assert!(frames(&classic).p50 > 45.0, "{:?}", frames(&classic));
    assert!(lost_frames(&low) <= 0.0 && lost_frames(&classic) > 5.0);
    let lag = |result| spread(result, "game", Metric::LagMs);
    // The server answers every 20 ms.
    assert!(lag(&low).p99 < 36.0 && lag(&classic).p50 > 54.0);
    assert!(mbit_of(&low, "call") > 7.5 && mbit_of(&classic, "call") > 7.0);
    let [beside_low, beside_classic] = [&low, &classic].map(|result| mbit_of(result, "upload"));
    assert!((beside_low / beside_classic - 1.0).abs() < 0.1);
    let up = link(&low, "up");
    assert!(up.l_sojourn.p99 < 2.0 && up.utilisation.expect("a fixed rate") > 0.98);
}

/// A call that could use the whole link shares it with a CUBIC, which is in the C queue, and with a
/// Prague over TCP, which has the same rules, within a factor of 1.5.
#[test]
fn a_call_without_bounds_shares() {
    for algorithm in [Cubic, Prague] {
        let result = home("dualpi2", Ecn::Ect1, 20, algorithm);
        let ratio = mbit_of(&result, "call") / mbit_of(&result, "upload");
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{algorithm:?}: {ratio}");
        assert!(lost_frames(&result) <= 0.0);
        assert!(flow_of(&result, "call").ce_ratio.expect("it has ECN") > 0.03);
    }
}

/// A FIFO marks nothing: the call follows its losses, and waits in the full queue.
#[test]
fn a_fifo_delays_a_call_as_it_does_all() {
    let result = home("pfifo limit 200", Ecn::Ect1, 8, Cubic);
    let frames = spread(&result, "call", Metric::FrameMs);
    assert!(frames.p50 > 100.0, "{frames:?}");
    assert!(lost_frames(&result) > 0.0 && mbit_of(&result, "call") < 7.0);
}
