//! Which queue is best for what: what the results recommend, in words and figures, and what they
//! do not tell.
//!
//! A choice is a value of the swept queue (or else of the first part of the sweep), a condition a
//! combination of all other parts. Fields that change together are one part. Two choices differ
//! where their means differ by more than their 95 % intervals together (by 5 % where there is one
//! seed) and by what matters.
//!
//! Choices are compared in conditions that hold the same ones, two at least. Where runs are
//! missing, these are the conditions with the most cells; a mean over others would compare a
//! choice under light load with one under heavy load.
//!
//! Over several conditions a choice has the mean of its means. Its interval is that of the seeds'
//! means over the conditions: a seed's dice are the same in all of them, so that its runs are one
//! observation, and the seeds alone are independent.

use crate::headline::{drop_ratio, goodput_bps, jain, l4s_p99_ms, median_ms, p95_ms};
use crate::labels::Labels;
use crate::seeds::{OverSeeds, groups};
use crate::show::{Show, index_to, ms_to, percent_to, rate_to};
use crate::varied::Varied;
use indexmap::{IndexMap, IndexSet};
use sojourn_world::{RunResult, WorldName};
use std::collections::{BTreeMap, BTreeSet};

/// What the results of one world recommend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aims {
    pub(crate) world: WorldName,
    /// The field whose values are the choices, or the fields that change together.
    pub(crate) field: String,
    /// Whether the choices are queues.
    pub(crate) is_queue: bool,
    /// How many conditions they were compared in.
    pub(crate) conditions: usize,
    /// How many further conditions hold other choices.
    pub(crate) left_out: usize,
    pub(crate) list: Vec<Aim>,
}

/// An aim and the choices that are best for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aim {
    /// In words.
    pub(crate) name: &'static str,
    /// By which figure.
    pub(crate) by: &'static str,
    /// The best choices, the best first, and the one with the best mean if it is another; empty
    /// when all are alike.
    pub(crate) best: Vec<Choice>,
    /// The worst choice; none when all are alike.
    pub(crate) worst: Option<Choice>,
    /// What all reach, where they are alike.
    pub(crate) alike: Option<String>,
}

/// A choice with its figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) name: String,
    /// Number of its colour.
    pub(crate) colour: usize,
    /// Mean and interval.
    pub(crate) figure: String,
    /// From the lowest to the highest mean of the conditions, where these differ.
    pub(crate) range: Option<String>,
    /// In how many conditions it is among the best.
    pub(crate) wins: usize,
}

/// What is wanted.
struct Want {
    aim: &'static str,
    by: &'static str,
    figure: fn(&RunResult) -> f64,
    more_is_better: bool,
    /// A smaller difference is none, in the figure's unit.
    matters: f64,
    show: Show,
}

const WANTS: [Want; 6] = [
    Want {
        aim: "Low latency (median)",
        by: "median induced RTT",
        figure: median_ms,
        more_is_better: false,
        matters: 0.5,
        show: ms_to,
    },
    Want {
        aim: "Low tail latency (p95)",
        by: "95th percentile of the induced RTT",
        figure: p95_ms,
        more_is_better: false,
        matters: 1.0,
        show: ms_to,
    },
    Want {
        aim: "Low tail latency for L4S flows (p99)",
        by: "99th percentile of the induced RTT of L4S flows; over UDP, of the one-way delay above \
             the shortest one",
        figure: l4s_p99_ms,
        more_is_better: false,
        matters: 0.5,
        show: ms_to,
    },
    Want {
        aim: "High throughput",
        by: "sum of goodputs",
        figure: goodput_bps,
        more_is_better: true,
        matters: 1e4,
        show: rate_to,
    },
    Want {
        aim: "Fairness",
        by: "Jain’s index of the flows that share a bottleneck",
        figure: jain,
        more_is_better: true,
        matters: 0.01,
        show: index_to,
    },
    Want {
        aim: "Low loss",
        by: "share of the packets offered to all queues that were dropped",
        figure: drop_ratio,
        more_is_better: false,
        matters: 0.001,
        show: percent_to,
    },
];

/// What each world's results recommend; empty where there is nothing to choose from.
pub(crate) fn aims(labels: &Labels<'_>) -> Vec<Aims> {
    let Some(chosen) = labels.choice else {
        return Vec::new();
    };
    let parts = &labels.parts;
    let numbers = labels.number_of();
    let all = groups(labels.results);
    let of_world = |world: &WorldName| {
        let mut grid: Grid<'_> = IndexMap::new();
        for runs in all.iter().filter(|runs| runs[0].world == *world) {
            let cell = numbers[runs[0].params.as_slice()];
            let others = parts.iter().enumerate().filter(|(part, _)| *part != chosen);
            let condition = others.map(|(_, part)| part.values[cell].as_str());
            grid.entry(condition.collect()).or_default().push(Cell {
                choice: &parts[chosen].values[cell],
                colour: labels.colours[cell],
                runs: runs.clone(),
            });
        }
        let conditions = grid.len();
        let grid = comparable(grid);
        let list: Vec<Aim> = WANTS.iter().filter_map(|want| want.judge(&grid)).collect();
        (!list.is_empty()).then(|| Aims {
            world: world.clone(),
            field: parts[chosen].name(),
            is_queue: parts[chosen].is_queue(),
            conditions: grid.len(),
            left_out: conditions - grid.len(),
            list,
        })
    };
    let worlds = labels.worlds.iter().copied();
    worlds.filter_map(of_world).collect()
}

/// The conditions that hold the same choices, two at least: of several such sets that with the
/// most cells.
fn comparable(mut grid: Grid<'_>) -> Grid<'_> {
    let choices = |cells: &[Cell<'_>]| -> BTreeSet<String> {
        cells.iter().map(|cell| cell.choice.to_owned()).collect()
    };
    let mut sets: IndexMap<BTreeSet<String>, usize> = IndexMap::new();
    for cells in grid.values().filter(|cells| cells.len() > 1) {
        *sets.entry(choices(cells)).or_default() += cells.len();
    }
    let most = sets.values().copied().max();
    let fullest = sets.into_iter().find(|(_, cells)| Some(*cells) == most);
    grid.retain(|_, cells| {
        fullest
            .as_ref()
            .is_some_and(|(set, _)| *set == choices(cells))
    });
    grid
}

/// The runs of a choice in a condition.
struct Cell<'a> {
    choice: &'a str,
    colour: usize,
    runs: Vec<&'a RunResult>,
}

/// By condition (the values of all parts but the choice) the choices.
type Grid<'a> = IndexMap<Vec<&'a str>, Vec<Cell<'a>>>;

/// What a choice reached in the conditions.
#[derive(Default)]
struct Record {
    colour: usize,
    /// In each condition.
    values: Vec<OverSeeds>,
    /// The values of each seed.
    by_seed: BTreeMap<u64, Vec<f64>>,
    /// In how many conditions it was best, or not told apart from that.
    wins: usize,
    /// In how many it was the very best.
    first: usize,
}

impl Record {
    /// The mean over the conditions, with the interval of those seeds that were run in all.
    fn over_conditions(&self) -> OverSeeds {
        let conditions = self.values.len();
        let of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let whole = self
            .by_seed
            .values()
            .filter(|values| values.len() == conditions);
        let seeds = OverSeeds::of(whole.map(|values| of(values)));
        let means: Vec<f64> = self.values.iter().map(|value| value.mean).collect();
        OverSeeds {
            mean: of(&means),
            ..seeds.unwrap_or(OverSeeds {
                n: 0,
                mean: 0.0,
                sd: None,
                ci95: None,
            })
        }
    }
}

impl Want {
    /// Whether the first is better, beyond chance and so that it matters.
    fn is_better(&self, a: OverSeeds, b: OverSeeds) -> bool {
        let ahead = if self.more_is_better {
            a.mean - b.mean
        } else {
            b.mean - a.mean
        };
        let chance = match (a.ci95, b.ci95) {
            (Some(x), Some(y)) => libm::hypot(x, y),
            _ => 0.05 * a.mean.abs().max(b.mean.abs()),
        };
        ahead > chance.max(self.matters)
    }

    fn best(&self, list: impl Iterator<Item = OverSeeds>) -> Option<OverSeeds> {
        let order = |a: &OverSeeds, b: &OverSeeds| a.mean.total_cmp(&b.mean);
        if self.more_is_better {
            list.max_by(order)
        } else {
            list.min_by(order)
        }
    }

    /// What each choice reached, and whether any was behind another; none where a figure is
    /// missing.
    fn records<'a>(&self, grid: &Grid<'a>) -> Option<(Vec<(&'a str, Record)>, bool)> {
        let mut records: IndexMap<&str, Record> = IndexMap::new();
        let mut differs = false;
        for cells in grid.values() {
            let over =
                |cell: &Cell<'_>| OverSeeds::of(cell.runs.iter().map(|run| (self.figure)(run)));
            let best = self.best(cells.iter().filter_map(over))?;
            for cell in cells {
                let value = over(cell)?;
                // Where each cell has a colour of its own, the choice has that of its first.
                let record = records.entry(cell.choice).or_insert_with(|| Record {
                    colour: cell.colour,
                    ..Record::default()
                });
                let behind = self.is_better(best, value);
                differs |= behind;
                record.values.push(value);
                for run in &cell.runs {
                    record
                        .by_seed
                        .entry(run.seed)
                        .or_default()
                        .push((self.figure)(run));
                }
                record.wins += usize::from(!behind);
                record.first += usize::from(value == best);
            }
        }
        (records.len() > 1).then(|| (records.into_iter().collect(), differs))
    }

    fn judge(&self, grid: &Grid<'_>) -> Option<Aim> {
        let (mut ranked, differs) = self.records(grid)?;
        let sign = if self.more_is_better { -1.0 } else { 1.0 };
        let mean = |record: &Record| sign * record.over_conditions().mean;
        ranked.sort_by(|(_, a), (_, b)| {
            let by_wins = (b.wins, b.first).cmp(&(a.wins, a.first));
            by_wins.then(mean(a).total_cmp(&mean(b)))
        });
        let choice = |(name, record): &(&str, Record)| Choice {
            name: (*name).to_owned(),
            colour: record.colour,
            figure: self.shown(record.over_conditions()),
            range: Some(self.range(&record.values)).filter(|range| range.contains(" to ")),
            wins: record.wins,
        };
        let most = ranked[0].1.wins;
        let mut by_mean: Vec<&(&str, Record)> = ranked.iter().collect();
        by_mean.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
        let highest = by_mean[0].0;
        let best = ranked
            .iter()
            .filter(|(name, record)| record.wins == most || *name == highest);
        let all: Vec<OverSeeds> = ranked.iter().flat_map(|(_, r)| r.values.clone()).collect();
        Some(Aim {
            name: self.aim,
            by: self.by,
            best: if differs {
                best.map(choice).collect()
            } else {
                Vec::new()
            },
            // One that is not told apart from the best is not called the worst.
            worst: by_mean
                .last()
                .filter(|(_, record)| differs && record.wins < most)
                .map(|worst| choice(worst)),
            alike: (!differs).then(|| self.range(&all)),
        })
    }

    fn shown(&self, value: OverSeeds) -> String {
        let mean = (self.show)(value.mean, 3);
        match value.ci95 {
            Some(ci) => format!("{mean} ± {}", (self.show)(ci, 2)),
            None => mean,
        }
    }

    fn range(&self, values: &[OverSeeds]) -> String {
        let means = || values.iter().map(|value| value.mean);
        let low = (self.show)(means().fold(f64::INFINITY, f64::min), 3);
        let high = (self.show)(means().fold(f64::NEG_INFINITY, f64::max), 3);
        if low == high {
            low
        } else {
            format!("{low} to {high}")
        }
    }
}

/// The limits of the results, in sentences.
pub(crate) fn limits(labels: &Labels<'_>, aims: &[Aims]) -> Vec<String> {
    let results = labels.results;
    let mut said = Vec::new();
    let Some(first) = results.first() else {
        return said;
    };
    let names: Vec<String> = labels.parts.iter().map(Varied::name).collect();
    said.push(match &names[..] {
        [] => "Nothing was varied, so nothing is said about other settings.".to_owned(),
        names => format!(
            "Only {} {} varied. Other rates, delays, numbers of flows or queue parameters may \
             give another order.",
            list(names),
            if names.len() == 1 { "was" } else { "were" },
        ),
    });
    let left_out = aims.iter().map(|part| part.left_out).max();
    if let Some(count @ 1..) = left_out {
        said.push(format!(
            "{count} {} of the other fields {} left out above, because not all choices were run \
             there.",
            if count == 1 {
                "combination"
            } else {
                "combinations"
            },
            if count == 1 { "is" } else { "are" },
        ));
    }
    let seeds: IndexSet<u64> = results.iter().map(|run| run.seed).collect();
    said.push(match seeds.len() {
        1 => "There is one seed: no figure has a confidence interval, and differences below 5 % \
              count as none."
            .to_owned(),
        n => format!(
            "Intervals are 95 % confidence intervals of the mean over {n} seeds (Student’s t), for \
             one comparison at a time. A difference within them may be chance."
        ),
    });
    if let [world] = Vec::from_iter(&labels.worlds)[..] {
        said.push(format!(
            "All runs are from the world “{world}”. “--world both” compares it with another."
        ));
    }
    let different: IndexSet<&str> = first.flows.iter().map(|(_, flow)| &*flow.app).collect();
    let apps: Vec<String> = different.into_iter().map(str::to_owned).collect();
    said.push(format!(
        "The traffic was {} {}: {}. Other traffic may give other results.",
        first.flows.len(),
        if first.flows.len() == 1 {
            "flow"
        } else {
            "flows"
        },
        list(&apps)
    ));
    if !first.flows.iter().any(|(_, flow)| flow.app == "ping") {
        said.push(
            "No flow is a ping, so latency is that of the loaded connections themselves. Another \
             packet on the same link may see a different latency."
                .to_owned(),
        );
    }
    said
}

/// Words with commas, the last after `and`.
fn list(words: &[String]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_world::{Distribution, FlowResult};

    /// The runs of a choice in a condition: their goodputs in Mbit/s, by seed from one on.
    type Goodputs<'a> = (&'a str, &'a [f64]);

    fn runs(choice: &str, condition: &str, goodputs: &[f64]) -> Vec<RunResult> {
        let run = |(mbit, seed): (&f64, u64)| {
            let mut run = crate::labels::tests::run(&[("queue.qdisc", choice), ("rtt", condition)]);
            run.seed = seed;
            run.aggregate.goodput_bps = mbit * 1e6;
            run
        };
        goodputs.iter().zip(1..).map(run).collect()
    }

    /// What gives high throughput, by condition.
    fn judged(conditions: &[&[Goodputs<'_>]]) -> Aim {
        let mut results = Vec::new();
        for (condition, list) in ["20ms", "40ms", "80ms"].iter().zip(conditions) {
            for (choice, goodputs) in *list {
                results.extend(runs(choice, condition, goodputs));
            }
        }
        let [part] = &aims(&Labels::of(&results))[..] else {
            panic!("there is one world")
        };
        assert_eq!(part.conditions, conditions.len());
        let mut list = part.list.iter();
        let found = list.find(|aim| aim.name == "High throughput");
        found.expect("there are goodputs").clone()
    }

    fn names(aim: &Aim) -> Vec<&str> {
        aim.best.iter().map(|choice| choice.name.as_str()).collect()
    }

    #[test]
    fn the_best_and_those_not_told_apart_from_it() {
        // Three values a step apart have 95 % intervals of 4.3027 / √3 = 2.484 steps.
        // 9 ± 0.497 and 8 ± 1.49: the intervals together are hypot(0.497, 1.49) = 1.57 > 1.
        let aim = judged(&[&[
            ("pfifo", &[2.0, 3.0, 4.0]),
            ("fq_pie", &[7.4, 8.0, 8.6]),
            ("fq_codel", &[8.8, 9.0, 9.2]),
        ]]);
        assert_eq!(names(&aim), ["fq_codel", "fq_pie"]);
        assert_eq!(aim.best[0].figure, "9.00 Mbit/s ± 500 kbit/s");
        assert_eq!(aim.best[0].range, None, "there is one condition");
        assert_eq!(aim.worst.expect("it differs").name, "pfifo");
        // One seed: 5 % of 100 is 5.
        let aim = judged(&[&[("a", &[100.0]), ("b", &[96.0]), ("c", &[94.0])]]);
        assert_eq!(names(&aim), ["a", "b"]);
        assert_eq!(aim.best[0].figure, "100 Mbit/s");
    }

    /// The tail of L4S flows is an aim where there are any: of TCP by its round trips, of UDP by
    /// its one-way delays. Here (2 + (9 − 4)) / 2 = 3.5 and (30 + (44 − 4)) / 2 = 35 ms.
    #[test]
    fn flows_of_l4s_have_an_aim_of_their_own() {
        let spread = |p99: f64, min: f64| Distribution {
            count: 100,
            p99,
            min,
            ..Distribution::default()
        };
        let cell = |queue: &str, tcp: f64, udp: f64, l4s: Option<f64>| {
            let mut run = crate::labels::tests::run(&[("queue.qdisc", queue)]);
            let prague = FlowResult {
                induced_rtt: spread(tcp, 0.1),
                l4s,
                ..FlowResult::default()
            };
            let call = FlowResult {
                delay: spread(udp, 4.0),
                l4s,
                ..FlowResult::default()
            };
            let classic = FlowResult {
                induced_rtt: spread(500.0, 1.0),
                ..FlowResult::default()
            };
            let flows = [("prague", prague), ("call", call), ("classic", classic)];
            run.flows = flows.map(|(name, flow)| (name.to_owned(), flow)).into();
            run
        };
        let aim = |l4s| {
            let both = [
                cell("pfifo", 30.0, 44.0, l4s),
                cell("dualpi2", 2.0, 9.0, l4s),
            ];
            let [part] = &aims(&Labels::of(&both))[..] else {
                panic!("there is one world")
            };
            let mut list = part.list.iter();
            list.find(|aim| aim.name.contains("L4S")).cloned()
        };
        let found = aim(Some(1.0)).expect("there are L4S flows");
        assert_eq!(names(&found), ["dualpi2"]);
        assert_eq!(found.best[0].figure, "3.50 ms");
        assert_eq!(found.worst.expect("it differs").figure, "35.0 ms");
        assert_eq!(aim(None), None, "no flow is one");
    }

    #[test]
    fn what_makes_no_difference_is_said() {
        let aim = judged(&[&[("a", &[4.0]), ("b", &[3.9])]]);
        assert_eq!((names(&aim).len(), aim.worst), (0, None));
        assert_eq!(aim.alike.as_deref(), Some("3.90 Mbit/s to 4.00 Mbit/s"));
    }

    /// The queues up and down are zipped, a gateway owner's usual case.
    #[test]
    fn zipped_fields_are_one_choice() {
        let cell = |queue: &str, mbit: f64| {
            let mut run = crate::labels::tests::run(&[("up.qdisc", queue), ("down.qdisc", queue)]);
            run.aggregate.goodput_bps = mbit * 1e6;
            run
        };
        let results = [cell("pfifo", 4.0), cell("cake", 9.0)];
        let [part] = &aims(&Labels::of(&results))[..] else {
            panic!("there is one world")
        };
        assert_eq!(
            (part.field.as_str(), part.is_queue),
            ("{up,down}.qdisc", true)
        );
        assert_eq!((part.conditions, part.left_out), (1, 0));
        assert_eq!(names(&part.list[0]), ["cake"]);
    }

    #[test]
    fn choices_are_compared_where_the_same_ones_were_run() {
        let mut results = Vec::new();
        for (choice, condition, mbit) in [
            ("a", "20ms", 10.0),
            ("b", "20ms", 20.0),
            ("a", "40ms", 10.0),
            ("b", "40ms", 20.0),
            // Runs that were not finished: b would have a mean of 17, a of 40.
            ("a", "80ms", 100.0),
        ] {
            results.extend(runs(choice, condition, &[mbit]));
        }
        let labels = Labels::of(&results);
        let part = &aims(&labels)[0];
        assert_eq!((part.conditions, part.left_out), (2, 1));
        assert_eq!(names(&part.list[0]), ["b"]);
        assert!(
            limits(&labels, &aims(&labels))[1]
                .starts_with("1 combination of the other fields is left out")
        );
    }

    #[test]
    fn conditions_are_counted() {
        let aim = judged(&[
            &[("a", &[50.0]), ("b", &[40.0])],
            &[("a", &[20.0]), ("b", &[40.0])],
            &[("a", &[50.0]), ("b", &[40.0])],
        ]);
        // Of the six cells each has a colour of its own.
        assert_eq!(aim.best[0].colour, 0);
        // Both have a mean of 40.
        assert_eq!(names(&aim), ["a"]);
        let range = aim.best[0].range.as_deref();
        assert_eq!(
            (aim.best[0].wins, range),
            (2, Some("20.0 Mbit/s to 50.0 Mbit/s"))
        );
    }

    #[test]
    fn a_seed_is_one_observation_over_all_conditions() {
        // The seeds' means over the two conditions are 4, 5 and 6, though each condition scatters
        // by 2: 4.3027 / √3 = 2.484. Of a condition alone it would be twice that.
        let steady: &[f64] = &[20.0, 20.1, 20.2];
        let aim = judged(&[
            &[("a", &[2.0, 4.0, 6.0]), ("b", steady)],
            &[("a", &[6.0, 6.0, 6.0]), ("b", steady)],
        ]);
        let worst = aim.worst.expect("it differs");
        assert_eq!(worst.figure, "5.00 Mbit/s ± 2.5 Mbit/s");
        assert_eq!(worst.range.as_deref(), Some("4.00 Mbit/s to 6.00 Mbit/s"));
        // Scatter that other conditions take back is none.
        let aim = judged(&[
            &[("a", &[2.0, 4.0, 6.0]), ("b", steady)],
            &[("a", &[6.0, 4.0, 2.0]), ("b", steady)],
        ]);
        assert_eq!(
            aim.worst.expect("it differs").figure,
            "4.00 Mbit/s ± 0 kbit/s"
        );
        // A seed that one condition lacks is left out of the interval.
        let aim = judged(&[
            &[("a", &[2.0, 4.0]), ("b", steady)],
            &[("a", &[6.0]), ("b", steady)],
        ]);
        assert_eq!(aim.worst.expect("it differs").figure, "4.50 Mbit/s");
    }

    #[test]
    fn the_best_mean_is_named_beside_those_that_are_best_more_often() {
        let aim = judged(&[
            &[("a", &[10.0]), ("b", &[9.0])],
            &[("a", &[10.0]), ("b", &[9.0])],
            &[("a", &[10.0]), ("b", &[30.0])],
        ]);
        assert_eq!(names(&aim), ["a", "b"]);
        assert_eq!(
            aim.worst, None,
            "what is named among the best is not the worst"
        );
    }
}
