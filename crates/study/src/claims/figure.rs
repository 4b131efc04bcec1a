//! The figures that a claim may name: those of `summary.json`, by the same keys.

mod queue;
mod series;

use series::Reading;
use sojourn_scenario::problem::suggestion;
use sojourn_units::Unit;
use sojourn_world::{Amount, Distribution, FlowResult, Gathering, LinkResult, Metric, RunResult};

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    Link(fn(&LinkResult) -> f64, Unit),
    LinkSpread(fn(&LinkResult) -> &Distribution, Statistic),
    /// A count of the link's queue, by tc's name.
    Queue(&'static str),
    LinkSeries(Reading),
    Flow(fn(&FlowResult) -> f64, Unit),
    FlowSpread(fn(&FlowResult) -> &Distribution, Statistic),
    FlowSeries(Reading),
    Throughput(Statistic),
    /// What an app has measured; a statistic of it where it is a distribution.
    App(Metric, Option<Statistic>),
    Run(fn(&RunResult) -> f64, Unit),
    /// No figure of a run but a value measured elsewhere: a table and its column.
    Recorded(usize, usize, Unit),
}

/// What is taken of a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Statistic {
    Named(fn(&Distribution) -> f64),
    Count,
    /// Share of the samples at or below so many milliseconds.
    Below(f64),
}

impl Statistic {
    fn of(self, d: &Distribution) -> f64 {
        match self {
            Self::Count => d.count as f64,
            _ if d.count == 0 => f64::NAN,
            Self::Named(value) => value(d),
            Self::Below(ms) => below(d, ms),
        }
    }
}

/// Share at or below `ms`, on the line between the points of the distribution.
fn below(d: &Distribution, ms: f64) -> f64 {
    if ms >= d.max {
        return 1.0;
    }
    let after = d.cdf.partition_point(|(x, _)| *x <= ms);
    let before = after.checked_sub(1).map_or((d.min, 0.0), |i| d.cdf[i]);
    match d.cdf.get(after) {
        _ if ms < d.min => 0.0,
        Some((x, q)) if *x > before.0 => {
            before.1 + (q - before.1) * (ms - before.0) / (x - before.0)
        }
        _ => before.1,
    }
}

const STATISTICS: [(&str, Statistic); 10] = [
    ("mean", Statistic::Named(|d| d.mean)),
    ("min", Statistic::Named(|d| d.min)),
    ("p5", Statistic::Named(|d| d.p5)),
    ("p25", Statistic::Named(|d| d.p25)),
    ("p50", Statistic::Named(|d| d.p50)),
    ("p75", Statistic::Named(|d| d.p75)),
    ("p95", Statistic::Named(|d| d.p95)),
    ("p99", Statistic::Named(|d| d.p99)),
    ("max", Statistic::Named(|d| d.max)),
    ("count", Statistic::Count),
];

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// A flow's retransmission ratio: retransmitted over sent packets.
fn retransmit_ratio(flow: &FlowResult) -> f64 {
    ratio(flow.retransmitted_packets, flow.sent_packets)
}

const SCALARS: [(&str, Figure); 19] = {
    use Figure::{Flow, Link, Run};
    [
        (
            "link.utilisation",
            Link(|l| l.utilisation.unwrap_or(f64::NAN), Unit::Share),
        ),
        (
            "link.drop_ratio",
            Link(|l| ratio(l.dropped_packets, l.offered_packets), Unit::Share),
        ),
        (
            "link.mark_ratio",
            Link(|l| ratio(l.marked_packets, l.offered_packets), Unit::Share),
        ),
        (
            "link.backlog_packets_mean",
            Link(|l| l.backlog_packets_mean, Unit::Packets),
        ),
        (
            "link.offered_packets",
            Link(|l| l.offered_packets as f64, Unit::Packets),
        ),
        (
            "link.dequeued_packets",
            Link(|l| l.dequeued_packets as f64, Unit::Packets),
        ),
        (
            "link.dropped_packets",
            Link(|l| l.dropped_packets as f64, Unit::Packets),
        ),
        (
            "link.marked_packets",
            Link(|l| l.marked_packets as f64, Unit::Packets),
        ),
        (
            "link.offered_bytes",
            Link(|l| l.offered_bytes as f64, Unit::None),
        ),
        (
            "link.dequeued_bytes",
            Link(|l| l.dequeued_bytes as f64, Unit::None),
        ),
        (
            "flow.goodput_bps",
            Flow(|f| f.goodput.as_bps() as f64, Unit::Bps),
        ),
        (
            "flow.sent_packets",
            Flow(|f| f.sent_packets as f64, Unit::Packets),
        ),
        (
            "flow.retransmitted_packets",
            Flow(|f| f.retransmitted_packets as f64, Unit::Packets),
        ),
        ("flow.retransmit_ratio", Flow(retransmit_ratio, Unit::Share)),
        (
            "flow.loss_ratio",
            Flow(|f| f.loss_ratio.unwrap_or(f64::NAN), Unit::Share),
        ),
        (
            "flow.completed_s",
            Flow(
                |f| {
                    f.completed
                        .map_or(f64::NAN, sojourn_units::Span::as_secs_f64)
                },
                Unit::Seconds,
            ),
        ),
        ("flow.started", Flow(|f| f.started as f64, Unit::None)),
        (
            "aggregate.jain",
            Run(|r| r.aggregate.jain.unwrap_or(f64::NAN), Unit::None),
        ),
        (
            "aggregate.goodput_bps",
            Run(|r| r.aggregate.goodput_bps, Unit::Bps),
        ),
    ]
};

const SPREADS: [&str; 7] = [
    "link.sojourn_ms",
    "flow.rtt_ms",
    "flow.induced_rtt_ms",
    "flow.spp_rtt_ms",
    "flow.spp_induced_rtt_ms",
    "flow.delay_ms",
    "flow.completion_ms",
];

fn spread(name: &str, statistic: Statistic) -> Option<Figure> {
    Some(match name {
        "link.sojourn_ms" => Figure::LinkSpread(|l| &l.sojourn, statistic),
        "flow.rtt_ms" => Figure::FlowSpread(|f| &f.rtt, statistic),
        "flow.induced_rtt_ms" => Figure::FlowSpread(|f| &f.induced_rtt, statistic),
        "flow.spp_rtt_ms" => Figure::FlowSpread(|f| &f.spp_rtt, statistic),
        "flow.spp_induced_rtt_ms" => Figure::FlowSpread(|f| &f.spp_induced_rtt, statistic),
        "flow.delay_ms" => Figure::FlowSpread(|f| &f.delay, statistic),
        "flow.completion_ms" => Figure::FlowSpread(|f| &f.completion, statistic),
        _ => return None,
    })
}

/// The throughput, and what apps measure: its name, and the figure by its statistic.
const THROUGHPUT: &str = "flow.throughput_bps";

fn app_metric(name: &str) -> Option<Metric> {
    let key = name.strip_prefix("flow.")?;
    Metric::ALL.into_iter().find(|metric| metric.key() == key)
}

fn is_sum(metric: Metric) -> bool {
    metric.gathering() == Gathering::Sum
}

/// The unit of what an app measures, which its key ends with.
fn unit_of(metric: Metric) -> Unit {
    match metric.key().rsplit_once('_') {
        Some((_, "ms")) => Unit::Ms,
        Some((_, "s")) => Unit::Seconds,
        Some((_, "kbps")) => Unit::Kbps,
        Some((_, "ratio")) => Unit::Share,
        _ => Unit::None,
    }
}

/// The statistic of this name of the distribution `base`.
fn statistic(base: &str, name: &str, numbers: &[f64]) -> Result<Statistic, (String, String)> {
    match (name, numbers) {
        ("below", &[value]) => return Ok(Statistic::Below(value)),
        ("below", _) => {
            let help = format!("{base}.below(25): the share of samples up to 25");
            return Err(("`below` needs a number".into(), help));
        }
        _ => {}
    }
    let found = STATISTICS.iter().find(|(known, _)| *known == name);
    found.map(|(_, statistic)| *statistic).ok_or_else(|| {
        let known: Vec<&str> = STATISTICS.iter().map(|s| s.0).chain(["below"]).collect();
        let help = suggestion(name, &known);
        (format!("`{name}` is no statistic"), help)
    })
}

/// The figure of this name; `numbers` are those in parentheses behind it.
///
/// # Errors
/// What is wrong with the name, and what would be right.
pub(crate) fn find(name: &str, numbers: &[f64]) -> Result<Figure, (String, String)> {
    if let Some(name) = name.strip_prefix("link.series.") {
        return Reading::find(true, name, numbers).map(Figure::LinkSeries);
    }
    if let Some(name) = name.strip_prefix("flow.series.") {
        return Reading::find(false, name, numbers).map(Figure::FlowSeries);
    }
    let figure = of_run(name, numbers)?;
    if numbers.is_empty() || figure.takes_number() {
        return Ok(figure);
    }
    let help = format!("`{name}` alone");
    Err((format!("`{name}` takes no numbers"), help))
}

/// A figure of the whole run.
fn of_run(name: &str, numbers: &[f64]) -> Result<Figure, (String, String)> {
    if let Some((_, figure)) = SCALARS.iter().find(|(known, _)| *known == name) {
        return Ok(*figure);
    }
    if let Some(wanted) = name.strip_prefix("link.qdisc.") {
        let found = queue::NAMES.into_iter().find(|known| *known == wanted);
        return found.map(Figure::Queue).ok_or_else(|| {
            let message = format!("`{wanted}` is no count of a queue");
            (message, suggestion(wanted, &queue::NAMES))
        });
    }
    if let Some(sum) = app_metric(name).filter(|metric| is_sum(*metric)) {
        return Ok(Figure::App(sum, None));
    }
    let is_spread = |name: &str| {
        let measured = app_metric(name).is_some_and(|metric| !is_sum(metric));
        SPREADS.contains(&name) || name == THROUGHPUT || measured
    };
    if is_spread(name) {
        let help = format!("say what of it: {name}.mean, {name}.p50, {name}.below(25)");
        return Err((format!("`{name}` is a distribution"), help));
    }
    let (base, word) = name.rsplit_once('.').unwrap_or((name, ""));
    if is_spread(base) {
        let statistic = statistic(base, word, numbers)?;
        let metric = app_metric(base);
        let figure = spread(base, statistic)
            .or(metric.map(|metric| Figure::App(metric, Some(statistic))))
            .unwrap_or(Figure::Throughput(statistic));
        return Ok(figure);
    }
    let apps: Vec<String> = Metric::ALL
        .iter()
        .map(|m| format!("flow.{}", m.key()))
        .collect();
    let known = SCALARS
        .iter()
        .map(|s| s.0)
        .chain(SPREADS)
        .chain([THROUGHPUT]);
    let known: Vec<&str> = known.chain(apps.iter().map(String::as_str)).collect();
    let help = suggestion(name, &known);
    Err((format!("`{name}` is no figure"), help))
}

/// How the values of several flows become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Take {
    #[default]
    Mean,
    Sum,
    Min,
    Max,
}

impl Take {
    pub(crate) const NAMES: [&str; 4] = ["mean", "sum", "min", "max"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "mean" => Self::Mean,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            _ => return None,
        })
    }

    fn of(self, values: impl Iterator<Item = f64>) -> f64 {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let sum: f64 = values.iter().sum();
        match self {
            _ if values.is_empty() => f64::NAN,
            Self::Mean => sum / values.len() as f64,
            Self::Sum => sum,
            Self::Min => values.into_iter().fold(f64::INFINITY, f64::min),
            Self::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Whether a name fits a pattern: the name itself, `*`, or `voip-*`.
pub(crate) fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// What the app of a flow has measured; NaN when it does not measure that.
fn measured(flow: &FlowResult, metric: Metric, statistic: Option<Statistic>) -> f64 {
    let found = flow.measured.iter().find(|m| m.metric == metric);
    match (found.map(|m| &m.amount), statistic) {
        (Some(Amount::Sum(sum)), None) => *sum,
        (Some(Amount::Spread(spread)), Some(statistic)) => statistic.of(spread),
        _ => f64::NAN,
    }
}

impl Figure {
    /// Whether a link must be named.
    pub(crate) fn is_of_link(&self) -> bool {
        matches!(
            self,
            Self::Link(..) | Self::LinkSpread(..) | Self::LinkSeries(_) | Self::Queue(_)
        )
    }

    fn takes_number(&self) -> bool {
        matches!(
            self,
            Self::LinkSpread(_, Statistic::Below(_))
                | Self::FlowSpread(_, Statistic::Below(_))
                | Self::Throughput(Statistic::Below(_))
                | Self::App(_, Some(Statistic::Below(_)))
        )
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Self::LinkSeries(reading) | Self::FlowSeries(reading) => reading.unit(),
            Self::Link(_, unit)
            | Self::Flow(_, unit)
            | Self::Run(_, unit)
            | Self::Recorded(_, _, unit) => *unit,
            Self::LinkSpread(_, statistic) | Self::FlowSpread(_, statistic) => match statistic {
                Statistic::Named(_) => Unit::Ms,
                Statistic::Below(_) => Unit::Share,
                Statistic::Count => Unit::None,
            },
            Self::App(metric, None | Some(Statistic::Named(_))) => unit_of(*metric),
            Self::Throughput(Statistic::Named(_)) => Unit::Bps,
            Self::Throughput(Statistic::Below(_)) | Self::App(_, Some(Statistic::Below(_))) => {
                Unit::Share
            }
            Self::Queue(_)
            | Self::Throughput(Statistic::Count)
            | Self::App(_, Some(Statistic::Count)) => Unit::None,
        }
    }

    /// The distribution that it is a statistic of, in a run; of several flows the first one's.
    pub(crate) fn spread_of<'a>(
        &self,
        run: &'a RunResult,
        link: &str,
        flow: &str,
    ) -> Option<&'a Distribution> {
        match self {
            Self::LinkSpread(spread, _) => {
                let (_, link) = run.links.iter().find(|(name, _)| name == link)?;
                Some(spread(link))
            }
            Self::FlowSpread(spread, _) => {
                let (_, flow) = run.flows.iter().find(|(name, _)| fits(name, flow))?;
                Some(spread(flow))
            }
            _ => None,
        }
    }

    /// Its value in a run; NaN when there is none.
    pub(crate) fn of(&self, run: &RunResult, link: &str, flow: &str, take: Take) -> f64 {
        let one_link = |value: &dyn Fn(&LinkResult) -> f64| {
            let found = run.links.iter().find(|(name, _)| name == link);
            found.map_or(f64::NAN, |(_, l)| value(l))
        };
        let flows = |value: &dyn Fn(&FlowResult) -> f64| {
            let matching = run.flows.iter().filter(|(name, _)| fits(name, flow));
            take.of(matching.map(|(_, f)| value(f)))
        };
        match self {
            Self::Link(value, _) => one_link(value),
            Self::Queue(name) => {
                one_link(&|l| queue::statistic(&l.qdisc, name).unwrap_or(f64::NAN))
            }
            Self::LinkSpread(spread, statistic) => one_link(&|l| statistic.of(spread(l))),
            Self::LinkSeries(reading) => one_link(&|l| reading.of(&l.series)),
            Self::Flow(value, _) => flows(value),
            Self::FlowSpread(spread, statistic) => flows(&|f| statistic.of(spread(f))),
            Self::FlowSeries(reading) => flows(&|f| reading.of(&f.series)),
            Self::Throughput(statistic) => flows(&|f| statistic.of(&f.throughput)),
            Self::App(metric, statistic) => flows(&|f| measured(f, *metric, *statistic)),
            Self::Run(value, _) => value(run),
            Self::Recorded(..) => f64::NAN,
        }
    }
}
