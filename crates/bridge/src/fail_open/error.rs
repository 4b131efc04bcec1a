//! Why a bridge cannot fail open.

use std::io;
use thiserror::Error;

/// Names of our bridges begin so. Those that a killed process left behind are known by more, see
/// [`OwnBridge`].
pub(super) const NAME: &str = "sojourn";
/// Most bridges of ours in one namespace.
pub(super) const MOST: u32 = 1000;

/// Why there can be no way round.
#[derive(Debug, Error)]
pub enum FailOpenError {
    /// The interface, or a bridge over it, is one of the host's own.
    #[error("`{0}` has an IP address, which would be cut off")]
    Address(String),
    /// Something that the kernel must have.
    #[error("this kernel has no {0}")]
    Kernel(&'static str),
    /// It takes rights to find out.
    #[error("it needs root, or CAP_NET_ADMIN and CAP_BPF, to attach BPF programs")]
    Unknown,
    /// The interfaces are ports of something else.
    #[error("both interfaces belong to `{0}`, which is not a bridge")]
    OtherMaster(String),
    /// One interface is a port of a bridge to which the other one does not belong.
    #[error("`{0}` and `{1}` do not belong to the same bridge, but one of them belongs to some")]
    TwoMasters(String, String),
    /// Rules of netfilter see what the kernel bridge forwards.
    #[error("{0}")]
    Filtered(String),
    /// No name is left for the bridge.
    #[error("there are {MOST} bridges named {NAME} already")]
    TooMany,
    /// The operating system refused something.
    #[error("{doing}: {error}")]
    Failed {
        /// What we wanted to do.
        doing: String,
        /// Its answer.
        #[source]
        error: io::Error,
    },
}

impl FailOpenError {
    /// For `map_err`: an error while `doing` something.
    pub(super) fn of(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        |error| Self::Failed { doing, error }
    }
}
