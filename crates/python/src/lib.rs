//! The native half of the Python package `sojourn`: what Python cannot do itself.
//!
//! It converts arguments and results, lets go of Python while runs are on, and shares tables
//! without a copy (Arrow's `PyCapsule` interface). What users see stands in `sojourn/` beside it,
//! as Python with types.
//!
//! Not here: anything about queues, scenarios or figures; the crates below say it.
#![forbid(unsafe_code)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "pyo3 makes arguments and hands them over"
)]

mod agents;
mod aqm;
mod control;
mod error;
mod evaluate;
mod fit;
mod plugin;
mod prototype;
mod reproduce;
mod results;
mod run;
mod scenario;
mod table;

use pyo3::prelude::*;

/// `sojourn._native`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::agents::Agents;
    #[pymodule_export]
    use crate::evaluate::evaluate;
    #[pymodule_export]
    use crate::fit::{Line, fit};
    #[pymodule_export]
    use crate::plugin::Plugin;
    #[pymodule_export]
    use crate::reproduce::{Reproduced, reproduce, studies};
    #[pymodule_export]
    use crate::results::{Results, load};
    #[pymodule_export]
    use crate::run::{run, run_packed};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::table::Table;

    /// Version and commit that the extension is built from.
    #[pymodule_export]
    const VERSION: &str = sojourn_version::VERSION;
}
