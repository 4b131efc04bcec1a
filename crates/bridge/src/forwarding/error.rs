//! Why a bridge could not start or go on.

use super::workers::BeyondWorkers;
use crate::fail_open::FailOpenError;
use std::io;
use std::path::PathBuf;

/// A sentence for the user, with what would help.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// There is no interface of this name in this namespace.
    #[error("there is no interface `{name}` here; there are {}", .known.join(", "))]
    NoSuchInterface {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Both ends are the same interface.
    #[error("`{0}` is named twice; a bridge needs two different interfaces")]
    Same(String),
    /// The interface carries no Ethernet frames.
    #[error("`{0}` is not an Ethernet interface")]
    NotEthernet(String),
    /// The interface is administratively down.
    #[error("`{0}` is down; bring it up with `ip link set {0} up`")]
    Down(String),
    /// We may not do that.
    #[error("{what}: not permitted; the bridge needs CAP_NET_RAW and CAP_NET_ADMIN (run as root)")]
    NotPermitted {
        /// What we wanted to do.
        what: String,
    },
    /// Fail open was required, but this kernel or set-up cannot do it.
    #[error("fail open is required but not possible: {0}")]
    FailOpen(#[source] FailOpenError),
    /// Another bridge has the interface.
    #[error(
        "`{interface}` belongs to another bridge already{}",
        .holder.map_or(String::new(), |process| format!(": process {process}"))
    )]
    Claimed {
        /// The interface.
        interface: String,
        /// That bridge's process, if it is known.
        holder: Option<u64>,
    },
    /// Another user's bridge was killed and has left its claim.
    #[error(
        "`{interface}` bears the claim {} of user {user}; `bridge --restore` as that user undoes \
         what was left there",
        .claim.display()
    )]
    ClaimOfOther {
        /// The interface.
        interface: String,
        /// The file that only that user can read.
        claim: PathBuf,
        /// Who that is.
        user: u32,
    },
    /// A kernel bridge that cannot be the way round forwards between the interfaces.
    #[error(
        "`{name}` forwards between both interfaces, and each frame would arrive twice: {reason}"
    )]
    Doubled {
        /// The kernel bridge.
        name: String,
        /// Why it cannot be the way round.
        reason: String,
    },
    /// Several workers cannot do what is asked for.
    #[error("with several workers {0}; or leave out `workers`")]
    Workers(#[source] BeyondWorkers),
    /// An interface was removed while we ran.
    #[error("interface `{0}` is gone")]
    Gone(String),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What we wanted to do.
        what: String,
        /// What it said.
        source: io::Error,
    },
}

/// Says what a system call was made for.
pub(crate) trait Doing<T> {
    /// To do `what`.
    fn doing(self, what: &str) -> Result<T, BridgeError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &str) -> Result<T, BridgeError> {
        self.map_err(|error| BridgeError::io(what, error))
    }
}

impl BridgeError {
    /// The interface that it is an error of.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::NoSuchInterface { name, .. }
            | Self::Same(name)
            | Self::NotEthernet(name)
            | Self::Down(name)
            | Self::Claimed {
                interface: name, ..
            }
            | Self::ClaimOfOther {
                interface: name, ..
            } => Some(name),
            _ => None,
        }
    }

    /// The error of a system call made to do `what`.
    pub(crate) fn io(what: &str, source: io::Error) -> Self {
        let what = what.to_owned();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted { what },
            _ => Self::Io { what, source },
        }
    }
}
