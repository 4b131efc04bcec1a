//! A run as the page draws it: series by their points, and in the end the figures.

use serde_json::{Map, Value, json};
use sojourn_world::RunResult;
use sojourn_world::figure::{Content, Part, Series, Statistic};

/// What the page draws over time: of links and of flows.
const DRAWN: [&str; 10] = [
    "backlog",
    "sojourn",
    "drops",
    "throughput",
    "rtt",
    "cwnd",
    "probability",
    "delay_l",
    "delay_c",
    "alpha",
];
/// Times of points are products of floats.
const SLACK_S: f64 = 1e-9;

/// The points up to `until`, in seconds: a series is its first time, its interval, and its values,
/// null where there is none. A ping counts where it was sent, once its echo is there: the points of
/// a run in the middle are no more than known so far.
pub(crate) fn points(result: &RunResult, until: f64) -> Value {
    let part = |name: &str, list: &[Series]| {
        let drawn = list.iter().filter(|s| DRAWN.contains(&&*s.metric));
        let shown = drawn.map(|s| (s.metric.to_string(), piece(s, until)));
        json!({ "name": name, "series": shown.collect::<Map<_, _>>() })
    };
    let links = result.links.iter().map(|(name, l)| part(name, &l.series));
    let flows = result.flows.iter().map(|(name, f)| part(name, &f.series));
    json!({ "links": links.collect::<Vec<_>>(), "flows": flows.collect::<Vec<_>>() })
}

fn piece(series: &Series, until: f64) -> Value {
    let points = series
        .points
        .iter()
        .take_while(|point| point.t <= until + SLACK_S);
    let times: Vec<f64> = series.points.iter().take(2).map(|point| point.t).collect();
    let (first, every) = match times[..] {
        [first, second] => (first, second - first),
        [only] => (only, only),
        _ => (0.0, 0.0),
    };
    json!([
        first,
        every,
        points.map(|point| point.value).collect::<Vec<_>>()
    ])
}

/// All figures of links and flows, a distribution by its statistics.
pub(crate) fn figures(result: &RunResult) -> Value {
    let links = result
        .links
        .iter()
        .map(|(name, link)| json!({ "name": name, "figures": values(link) }));
    let flows = result.flows.iter().map(|(name, flow)| {
        json!({
            "name": name,
            "app": flow.app,
            "figures": values(flow),
        })
    });
    json!({
        "links": links.collect::<Vec<_>>(),
        "flows": flows.collect::<Vec<_>>(),
        "jain": result.aggregate.jain,
        "induced_rtt_ms": {
            "p50": result.induced_rtt(Statistic::P50),
            "p95": result.induced_rtt(Statistic::P95),
        },
    })
}

fn values<T: Part>(part: &T) -> Map<String, Value> {
    let rows = T::rows().filter_map(|row| {
        let value = match row.content(part)? {
            Content::Count(count) => json!(count),
            Content::Number(number) => json!(number),
            Content::Spread(spread) if spread.count == 0 => return None,
            Content::Spread(spread) => {
                let all = Statistic::ALL.map(|one| (one.name().to_owned(), one.of(spread).into()));
                Value::Object(Map::from_iter(all))
            }
        };
        Some((row.figure.key.to_owned(), value))
    });
    rows.collect()
}
