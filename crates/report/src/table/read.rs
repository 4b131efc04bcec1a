//! Reads distributions' points and series back from a table into results that came from the
//! summary beside it, and checks on the way that the two belong together.

use crate::catalogue::{self, Kind};
use crate::labels;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use sojourn_units::Unit;
use sojourn_world::{
    Amount, Distribution, FlowResult, LinkResult, Point, RunResult, Series, WorldName,
};
use std::collections::BTreeMap;

/// Fills `results` from the table; the error says what is wrong and where.
pub(crate) fn read(
    file: impl ChunkReader + 'static,
    results: &mut [RunResult],
) -> Result<(), String> {
    let file = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let mut runs = BTreeMap::new();
    for run in results {
        let key = (
            run.world.clone(),
            labels::params_text(&run.params),
            run.seed,
        );
        let (world, params, seed) = key.clone();
        if runs.insert(key, (run, false)).is_some() {
            return Err(format!(
                "summary.json holds world {world} seed {seed} `{params}` twice"
            ));
        }
    }
    for number in 0..file.num_row_groups() {
        let group = file.get_row_group(number);
        let rows = group.and_then(|group| Rows::of(&*group));
        let rows = rows.map_err(|error| format!("row group {number}: {error}"))?;
        for i in 0..rows.seed.len() {
            let world = text(&rows.world[i])?;
            let world = WorldName::parse(world);
            let key = (
                world.ok_or("a row names no world")?,
                text(&rows.params[i])?.to_owned(),
                rows.seed[i].cast_unsigned(),
            );
            let (run, seen) = runs.get_mut(&key).ok_or_else(|| {
                format!(
                    "it holds world {} seed {} `{}`, which summary.json does not",
                    key.0, key.2, key.1
                )
            })?;
            *seen = true;
            fill(run, &rows, i)?;
        }
    }
    match runs.iter().find(|(_, (_, seen))| !seen) {
        None => Ok(()),
        Some(((world, params, seed), _)) => Err(format!(
            "it lacks world {world} seed {seed} `{params}`, which summary.json holds"
        )),
    }
}

/// The columns that are needed, one entry a row.
struct Rows {
    world: Vec<ByteArray>,
    params: Vec<ByteArray>,
    seed: Vec<i64>,
    kind: Vec<ByteArray>,
    name: Vec<ByteArray>,
    metric: Vec<ByteArray>,
    stat: Vec<ByteArray>,
    unit: Vec<ByteArray>,
    q: Vec<Option<f64>>,
    t: Vec<Option<f64>>,
    value: Vec<Option<f64>>,
}

impl Rows {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        let text = |name| column::<ByteArrayType>(group, name).and_then(|c| full(c, name));
        Ok(Self {
            world: text("world")?,
            params: text("params")?,
            seed: column::<Int64Type>(group, "seed").and_then(|c| full(c, "seed"))?,
            kind: text("kind")?,
            name: text("name")?,
            metric: text("metric")?,
            stat: text("stat")?,
            unit: text("unit")?,
            q: column::<DoubleType>(group, "q")?,
            t: column::<DoubleType>(group, "t")?,
            value: column::<DoubleType>(group, "value")?,
        })
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

fn text(bytes: &ByteArray) -> Result<&str, String> {
    bytes.as_utf8().map_err(|error| error.to_string())
}

/// Adds row `i` where it belongs.
fn fill(run: &mut RunResult, rows: &Rows, i: usize) -> Result<(), String> {
    let (kind, name) = (text(&rows.kind[i])?, text(&rows.name[i])?);
    let (metric, stat) = (text(&rows.metric[i])?, text(&rows.stat[i])?);
    let value = rows.value[i].unwrap_or(f64::NAN);
    let unknown = || format!("it holds {kind} `{name}`, which summary.json does not");
    let point = || {
        let unit = text(&rows.unit[i])?;
        let unit = Unit::of_name(unit)
            .ok_or_else(|| format!("`{unit}`, the unit of `{metric}`, is unknown"))?;
        let t = rows.t[i].ok_or_else(|| format!("a point of `{metric}` of `{name}` lacks t"))?;
        Ok::<_, String>((unit, Point { t, value }))
    };
    match (kind, stat) {
        ("link", "series" | "cdf" | "value") => {
            let links = run.links.iter_mut();
            let link = links
                .map(|(n, l)| (n.as_str(), l))
                .find(|(n, _)| *n == name);
            let (_, link) = link.ok_or_else(unknown)?;
            match stat {
                "series" => push(&mut link.series, metric, point()?),
                "cdf" => spread_of_link(link, metric)?
                    .cdf
                    .push((value, rows.q[i].unwrap_or(f64::NAN))),
                _ => check(
                    metric == "offered_packets",
                    value,
                    link.offered_packets,
                    name,
                )?,
            }
        }
        ("flow", "series" | "cdf" | "value") => {
            let flows = run.flows.iter_mut();
            let flow = flows
                .map(|(n, f)| (n.as_str(), f))
                .find(|(n, _)| *n == name);
            let (_, flow) = flow.ok_or_else(unknown)?;
            match stat {
                "series" => push(&mut flow.series, metric, point()?),
                "cdf" => spread_of_flow(flow, metric)?
                    .cdf
                    .push((value, rows.q[i].unwrap_or(f64::NAN))),
                _ => check(metric == "goodput", value, flow.goodput.as_bps(), name)?,
            }
        }
        _ => {}
    }
    Ok(())
}

/// A figure that stands in both files must be the same in both.
fn check(here: bool, table: f64, summary: u64, name: &str) -> Result<(), String> {
    if here && (table - summary as f64).abs() > 0.5 {
        return Err(format!(
            "it is of another run than summary.json (`{name}`: {table} here, {summary} there)"
        ));
    }
    Ok(())
}

fn push(list: &mut Vec<Series>, metric: &str, (unit, point): (Unit, Point)) {
    // Rows of a series follow each other, so it is nearly always the last one.
    match list.iter_mut().rev().find(|s| s.metric == metric) {
        Some(series) => series.points.push(point),
        None => list.push(Series {
            metric: metric.to_owned().into(),
            unit,
            points: vec![point],
        }),
    }
}

fn spread_of_link<'a>(
    link: &'a mut LinkResult,
    metric: &str,
) -> Result<&'a mut Distribution, String> {
    match metric {
        "sojourn" => Ok(&mut link.sojourn),
        other => Err(format!(
            "it holds a distribution of `{other}`, which links lack"
        )),
    }
}

fn spread_of_flow<'a>(
    flow: &'a mut FlowResult,
    metric: &str,
) -> Result<&'a mut Distribution, String> {
    match metric {
        "rtt" => Ok(&mut flow.rtt),
        "induced_rtt" => Ok(&mut flow.induced_rtt),
        "spp_rtt" => Ok(&mut flow.spp_rtt),
        "spp_induced_rtt" => Ok(&mut flow.spp_induced_rtt),
        "delay" => Ok(&mut flow.delay),
        "completion" => Ok(&mut flow.completion),
        "throughput" => Ok(&mut flow.throughput),
        other => measured_spread(flow, other)
            .ok_or_else(|| format!("it holds a distribution of `{other}`, which flows lack")),
    }
}

/// The distribution of what an app has measured under this name.
fn measured_spread<'a>(flow: &'a mut FlowResult, metric: &str) -> Option<&'a mut Distribution> {
    flow.measured.iter_mut().find_map(|one| {
        let figure = catalogue::find(Kind::Flow, one.metric.key())?;
        match &mut one.amount {
            Amount::Spread(spread) if figure.metric == metric => Some(spread),
            _ => None,
        }
    })
}
