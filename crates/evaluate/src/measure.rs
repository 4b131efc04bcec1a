//! What is measured in a run, by name and unit.

use sojourn_world::figure::Amount;
use sojourn_world::{FlowResult, LinkResult, RunResult};

/// A measure. NaN where a run has none.
#[derive(Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) of: fn(&RunResult) -> f64,
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
pub(crate) const COMMON: &[Measure] = &[
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

/// RFC 9330's aim, of a flow that sends as L4S wants.
pub(crate) const L4S_TAIL: Measure = measure("induced RTT of the L4S flow, p99", "ms", |run| {
    mean_of(run, "low", |flow| flow.induced_rtt.p99)
});
/// RFC 9332 section 2.1's aim.
pub(crate) const L4S_SHARE: Measure = measure("L4S flow / classic flow", "", |run| {
    ratio(goodput(run, "low"), goodput(run, "classic"))
});
pub(crate) const L4S_LAG: Measure = measure("lag of the game in the L queue, mean", "ms", |run| {
    app(run, "game", "app.lag_ms")
});
/// Jain's index.
pub(crate) const FAIRNESS: Measure = measure("Jain's index", "", |run| {
    run.aggregate.jain.unwrap_or(f64::NAN)
});
pub(crate) const SECOND: Measure = measure("second flow / first flow", "", |run| {
    ratio(goodput(run, "second"), goodput(run, "first"))
});
pub(crate) const OTHER: Measure = measure("other RTT's goodput / first's", "", |run| {
    ratio(goodput(run, "other"), goodput(run, "first"))
});
pub(crate) const AGGRESSIVE: Measure = measure("aggressive / friendly", "", |run| {
    ratio(goodput(run, "aggressive"), goodput(run, "friendly"))
});
pub(crate) const FRIENDLY: Measure = measure("goodput of the friendly flow", "Mbit/s", |run| {
    goodput(run, "friendly") / 1e6
});
pub(crate) const UNRESPONSIVE: Measure = measure("loss of the unresponsive flow", "%", |run| {
    mean_of(run, "unresponsive", |flow| {
        flow.loss_ratio.map_or(f64::NAN, |lost| 100.0 * lost)
    })
});
pub(crate) const STEADY: Measure = measure("loss of the steady flow", "%", |run| {
    mean_of(run, "steady", |flow| {
        flow.loss_ratio.map_or(f64::NAN, |lost| 100.0 * lost)
    })
});
pub(crate) const BURSTS: Measure = measure("completion of 30 kB, p95", "ms", |run| {
    mean_of(run, "bursts", |flow| flow.completion.p95)
});
pub(crate) const PAGES: Measure = measure("page load, mean", "ms", |run| {
    app(run, "pages", "app.page_load_ms")
});
pub(crate) const CALL: Measure = measure("the call's MOS", "", |run| app(run, "call", "app.mos"));
pub(crate) const LAG: Measure = measure("the game's lag, mean", "ms", |run| {
    app(run, "game", "app.lag_ms")
});
pub(crate) const FILES: Measure = measure("completion of 500 kB, mean", "ms", |run| {
    mean_of(run, "files", |flow| flow.completion.mean)
});
pub(crate) const SHORT_MEAN: Measure = measure("completion of 100 kB, mean", "ms", |run| {
    mean_of(run, "short", |flow| flow.completion.mean)
});
pub(crate) const SHORT_P95: Measure = measure("completion of 100 kB, p95", "ms", |run| {
    mean_of(run, "short", |flow| flow.completion.p95)
});
pub(crate) const NEW_SHORT: Measure = measure("completion of 100 kB, mean", "ms", |run| {
    mean_of(run, "new", |flow| flow.completion.mean)
});
pub(crate) const LONG: Measure = measure("goodput of the long flow", "Mbit/s", |run| {
    goodput(run, "long") / 1e6
});
pub(crate) const SECOND_QUEUE: Measure = measure("delay in the second queue, mean", "ms", |run| {
    let mut links = run.links.iter();
    let second = links.find(|(name, _)| name == "second");
    second.map_or(f64::NAN, |(_, link)| link.sojourn.mean)
});
pub(crate) const NEW: Measure = measure("goodput of the control", "Mbit/s", |run| {
    goodput(run, "new") / 1e6
});
pub(crate) const BESIDE: Measure = measure("new / old", "", |run| {
    ratio(goodput(run, "new"), goodput(run, "old"))
});
pub(crate) const FAR: Measure = measure("160 ms / 20 ms", "", |run| {
    ratio(goodput(run, "new"), goodput(run, "near"))
});
pub(crate) const AGAIN: Measure = measure("retransmitted", "%", |run| {
    mean_of(run, "new", |flow| {
        percent(flow.retransmitted_packets, flow.sent_packets)
    })
});

/// RFC 7928 section 2.2: how long a flow that comes later takes to nine tenths of its fair share,
/// held for a second.
pub(crate) const START: Measure = measure("the later flow reaches its share after", "s", |run| {
    reaches(run, "later", 15.0, 10e6 / 2.0)
});
pub(crate) const FULL: Measure = measure("the line is full after", "s", |run| {
    reaches(run, "new", 0.0, 10e6)
});
pub(crate) const TENFOLD: Measure = measure("ten times the rate is used after", "s", |run| {
    reaches(run, "new", 10.0, 100e6)
});
/// RFC 7928 section 2.4: of the flows, how many reduce in one round trip of 100 ms, averaged over
/// those in which one does. A reduction is a change of the slow-start threshold.
pub(crate) const TOGETHER: Measure = measure("flows that reduce together", "%", |run| {
    let series = flows(run, "sender").flat_map(|flow| &flow.series);
    let thresholds: Vec<_> = series.filter(|it| it.metric == "ssthresh").collect();
    let points = thresholds.iter().map(|series| series.points.len()).min();
    let share = |at: usize| {
        let changed = thresholds.iter().filter(|series| {
            let [before, now] = [at - 1, at].map(|at| series.points[at].value);
            now.is_finite() && now.to_bits() != before.to_bits()
        });
        percent(changed.count() as u64, thresholds.len() as u64)
    };
    let shares: Vec<_> = (1..points.unwrap_or(0))
        .map(share)
        .filter(|it| *it > 0.0)
        .collect();
    ratio(shares.iter().sum(), shares.len() as f64)
});
pub(crate) const SMALL: Measure = measure("segments of 500 / of 1448 bytes", "", |run| {
    ratio(goodput(run, "small"), goodput(run, "large"))
});
pub(crate) const BACK: Measure = measure("goodput the other way", "Mbit/s", |run| {
    goodput(run, "down") / 1e6
});
pub(crate) const AGE: Measure = measure("age of 65 kB when they come, mean", "ms", |run| {
    app(run, "new", "app.age_ms")
});

/// Seconds after `begins` until a flow has nine tenths of what a line of so many bits a second
/// carries for it, held for a second.
fn reaches(run: &RunResult, name: &str, begins: f64, line: f64) -> f64 {
    let share = 0.9 * line * 1448.0 / 1514.0;
    let series = flows(run, name).flat_map(|flow| &flow.series);
    let Some(goodput) = series.into_iter().find(|series| series.metric == "goodput") else {
        return f64::NAN;
    };
    // Ten points are a second.
    let mut windows = goodput.points.windows(10);
    let reached = windows.find(|points| {
        let sum: f64 = points.iter().map(|point| point.value).sum();
        points[0].t > begins && sum / 10.0 >= share
    });
    reached.map_or(f64::NAN, |points| points[9].t - begins)
}
