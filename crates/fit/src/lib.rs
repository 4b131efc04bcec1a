//! The line behind a measurement: rates, base RTT and buffers with which the simulator gives
//! what was measured.
//!
//! A [`Measurement`] comes from a data file of Flent's or from a capture; [`fit`] looks for the
//! [`Line`], and [`Line::scenario`] is the scenario in which other queues can be tried on it.
//!
//! The search is indirect inference (Gouriéroux, Monfort, Renault 1993): the same few figures are
//! taken of the measurement and of simulated runs, and the line is moved until they agree. So it
//! matters little that a figure is biased, as the goodput of an upload is by its ACKs' way.
//!
//! A line is taken for one with FIFOs or, where that does not fit, with managed flow queues. The
//! figures side by side say how well it fits.
//!
//! Not here: lines whose rate varies, losses that no queue makes, and other queues than these two.
#![forbid(unsafe_code)]

mod capture;
mod file;
mod flent;
mod line;
mod measurement;
mod search;

pub use capture::CaptureError;
pub use file::{FileError, is_flent, name, read_flent};
pub use flent::{MEASURED, run_of};
pub use line::{Line, Queue};
pub use measurement::{DOWN, Figures, Measurement, Stream, UP, Unfit};
pub use search::{Fit, FitError, MOST_ROUNDS, fit};
