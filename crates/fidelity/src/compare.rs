//! Two worlds side by side, and whose a difference is.

use crate::figure::{FIGURES, Figure};
use crate::matrix::{Entry, Matrix, MatrixCell, Mean};
use crate::square::{Square, rank};
use sojourn_report::student_t_975;
use sojourn_world::WorldName;

/// Seeds that nobody runs: what so many do not decide counts as what none do.
const MOST_SEEDS: usize = 1_000_000;

/// Seeds by which a difference is confirmed. Drops and delays come in clusters, so that the
/// intervals of three or four seeds are often too narrow, and show differences that are chance.
const CONFIRMED: usize = 12;

/// Two worlds of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The one that is held against …
    pub first: &'static Square,
    /// … this one.
    pub other: &'static Square,
}

/// A figure of a cell in two worlds.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Which figure.
    pub figure: &'static Figure,
    /// In the first world.
    pub first: Mean,
    /// In the other one.
    pub other: Mean,
    /// Seeds of the first world and of the other one.
    pub seeds: [usize; 2],
}

/// Whose a difference beyond the tolerance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The model's: with the kernel's TCP over our queues it is gone.
    Tcp,
    /// The queues': it is there with the kernel's TCP too.
    Queue,
    /// Of both, each a part.
    Both,
    /// Nobody knows: the kernel's TCP was not run over our queues.
    Unknown,
}

/// What the seeds say of a difference, beside its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The 95 % interval of the difference lies within the tolerance.
    Equal,
    /// The difference is beyond the tolerance, and its interval excludes zero.
    Different,
    /// Neither: more seeds would tell. Always so with one seed, which has no interval.
    Undecided,
}

impl Cause {
    /// In a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP model",
            Self::Queue => "queue code",
            Self::Both => "both",
            Self::Unknown => "not separated",
        }
    }
}

impl Difference {
    /// The first less the other.
    pub fn absolute(&self) -> f64 {
        self.first.mean - self.other.mean
    }

    /// The same as a share of the other; none when that is zero.
    pub fn relative(&self) -> Option<f64> {
        (self.other.mean != 0.0).then(|| self.absolute() / self.other.mean.abs())
    }

    /// How far the two may be apart.
    fn tolerance(&self) -> f64 {
        let around = self.figure.within.around(self.other.mean);
        around.max(self.scatter().unwrap_or(0.0))
    }

    /// The standard deviation between the other world's seeds, where it is part of the figure's
    /// tolerance and there are several.
    fn scatter(&self) -> Option<f64> {
        let seeds = self.figure.or_scatter.then_some(self.seeds[1])?;
        Some(self.other.error(seeds)? * libm::sqrt(seeds as f64))
    }

    /// Its size in tolerances: up to 1 the means agree.
    pub fn size(&self) -> f64 {
        match self.absolute().abs() {
            0.0 => 0.0,
            difference => difference / self.tolerance(),
        }
    }

    /// Whether the means agree, whatever their intervals are.
    pub fn within(&self) -> bool {
        self.size() <= 1.0
    }

    /// Half the width of the 95 % confidence interval of the difference, where both have one.
    ///
    /// Source: Welch (1947), with the degrees of freedom of Satterthwaite (1946), rounded down.
    pub fn ci95(&self) -> Option<f64> {
        Some(welch(self.errors()?, self.seeds))
    }

    /// The standard errors of both means, where both have one.
    fn errors(&self) -> Option<[f64; 2]> {
        let [n, m] = self.seeds;
        Some([self.first.error(n)?, self.other.error(m)?])
    }

    /// About how many seeds would decide it in the worlds that get more (`grows`), if means and
    /// scatter stayed as they are: as many as there are where they do, and more where they do not.
    /// None without an interval, and none where a million would not: the means are a tolerance
    /// apart, or the world that gets none scatters too much.
    pub fn seeds_to_decide(&self, grows: [bool; 2]) -> Option<usize> {
        let growing = || {
            self.seeds
                .into_iter()
                .zip(grows)
                .filter(|(_, grows)| *grows)
        };
        if self.verdict() != Verdict::Undecided {
            return growing().map(|(seeds, _)| seeds).max();
        }
        let errors = self.errors()?;
        let apart = self.absolute().abs();
        // What the interval must not reach: the tolerance's edge from inside, zero from outside.
        let margin = if self.within() {
            self.tolerance() - apart
        } else {
            apart
        };
        let decides = |seeds: usize| {
            let of = |at: usize| self.seeds[at].max(if grows[at] { seeds } else { 0 });
            let share = |at: usize| self.seeds[at] as f64 / of(at) as f64;
            let error = |at: usize| errors[at] * libm::sqrt(share(at));
            welch([error(0), error(1)], [of(0), of(1)]) <= margin
        };
        let mut least = growing().map(|(seeds, _)| seeds).min()? + 1;
        if !decides(MOST_SEEDS) {
            return None;
        }
        // More seeds make a narrower interval.
        let mut most = MOST_SEEDS;
        while least < most {
            let middle = usize::midpoint(least, most);
            if decides(middle) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        Some(most)
    }

    /// What the seeds say.
    pub fn verdict(&self) -> Verdict {
        let difference = self.absolute().abs();
        match self.ci95() {
            Some(ci) if difference + ci <= self.tolerance() => Verdict::Equal,
            Some(ci) if difference > ci && !self.within() => Verdict::Different,
            _ => Verdict::Undecided,
        }
    }

    /// Whether its 95 % interval excludes zero, however small it is; none without an interval. Of
    /// worlds that are alike one in twenty does.
    pub fn excludes_zero(&self) -> Option<bool> {
        self.ci95().map(|ci| self.absolute().abs() > ci)
    }
}

/// Half the width of the 95 % confidence interval of a difference between means with these standard
/// errors, over so many seeds each.
fn welch([a, b]: [f64; 2], [n, m]: [usize; 2]) -> f64 {
    let error = libm::hypot(a, b);
    if error == 0.0 {
        return 0.0;
    }
    // Shares of the variance: fourth powers of small errors would vanish.
    let fourth = |share: f64| share * share * share * share;
    let (a, b) = (fourth(a / error), fourth(b / error));
    let freedom = 1.0 / (a / (n - 1) as f64 + b / (m - 1) as f64);
    // Rounding errors must not take a whole one from an exact number.
    student_t_975((freedom + 1e-9) as usize) * error
}

impl Pair {
    /// The pairs of which `matrix` has cells, each world against those that are nearer to Linux,
    /// the nearest first.
    pub fn all(matrix: &Matrix) -> Vec<Self> {
        let has = |square: &&Square| {
            let mut entries = matrix.entries.iter();
            entries.any(|entry| entry.world == square.world)
        };
        let squares: Vec<&'static Square> = matrix.squares.iter().filter(has).collect();
        let mut pairs = Vec::new();
        for (index, first) in squares.iter().enumerate() {
            for other in squares[index + 1..].iter().rev() {
                pairs.push(Self { first, other });
            }
        }
        pairs.retain(|pair| !pair.differences(matrix).is_empty());
        pairs
    }

    /// What differs between the two, in words.
    pub fn what(&self) -> String {
        let parts = [
            (self.first.tcp != self.other.tcp, "TCP"),
            (self.first.queues != self.other.queues, "queue code"),
            (
                self.first.queues == self.other.queues && self.first.inside != self.other.inside,
                "place of the queues",
            ),
            (self.first.repeats != self.other.repeats, "time"),
            (
                self.first.tcp == self.other.tcp && self.first.kernel != self.other.kernel,
                "kernel version",
            ),
        ];
        let parts: Vec<&str> = parts
            .iter()
            .filter(|part| part.0)
            .map(|part| part.1)
            .collect();
        parts.join(" and ")
    }

    /// Every cell that ran in both, with its differences.
    pub fn differences<'a>(&self, matrix: &'a Matrix) -> Vec<(&'a MatrixCell, Vec<Difference>)> {
        let mut list = Vec::new();
        for place in matrix.places() {
            let of = |square: &Square| matrix.get(place, &square.world);
            if let (Some(first), Some(other)) = (of(self.first), of(self.other)) {
                list.push((place, between(first, other)));
            }
        }
        list
    }

    /// Whose a difference of this pair is, where both TCP and queues differ; none of what is not
    /// [`Verdict::Different`].
    pub fn cause(
        &self,
        matrix: &Matrix,
        place: &MatrixCell,
        difference: &Difference,
    ) -> Option<Cause> {
        let both_differ =
            self.first.tcp != self.other.tcp && self.first.queues != self.other.queues;
        if difference.verdict() != Verdict::Different || !both_differ {
            return None;
        }
        let between = |square: &&Square| {
            let changes_one =
                |end: &Square| (square.tcp == end.tcp) != (square.queues == end.queues);
            let known = square.kernel == self.other.kernel;
            known && square.repeats && changes_one(self.first) && changes_one(self.other)
        };
        let mut middle = matrix.squares.iter().filter(between);
        let value = middle.find_map(|square| {
            let entry = matrix.get(place, &square.world)?;
            let figures = FIGURES.iter().zip(&entry.figures);
            let mut found = figures.filter(|(figure, _)| figure.key == difference.figure.key);
            Some((square, (*found.next()?.1)?, entry.seeds))
        });
        let Some((square, middle, seeds)) = value else {
            return Some(Cause::Unknown);
        };
        let is_apart = |end: Mean, of: usize| {
            let part = Difference {
                first: middle,
                other: end,
                seeds: [seeds, of],
                ..*difference
            };
            part.verdict() == Verdict::Different
        };
        let [n, m] = difference.seeds;
        let (to_first, to_other) = (is_apart(difference.first, n), is_apart(difference.other, m));
        // From the first world to the middle one either TCP changes or the queues do.
        let by_tcp = square.queues == self.first.queues;
        Some(match (to_first, to_other) {
            (true, false) if by_tcp => Cause::Tcp,
            (false, true) if !by_tcp => Cause::Tcp,
            (true, false) | (false, true) => Cause::Queue,
            _ => Cause::Both,
        })
    }
}

impl Matrix {
    /// About how many seeds in `worlds` would decide each of a cell's undecided figures between
    /// these, the fewest first; a figure that none would decide has more than anybody runs. A
    /// difference that few seeds show needs twelve. With `beside` there is but one of `worlds`,
    /// which gets seeds against that one, which gets none.
    ///
    /// None where a world has none of the cell or but one seed, or two of `worlds` have not equally
    /// many.
    pub fn seeds_to_decide(
        &self,
        place: &MatrixCell,
        worlds: &[&WorldName],
        beside: Option<&WorldName>,
    ) -> Option<Vec<usize>> {
        let mut all: Vec<&WorldName> = worlds.iter().copied().chain(beside).collect();
        all.sort_by_key(|world| rank(self.squares, world));
        let found = all.iter().map(|world| self.get(place, world));
        let entries = found.collect::<Option<Vec<&Entry>>>()?;
        let grows = |entry: &Entry| Some(&entry.world) != beside;
        let counts = |entry: &&&Entry| grows(entry);
        let mut counts = entries.iter().filter(counts).map(|entry| entry.seeds);
        let seeds = counts.next()?;
        let has_one = entries.iter().any(|entry| entry.seeds < 2);
        if has_one || counts.any(|other| other != seeds) {
            return None;
        }
        let mut needs = Vec::new();
        for (at, other) in entries.iter().enumerate() {
            for first in &entries[..at] {
                let grows = [grows(first), grows(other)];
                let need = |one: Difference| match one.verdict() {
                    Verdict::Equal => None,
                    Verdict::Different => (seeds < CONFIRMED).then_some(CONFIRMED),
                    Verdict::Undecided => Some(one.seeds_to_decide(grows).unwrap_or(MOST_SEEDS)),
                };
                needs.extend(between(first, other).into_iter().filter_map(need));
            }
        }
        needs.sort_unstable();
        Some(needs)
    }
}

fn between(first: &Entry, other: &Entry) -> Vec<Difference> {
    let seeds = [first.seeds, other.seeds];
    let values = first.figures.iter().zip(&other.figures);
    let all = FIGURES.iter().zip(values);
    all.filter_map(|(figure, (first, other))| {
        Some(Difference {
            figure,
            first: (*first)?,
            other: (*other)?,
            seeds,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::GOODPUT;
    use crate::square::KNOWN;

    const INTERVAL: f64 = 0.03;

    /// A cell with so much goodput in each world.
    fn matrix(values: &[(&'static str, f64)]) -> Matrix {
        let entry = |&(world, mean): &(&'static str, f64)| {
            let mut figures = [None; FIGURES.len()];
            figures[0] = Some(Mean {
                mean,
                ci95: Some(INTERVAL),
            });
            Entry {
                place: MatrixCell::of("steady", &[]),
                world: WorldName::new(world),
                seeds: 2,
                figures,
            }
        };
        Matrix {
            squares: &KNOWN,
            entries: values.iter().map(entry).collect(),
        }
    }

    fn cause(sim: f64, middle: Option<f64>, kernel: f64) -> Option<Cause> {
        let mut worlds = vec![("sim", sim), ("kernel-tc", kernel)];
        worlds.extend(middle.map(|value| ("kernel", value)));
        let matrix = matrix(&worlds);
        let pair = Pair::all(&matrix)[0];
        let list = pair.differences(&matrix);
        let (place, differences) = &list[0];
        pair.cause(&matrix, place, &differences[0])
    }

    #[test]
    fn a_difference_is_of_what_changes() {
        // The tolerance is 0.1 at 10 Mbit/s.
        assert_eq!(cause(9.0, Some(10.02), 10.0), Some(Cause::Tcp));
        assert_eq!(cause(9.0, Some(9.05), 10.0), Some(Cause::Queue));
        assert_eq!(cause(9.0, Some(9.5), 10.0), Some(Cause::Both));
        assert_eq!(cause(9.0, None, 10.0), Some(Cause::Unknown));
    }

    #[test]
    fn what_seeds_do_not_decide_has_no_cause() {
        // Two intervals of 0.03 make one of 0.014 (below), where the tolerance at 1 Mbit/s is 0.01.
        assert_eq!(cause(0.988, Some(0.99), 1.0), None);
        assert_eq!(cause(0.98, Some(0.99), 1.0), Some(Cause::Both));
        assert_eq!(cause(0.94, Some(0.99), 1.0), Some(Cause::Tcp));
    }

    /// The tolerance of goodput is 1 %: 0.1 at 10 Mbit/s.
    #[test]
    fn verdicts_follow_the_interval() {
        let difference = |first: f64, ci95: Option<f64>| Difference {
            figure: &FIGURES[0],
            first: Mean { mean: first, ci95 },
            other: Mean {
                mean: 10.0,
                ci95: Some(0.0),
            },
            seeds: [5, 5],
        };
        let verdict = |first, ci95| difference(first, ci95).verdict();
        assert_eq!(verdict(10.05, Some(0.04)), Verdict::Equal);
        assert_eq!(verdict(10.05, Some(0.06)), Verdict::Undecided);
        // Beyond zero, but not surely beyond the tolerance's edge.
        assert_eq!(verdict(10.08, Some(0.03)), Verdict::Undecided);
        assert_eq!(verdict(10.12, Some(0.11)), Verdict::Different);
        assert_eq!(verdict(9.88, Some(0.11)), Verdict::Different);
        assert_eq!(verdict(10.12, Some(0.13)), Verdict::Undecided);
        assert_eq!(verdict(10.0, None), Verdict::Undecided);
        assert_eq!(difference(10.08, Some(0.03)).excludes_zero(), Some(true));
        assert_eq!(difference(10.08, Some(0.09)).excludes_zero(), Some(false));
        assert_eq!(difference(10.08, None).excludes_zero(), None);
    }

    /// By hand: an interval of 0.6 over 9 seeds is a standard deviation of 0.6/2.3060·3 = 0.7806, more
    /// than 1 % of 10. The interval of the difference is 0.6, so that 0.18 apart is equal.
    #[test]
    fn goodput_may_be_as_far_apart_as_the_other_worlds_seeds() {
        let verdict = |figure: usize, apart: f64| {
            let mean = |mean, ci95| Mean {
                mean,
                ci95: Some(ci95),
            };
            let difference = Difference {
                figure: &FIGURES[figure],
                first: mean(10.0 + apart, 0.0),
                other: mean(10.0, 0.6),
                seeds: [9, 9],
            };
            difference.verdict()
        };
        assert_eq!(verdict(GOODPUT, 0.18), Verdict::Equal);
        assert_eq!(verdict(GOODPUT, 0.19), Verdict::Undecided);
        assert_eq!(verdict(GOODPUT, 0.77), Verdict::Undecided);
        assert_eq!(verdict(GOODPUT, 0.79), Verdict::Different);
        // A median may be 1 ms apart, however much it scatters.
        assert_eq!(verdict(1, 0.41), Verdict::Undecided);
        assert_eq!(verdict(1, 0.39), Verdict::Equal);
    }

    /// By hand: each of two means over 5 seeds with an interval of 0.06 has a scatter of
    /// 0.06/2.7764·√5 = 0.04832, both together 0.06834. 0.05 are left to the tolerance's edge at 10.05:
    /// eight seeds have 2.1448·0.06834/√8 = 0.0518, nine 2.1199·0.06834/3 = 0.0483. At 10.12 the
    /// interval must not reach zero, 0.12 away: what decides with the seeds that there are needs no
    /// more. If the first alone gets seeds, the other's standard error of 0.02161 stays, whose own
    /// interval of 0.06 no seeds bring down to 0.05. At 10.03 0.07 are left: five have
    /// 2.3060·0.03056 = 0.0705, and with six the first has 0.01973, together 0.02926 with 8.64 degrees
    /// of freedom, and 2.3060·0.02926 = 0.0675.
    #[test]
    fn seeds_that_would_decide_are_estimated() {
        let difference = |first: f64, ci: f64| Difference {
            figure: &FIGURES[0],
            first: Mean {
                mean: first,
                ci95: Some(ci),
            },
            other: Mean {
                mean: 10.0,
                ci95: Some(ci),
            },
            seeds: [5, 5],
        };
        let needs = |first, ci| difference(first, ci).seeds_to_decide([true, true]);
        assert_eq!(needs(10.05, 0.06), Some(9));
        assert_eq!(needs(10.12, 0.06), Some(5));
        assert!(needs(10.12, 0.12).is_some_and(|seeds| (6..20).contains(&seeds)));
        assert_eq!(needs(10.1, 0.06), None, "on the edge");
        let first_alone = |first| difference(first, 0.06).seeds_to_decide([true, false]);
        assert_eq!(first_alone(10.05), None);
        assert_eq!(first_alone(10.03), Some(6));
        let one = Difference {
            seeds: [1, 5],
            ..difference(10.0, 0.06)
        };
        assert_eq!(one.seeds_to_decide([true, true]), None);
    }

    /// By hand: intervals of 0.6 over 3 seeds and 0.2 over 9 are standard errors of
    /// 0.6/4.3027 = 0.13945 and 0.2/2.3060 = 0.08673. Together √(0.13945² + 0.08673²) = 0.16422, with
    /// 0.16422⁴ / (0.13945⁴/2 + 0.08673⁴/8) = 3.71 degrees of freedom, so 3, and t = 3.1824.
    #[test]
    fn the_interval_of_a_difference_is_welchs() {
        let between = |(ci, n): (f64, usize), (other, m): (f64, usize)| {
            let mean = |ci95| Mean {
                mean: 1.0,
                ci95: Some(ci95),
            };
            let difference = Difference {
                figure: &FIGURES[0],
                first: mean(ci),
                other: mean(other),
                seeds: [n, m],
            };
            difference.ci95().expect("both have one")
        };
        assert!((between((0.6, 3), (0.2, 9)) - 3.1824 * 0.16422).abs() < 1e-4);
        // Two alike have twice the degrees of freedom: four, and t = 2.7764.
        let error = libm::sqrt(2.0) * 0.03 / 4.3027;
        assert!((between((0.03, 3), (0.03, 3)) - 2.7764 * error).abs() < 1e-6);
        assert!(between((0.0, 3), (0.0, 3)) == 0.0);
        // One world that always has the same: the other one's own interval.
        assert!((between((0.5, 4), (0.0, 9)) - 0.5).abs() < 1e-9);
    }

    /// Worlds that are apart by far with two seeds each.
    #[test]
    fn a_difference_of_few_seeds_is_confirmed() {
        let matrix = matrix(&[("sim", 9.0), ("kernel-tc", 10.0)]);
        let [sim, linux] = [0, 2].map(|at| &KNOWN[at].world);
        let place = &matrix.entries[0].place;
        let needs = |matrix: &Matrix| matrix.seeds_to_decide(place, &[linux], Some(sim));
        assert_eq!(needs(&matrix), Some(vec![CONFIRMED]));
        let mut more = matrix.clone();
        more.entries[1].seeds = CONFIRMED;
        assert_eq!(needs(&more), Some(Vec::new()));
        more.entries[0].figures = more.entries[1].figures;
        assert_eq!(needs(&more), Some(Vec::new()), "equal");
    }

    #[test]
    fn sizes_are_counted_in_tolerances() {
        let matrix = matrix(&[("sim", 9.8), ("kernel", 10.0)]);
        let pair = Pair::all(&matrix)[0];
        let list = pair.differences(&matrix);
        let difference = &list[0].1[0];
        assert!((difference.size() - 2.0).abs() < 1e-9);
        assert!(!difference.within());
        assert!((difference.relative().expect("not zero") + 0.02).abs() < 1e-9);
        assert_eq!(pair.what(), "TCP");
        assert_eq!(pair.cause(&matrix, list[0].0, difference), None);
    }

    /// Our queues inside the kernel are between those beside it and its own.
    #[test]
    fn between_two_worlds_with_the_same_code_the_place_differs() {
        let beside = &KNOWN[1];
        let inside: &Square = Box::leak(Box::new(Square {
            world: WorldName::new("inside"),
            inside: true,
            ..beside.clone()
        }));
        let what = |first, other| Pair { first, other }.what();
        assert_eq!(what(beside, inside), "place of the queues");
        assert_eq!(what(inside, &KNOWN[2]), "queue code");
        assert_eq!(what(&KNOWN[0], inside), "TCP and place of the queues");
        assert!(beside.nearness() < inside.nearness());
        assert!(inside.nearness() < KNOWN[2].nearness());
    }
}
