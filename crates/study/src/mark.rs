//! Marks of known deviations: what each is put down to, where it holds, how far it may go, and what
//! an independent reference says.

use crate::claims::Check;
use crate::status::Status;
use sojourn_world::WorldName;

/// A known deviation of a check.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// What it is put down to.
    pub(crate) cause: Cause,
    /// Why the check is known to fail, in a sentence.
    pub(crate) why: String,
    /// The worlds that it holds for; empty: all.
    pub(crate) worlds: Vec<WorldName>,
    /// How far the deviation may go: outside of it the verdict is worse than recorded. It comes
    /// from the reference; where nobody else has measured, there may be none.
    pub(crate) within: Option<Check>,
    /// That as it was written.
    pub(crate) bound: Option<String>,
    /// What a reference gives, in a sentence. Never none when the cause is the reference.
    pub(crate) reference: Option<String>,
}

impl Mark {
    /// One from a study that an older program kept beside results: open, without a bound.
    pub(crate) const fn without_verdict(why: String) -> Self {
        Self {
            cause: Cause::Open,
            why,
            worlds: Vec::new(),
            within: None,
            bound: None,
            reference: None,
        }
    }

    /// Whether it holds for a world.
    pub(crate) fn applies(&self, world: &WorldName) -> bool {
        self.worlds.is_empty() || self.worlds.contains(world)
    }
}

sojourn_units::words! {
    /// What a deviation is put down to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cause {
        /// The study: an independent reference (ns-2, the kernel, arithmetic) agrees with us.
        Reference = "reference",
        /// Nothing yet: nobody has shown which side is right.
        Open = "open",
        /// Our model: a reference agrees with the study, or the fault is known.
        Model = "model",
    }
}

impl Cause {
    /// The verdict of a check that deviates for it.
    pub const fn status(self) -> Status {
        match self {
            Self::Reference => Status::Reference,
            Self::Open => Status::Open,
            Self::Model => Status::Model,
        }
    }
}
