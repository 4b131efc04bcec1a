//! A run of a scenario with nothing around it, for a count of its instructions.
//!
//!     cargo bench -p sojourn-sim --bench count -- SCENARIO [KEY=VALUE...]
//!
//! It runs the scenario's first cell and prints how many packets its busiest queue sent and what
//! the run's digest is. `benches/instructions.py` counts it under valgrind. With `--figures` it
//! prints a digest of every figure and series beside, which `benches/same.py` compares.

use sojourn_random::mix;
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Sim;
use sojourn_world::{Taps, World};
use std::env;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::exit;

fn main() {
    // Cargo says `--bench`.
    let mut words: Vec<String> = env::args().skip(1).filter(|w| w != "--bench").collect();
    let figures = words.iter().position(|word| word == "--figures");
    if let Some(at) = figures {
        words.remove(at);
    }
    let Some(file) = words.first() else {
        return;
    };
    let options = Options {
        sets: words[1..].to_vec(),
        ..Options::default()
    };
    let scenario = Scenario::load(Path::new(file), &options).unwrap_or_else(|problems| {
        eprintln!("{problems}");
        exit(1);
    });
    let result = Sim
        .run(&scenario.cells[0], Taps::default(), &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|error| {
            eprintln!("{error}");
            exit(1);
        });
    print!("{} {:016x}", result.cost.bottleneck_packets, result.digest);
    if figures.is_some() {
        let all = (
            &result.links,
            &result.flows,
            &result.aggregate,
            &result.radio,
        );
        let text = format!("{all:?}");
        let digest = text
            .bytes()
            .fold(0, |digest, byte| mix(digest ^ u64::from(byte)));
        print!(" {digest:016x}");
    }
    println!();
}
