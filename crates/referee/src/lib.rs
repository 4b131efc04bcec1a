//! Packetdrill scripts against the kernel that this program runs on.
//!
//! [`run`] makes a network namespace with a TUN device, carries out the calls of the script on real
//! sockets, writes its packets to the device, and compares what the kernel sends with what the
//! script expects. The scripts, and what a packet or an assertion means, are `packetdrill`'s.
//!
//! It waits in real time, so that scripts belong into a guest, whose clock jumps: there they take
//! no longer than their calls, and come out the same every time. It needs the rights to make a
//! namespace and a device, and changes nothing outside its namespace.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "the kernel under test has its own clock, and files through which it is set"
)]

mod calls;
mod device;
mod flow;
mod info;
mod options;
mod packet;
mod run;
mod shell;
mod worker;

pub use run::run;
