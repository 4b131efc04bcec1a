//! A run that is taken forward piece by piece, for those who look on while it goes.
//!
//! The pieces change nothing: events, result and digest are those of [`Sim`](crate::Sim).

use crate::build;
use crate::engine::Engine;
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, WorldError};

/// A run in the middle.
pub struct Run {
    engine: Engine,
    cell: Cell,
}

impl Run {
    /// The run of a cell, before its first event.
    ///
    /// # Errors
    /// When the simulator cannot run the cell.
    pub fn new(cell: Cell) -> Result<Self, WorldError> {
        let mut engine = build::engine(&cell, &mut ()).map_err(WorldError::unfit)?;
        engine.start();
        Ok(Self { engine, cell })
    }

    /// Lets everything happen that happens until `until`, and says whether there is more.
    ///
    /// # Errors
    /// When the cell turns out to be none that the simulator can run to its end.
    pub fn forward(&mut self, until: Time) -> Result<bool, WorldError> {
        let forward = self.engine.forward(until);
        forward.map_err(|stop| stop.told(&self.cell))
    }

    /// The result as if nothing more happened. Its series are long enough for the whole run: what
    /// they say of the time to come has no meaning.
    pub fn so_far(&self) -> RunResult {
        self.engine.so_far(&self.cell)
    }

    /// The result, once [`Run::forward`] has nothing more to do.
    pub fn finish(mut self) -> RunResult {
        self.engine.end();
        self.engine.finish(&self.cell)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
