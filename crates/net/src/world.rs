//! The simulated world with flows whose scenario names a stack (`stack = "quinn"`).

use crate::quinn::Quic;
use crate::{Cell, End, Net, NetError, RunResult, Setup, Span, Time};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use sojourn_sim::{Sim, Unfit};
use sojourn_world::{Flow, Progress, Stack, StackControl, Taps, World, WorldError, WorldName};
use std::sync::Arc;

/// Simulated time between two reports of progress.
const SLICE: Span = Span::from_millis(10);

/// The simulated world, with the stacks of other projects that are features of this crate. Cells
/// without such flows run as in [`Sim`].
#[derive(Clone, Copy, Debug, Default)]
pub struct WithStacks;

impl World for WithStacks {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        if cell.flows.iter().all(|flow| flow.stack.is_none()) {
            return Sim.run(cell, taps, progress);
        }
        let is_alone = |flow: &&Flow| flow.stack.is_none() && flow.is_outside();
        if let Some(flow) = cell.flows.iter().find(is_alone) {
            let flow = flow.name.clone();
            return Err(WorldError::unfit(Unfit::Outside { flow }));
        }
        let setup = Setup {
            taps,
            ..Setup::from(cell.clone())
        };
        let mut net = Net::try_from(setup).map_err(unfit)?;
        let mut stops = attach(&mut net, cell).map_err(unfit)?;
        let mut at = Time::ZERO;
        while net.look().now() >= at {
            let stop = stops.last().map_or(Time::MAX, |&(stop, _)| stop);
            at = (at + SLICE).min(stop);
            net.run_until(at).map_err(unfit)?;
            while let Some((_, end)) = stops.pop_if(|(stop, _)| *stop <= at) {
                net.stack(end).stop();
            }
            if progress(at.min(cell.end())).is_break() {
                return Err(WorldError::Interrupted);
            }
        }
        Ok(net.finish())
    }
}

fn unfit(error: NetError) -> WorldError {
    match error {
        NetError::World(error) => error,
        other => WorldError::unfit(other),
    }
}

/// Gives quinn one of its own congestion controls.
fn begin(config: &mut TransportConfig, control: StackControl) {
    match control {
        StackControl::Cubic => {
            config.congestion_controller_factory(Arc::new(CubicConfig::default()));
        }
        StackControl::Reno => {
            config.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
        }
        StackControl::Bbr => {
            config.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
    }
}

/// Puts stacks at the ends of all flows that name one. Returns when which of them must stop, the
/// first last.
fn attach(net: &mut Net<Quic>, cell: &Cell) -> Result<Vec<(Time, End)>, NetError> {
    let mut stops = Vec::new();
    for flow in &cell.flows {
        let Some(Stack::Quinn(control)) = flow.stack else {
            continue;
        };
        for instance in flow.instances(cell.end()) {
            let pair = Quic::pair(|config| begin(config, control));
            let [sender, _] = net.attach(&flow.name, pair)?;
            stops.extend(instance.stop.map(|stop| (stop, sender)));
        }
    }
    stops.sort_by(|a, b| b.cmp(a));
    Ok(stops)
}
