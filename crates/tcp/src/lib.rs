//! TCP as pure state machines: no clock, no I/O, no thread.
//!
//! A [`Connection`] is one end of a TCP connection. It takes segments, the application's writes
//! and timer expiries, each with the time, and yields segments to send and the time of its next
//! timer. Congestion control sits behind [`CongestionControl`].
//!
//! The shape follows the standards; where they leave a choice, or Linux differs for good reason,
//! it is what Linux 6.x does, because that is what results are compared with. Each module names
//! its sources.
//!
//! Known differences from Linux:
//! - Apps read at once, so an ACK never waits for a reader; a busy host's ACKs come in bunches.
//! - Timers are exact, unless [`Config::timer_tick`] gives them a kernel's ticks (Linux: 1 to 10
//!   ms; docs/tcp-grid.md shows where it matters). All ends have these at the same times, as if
//!   they were on one machine.
//! - A receiver that holds ACKs back and sees a third block begin acknowledges at once with that
//!   block in it; Linux without, and holds the news of it.
//! - No segmentation offload and no limit on what a host queues below TCP (TSQ): every segment
//!   goes out as soon as the window allows it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate self as sojourn_tcp;
#[cfg(test)]
extern crate std;

mod accecn;
mod config;
mod congestion;
mod connection;
mod copies;
mod info;
mod limits;
mod ns2;
mod rate;
mod reassembly;
mod receiver;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod seq;
#[cfg(test)]
mod tests;
mod ticks;

pub use config::{
    AccEcnRule, Algorithm, Config, DctcpRule, DelayedAck, Ecn, Ns2Agent, RtoRule, SlowStart,
    VegasConfig,
};
pub use congestion::*;
pub use connection::{Connection, Owes, Received, Sent, Then, Transmit};
pub use info::{CeCounts, Counters, Info, State};
pub use limits::{LimitedBy, Limits};
pub use rate::RateSample;
pub use segment::{AccEcnOption, Flags, SackBlock, Segment};
pub use sender::Recovery;
pub use sojourn_units::Ecn as Codepoint;
use sojourn_units::{Rate, Span, Time};
