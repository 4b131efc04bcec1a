//! A table of samples that grows while something runs, as Parquet: a row group at a time, so that
//! memory does not grow with it. The file is there whole or not at all.

use crate::error::ReportError;
use crate::files::Pending;
use crate::table::{number, text};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group.
const GROUP: usize = 16 << 10;

/// What stands in a column; every field may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A time of day in UTC, to the microsecond.
    Time,
    /// A text.
    Text,
    /// A count.
    Count,
    /// A number.
    Number,
}

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// Microseconds since 1970.
    Time(i64),
    /// A text.
    Text(&'a str),
    /// A count; above 2⁶³ it stays there.
    Count(u64),
    /// A number; one that is not finite is empty.
    Number(f64),
    /// Empty.
    Empty,
}

/// Fields of a column that wait for their row group.
struct Column {
    kind: ColumnType,
    levels: Vec<i16>,
    whole: Vec<i64>,
    numbers: Vec<f64>,
    texts: Vec<ByteArray>,
}

impl Column {
    fn push(&mut self, field: Field<'_>) {
        let fits = match (self.kind, field) {
            (ColumnType::Time, Field::Time(micros)) => {
                self.whole.push(micros);
                true
            }
            (ColumnType::Count, Field::Count(count)) => {
                self.whole.push(i64::try_from(count).unwrap_or(i64::MAX));
                true
            }
            (ColumnType::Number, Field::Number(number)) if number.is_finite() => {
                self.numbers.push(number);
                true
            }
            (ColumnType::Text, Field::Text(text)) => {
                self.texts.push(ByteArray::from(text));
                true
            }
            (_, field) => {
                debug_assert!(
                    matches!(field, Field::Empty | Field::Number(_)),
                    "{field:?}"
                );
                false
            }
        };
        self.levels.push(i16::from(fits));
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, impl Sink>) -> Outcome {
        match self.kind {
            ColumnType::Time | ColumnType::Count => {
                put::<Int64Type>(group, &self.whole, &self.levels)?;
            }
            ColumnType::Number => put::<DoubleType>(group, &self.numbers, &self.levels)?,
            ColumnType::Text => put::<ByteArrayType>(group, &self.texts, &self.levels)?,
        }
        self.levels.clear();
        self.whole.clear();
        self.numbers.clear();
        self.texts.clear();
        Ok(())
    }
}

type Outcome = Result<(), ReportError>;

/// What tables are written to.
trait Sink: std::io::Write + Send {}

impl<W: std::io::Write + Send> Sink for W {}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Sink>,
    values: &[T::T],
    levels: &[i16],
) -> Outcome {
    let mut column = group
        .next_column()?
        .expect("the schema has a column for every one of ours");
    column
        .typed::<T>()
        .write_batch(values, Some(levels), None)?;
    Ok(column.close()?)
}

/// A table that is being written.
pub struct Recording {
    pending: Pending,
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Column>,
    waiting: usize,
    rows: u64,
}

impl Recording {
    /// A table that will be at `place`, over an older one, with columns of these names.
    ///
    /// # Errors
    /// When the file system refuses, with the file's name.
    pub fn begin(place: &Path, columns: &[(&str, ColumnType)]) -> Result<Self, ReportError> {
        let (pending, file) = Pending::begin(place.to_owned())?;
        let schema = columns
            .iter()
            .map(|(name, kind)| column(name, *kind))
            .collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("sojourn")
            .with_fields(schema.into_iter().map(Arc::new).collect())
            .build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("sojourn".to_owned())
            .build();
        let file = BufWriter::new(file);
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let column = |(_, kind): &(&str, ColumnType)| Column {
            kind: *kind,
            levels: Vec::new(),
            whole: Vec::new(),
            numbers: Vec::new(),
            texts: Vec::new(),
        };
        Ok(Self {
            pending,
            writer,
            columns: columns.iter().map(column).collect(),
            waiting: 0,
            rows: 0,
        })
    }

    /// Adds a row, a field for each column in their order.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn row(&mut self, fields: &[Field<'_>]) -> Outcome {
        debug_assert_eq!(fields.len(), self.columns.len(), "a field for each column");
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.push(*field);
        }
        self.rows += 1;
        self.waiting += 1;
        if self.waiting == GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome {
        if self.waiting > 0 {
            let mut group = self.writer.next_row_group()?;
            for column in &mut self.columns {
                column.write(&mut group)?;
            }
            group.close()?;
            self.waiting = 0;
        }
        Ok(())
    }

    /// Puts the table in its place; yields the number of its rows.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn finish(mut self) -> Result<u64, ReportError> {
        self.flush()?;
        self.writer.close()?;
        self.pending.complete()?.keep()?;
        Ok(self.rows)
    }
}

fn column(name: &str, kind: ColumnType) -> Result<Type, ReportError> {
    let may = Repetition::OPTIONAL;
    Ok(match kind {
        ColumnType::Time => {
            let time = LogicalType::timestamp(true, TimeUnit::MICROS);
            Type::primitive_type_builder(name, Physical::INT64)
                .with_repetition(may)
                .with_logical_type(Some(time))
                .build()?
        }
        ColumnType::Text => text(name, may)?,
        ColumnType::Count => number(name, Physical::INT64, may)?,
        ColumnType::Number => number(name, Physical::DOUBLE, may)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Row, RowAccessor};

    fn rows(place: &Path) -> Vec<Row> {
        let file = SerializedFileReader::new(File::open(place).unwrap()).unwrap();
        let rows = file.get_row_iter(None).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn rows_come_back_across_row_groups() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("samples.parquet");
        let columns = [
            ("time", ColumnType::Time),
            ("name", ColumnType::Text),
            ("packets", ColumnType::Count),
            ("delay_ms", ColumnType::Number),
        ];
        let mut table = Recording::begin(&place, &columns).unwrap();
        let many = GROUP as u64 + 3;
        for number in 0..many {
            let name = if number % 2 == 0 {
                Field::Text("up")
            } else {
                Field::Empty
            };
            let delay = if number == 1 { f64::NAN } else { 0.5 };
            let time = Field::Time(1_700_000_000_000_000 + number.cast_signed());
            let packets = Field::Count(number);
            table
                .row(&[time, name, packets, Field::Number(delay)])
                .unwrap();
            assert!(!place.exists(), "it is there whole or not at all");
        }
        assert_eq!(table.finish().unwrap(), many);
        let rows = rows(&place);
        assert_eq!(rows.len() as u64, many);
        let last = rows.last().unwrap();
        assert_eq!(last.get_timestamp_micros(0).unwrap(), 1_700_000_000_016_386);
        assert_eq!(last.get_string(1).unwrap(), "up");
        assert_eq!(last.get_long(2).unwrap(), 16_386);
        assert!((last.get_double(3).unwrap() - 0.5).abs() < f64::EPSILON);
        assert!(rows[1].get_string(1).is_err(), "empty");
        assert!(rows[1].get_double(3).is_err(), "no number");
    }

    #[test]
    fn a_recording_that_is_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("samples.parquet");
        let mut table = Recording::begin(&place, &[("n", ColumnType::Count)]).unwrap();
        table.row(&[Field::Count(1)]).unwrap();
        drop(table);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let Err(error) = Recording::begin(&dir.path().join("no/where"), &[]) else {
            panic!("there is no folder for it");
        };
        assert!(error.to_string().contains("no/where"), "{error}");
    }
}
