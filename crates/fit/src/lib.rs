//! The line behind a measurement: rates, base RTT and buffers with which the simulator gives
//! what was measured.
//!
//! A [`Measurement`] comes from a data file of Flent's, iperf3's JSON or a capture; [`fit`] looks
//! for the [`Line`], [`Fit::grade`] says how well it fits, and [`Line::scenario`] is the scenario
//! in which other queues can be tried on it.
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
mod grade;
mod iperf;
mod irtt;
mod line;
mod measurement;
mod search;
mod series;
mod unfit;

pub use capture::CaptureError;
pub use file::{FileError, is_flent, name, read_flent};
pub use flent::{MEASURED, run_of};
pub use grade::Grade;
pub use iperf::IperfError;
pub use line::{Line, Queue};
pub use measurement::{DOWN, Figures, Measurement, Stream, UP};
pub use search::{Fit, FitError, MOST_ROUNDS, fit};
pub use unfit::Unfit;
