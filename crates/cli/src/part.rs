//! Which of a scenario's runs are run here: a shard of them, without those that are there already.

use crate::WrongInput;
use sojourn_report::SUMMARY;
use sojourn_world::{Cell, RunResult, ScenarioInfo, WorldName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The runs with the numbers I, I + N, I + 2N and so on, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some(_) => Err("shards count from 1: `1/8` to `8/8`".to_owned()),
            None => Err("expected I/N, for example `3/8`".to_owned()),
        }
    }
}

impl Shard {
    /// Leaves only its own. Returns which ones those are.
    pub(crate) fn of(self, cells: &mut Vec<Cell>) -> sojourn_world::Shard {
        let Self { number, of } = self;
        let shard = sojourn_world::Shard {
            number,
            of,
            runs: cells.len(),
        };
        *cells = shard.places().map(|place| cells[place].clone()).collect();
        shard
    }
}

/// What is run of some cells in one world.
pub(crate) struct Part {
    /// The cells that are run.
    pub(crate) left: Vec<Cell>,
    /// What is there already.
    there: Vec<RunResult>,
    /// The place of each cell among all.
    order: BTreeMap<Key, usize>,
}

/// A run by its parameters and its seed.
type Key = (Vec<(String, String)>, u64);

impl Part {
    /// All of them.
    pub(crate) fn whole(cells: &[Cell]) -> Self {
        let keys = cells.iter().map(|cell| (cell.params.clone(), cell.seed));
        Self {
            left: cells.to_vec(),
            there: Vec::new(),
            order: keys.zip(0..).collect(),
        }
    }

    /// What was run now with what was there, in the order of the cells.
    pub(crate) fn with(&self, mut results: Vec<RunResult>) -> Vec<RunResult> {
        results.extend(self.there.iter().cloned());
        let place = |run: &RunResult| self.order.get(&(run.params.clone(), run.seed)).copied();
        results.sort_by_cached_key(place);
        results
    }
}

/// What `dir` lacks of the cells, and what it holds of them, run by this version of the program.
///
/// # Errors
/// When the folder is damaged, or holds another scenario.
pub(crate) fn resumed(
    info: &ScenarioInfo,
    cells: &[Cell],
    world: &WorldName,
    dir: &Path,
) -> Result<Part, WrongInput> {
    let mut part = Part::whole(cells);
    if !dir.join(SUMMARY).exists() {
        return Ok(part);
    }
    let held = sojourn_report::merge(&[PathBuf::from(dir)]).map_err(WrongInput::from)?;
    if held.info.source != info.source {
        let dir = dir.display();
        return Err(WrongInput(format!(
            "--resume: {dir} holds results of another scenario, or of another text of this one"
        )));
    }
    let mut wanted = part.order.clone();
    part.there = held.results;
    part.there.retain(|run| {
        let ours = run.program.as_deref() == Some(sojourn_version::VERSION);
        let is_kept = ours && run.world == *world;
        is_kept && wanted.remove(&(run.params.clone(), run.seed)).is_some()
    });
    let lacks = |cell: &Cell| wanted.contains_key(&(cell.params.clone(), cell.seed));
    part.left.retain(lacks);
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::Shard;
    use sojourn_units::Span;
    use sojourn_world::{Cell, Network};

    #[test]
    fn shards_share_the_runs_out() {
        let all = || {
            let cell = |seed| Cell {
                seed,
                ..Cell::new("test", Network::new(["a"]), Vec::new(), Span::ZERO)
            };
            (1..=7).map(cell).collect::<Vec<_>>()
        };
        let seeds = |text: &str| {
            let mut cells = all();
            text.parse::<Shard>().expect("it is one").of(&mut cells);
            cells.iter().map(|cell| cell.seed).collect::<Vec<_>>()
        };
        assert_eq!(seeds("1/3"), [1, 4, 7]);
        assert_eq!(seeds("2/3"), [2, 5]);
        assert_eq!(seeds("3/3"), [3, 6]);
        assert_eq!(seeds("1/1"), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(seeds("8/9"), [0; 0]);
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
