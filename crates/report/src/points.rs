//! The points of series and distributions as bytes: all of a run that its summary leaves out.
//!
//! Of each link and each flow, in the order of the run, its lists of points, and a zero. A list is
//! what it is, its name and unit as texts, how many points it has, and their pairs of numbers;
//! numbers and lengths stand with the least byte first.

use crate::error::Damage;
use crate::table::unit_of;
use sojourn_world::figure::Part;
use sojourn_world::{Point, RunResult, Series};

/// What follows: no further list.
const END: u8 = 0;
/// A cumulative distribution: values and shares.
const DISTRIBUTION: u8 = 1;
/// A series: times and values.
const SERIES: u8 = 2;

/// Adds those of a run.
pub(crate) fn write(bytes: &mut Vec<u8>, run: &RunResult) {
    for (_, link) in &run.links {
        write_part(bytes, link, &link.series);
    }
    for (_, flow) in &run.flows {
        write_part(bytes, flow, &flow.series);
    }
}

fn write_part<T: Part>(bytes: &mut Vec<u8>, part: &T, series: &[Series]) {
    for row in T::rows() {
        if let Some(spread) = row.spread(part).filter(|spread| !spread.cdf.is_empty()) {
            let names = [row.figure.metric, row.figure.unit.word()];
            write_list(bytes, DISTRIBUTION, names, spread.cdf.iter().copied());
        }
    }
    for series in series.iter().filter(|series| !series.points.is_empty()) {
        let names = [&*series.metric, series.unit.word()];
        let points = series.points.iter().map(|point| (point.t, point.value));
        write_list(bytes, SERIES, names, points);
    }
    bytes.push(END);
}

fn write_list(
    bytes: &mut Vec<u8>,
    what: u8,
    names: [&str; 2],
    points: impl ExactSizeIterator<Item = (f64, f64)>,
) {
    bytes.push(what);
    for name in names {
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    bytes.extend((points.len() as u64).to_le_bytes());
    for (x, y) in points {
        bytes.extend(x.to_le_bytes());
        bytes.extend(y.to_le_bytes());
    }
}

/// Fills a run that has its figures only from what [`write`] has added.
///
/// # Errors
/// Says what is wrong with the bytes.
pub(crate) fn read(bytes: &mut &[u8], run: &mut RunResult) -> Result<(), Damage> {
    for (_, link) in &mut run.links {
        read_part(bytes, link, |link| &mut link.series)?;
    }
    for (_, flow) in &mut run.flows {
        read_part(bytes, flow, |flow| &mut flow.series)?;
    }
    Ok(())
}

fn read_part<T: Part>(
    bytes: &mut &[u8],
    part: &mut T,
    series: fn(&mut T) -> &mut Vec<Series>,
) -> Result<(), Damage> {
    loop {
        let [what] = take(bytes)?;
        if what == END {
            return Ok(());
        }
        let (metric, unit) = (text(bytes)?, text(bytes)?);
        let points = points(bytes)?;
        if what == SERIES {
            series(part).push(Series {
                unit: unit_of(T::KIND, metric, unit)?,
                metric: metric.to_owned().into(),
                points: points.map(|(t, value)| Point { t, value }).collect(),
            });
            continue;
        }
        let row = T::rows().find(|row| row.figure.metric == metric);
        let spread = row.and_then(|row| row.slot(part)?.spread());
        let spread = spread.ok_or_else(|| Damage::NoDistribution {
            metric: metric.to_owned(),
            kind: T::KIND.name(),
        })?;
        spread.cdf = points.collect();
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Damage> {
    let (first, rest) = bytes.split_first_chunk().ok_or(Damage::Short)?;
    *bytes = rest;
    Ok(*first)
}

/// So many bytes of each of as many things as are said to follow.
fn several<'a>(bytes: &mut &'a [u8], each: usize) -> Result<&'a [u8], Damage> {
    let count = usize::try_from(u64::from_le_bytes(take(bytes)?)).ok();
    let length = count.and_then(|count| count.checked_mul(each));
    let split = length.and_then(|length| bytes.split_at_checked(length));
    let (these, rest) = split.ok_or(Damage::Short)?;
    *bytes = rest;
    Ok(these)
}

fn text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, Damage> {
    str::from_utf8(several(bytes, 1)?).map_err(|_| Damage::Short)
}

fn points<'a>(bytes: &mut &'a [u8]) -> Result<impl Iterator<Item = (f64, f64)> + 'a, Damage> {
    let (pairs, _) = several(bytes, 2 * size_of::<f64>())?.as_chunks::<8>();
    let (pairs, _) = pairs.as_chunks::<2>();
    let pairs = pairs.iter();
    Ok(pairs.map(|[x, y]| (f64::from_le_bytes(*x), f64::from_le_bytes(*y))))
}
