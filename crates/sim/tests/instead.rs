//! Queues and congestion controls of one's own in the place of a cell's.

mod common;

use common::{dumbbell, hop, mbit, ms, ping, tcp};
use sojourn_apps::Bulk;
use sojourn_qdisc::{Qdisc, Setting, Spec};
use sojourn_sim::{Instead, Packet, Run, Setup, Sim};
use sojourn_tcp::{Algorithm, Config, CongestionControl, Reno};
use sojourn_units::Time;
use sojourn_world::{Cell, Flow, Interface, RunResult, Taps, World as _};
use std::ops::ControlFlow;

/// Reno wherever a control is asked for, and who asked.
#[derive(Default)]
struct EverywhereReno {
    flows: Vec<String>,
    links: Vec<String>,
}

impl Instead for EverywhereReno {
    fn queue(&mut self, at: &Interface, _: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        self.links.push(at.name.clone());
        None
    }

    fn control(
        &mut self,
        flow: &Flow,
        config: &Config,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        self.flows.push(flow.name.clone());
        Some(Box::new(Reno::new(config)))
    }
}

/// Two flows, one of which begins anew every two seconds, beside a probe.
fn cell(algorithm: Algorithm) -> Cell {
    let config = Config {
        algorithm,
        ..Config::default()
    };
    let mut down = hop("down", mbit(10.0));
    down.qdisc = Spec::pfifo(50);
    let mut again = tcp("again", Bulk, ms(30), config);
    again.every = Some(ms(2000));
    again.stop = Some(Time::ZERO + ms(1500));
    let flows = vec![
        tcp("bulk", Bulk, ms(40), config),
        again,
        ping("probe", ms(50), ms(40)),
    ];
    dumbbell(down, hop("up", mbit(10.0)), ms(6000), flows)
}

fn plain(cell: &Cell) -> RunResult {
    let run = Sim.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    run.expect("the cell can be run")
}

#[test]
fn a_control_of_ones_own_decides_as_the_built_in_one() {
    let mut own = EverywhereReno::default();
    let goes_on = &mut |_| ControlFlow::Continue(());
    let ours = Sim
        .run_with(&cell(Algorithm::Cubic), Taps::default(), goes_on, &mut own)
        .expect("the cell can be run");
    assert_eq!(ours.digest, plain(&cell(Algorithm::Reno)).digest);
    assert_ne!(ours.digest, plain(&cell(Algorithm::Cubic)).digest);
    // Both ends of one connection, and of three; none of the probe.
    let of = |name: &str| own.flows.iter().filter(|flow| *flow == name).count();
    assert_eq!((of("bulk"), of("again"), of("probe")), (2, 6, 0));
    assert_eq!(own.links, ["down", "up"]);
}

/// A control that a program sets.
#[derive(Clone, Debug)]
struct Set(u32);

impl CongestionControl for Set {
    fn window(&self) -> u32 {
        self.0
    }

    fn ssthresh(&self) -> u32 {
        sojourn_tcp::INFINITE
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn on_ack(&mut self, _: &sojourn_tcp::AckEvent) {}
    fn on_congestion(&mut self, _: sojourn_tcp::Congestion, _: u32, _: Time) {}
    fn on_undo(&mut self) {}
    fn on_idle_restart(&mut self, _: u32, _: u32) {}
    fn on_application_limited(&mut self, _: u32) {}
}

/// That control for the flow `bulk`, and the names of queues that something could stand around.
struct SetBulk(Vec<String>);

impl Instead for SetBulk {
    fn around(&mut self, at: &Interface, queue: Box<dyn Qdisc<Packet>>) -> Box<dyn Qdisc<Packet>> {
        self.0
            .push(format!("{} {}", at.name, queue.report(Time::ZERO).kind));
        queue
    }

    fn control(&mut self, flow: &Flow, _: &Config) -> Option<Box<dyn CongestionControl + Send>> {
        (flow.name == "bulk").then(|| Box::new(Set(2)) as _)
    }
}

#[test]
fn a_control_is_changed_between_two_steps() {
    let mut own = SetBulk(Vec::new());
    let setup = Setup {
        own: Some(&mut own),
        ..Setup::from(cell(Algorithm::Cubic))
    };
    let mut run = Run::new(setup).expect("the cell can be run");
    assert_eq!(own.0, ["down pfifo", "up pfifo"]);
    let at = |millis| Time::ZERO + ms(millis);
    run.forward(at(1000)).expect("few packets");
    let in_flight = |run: &Run| {
        let mut connections = run.look().connections("bulk");
        connections.next().expect("it has one").info().in_flight
    };
    assert_eq!(in_flight(&run), 2);
    let ends = run
        .change()
        .controls("bulk", |control: &mut Set| control.0 = 9);
    assert_eq!(ends, 2, "at both ends");
    assert_eq!(in_flight(&run), 9, "without an ACK");
    let windows: Vec<_> = { run.look().controls::<Set>("bulk") }
        .map(Set::window)
        .collect();
    assert_eq!(windows, [9, 9]);
    assert_eq!(run.look().controls::<Set>("again").count(), 0);
    assert_eq!(run.change().controls("bulk", |_: &mut Reno| ()), 0);
    assert_eq!(run.change().controls("none", |_: &mut Set| ()), 0);
    let queue = run.change().queue("down").expect("there is such a link");
    queue
        .change(&Spec::pfifo(3), at(1000))
        .expect("of its kind");
    run.forward(at(2000)).expect("few packets");
    let queue = run.look().queue("down").expect("the same");
    assert!(queue.backlog().packets <= 3);
    assert!(run.look().queue("nowhere").is_none());
    assert!(run.change().queue("nowhere").is_none());
}

#[test]
fn nothing_instead_changes_nothing() {
    let goes_on = &mut |_| ControlFlow::Continue(());
    let run = Sim
        .run_with(&cell(Algorithm::Bbr), Taps::default(), goes_on, &mut ())
        .expect("the cell can be run");
    assert_eq!(run.digest, plain(&cell(Algorithm::Bbr)).digest);
}
