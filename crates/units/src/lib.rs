//! Time, rate, size and the ECN field as types, with the notation of tc(8).
//!
//! Units: [`Time`] and [`Span`] are integer nanoseconds, [`Rate`] is bit/s, sizes are bytes.
//! Arithmetic saturates: a clock that stands still, jumps or runs backwards can make a result
//! too small or too large, but it can never make it panic or wrap.
//!
//! Not here: any clock. Time always comes in as an argument.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ecn;
mod excerpt;
mod forward;
mod notation;
mod rate;
mod significant;
mod time;
mod unit;
mod words;

pub use ecn::Ecn;
pub use excerpt::{Excerpt, shortened};
pub use notation::{
    UnitError, is_unit, parse_rate, parse_size, parse_span, rate_in_bytes, show_rate, show_size,
    show_span,
};
pub use rate::{Rate, TxClock, TxPace};
pub use significant::significant;
pub use time::{Span, Time};
pub use unit::{Unit, typeset};
