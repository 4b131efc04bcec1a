//! The inline bridge: two interfaces, and between them any queue, in user space.
//!
//! Each direction is `queue → transmitter → delay stage`, as a hop of the simulator. The queue
//! runs in the link's own time: arrivals carry the kernel's time stamps, and departures
//! happen when the transmitter was free, even if this thread woke up later. So a late
//! wake-up delays frames on their way out but changes neither the average rate nor what the
//! AQM sees.

mod config;
mod observer;
mod paths;

pub use config::{BridgeConfig, Direction, FailOpen, Side};
pub use observer::{NoObserver, Observer};
pub use paths::PathDelays;
