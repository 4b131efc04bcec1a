//! Reads distributions' points and series back from a table into results that came from the
//! summary beside it, and checks on the way that the two belong together.

use crate::error::{Damage, Run};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Kind, Part, series};
use sojourn_world::{Point, RunResult, Series, WorldName};
use std::collections::BTreeMap;

/// Fills `results` from the table; the error says what is wrong and where.
pub(crate) fn read(
    file: impl ChunkReader + 'static,
    results: &mut [RunResult],
) -> Result<(), Damage> {
    let file = SerializedFileReader::new(file)?;
    let mut runs = BTreeMap::new();
    for run in results {
        let key = Run::of(run);
        if runs.insert(key.clone(), (run, false)).is_some() {
            return Err(Damage::Twice(key));
        }
    }
    for number in 0..file.num_row_groups() {
        let group = file.get_row_group(number);
        let rows = group.and_then(|group| Rows::of(&*group));
        let rows = rows.map_err(|error| Damage::Group { number, error })?;
        for i in 0..rows.seed.len() {
            let (key, row) = rows.row(i)?;
            let Some((run, seen)) = runs.get_mut(&key) else {
                return Err(Damage::Unknown(key));
            };
            *seen = true;
            add(run, &row)?;
        }
    }
    match runs.into_iter().find(|(_, (_, seen))| !seen) {
        None => Ok(()),
        Some((run, _)) => Err(Damage::Lacking(run)),
    }
}

/// The columns that are needed, one entry a row.
struct Rows {
    seed: Vec<i64>,
    /// World, parameters, kind, name, metric, statistic, unit.
    texts: [Vec<ByteArray>; 7],
    /// Fraction, time, value.
    numbers: [Vec<Option<f64>>; 3],
}

impl Rows {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        let text = |name| full(column::<ByteArrayType>(group, name)?, name);
        let number = |name| column::<DoubleType>(group, name);
        Ok(Self {
            seed: full(column::<Int64Type>(group, "seed")?, "seed")?,
            texts: [
                text("world")?,
                text("params")?,
                text("kind")?,
                text("name")?,
                text("metric")?,
                text("stat")?,
                text("unit")?,
            ],
            numbers: [number("q")?, number("t")?, number("value")?],
        })
    }

    /// The run of a row, and the row.
    fn row(&self, i: usize) -> Result<(Run, Row<'_>), Damage> {
        let mut texts = [""; 7];
        for (text, column) in texts.iter_mut().zip(&self.texts) {
            *text = column[i].as_utf8()?;
        }
        let [world, params, kind, name, metric, stat, unit] = texts;
        let [q, t, value] = self.numbers.each_ref().map(|column| column[i]);
        let run = Run {
            world: WorldName::parse(world).ok_or(Damage::NoWorld)?,
            params: params.to_owned(),
            seed: self.seed[i].cast_unsigned(),
        };
        let row = Row {
            kind,
            name,
            metric,
            stat,
            unit,
            q,
            t,
            value: value.unwrap_or(f64::NAN),
        };
        Ok((run, row))
    }
}

fn full<T>(column: Vec<Option<T>>, name: &str) -> Result<Vec<T>, ParquetError> {
    let values: Option<Vec<T>> = column.into_iter().collect();
    values.ok_or_else(|| ParquetError::General(format!("column `{name}` has empty fields")))
}

fn column<T: DataType>(
    group: &dyn RowGroupReader,
    name: &str,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let schema = group.metadata().schema_descr();
    let place = schema.columns().iter().position(|c| c.name() == name);
    let place =
        place.ok_or_else(|| ParquetError::General(format!("column `{name}` is missing")))?;
    let descr = schema.column(place);
    if descr.physical_type() != T::get_physical_type() || descr.max_rep_level() > 0 {
        let reason = format!("column `{name}` has another type");
        return Err(ParquetError::General(reason));
    }
    let rows = usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(place)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    loop {
        let (read, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            break;
        }
    }
    let max = descr.max_def_level();
    let mut values = values.into_iter();
    let column: Vec<_> = if max == 0 {
        values.map(Some).collect()
    } else {
        let present = levels.into_iter().map(|level| level == max);
        present
            .map(|here| if here { values.next() } else { None })
            .collect()
    };
    if column.len() != rows {
        let reason = format!("column `{name}` has {} of {rows} rows", column.len());
        return Err(ParquetError::General(reason));
    }
    Ok(column)
}

/// One row of a run.
struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    metric: &'a str,
    stat: &'a str,
    unit: &'a str,
    q: Option<f64>,
    t: Option<f64>,
    value: f64,
}

/// Adds a row where it belongs.
fn add(run: &mut RunResult, row: &Row<'_>) -> Result<(), Damage> {
    match row.kind {
        "link" => {
            let link = named(&mut run.links, row)?;
            add_to(link, |link| &mut link.series, row)
        }
        "flow" => {
            let flow = named(&mut run.flows, row)?;
            add_to(flow, |flow| &mut flow.series, row)
        }
        _ => Ok(()),
    }
}

fn named<'a, T>(parts: &'a mut [(String, T)], row: &Row<'_>) -> Result<&'a mut T, Damage> {
    let found = parts.iter_mut().find(|(name, _)| name == row.name);
    found.map(|(_, part)| part).ok_or_else(|| Damage::NoPart {
        kind: row.kind.to_owned(),
        name: row.name.to_owned(),
    })
}

fn add_to<T: Part>(
    part: &mut T,
    series: fn(&mut T) -> &mut Vec<Series>,
    row: &Row<'_>,
) -> Result<(), Damage> {
    let figure = || T::rows().find(|known| known.figure.metric == row.metric);
    match row.stat {
        "series" => push(series(part), T::KIND, row),
        "cdf" => {
            let slot = figure().and_then(|figure| figure.slot(part)?.spread());
            let spread = slot.ok_or_else(|| Damage::NoDistribution {
                metric: row.metric.to_owned(),
                kind: T::KIND.name(),
            })?;
            spread.cdf.push((row.value, row.q.unwrap_or(f64::NAN)));
            Ok(())
        }
        // A count that stands in both files must be the same in both.
        "value" => match figure().and_then(|figure| figure.content(part)) {
            Some(Content::Count(summary)) if (row.value - summary as f64).abs() > 0.5 => {
                Err(Damage::OtherRun {
                    name: row.name.to_owned(),
                    table: row.value,
                    summary,
                })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn push(list: &mut Vec<Series>, kind: Kind, row: &Row<'_>) -> Result<(), Damage> {
    let (metric, value) = (row.metric, row.value);
    let t = row.t.ok_or_else(|| Damage::NoTime {
        metric: metric.to_owned(),
        name: row.name.to_owned(),
    })?;
    let point = Point { t, value };
    // Rows of a series follow each other, so it is nearly always the last one.
    if let Some(series) = list.iter_mut().rev().find(|s| s.metric == metric) {
        series.points.push(point);
        return Ok(());
    }
    // Of those in the list, because two units are written alike; else a queue's own variable.
    let known = series(kind).find(|figure| figure.metric == metric);
    let unit = known.map(|figure| figure.unit);
    let unit = unit.or_else(|| Unit::of_name(row.unit));
    list.push(Series {
        metric: metric.to_owned().into(),
        unit: unit.ok_or_else(|| Damage::NoUnit {
            unit: row.unit.to_owned(),
            metric: metric.to_owned(),
        })?,
        points: vec![point],
    });
    Ok(())
}
