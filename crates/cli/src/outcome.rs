//! How a command ends: its exit status, and what it says.

use anyhow::Context as _;
use sojourn_scenario::Problems;
use std::io::Write as _;

/// Something failed while running.
pub(crate) const FAILED: u8 = 1;
/// The input was wrong.
pub(crate) const WRONG_INPUT: u8 = 2;
/// Stopped by Ctrl-C, as shells count it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Tells people what is wrong with a file.
pub(crate) fn refuse(problems: &Problems) -> u8 {
    eprint!("{problems}");
    match problems.len() {
        1 => eprintln!("1 problem; nothing was done"),
        n => eprintln!("{n} problems; nothing was done"),
    }
    WRONG_INPUT
}

/// Prints to standard output; a closed pipe is an ordinary end, see `main`.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// What was asked for cannot be done; a sentence. Nothing has been run or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongInput(pub(crate) String);

impl WrongInput {
    /// From an error, with its reasons.
    pub(crate) fn from(error: impl Into<anyhow::Error>) -> Self {
        Self(format!("{:#}", error.into()))
    }
}
