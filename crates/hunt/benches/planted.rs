//! The table of `docs/hunt.md`: each planted fault, what a search finds of it and after how many
//! runs, and what the same searches find in the code as it is.
//!
//!     cargo bench -p sojourn-hunt --bench planted

#[path = "../tests/planted/codel.rs"]
mod codel;
#[path = "../tests/planted/control.rs"]
mod control;
#[path = "../tests/planted/fair.rs"]
mod fair;
#[path = "../tests/planted/faults.rs"]
mod faults;
#[path = "../tests/planted/hunting.rs"]
mod hunting;
#[path = "../tests/planted/paced.rs"]
mod paced;
#[path = "../tests/planted/pie.rs"]
mod pie;

use faults::{FAMILIES, Planted};
use sojourn_hunt::{Broken, Found};

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

fn main() {
    println!("| planted in | fault | what went wrong | runs | smallest scenario |");
    println!("| --- | --- | --- | ---: | --- |");
    let (mut all, mut caught, mut wrong) = (0, 0, 0);
    for family in FAMILIES {
        let today = ("none", "today's code", Planted::Today, true);
        let faults = family.faults.iter();
        let faults = faults.map(|it| (it.name, it.history, it.planted, it.is_sound));
        let mut rows: Vec<_> = faults.chain([today]).collect();
        rows.sort_by_key(|&(.., is_sound)| is_sound);
        for (name, history, planted, is_sound) in rows {
            let (found, last) = hunting::hunt(family, planted, BUDGET);
            let nearest = format!("nothing; {:.0} % from breaking", 100.0 * last.nearest);
            let said = found.as_ref().map_or(nearest, broken);
            let batch = found.as_ref().map_or(0, |_| BATCH);
            let (family, runs) = (family.name, last.runs + batch);
            println!("| {family} | {name} | {history} | {runs} | {said} |");
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
    assert!(all >= 12 && caught >= 10 && wrong == 0);
}
