//! A run and its copy go on as the run alone would have, whatever is in it.

mod common;

use common::{cbr, dumbbell, hop, mbit, ms, ping, run, tcp};
use proptest::prelude::*;
use sojourn_apps::{Bulk, Spec as AppSpec, Telemetry, Web};
use sojourn_qdisc::{Aqm, Limit, Qdisc, Setting, SingleQueue, Spec, catalogue};
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::{Instead, NoFork, Packet, Run, Setup};
use sojourn_tcp::{Algorithm, Config, CongestionControl, Reno};
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, Interface, RunResult};
use std::path::Path;

/// Every discipline, and what only an option brings.
fn disciplines() -> Vec<String> {
    let of_kind = |name: &str, example: &str| match (name.parse::<Spec>(), example) {
        (Err(_), example) if !example.is_empty() => example.to_owned(),
        _ => name.to_owned(),
    };
    let kinds = catalogue().iter();
    let mut all: Vec<_> = kinds.map(|kind| of_kind(kind.name, kind.example)).collect();
    let more = [
        "cake bandwidth 4mbit ack-filter nat",
        "cake_mq bandwidth 4mbit queues 4",
        "tbf rate 4mbit burst 10kb limit 30kb",
        "fq_codel isolation dual-srchost ack-filter",
    ];
    all.extend(more.map(str::to_owned));
    all.retain(|text| text.parse::<Spec>().is_ok());
    all
}

/// Streams, requests and datagrams both ways over this queue and a line that does all a line does.
fn cell(seed: u64, qdisc: &str, algorithm: Algorithm) -> Cell {
    let config = Config {
        algorithm,
        ..Config::default()
    };
    let mut up = hop("up", mbit(5.0));
    up.qdisc = qdisc.parse().expect("a test's own spec");
    up.line.loss = 0.003.into();
    up.line.duplicate = 0.003.into();
    up.line.jitter = ms(1);
    let down = hop("down", mbit(20.0));
    let device = Telemetry {
        size: 100,
        interval: ms(8),
    };
    let flows = vec![
        tcp("bulk", Bulk, ms(20), config),
        tcp("web", Web::default(), ms(30), config),
        tcp("device", device, ms(30), config),
        ping("probe", ms(10), ms(20)),
        cbr("call", 200, ms(10), ms(40)),
    ];
    let mut cell = dumbbell(up, down, ms(2500), flows);
    cell.network.access = Some(sojourn_units::Rate::from_bps(100_000_000));
    cell.link_header = 14;
    Cell { seed, ..cell }
}

/// All that a run has found.
fn all(result: &RunResult) -> String {
    format!("{result:?}")
}

fn at(span: Span) -> Time {
    Time::ZERO + span
}

/// Copies a run of the cell at this time. The copy goes on first and to its end.
fn check(cell: &Cell, when: Time, name: &str) {
    let whole = all(&run(cell));
    let mut original = Run::new(cell.clone()).expect("the cell can be run");
    original.forward(when).expect("few packets");
    let mut copy = original.fork().expect("all of a cell can be copied");
    copy.forward(Time::MAX).expect("few packets");
    assert!(
        all(&copy.finish()) == whole,
        "the copy of {name} at {when:?}"
    );
    original.forward(Time::MAX).expect("few packets");
    assert!(all(&original.finish()) == whole, "{name} after its copy");
}

#[test]
fn a_copy_goes_on_under_every_discipline() {
    let disciplines = disciplines();
    assert!(disciplines.len() > 20, "{disciplines:?}");
    for qdisc in &disciplines {
        check(&cell(1, qdisc, Algorithm::Cubic), at(ms(1200)), qdisc);
    }
}

#[test]
fn a_copy_goes_on_under_every_congestion_control() {
    for algorithm in Algorithm::ALL {
        let cell = cell(2, "fq_codel", algorithm);
        check(&cell, at(ms(900)), algorithm.name());
    }
}

#[test]
fn a_copy_goes_on_over_radios_traces_and_changes() {
    for name in [
        "radio/chain.toml",
        "basics/rate-drop.toml",
        "basics/trace.toml",
        "basics/parking-lot.toml",
        "basics/autorate.toml",
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let scenario = Scenario::load(&file.join(name), &Options::default());
        let mut cell = scenario.expect("a scenario of ours").cells.swap_remove(0);
        cell.duration = cell.duration.min(Span::from_secs(6));
        cell.warmup = Span::ZERO;
        check(&cell, at(Span::from_millis(2700)), name);
    }
}

/// Every application, with as few of its parameters as a scenario must say.
#[test]
fn a_copy_goes_on_with_every_application() {
    for kind in AppSpec::KINDS.iter().filter(|kind| !kind.is_outside) {
        let more = match kind.name {
            "file" => ", size = 300000",
            "cbr" => ", size = 200, interval = '9ms'",
            "onoff" => ", size = 500, rate = '1mbit', on = '300ms', off = '200ms'",
            "telemetry" => ", interval = '20ms'",
            "steps" => ", size = 500, rate = '1mbit', then = [{ at = '3s', factor = 3 }]",
            _ => "",
        };
        let text = format!(
            r#"
            format = "sojourn-scenario/1"
            name = "every-application"
            duration = "6s"
            [dumbbell]
            rtt = "40ms"
            qdisc = "fq_codel"
            up = {{ rate = "3mbit", loss = "0.5%" }}
            down = {{ rate = "3mbit", loss = "0.5%" }}
            [[flow]]
            name = "app"
            direction = "down"
            app = {{ kind = "{}"{more} }}
            [[flow]]
            name = "bulk"
            direction = "down"
            app = "bulk"
            "#,
            kind.name
        );
        let read = Scenario::parse(kind.name, &text, Path::new("."), &Options::default());
        let cell = read.expect("our own scenario").cells.swap_remove(0);
        for millis in [10, 2700, 5900] {
            check(&cell, at(ms(millis)), kind.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Copies of copies, at any time, in any pieces.
    #[test]
    fn a_copy_of_a_copy_goes_on(
        seed in 0_u64..1000,
        qdisc in prop::sample::select(disciplines()),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        times in prop::collection::vec(0_u64..2_600_000_000, 1..4),
    ) {
        let mut cell = cell(seed, &qdisc, algorithm);
        cell.duration = ms(2000);
        let whole = all(&run(&cell));
        let mut run = Run::new(cell).expect("the cell can be run");
        let mut copies = Vec::new();
        let mut times = times;
        times.sort_unstable();
        for time in times {
            run.forward(Time::from_nanos(time)).expect("few packets");
            copies.push(run);
            run = copies.last().expect("just put there").fork().expect("all can be copied");
            // The copy stands between two events that the other has not had.
            run.step().expect("few packets");
        }
        copies.push(run);
        for mut copy in copies {
            while copy.step().expect("few packets").is_some() {}
            prop_assert!(all(&copy.finish()) == whole);
        }
    }
}

/// An AQM of one's own that nobody has taught to fork.
struct Stubborn;

impl Aqm for Stubborn {
    type State = ();
    type Params = ();
}

/// What of a cell's is replaced.
struct Own {
    queue: bool,
    control: bool,
}

/// Reno that cannot be copied.
#[derive(Debug)]
struct Unique(Reno);

impl CongestionControl for Unique {
    sojourn_units::forward! { self.0;
        window(self: &Self) -> u32;
        ssthresh(self: &Self) -> u32;
        on_ack(self: &mut Self, ack: &sojourn_tcp::AckEvent);
        on_congestion(self: &mut Self, why: sojourn_tcp::Congestion, in_flight: u32, now: Time);
        on_undo(self: &mut Self);
        on_idle_restart(self: &mut Self, timeouts: u32, restart: u32);
        on_application_limited(self: &mut Self, used: u32);
    }
}

impl Instead for Own {
    fn queue(&mut self, at: &Interface, _: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let queue = || Box::new(SingleQueue::new(Limit::Packets(100), Stubborn)) as _;
        (self.queue && at.name == "down").then(queue)
    }

    fn control(&mut self, _: &Flow, config: &Config) -> Option<Box<dyn CongestionControl + Send>> {
        self.control
            .then(|| Box::new(Unique(Reno::new(config))) as _)
    }
}

#[test]
fn what_cannot_be_copied_is_named() {
    let fork = |queue, control| {
        let cell = cell(1, "pfifo", Algorithm::Cubic);
        let setup = Setup {
            own: Some(&mut Own { queue, control }),
            ..Setup::from(cell)
        };
        let run = Run::new(setup).expect("the cell can be run");
        run.fork().map(|_| ())
    };
    let interface = "down".to_owned();
    assert_eq!(fork(true, false), Err(NoFork::Queue { interface }));
    let flow = "bulk".to_owned();
    assert_eq!(fork(false, true), Err(NoFork::Control { flow }));
    assert_eq!(fork(false, false), Ok(()));
}
