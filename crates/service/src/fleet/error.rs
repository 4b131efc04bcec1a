//! Why a bridge has ended, and why somebody who asks a fleet gets no answer.

use sojourn_bridge::{BridgeError, RemoteError};

/// Why a bridge has ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It could not go on.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// A fault of this program.
    #[error("the forwarding thread has panicked; this is a fault of sojourn")]
    Panicked,
}

/// Why somebody who asks gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No pair has this name; those that there are.
    #[error("there is no pair `{0}`; there are {1}")]
    NoPair(String, String),
    /// There are several, and none was named.
    #[error("which pair? There are {0}")]
    WhichPair(String),
    /// The pair does not answer.
    #[error("{0}: {1}")]
    Remote(String, #[source] RemoteError),
    /// A rate that is to be set follows its link.
    #[error(
        "pair {0}: the {1} rate follows its link (`autorate`); its bounds are in the bridge's file"
    )]
    Follows(String, &'static str),
    /// It has no circuits.
    #[error("pair {0} has no `subscribers`")]
    NoSubscribers(String),
    /// There can be no thread for it.
    #[error("start a thread: {0}")]
    Thread(#[source] std::io::Error),
}
