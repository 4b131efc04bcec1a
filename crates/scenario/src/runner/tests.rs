//! With a world of our own making: results keep the grid's order, failures stay alone.

use super::*;
use sojourn_world::{Aggregate, Cost, WorldName};

/// Takes longer for earlier cells, so that with several threads later ones finish first.
struct Fake;

impl World for Fake {
    fn name(&self) -> WorldName {
        WorldName::new("sim")
    }

    fn run(
        &self,
        cell: &Cell,
        _: Taps,
        progress: sojourn_world::Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let mut digest = cell.seed;
        for step in 0..(20 - cell.seed.min(20)) * 2000 {
            digest = sojourn_random::mix(digest ^ step);
            if step % 100 == 0 && progress(Time::from_nanos(step)).is_break() {
                return Err(WorldError::Interrupted);
            }
        }
        match cell.seed {
            3 => Err(WorldError::Missing),
            5 => panic!("five is a bug"),
            _ => Ok(RunResult {
                world: WorldName::new("sim"),
                seed: cell.seed,
                params: Vec::new(),
                links: Vec::new(),
                flows: Vec::new(),
                aggregate: Aggregate::default(),
                // A wall time, so that the runner adds none of its own.
                cost: Cost {
                    wall_s: 1.0,
                    peak_rss_bytes: 1,
                    ..Cost::default()
                },
                digest,
                radio: None,
                program: None,
            }),
        }
    }
}

fn cells() -> Vec<Cell> {
    let text = r#"
        format = "sojourn-scenario/1"
        name = "test"
        duration = "1s"
        seeds = 12
        dumbbell = { rate = "1mbit" }
        flow = [{ name = "a", direction = "up", app = "bulk" }]
    "#;
    let path = std::path::Path::new("");
    let scenario = crate::Scenario::parse("test", text, path, &crate::Options::default());
    scenario
        .unwrap_or_else(|problems| panic!("{problems}"))
        .cells
}

fn jobs(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

#[test]
fn the_order_does_not_depend_on_the_jobs() {
    let (cells, stop) = (cells(), AtomicBool::new(false));
    let alone = run(&Fake, &cells, jobs(1), &stop, &());
    assert_eq!(alone.len(), 12);
    for number in [2, 5, 64] {
        let together = run(&Fake, &cells, jobs(number), &stop, &());
        assert_eq!(format!("{together:?}"), format!("{alone:?}"));
    }
    for (cell, outcome) in cells.iter().zip(&alone) {
        match cell.seed {
            3 => assert!(matches!(outcome, Err(WorldError::Missing))),
            5 => {
                let error = outcome.as_ref().unwrap_err().to_string();
                assert_eq!(error, "the sim world has a bug: five is a bug");
            }
            seed => assert_eq!(outcome.as_ref().unwrap().seed, seed),
        }
    }
}

/// Stops everything when the second cell is done.
struct StopAtSecond<'a>(&'a AtomicBool, AtomicUsize);

impl Watch for StopAtSecond<'_> {
    fn progress(&self, _: usize, _: Time) {}

    fn done(&self, _: usize, _: &Outcome) {
        if self.1.fetch_add(1, Ordering::Relaxed) == 1 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_stop_interrupts_what_runs_and_begins_nothing() {
    let (cells, stop) = (cells(), AtomicBool::new(false));
    let watch = StopAtSecond(&stop, AtomicUsize::new(0));
    let outcomes = run(&Fake, &cells, jobs(1), &stop, &watch);
    assert!(outcomes[..2].iter().all(Result::is_ok));
    assert!(
        outcomes[2..]
            .iter()
            .all(|outcome| matches!(outcome, Err(WorldError::Interrupted)))
    );
}
