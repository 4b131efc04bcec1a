//! Reads distributions' points and series back from a table into results that came from the
//! summary beside it, and checks on the way that the two belong together.

use crate::error::{Damage, ReportError, Run};
use crate::files::open;
use bytes::Bytes;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{
    ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader,
};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Kind, Part, series};
use sojourn_world::{Point, RunResult, Series, WorldName};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The table of a folder, from which runs are filled one at a time.
#[derive(Debug)]
pub(crate) struct Table {
    path: PathBuf,
    groups: Groups<Chunks>,
}

impl Table {
    /// The table at `path`, of the runs with these figures and no others. Its file is open only
    /// while a piece of it is read.
    pub(crate) fn open(path: &Path, results: &[RunResult]) -> Result<Self, ReportError> {
        let file = open(path)?;
        Self::of(path, &file, Access::Anew(path.to_owned()), results)
    }

    /// The same, with a file that stays open.
    pub(crate) fn hold(path: &Path, results: &[RunResult]) -> Result<Self, ReportError> {
        let file = Arc::new(open(path)?);
        Self::of(path, &file, Access::Held(Arc::clone(&file)), results)
    }

    fn of(
        path: &Path,
        file: &File,
        access: Access,
        results: &[RunResult],
    ) -> Result<Self, ReportError> {
        let about = file.metadata().map_err(ReportError::io("read", path))?;
        let chunks = Chunks {
            access,
            length: about.len(),
        };
        let groups = Groups::of(chunks, results);
        Ok(Self {
            path: path.to_owned(),
            groups: groups.map_err(|reason| ReportError::damaged(path, reason))?,
        })
    }

    /// Adds to the figures of the run with this number what the table has of it.
    pub(crate) fn fill(&self, number: usize, run: &mut RunResult) -> Result<(), ReportError> {
        let filled = self.groups.fill(number, run);
        filled.map_err(|reason| ReportError::damaged(&self.path, reason))
    }
}

/// How a file is got at.
enum Access {
    Anew(PathBuf),
    Held(Arc<File>),
}

/// A file that several threads read piece by piece, each where it wants to.
struct Chunks {
    access: Access,
    length: u64,
}

impl Chunks {
    fn at(&self, start: u64) -> io::Result<Piece> {
        let file = match &self.access {
            Access::Anew(path) => Arc::new(File::open(path)?),
            Access::Held(file) => Arc::clone(file),
        };
        Ok(Piece { file, at: start })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Piece>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::new();
        let mut from = self.at(start)?.take(length as u64);
        if from.read_to_end(&mut bytes)? < length {
            return Err(ParquetError::EOF(format!("{length} bytes from {start}")));
        }
        Ok(bytes.into())
    }
}

/// A file from some place on, whoever else reads it.
struct Piece {
    file: Arc<File>,
    at: u64,
}

impl Read for Piece {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A table, and where in its row groups each run is.
struct Groups<R: ChunkReader> {
    file: SerializedFileReader<R>,
    runs: Vec<(Run, Vec<Stretch>)>,
}

/// Rows of a row group.
#[derive(Clone, Debug)]
struct Stretch {
    group: usize,
    rows: Range<usize>,
}

impl<R: ChunkReader> fmt::Debug for Groups<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

impl<R: ChunkReader + 'static> Groups<R> {
    /// Looks for each of the runs, and finds no others.
    fn of(file: R, results: &[RunResult]) -> Result<Self, Damage> {
        let file = SerializedFileReader::new(file)?;
        let mut runs = BTreeMap::new();
        for (number, run) in results.iter().enumerate() {
            let run = Run::of(run);
            if runs.insert(run.clone(), (number, Vec::new())).is_some() {
                return Err(Damage::Twice(run));
            }
        }
        for group in 0..file.num_row_groups() {
            let names = file.get_row_group(group);
            let names = names.and_then(|group| Names::of(&*group));
            let number = group;
            let names = names.map_err(|error| Damage::Group { number, error })?;
            let mut beginnings = names.beginnings().peekable();
            while let Some(first) = beginnings.next() {
                let end = beginnings.peek().copied().unwrap_or(names.seed.len());
                let rows = first..end;
                let run = names.run(first)?;
                match runs.get_mut(&run) {
                    None => return Err(Damage::Unknown(run)),
                    Some((_, stretches)) => stretches.push(Stretch { group, rows }),
                }
            }
        }
        let mut all = runs.iter();
        if let Some((run, _)) = all.find(|(_, (_, stretches))| stretches.is_empty()) {
            return Err(Damage::Lacking(run.clone()));
        }
        let mut runs: Vec<_> = runs.into_iter().collect();
        runs.sort_by_key(|(_, (number, _))| *number);
        let runs = runs
            .into_iter()
            .map(|(run, (_, stretches))| (run, stretches));
        Ok(Self {
            file,
            runs: runs.collect(),
        })
    }

    fn fill(&self, number: usize, run: &mut RunResult) -> Result<(), Damage> {
        let (_, stretches) = &self.runs[number];
        for Stretch { group, rows } in stretches {
            let read = self.file.get_row_group(*group);
            let read = read.and_then(|group| Rows::of(&*group, rows));
            let number = *group;
            let read = read.map_err(|error| Damage::Group { number, error })?;
            for row in 0..rows.len() {
                add(run, &read.row(row)?)?;
            }
        }
        Ok(())
    }
}

/// The columns that say which run a row belongs to, one entry a row.
struct Names {
    seed: Vec<i64>,
    world: Vec<ByteArray>,
    params: Vec<ByteArray>,
}

impl Names {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
        Ok(Self {
            seed: full(column::<Int64Type>(group, "seed", &(0..rows))?, "seed")?,
            world: text(group, "world", &(0..rows))?,
            params: text(group, "params", &(0..rows))?,
        })
    }

    /// The rows that belong to another run than the one before.
    fn beginnings(&self) -> impl Iterator<Item = usize> {
        let name = |i: usize| (self.seed[i], &self.world[i], &self.params[i]);
        (0..self.seed.len()).filter(move |&i| i == 0 || name(i) != name(i - 1))
    }

    /// The run of a row.
    fn run(&self, i: usize) -> Result<Run, Damage> {
        Ok(Run {
            world: WorldName::parse(self.world[i].as_utf8()?).ok_or(Damage::NoWorld)?,
            params: self.params[i].as_utf8()?.to_owned(),
            seed: self.seed[i].cast_unsigned(),
        })
    }
}

/// The columns that say what stands in a row, one entry a row.
struct Rows {
    /// Kind, name, metric, statistic, unit.
    texts: [Vec<ByteArray>; 5],
    /// Fraction, time, value.
    numbers: [Vec<Option<f64>>; 3],
}

impl Rows {
    fn of(group: &dyn RowGroupReader, rows: &Range<usize>) -> Result<Self, ParquetError> {
        let number = |name| column::<DoubleType>(group, name, rows);
        Ok(Self {
            texts: [
                text(group, "kind", rows)?,
                text(group, "name", rows)?,
                text(group, "metric", rows)?,
                text(group, "stat", rows)?,
                text(group, "unit", rows)?,
            ],
            numbers: [number("q")?, number("t")?, number("value")?],
        })
    }

    fn row(&self, i: usize) -> Result<Row<'_>, Damage> {
        let mut texts = [""; 5];
        for (text, column) in texts.iter_mut().zip(&self.texts) {
            *text = column[i].as_utf8()?;
        }
        let [kind, name, metric, stat, unit] = texts;
        let [q, t, value] = self.numbers.each_ref().map(|column| column[i]);
        Ok(Row {
            kind,
            name,
            metric,
            stat,
            unit,
            q,
            t,
            value: value.unwrap_or(f64::NAN),
        })
    }
}

fn text(
    group: &dyn RowGroupReader,
    name: &str,
    rows: &Range<usize>,
) -> Result<Vec<ByteArray>, ParquetError> {
    full(column::<ByteArrayType>(group, name, rows)?, name)
}

fn full<T>(column: Vec<Option<T>>, name: &str) -> Result<Vec<T>, ParquetError> {
    let values: Option<Vec<T>> = column.into_iter().collect();
    values.ok_or_else(|| ParquetError::General(format!("column `{name}` has empty fields")))
}

/// A column's fields in these rows of a row group.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    name: &str,
    rows: &Range<usize>,
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
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(place)?);
    reader.skip_records(rows.start)?;
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut left = rows.len();
    while left > 0 {
        let (read, _, _) = reader.read_records(left, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            break;
        }
        left -= read;
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
    if column.len() != rows.len() {
        let reason = format!("column `{name}` lacks {left} of {} rows", rows.len());
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
    list.push(Series {
        metric: metric.to_owned().into(),
        unit: unit_of(kind, metric, row.unit)?,
        points: vec![point],
    });
    Ok(())
}

/// The unit of a series that is written so.
pub(crate) fn unit_of(kind: Kind, metric: &str, word: &str) -> Result<Unit, Damage> {
    // Of those in the list, because two units are written alike; else a queue's own variable.
    let known = series(kind).find(|figure| figure.metric == metric);
    let unit = known.map(|figure| figure.unit);
    let unit = unit.or_else(|| Unit::of_name(word));
    unit.ok_or_else(|| Damage::NoUnit {
        unit: word.to_owned(),
        metric: metric.to_owned(),
    })
}
