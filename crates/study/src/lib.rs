//! Published studies: several scenarios, and the claims that their results are held against.
//!
//! [`Published`] reads a study; its claims are data too (`docs/claims.md`), evaluated on the
//! results of a world and named by no code.
//!
//! Not here: what a scenario is and how it is run (see `scenario`).
#![forbid(unsafe_code)]

mod claims;
mod published;

pub use claims::Unit;
pub use published::{
    Chart, ChartKind, Checked, Claim, Dot, Files, Grid, Judgement, Line, Listed, Log, Panel,
    Provenance, Published, Results, Setting, Source, Status, WorldName,
};
