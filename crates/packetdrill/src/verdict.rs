//! What becomes of a script.

use std::fmt;

/// What stops a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The TCP under test does something else than the script says.
    Ours {
        /// What the script says.
        expected: String,
        /// What came.
        got: String,
    },
    /// It needs something that is not there.
    NotModelled(String),
    /// It asks how the socket interface answers a program, and not how TCP behaves.
    SocketOnly(String),
}

sojourn_units::words! {
    /// What becomes of a script, by what stops it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Verdict {
        /// All happens as the script says.
        Passes = "passes",
        /// Our TCP does something else than the script says.
        Ours = "ours",
        /// It needs something of TCP, or of the system around it, that is not modelled.
        NotModelled = "not modelled",
        /// It asks for details of the socket interface, which a simulator does not have.
        SocketOnly = "socket only",
    }
}

/// What became of a script, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Line of the event that stops it; none if none does.
    pub line: Option<u32>,
    /// What stops it; empty if nothing does.
    pub why: String,
}

impl Outcome {
    /// Nothing stops the script.
    pub const fn passes() -> Self {
        Self {
            verdict: Verdict::Passes,
            line: None,
            why: String::new(),
        }
    }

    /// What stops the script, at this line of it.
    pub fn stopped(line: u32, stop: Stop) -> Self {
        let (verdict, why) = match stop {
            Stop::Ours { expected, got } => (
                Verdict::Ours,
                format!("expected {expected}\n     got {got}"),
            ),
            Stop::NotModelled(what) => (Verdict::NotModelled, what),
            Stop::SocketOnly(what) => (Verdict::SocketOnly, what),
        };
        Self {
            verdict,
            line: Some(line),
            why,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            None => formatter.write_str(self.verdict.word()),
            Some(line) => write!(
                formatter,
                "{}, line {line}: {}",
                self.verdict.word(),
                self.why
            ),
        }
    }
}
