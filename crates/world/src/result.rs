//! What a run yields.

use crate::Cell;
use crate::bottleneck::sharing;
use crate::figure::{Aggregate, FlowResult, LinkResult, Statistic};
use crate::name::WorldName;
use crate::stations::Stations;

/// The result of one cell in one world.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The world that yielded it.
    pub world: WorldName,
    /// The cell's seed.
    pub seed: u64,
    /// What was swept or set for this cell.
    pub params: Vec<(String, String)>,
    /// Links by name: the network's interfaces, in their order. In a dumbbell `up` and `down`.
    pub links: Vec<(String, LinkResult)>,
    /// Flows by name, in the scenario's order.
    pub flows: Vec<(String, FlowResult)>,
    /// Over all flows.
    pub aggregate: Aggregate,
    /// What the run cost.
    pub cost: Cost,
    /// A rolling hash over every event, or frame, of a run in virtual time: equal hashes, equal
    /// runs. Zero where runs do not repeat.
    pub digest: u64,
    /// The stations of its radio. None without one, and in results of older programs.
    pub radio: Option<Stations>,
    /// Version and commit of the program that ran it, as `--version` says them. None where nobody
    /// has signed it: a world does not know what program it is part of.
    pub program: Option<String>,
}

impl RunResult {
    /// The flows whose latency is meant where none is named: those pings that were answered, or
    /// else every flow with round-trip times.
    pub fn probes(&self) -> impl Iterator<Item = (&str, &FlowResult)> {
        let measured = || self.flows.iter().filter(|(_, f)| f.induced_rtt.count > 0);
        let pings = measured().any(|(_, f)| f.app == "ping");
        measured()
            .filter(move |(_, f)| !pings || f.app == "ping")
            .map(|(name, f)| (name.as_str(), f))
    }

    /// The run's induced RTT in milliseconds: a statistic of each of [`RunResult::probes`],
    /// averaged over them. NaN without any.
    pub fn induced_rtt(&self, statistic: Statistic) -> f64 {
        let (sum, count) = self.probes().fold((0.0, 0_u32), |(sum, count), (_, flow)| {
            (sum + statistic.of(&flow.induced_rtt), count + 1)
        });
        sum / f64::from(count)
    }
}

impl Aggregate {
    /// The aggregate of a run: `results` in the order of the cell's flows.
    pub fn of(cell: &Cell, results: &[(String, FlowResult)]) -> Self {
        let bps = |f: &FlowResult| f.goodput.as_bps() as f64;
        // A group has one goodput: how it is shared is not known.
        let is_single = |index: usize| cell.flows[index].members.is_empty();
        let elastic = results
            .iter()
            .enumerate()
            .filter_map(|(index, (_, flow))| (flow.elastic && is_single(index)).then_some(index));
        let groups = sharing(cell, &elastic.collect::<Vec<_>>()).into_iter();
        let fairness = groups.filter_map(|group| jain(group.iter().map(|&i| bps(&results[i].1))));
        Self {
            jain: fairness.reduce(f64::min),
            goodput_bps: results.iter().map(|(_, f)| bps(f)).sum(),
        }
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Events of the simulator; frames handled by the bridge in the live world.
    pub events: u64,
    /// Packets sent by the busiest link's queue, from the start of the run.
    pub bottleneck_packets: u64,
    /// Processor seconds of the run.
    pub cpu_s: f64,
    /// Seconds of the run.
    pub wall_s: f64,
    /// Largest resident memory of the process so far, in bytes.
    pub peak_rss_bytes: u64,
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984): (Σx)² / (n·Σx²). None for fewer than two shares,
/// and where all are zero.
pub fn jain(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) = shares
        .into_iter()
        .fold((0_u32, 0.0, 0.0), |(n, sum, squares), x| {
            (n + 1, sum + x, squares + x * x)
        });
    (n > 1 && squares > 0.0).then(|| sum * sum / (f64::from(n) * squares))
}
