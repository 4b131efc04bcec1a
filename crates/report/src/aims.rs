//! Which queue for which aim: what the results recommend, in words and figures, and what they do
//! not tell.
//!
//! A choice is a value of the swept queue (or else of the first swept field), a condition a
//! combination of all other swept fields. Two choices are told apart where their means differ by
//! more than their 95 % intervals together (by 5 % where there is one seed) and by what matters.

use crate::headline::{Headline, headlines};
use crate::labels;
use crate::seeds::OverSeeds;
use crate::show::{Show, index_to, ms_to, percent_to, rate_to};
use indexmap::{IndexMap, IndexSet};
use sojourn_world::{RunResult, WorldName};

/// What the results of one world recommend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aims {
    pub(crate) world: WorldName,
    /// The field whose values are the choices.
    pub(crate) field: String,
    /// How many conditions they were compared in.
    pub(crate) conditions: usize,
    pub(crate) list: Vec<Aim>,
}

/// An aim and what serves it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aim {
    /// In words.
    pub(crate) name: &'static str,
    /// By which figure.
    pub(crate) by: &'static str,
    /// The choices that serve it best, the best first; empty when all are alike.
    pub(crate) best: Vec<Choice>,
    /// The choice that serves it least; none when all are alike.
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
    /// Mean and interval, or the range over the conditions.
    pub(crate) figure: String,
    /// In how many conditions it is among the best.
    pub(crate) wins: usize,
}

/// What is wanted.
struct Want {
    aim: &'static str,
    by: &'static str,
    figure: fn(&Headline) -> Option<OverSeeds>,
    more_is_better: bool,
    /// A smaller difference is none, in the figure's unit.
    matters: f64,
    show: Show,
}

const WANTS: [Want; 5] = [
    Want {
        aim: "Little waiting",
        by: "median induced RTT",
        figure: |h| h.median_ms,
        more_is_better: false,
        matters: 0.5,
        show: ms_to,
    },
    Want {
        aim: "Little waiting in bad moments",
        by: "95th percentile of the induced RTT",
        figure: |h| h.p95_ms,
        more_is_better: false,
        matters: 1.0,
        show: ms_to,
    },
    Want {
        aim: "Much throughput",
        by: "sum of goodputs",
        figure: |h| h.goodput_bps,
        more_is_better: true,
        matters: 1e4,
        show: rate_to,
    },
    Want {
        aim: "Equal shares",
        by: "Jain’s index of the flows that take all they can get",
        figure: |h| h.jain,
        more_is_better: true,
        matters: 0.01,
        show: index_to,
    },
    Want {
        aim: "Few lost packets",
        by: "dropped share of the packets offered to all queues",
        figure: |h| h.drop_ratio,
        more_is_better: false,
        matters: 0.001,
        show: percent_to,
    },
];

/// What each world's results recommend; empty where there is nothing to choose from.
pub(crate) fn aims(results: &[RunResult]) -> Vec<Aims> {
    let Some(field) = labels::choice_field(results) else {
        return Vec::new();
    };
    let colours = labels::colours(results);
    let all = headlines(results);
    let numbers = labels::cell_numbers(results);
    let mut places = vec![("", String::new()); colours.len()];
    for (run, cell) in results.iter().zip(numbers) {
        let of = |(key, value): &(String, String)| (key != field).then(|| format!("{key}={value}"));
        let others: Vec<String> = run.params.iter().filter_map(of).collect();
        let own = run.params.iter().find(|(key, _)| key == field);
        let own = own.map_or("default", |(_, value)| value.as_str());
        places[cell] = (own, others.join(" "));
    }
    let of_world = |world: &WorldName| {
        let mut grid: Grid<'_> = IndexMap::new();
        for headline in all.iter().filter(|headline| headline.world == *world) {
            let (choice, condition) = &places[headline.cell];
            let colour = colours[headline.cell];
            let cells = grid.entry(condition).or_default();
            cells.push((*choice, colour, headline));
        }
        let choices: IndexSet<&str> = grid.values().flatten().map(|(name, ..)| *name).collect();
        let list: Vec<Aim> = WANTS.iter().filter_map(|want| want.judge(&grid)).collect();
        (choices.len() > 1 && !list.is_empty()).then(|| Aims {
            world: world.clone(),
            field: field.to_owned(),
            conditions: grid.len(),
            list,
        })
    };
    labels::worlds(results)
        .into_iter()
        .filter_map(of_world)
        .collect()
}

/// By condition the choices, each with its colour and figures.
type Grid<'a> = IndexMap<&'a str, Vec<(&'a str, usize, &'a Headline)>>;

/// What a choice reached in the conditions.
#[derive(Default)]
struct Record {
    colour: usize,
    values: Vec<OverSeeds>,
    /// In how many conditions it was best, or not told apart from that.
    wins: usize,
    /// In how many it was the very best.
    first: usize,
}

impl Want {
    /// Whether the first serves it better, beyond chance and so that it matters.
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

    fn judge(&self, grid: &Grid<'_>) -> Option<Aim> {
        let mut records: IndexMap<&str, Record> = IndexMap::new();
        let mut differs = false;
        for cells in grid.values() {
            let best = self.best(cells.iter().filter_map(|(.., h)| (self.figure)(h)))?;
            for &(name, colour, headline) in cells {
                let value = (self.figure)(headline)?;
                let record = records.entry(name).or_default();
                let behind = self.is_better(best, value);
                differs |= behind;
                record.colour = colour;
                record.values.push(value);
                record.wins += usize::from(!behind);
                record.first += usize::from(value == best);
            }
        }
        let mut ranked: Vec<(&str, Record)> = records.into_iter().collect();
        if ranked.len() < 2 {
            return None;
        }
        let mean = |record: &Record| {
            let sum: f64 = record.values.iter().map(|value| value.mean).sum();
            sum / record.values.len() as f64
        };
        let sign = if self.more_is_better { -1.0 } else { 1.0 };
        ranked.sort_by(|(_, a), (_, b)| {
            let by_wins = (b.wins, b.first).cmp(&(a.wins, a.first));
            by_wins.then((sign * mean(a)).total_cmp(&(sign * mean(b))))
        });
        let choice = |(name, record): &(&str, Record)| Choice {
            name: (*name).to_owned(),
            colour: record.colour,
            figure: self.shown(&record.values),
            wins: record.wins,
        };
        let most = ranked[0].1.wins;
        let best = ranked.iter().filter(|(_, record)| record.wins == most);
        let mut by_mean: Vec<&(&str, Record)> = ranked.iter().collect();
        by_mean.sort_by(|a, b| (sign * mean(&a.1)).total_cmp(&(sign * mean(&b.1))));
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

    /// Mean and interval of one condition, the range of several.
    fn shown(&self, values: &[OverSeeds]) -> String {
        let [only] = values else {
            return self.range(values);
        };
        let mean = (self.show)(only.mean, 3);
        match only.ci95 {
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

/// What the results do not tell, in sentences.
pub(crate) fn unknown(results: &[RunResult]) -> Vec<String> {
    let mut said = Vec::new();
    let Some(first) = results.first() else {
        return said;
    };
    let fields = labels::varying(results);
    said.push(match &fields[..] {
        [] => "How anything else fares: nothing was varied.".to_owned(),
        fields => format!(
            "How the order is elsewhere: only {} varied. Rates, delays, numbers of flows and \
             parameters of queues that are not named here stood still.",
            list(fields)
        ),
    });
    let seeds: IndexSet<u64> = results.iter().map(|run| run.seed).collect();
    said.push(match seeds.len() {
        1 => "What is chance: there is one seed, so no figure has an interval, and differences \
              below 5 % are taken for none."
            .to_owned(),
        n => format!(
            "Differences within the intervals: they are 95 % intervals of the mean over {n} seeds, \
             of one comparison at a time."
        ),
    });
    let worlds = labels::worlds(results);
    if let [world] = Vec::from_iter(worlds)[..] {
        said.push(format!(
            "Whether other worlds agree: all runs are of “{world}”. “--world both” sets a second \
             one beside it."
        ));
    }
    let apps: IndexSet<&str> = first.flows.iter().map(|(_, flow)| &*flow.app).collect();
    said.push(format!(
        "How other traffic fares: {} {} carried {}.",
        first.flows.len(),
        if first.flows.len() == 1 {
            "flow"
        } else {
            "flows"
        },
        list(&Vec::from_iter(apps))
    ));
    if !first.flows.iter().any(|(_, flow)| flow.app == "ping") {
        said.push(
            "What a packet beside the load would wait: no flow is a `ping`, the latency is that of \
             the loaded connections themselves."
                .to_owned(),
        );
    }
    said
}

/// Words with commas, the last after `and`.
fn list(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(mean: f64, ci95: Option<f64>) -> OverSeeds {
        let n = if ci95.is_some() { 3 } else { 1 };
        OverSeeds {
            n,
            mean,
            sd: ci95,
            ci95,
        }
    }

    fn headline(median: OverSeeds) -> Headline {
        Headline {
            world: WorldName::new("sim"),
            cell: 0,
            seeds: 3,
            latency_of: vec!["probe".to_owned()],
            median_ms: Some(median),
            p95_ms: None,
            goodput_bps: None,
            jain: None,
            drop_ratio: None,
            mark_ratio: None,
        }
    }

    /// The judgement on medians, each with its interval, by condition and choice.
    fn judged(conditions: &[&[(&'static str, f64, Option<f64>)]]) -> Aim {
        let names = ["a", "b", "c"];
        let lists: Vec<Vec<(&str, Headline)>> = (conditions.iter())
            .map(|list| {
                let one = |&(name, mean, ci)| (name, headline(over(mean, ci)));
                list.iter().map(one).collect()
            })
            .collect();
        let cells = lists.iter().map(|list| {
            let cells = list.iter().enumerate();
            let cells = cells.map(|(at, (name, headline))| (*name, at, headline));
            cells.collect::<Vec<_>>()
        });
        let grid: Grid<'_> = names.into_iter().zip(cells).collect();
        WANTS[0].judge(&grid).expect("there are figures")
    }

    fn names(aim: &Aim) -> Vec<&str> {
        aim.best.iter().map(|choice| choice.name.as_str()).collect()
    }

    #[test]
    fn the_best_and_those_not_told_apart_from_it() {
        // 4 ± 0.5 and 5 ± 1.5: the intervals together are hypot(0.5, 1.5) = 1.58 > 1.
        let aim = judged(&[&[
            ("pfifo", 900.0, Some(40.0)),
            ("fq_pie", 5.0, Some(1.5)),
            ("fq_codel", 4.0, Some(0.5)),
        ]]);
        assert_eq!(names(&aim), ["fq_codel", "fq_pie"]);
        assert_eq!(aim.best[0].figure, "4.00 ms ± 0.50 ms");
        assert_eq!(aim.worst.expect("it differs").name, "pfifo");
        // One seed: 5 % of 100 is 5.
        let aim = judged(&[&[("a", 100.0, None), ("b", 104.0, None), ("c", 106.0, None)]]);
        assert_eq!(names(&aim), ["a", "b"]);
    }

    #[test]
    fn what_makes_no_difference_is_said() {
        let aim = judged(&[&[("a", 4.0, Some(0.0)), ("b", 4.4, Some(0.0))]]);
        assert_eq!(
            (names(&aim).len(), aim.worst),
            (0, None),
            "half a millisecond matters"
        );
        assert_eq!(aim.alike.as_deref(), Some("4.00 ms to 4.40 ms"));
    }

    #[test]
    fn conditions_are_counted() {
        let aim = judged(&[
            &[("a", 10.0, None), ("b", 20.0, None)],
            &[("a", 50.0, None), ("b", 20.0, None)],
            &[("a", 10.0, None), ("b", 20.0, None)],
        ]);
        assert_eq!(names(&aim), ["a"]);
        assert_eq!(
            (aim.best[0].wins, aim.best[0].figure.as_str()),
            (2, "10.0 ms to 50.0 ms")
        );
    }
}
