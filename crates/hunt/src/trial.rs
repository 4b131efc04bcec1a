//! Points tried: their scenarios run, and what came of the property.

use crate::point::Point;
use crate::search::Hunt;
use crate::states::{States, states};
use sojourn_scenario::Problems;
use sojourn_study::Tested;
use sojourn_world::{Cell, WorldError};

/// What came of a point.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) point: Point,
    pub(crate) came: Came,
    /// Runs that it took.
    pub(crate) runs: usize,
}

#[derive(Debug)]
pub(crate) enum Came {
    /// There is no such scenario: values do not go together.
    Unfit(Problems),
    /// A run has no result: the world cannot run it, or was interrupted.
    Refused(WorldError),
    /// Its runs, with what they say of the property and the states in them.
    Run(Option<Tested>, States),
    /// The world itself came to grief.
    Bug(String),
}

/// How a property broke.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// A check does not hold.
    Check(Tested),
    /// A run ended with a fault of the program.
    Bug(String),
}

impl Trial {
    /// How it broke the property; none if it did not.
    pub(crate) fn broken(&self) -> Option<Broken> {
        match &self.came {
            Came::Run(Some(tested), _) if tested.is_broken => Some(Broken::Check(tested.clone())),
            Came::Bug(what) => Some(Broken::Bug(what.clone())),
            _ => None,
        }
    }

    /// How far it is from breaking.
    pub(crate) fn margin(&self) -> f64 {
        match &self.came {
            Came::Run(Some(tested), _) => tested.margin,
            Came::Bug(_) => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        }
    }
}

impl Hunt<'_> {
    /// Tries points side by side; what came of them is in their order.
    pub(crate) fn trials(&self, points: Vec<Point>) -> Vec<Trial> {
        let read = points.into_iter().map(|point| {
            let seeds: Vec<u64> = (0..self.seeds)
                .map(|n| point.seed.wrapping_add(n))
                .collect();
            let read = self.space.scenario(&point.genes, &seeds);
            (point, read.map(|scenario| scenario.cells))
        });
        let read: Vec<_> = read.collect();
        let cells: Vec<&Cell> = read
            .iter()
            .flat_map(|(_, cells)| cells.iter().flatten())
            .collect();
        let mut outcomes = self.run(&cells).into_iter();
        let trials = read.into_iter().map(|(point, cells)| match cells {
            Ok(cells) => {
                let own = outcomes.by_ref().take(cells.len()).collect();
                self.trial(point, &cells, own)
            }
            Err(problems) => Trial {
                point,
                came: Came::Unfit(problems),
                runs: 0,
            },
        });
        trials.collect()
    }

    /// The outcomes of cells, in their order.
    fn run(&self, cells: &[&Cell]) -> Vec<sojourn_scenario::Outcome> {
        let outcomes = std::sync::Mutex::new(Vec::new());
        sojourn_scenario::each(
            self.world,
            cells,
            self.jobs,
            self.stop,
            &(),
            &|index, outcome| {
                let mut outcomes = outcomes.lock().expect("nobody panics who holds it");
                outcomes.push((index, outcome));
            },
        );
        let mut outcomes = outcomes.into_inner().expect("all threads are done");
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn trial(&self, point: Point, cells: &[Cell], own: Vec<sojourn_scenario::Outcome>) -> Trial {
        let runs = cells.len();
        let mut marks = States::new();
        for outcome in &own {
            match outcome {
                Ok(run) => states(run, &mut marks),
                Err(WorldError::Bug { what, .. }) => {
                    let came = Came::Bug(what.clone());
                    return Trial { point, came, runs };
                }
                Err(error) => {
                    let came = Came::Refused(error.clone());
                    return Trial { point, came, runs };
                }
            }
        }
        let came = Came::Run(self.property.test(cells, own), marks);
        Trial { point, came, runs }
    }
}
