//! The few figures by which cells are compared at a glance.

use crate::labels::Labels;
use crate::seeds::{OverSeeds, groups};
use sojourn_world::figure::Statistic;
use sojourn_world::{RunResult, WorldName};

/// One cell in one world, over its seeds.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    pub(crate) world: WorldName,
    /// Number of the cell.
    pub(crate) cell: usize,
    pub(crate) seeds: usize,
    /// Flows whose latency is meant: the pings, or every flow with a round-trip time.
    pub(crate) latency_of: Vec<String>,
    /// Median induced RTT in ms, averaged over those flows.
    pub(crate) median_ms: Option<OverSeeds>,
    /// Its 95th percentile.
    pub(crate) p95_ms: Option<OverSeeds>,
    /// Sum of goodputs in bit/s.
    pub(crate) goodput_bps: Option<OverSeeds>,
    /// Jain's index.
    pub(crate) jain: Option<OverSeeds>,
    /// Dropped over offered packets, all links together.
    pub(crate) drop_ratio: Option<OverSeeds>,
    /// Marked over offered packets, all links together.
    pub(crate) mark_ratio: Option<OverSeeds>,
}

/// The headline of every cell and world, in the order of their first run.
pub(crate) fn headlines(labels: &Labels<'_>) -> Vec<Headline> {
    let numbers = labels.number_of();
    groups(labels.results)
        .into_iter()
        .map(|group| headline(&group, numbers[group[0].params.as_slice()]))
        .collect()
}

/// Median induced RTT of a run in ms, averaged over its probes.
pub(crate) fn median_ms(run: &RunResult) -> f64 {
    run.induced_rtt(Statistic::P50)
}

/// Its 95th percentile.
pub(crate) fn p95_ms(run: &RunResult) -> f64 {
    run.induced_rtt(Statistic::P95)
}

/// The 99th percentile of what queues add to the delay of a run's L4S flows in ms, averaged over
/// them. NaN without any.
pub(crate) fn l4s_p99_ms(run: &RunResult) -> f64 {
    let added = run.flows.iter().filter_map(|(_, flow)| {
        flow.l4s?;
        // Over UDP few applications measure round trips.
        let one_way = || flow.delay.p99 - flow.delay.min;
        (flow.induced_rtt.count > 0)
            .then_some(flow.induced_rtt.p99)
            .or_else(|| (flow.delay.count > 0).then(one_way))
    });
    let (sum, count) = added.fold((0.0, 0_u32), |(sum, count), ms| (sum + ms, count + 1));
    sum / f64::from(count)
}

/// Sum of goodputs of a run in bit/s.
pub(crate) fn goodput_bps(run: &RunResult) -> f64 {
    run.aggregate.goodput_bps
}

/// Jain's index of a run.
pub(crate) fn jain(run: &RunResult) -> f64 {
    run.aggregate.jain.unwrap_or(f64::NAN)
}

/// Dropped over offered packets of a run, all links together.
pub(crate) fn drop_ratio(run: &RunResult) -> f64 {
    share(run, |l| l.dropped_packets)
}

fn headline(group: &[&RunResult], cell: usize) -> Headline {
    let over =
        |value: &dyn Fn(&RunResult) -> f64| OverSeeds::of(group.iter().map(|run| value(run)));
    Headline {
        world: group[0].world.clone(),
        cell,
        seeds: group.len(),
        latency_of: group[0].probes().map(|(name, _)| name.to_owned()).collect(),
        median_ms: over(&median_ms),
        p95_ms: over(&p95_ms),
        goodput_bps: over(&goodput_bps),
        jain: over(&jain),
        drop_ratio: over(&drop_ratio),
        mark_ratio: over(&|run| share(run, |l| l.marked_packets)),
    }
}

fn share(run: &RunResult, part: fn(&sojourn_world::LinkResult) -> u64) -> f64 {
    let offered: u64 = run.links.iter().map(|(_, l)| l.offered_packets).sum();
    let part: u64 = run.links.iter().map(|(_, l)| part(l)).sum();
    part as f64 / offered as f64
}
