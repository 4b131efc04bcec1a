//! A run of the page's data as JSON: compact, rounded to what a picture shows. There may be ten
//! thousand, so that they are written as they are looked at, without a tree of values.

use crate::summary::qdisc;
use serde::Serialize;
use sojourn_world::figure::{Content, Distribution, Kind, Part, Statistic};
use sojourn_world::{RunResult, Series};
use std::collections::{BTreeMap, BTreeSet};

/// How much of the series and curves the page carries.
pub(super) struct Thinning {
    /// Longest series.
    pub(super) points: usize,
    /// Whether further seeds of a cell go without series.
    pub(super) first_seed_only: bool,
    /// Longest cumulative distribution.
    pub(super) curve: usize,
}

/// Which of the page's curves a run has: its part, the place of the link or flow, and the figure.
pub(super) type Curve = (Kind, usize, &'static str);

/// What the page has of a run besides its figures.
pub(super) struct Plan {
    pub(super) has_series: bool,
    /// The cumulative distributions of which it is the first run of its cell that has one.
    pub(super) curves: BTreeSet<Curve>,
}

/// The figures that the page has.
#[derive(Default)]
pub(super) struct Held {
    /// By kind, for each row of the list whether a run has a value.
    rows: BTreeMap<Kind, Vec<bool>>,
    series: BTreeSet<(Kind, String)>,
}

impl Held {
    /// Adds what others have.
    pub(super) fn add(&mut self, other: Self) {
        for (kind, rows) in other.rows {
            let known = self.rows.entry(kind).or_default();
            known.resize(known.len().max(rows.len()), false);
            known
                .iter_mut()
                .zip(rows)
                .for_each(|(has, more)| *has |= more);
        }
        self.series.extend(other.series);
    }

    /// Whether a run has a series.
    pub(super) fn has_series(&self, kind: Kind, key: &str) -> bool {
        self.series.contains(&(kind, key.to_owned()))
    }

    /// Whether a run has a value of a figure of a part.
    pub(super) fn has<T: Part>(&self, key: &str) -> bool {
        let rows = self.rows.get(&T::KIND);
        let mut all = T::rows().zip(rows.into_iter().flatten());
        all.any(|(row, has)| *has && row.figure.key == key)
    }

    fn note<T: Part>(&mut self, row: usize) {
        let rows = self.rows.entry(T::KIND).or_default();
        rows.resize(rows.len().max(row + 1), false);
        rows[row] = true;
    }

    fn note_series(&mut self, kind: Kind, metric: &str) {
        if !self.has_series(kind, metric) {
            self.series.insert((kind, metric.to_owned()));
        }
    }
}

/// Writes a run as an object.
pub(super) fn write(
    to: &mut Vec<u8>,
    held: &mut Held,
    run: &RunResult,
    cell: usize,
    thinning: &Thinning,
    plan: &Plan,
) {
    let with = With { thinning, plan };
    to.extend(b"{\"world\":");
    json(to, run.world.as_str());
    to.extend(b",\"seed\":");
    json(to, &run.seed.to_string());
    to.extend(b",\"cell\":");
    json(to, &cell);
    to.extend(b",\"digest\":");
    json(
        to,
        &(run.digest != 0).then(|| format!("{:016x}", run.digest)),
    );
    to.extend(b",\"links\":");
    list(
        to,
        b'[',
        run.links.iter().enumerate(),
        |to, (place, (name, link))| {
            to.extend(b"{\"name\":");
            json(to, name);
            with.part(to, held, link, place, &link.series);
            to.extend(b",\"qdisc\":");
            qdisc(to, &link.qdisc);
            to.push(b'}');
        },
    );
    to.extend(b",\"flows\":");
    list(
        to,
        b'[',
        run.flows.iter().enumerate(),
        |to, (place, (name, flow))| {
            to.extend(b"{\"name\":");
            json(to, name);
            to.extend(b",\"app\":");
            json(to, &*flow.app);
            with.part(to, held, flow, place, &flow.series);
            to.push(b'}');
        },
    );
    to.extend(b",\"aggregate\":");
    values(to, held, &run.aggregate);
    to.push(b'}');
}

/// Writes what JSON has a form for.
fn json<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(to, value).expect("memory takes all that is written");
}

/// Writes a list or an object of these members.
fn list<T>(
    to: &mut Vec<u8>,
    begin: u8,
    members: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    to.push(begin);
    for (number, member) in members.enumerate() {
        if number > 0 {
            to.push(b',');
        }
        write(to, member);
    }
    to.push(if begin == b'[' { b']' } else { b'}' });
}

/// What a part of a run is written with.
struct With<'a> {
    thinning: &'a Thinning,
    plan: &'a Plan,
}

impl With<'_> {
    /// Adds the members of a link or a flow that hold its figures.
    fn part<T: Part>(
        &self,
        to: &mut Vec<u8>,
        held: &mut Held,
        part: &T,
        place: usize,
        series: &[Series],
    ) {
        to.extend(b",\"f\":");
        values(to, held, part);
        to.extend(b",\"cdf\":");
        let wanted = |key| self.plan.curves.contains(&(T::KIND, place, key));
        let rows = T::rows().filter(|row| wanted(row.figure.key));
        let drawn = rows.filter_map(|row| Some((row.figure.key, row.spread(part)?)));
        list(to, b'{', drawn, |to, (key, spread)| {
            json(to, key);
            to.push(b':');
            curve(to, spread, self.thinning.curve);
        });
        to.extend(b",\"s\":");
        let series = series.iter().filter(|_| self.plan.has_series);
        list(to, b'{', series, |to, series| {
            held.note_series(T::KIND, &series.metric);
            json(to, &*series.metric);
            to.push(b':');
            thinned(to, series, self.thinning.points);
        });
    }
}

/// Writes values by key, a distribution as a list in the order of [`Statistic::ALL`]. What has no
/// value is left out: the page then does not speak of the figure.
fn values<T: Part>(to: &mut Vec<u8>, held: &mut Held, part: &T) {
    let rows = T::rows().enumerate().filter_map(|(number, row)| {
        let content = row.content(part)?;
        let has_value = match content {
            Content::Count(_) => true,
            Content::Number(x) => x.is_finite(),
            Content::Spread(spread) => spread.count > 0,
        };
        has_value.then_some((number, row, content))
    });
    list(to, b'{', rows, |to, (number, row, content)| {
        held.note::<T>(number);
        json(to, row.figure.key);
        to.push(b':');
        match content {
            Content::Count(count) => json(to, &count),
            Content::Number(x) => rounded(to, x, FIGURE_DIGITS),
            Content::Spread(spread) => {
                list(to, b'[', Statistic::ALL.into_iter(), |to, one| match one {
                    Statistic::Count => json(to, &spread.count),
                    _ => rounded(to, one.of(spread), FIGURE_DIGITS),
                });
            }
        }
    });
}

/// Digits of a fraction: more than any table shows. A count stays whole.
const FIGURE_DIGITS: i32 = 7;

/// Writes every so many of a distribution's points, and its last: a list of values, and one of
/// fractions.
fn curve(to: &mut Vec<u8>, d: &Distribution, most: usize) {
    let stride = d.cdf.len().div_ceil(most).max(1);
    let last = d.cdf.len().saturating_sub(1);
    let points = || { d.cdf.iter().enumerate() }.filter(|(i, _)| i % stride == 0 || *i == last);
    to.push(b'[');
    list(to, b'[', points(), |to, (_, (ms, _))| rounded(to, *ms, 4));
    to.push(b',');
    list(to, b'[', points(), |to, (_, (_, share))| {
        rounded(to, *share, 5);
    });
    to.push(b']');
}

/// Writes a series as `[end of the first interval, interval, values]`, with at most so many points:
/// neighbours are averaged (drops: added up).
fn thinned(to: &mut Vec<u8>, series: &Series, most: usize) {
    let stride = series.points.len().div_ceil(most).max(1);
    let interval = match &series.points[..] {
        [a, b, ..] => b.t - a.t,
        [only] => only.t,
        [] => 0.0,
    };
    let adds_up = series.metric == "drops";
    let width = interval * stride as f64;
    let points = &series.points;
    let first = points
        .first()
        .map_or(0.0, |point| point.t - interval + width);
    to.push(b'[');
    rounded(to, first, 9);
    to.push(b',');
    rounded(to, width, 9);
    to.push(b',');
    list(to, b'[', series.points.chunks(stride), |to, chunk| {
        let present = || chunk.iter().map(|p| p.value).filter(|v| v.is_finite());
        let (sum, count) = (present().sum::<f64>(), present().count());
        match count {
            0 => to.extend(b"null"),
            _ if adds_up => rounded(to, sum, 5),
            _ => rounded(to, sum / count as f64, 4),
        }
    });
    to.push(b']');
}

/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Writes `x` with so many significant digits, as a whole number where it is one.
fn rounded(to: &mut Vec<u8>, x: f64, digits: i32) {
    if x == 0.0 {
        to.push(b'0');
        return;
    }
    if !x.is_finite() {
        to.extend(b"null");
        return;
    }
    let decimals = digits - 1 - libm::log10(x.abs()).floor() as i32;
    if quickly(to, x, decimals).is_some() {
        return;
    }
    // Through decimal text, so that no digit beyond those asked for comes back.
    let text = if decimals >= 0 {
        format!("{x:.*}", decimals as usize)
    } else {
        let unit = libm::exp10(f64::from(-decimals));
        format!("{:.0}", (x / unit).round() * unit)
    };
    let y: f64 = text.parse().expect("it was written as a number");
    if y.fract() == 0.0 && y.abs() < 1e15 {
        json(to, &(y as i64));
    } else {
        json(to, &y);
    }
}

/// Writes a number of usual size with so many decimals, those at its end that are zero left out.
/// None, and nothing is written, where the product that is rounded here may be on the other side of
/// a half, or where JSON has an exponent.
fn quickly(to: &mut Vec<u8>, x: f64, decimals: i32) -> Option<()> {
    let power = POWERS.get(usize::try_from(decimals).ok()?)?;
    let size = x.abs();
    let product = size * power;
    if !(1e-4..1e15).contains(&size) || product >= 1e12 {
        return None;
    }
    let over = product.fract();
    // A product below 2^40 is right to 2^-13.
    if (over - 0.5).abs() < 1e-3 {
        return None;
    }
    let mut whole = product as u64 + u64::from(over > 0.5);
    let mut decimals = decimals as usize;
    while decimals > 0 && whole.is_multiple_of(10) {
        whole /= 10;
        decimals -= 1;
    }
    if x < 0.0 {
        to.push(b'-');
    }
    let unit = POWERS[decimals] as u64;
    json(to, &(whole / unit));
    if decimals > 0 {
        to.push(b'.');
        let start = to.len();
        to.resize(start + decimals, b'0');
        let mut rest = whole % unit;
        for digit in to[start..].iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use sojourn_units::Unit;
    use sojourn_world::Point;

    fn read(write: impl FnOnce(&mut Vec<u8>)) -> Value {
        let mut text = Vec::new();
        write(&mut text);
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn numbers_lose_digits_not_size() {
        let rounded = |x, digits| read(|to| rounded(to, x, digits));
        assert_eq!(rounded(1_234_567.0, 4), json!(1_235_000));
        assert_eq!(rounded(0.000_123_456, 4), json!(0.000_123_5));
        assert_eq!(rounded(-2.0, 4), json!(-2));
        assert_eq!(
            (rounded(f64::NAN, 4), rounded(0.0, 4)),
            (Value::Null, json!(0))
        );
    }

    /// Decimal text says which digits are right.
    #[test]
    fn the_quick_way_writes_what_decimal_text_says() {
        let mut x = 0.000_137_f64;
        while x < 1e9 {
            for (x, digits) in [(x, 4), (-x, 5), (x, 7), (x.round() + 0.5, 4)] {
                let decimals = digits - 1 - libm::log10(x.abs()).floor() as i32;
                let mut quick = Vec::new();
                if decimals < 0 || quickly(&mut quick, x, decimals).is_none() {
                    continue;
                }
                let text = format!("{x:.*}", decimals as usize);
                let text = match text.trim_end_matches('0').trim_end_matches('.') {
                    short if text.contains('.') => short,
                    _ => &text,
                };
                assert_eq!(str::from_utf8(&quick).unwrap(), text, "{x:?} {digits}");
            }
            x *= 1.000_37;
        }
    }

    #[test]
    fn curves_keep_their_ends() {
        let d = Distribution {
            cdf: (0..=120)
                .map(|i| (f64::from(i), f64::from(i) / 120.0))
                .collect(),
            ..Distribution::default()
        };
        let of = |most| read(|to| curve(to, &d, most));
        let ends = |x: &Value| (x[0].clone(), x[x.as_array().unwrap().len() - 1].clone());
        for (most, left) in [(1000, 121), (121, 121), (60, 41), (30, 25)] {
            let curve = of(most);
            assert_eq!(curve[0].as_array().unwrap().len(), left, "{most}");
            assert_eq!(ends(&curve[0]), (json!(0), json!(120)));
            assert_eq!(ends(&curve[1]), (json!(0), json!(1)));
        }
    }

    #[test]
    fn thinning_averages_and_adds_up() {
        let series = |metric: &'static str| Series {
            metric: metric.into(),
            unit: Unit::None,
            points: [1.0, f64::NAN, 2.0, 4.0, 7.0]
                .iter()
                .enumerate()
                .map(|(i, value)| Point {
                    t: (i + 1) as f64 * 0.5,
                    value: *value,
                })
                .collect(),
        };
        let thinned = |metric, most| read(|to| thinned(to, &series(metric), most));
        assert_eq!(thinned("rtt", 3), json!([1, 1, [1, 3, 7]]));
        assert_eq!(thinned("drops", 3), json!([1, 1, [1, 6, 7]]));
        assert_eq!(thinned("rtt", 5), json!([0.5, 0.5, [1, null, 2, 4, 7]]));
    }
}
