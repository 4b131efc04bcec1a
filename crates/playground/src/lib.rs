//! The simulator for a page in a browser.
//!
//! A [`Session`] answers requests: what there is to choose from, what a scenario says or what is
//! wrong with it, and a run that goes forward piece by piece. Requests and answers are JSON
//! (`docs/playground.md` has them), so that four functions carry everything between the page and
//! the module (`exports.rs`). The page itself, which runs this in a worker, stands in `page/`.
//!
//! Not here: what a scenario means and how it is run; `scenario` and `sim` are the same as in the
//! program, and so are the digests.

mod catalogue;
mod exports;
mod picture;
mod session;

pub use session::Session;
