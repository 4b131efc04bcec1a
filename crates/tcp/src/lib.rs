//! TCP as pure state machines: no clock, no I/O, no thread.
//!
//! A [`Connection`] is one end of a TCP connection. It takes segments, the application's writes
//! and timer expiries, each with the time, and yields segments to send and the time of its next
//! timer. Congestion control sits behind [`CongestionControl`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod segment;

pub use config::{Algorithm, Config, DelayedAck, SlowStart};
pub use segment::{Flags, SackBlock, Segment};
