//! A simulated network for other people's stacks: hosts, links, the queues of Sojourn, and its TCP
//! flows as cross traffic, around a stack that does no I/O itself.
//!
//! A [`Stack`] is a transport that is called: with a datagram, with the time, for what it has to
//! send, for when it wants to be called next. QUIC and TCP stacks in Rust and C have exactly these
//! calls. [`Net`] drives the stacks at the ends of a scenario's flows with `app = "outside"` in
//! simulated time, so that a run takes as long as the stacks compute and gives the same sizes and
//! times again, whatever keys they draw.
//!
//! ```
//! use sojourn_net::{Arrival, Datagram, Net, Stack, Time};
//!
//! /// Sends back what it gets, and begins with one datagram.
//! struct Echo(Option<Datagram>);
//!
//! impl Stack for Echo {
//!     fn input(&mut self, arrival: Arrival) {
//!         self.0 = Some(arrival.datagram);
//!     }
//!     fn timeout(&mut self, _now: Time) {}
//!     fn output(&mut self, _now: Time) -> Option<Datagram> {
//!         self.0.take()
//!     }
//!     fn next_timeout(&mut self) -> Option<Time> {
//!         None
//!     }
//! }
//!
//! const SCENARIO: &str = r#"
//! format = "sojourn-scenario/1"
//! name = "echo"
//! duration = "2s"
//! [dumbbell]
//! rtt = "20ms"
//! qdisc = "fq_codel"
//! up = { rate = "10mbit" }
//! down = { rate = "10mbit" }
//! [[flow]]
//! name = "echo"
//! direction = "up"
//! app = "outside"
//! [[flow]]
//! name = "bulk"
//! direction = "up"
//! app = "bulk"
//! "#;
//!
//! let mut net = Net::new(SCENARIO, 1)?;
//! let ping = Datagram { payload: vec![0; 100], ..Datagram::default() };
//! net.attach("echo", [Echo(Some(ping)), Echo(None)])?;
//! net.run_until(Time::MAX)?;
//! let result = net.finish();
//! let (_, echo) = &result.flows[0];
//! assert!(echo.sent_packets > 50);
//! # Ok::<(), sojourn_net::NetError>(())
//! ```
//!
//! A run that fails (that panics while a [`Net`] is held) leaves its scenario, its seed and, if it
//! was [recorded](Start::record), a capture, and says where.
//!
//! Not here: sockets, threads, a clock.
#![forbid(unsafe_code)]

mod error;
mod evidence;
mod net;
#[cfg(feature = "quinn")]
#[path = "../stacks/quinn.rs"]
pub mod quinn;
mod stack;
#[cfg(feature = "quinn")]
mod world;

pub use error::NetError;
pub use net::{Net, Sight, Start};
pub use sojourn_sim::{Arrival, Datagram, End, Look, NoFork, Setup};
pub use sojourn_units::{Ecn, Span, Time};
pub use sojourn_world::{Cell, RunResult};
pub use stack::Stack;
#[cfg(feature = "quinn")]
pub use world::WithStacks;

// The adaptors in `stacks/` name this crate as those do who copy them.
#[cfg(feature = "quinn")]
extern crate self as sojourn_net;
