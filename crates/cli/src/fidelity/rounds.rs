//! `--decide`: more seeds where they decide most figures for what they cost.

use super::{Ready, SEEDS, TABLE};
use anyhow::Context as _;
use sojourn_fidelity::{GOODPUT, Grid, Matrix, MatrixCell, Phase};
use sojourn_world::{Cell, WorldName};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the beginning of a run costs, in packets: a guest's boot takes as long as so many of them.
const START: f64 = 12_000.0;
/// Bits of a packet.
const PACKET: f64 = 12_000.0;

/// How far seeds may be added.
pub(super) struct Rounds<'a> {
    /// Up to so many of a cell.
    pub(super) most: usize,
    /// How many runs are left, over all worlds.
    pub(super) left: u64,
    /// With but one world: the one it is held against, which gets no seeds.
    pub(super) beside: Option<&'a WorldName>,
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

/// What is to be done next for a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// How many seeds it has then, in each world that is run.
    goal: usize,
    /// Figures decided for a packet; infinite where runs are needed before this can be said.
    worth: f64,
}

impl Rounds<'_> {
    /// Adds seeds, the same in all of `worlds`, to the cells of `matrix` whose figures these do not
    /// decide: step by step where a step decides most for its cost. What has been run is written
    /// into the folder after each step. Failures are returned; a cell with one gets no more seeds.
    ///
    /// The next step depends on figures alone, not on how long a run took: whoever goes on from the
    /// table takes the same ones.
    pub(super) fn decide(
        &mut self,
        grid: &Grid,
        worlds: &[Ready],
        matrix: &mut Matrix,
    ) -> anyhow::Result<Vec<String>> {
        let names: Vec<&WorldName> = worlds.iter().map(|world| &world.square.world).collect();
        let groups = groups(grid);
        let mut steps: Vec<Option<Step>> = groups
            .iter()
            .map(|group| self.step(group, matrix, &names))
            .collect();
        let mut failures = Vec::new();
        while let Some((at, step)) = self.next(&groups, &steps, matrix, &names) {
            let failed = self.add(&groups[at], worlds, matrix, step.goal)?;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let again = failed
                .is_empty()
                .then(|| self.step(&groups[at], matrix, &names));
            steps[at] = again.flatten();
            failures.extend(failed);
        }
        Ok(failures)
    }

    /// The next step of a cell; none when all is decided, or as many seeds have been run as may be.
    fn step(&self, group: &Group<'_>, matrix: &Matrix, names: &[&WorldName]) -> Option<Step> {
        let has = has(group, matrix, names);
        let most = has.iter().copied().max()?;
        let seeds = |world: &WorldName| matrix.get(&group.place, world).map_or(0, |it| it.seeds);
        if self.beside.is_some_and(|beside| seeds(beside) < 2) {
            return None;
        }
        let Some(needs) = matrix.seeds_to_decide(&group.place, names, self.beside) else {
            let goal = most.max(SEEDS as usize).min(self.most);
            return has.iter().any(|&has| has < goal).then_some(Step {
                goal,
                worth: f64::INFINITY,
            });
        };
        let packets = names
            .iter()
            .filter_map(|name| matrix.get(&group.place, name)?.figures[GOODPUT])
            .map(|goodput| goodput.mean * 1e6 * group.seeds[0].duration.as_secs_f64() / PACKET)
            .fold(0.0, f64::max);
        step(most, &needs, self.most, START + packets)
    }

    /// The step that is worth most, the first of those alike, and its cell. Steps of more runs than
    /// are left are passed by.
    fn next(
        &self,
        groups: &[Group<'_>],
        steps: &[Option<Step>],
        matrix: &Matrix,
        names: &[&WorldName],
    ) -> Option<(usize, Step)> {
        let mut best: Option<(usize, Step)> = None;
        for (at, step) in steps.iter().enumerate() {
            let Some(step) = step.filter(|step| best.is_none_or(|(_, b)| b.worth < step.worth))
            else {
                continue;
            };
            let has = has(&groups[at], matrix, names);
            let lacking: usize = has.iter().map(|&has| step.goal.saturating_sub(has)).sum();
            if lacking as u64 <= self.left {
                best = Some((at, step));
            }
        }
        best
    }

    /// Adds seeds to a cell, up to this many, and writes the table; what failed.
    fn add(
        &mut self,
        group: &Group<'_>,
        worlds: &[Ready],
        matrix: &mut Matrix,
        goal: usize,
    ) -> anyhow::Result<Vec<String>> {
        let mut found = Matrix::default();
        for world in worlds {
            let entry = matrix.get(&group.place, &world.square.world);
            let from = entry.map_or(0, |entry| entry.seeds);
            if from >= goal {
                continue;
            }
            self.left -= (goal - from) as u64;
            let cells = &group.seeds[from..goal];
            let (more, failed) = world.run(group.phase.name, cells, self.stop);
            if self.stop.load(Ordering::Relaxed) || !failed.is_empty() {
                return Ok(failed);
            }
            found.merge(more);
        }
        // All worlds or none: what is written has equally many seeds in each that is run.
        matrix.add(found);
        let files = [(TABLE.into(), &*matrix.csv())];
        sojourn_report::write_files(self.dir, &files)
            .with_context(|| format!("--out {}", self.dir.display()))?;
        Ok(Vec::new())
    }
}

/// How many seeds each of these worlds has of a cell.
fn has(group: &Group<'_>, matrix: &Matrix, names: &[&WorldName]) -> Vec<usize> {
    let seeds = |name: &&WorldName| matrix.get(&group.place, name).map_or(0, |one| one.seeds);
    names.iter().map(seeds).collect()
}

/// The next step of a cell with so many seeds, whose open figures need so many each, the fewest
/// first; of up to `most`. A run of it costs so many packets.
///
/// A figure counts by the seeds that it needs; several count together where that is better. What is
/// estimated from few seeds may be wrong, so a step adds as many as there are, at most. And it adds
/// a quarter at least: each look at the figures is another chance to decide one wrongly.
fn step(has: usize, needs: &[usize], most: usize, packets: f64) -> Option<Step> {
    let worth = |(figures, need): (usize, &usize)| (figures + 1) as f64 / (need - has) as f64;
    let best = needs.iter().enumerate().max_by(|a, b| {
        // Of those alike the first.
        worth(*a).total_cmp(&worth(*b)).then(b.0.cmp(&a.0))
    })?;
    let goal = (*best.1).clamp(has + has.div_ceil(4), 2 * has).min(most);
    (goal > has).then_some(Step {
        goal,
        worth: worth(best) / packets,
    })
}

/// The cells of the grid.
fn groups(grid: &Grid) -> Vec<Group<'_>> {
    let phases = grid.phases.iter();
    let groups = phases.flat_map(|phase| {
        let cells = phase.cells.chunk_by(|a, b| a.params == b.params);
        cells.map(move |seeds| Group {
            phase,
            seeds,
            place: MatrixCell::of(phase.name, &seeds[0].params),
        })
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: six more seeds decide one figure, ten more decide two, and 90 more three.
    #[test]
    fn a_step_goes_where_most_is_decided_for_its_runs() {
        let goal = |has, needs: &[usize], most| step(has, needs, most, 1.0).map(|step| step.goal);
        assert_eq!(goal(20, &[26, 30, 110], 100), Some(30));
        assert_eq!(goal(20, &[26, 40, 110], 100), Some(26));
        // A quarter of them at least, as many again at most, and never more than are wanted.
        assert_eq!(goal(20, &[21], 100), Some(25));
        assert_eq!(goal(3, &[900], 100), Some(6));
        assert_eq!(goal(3, &[4], 100), Some(4));
        assert_eq!(goal(60, &[900], 100), Some(100));
        assert_eq!(goal(100, &[900], 100), None);
        assert_eq!(goal(20, &[], 100), None);
    }

    #[test]
    fn a_cheap_run_is_worth_more() {
        let worth =
            |needs: &[usize], packets| step(20, needs, 100, packets).expect("there is one").worth;
        assert!(worth(&[30], 1000.0) > worth(&[30], 2000.0));
        assert!(worth(&[40], 1000.0) > worth(&[30], 2500.0));
        assert!((worth(&[30, 30], 50.0) - 2.0 / 10.0 / 50.0).abs() < 1e-12);
    }
}
