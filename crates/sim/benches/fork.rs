//! What a copy of a run costs.
//!
//!     cargo bench -p sojourn-sim --bench fork -- [SCENARIO]
//!
//! Takes each cell of a scenario (of `scenarios/demo.toml` by default) to the middle of its run,
//! and prints the time of a copy there, which is also given up again: the median of 200.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Run;
use sojourn_units::Time;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

const COPIES: usize = 200;

fn main() {
    // Cargo says `--bench`.
    let demo = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/demo.toml");
    let file = env::args()
        .skip(1)
        .find(|word| word != "--bench")
        .map_or_else(demo, PathBuf::from);
    let scenario = match Scenario::load(&file, &Options::default()) {
        Ok(scenario) => scenario,
        Err(problems) => {
            eprintln!("{problems}");
            std::process::exit(1);
        }
    };
    for cell in scenario.cells {
        let words: Vec<_> = cell
            .params
            .iter()
            .map(|(_, value)| value.as_str())
            .collect();
        let name = words.join(", ");
        let middle = Time::ZERO + cell.duration / 2;
        let mut run = Run::new(cell).expect("the cell can be run");
        run.forward(middle).expect("few packets");
        let mut times: Vec<_> = (0..COPIES)
            .map(|_| {
                let start = Instant::now();
                drop(run.fork().expect("all of a cell can be copied"));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("{:>8.1} us  {name}", times[COPIES / 2].as_secs_f64() * 1e6);
    }
}
