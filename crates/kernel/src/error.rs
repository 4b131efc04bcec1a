//! What goes wrong with guests, for their users.

use std::io;
use std::path::PathBuf;

use sojourn_report::ReportError;
use sojourn_world::WorldError;

use crate::recipe::{MODULE, Wanted};

/// Why a kernel could not be built, or a guest not be run.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// There is no place for kernels.
    #[error(
        "neither XDG_CACHE_HOME nor HOME names a folder (an absolute path): there is no place \
         for the guest's kernel"
    )]
    NoCache,
    /// No kernel there.
    #[error(
        "there is no {wanted} in {}: `{}` builds one (about 3 minutes on two cores, no root \
         needed){}",
        dir.display(),
        wanted.command(),
        wanted.before_it()
    )]
    NotBuilt {
        /// What was asked for.
        wanted: Wanted,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// No module there.
    #[error(
        "cannot read {}: {source}; `make module` in the project's source makes the module's \
         folder, {}",
        file.display(),
        MODULE
    )]
    NoModule {
        /// What was looked for.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// No congestion control there.
    #[error("{} is no congestion control for a guest: {reason}", file.display())]
    NoControl {
        /// What was looked at.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// No kernel has the congestion control of a scenario.
    #[error(
        "a flow has the congestion control `own`, and no {kernel} in {} has one: `sojourn kernel \
         build{} --control FILE.c` compiles it in (about 3 minutes on two cores)",
        dir.display(),
        kernel.choice()
    )]
    NoOwnControl {
        /// The kernel that runs.
        kernel: Wanted,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// Programs or files that a build takes are missing.
    #[error(
        "building a kernel takes {}; on Debian, as root: apt-get install {packages}",
        things.join(", ")
    )]
    Tools {
        /// What is missing.
        things: Vec<&'static str>,
        /// Debian's packages that have it.
        packages: String,
    },
    /// Too little room on the disk.
    #[error("{} has {free_mib} MiB free; building a kernel takes {needed_mib} MiB", dir.display())]
    Room {
        /// The folder of the build.
        dir: PathBuf,
        /// What is free there.
        free_mib: u64,
        /// What is needed.
        needed_mib: u64,
    },
    /// A step of the build failed.
    #[error("cannot {step}: {reason}")]
    Step {
        /// What was to be done, as "unpack the source".
        step: &'static str,
        /// What went wrong.
        reason: String,
    },
    /// The operating system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was to be done.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// The guest ended without a result.
    #[error("the guest ended without a result ({how}){}", tail(console))]
    Ended {
        /// How it ended.
        how: String,
        /// The last lines of its console.
        console: String,
    },
    /// A cell that cannot be handed to a guest.
    #[error("the kernel world runs cells as a scenario file has them, and this one was changed")]
    NoSource,
    /// The two sides of a guest do not understand each other.
    #[error("the guest's files are not this program's: was the program replaced while it ran?")]
    Task,
    /// The scenario cannot be read in the guest.
    #[error("the guest cannot read the scenario: {0}")]
    Scenario(String),
    /// The live runner in the guest has failed.
    #[error(transparent)]
    Run(#[from] WorldError),
    /// The files of a result could not be written or read.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

impl KernelError {
    /// An error of the operating system in doing `what`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

fn tail(console: &str) -> String {
    if console.is_empty() {
        return String::new();
    }
    format!("; the last lines of its console:\n{console}")
}
