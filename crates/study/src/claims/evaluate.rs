//! Whether a check holds for the results of a study.

use super::figure::{Figure, Take};
use super::finding::Finding;
use super::terms::{Binder, Check, Compare, Expr, Operator, Place, Recorded, Reference, Relation};
use super::terms::{Measurement, Vocabulary};
use crate::study::Outcomes;
use sojourn_report::Finished;
use sojourn_units::Unit;
use sojourn_world::{Cell, RunResult};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The cells of a scenario, with what they yielded.
pub(crate) struct Cells<'a> {
    groups: Vec<Group<'a>>,
    /// Whom to tell of runs that cannot be read; nobody where none has been run.
    outcomes: Option<&'a Outcomes>,
}

/// Runs that differ in their seed only.
struct Group<'a> {
    params: &'a [(String, String)],
    runs: Vec<Option<&'a Finished>>,
}

impl<'a> Cells<'a> {
    /// The cells of a setting with what they yielded.
    pub(crate) fn new(cells: &'a [Cell], outcomes: &'a Outcomes, setting: usize) -> Self {
        let runs = outcomes.of(setting).iter();
        Self {
            groups: groups(cells, runs.map(|outcome| outcome.as_ref().ok())),
            outcomes: Some(outcomes),
        }
    }

    /// Cells that have not been run: checks can still be checked.
    pub(crate) fn planned(cells: &'a [Cell]) -> Self {
        Self {
            groups: groups(cells, std::iter::empty()),
            outcomes: None,
        }
    }

    /// A run with its series and distributions; none where it cannot be read, which is told.
    fn whole(&self, run: &'a Finished) -> Option<Cow<'a, RunResult>> {
        let whole = run.whole();
        let outcomes = self.outcomes.expect("they hold the run");
        whole.map_err(|error| outcomes.note(error)).ok()
    }
}

/// Cells by what they differ in beside the seed.
fn groups<'a>(
    cells: &'a [Cell],
    runs: impl Iterator<Item = Option<&'a Finished>>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (cell, run) in cells.iter().zip(runs.chain(std::iter::repeat(None))) {
        match groups.last_mut() {
            Some(group) if group.params == cell.params => group.runs.push(run),
            _ => groups.push(Group {
                params: &cell.params,
                runs: vec![run],
            }),
        }
    }
    groups
}

/// A quantity: of each seed, and the median over the seeds of every figure in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) median: f64,
    /// Empty for a constant.
    pub(crate) seeds: Vec<f64>,
    pub(crate) unit: Unit,
}

impl Quantity {
    fn constant(value: f64) -> Self {
        Self {
            median: value,
            seeds: Vec::new(),
            unit: Unit::None,
        }
    }

    fn zip(&self, other: &Self, unit: Unit, f: impl Fn(f64, f64) -> f64) -> Self {
        let seeds = match (&self.seeds[..], &other.seeds[..]) {
            ([], right) => right.iter().map(|r| f(self.median, *r)).collect(),
            (left, []) => left.iter().map(|l| f(*l, other.median)).collect(),
            (left, right) => left.iter().zip(right).map(|(l, r)| f(*l, *r)).collect(),
        };
        Self {
            median: f(self.median, other.median),
            seeds,
            unit,
        }
    }

    /// Whether it is within two ends, which are shown as `span`.
    fn within(self, low: f64, high: f64, shown: &str, span: &str) -> Case {
        let v = self.median;
        let held = v >= low && v <= high;
        let not = if held { "" } else { "not " };
        let mut case = Case::new(self.unit, format!("{shown} {not}in {span}"));
        case.step(
            Finding::of(held),
            (v - low).min(high - v) / v.abs().max(f64::MIN_POSITIVE),
        );
        case.seeds = self.seeds;
        case
    }

    fn minus(&self, other: &Self) -> Self {
        let unit = self.unit;
        self.zip(other, unit, |a, b| a - b)
    }
}

/// One combination of a check's axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) place: Place,
    pub(crate) finding: Finding,
    /// The values compared, in words.
    pub(crate) text: String,
    /// How far it is from failing, as a share; negative when it failed.
    pub(crate) margin: f64,
    /// The value, or the difference compared, of each seed.
    pub(crate) seeds: Vec<f64>,
    pub(crate) unit: Unit,
}

impl Case {
    /// One that holds as far as nothing is compared.
    fn new(unit: Unit, text: String) -> Self {
        Self {
            place: Place::new(),
            finding: Finding::Holds,
            text,
            margin: f64::INFINITY,
            seeds: Vec::new(),
            unit,
        }
    }

    /// A comparison of it, and how far that is from failing.
    fn step(&mut self, finding: Finding, room: f64) {
        self.finding = self.finding.min(finding);
        self.margin = if room.is_nan() {
            f64::NEG_INFINITY
        } else {
            self.margin.min(room)
        };
    }
}

/// Computes quantities and checks.
pub(crate) struct Evaluator<'a> {
    words: &'a Vocabulary,
    cells: &'a Cells<'a>,
    place: Place,
    /// Whether `rising` and `falling` go over the values that have a cell, and leave out others.
    part: bool,
    /// Whether repeated measurements of recorded values are taken for seeds.
    repetitions: bool,
}

/// A place in words: `tcp=cubic n=14`.
fn show<'p>(words: &Vocabulary, place: impl IntoIterator<Item = &'p (usize, usize)>) -> String {
    let words: Vec<String> = place
        .into_iter()
        .map(|(axis, value)| {
            let axis = &words.axes[*axis];
            format!("{}={}", axis.name, axis.values[*value].name)
        })
        .collect();
    words.join(" ")
}

/// Why there is no value, in a sentence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Missing {
    /// No cell has what was asked for.
    Cell(String),
    /// What was asked for is not one thing.
    Unclear(String),
}

impl Missing {
    /// A place that is several things of a kind.
    fn several(said: &str, kind: &str, differing: &[&str]) -> Self {
        let what = match said {
            "" => format!("nothing is said of the {kind}"),
            said => format!("{said} is several {kind}s"),
        };
        Self::Unclear(format!("{what}; they differ in {}", differing.join(", ")))
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::Cell(message) | Self::Unclear(message) => message,
        }
    }
}

type Evaluated<T> = Result<T, Missing>;

/// Every combination of the binders' values; the last binder changes fastest.
pub(crate) fn combinations(binders: &[Binder]) -> Vec<Place> {
    binders.iter().fold(vec![Vec::new()], |places, binder| {
        let longer = |place: Place| {
            binder.values.iter().map(move |value| {
                let mut place = place.clone();
                place.push((binder.axis, *value));
                place
            })
        };
        places.into_iter().flat_map(longer).collect()
    })
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(words: &'a Vocabulary, cells: &'a Cells<'a>) -> Self {
        Self {
            words,
            cells,
            place: Place::new(),
            part: false,
            repetitions: false,
        }
    }

    /// For pictures: recorded values with the spread of their repetitions, as if of seeds.
    pub(crate) fn with_repetitions(mut self) -> Self {
        self.repetitions = true;
        self
    }

    /// For a world that has some of the study's cells only.
    pub(crate) fn over_part(mut self) -> Self {
        self.part = true;
        self
    }

    /// The number of seeds of a cell: of those that there are results of, if there is any.
    pub(crate) fn seeds(&self) -> usize {
        let groups = self.cells.groups.iter();
        let counts = groups.map(|group| (group.runs.iter().flatten().count(), group.runs.len()));
        let (run, planned): (Vec<usize>, Vec<usize>) = counts.unzip();
        let most = |counts: Vec<usize>| counts.into_iter().max().unwrap_or(0);
        match most(run) {
            0 => most(planned),
            run => run,
        }
    }

    /// A place in words.
    pub(crate) fn show(&self, place: &Place) -> String {
        show(self.words, place)
    }

    fn within<T>(&mut self, place: &Place, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.place.len();
        self.place.extend(place);
        let result = f(self);
        self.place.truncate(before);
        result
    }

    /// Every case of a check.
    pub(crate) fn check(&mut self, check: &Check) -> Vec<Evaluated<Case>> {
        combinations(&check.binders)
            .into_iter()
            .map(|place| {
                let mut case = self.within(&place, |inner| inner.relation(&check.relation))?;
                case.place = place;
                Ok(case)
            })
            .collect()
    }

    /// A quantity at a place.
    pub(crate) fn quantity_at(&mut self, place: &Place, expr: &Expr) -> Evaluated<Quantity> {
        self.within(place, |inner| inner.quantity(expr))
    }

    /// Whether a place is one cell.
    pub(crate) fn find(&self, place: &Place) -> Evaluated<()> {
        self.group(place).map(drop)
    }

    /// The results of the first seed at a place, if there are any.
    pub(crate) fn first_run(&self, place: &Place) -> Option<Cow<'a, RunResult>> {
        let group = self.group(place).ok()?;
        self.cells.whole(group.runs.iter().flatten().next()?)
    }

    /// The points of the distribution that a figure is a statistic of, of the first seed at a
    /// place; none where there is none.
    pub(crate) fn points_at(&self, place: &Place, expr: &Expr) -> Vec<(f64, f64)> {
        let Expr::Figure(reference) = expr else {
            return Vec::new();
        };
        let run = self.first_run(&reference.place(place));
        let Reference { link, flow, .. } = reference;
        let spread = run
            .as_deref()
            .and_then(|run| reference.figure.spread_of(run, link, flow));
        spread.map_or_else(Vec::new, |spread| spread.cdf.clone())
    }

    fn relation(&mut self, relation: &Relation) -> Evaluated<Case> {
        match relation {
            Relation::Chain { first, rest } => self.chain(first, rest),
            Relation::Within { value, low, high } => {
                let value = self.quantity(value)?;
                let (low, high) = (self.quantity(low)?.median, self.quantity(high)?.median);
                let [shown, from, to] = value.unit.show_apart([value.median, low, high]);
                Ok(value.within(low, high, &shown, &format!("{from} .. {to}")))
            }
            Relation::About {
                value,
                target,
                share,
            } => {
                let (value, target) = (self.quantity(value)?, self.quantity(target)?.median);
                let off = (target * share).abs();
                let shown = value.unit.show(value.median);
                let (target_shown, percent) =
                    (value.unit.show(target), (share * 1000.0).round() / 10.0);
                let span = format!("{target_shown} ± {percent} %");
                Ok(value.within(target - off, target + off, &shown, &span))
            }
            Relation::Monotone {
                rising,
                binder,
                body,
                slack,
            } => self.monotone(*rising, binder, body, *slack),
        }
    }

    fn chain(&mut self, first: &Expr, rest: &[(Compare, Expr)]) -> Evaluated<Case> {
        let mut left = self.quantity(first)?;
        let mut case = Case::new(left.unit, left.unit.show(left.median));
        let mut seeds = None;
        for (compare, right) in rest {
            let right = self.quantity(right)?;
            let (a, b) = (left.median, right.median);
            let (low, high) = if compare.more {
                (&right, &left)
            } else {
                (&left, &right)
            };
            let room = high.median - low.median;
            // Two figures by the interval of their difference, a figure and a number by the median.
            let finding = if low.seeds.is_empty() || high.seeds.is_empty() {
                Finding::of(room > 0.0 || compare.or_equal && room == 0.0)
            } else {
                Finding::of_differences(&high.minus(low).seeds, compare.or_equal)
            };
            case.step(finding, room / a.abs().max(b.abs()).max(f64::MIN_POSITIVE));
            let not = finding.word();
            let _ = write!(case.text, " {not}{} {}", compare.sign, case.unit.show(b));
            // Against a number the value is of interest, between two figures their difference.
            seeds.get_or_insert_with(|| match right.seeds[..] {
                [] => left.seeds.clone(),
                _ => left.minus(&right).seeds,
            });
            left = right;
        }
        case.seeds = seeds.unwrap_or_default();
        Ok(case)
    }

    fn monotone(
        &mut self,
        rising: bool,
        binder: &Binder,
        body: &Expr,
        slack: f64,
    ) -> Evaluated<Case> {
        let mut values = Vec::new();
        let mut missing = None;
        for place in combinations(std::slice::from_ref(binder)) {
            match self.quantity_at(&place, body) {
                Ok(value) => values.push(value),
                Err(Missing::Cell(message)) if self.part => missing = Some(message),
                Err(other) => return Err(other),
            }
        }
        if let Some(message) = missing.filter(|_| values.len() < 2) {
            return Err(Missing::Cell(message));
        }
        let unit = values.first().map_or(Unit::None, |value| value.unit);
        let list: Vec<String> = values.iter().map(|value| unit.show(value.median)).collect();
        let mut case = Case::new(unit, list.join(", "));
        for pair in values.windows(2) {
            let step = |a: f64, b: f64| if rising { b - a } else { a - b };
            let (a, b) = (pair[0].median, pair[1].median);
            let room = step(a, b) / a.abs().max(f64::MIN_POSITIVE) + slack;
            let allowed = slack * a.abs();
            let seeds: Vec<f64> = (pair[0].seeds.iter().zip(&pair[1].seeds))
                .map(|(a, b)| step(*a, *b) + allowed)
                .collect();
            // Written so that no value is no step in the right direction.
            let finding = match seeds[..] {
                [] => Finding::of(room >= 0.0),
                _ => Finding::of_differences(&seeds, true),
            };
            case.step(finding, room);
        }
        if let (Some(last), Some(first)) = (values.last(), values.first()) {
            case.seeds = last.minus(first).seeds;
        }
        Ok(case)
    }

    fn quantity(&mut self, expr: &Expr) -> Evaluated<Quantity> {
        match expr {
            Expr::Number(number) => Ok(Quantity::constant(*number)),
            Expr::Figure(reference) => self.figure(reference),
            Expr::Reduce(reduce, binder, body) => self.reduce(*reduce, binder, body),
            Expr::Count(binders, relation) => {
                let mut held = 0;
                for place in combinations(binders) {
                    let case = self.within(&place, |inner| inner.relation(relation))?;
                    held += u32::from(case.finding == Finding::Holds);
                }
                Ok(Quantity::constant(f64::from(held)))
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.quantity(left)?, self.quantity(right)?);
                let unit = match operator {
                    // Twice as many milliseconds are milliseconds.
                    Operator::Add | Operator::Subtract | Operator::Multiply
                        if left.unit == Unit::None =>
                    {
                        right.unit
                    }
                    Operator::Add | Operator::Subtract => left.unit,
                    Operator::Multiply | Operator::Divide if right.unit == Unit::None => left.unit,
                    Operator::Multiply | Operator::Divide => Unit::None,
                };
                Ok(left.zip(&right, unit, |a, b| match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
                    Operator::Divide => a / b,
                }))
            }
        }
    }

    fn reduce(&mut self, take: Take, binder: &Binder, body: &Expr) -> Evaluated<Quantity> {
        let join = match take {
            Take::Min => f64::min,
            Take::Max => f64::max,
            Take::Mean | Take::Sum => |a, b| a + b,
        };
        let mut total: Option<Quantity> = None;
        for place in combinations(std::slice::from_ref(binder)) {
            let next = self.quantity_at(&place, body)?;
            total = Some(match total {
                None => next,
                Some(total) => total.zip(&next, next.unit, join),
            });
        }
        let total = total.ok_or_else(|| Missing::Unclear("an axis without values".into()))?;
        if take != Take::Mean {
            return Ok(total);
        }
        let count = Quantity::constant(binder.values.len() as f64);
        Ok(total.zip(&count, total.unit, |a, b| a / b))
    }

    fn figure(&mut self, reference: &Reference) -> Evaluated<Quantity> {
        let place = reference.place(&self.place);
        if let Figure::Recorded(table, column, unit) = reference.figure {
            let values = self.words.recorded[table].at(column, &place, self.words)?;
            return Ok(Quantity {
                median: median(&values),
                // Not paired with our seeds: no repetition belongs to one of them.
                seeds: if self.repetitions { values } else { Vec::new() },
                unit,
            });
        }
        let group = self.group(&place)?;
        let Reference {
            link, flow, take, ..
        } = reference;
        let figure = &reference.figure;
        let of = |run: &&'a Finished| {
            if figure.is_of_points() {
                let whole = self.cells.whole(run);
                whole.map_or(f64::NAN, |whole| figure.of(&whole, link, flow, *take))
            } else {
                figure.of(&run.figures, link, flow, *take)
            }
        };
        let seeds: Vec<f64> = group.runs.iter().flatten().map(of).collect();
        Ok(Quantity {
            median: median(&seeds),
            seeds,
            unit: reference.figure.unit(),
        })
    }

    /// The one cell at a place.
    fn group(&self, place: &Place) -> Evaluated<&'a Group<'a>> {
        let axes = &self.words.axes;
        let values = || {
            let values = place.iter();
            values.map(|(axis, value)| &axes[*axis].values[*value])
        };
        let wanted = || values().flat_map(|value| &value.params);
        let another = self.words.another.as_ref();
        let asks_for_it = values().any(|value| self.words.is_another(value));
        let fits = |group: &&Group<'_>| {
            let mut texts = group.params.iter().map(|(_, text)| text);
            let is_seen = asks_for_it || texts.all(|text| Some(text) != another);
            is_seen
                && wanted().all(|(field, value)| {
                    let mut params = group.params.iter();
                    params.any(|(key, have)| key == field && value.contains(have))
                })
        };
        let mut found = self.cells.groups.iter().filter(fits);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Missing::Cell(format!("no cell has {}", self.show(place)))),
            (Some(one), Some(other)) => {
                let differing = one.params.iter().zip(other.params);
                let fields: Vec<&str> = differing
                    .filter(|(a, b)| a != b)
                    .map(|((field, _), _)| field.as_str())
                    .collect();
                Err(Missing::several(&self.show(place), "cell", &fields))
            }
        }
    }
}

impl Recorded {
    /// The repetitions of a column's value at a place. An axis that the rows are not keyed by
    /// makes no difference.
    fn at(&self, column: usize, place: &Place, words: &Vocabulary) -> Result<Vec<f64>, Missing> {
        let fits = |row: &&Measurement| {
            let mut key = self.axes.iter().zip(&row.key);
            key.all(|(axis, value)| place.iter().all(|(a, v)| a != axis || v == value))
        };
        let rows: Vec<&Measurement> = self.rows.iter().filter(fits).collect();
        let said = place.iter().filter(|(axis, _)| self.axes.contains(axis));
        let said = show(words, said);
        if let Some(other) = rows.iter().find(|row| row.key != rows[0].key) {
            let axes = self.axes.iter().zip(rows[0].key.iter().zip(&other.key));
            let differing: Vec<&str> = axes
                .filter(|(_, (a, b))| a != b)
                .map(|(axis, _)| words.axes[*axis].name.as_str())
                .collect();
            let several = Missing::several(&said, "row", &differing).message();
            return Err(Missing::Unclear(format!("{}: {several}", self.file)));
        }
        let values: Vec<f64> = rows
            .iter()
            .map(|row| row.values[column])
            .filter(|value| value.is_finite())
            .collect();
        if values.is_empty() {
            let word = &self.words()[column];
            let missing = format!("{} has no value of `{word}` for {said}", self.file);
            return Err(Missing::Cell(missing.trim_end_matches(" for ").to_owned()));
        }
        Ok(values)
    }
}
