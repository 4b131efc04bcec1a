//! `results.parquet`: every figure, every point, one value a row.
//!
//! A row group holds whole runs, as many as have [`ROWS`] together, so that writing needs the
//! memory of a few of these only: what a table knows of its row groups stays in memory, 16 kB each.
//! Several threads encode row groups (`chunk`), one puts them into the file. Columns are described
//! in `docs/results.md`.
//! Not here: what a run cost (it would differ between two runs of one seed).

mod chunk;
mod numbers;
mod read;
pub(crate) mod rows;
mod texts;

pub(crate) use read::{Table, known_series};

use crate::error::ReportError;
use crate::labels::{self, Labels};
use crate::parallel::in_order;
use crate::stored::Runs;
use chunk::{Chunk, Coded, Numbers};
use indexmap::IndexSet;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type};
use rows::{Block, Points};
use sojourn_world::{RunResult, ScenarioInfo};
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// The fixed columns that identify a run; a column `param_FIELD` per parameter follows.
const IDENTITY: [&str; 5] = ["scenario", "world", "cell", "seed", "params"];

/// The key of the file's metadata under which the programs stand that made the runs.
const PROGRAM: &str = "sojourn.program";

/// Most rows of a row group, unless one run has more.
const ROWS: usize = 1 << 15;

/// Writes the table of `results`.
///
/// # Errors
/// When `to` refuses.
pub fn write_table(
    to: impl Write + Send,
    info: &ScenarioInfo,
    results: &[RunResult],
) -> Result<(), ReportError> {
    write(to, info, Runs::whole(results), &Labels::of(results))
}

/// The same, one run at a time.
pub(crate) fn write(
    to: impl Write + Send,
    info: &ScenarioInfo,
    runs: Runs<'_>,
    labels: &Labels<'_>,
) -> Result<(), ReportError> {
    let fields = &labels.fields;
    let program = labels::programs(labels.results)
        .map(|program| vec![KeyValue::new(PROGRAM.to_owned(), program)]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("sojourn".to_owned())
        .set_key_value_metadata(program)
        .build();
    let mut file = SerializedFileWriter::new(to, Arc::new(schema(fields)?), Arc::new(properties))?;
    let schema = SchemaDescriptor::new(Arc::new(schema(fields)?));
    let groups = groups(runs);
    let make = |group: usize| {
        let of = groups[group].clone();
        let runs: Vec<_> = of
            .map(|index| Ok((runs.get(index)?, labels.numbers[index])))
            .collect::<Result<_, ReportError>>()?;
        encode(info, &runs, fields, &schema)
    };
    in_order(groups.len(), make, |columns| -> Result<(), ReportError> {
        let mut group = file.next_row_group()?;
        for (bytes, about) in columns? {
            group.append_column(&bytes, about)?;
        }
        group.close()?;
        Ok(())
    })?;
    file.close()?;
    Ok(())
}

/// A column of texts.
pub(crate) fn text(name: &str, repetition: Repetition) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_converted_type(ConvertedType::UTF8)
        .with_logical_type(Some(LogicalType::String))
        .build()
}

/// A column of numbers.
pub(crate) fn number(
    name: &str,
    physical: Physical,
    repetition: Repetition,
) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .build()
}

fn schema(fields: &IndexSet<&str>) -> Result<Type, ReportError> {
    let seed = Type::primitive_type_builder("seed", Physical::INT64)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::UINT_64)
        .with_logical_type(Some(LogicalType::integer(64, false)))
        .build();
    let (must, may) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let mut columns = vec![
        text(IDENTITY[0], must)?,
        text(IDENTITY[1], must)?,
        number(IDENTITY[2], Physical::INT32, must)?,
        seed?,
        text(IDENTITY[4], must)?,
    ];
    for field in fields {
        columns.push(text(&format!("param_{field}"), may)?);
    }
    for name in ["kind", "name", "metric", "stat", "unit"] {
        columns.push(text(name, must)?);
    }
    for name in ["q", "t", "value"] {
        columns.push(number(name, Physical::DOUBLE, may)?);
    }
    Ok(Type::group_type_builder("sojourn")
        .with_fields(columns.into_iter().map(Arc::new).collect())
        .build()?)
}

/// Which runs each row group has: as many in a row as have [`ROWS`] rows together.
fn groups(runs: Runs<'_>) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for index in 0..runs.figures.len() {
        let more = runs.rows(index);
        if rows > 0 && rows + more > ROWS {
            groups.push(start..index);
            (start, rows) = (index, 0);
        }
        rows += more;
    }
    if start < runs.figures.len() {
        groups.push(start..runs.figures.len());
    }
    groups
}

/// The texts of a block, in the order of their columns.
fn texts<'a>(block: &Block<'a>) -> [&'a str; 5] {
    let unit = block.unit.word();
    [block.kind, block.name, block.metric, block.stat, unit]
}

/// The columns of a row group, in the schema's order.
fn encode(
    info: &ScenarioInfo,
    runs: &[(Cow<'_, RunResult>, usize)],
    fields: &IndexSet<&str>,
    schema: &SchemaDescriptor,
) -> Result<Vec<Chunk>, ReportError> {
    let params: Vec<String> = runs
        .iter()
        .map(|(run, _)| labels::params_text(&run.params))
        .collect();
    let [mut scenario, mut world, mut params_text] = [(); 3].map(|()| Coded::<&str>::new());
    let (mut cell, mut seed) = (Coded::<i32>::new(), Coded::<u64>::new());
    let mut values: Vec<_> = fields.iter().map(|_| Coded::<&str>::new()).collect();
    let mut about = [(); 5].map(|()| Coded::<&str>::new());
    let [mut q, mut t, mut value] = [(); 3].map(|()| Numbers::default());
    for ((run, number), params) in runs.iter().zip(&params) {
        let mut rows = 0;
        rows::each(run, &mut |block| {
            let count = block.rows();
            rows += count;
            for (column, text) in about.iter_mut().zip(texts(&block)) {
                column.push(text, count);
            }
            match block.points {
                Points::One { q: share, value: v } => {
                    q.push(share.unwrap_or(f64::NAN));
                    t.skip(1);
                    value.push(v);
                }
                Points::Curve(curve) => {
                    t.skip(count);
                    q.extend(curve.iter().map(|(_, share)| *share));
                    value.extend(curve.iter().map(|(value, _)| *value));
                }
                Points::Series(points) => {
                    q.skip(count);
                    t.extend(points.iter().map(|point| point.t));
                    value.extend(points.iter().map(|point| point.value));
                }
            }
        });
        scenario.push(&info.name, rows);
        world.push(run.world.as_str(), rows);
        cell.push(i32::try_from(*number).unwrap_or(i32::MAX), rows);
        seed.push(run.seed, rows);
        params_text.push(params, rows);
        for (column, field) in values.iter_mut().zip(fields) {
            match labels::value(&run.params, field) {
                Some(value) => column.push(value, rows),
                None => column.skip(rows),
            }
        }
    }
    let mut columns = schema.columns().iter().map(Arc::clone);
    let mut next = || columns.next().expect("the schema has all columns");
    let mut chunks = vec![
        scenario.finish(next())?,
        world.finish(next())?,
        cell.finish(next())?,
        seed.finish(next())?,
        params_text.finish(next())?,
    ];
    for column in values.into_iter().chain(about) {
        chunks.push(column.finish(next())?);
    }
    for column in [q, t, value] {
        chunks.push(column.finish(next())?);
    }
    Ok(chunks)
}
