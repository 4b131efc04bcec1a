//! The table of `docs/hunt.md`: each planted fault, what a search finds of it and after how many
//! runs, and what the same searches find in the code as it is.
//!
//!     cargo bench -p sojourn-hunt --bench planted [-- NAME... [--cpu SECONDS]]
//!
//! Without names all faults are searched for, and the numbers that the project promises are held.
//! With names it is those alone, a family's name for the code of today in its searches. With `--cpu`
//! a search ends after so much processor time, and not after a thousand runs.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

#[path = "../tests/planted/acks.rs"]
mod acks;
#[path = "../tests/planted/codel.rs"]
mod codel;
#[path = "../tests/planted/control.rs"]
mod control;
#[path = "../tests/planted/fair.rs"]
mod fair;
#[path = "../tests/planted/faults.rs"]
mod faults;
#[path = "../tests/planted/fin.rs"]
mod fin;
#[path = "../tests/planted/hunting.rs"]
mod hunting;
#[path = "../tests/planted/paced.rs"]
mod paced;
#[path = "../tests/planted/pie.rs"]
mod pie;

use faults::{FAMILIES, Planted};
use rustix::time::{ClockId, clock_gettime};
use sojourn_hunt::{Broken, Found};
use std::env;

/// Runs of each search.
const BUDGET: usize = 1000;
/// Runs of a batch, which is searched to its end.
const BATCH: usize = 32;

/// What breaks in what was found, in words.
fn broken(found: &Found) -> String {
    match &found.broken {
        Broken::Check(tested) => tested.text.clone(),
        Broken::Bug(what) => what.clone(),
    }
}

/// What to search for.
#[derive(Default)]
struct Wanted {
    /// Names of faults, and of families for the code of today; empty means all of them.
    names: Vec<String>,
    /// Processor time of each search, in seconds, in the place of [`BUDGET`].
    cpu: Option<f64>,
}

impl Wanted {
    fn read() -> Self {
        let mut wanted = Self::default();
        // Cargo says `--bench`.
        let mut words = env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            if word == "--cpu" {
                let seconds = words.next().and_then(|word| word.parse().ok());
                wanted.cpu = Some(seconds.expect("--cpu takes a number of seconds"));
            } else {
                wanted.names.push(word);
            }
        }
        for name in &wanted.names {
            let known = FAMILIES.iter().any(|family| {
                family.name == *name || family.faults.iter().any(|fault| fault.name == *name)
            });
            assert!(known, "no fault and no family is named `{name}`");
        }
        wanted
    }

    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}

/// Processor time of this program so far, in seconds.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() {
    let wanted = Wanted::read();
    println!("| planted in | fault | what went wrong | runs | CPU, s | smallest scenario |");
    println!("| --- | --- | --- | ---: | ---: | --- |");
    let (mut all, mut caught, mut wrong) = (0, 0, 0);
    for family in FAMILIES {
        let today = (family.name, "today's code", Planted::Today, true);
        let faults = family
            .faults
            .iter()
            .map(|it| (it.name, it.history, it.planted, it.is_sound));
        let mut rows: Vec<_> = faults.chain([today]).collect();
        rows.retain(|&(name, ..)| wanted.has(name));
        rows.sort_by_key(|&(.., is_sound)| is_sound);
        for (name, history, planted, is_sound) in rows {
            let start = processor_time();
            let (found, last) = hunting::hunt(family, planted, &mut |runs| match wanted.cpu {
                Some(most) => processor_time() - start < most,
                None => runs < BUDGET,
            });
            let took = processor_time() - start;
            let nearest = format!("nothing; {:.0} % from breaking", 100.0 * last.nearest);
            let said = found.as_ref().map_or(nearest, broken);
            let batch = found.as_ref().map_or(0, |_| BATCH);
            let (family, runs) = (family.name, last.runs + batch);
            println!("| {family} | {name} | {history} | {runs} | {took:.0} | {said} |");
            if let Some(found) = &found {
                eprintln!("{family}, {name}:\n{}", found.text);
            }
            let found = usize::from(found.is_some());
            if is_sound {
                wrong += found;
            } else {
                all += 1;
                caught += found;
            }
        }
    }
    println!("\n{caught} of {all} faults found; in sound code {wrong}.");
    assert_eq!(wrong, 0, "a property breaks without a fault");
    if wanted.names.is_empty() {
        assert!(all >= 12 && caught >= 10, "too few");
    }
}
