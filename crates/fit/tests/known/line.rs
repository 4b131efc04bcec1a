//! Measurements of lines that are known.

use sojourn_fit::{DOWN, Fit, FitError, Line, Measurement, Stream, UP, fit};
use sojourn_scenario::{Options, Scenario, run};
use sojourn_sim::Sim;
use sojourn_world::Point;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Thirty seconds of two streams each of these ways, over this line.
pub(crate) fn measured(line: &Line, ways: &[usize]) -> Measurement {
    let load = [1.0, 31.0].map(|t| Point { t, value: 1.0 });
    let mut like = Measurement {
        name: "known".into(),
        streams: Vec::new(),
        throughput: [UP, DOWN].map(|way| {
            let is_loaded = ways.contains(&way);
            if is_loaded { load.to_vec() } else { Vec::new() }
        }),
        ..Measurement::default()
    };
    for &way in ways {
        like.streams.extend([Stream { way, dscp: 0 }; 2]);
    }
    let options = Options {
        seeds: Some(1),
        ..Options::default()
    };
    let text = line.scenario(&like);
    let scenario =
        Scenario::parse("known", &text, Path::new(""), &options).expect("a line has a scenario");
    let stop = AtomicBool::new(false);
    let runs = run(&Sim, &scenario.cells, NonZeroUsize::MIN, &stop, &());
    let run = runs.into_iter().next().expect("one seed");
    Measurement::of_run(&run.expect("the simulator runs it"), &like)
}

/// What is found of it.
pub(crate) fn searched(load: &Measurement) -> Result<Fit, FitError> {
    let (jobs, stop) = (NonZeroUsize::MIN, AtomicBool::new(false));
    fit(std::slice::from_ref(load), &Sim, jobs, &stop, &|_| ())
}
