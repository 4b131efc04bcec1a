//! Queues and congestion controls of one's own in the place of a cell's.

mod common;

use common::{dumbbell, hop, mbit, ms, ping, tcp};
use sojourn_apps::Bulk;
use sojourn_qdisc::{Qdisc, Setting, Spec};
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_tcp::{Algorithm, Config, CongestionControl, Reno};
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
    again.stop = Some(sojourn_units::Time::ZERO + ms(1500));
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
        .run_with(&cell(Algorithm::Cubic), goes_on, &mut own)
        .expect("the cell can be run");
    assert_eq!(ours.digest, plain(&cell(Algorithm::Reno)).digest);
    assert_ne!(ours.digest, plain(&cell(Algorithm::Cubic)).digest);
    // Both ends of one connection, and of three; none of the probe.
    let of = |name: &str| own.flows.iter().filter(|flow| *flow == name).count();
    assert_eq!((of("bulk"), of("again"), of("probe")), (2, 6, 0));
    assert_eq!(own.links, ["down", "up"]);
}

#[test]
fn nothing_instead_changes_nothing() {
    let goes_on = &mut |_| ControlFlow::Continue(());
    let run = Sim.run_with(&cell(Algorithm::Bbr), goes_on, &mut ());
    let run = run.expect("the cell can be run");
    assert_eq!(run.digest, plain(&cell(Algorithm::Bbr)).digest);
}
