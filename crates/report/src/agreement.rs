//! Whether the worlds tell the same of the same cell: the first beside each of the others.

use crate::labels::Labels;
use crate::seeds::OverSeeds;
use crate::show::{ms, rate};
use sojourn_world::figure::Statistic;
use sojourn_world::{FlowResult, RunResult, WorldName};
use std::collections::BTreeSet;

/// How far a figure of one world may be from that of another for the two to agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// As a share of the other world's figure …
    pub share: f64,
    /// … or in the figure's unit, whichever is more.
    pub least: f64,
}

impl Tolerance {
    /// Of a latency in ms; a flow's as that of a whole run.
    pub const LATENCY: Self = Self {
        share: 0.05,
        least: 1.0,
    };
    /// Of a goodput.
    pub const GOODPUT: Self = Self {
        share: 0.01,
        least: 0.0,
    };

    /// How far another figure may be from `reference`.
    pub fn around(self, reference: f64) -> f64 {
        (self.share * reference.abs()).max(self.least)
    }
}

/// Two worlds beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The first world of the results.
    pub first: WorldName,
    /// Another one.
    pub other: WorldName,
    /// What both can tell. Never empty.
    pub list: Vec<Comparison>,
}

/// One figure of one flow in two worlds; means over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Number of the cell.
    pub cell: usize,
    /// The flow.
    pub flow: String,
    /// `induced_rtt_ms` (its median) or `goodput_bps`.
    pub figure: &'static str,
    /// In the first world.
    pub first: f64,
    /// In the other one.
    pub other: f64,
    /// Whether the difference is within the tolerance.
    pub within: bool,
}

impl Agreement {
    /// How many comparisons are within the tolerance.
    pub fn within(&self) -> usize {
        self.list.iter().filter(|c| c.within).count()
    }
}

impl Comparison {
    /// The figure's name for people, and how its values are shown.
    pub(crate) fn shown(&self) -> (&'static str, fn(f64) -> String) {
        match self.figure {
            "goodput_bps" => ("goodput", rate),
            _ => ("median induced RTT", ms),
        }
    }

    /// The first less the other, as a share of the other; none when that is zero.
    pub fn relative(&self) -> Option<f64> {
        (self.other > 0.0).then(|| (self.first - self.other) / self.other)
    }
}

/// All comparisons that `results` allow: cells that ran in the first world and in another one.
pub fn agreement(results: &[RunResult]) -> Vec<Agreement> {
    agreement_of(&Labels::of(results))
}

/// The same of runs whose labels are known.
pub(crate) fn agreement_of(labels: &Labels<'_>) -> Vec<Agreement> {
    let Some(first) = labels.worlds.first() else {
        return Vec::new();
    };
    let pairs = labels.worlds.iter().skip(1).map(|other| Agreement {
        first: (*first).clone(),
        other: (*other).clone(),
        list: comparisons(labels, first, other),
    });
    pairs.filter(|pair| !pair.list.is_empty()).collect()
}

fn comparisons(labels: &Labels<'_>, first: &WorldName, other: &WorldName) -> Vec<Comparison> {
    let (results, numbers) = (labels.results, &labels.numbers);
    let cells: BTreeSet<usize> = numbers.iter().copied().collect();
    let mut list = Vec::new();
    for cell in cells {
        let of = |world: &WorldName| {
            let world = world.clone();
            let runs = results.iter().zip(numbers);
            runs.filter_map(move |(run, n)| (*n == cell && run.world == world).then_some(run))
        };
        let Some(run) = of(first).next() else {
            continue;
        };
        for (name, _) in &run.flows {
            let over = |world: &WorldName, value: fn(&FlowResult) -> f64| {
                let flows = of(world).filter_map(|run| run.flows.iter().find(|(n, _)| n == name));
                OverSeeds::of(flows.map(|(_, flow)| value(flow))).map(|over| over.mean)
            };
            let mut compare = |figure, value, tolerance: Tolerance| {
                if let (Some(first), Some(other)) = (over(first, value), over(other, value)) {
                    list.push(Comparison {
                        cell,
                        flow: name.clone(),
                        figure,
                        first,
                        other,
                        within: (first - other).abs() <= tolerance.around(other),
                    });
                }
            };
            compare(
                "induced_rtt_ms",
                |flow| Statistic::P50.of(&flow.induced_rtt),
                Tolerance::LATENCY,
            );
            compare(
                "goodput_bps",
                |flow| flow.goodput.as_bps() as f64,
                Tolerance::GOODPUT,
            );
        }
    }
    list
}
