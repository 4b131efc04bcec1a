//! An AQM of your own as a shared library that `sojourn run`, `check` and `evaluate` load:
//! `qdisc = "rust:libslope.so:Slope low=5ms"`.
//!
//! A plug-in is a crate of the type `cdylib` that depends on this one. It implements [`Aqm`], as
//! the disciplines of the library do, and [`Make`], which reads its options; [`export!`] names the
//! types. `examples/slope.rs` is one, `docs/tutorials/own-aqm.md` explains it.
//!
//! The border between the program and the plug-in is C's, with a version ([`abi`]). So the two may
//! come from different compilers and different versions of Sojourn.
#![allow(unsafe_code, reason = "functions that another program calls")]

pub mod abi;
mod options;
mod table;

pub use options::Options;
pub use sojourn_qdisc::{Aqm, Facts, QueueView, Setting, Verdict};
pub use sojourn_random::Stream;
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
        pub extern "C" fn sojourn_plugin_1() -> $crate::abi::AqmTables {
            use $crate::abi::AqmTable;
            const TABLES: &[AqmTable] = &[$($crate::table::<$aqm>(stringify!($aqm))),+];
            $crate::tables(TABLES)
        }
    };
}
