//! Published studies: several scenarios, the claims that their results are held against, and the
//! page that shows what came out.
//!
//! [`Study::load`] reads a study. Its claims, charts and tables are data (`docs/claims.md`),
//! evaluated on the results and named by no code. [`Reproduced`] holds the results of each world
//! against the claims, and writes the folder. [`Property`] is the same language without a study.
//!
//! Not here: what a scenario is and how it is run (see `scenario`); which worlds there are (the
//! caller names them).
#![forbid(unsafe_code)]

mod another;
#[cfg(test)]
mod bounds;
mod builtin;
mod changes;
mod chart;
mod choice;
mod claims;
#[cfg(test)]
mod documents;
mod draw;
mod files;
mod format;
mod judge;
mod library;
mod mark;
mod page;
mod plan;
mod property;
mod read;
mod record;
mod reproduced;
mod set;
mod status;
mod study;
mod table;

pub use another::NoPlace;
pub use changes::Changes;
pub use choice::{Choice, Extent, Runs};
pub use claims::Unit;
pub use draw::{Chart, ChartKind, Dot, Line, Panel, Scaling, Stroke};
pub use files::{Files, Unreadable};
pub use format::schema;
pub use judge::{Checked, Judged, MarkShown, Verdict};
pub use library::Listed;
pub use mark::Cause;
pub use page::{Pages, STUDY};
pub use property::{Property, Tested};
pub use record::{CLAIMS, CLAIMS_FORMAT, Reproduction, reproduction};
pub use reproduced::Reproduced;
pub use set::NotSet;
pub use status::Status;
pub use study::{Claim, NoClaim, Outcomes, Provenance, Setting, Study};
pub use table::Table;
