//! Which of a scenario's runs are run here, where several machines share them out.

use sojourn_world::Cell;
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
        let numbers = text
            .split_once('/')
            .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some(_) => Err(format!("`{text}`: shards count from 1, so `1/8` to `8/8`")),
            None => Err(format!(
                "`{text}` is not a shard; expected I/N, for example `3/8`"
            )),
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
