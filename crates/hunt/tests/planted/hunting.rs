//! A search for what is planted.

use crate::faults::{Family, Planted};
use sojourn_hunt::{Found, Hunt, Progress, fullest};
use sojourn_scenario::{Options, Space};
use sojourn_study::Property;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What a search finds, and how far it got. It ends without a finding when `goes_on` refuses after
/// so many runs.
pub(crate) fn hunt(
    family: &Family,
    planted: Planted,
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> (Option<Found>, Progress) {
    let (name, none) = (family.name, Options::default());
    let space = Space::parse(name, family.space, Path::new(""), &none, &[])
        .unwrap_or_else(|problems| panic!("{problems}"));
    let checks: Vec<String> = family.properties.iter().map(|&it| it.into()).collect();
    let full = fullest(&space).unwrap_or_else(|problems| panic!("{problems}"));
    let property = Property::read(&checks, &full, [None, None])
        .unwrap_or_else(|problems| panic!("{problems}"));
    let search = Hunt {
        space: &space,
        property: &property,
        world: &planted,
        seeds: 1,
        seed: 1,
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        stop: &AtomicBool::new(false),
    };
    let mut last = Progress::default();
    let found = search.search(&mut |progress| {
        last = *progress;
        goes_on(progress.runs)
    });
    (found.expect("there are scenarios"), last)
}
