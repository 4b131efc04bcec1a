//! The real Linux kernel in virtual time, as a process of an ordinary user.
//!
//! The kernel is User-Mode Linux (`ARCH=um`) with `time-travel=inf-cpu`: its clock jumps to the
//! next event and computing costs none of it, so that what happens in it depends on its inputs
//! alone and not on what else the machine does. [`Store`] and [`build()`] provide kernels,
//! [`Machine`] and [`Guest`] run a [`Job`] in one,
//! and the world [`Kernel`] runs a cell in one, by `live`'s runner.
//!
//! Source: the kernel's `Documentation/virt/uml`; `arch/um/kernel/time.c` for virtual time.
//!
//! Not here: networks and queues. They are `live`'s.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "guests are processes of the machine, and take its time"
)]

mod build;
mod control;
mod error;
mod extra;
mod guard;
mod guest;
mod init;
mod inside;
pub mod job;
mod module;
mod processor;
mod recipe;
mod store;
mod task;
mod world;

pub use build::build;
pub use control::Control;
pub use error::KernelError;
pub use extra::{Extra, ExtraKind};
pub use guard::{become_guest, guard};
pub use guest::{Guest, Machine, Roles};
pub use init::init;
pub use inside::run_task;
pub use job::{Job, Output};
pub use module::Module;
pub use recipe::{NoSuchTick, NoSuchVersion, Tick, Variant, Version, Wanted};
pub use store::{Image, Store};
pub use world::Kernel;
