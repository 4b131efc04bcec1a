//! A video to stream: twenty representations from 46 kbit/s to 4.2 Mbit/s in chunks of two
//! seconds, ten minutes long, with sizes that vary as those of an encoder do.
//!
//! The rates are those of the "Big Buck Bunny" set of two-second chunks that the study
//! "home-broadband" used (rounded there). Sizes are made, not measured: see the generator in the
//! tests. Stored is one letter for each chunk of each representation, the logarithm of its size
//! over the nominal one in steps of 3 %.

use super::manifest::Manifest;
use alloc::vec::Vec;
use sojourn_units::{Rate, Span};

/// Nominal rates in kbit/s.
pub(super) const KBPS: [u32; 20] = [
    46, 89, 128, 178, 217, 255, 323, 374, 506, 573, 780, 1000, 1200, 1500, 2100, 2400, 2900, 3300,
    3600, 4200,
];
/// Playing time of a chunk.
pub(super) const CHUNK: Span = Span::from_secs(2);
/// The letter of a chunk of nominal size, and the factor from one letter to the next.
pub(super) const NOMINAL: u8 = b'O';
pub(super) const STEP: f64 = 1.03;

const SIZES: &str = include_str!("../../data/clip.txt");

/// The size in bytes that a letter means at a nominal rate.
fn size(kbps: u32, letter: u8) -> u32 {
    let nominal = f64::from(kbps) * 1000.0 / 8.0 * CHUNK.as_secs_f64();
    let steps = f64::from(letter) - f64::from(NOMINAL);
    libm::round(nominal * libm::pow(STEP, steps)) as u32
}

/// The video.
pub fn big_clip() -> Manifest {
    let rates: Vec<Rate> = KBPS
        .iter()
        .map(|&k| Rate::from_bps(u64::from(k) * 1000))
        .collect();
    let rows = KBPS.iter().zip(SIZES.lines());
    let sizes = rows.map(|(&kbps, row)| row.bytes().map(|letter| size(kbps, letter)).collect());
    Manifest::new(CHUNK, rates, sizes.collect()).expect("the stored table is whole: see its test")
}
