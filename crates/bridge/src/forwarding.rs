//! What is on the path of frames, and what other threads ask of it.
//!
//! Each direction is `queue → transmitter → delay stage`, as a hop of the simulator. The queue
//! runs in the link's own time: arrivals carry the kernel's time stamps, and departures
//! happen when the transmitter was free, even if this thread woke up later. So a late
//! wake-up delays frames on their way out but changes neither the average rate nor what the
//! AQM sees.

mod by_port;
mod capture;
mod circuits;
mod config;
mod delay;
mod delays;
mod dual;
mod engine;
mod error;
mod flows;
mod following;
mod frame;
mod gather;
mod lane;
mod observer;
mod onlookers;
mod pair;
mod plan;
mod port;
mod remote;
mod round_trips;
mod run;
mod side;
mod snapshot;
mod splitting;
mod watchdog;
mod workers;

pub use by_port::{ByPort, Labels, PathDelays};
pub use capture::{CAPTURED, CapturePoint, Hosts, Probe, Shown, View, Watch, probe, probes};
pub use circuits::Circuits;
pub(crate) use config::random_word;
pub use config::{BridgeConfig, Change, Direction, FailOpen, PortChoice};
pub use delays::{DELAYS, Delays};
pub use dual::{DualQueue, DualStats};
pub use error::BridgeError;
pub(crate) use error::Doing;
pub use flows::{FlowCounts, FlowTable};
pub use following::{Followed, Told};
pub use frame::{BATCH, Frame, Pool};
pub(crate) use frame::{HEAD, TAIL, VlanTag, VnetHeader};
pub use observer::{NoObserver, Observer, Point};
pub use pair::Bridge;
pub use port::{FramePort, PortCounters};
pub use remote::{Behind, Classes, PROBES, Remote, RemoteError, Showing};
pub use side::Side;
pub use snapshot::{Count, SideStats, Snapshot};
pub use workers::BeyondWorkers;
