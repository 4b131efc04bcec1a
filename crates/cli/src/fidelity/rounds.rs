//! `--decide`: more seeds where figures are undecided.

use super::{Ready, SEEDS, TABLE};
use anyhow::Context as _;
use sojourn_fidelity::{Grid, Matrix, MatrixCell, Phase};
use sojourn_world::{Cell, WorldName};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far seeds may be added.
pub(super) struct Rounds<'a> {
    /// Up to so many of a cell.
    pub(super) most: usize,
    /// How many runs are left, over all worlds.
    pub(super) left: u64,
    /// Where the table goes.
    pub(super) dir: &'a Path,
    /// Whether it is to end.
    pub(super) stop: &'a AtomicBool,
}

/// A cell with all its seeds.
struct Group<'a> {
    phase: &'a Phase,
    seeds: &'a [Cell],
    place: MatrixCell,
}

impl Rounds<'_> {
    /// Adds seeds, the same in all worlds, to the cells of `matrix` whose figures these do not
    /// decide, in rounds that double them. What has been run is written into the folder after each
    /// cell. Failures are returned; a cell with one gets no more seeds in this round.
    pub(super) fn decide(
        &mut self,
        grid: &Grid,
        worlds: &[Ready],
        matrix: &mut Matrix,
    ) -> anyhow::Result<Vec<String>> {
        let names: Vec<&WorldName> = worlds.iter().map(|world| &world.square.world).collect();
        let mut failures = Vec::new();
        let mut round = (SEEDS as usize).min(self.most);
        loop {
            for group in in_order(grid, matrix, &names) {
                failures.extend(self.add(&group, worlds, matrix, round)?);
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(failures);
                }
            }
            if round == self.most || self.left == 0 {
                return Ok(failures);
            }
            round = (2 * round).min(self.most);
        }
    }

    /// Adds seeds to a cell, up to those of this round, and writes the table; what failed.
    fn add(
        &mut self,
        group: &Group<'_>,
        worlds: &[Ready],
        matrix: &mut Matrix,
        round: usize,
    ) -> anyhow::Result<Vec<String>> {
        let names: Vec<&WorldName> = worlds.iter().map(|world| &world.square.world).collect();
        let has = |name: &&WorldName| matrix.get(&group.place, name).map_or(0, |one| one.seeds);
        let has: Vec<usize> = names.iter().map(has).collect();
        let goal = has.iter().copied().fold(round, usize::max);
        let lacking: usize = has.iter().map(|has| goal - has).sum();
        if lacking == 0 || lacking as u64 > self.left || matrix.is_decided(&group.place, &names) {
            return Ok(Vec::new());
        }
        self.left -= lacking as u64;
        for (world, &from) in worlds.iter().zip(&has).filter(|(_, has)| **has < goal) {
            let wanted = group.seeds.get(from..goal.min(group.seeds.len()));
            let (found, failed) =
                world.run(group.phase.name, wanted.unwrap_or_default(), self.stop);
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            if !failed.is_empty() {
                return Ok(failed);
            }
            matrix.add(found);
        }
        let files = [(TABLE.into(), &*matrix.csv())];
        sojourn_report::write_files(self.dir, &files)
            .with_context(|| format!("--out {}", self.dir.display()))?;
        Ok(Vec::new())
    }
}

/// The cells, those first of which a figure needs the fewest seeds; alike ones in the grid's order.
fn in_order<'a>(grid: &'a Grid, matrix: &Matrix, names: &[&WorldName]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = grid
        .phases
        .iter()
        .flat_map(|phase| {
            let cells = phase.cells.chunk_by(|a, b| a.params == b.params);
            cells.map(move |seeds| Group {
                phase,
                seeds,
                place: MatrixCell::of(phase.name, &seeds[0].params),
            })
        })
        .collect();
    groups.sort_by_cached_key(|group| {
        let needs = matrix.seeds_to_decide_one(&group.place, names);
        needs.unwrap_or(usize::MAX)
    });
    groups
}
