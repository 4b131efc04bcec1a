//! Which flows are limited by their own ends, so that no queue can make them faster: sentences.

use crate::labels::Labels;
use crate::show::percent;
use sojourn_world::figure::FlowResult;
use sojourn_world::{RunResult, WorldName};
use std::collections::BTreeMap;

/// A share of the time from which on something explains a flow's throughput.
const MOSTLY: f64 = 0.5;

/// A figure of a flow that is a share of time.
type Share = fn(&FlowResult) -> Option<f64>;
/// What of a flow's own ends may limit it, by the figure.
const ENDS: [(&str, Share); 2] = [
    ("its send buffer", |flow| flow.send_buffer_limited),
    ("its receive window", |flow| flow.receive_window_limited),
];

/// A sentence for each flow of a world that takes what it can get and is limited by one of its ends
/// for more than half of the time.
pub fn held_flows(results: &[RunResult], world: &WorldName) -> Vec<String> {
    held_of(&Labels::of(results), world)
}

/// The same of runs whose labels are known.
pub(crate) fn held_of(labels: &Labels<'_>, world: &WorldName) -> Vec<String> {
    let runs = || {
        let runs = labels.results.iter().zip(&labels.numbers);
        runs.filter(|(run, _)| run.world == *world)
    };
    let cells = runs()
        .map(|(_, cell)| cell)
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    // By flow and end: the shares of each cell's runs.
    let mut held: BTreeMap<(&str, &str), BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for (run, cell) in runs() {
        for (name, flow) in run.flows.iter().filter(|(_, flow)| flow.elastic) {
            for (end, share) in ENDS {
                if let Some(share) = share(flow) {
                    let shares = held.entry((name, end)).or_default();
                    shares.entry(*cell).or_default().push(share);
                }
            }
        }
    }
    let mut sentences = Vec::new();
    for ((flow, end), shares) in held {
        let means = shares.into_iter().map(|(cell, shares)| {
            let sum: f64 = shares.iter().sum();
            (cell, sum / shares.len() as f64)
        });
        let mostly: Vec<(usize, f64)> = means.filter(|(_, mean)| *mean > MOSTLY).collect();
        let Some(&(cell, most)) = mostly.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let place = match (cells, mostly.len()) {
            (1, _) => String::new(),
            (_, 1) => format!(" with “{}”", labels.cells[cell]),
            (all, some) => format!(" at most, in {some} of {all} cells"),
        };
        sentences.push(format!(
            "The flow “{flow}” is limited by {end} {} of the time{place}: no queue makes it \
             faster.",
            percent(most)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::held_flows;
    use crate::labels::tests::run;
    use sojourn_world::figure::FlowResult;

    #[test]
    fn a_flow_is_held_by_its_end_where_that_is_so_most_of_the_time() {
        let flow = |elastic, buffer| FlowResult {
            elastic,
            send_buffer_limited: Some(buffer),
            receive_window_limited: Some(0.1),
            ..FlowResult::default()
        };
        let mut results = [run(&[("q", "a")]), run(&[("q", "b")])];
        let world = results[0].world.clone();
        for (run, buffer) in results.iter_mut().zip([0.97, 0.4]) {
            run.flows = vec![
                ("download".into(), flow(true, buffer)),
                ("call".into(), flow(false, 0.99)),
            ];
        }
        assert_eq!(
            held_flows(&results[..1], &world),
            [
                "The flow “download” is limited by its send buffer 97 % of the time: no queue \
                 makes it faster."
            ]
        );
        let both = held_flows(&results, &world);
        assert_eq!(both.len(), 1);
        assert!(both[0].contains("97 % of the time with “"), "{both:?}");
        results[1].flows[0].1.send_buffer_limited = Some(0.6);
        let both = held_flows(&results, &world);
        assert!(
            both[0].contains("97 % of the time at most, in 2 of 2 cells:"),
            "{both:?}"
        );
    }
}
