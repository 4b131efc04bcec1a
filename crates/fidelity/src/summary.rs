//! What a matrix says of two worlds, in a table and a list.

use crate::compare::{Cause, Difference, Pair, Verdict};
use crate::figure::FIGURES;
use crate::matrix::{Matrix, MatrixCell};
use sojourn_report::significant;

/// What a matrix says of a pair of worlds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The two.
    pub pair: Pair,
    /// How many cells both have.
    pub cells: usize,
    /// By phase, and last over all, if there are several.
    pub rows: Vec<PhaseSummary>,
    /// Every cell with means apart by more than the tolerance: those that differ, the worst first,
    /// and behind them those that are undecided.
    pub worst: Vec<Worst>,
    /// How many of these differences are whose, in the order of first mention.
    pub causes: Vec<(Cause, usize)>,
    /// Of each undecided figure that has an interval about how many seeds would decide it, the
    /// fewest first; those that no number would decide are last.
    pub needs: Vec<Option<usize>>,
}

/// A phase in a [`Summary`].
#[derive(Clone, Debug)]
pub struct PhaseSummary {
    /// Its name, or `all`.
    pub phase: String,
    /// Of each of [`FIGURES`].
    pub tallies: [Tally; FIGURES.len()],
    /// Of each: the median size of the relative difference, as a share; none without a cell.
    pub median: [Option<f64>; FIGURES.len()],
}

/// How the cells of a phase come out in a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cells that have the figure in both worlds.
    pub cells: usize,
    /// Of these the ones that are equal …
    pub equal: usize,
    /// … different …
    pub different: usize,
    /// … or undecided.
    pub undecided: usize,
    /// Those whose means are within the tolerance, whatever the seeds say.
    pub within: usize,
    /// Those with an interval: of several seeds in both worlds.
    pub with_interval: usize,
    /// Those of them whose interval excludes zero …
    pub apart: usize,
    /// … and of these the ones where the first world has more.
    pub above: usize,
}

impl Tally {
    fn count(&mut self, difference: &Difference) {
        self.cells += 1;
        *match difference.verdict() {
            Verdict::Equal => &mut self.equal,
            Verdict::Different => &mut self.different,
            Verdict::Undecided => &mut self.undecided,
        } += 1;
        self.within += usize::from(difference.within());
        if let Some(apart) = difference.excludes_zero() {
            self.with_interval += 1;
            self.apart += usize::from(apart);
            self.above += usize::from(apart && difference.absolute() > 0.0);
        }
    }

    /// `equal/different/undecided`; a dash without a cell.
    pub fn show(&self) -> String {
        match self.cells {
            0 => "–".to_owned(),
            _ => format!("{}/{}/{}", self.equal, self.different, self.undecided),
        }
    }
}

/// A cell in which two worlds differ.
#[derive(Clone, Debug)]
pub struct Worst {
    /// Which.
    pub place: MatrixCell,
    /// All its differences, in the order of [`FIGURES`]. Each that the seeds show has its cause.
    pub differences: Vec<(Difference, Option<Cause>)>,
}

impl Worst {
    /// Its largest difference, among those that the seeds show where there is one.
    pub fn largest(&self) -> (&Difference, Option<Cause>) {
        let sizes = self.differences.iter();
        let largest = sizes.max_by(|(a, _), (b, _)| {
            let shown = is_different(a).cmp(&is_different(b));
            shown.then(a.size().total_cmp(&b.size()))
        });
        let (difference, cause) = largest.expect("a cell in this list has a difference");
        (difference, *cause)
    }
}

impl Summary {
    /// Over all phases; none without a cell.
    pub fn all_phases(&self) -> Option<&PhaseSummary> {
        self.rows.last()
    }

    /// How many figures are undecided, and of how many.
    pub fn undecided(&self) -> (usize, usize) {
        let tallies = self.all_phases().into_iter().flat_map(|row| row.tallies);
        tallies.fold((0, 0), |(undecided, of), tally| {
            (undecided + tally.undecided, of + tally.cells)
        })
    }

    /// About how many seeds would decide the undecided figures, in a sentence; none without one
    /// that has an interval.
    pub fn seeds_to_decide(&self) -> Option<String> {
        let of = |share: usize| {
            let last = (self.needs.len() * share).div_ceil(100).checked_sub(1)?;
            self.needs.get(last)
        };
        let words =
            |seeds: &Option<usize>| seeds.map_or("no number".to_owned(), |seeds| seeds.to_string());
        Some(format!(
            "About {} seeds a cell would decide half of these, {} nine in ten.",
            words(of(50)?),
            words(of(90)?)
        ))
    }

    /// The strongest evidence: of each figure in how many cells the interval of the difference
    /// excludes zero, and in how many of these the first world has more.
    pub fn evidence(&self) -> Vec<String> {
        let row = self.all_phases().into_iter();
        let all = row.flat_map(|row| FIGURES.iter().zip(row.tallies));
        all.filter(|(_, tally)| tally.with_interval > 0)
            .map(|(figure, tally)| {
                let share = 100 * tally.apart / tally.with_interval;
                format!(
                    "{} {} of {} ({share} %), {} of them above",
                    figure.title, tally.apart, tally.with_interval, tally.above
                )
            })
            .collect()
    }

    /// Of every pair of worlds in `matrix`.
    pub fn all(matrix: &Matrix) -> Vec<Self> {
        let pairs = Pair::all(matrix).into_iter();
        pairs.map(|pair| Self::of(pair, matrix)).collect()
    }

    fn of(pair: Pair, matrix: &Matrix) -> Self {
        let cells = pair.differences(matrix);
        let mut phases: Vec<&str> = cells.iter().map(|(place, _)| &*place.phase).collect();
        phases.dedup();
        let mut rows: Vec<PhaseSummary> = phases
            .iter()
            .map(|phase| {
                row(
                    phase,
                    cells.iter().filter(|(place, _)| place.phase == *phase),
                )
            })
            .collect();
        if rows.len() != 1 {
            rows.push(row("all", cells.iter()));
        }
        let mut causes: Vec<(Cause, usize)> = Vec::new();
        let mut worst: Vec<Worst> = Vec::new();
        for (place, differences) in &cells {
            let whose = |difference: &Difference| pair.cause(matrix, place, difference);
            if differences.iter().all(Difference::within) {
                continue;
            }
            let differences: Vec<_> = differences.iter().map(|d| (*d, whose(d))).collect();
            for cause in differences.iter().filter_map(|(_, cause)| *cause) {
                match causes.iter_mut().find(|(known, _)| *known == cause) {
                    Some((_, count)) => *count += 1,
                    None => causes.push((cause, 1)),
                }
            }
            let place = (*place).clone();
            worst.push(Worst { place, differences });
        }
        let all = cells.iter().flat_map(|(_, differences)| differences);
        let open = all.filter(|one| one.verdict() == Verdict::Undecided && one.ci95().is_some());
        let mut needs: Vec<Option<usize>> =
            open.map(|one| one.seeds_to_decide([true, true])).collect();
        needs.sort_by_key(|seeds| seeds.unwrap_or(usize::MAX));
        // Stable: equal ones stay in the grid's order.
        worst.sort_by(|a, b| {
            let (a, b) = (a.largest().0, b.largest().0);
            let shown = is_different(b).cmp(&is_different(a));
            shown.then(b.size().total_cmp(&a.size()))
        });
        Self {
            pair,
            cells: cells.len(),
            rows,
            worst,
            causes,
            needs,
        }
    }
}

fn is_different(difference: &Difference) -> bool {
    difference.verdict() == Verdict::Different
}

fn row<'a>(
    phase: &str,
    cells: impl Iterator<Item = &'a (&'a MatrixCell, Vec<Difference>)>,
) -> PhaseSummary {
    let mut tallies = [Tally::default(); FIGURES.len()];
    let mut shares: [Vec<f64>; FIGURES.len()] = Default::default();
    for difference in cells.flat_map(|(_, differences)| differences) {
        let figure = FIGURES.iter().position(|f| f.key == difference.figure.key);
        let index = figure.expect("a difference is of a figure");
        tallies[index].count(difference);
        shares[index].extend(difference.relative().map(f64::abs));
    }
    PhaseSummary {
        phase: phase.to_owned(),
        tallies,
        median: shares.map(|mut shares| {
            shares.sort_by(f64::total_cmp);
            shares.get(shares.len() / 2).copied()
        }),
    }
}

impl Difference {
    /// Both values with the figure's unit, and the difference: `9.21, 9.30 Mbit/s (−1.0 %)`.
    pub fn show(&self) -> String {
        let value = |mean: f64| significant(mean, 3);
        let (first, other) = (value(self.first.mean), value(self.other.mean));
        let unit = self.figure.unit;
        let space = if unit.is_empty() { "" } else { " " };
        format!("{first}, {other}{space}{unit} ({})", self.show_relative())
    }

    /// The difference as a share of the second value in per cent, with its sign and interval.
    pub fn show_relative(&self) -> String {
        let Some(relative) = self.relative() else {
            return format!("{:+.0}", self.absolute());
        };
        let percent = |share: f64| {
            let digits = usize::from(share.abs() < 0.0995);
            format!("{:.digits$}", 100.0 * share)
        };
        let sign = if relative > 0.0 { "+" } else { "" };
        let interval = self
            .ci95()
            .map(|ci| ci / self.other.mean.abs())
            .map_or_else(String::new, |ci| format!(" ± {}", percent(ci)));
        format!("{sign}{}{interval} %", percent(relative))
    }
}
