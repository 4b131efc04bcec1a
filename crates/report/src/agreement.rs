//! Whether the simulated and the live world tell the same of the same cell.

use crate::labels;
use crate::seeds::OverSeeds;
use sojourn_world::{FlowResult, RunResult};
use std::collections::BTreeSet;

/// How far a simulated median induced RTT may be from the live one, as a share of it …
pub const LATENCY_SHARE: f64 = 0.15;
/// … or in milliseconds, whichever is more.
pub const LATENCY_MS: f64 = 3.0;
/// How far a simulated goodput may be from the live one, as a share of it.
pub const GOODPUT_SHARE: f64 = 0.05;

/// One figure of one flow in both worlds; means over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Number of the cell.
    pub cell: usize,
    /// The flow.
    pub flow: String,
    /// `induced_rtt_ms` (its median) or `goodput_bps`.
    pub figure: &'static str,
    /// Simulated.
    pub sim: f64,
    /// Live.
    pub live: f64,
    /// Whether the difference is within the tolerance.
    pub within: bool,
}

impl Agreement {
    /// Simulated less live, as a share of live; none when live is zero.
    pub fn relative(&self) -> Option<f64> {
        (self.live > 0.0).then(|| (self.sim - self.live) / self.live)
    }
}

/// All comparisons that `results` allow: cells that ran in both worlds.
pub fn agreement(results: &[RunResult]) -> Vec<Agreement> {
    let numbers = labels::cell_numbers(results);
    let cells: BTreeSet<usize> = numbers.iter().copied().collect();
    let mut list = Vec::new();
    for cell in cells {
        let runs = || results.iter().zip(&numbers).filter(|(_, n)| **n == cell);
        let of = |world: &'static str| {
            runs().filter_map(move |(run, _)| (run.world == world).then_some(run))
        };
        let Some(first) = of("sim").next() else {
            continue;
        };
        for (name, _) in &first.flows {
            let over = |world, value: fn(&FlowResult) -> f64| {
                let flows = of(world).filter_map(|run| run.flows.iter().find(|(n, _)| n == name));
                OverSeeds::of(flows.map(|(_, flow)| value(flow))).map(|over| over.mean)
            };
            let mut compare = |figure, value, within: fn(f64, f64) -> bool| {
                if let (Some(sim), Some(live)) = (over("sim", value), over("live", value)) {
                    list.push(Agreement {
                        cell,
                        flow: name.clone(),
                        figure,
                        sim,
                        live,
                        within: within(sim, live),
                    });
                }
            };
            compare("induced_rtt_ms", median, |sim, live| {
                (sim - live).abs() <= (LATENCY_SHARE * live).max(LATENCY_MS)
            });
            compare(
                "goodput_bps",
                |f| f.goodput.as_bps() as f64,
                |sim, live| (sim - live).abs() <= GOODPUT_SHARE * live,
            );
        }
    }
    list
}

fn median(flow: &FlowResult) -> f64 {
    if flow.induced_rtt.count == 0 {
        f64::NAN
    } else {
        flow.induced_rtt.p50
    }
}
