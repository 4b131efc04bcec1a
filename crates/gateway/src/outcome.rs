//! How a command ends: its exit status, and what it says.

use crate::name::say;
use anyhow::Context as _;
use sojourn_text::Problems;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// Something failed while running.
pub const FAILED: u8 = 1;
/// The input was wrong.
pub const WRONG_INPUT: u8 = 2;
/// Stopped by Ctrl-C, as shells count it.
pub const INTERRUPTED: u8 = 130;

/// Tells people what is wrong with a file.
pub(crate) fn refuse(problems: &Problems) -> u8 {
    eprint!("{problems}");
    match problems.len() {
        1 => eprintln!("1 problem; nothing was done"),
        n => eprintln!("{n} problems; nothing was done"),
    }
    WRONG_INPUT
}

/// Prints to standard output; a closed pipe is an ordinary end, see [`exit`].
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// What was asked for cannot be done; a sentence. Nothing has been run or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongInput(pub String);

impl WrongInput {
    /// From an error, with its reasons.
    pub fn from(error: impl Into<anyhow::Error>) -> Self {
        Self(format!("{:#}", error.into()))
    }
}

/// How a program ends with this result; an error is told.
pub fn exit(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let closed = |cause: &(dyn std::error::Error + 'static)| {
                let io = cause.downcast_ref::<std::io::Error>();
                io.is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
            };
            // `sojourn check FILE | head` has shown what was wanted.
            if error.chain().any(closed) {
                return ExitCode::SUCCESS;
            }
            if let Some(problems) = error.downcast_ref() {
                return ExitCode::from(refuse(problems));
            }
            say(format_args!("{error:#}"));
            let wrong = error.is::<WrongInput>();
            ExitCode::from(if wrong { WRONG_INPUT } else { FAILED })
        }
    }
}
