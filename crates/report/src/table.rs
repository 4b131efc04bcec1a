//! `results.parquet`: every figure, every point, one value a row.
//!
//! One row group per run, so that writing needs the memory of one run only. Columns are
//! described in `docs/results.md`.
//! Not here: what a run cost (it would differ between two runs of one seed).

mod read;
mod rows;

pub(crate) use read::{Table, unit_of};

use crate::error::ReportError;
use crate::labels;
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
use std::io::Write;
use std::sync::Arc;

/// The fixed columns that identify a run; a column `param_FIELD` per parameter follows.
const IDENTITY: [&str; 5] = ["scenario", "world", "cell", "seed", "params"];

/// The key of the file's metadata under which the programs stand that made the runs.
const PROGRAM: &str = "sojourn.program";

/// Writes the table of `results`.
///
/// # Errors
/// When `to` refuses.
pub fn write_table(
    to: impl Write + Send,
    info: &ScenarioInfo,
    results: &[RunResult],
) -> Result<(), ReportError> {
    write(to, info, Runs::whole(results))
}

/// The same, one run at a time.
pub(crate) fn write(
    to: impl Write + Send,
    info: &ScenarioInfo,
    runs: Runs<'_>,
) -> Result<(), ReportError> {
    let results = runs.figures;
    let fields = labels::fields(results);
    let program =
        labels::programs(results).map(|program| vec![KeyValue::new(PROGRAM.to_owned(), program)]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("sojourn".to_owned())
        .set_key_value_metadata(program)
        .build();
    let mut file = SerializedFileWriter::new(to, Arc::new(schema(&fields)?), Arc::new(properties))?;
    let numbers = labels::cell_numbers(results);
    for (index, number) in numbers.into_iter().enumerate() {
        let run = runs.get(index)?;
        let mut group = file.next_row_group()?;
        write_run(&mut group, info, &run, number, &fields)?;
        group.close()?;
    }
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

/// The columns of a row group, in the schema's order.
struct Columns<'a, 'b, W: Write + Send> {
    group: &'a mut SerializedRowGroupWriter<'b, W>,
    rows: usize,
}

impl<W: Write + Send> Columns<'_, '_, W> {
    /// The next column; of one whose fields may be empty, `levels` are 1 where there is a value.
    fn next<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ReportError> {
        let column = self.group.next_column()?;
        let mut column = column.expect("the schema has a column for every call");
        column.typed::<T>().write_batch(values, levels, None)?;
        Ok(column.close()?)
    }

    /// The same value in every row.
    fn constant<T: DataType>(&mut self, value: T::T) -> Result<(), ReportError> {
        self.next::<T>(&vec![value; self.rows], None)
    }

    /// The same text, or nothing, in every row.
    fn parameter(&mut self, value: Option<&str>) -> Result<(), ReportError> {
        let values = value.map(|value| vec![ByteArray::from(value); self.rows]);
        let levels = vec![i16::from(value.is_some()); self.rows];
        self.next::<ByteArrayType>(&values.unwrap_or_default(), Some(&levels))
    }

    fn numbers(&mut self, values: impl Iterator<Item = Option<f64>>) -> Result<(), ReportError> {
        let mut levels = Vec::with_capacity(self.rows);
        let mut present = Vec::with_capacity(self.rows);
        for value in values {
            let value = value.filter(|v| v.is_finite());
            levels.push(i16::from(value.is_some()));
            present.extend(value);
        }
        self.next::<DoubleType>(&present, Some(&levels))
    }
}

fn write_run<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    info: &ScenarioInfo,
    run: &RunResult,
    number: usize,
    fields: &IndexSet<&str>,
) -> Result<(), ReportError> {
    let rows = rows::of(run);
    let mut columns = Columns {
        group,
        rows: rows.len(),
    };
    let text = |text: &str| ByteArray::from(text);
    columns.constant::<ByteArrayType>(text(&info.name))?;
    columns.constant::<ByteArrayType>(text(run.world.as_str()))?;
    columns.constant::<Int32Type>(i32::try_from(number).unwrap_or(i32::MAX))?;
    columns.constant::<Int64Type>(run.seed.cast_signed())?;
    columns.constant::<ByteArrayType>(text(&labels::params_text(&run.params)))?;
    for field in fields {
        let value = run.params.iter().find(|(key, _)| key == *field);
        columns.parameter(value.map(|(_, value)| value.as_str()))?;
    }
    let texts: [for<'r> fn(&'r Row<'_>) -> &'r str; 5] = [
        |row| row.kind,
        |row| row.name,
        |row| row.metric,
        |row| row.stat,
        |row| row.unit.word(),
    ];
    for text in texts {
        columns.next::<ByteArrayType>(&shared(rows.iter().map(text)), None)?;
    }
    columns.numbers(rows.iter().map(|row| row.q))?;
    columns.numbers(rows.iter().map(|row| row.t))?;
    columns.numbers(rows.iter().map(|row| Some(row.value)))
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
