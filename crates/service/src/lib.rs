//! The bridge as a service: one or several pairs of interfaces in a process, followed by whoever
//! looks after them.
//!
//! [`Fleet`] runs a bridge for each pair, on a thread of its own, and has running ones
//! follow their file; [`Control`] takes requests at a Unix socket, among them captures,
//! [`Metrics`] shows over HTTP what is counted. Nothing here is on the path of
//! frames: what a bridge is to do it is told through its [`Remote`](sojourn_bridge::Remote).
//!
//! Not here: the file's format (see `scenario`), arguments and output (see `cli`).
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
mod fleet;
mod flows;
mod history;
mod memory;
mod metrics;
mod notify;
mod pair;
mod reload;
mod request;
mod tins;
mod top;

pub use capture::{Place, Recorded};
pub use control::{CONTROL, Control, ControlError, ControlThread};
pub use fleet::{AskError, Ending, Failure, Fleet, show};
pub use flows::Order;
pub use metrics::{Metrics, MetricsError};
pub use notify::Notify;
pub use pair::{Pair, describe};
pub use reload::ReloadError;
pub use request::{RateError, parse_link_rate};

use std::sync::Arc;

/// A message for whoever looks after the bridge. It waits for nobody.
pub type Log = Arc<dyn Fn(String) + Send + Sync>;
