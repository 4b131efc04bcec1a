//! The hosts that send most below each site now, for observers.
//!
//! Rates are those between two readings, at least a second apart: the first reading has no rates.

use sojourn_bridge::{Circuits, Classes, Side};
use sojourn_qdisc::TreeSpec;
use sojourn_units::{Rate, Span};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rates are those of this time at least, and at most.
const OVER: Duration = Duration::from_secs(1);
const OLD: Duration = Duration::from_secs(30);
/// Most circuits of a site in an answer, and how many there are when nobody says it.
pub(crate) const MOST: u64 = 100;
pub(crate) const USUAL: usize = 3;

/// What circuits had sent at the last looks.
#[derive(Debug, Default)]
pub(crate) struct Talkers([Option<Sample>; 2]);

#[derive(Debug)]
struct Sample {
    at: Instant,
    trees: [Option<Arc<TreeSpec>>; 2],
    /// By side and class: bytes.
    sent: [Vec<u64>; 2],
}

/// A site, and who sends most of those that it has itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    /// None: the link.
    pub(crate) name: Option<String>,
    /// The first first.
    pub(crate) talkers: Vec<Talker>,
}

/// A circuit that sends or gets something.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Talker {
    pub(crate) name: String,
    /// By side, as its round trips.
    pub(crate) rates: [Rate; 2],
    pub(crate) trips: [Option<Span>; 2],
}

impl Talker {
    fn both(&self) -> u64 {
        self.rates.iter().map(|rate| rate.as_bps()).sum()
    }
}

impl Talkers {
    /// What was counted `now`. Of each site the first so many, the busiest site first; none: there
    /// is nothing yet that it could be compared with.
    pub(crate) fn look(
        &mut self,
        classes: &Classes,
        addresses: &Circuits,
        most: usize,
        now: Instant,
    ) -> Option<Vec<Site>> {
        let sample = Sample {
            at: now,
            trees: classes.trees.clone(),
            sent: classes.counts.each_ref().map(|counts| {
                let bytes = counts.iter().map(|counts| counts.sent.bytes);
                bytes.collect()
            }),
        };
        let [older, newer] = &mut self.0;
        for kept in [&mut *older, &mut *newer] {
            kept.take_if(|it| it.trees != sample.trees || now - it.at > OLD);
        }
        // The younger of two that is old enough; several may look.
        if newer.as_ref().is_none_or(|it| now - it.at >= OVER) {
            *older = newer.take();
        }
        let sites = { older.as_ref() }.map(|before| sites(before, &sample, addresses, most));
        newer.get_or_insert(sample);
        sites
    }
}

fn sites(before: &Sample, now: &Sample, addresses: &Circuits, most: usize) -> Vec<Site> {
    let seconds = (now.at - before.at).as_secs_f64();
    let Some(tree) = now.trees.iter().flatten().next() else {
        return Vec::new();
    };
    let mut sites: BTreeMap<Option<u32>, Vec<Talker>> = BTreeMap::new();
    for (number, class) in tree.classes().iter().enumerate() {
        if class.queue.is_none() {
            continue;
        }
        let rates = Side::BOTH.map(|side| {
            let of = |sample: &Sample| sample.sent[side as usize].get(number).copied();
            let bytes = of(now).unwrap_or(0).saturating_sub(of(before).unwrap_or(0));
            Rate::from_bps((bytes as f64 * 8.0 / seconds) as u64)
        });
        if rates == [Rate::ZERO; 2] {
            continue;
        }
        sites.entry(class.parent).or_default().push(Talker {
            name: class.name.to_string(),
            rates,
            trips: Side::BOTH.map(|side| addresses.round_trip(number as u32 + 1, side)),
        });
    }
    let mut sites: Vec<_> = sites.into_iter().collect();
    let sum = |talkers: &[Talker]| talkers.iter().map(Talker::both).sum::<u64>();
    sites.sort_by_key(|(_, talkers)| Reverse(sum(talkers)));
    let name = |number: u32| tree.classes()[number as usize].name.to_string();
    let shown = sites.into_iter().map(|(site, mut talkers)| {
        talkers.sort_by_key(|talker| Reverse(talker.both()));
        talkers.truncate(most);
        Site {
            name: site.map(name),
            talkers,
        }
    });
    shown.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sojourn_qdisc::{ClassCounts, Spec, Tally, TreeClass};

    /// Circuits of two sites and of the link, with what each has sent both ways.
    fn classes(sent: [u64; 4]) -> Classes {
        let class = |name: &str, parent, queue| TreeClass {
            name: name.into(),
            parent,
            rate: Rate::from_bps(1_000_000),
            ceil: None,
            queue,
        };
        let list = vec![
            class("hill", None, None),
            class("dale", None, None),
            class("a", Some(0), Some(0)),
            class("b", Some(0), Some(0)),
            class("c", Some(1), Some(0)),
            class("d", None, Some(0)),
        ];
        let tree = TreeSpec::new(list, vec![Spec::pfifo(10)]).expect("a tree");
        let counts: Vec<_> = [&[0, 0][..], &sent, &[0]]
            .concat()
            .into_iter()
            .map(|bytes| ClassCounts {
                sent: Tally { packets: 1, bytes },
                ..ClassCounts::default()
            })
            .collect();
        Classes {
            trees: [Some(Arc::new(tree.clone())), Some(Arc::new(tree))],
            counts: [counts.clone(), counts],
        }
    }

    fn names(sites: &[Site]) -> Vec<(Option<&str>, Vec<&str>)> {
        let of = |site: &Site| {
            site.talkers
                .iter()
                .map(|talker| talker.name.clone())
                .collect()
        };
        let all: Vec<Vec<String>> = sites.iter().map(of).collect();
        let shown = sites.iter().zip(&all).map(|(site, _)| {
            let talkers = site.talkers.iter().map(|talker| &*talker.name);
            (site.name.as_deref(), talkers.collect())
        });
        shown.collect()
    }

    #[test]
    fn the_busiest_of_each_site_come_first() {
        let (mut talkers, addresses) = (Talkers::default(), Circuits::default());
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut look = |sent, ms| talkers.look(&classes(sent), &addresses, 2, at(ms));
        assert_eq!(look([0; 4], 0), None);
        assert_eq!(look([500; 4], 500), None, "too young");
        let sites = look([1000, 3000, 1500, 0], 2000).expect("two seconds");
        let expected = [(Some("hill"), vec!["b", "a"]), (Some("dale"), vec!["c"])];
        assert_eq!(names(&sites), expected);
        // 3000 bytes each way in two seconds.
        assert_eq!(sites[0].talkers[0].rates, [Rate::from_bps(12_000); 2]);
        // From there: `a` and the link's own.
        let sites = look([9000, 3000, 1500, 100], 4000).expect("it is known");
        let expected = [(Some("hill"), vec!["a"]), (None, vec!["d"])];
        assert_eq!(names(&sites), expected);
        assert_eq!(look([9000; 4], 60_000), None, "too old");
    }

    #[test]
    fn other_circuits_begin_anew() {
        let (mut talkers, addresses) = (Talkers::default(), Circuits::default());
        let start = Instant::now();
        let before = classes([7; 4]);
        talkers.look(&before, &addresses, 2, start);
        let later = start + Duration::from_secs(2);
        let mut other = classes([9; 4]);
        other.trees = [None, None];
        assert_eq!(talkers.look(&other, &addresses, 2, later), None);
        let again = later + Duration::from_secs(2);
        assert_eq!(talkers.look(&other, &addresses, 2, again), Some(Vec::new()));
    }

    pub(crate) fn talker() -> Talker {
        Talker {
            name: "1138".to_owned(),
            rates: [2, 30].map(|mbit| Rate::from_bps(mbit * 1_000_000)),
            trips: [None, Some(Span::from_millis(7))],
        }
    }
}
