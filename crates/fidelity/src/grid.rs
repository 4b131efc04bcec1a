//! The grid: a scenario for each phase, built into the program from `scenarios/fidelity/`.

use crate::matrix::MatrixCell;
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_world::Cell;
use std::path::Path;

/// Of how many combinations `--quick` takes one: a number that shares no factor with the axes'
/// lengths, so that every queue and every congestion control comes up.
const STRIDE: usize = 11;

macro_rules! phases {
    ($($name:literal: $title:literal),+ $(,)?) => {
        /// Name, title and text of each phase.
        const PHASES: &[(&str, &str, &str)] = &[$((
            $name,
            $title,
            include_str!(concat!("../scenarios/", $name, ".toml")),
        )),+];
    };
}

phases! {
    "start-up": "the first 4 s",
    "steady": "long flows after start-up",
    "files": "1 MB every 3 s",
    "overload": "beside datagrams that do not yield",
    "ecn": "long flows with classic ECN",
    "mixed": "two congestion controls side by side",
    "both-ways": "four uploads and four downloads",
    "small": "small files beside an upload",
    "rate-steps": "a fifth of the rate for 5 s",
    "options": "options of queues",
    "wide": "1 to 200 Mbit/s, 5 to 300 ms, up to 32 flows",
}

/// What is to be run of a phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, that of its scenario file.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Every chosen combination with every seed; the seed changes fastest.
    pub cells: Vec<Cell>,
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The phases that have cells.
    pub phases: Vec<Phase>,
}

impl Grid {
    /// The grid with so many seeds; `quick` takes one combination of eleven. With `names` only
    /// cells whose name ([`MatrixCell`]) contains one of them.
    ///
    /// # Errors
    /// When a built-in scenario cannot be read: a fault of the program.
    pub fn new(seeds: u64, quick: bool, names: &[String]) -> Result<Self, Problems> {
        let options = Options {
            seeds: Some(seeds),
            ..Options::default()
        };
        let mut phases = Vec::new();
        let mut number = 0;
        for &(name, title, text) in PHASES {
            let scenario = Scenario::parse(name, text, Path::new(""), &options)?;
            let mut cells = Vec::new();
            for combination in scenario.cells.chunks(seeds as usize) {
                let called = MatrixCell::of(name, &combination[0].params).name();
                let named = names.is_empty() || names.iter().any(|part| called.contains(part));
                if named && (!quick || number % STRIDE == 0) {
                    cells.extend_from_slice(combination);
                }
                number += 1;
            }
            if !cells.is_empty() {
                phases.push(Phase { name, title, cells });
            }
        }
        Ok(Self { phases })
    }

    /// With so many of each cell's seeds only, the first ones.
    #[must_use]
    pub fn with_seeds(mut self, seeds: impl Fn(&MatrixCell) -> u64) -> Self {
        for phase in &mut self.phases {
            let name = phase.name;
            let wanted = |cell: &Cell| cell.seed <= seeds(&MatrixCell::of(name, &cell.params));
            phase.cells.retain(wanted);
        }
        self
    }

    /// The places of all its cells, each once.
    pub fn places(&self) -> Vec<MatrixCell> {
        let mut places: Vec<MatrixCell> = Vec::new();
        for phase in &self.phases {
            for cell in &phase.cells {
                let place = MatrixCell::of(phase.name, &cell.params);
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_the_cells_own() {
        let grid = Grid::new(1, false, &[]).expect("the built-in scenarios are right");
        let places = grid.places();
        let names: BTreeSet<String> = places.iter().map(MatrixCell::name).collect();
        assert_eq!(names.len(), places.len());
        assert!(places.len() >= 500, "{} cells", places.len());
        let [steady] = &Grid::new(3, false, &["steady/10mbit/50ms/codel/cubic/4".into()])
            .expect("they are")
            .phases[..]
        else {
            panic!("one phase has it");
        };
        assert_eq!(steady.cells.len(), 3);
    }

    #[test]
    fn each_cell_may_have_seeds_of_its_own_number() {
        let names = ["steady/10mbit/50ms/codel/cubic".into()];
        let grid = Grid::new(5, false, &names)
            .expect("the built-in scenarios are right")
            .with_seeds(|place| if place.values[4] == "1" { 4 } else { 2 });
        let seeds = grid.phases[0].cells.iter().map(|cell| cell.seed);
        assert_eq!(seeds.collect::<Vec<_>>(), [1, 2, 3, 4, 1, 2]);
    }

    #[test]
    fn a_quick_grid_has_every_queue_and_every_control() {
        let grid = Grid::new(1, true, &[]).expect("the built-in scenarios are right");
        let values = |place: fn(&MatrixCell) -> &str, all: &Grid| -> BTreeSet<String> {
            all.places().iter().map(|p| place(p).to_owned()).collect()
        };
        let whole = Grid::new(1, false, &[]).expect("they are");
        for of in [
            (|p| p.values[2].split(' ').next().unwrap_or_default()) as fn(&MatrixCell) -> &str,
            |p| p.values[3].as_str(),
            |p| p.phase.as_str(),
        ] {
            assert_eq!(values(of, &grid), values(of, &whole));
        }
        assert!(grid.places().len() <= 60);
    }
}
