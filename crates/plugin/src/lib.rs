//! An AQM or a congestion control of your own as a shared library that `sojourn run`, `check`,
//! `evaluate` and `reproduce` load: `qdisc = "rust:libslope.so:Slope low=5ms"`, or
//! `cc = "rust:libcalm.so:Calm beta=0.8"`.
//!
//! A plug-in is a crate of the type `cdylib` that depends on this one. An AQM implements [`Aqm`],
//! as the disciplines of the library do, and [`Make`], which reads its options; a congestion
//! control [`CongestionControl`] and [`MakeControl`]. [`export!`] and [`export_controls!`] name the
//! types. `examples/slope.rs` and `examples/calm.rs` are two, `docs/tutorials/own-aqm.md` and
//! `docs/tutorials/own-congestion-control.md` explain them.
//!
//! The border between the program and the plug-in is C's, with a version ([`abi`]). So the two may
//! come from different compilers and different versions of Sojourn.
#![allow(unsafe_code, reason = "functions that another program calls")]

pub mod abi;
mod control;
mod guard;
mod options;
mod table;

pub use control::{MakeControl, control_table, control_tables};
pub use options::Options;
pub use sojourn_qdisc::{Aqm, Facts, QueueView, Setting, Verdict};
pub use sojourn_random::Stream;
pub use sojourn_tcp as tcp;
pub use sojourn_tcp::{
    AckArrival, AckEvent, Config, Congestion, CongestionControl, INFINITE, RateSample, Window,
};
pub use sojourn_units::{Ecn, Rate, Span, Time};
pub use table::{Make, table, tables};

/// Exports AQMs: once in a plug-in, with the types that [`Make`] is implemented for.
///
/// A type is known by its name as it is written here.
///
/// ```ignore
/// sojourn_plugin::export!(Slope, OneOfN);
/// ```
#[macro_export]
macro_rules! export {
    ($($aqm:ident),+ $(,)?) => {
        /// The AQMs of this plug-in.
        // SAFETY: the name says whose it is, and which version.
        #[unsafe(no_mangle)]
        pub extern "C" fn sojourn_plugin_1() -> $crate::abi::aqm::AqmTables {
            use $crate::abi::aqm::AqmTable;
            const TABLES: &[AqmTable] = &[$($crate::table::<$aqm>(stringify!($aqm))),+];
            $crate::tables(TABLES)
        }
    };
}

/// Exports congestion controls: once in a plug-in, with the types that [`MakeControl`] is
/// implemented for. A plug-in may have AQMs too.
///
/// ```ignore
/// sojourn_plugin::export_controls!(Calm);
/// ```
#[macro_export]
macro_rules! export_controls {
    ($($control:ident),+ $(,)?) => {
        /// The congestion controls of this plug-in.
        // SAFETY: the name says whose it is, and which version.
        #[unsafe(no_mangle)]
        pub extern "C" fn sojourn_controls_1() -> $crate::abi::control::ControlTables {
            use $crate::abi::control::ControlTable;
            const TABLES: &[ControlTable] =
                &[$($crate::control_table::<$control>(stringify!($control))),+];
            $crate::control_tables(TABLES)
        }
    };
}
