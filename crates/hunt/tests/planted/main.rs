//! Faults of history, planted: a search must find them without knowing which there are, and nothing
//! in the same code without them. These are the cheapest; all of them, and what is found after how
//! many runs, are the table of `docs/hunt.md`:
//!
//!     cargo bench -p sojourn-hunt --bench planted
//!
//! A fault stands in a run by [`sojourn_sim::Instead`], so that no program contains it.

mod acks;
mod codel;
mod control;
mod fair;
mod faults;
mod fin;
mod hunting;
mod paced;
mod pie;

use faults::{FAMILIES, Planted};
use hunting::hunt;

/// Those that few short runs show.
#[test]
fn the_cheapest_faults_are_found() {
    let all = FAMILIES.iter().flat_map(|family| {
        let faults = family.faults.iter().filter(|fault| !fault.is_sound);
        faults.map(move |fault| (family, fault))
    });
    let cheapest = [
        "pie-unsigned",
        "shaper-ticks",
        "fair-overflow",
        "fq-codel-stale",
    ];
    let mut missed = cheapest.to_vec();
    for (family, fault) in all.filter(|(_, fault)| cheapest.contains(&fault.name)) {
        let (found, last) = hunt(family, fault.planted, &mut |runs| runs < 128);
        let (name, history) = (fault.name, fault.history);
        let found = found.unwrap_or_else(|| panic!("{name} ({history}) is not found: {last:?}"));
        // It is no matter of one seed.
        assert!(found.again[0] > 0, "{name}: {found:?}");
        missed.retain(|missed| *missed != name);
    }
    assert_eq!(missed, [""; 0], "they stand in the table");
}

/// The same searches find nothing in the code as it is.
#[test]
fn the_code_of_today_holds() {
    for family in FAMILIES.iter().filter(|family| family.name != "shares") {
        let (found, last) = hunt(family, Planted::Today, &mut |runs| runs < 32);
        assert!(found.is_none(), "{}: {found:?}", family.name);
        assert!(last.tested > 0, "{}: {last:?}", family.name);
    }
}
