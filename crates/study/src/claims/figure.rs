//! The figures that a claim may name: those of `summary.json`, by the same keys.

mod queue;
mod series;

use series::Reading;
use sojourn_scenario::problem::suggestion;
use sojourn_units::Unit;
use sojourn_world::RunResult;
use sojourn_world::figure::{
    Aggregate, Distribution, FlowResult, Kind, LinkResult, MARK_RATIO, Part, Row, Shape, Statistic,
};

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    Link(&'static Row<LinkResult>, Option<Taken>),
    /// A count of the link's queue, by tc's name.
    Queue(&'static str),
    LinkSeries(Reading),
    Flow(&'static Row<FlowResult>, Option<Taken>),
    FlowSeries(Reading),
    Run(&'static Row<Aggregate>),
    /// No figure of a run but a value measured elsewhere: a table and its column.
    Recorded(usize, usize, Unit),
}

/// What is taken of a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    Statistic(Statistic),
    /// Share of the samples at or below so much, in the figure's unit.
    Below(f64),
}

impl Taken {
    /// What this name takes of the distribution `base`.
    fn named(base: &str, name: &str, numbers: &[f64]) -> Result<Self, (String, String)> {
        match (name, numbers) {
            ("below", &[value]) => return Ok(Self::Below(value)),
            ("below", _) => {
                let help = format!("{base}.below(25): the share of samples up to 25");
                return Err(("`below` needs a number".into(), help));
            }
            _ => {}
        }
        Statistic::named(name).map(Self::Statistic).ok_or_else(|| {
            let names = Statistic::ALL.map(Statistic::name);
            let mut known: Vec<&str> = names.into_iter().chain(["below"]).collect();
            // Of two that are as near the shorter one: `p57` is rather `p5` than `p50`.
            known.sort_unstable();
            let help = suggestion(name, &known);
            (format!("unknown statistic `{name}`"), help)
        })
    }

    fn of(self, d: &Distribution) -> f64 {
        match self {
            Self::Statistic(statistic) => statistic.of(d),
            Self::Below(_) if d.count == 0 => f64::NAN,
            Self::Below(value) => below(d, value),
        }
    }

    /// Its unit, of a distribution of values in `unit`.
    fn unit(self, unit: Unit) -> Unit {
        match self {
            Self::Statistic(Statistic::Count) => Unit::None,
            Self::Statistic(_) => unit,
            Self::Below(_) => Unit::Share,
        }
    }
}

/// Share at or below `value`, on the line between the points of the distribution.
fn below(d: &Distribution, value: f64) -> f64 {
    if value >= d.max {
        return 1.0;
    }
    let after = d.cdf.partition_point(|(x, _)| *x <= value);
    let before = after.checked_sub(1).map_or((d.min, 0.0), |i| d.cdf[i]);
    match d.cdf.get(after) {
        _ if value < d.min => 0.0,
        Some((x, q)) if *x > before.0 => {
            before.1 + (q - before.1) * (value - before.0) / (x - before.0)
        }
        _ => before.1,
    }
}

/// All figures by what claims call them (`link.utilisation`), with their shapes.
fn all() -> impl Iterator<Item = (String, Figure, Shape)> {
    fn named<T: Part>(
        row: &'static Row<T>,
        figure: fn(&'static Row<T>) -> Figure,
    ) -> (String, Figure, Shape) {
        let name = format!("{}.{}", T::KIND.name(), row.figure.key);
        (name, figure(row), row.figure.shape)
    }
    // Those of links in results, and one more.
    let links = LinkResult::rows()
        .chain([&MARK_RATIO])
        .map(|row| named(row, |row| Figure::Link(row, None)));
    let flows = FlowResult::rows().map(|row| named(row, |row| Figure::Flow(row, None)));
    links
        .chain(flows)
        .chain(Aggregate::rows().map(|row| named(row, Figure::Run)))
}

/// The figure of exactly this name, and its shape.
fn plain(name: &str) -> Option<(Figure, Shape)> {
    let found = all().find(|(known, ..)| known == name);
    found.map(|(_, figure, shape)| (figure, shape))
}

/// The figure of this name; `numbers` are those in parentheses behind it.
///
/// # Errors
/// What is wrong with the name, and what would be right.
pub(crate) fn find(name: &str, numbers: &[f64]) -> Result<Figure, (String, String)> {
    if let Some(name) = name.strip_prefix("link.series.") {
        return Reading::find(Kind::Link, name, numbers).map(Figure::LinkSeries);
    }
    if let Some(name) = name.strip_prefix("flow.series.") {
        return Reading::find(Kind::Flow, name, numbers).map(Figure::FlowSeries);
    }
    let figure = of_run(name, numbers)?;
    if numbers.is_empty() || matches!(figure.taken(), Some(Taken::Below(_))) {
        return Ok(figure);
    }
    let help = format!("`{name}` alone");
    Err((format!("`{name}` takes no numbers"), help))
}

/// A figure of the whole run.
fn of_run(name: &str, numbers: &[f64]) -> Result<Figure, (String, String)> {
    if let Some(wanted) = name.strip_prefix("link.qdisc.") {
        let found = queue::NAMES.into_iter().find(|known| *known == wanted);
        return found.map(Figure::Queue).ok_or_else(|| {
            let message = format!("unknown count of a queue `{wanted}`");
            (message, suggestion(wanted, &queue::NAMES))
        });
    }
    match plain(name) {
        Some((figure, Shape::Scalar)) => return Ok(figure),
        Some(_) => {
            let help = format!("say what of it: {name}.mean, {name}.p50, {name}.below(25)");
            return Err((format!("`{name}` is a distribution"), help));
        }
        None => {}
    }
    let (base, word) = name.rsplit_once('.').unwrap_or((name, ""));
    if let Some((figure, Shape::Distribution)) = plain(base) {
        return Ok(figure.with(Taken::named(base, word, numbers)?));
    }
    let names: Vec<String> = all().map(|(name, ..)| name).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let help = suggestion(name, &known);
    Err((format!("unknown figure `{name}`"), help))
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
    pub(crate) const ALL: [(&str, Self); 4] = [
        ("mean", Self::Mean),
        ("sum", Self::Sum),
        ("min", Self::Min),
        ("max", Self::Max),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(known, take)| (known == name).then_some(take))
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

impl Figure {
    /// Whether a link must be named.
    pub(crate) fn is_of_link(&self) -> bool {
        matches!(self, Self::Link(..) | Self::LinkSeries(_) | Self::Queue(_))
    }

    /// Whether it is read off a series or the points of a distribution, not one of the numbers that
    /// a summary has.
    pub(crate) fn is_of_points(&self) -> bool {
        let is_series = matches!(self, Self::LinkSeries(_) | Self::FlowSeries(_));
        is_series || matches!(self.taken(), Some(Taken::Below(_)))
    }

    /// The series that it is read off, if it is one of flows.
    pub(super) const fn flow_series(&self) -> Option<&'static str> {
        match self {
            Self::FlowSeries(reading) => Some(reading.metric()),
            _ => None,
        }
    }

    /// What is taken of it, if it is a distribution.
    fn taken(&self) -> Option<Taken> {
        match self {
            Self::Link(_, taken) | Self::Flow(_, taken) => *taken,
            _ => None,
        }
    }

    fn with(self, taken: Taken) -> Self {
        match self {
            Self::Link(row, _) => Self::Link(row, Some(taken)),
            Self::Flow(row, _) => Self::Flow(row, Some(taken)),
            other => other,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        let of = |unit, taken: Option<Taken>| taken.map_or(unit, |taken| taken.unit(unit));
        match self {
            Self::Link(row, taken) => of(row.figure.unit, *taken),
            Self::Flow(row, taken) => of(row.figure.unit, *taken),
            Self::Run(row) => row.figure.unit,
            Self::LinkSeries(reading) | Self::FlowSeries(reading) => reading.unit(),
            Self::Recorded(_, _, unit) => *unit,
            Self::Queue(_) => Unit::None,
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
            Self::Link(row, _) => {
                let (_, link) = run.links.iter().find(|(name, _)| name == link)?;
                row.spread(link)
            }
            Self::Flow(row, _) => {
                let (_, flow) = run.flows.iter().find(|(name, _)| fits(name, flow))?;
                row.spread(flow)
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
            Self::Link(row, taken) => one_link(&|l| value(row, l, *taken)),
            Self::Queue(name) => {
                one_link(&|l| queue::statistic(&l.qdisc, name).unwrap_or(f64::NAN))
            }
            Self::LinkSeries(reading) => one_link(&|l| reading.of(&l.series)),
            Self::Flow(row, taken) => flows(&|f| value(row, f, *taken)),
            Self::FlowSeries(reading) => flows(&|f| reading.of(&f.series)),
            Self::Run(row) => row.value(&run.aggregate, None),
            Self::Recorded(..) => f64::NAN,
        }
    }
}

/// A figure's number, or what is taken of its distribution; NaN when there is none.
fn value<T: Part>(row: &Row<T>, part: &T, taken: Option<Taken>) -> f64 {
    match taken {
        None => row.value(part, None),
        Some(taken) => row.spread(part).map_or(f64::NAN, |spread| taken.of(spread)),
    }
}
