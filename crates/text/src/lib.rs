//! Files that people write: read whole, checked whole, every problem with its place, its field and
//! what would be right.
//!
//! A text becomes a [`tree`] in which every value knows where it was written; [`read`] makes typed
//! tables of it (declared by [`table!`] and [`words!`]), with [`quantity`]'s units, and collects
//! [`Problems`]. A [`Resolver`] says what is wrong with what the tables mean. [`hop`] is what
//! scenarios and a bridge's file have in common: a link with its queue. [`mod@reference`] makes a
//! format's JSON Schema and the tables of its document from the same declarations.
//!
//! Not here: what a scenario is (see `scenario`), and what a bridge's file is (see `service`).
#![forbid(unsafe_code)]

mod autorate;
mod files;
pub mod hop;
mod missing;
pub mod problem;
pub mod quantity;
pub mod queue;
pub mod read;
pub mod reference;
mod resolver;
mod text;
mod trace;
mod traps;
pub mod tree;
mod write;

pub use files::{BadTrace, Files, Once, load_trace, named_text};
pub use missing::explained;
pub use problem::{Location, Problem, Problems, Warnings};
pub use quantity::group;
pub use resolver::Resolver;
pub use text::{Unreadable, read_any_text, read_text};
pub use trace::TraceError;
