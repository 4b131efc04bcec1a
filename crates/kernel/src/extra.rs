//! What can be compiled into a guest's kernel beside what all have.

use std::path::Path;

use crate::KernelError;
use crate::control::{self, Control};
use crate::module::{self, Module};
use crate::recipe::Edit;

sojourn_units::words! {
    /// The kinds of it, as they stand in names of files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ExtraKind {
        /// Our queues.
        Module = "module",
        /// A congestion control of one's own.
        Control = "control",
    }
}

/// One of them. It makes a kernel of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Our queues.
    Module(Module),
    /// A congestion control of one's own.
    Control(Control),
}

impl Extra {
    pub(crate) const fn kind(&self) -> ExtraKind {
        match self {
            Self::Module(_) => ExtraKind::Module,
            Self::Control(_) => ExtraKind::Control,
        }
    }

    /// A number that changes with its files, in 8 hexadecimal digits.
    pub(crate) fn number(&self) -> String {
        match self {
            Self::Module(module) => module.number(),
            Self::Control(control) => control.number(),
        }
    }

    /// Puts its files into a source tree.
    pub(crate) fn put(&self, tree: &Path) -> Result<(), KernelError> {
        match self {
            Self::Module(module) => module.put(tree),
            Self::Control(control) => control.put(tree),
        }
    }

    /// Has the tree compile them, after the changes that all kernels have.
    pub(crate) const fn edit(&self) -> Edit {
        match self {
            Self::Module(_) => module::EDIT,
            Self::Control(_) => control::EDIT,
        }
    }
}
