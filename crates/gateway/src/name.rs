//! The name of the running program, with which its messages begin.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::OnceLock;

static NAME: OnceLock<&str> = OnceLock::new();

/// The program's name, which is `sojourn` until another is given.
pub(crate) fn name() -> &'static str {
    NAME.get().copied().unwrap_or("sojourn")
}

/// Gives the program a name. The first call counts.
pub fn set_name(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// A line for standard error, with its end.
pub(crate) fn line(message: impl Display) -> String {
    format!("{}: {message}\n", name())
}

/// Writes a line to standard error, whose reader may be gone.
pub(crate) fn say(message: impl Display) {
    let _ = std::io::stderr().write_all(line(message).as_bytes());
}
