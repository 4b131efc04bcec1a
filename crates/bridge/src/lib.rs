//! The inline bridge: two network interfaces, and between them any queue, in user space.
//!
//! [`Bridge`] forwards frames through the queues of both directions; a [`Remote`] is the running
//! bridge as other threads see it. Ports are packet sockets or AF_XDP. When the process dies or
//! stands still, a kernel bridge over the same interfaces takes over ([`FailOpen`]).
//!
//! The only crate with `unsafe` code beside the playground's: system calls, in `sys`.
//!
//! Not here: the test bed of network namespaces and the kernel's own queues (see `live`); files,
//! requests and several pairs of interfaces (see `service`).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real time; nothing here has to repeat itself"
)]

mod alarm;
mod btf;
mod checksum;
mod claim;
mod clock;
mod clsact;
mod datagram;
mod fail_open;
mod forwarding;
mod hurry;
mod interface;
pub mod links;
mod moderation;
pub mod module;
mod namespace;
mod napi;
mod nat;
pub mod netlink;
mod ordered;
mod packet_socket;
mod port;
mod prober;
#[allow(unsafe_code)]
mod sys;
pub mod tc_report;
mod xdp_port;

pub use claim::{STATE, restore};
pub use clock::{Clock, read_nanos};
pub use datagram::{hear_ecn, receive_datagram};
pub use fail_open::{FailOpenError, FailOpenState, kernel_can_fail_open};
pub use forwarding::{
    BATCH, Behind, BeyondWorkers, Bridge, BridgeConfig, BridgeError, ByPort, CAPTURED,
    CapturePoint, Change, Circuits, Classes, Count, DELAYS, Delays, Direction, DualQueue,
    DualStats, FailOpen, FlowCounts, FlowTable, Followed, Frame, FramePort, Hosts, Labels,
    NoObserver, Observer, PROBES, PathDelays, Point, Pool, PortChoice, PortCounters, Probe, Remote,
    RemoteError, Showing, Shown, Side, SideStats, Snapshot, Told, View, Watch, probe, probes,
};
pub use interface::{Interface, gathering};
pub use namespace::Namespace;
pub use ordered::Ordered;
pub use packet_socket::PacketSocket;
pub use port::PortState;
pub use prober::Reflectors;
pub use sys::{
    Hook, Request, Signal, Signals, give_memory_back, option, real_time, set_option, tun,
};
