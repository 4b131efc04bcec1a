//! The commands of a gateway: `bridge`, `ctl`, `top`, `qdisc` (queues of the kernel module), and
//! `check` of a bridge's file. The program
//! `sojourn-bridge` has nothing else; the full program, `sojourn`, has them too.
//!
//! Exit status: 0 when all went well, 1 when something failed while running, 2 when the input was
//! wrong (nothing has been run or written then), 130 after Ctrl-C.
//!
//! Not here: simulation, worlds, studies and results, which the full program has (see `cli`).
#![forbid(unsafe_code)]

mod bridge;
pub mod check;
mod connection;
mod ctl;
mod manual;
mod name;
mod outcome;
pub mod qdisc;
mod signal;
mod table;
pub mod top;
mod usage;

pub use bridge::{BridgeArgs, bridge};
pub use ctl::{CtlArgs, ctl};
pub use manual::{CompletionsArgs, ManArgs, completions, man};
pub use name::set_name;
pub use outcome::{FAILED, INTERRUPTED, WRONG_INPUT, WrongInput, exit, print};
pub use signal::{on_signal, on_signals, stop_on_signal};
pub use table::Table;
pub use usage::{arguments, whole, wrong};
