//! What goes wrong with a network, or with a stack.

use sojourn_sim::NoFork;
use sojourn_units::Time;
use sojourn_world::WorldError;
use std::fmt;

/// What is wrong with a network, or with a stack.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetError {
    /// The scenario cannot be read. The text says what is wrong, and where.
    Scenario(String),
    /// The simulator cannot run it.
    World(WorldError),
    /// No such flow has its ends in the program.
    NoFlow {
        /// The flow.
        flow: String,
        /// Those that have.
        known: Vec<String>,
    },
    /// All ends of a flow have stacks.
    Taken {
        /// The flow.
        flow: String,
        /// How many pairs of ends it has.
        instances: usize,
    },
    /// A stack asks for a turn at a time that has come, again and again.
    StandsStill {
        /// Which.
        stack: String,
        /// The time.
        at: Time,
    },
    /// A part of the network cannot be copied.
    NoFork(NoFork),
    /// A stack cannot be copied.
    StackNoFork {
        /// Which.
        stack: String,
    },
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(text) => f.write_str(text),
            Self::World(error) => error.fmt(f),
            Self::NoFlow { flow, known } if known.is_empty() => write!(
                f,
                "no flow `{flow}` with `app = \"outside\"`; the scenario has no such flow at all"
            ),
            Self::NoFlow { flow, known } => write!(
                f,
                "no flow `{flow}` with `app = \"outside\"`; there is `{}`",
                known.join("`, `")
            ),
            Self::Taken { flow, instances } => {
                write!(
                    f,
                    "all {instances} instances of the flow `{flow}` have stacks"
                )
            }
            Self::StandsStill { stack, at } => write!(
                f,
                "{stack} asks for its turn again and again at {:.6} s: after `timeout`, \
                 `next_timeout` must be later",
                at.as_secs_f64()
            ),
            Self::NoFork(error) => error.fmt(f),
            Self::StackNoFork { stack } => {
                write!(f, "{stack} cannot be copied: it lacks `fork`")
            }
        }
    }
}

impl std::error::Error for NetError {}

impl From<WorldError> for NetError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

impl From<NoFork> for NetError {
    fn from(error: NoFork) -> Self {
        Self::NoFork(error)
    }
}
