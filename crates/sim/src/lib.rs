//! The simulated world: virtual time, model hosts, the real queue code.
//!
//! One event loop runs one cell on one thread; cells are spread over cores by the caller.
//! What makes it fast: one pending event per transmitter and per pipe (packets in flight sit in
//! the pipe's ring, in order), one lazily re-armed timer per endpoint, packets of one cache
//! line that move by value, and no event at all for an idle transmitter.
//!
//! # Determinism
//! Events are ordered by time, then by the order in which they were scheduled. Every component
//! that rolls dice has a named stream. Nothing iterates over a randomly keyed container. Each run
//! folds all its events into [`RunResult::digest`](sojourn_world::RunResult::digest).
//!
//! Not here: any clock, thread, file or operating system.
#![forbid(unsafe_code)]

mod access;
mod arrivals;
mod autorate;
mod build;
mod calendar;
mod change;
mod dot11;
mod engine;
mod error;
mod forwarding;
mod host;
mod instead;
mod interface;
mod label;
mod layout;
mod look;
mod medium;
mod mesh;
mod net;
mod outside;
mod packet;
mod passage;
mod pipe;
mod radio;
mod run;
mod tap;
mod wire;

pub use error::{NoFork, Unfit};
pub use instead::Instead;
pub use look::{Alter, Look};
pub use outside::{Arrival, Datagram, End};
pub use packet::Packet;
pub use run::{Run, Setup, Turn};

use sojourn_world::{Cell, Progress, RunResult, Stack, Taps, World, WorldError, WorldName};

/// The simulated world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl Sim {
    /// What it is called.
    pub const NAME: WorldName = engine::WORLD;

    /// Runs a cell as [`World::run`] does, with queues and congestion controls of one's own in the
    /// place of the cell's. `examples/own_aqm.rs` shows it.
    ///
    /// # Errors
    /// When the cell cannot be run.
    pub fn run_with(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
        own: &mut dyn Instead,
    ) -> Result<RunResult, WorldError> {
        let mut engine = whole(cell, own)?;
        if !taps.is_empty() {
            engine.net.passage.tapped = Some(Box::new(tap::Tapped::new(cell, taps)));
        }
        engine.run(progress).map_err(|stop| stop.told(cell))?;
        Ok(engine.finish(cell))
    }
}

/// The engine of a cell whose run is left to itself, so that no flow may be from outside.
fn whole(cell: &Cell, own: &mut dyn Instead) -> Result<engine::Engine, WorldError> {
    if let Some(flow) = build::outside(cell) {
        let (stack, flow) = (flow.stack.map(Stack::name), flow.name.clone());
        return Err(WorldError::unfit(match stack {
            Some(stack) => Unfit::Stack { flow, stack },
            None => Unfit::Outside { flow },
        }));
    }
    build::engine(cell, own).map_err(WorldError::unfit)
}

impl World for Sim {
    fn name(&self) -> WorldName {
        Self::NAME
    }

    /// The processor and wall time in [`sojourn_world::Cost`] are left zero: the caller has a
    /// clock, the simulator has none.
    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        self.run_with(cell, taps, progress, &mut ())
    }
}
