//! Where `data/clip.txt` comes from: a model of an encoder with constrained variable bit rate.
//!
//! The picture's complexity is a scene's own (log-normal, σ 0.3) with an autoregressive walk
//! within the scene (0.9 from chunk to chunk, σ 0.1); a scene lasts ten chunks on average. All
//! representations share it, and each chunk of each adds noise of its own (σ 0.05). Low rates
//! follow it less (to 60 %): the encoder's rate control is at its limit. The resulting coefficient
//! of variation, 0.2 to 0.35, is that of two-second chunks under capped variable bit rate (Qin et
//! al. 2018, CoNEXT, report 0.3 to 0.6 for longer clips with a looser cap). Each representation is
//! scaled to its nominal rate.

use crate::dash::big_clip;
use crate::dash::library::{KBPS, NOMINAL, STEP};
use sojourn_random::Stream;
use sojourn_tidy::generated;
use std::string::String;
use std::vec::Vec;

const CHUNKS: usize = 298;

fn complexity(dice: &mut Stream) -> Vec<f64> {
    let (mut scene, mut walk) = (0.0, 0.0);
    let next = |_| {
        if dice.chance(0.1) {
            (scene, walk) = (0.3 * dice.normal(), 0.0);
        }
        walk = 0.9 * walk + 0.1 * dice.normal() * libm::sqrt(1.0 - 0.81);
        scene + walk
    };
    (0..CHUNKS).map(next).collect()
}

fn table() -> String {
    let mut dice = Stream::named(1, "dash.clip");
    let complexity = complexity(&mut dice);
    let mut text = String::new();
    for row in 0..KBPS.len() {
        let follows = 0.6 + 0.4 * row as f64 / (KBPS.len() - 1) as f64;
        let ratios: Vec<f64> = complexity
            .iter()
            .map(|c| libm::exp(follows * c + 0.05 * dice.normal()))
            .collect();
        let mean = ratios.iter().sum::<f64>() / CHUNKS as f64;
        for ratio in ratios {
            let steps = libm::round(libm::log(ratio / mean) / libm::log(STEP));
            let letter = (f64::from(NOMINAL) + steps).clamp(33.0, 126.0);
            text.push(char::from(letter as u8));
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_stored_table_is_the_generator_s() {
    generated::file("crates/apps/data/clip.txt", &table());
}

#[test]
fn chunks_vary_around_the_nominal_rate() {
    let clip = big_clip();
    for (row, kbps) in KBPS.iter().enumerate() {
        let sizes: Vec<f64> = (0..CHUNKS)
            .map(|chunk| f64::from(clip.size(row, chunk).unwrap()))
            .collect();
        let mean = sizes.iter().sum::<f64>() / CHUNKS as f64;
        assert!(
            (mean / (f64::from(*kbps) * 250.0) - 1.0).abs() < 0.01,
            "{kbps}: {mean}"
        );
        let squares: f64 = sizes.iter().map(|size| (size - mean) * (size - mean)).sum();
        let variation = libm::sqrt(squares / CHUNKS as f64) / mean;
        assert!((0.15..0.45).contains(&variation), "{kbps}: {variation}");
    }
    // The video goes round.
    assert_eq!(clip.size(3, 5), clip.size(3, 5 + CHUNKS));
    assert_eq!(clip.size(KBPS.len(), 0), None);
}
