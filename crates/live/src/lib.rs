//! The live world: real packets, the kernel's own TCP, and the queue code of the simulator.

mod lab;

pub use lab::{Host, Lab, Namespace, Plan};
