//! The search and its shrinking, over worlds whose results are arithmetic.

use sojourn_hunt::{Broken, Found, Hunt, Progress, Unsearched, fullest};
use sojourn_scenario::{Options, Space};
use sojourn_study::Property;
use sojourn_world::{
    Aggregate, Cell, Cost, Progress as Told, RunResult, Taps, World, WorldError, WorldName,
};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const FILE: &str = r#"
format = "sojourn-scenario/1"
name = "arithmetic"
duration = "10s"

[dumbbell]
rtt = "40ms"
rate = "10mbit"

[sweep]
duration = "1s .. 60s"
dumbbell.rtt = "1ms .. 300ms"
flow.bulk.count = "0 .. 40"
tcp.cc = ["cubic", "reno", "bbr3"]

[[flow]]
name = "bulk"
direction = "up"
app = "bulk"

[[flow]]
name = "probe"
direction = "up"
app = { kind = "ping", interval = "20ms" }
"#;

/// A world that makes Jain's index of a cell, none of what is no number; what panics is a fault of it.
struct Arithmetic(fn(&Cell) -> f64);

impl World for Arithmetic {
    fn name(&self) -> WorldName {
        WorldName::new("arithmetic")
    }

    fn run(&self, cell: &Cell, _: Taps, _: Told<'_>) -> Result<RunResult, WorldError> {
        Ok(RunResult {
            world: self.name(),
            seed: cell.seed,
            params: cell.params.clone(),
            links: Vec::new(),
            flows: Vec::new(),
            aggregate: Aggregate {
                jain: Some((self.0)(cell)).filter(|jain| jain.is_finite()),
                ..Aggregate::default()
            },
            cost: Cost::default(),
            digest: 0,
            radio: None,
            program: None,
        })
    }
}

fn search(
    world: &Arithmetic,
    check: &str,
    jobs: usize,
    most: usize,
) -> (Result<Option<Found>, Unsearched>, Progress) {
    let space =
        Space::parse("a.toml", FILE, Path::new(""), &Options::default(), &[]).expect("a space");
    let full = fullest(&space).expect("a scenario");
    let property = Property::read(&[check.into()], &full, [None, None]).expect("a property");
    let mut last = Progress::default();
    let hunt = Hunt {
        space: &space,
        property: &property,
        world,
        seeds: 1,
        seed: 1,
        jobs: NonZeroUsize::new(jobs).expect("some"),
        stop: &AtomicBool::new(false),
    };
    let found = hunt.search(&mut |progress| {
        last = *progress;
        progress.runs < most
    });
    (found, last)
}

fn bulk(cell: &Cell) -> f64 {
    cell.flows.len() as f64 - 1.0
}

fn rtt(cell: &Cell) -> f64 {
    cell.flows[0].base_rtt.as_secs_f64() * 1000.0
}

/// Fair but where many flows are long on a long path: one point in a few hundred.
fn narrow(cell: &Cell) -> f64 {
    let over = (bulk(cell) - 30.0).min(0.0) / 40.0
        + (rtt(cell) - 200.0).min(0.0) / 300.0
        + (cell.duration.as_secs_f64() - 50.0).min(0.0) / 60.0;
    0.5 - over
}

#[test]
fn the_smallest_scenario_is_found() {
    let (found, _) = search(&Arithmetic(narrow), "aggregate.jain > 0.5", 2, 5000);
    let found = found.expect("it can be searched").expect("there is one");
    // Not a flow and not a second more than it takes, and a round-trip time of one digit.
    for part in [
        "count = 30",
        "duration = \"50s\"",
        "00ms\"",
        "cc = \"cubic\"",
    ] {
        assert!(found.text.contains(part), "{part}: {}", found.text);
    }
    assert!(found.text.contains("seeds = [1]"), "{}", found.text);
    assert_eq!(found.again, [10, 10]);
    let Broken::Check(tested) = &found.broken else {
        panic!("{found:?}");
    };
    assert_eq!(tested.check, "aggregate.jain > 0.5");
}

#[test]
fn threads_make_no_difference() {
    let on = |jobs| search(&Arithmetic(narrow), "aggregate.jain > 0.5", jobs, 5000).0;
    assert_eq!(on(1).expect("it runs"), on(4).expect("it runs"));
}

#[test]
fn the_budget_ends_a_search_that_finds_nothing() {
    let (found, last) = search(&Arithmetic(narrow), "aggregate.jain > 0.4", 1, 300);
    assert_eq!(found.expect("it can be searched"), None);
    assert!((300..340).contains(&last.runs), "{last:?}");
    // It has come near: 0.5 is the least.
    assert!(last.nearest > 0.0 && last.nearest < 0.3, "{last:?}");
}

#[test]
fn without_a_value_nothing_breaks() {
    let (found, last) = search(&Arithmetic(|_| f64::NAN), "aggregate.jain > 0.4", 1, 64);
    assert_eq!(found.expect("it can be searched"), None);
    assert_eq!(last.tested, 0);
}

#[test]
fn a_fault_of_the_program_is_a_finding() {
    let world = Arithmetic(|cell| {
        assert!(bulk(cell) < 12.0, "too many flows");
        1.0
    });
    let (found, _) = search(&world, "aggregate.jain > 0.4", 1, 500);
    let found = found.expect("it can be searched").expect("there is one");
    assert!(matches!(&found.broken, Broken::Bug(what) if what.contains("too many flows")));
    assert!(found.text.contains("count = 12"), "{}", found.text);
}
