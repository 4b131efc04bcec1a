//! What is measured in a run, by name and unit.

use sojourn_world::figure::Amount;
use sojourn_world::{FlowResult, LinkResult, RunResult};

/// A measure. NaN where a run has none.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) of: fn(&RunResult) -> f64,
}

const fn measure(name: &'static str, unit: &'static str, of: fn(&RunResult) -> f64) -> Measure {
    Measure { name, unit, of }
}

/// Where what is evaluated stands, or what it sends into.
fn bottleneck(run: &RunResult) -> &LinkResult {
    &run.links[0].1
}

/// A flow with this name; of a group all.
fn flows<'a>(run: &'a RunResult, name: &str) -> impl Iterator<Item = &'a FlowResult> {
    let is_of = move |flow: &str| {
        let number = flow.strip_prefix(name);
        number.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let flows = run.flows.iter().filter(move |(flow, _)| is_of(flow));
    flows.map(|(_, flow)| flow)
}

fn goodput(run: &RunResult, name: &str) -> f64 {
    flows(run, name)
        .map(|flow| flow.goodput.as_bps() as f64)
        .sum()
}

fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { f64::NAN }
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * ratio(part as f64, of as f64)
}

/// The mean over the flows of a group that have a value.
fn mean_of(run: &RunResult, name: &str, of: impl Fn(&FlowResult) -> f64) -> f64 {
    let values: Vec<_> = flows(run, name).map(of).filter(|v| v.is_finite()).collect();
    ratio(values.iter().sum(), values.len() as f64)
}

/// What the apps of a flow have measured under this key: the mean.
fn app(run: &RunResult, name: &str, key: &str) -> f64 {
    mean_of(run, name, |flow| {
        let mut measured = flow.measured.iter();
        let found = measured.find(|it| it.metric.measure().key == key);
        match found.map(|it| &it.amount) {
            Some(Amount::Spread(spread)) => spread.mean,
            Some(Amount::Sum(sum)) => *sum,
            None => f64::NAN,
        }
    })
}

/// RFC 7928 section 2, of every case.
pub(super) const COMMON: &[Measure] = &[
    measure("utilization", "%", |run| {
        bottleneck(run)
            .utilisation
            .map_or(f64::NAN, |share| 100.0 * share)
    }),
    measure("queue delay, mean", "ms", |run| {
        bottleneck(run).sojourn.mean
    }),
    measure("queue delay, p95", "ms", |run| bottleneck(run).sojourn.p95),
    measure("queue delay, p99", "ms", |run| bottleneck(run).sojourn.p99),
    measure("jitter (p95 - p5)", "ms", |run| {
        bottleneck(run).sojourn.p95 - bottleneck(run).sojourn.p5
    }),
    measure("packets dropped", "%", |run| {
        percent(
            bottleneck(run).dropped_packets,
            bottleneck(run).offered_packets,
        )
    }),
    measure("packets marked", "%", |run| {
        percent(
            bottleneck(run).marked_packets,
            bottleneck(run).offered_packets,
        )
    }),
    measure("goodputs, each while it runs, together", "Mbit/s", |run| {
        run.aggregate.goodput_bps / 1e6
    }),
    measure("induced RTT of a probe, p95", "ms", |run| {
        mean_of(run, "probe", |flow| flow.induced_rtt.p95)
    }),
];

/// Jain's index.
pub(super) const FAIRNESS: Measure = measure("Jain's index", "", |run| {
    run.aggregate.jain.unwrap_or(f64::NAN)
});
pub(super) const SECOND: Measure = measure("second flow / first flow", "", |run| {
    ratio(goodput(run, "second"), goodput(run, "first"))
});
pub(super) const OTHER: Measure = measure("other RTT's goodput / first's", "", |run| {
    ratio(goodput(run, "other"), goodput(run, "first"))
});
pub(super) const AGGRESSIVE: Measure = measure("aggressive / friendly", "", |run| {
    ratio(goodput(run, "aggressive"), goodput(run, "friendly"))
});
pub(super) const FRIENDLY: Measure = measure("goodput of the friendly flow", "Mbit/s", |run| {
    goodput(run, "friendly") / 1e6
});
pub(super) const UNRESPONSIVE: Measure = measure("loss of the unresponsive flow", "%", |run| {
    mean_of(run, "unresponsive", |flow| {
        flow.loss_ratio.map_or(f64::NAN, |lost| 100.0 * lost)
    })
});
pub(super) const STEADY: Measure = measure("loss of the steady flow", "%", |run| {
    mean_of(run, "steady", |flow| {
        flow.loss_ratio.map_or(f64::NAN, |lost| 100.0 * lost)
    })
});
pub(super) const BURSTS: Measure = measure("completion of 30 kB, p95", "ms", |run| {
    mean_of(run, "bursts", |flow| flow.completion.p95)
});
pub(super) const PAGES: Measure = measure("page load, mean", "ms", |run| {
    app(run, "pages", "app.page_load_ms")
});
pub(super) const CALL: Measure = measure("the call's MOS", "", |run| app(run, "call", "app.mos"));
pub(super) const LAG: Measure = measure("the game's lag, mean", "ms", |run| {
    app(run, "game", "app.lag_ms")
});
pub(super) const FILES: Measure = measure("completion of 500 kB, mean", "ms", |run| {
    mean_of(run, "files", |flow| flow.completion.mean)
});
pub(super) const SHORT_MEAN: Measure = measure("completion of 100 kB, mean", "ms", |run| {
    mean_of(run, "short", |flow| flow.completion.mean)
});
pub(super) const SHORT_P95: Measure = measure("completion of 100 kB, p95", "ms", |run| {
    mean_of(run, "short", |flow| flow.completion.p95)
});
pub(super) const NEW_SHORT: Measure = measure("completion of 100 kB, mean", "ms", |run| {
    mean_of(run, "new", |flow| flow.completion.mean)
});
pub(super) const LONG: Measure = measure("goodput of the long flow", "Mbit/s", |run| {
    goodput(run, "long") / 1e6
});
pub(super) const SECOND_QUEUE: Measure = measure("delay in the second queue, mean", "ms", |run| {
    let mut links = run.links.iter();
    let second = links.find(|(name, _)| name == "second");
    second.map_or(f64::NAN, |(_, link)| link.sojourn.mean)
});
pub(super) const NEW: Measure = measure("goodput of the control", "Mbit/s", |run| {
    goodput(run, "new") / 1e6
});
pub(super) const BESIDE: Measure = measure("new / old", "", |run| {
    ratio(goodput(run, "new"), goodput(run, "old"))
});
pub(super) const FAR: Measure = measure("160 ms / 20 ms", "", |run| {
    ratio(goodput(run, "new"), goodput(run, "near"))
});
pub(super) const AGAIN: Measure = measure("retransmitted", "%", |run| {
    mean_of(run, "new", |flow| {
        percent(flow.retransmitted_packets, flow.sent_packets)
    })
});

/// RFC 7928 section 2.2: how long a flow that comes later takes to nine tenths of its fair share,
/// held for a second.
pub(super) const START: Measure = measure("the later flow reaches its share after", "s", |run| {
    const BEGINS: f64 = 15.0;
    const SHARE: f64 = 0.9 * 10e6 * 1448.0 / 1514.0 / 2.0;
    let series = flows(run, "later").flat_map(|flow| &flow.series);
    let Some(goodput) = series.into_iter().find(|series| series.metric == "goodput") else {
        return f64::NAN;
    };
    // Ten points are a second.
    let mut windows = goodput.points.windows(10);
    let reached = windows.find(|points| {
        let sum: f64 = points.iter().map(|point| point.value).sum();
        points[0].t > BEGINS && sum / 10.0 >= SHARE
    });
    reached.map_or(f64::NAN, |points| points[9].t - BEGINS)
});
