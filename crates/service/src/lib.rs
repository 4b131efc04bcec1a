//! The bridge as a service: one or several pairs of interfaces in a process, followed by whoever
//! looks after them.
//!
//! [`BridgeFile`] is its file, with the [`Subscribers`] behind its interfaces. [`Fleet`] runs a
//! bridge for each pair, on a thread of its own, and has running ones follow their file;
//! [`ControlSocket`] takes requests at a Unix socket, among them captures, and [`Metrics`] shows
//! over HTTP what is counted. Nothing here is on the path of frames: what a bridge is to do it is
//! told through its [`Remote`](sojourn_bridge::Remote).
//!
//! Not here: arguments and output (see `gateway`).
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "real time; nothing here has to repeat itself"
)]

mod capture;
mod change;
mod circuits;
mod control;
mod difference;
mod file;
mod fleet;
mod flows;
mod history;
mod memory;
mod metrics;
mod notify;
mod pair;
mod reference;
mod reload;
mod request;
mod rough;
mod subscribers;
mod talkers;
mod tins;
mod top;
mod verify;
mod version;

pub use capture::{CapturePlace, Recorded};
pub use control::{CONTROL, ControlError, ControlSocket, ControlThread};
pub use file::{Around, BridgeFile, BridgePair, PcapFile};
pub use fleet::{AskError, Ending, Failure, Fleet, News, show};
pub use flows::Order;
pub use metrics::{Metrics, MetricsError};
pub use notify::Notify;
pub use pair::{Pair, describe};
pub use reference::{bridge_reference, bridge_schema, subscribers_schema};
pub use reload::ReloadError;
pub use request::{RateError, parse_link_rate};
pub use rough::{rough_rate, scaled};
pub use subscribers::{NamedText, Subscribers, Unshaped};
pub use verify::{Looks, Verdict};

use std::sync::Arc;

/// A message for whoever looks after the bridge. It waits for nobody.
pub type Log = Arc<dyn Fn(String) + Send + Sync>;
