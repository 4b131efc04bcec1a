//! `results.parquet`: every figure, every point, one value a row.
//!
//! A row group holds whole runs, as many as have [`ROWS`] together, so that writing needs the
//! memory of these only: what a table knows of its row groups stays in memory, 16 kB each. Columns
//! are described in `docs/results.md`.
//! Not here: what a run cost (it would differ between two runs of one seed).

mod read;
mod rows;

pub(crate) use read::{Table, unit_of};

use crate::error::ReportError;
use crate::labels::{self, Labels};
use crate::stored::Runs;
use indexmap::IndexSet;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use rows::Row;
use sojourn_world::{RunResult, ScenarioInfo};
use std::borrow::Cow;
use std::io::Write;
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
    let mut group = Group::new(info, fields);
    for (index, cell) in labels.numbers.iter().copied().enumerate() {
        group.add(&mut file, runs.get(index)?, cell)?;
    }
    group.write(&mut file)?;
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

/// Runs that wait for their row group.
struct Group<'a> {
    info: &'a ScenarioInfo,
    fields: &'a IndexSet<&'a str>,
    /// Each with the number of its cell.
    runs: Vec<(Cow<'a, RunResult>, i32)>,
    rows: usize,
}

impl<'a> Group<'a> {
    const fn new(info: &'a ScenarioInfo, fields: &'a IndexSet<&'a str>) -> Self {
        Self {
            info,
            fields,
            runs: Vec::new(),
            rows: 0,
        }
    }

    /// Adds a run, after a row group of those before it where it has no room beside them.
    fn add(
        &mut self,
        file: &mut SerializedFileWriter<impl Write + Send>,
        run: Cow<'a, RunResult>,
        cell: usize,
    ) -> Result<(), ReportError> {
        let rows = rows::count(&run);
        if self.rows + rows > ROWS {
            self.write(file)?;
        }
        self.rows += rows;
        self.runs
            .push((run, i32::try_from(cell).unwrap_or(i32::MAX)));
        Ok(())
    }

    /// Writes the row group of those that wait, if any do.
    fn write(
        &mut self,
        file: &mut SerializedFileWriter<impl Write + Send>,
    ) -> Result<(), ReportError> {
        if self.runs.is_empty() {
            return Ok(());
        }
        let runs = self.runs.iter();
        let runs = runs.map(|(run, cell)| (run.as_ref(), *cell, rows::of(run)));
        let runs: Vec<Written<'_>> = runs.collect();
        let mut group = file.next_row_group()?;
        write_group(&mut group, self.info, &runs, self.fields)?;
        group.close()?;
        self.runs.clear();
        self.rows = 0;
        Ok(())
    }
}

/// A run, the number of its cell, and its rows.
type Written<'a> = (&'a RunResult, i32, Vec<Row<'a>>);

/// The columns of a row group, in the schema's order.
struct Columns<'a, 'b, W: Write + Send> {
    group: &'a mut SerializedRowGroupWriter<'b, W>,
    runs: &'a [Written<'a>],
}

impl<W: Write + Send> Columns<'_, '_, W> {
    /// The next column: of each run its values, and of one whose fields may be empty levels, which
    /// are 1 where there is a value.
    fn next<T: DataType>(
        &mut self,
        of: impl Fn(&Written<'_>) -> (Vec<T::T>, Option<Vec<i16>>),
    ) -> Result<(), ReportError> {
        let column = self.group.next_column()?;
        let mut column = column.expect("the schema has a column for every call");
        for run in self.runs {
            let (values, levels) = of(run);
            let column = column.typed::<T>();
            column.write_batch(&values, levels.as_deref(), None)?;
        }
        Ok(column.close()?)
    }

    /// The same value in every row of a run.
    fn constant<T: DataType>(
        &mut self,
        of: impl Fn(&RunResult, i32) -> T::T,
    ) -> Result<(), ReportError> {
        self.next::<T>(|(run, cell, rows)| (vec![of(run, *cell); rows.len()], None))
    }

    /// A parameter, or nothing, in every row of a run.
    fn parameter(&mut self, field: &str) -> Result<(), ReportError> {
        self.next::<ByteArrayType>(|(run, _, rows)| {
            let value = run.params.iter().find(|(key, _)| key == field);
            let values = value.map(|(_, value)| vec![bytes(value); rows.len()]);
            let levels = vec![i16::from(value.is_some()); rows.len()];
            (values.unwrap_or_default(), Some(levels))
        })
    }

    /// The rows' numbers, where they are finite.
    fn numbers(&mut self, of: fn(&Row<'_>) -> Option<f64>) -> Result<(), ReportError> {
        self.next::<DoubleType>(|(_, _, rows)| {
            let values = rows.iter().map(|row| of(row).filter(|v| v.is_finite()));
            let levels = values.clone().map(|value| i16::from(value.is_some()));
            (values.clone().flatten().collect(), Some(levels.collect()))
        })
    }
}

fn bytes(text: &str) -> ByteArray {
    ByteArray::from(text)
}

fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    info: &ScenarioInfo,
    runs: &[Written<'_>],
    fields: &IndexSet<&str>,
) -> Result<(), ReportError> {
    let mut columns = Columns { group, runs };
    columns.constant::<ByteArrayType>(|_, _| bytes(&info.name))?;
    columns.constant::<ByteArrayType>(|run, _| bytes(run.world.as_str()))?;
    columns.constant::<Int32Type>(|_, cell| cell)?;
    columns.constant::<Int64Type>(|run, _| run.seed.cast_signed())?;
    columns.constant::<ByteArrayType>(|run, _| bytes(&labels::params_text(&run.params)))?;
    for field in fields {
        columns.parameter(field)?;
    }
    let texts: [for<'r> fn(&'r Row<'_>) -> &'r str; 5] = [
        |row| row.kind,
        |row| row.name,
        |row| row.metric,
        |row| row.stat,
        |row| row.unit.word(),
    ];
    for text in texts {
        columns.next::<ByteArrayType>(|(_, _, rows)| (shared(rows.iter().map(text)), None))?;
    }
    columns.numbers(|row| row.q)?;
    columns.numbers(|row| row.t)?;
    columns.numbers(|row| Some(row.value))
}

/// The texts of a column. Rows in a row mostly have the same one, which they share.
fn shared<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<ByteArray> {
    let mut last = ("", ByteArray::from(""));
    let share = |text: &'a str| {
        if text != last.0 {
            last = (text, ByteArray::from(text));
        }
        last.1.clone()
    };
    texts.map(share).collect()
}
