//! Reads distributions' points and series back from a table into results that came from the
//! summary beside it, and checks on the way that the two belong together.

use super::texts::Texts;
use crate::error::{Damage, ReportError, Run};

use crate::files::open;
use crate::place::read_at;
use bytes::Bytes;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{
    ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader,
};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Kind, Part, series};
use sojourn_world::{Point, RunResult, Series, WorldName};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

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

    /// How many rows the run with this number has.
    pub(crate) fn rows(&self, number: usize) -> usize {
        let (_, stretches) = &self.groups.runs[number];
        stretches.iter().map(|stretch| stretch.rows.len()).sum()
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
        let read = read_at(&self.file, bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A table, and where in its row groups each run is.
struct Groups<R: ChunkReader> {
    file: SerializedFileReader<R>,
    runs: Vec<(Run, Vec<Stretch>)>,
    /// Row groups that were read last, by their numbers.
    recent: Mutex<VecDeque<(usize, Arc<Rows>)>>,
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
            let number = group;
            let names = file
                .get_row_group(group)
                .and_then(|group| Names::of(&*group))
                .map_err(|error| Damage::Group { number, error })?;
            let mut first = 0;
            while first < names.seed.len() {
                let (run, end) = names.run(first)?;
                let rows = first..end;
                match runs.get_mut(&run) {
                    None => return Err(Damage::Unknown(run)),
                    Some((_, stretches)) => stretches.push(Stretch { group, rows }),
                }
                first = end;
            }
        }
        let mut all = runs.iter();
        if let Some((run, _)) = all.find(|(_, (_, stretches))| stretches.is_empty()) {
            return Err(Damage::Lacking(run.clone()));
        }
        let mut sorted: Vec<_> = runs.into_iter().collect();
        sorted.sort_by_key(|(_, (number, _))| *number);
        Ok(Self {
            file,
            runs: sorted
                .into_iter()
                .map(|(run, (_, stretches))| (run, stretches))
                .collect(),
            recent: Mutex::default(),
        })
    }

    fn fill(&self, number: usize, run: &mut RunResult) -> Result<(), Damage> {
        let (_, stretches) = &self.runs[number];
        for Stretch { group, rows } in stretches {
            let number = *group;
            let read = self
                .group(number)
                .map_err(|error| Damage::Group { number, error })?;
            let mut start = rows.start;
            while start < rows.end {
                let block = read.block(start..rows.end);
                start = block.rows.end;
                add(run, &block)?;
            }
        }
        Ok(())
    }

    /// A row group, of which runs that follow each other are mostly read.
    fn group(&self, number: usize) -> Result<Arc<Rows>, ParquetError> {
        let recent = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rows)) = recent().iter().find(|(known, _)| *known == number) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(Rows::of(&*self.file.get_row_group(number)?)?);
        let mut recent = recent();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        if recent.len() >= threads {
            recent.pop_front();
        }
        recent.push_back((number, Arc::clone(&rows)));
        Ok(rows)
    }
}

/// The columns that say which run a row belongs to.
struct Names {
    seed: Vec<i64>,
    world: Texts,
    params: Texts,
}

impl Names {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        Ok(Self {
            seed: full(column::<Int64Type>(group, "seed", rows_of(group)?)?, "seed")?,
            world: Texts::of(group, "world")?,
            params: Texts::of(group, "params")?,
        })
    }

    /// The run of a row, and the row behind its last.
    fn run(&self, row: usize) -> Result<(Run, usize), Damage> {
        let ((world, end), (params, last)) = (self.world.at(row), self.params.at(row));
        let seeds = &self.seed[row..end.min(last)];
        let count = seeds.iter().take_while(|seed| **seed == seeds[0]).count();
        let run = Run {
            world: WorldName::parse(world).ok_or(Damage::NoWorld)?,
            params: params.to_owned(),
            seed: seeds[0].cast_unsigned(),
        };
        Ok((run, row + count))
    }
}

/// The columns that say what stands in a row.
struct Rows {
    /// Kind, name, metric, statistic, unit.
    texts: [Texts; 5],
    /// Fraction, time, value, one entry a row; NaN where there is none.
    numbers: [Vec<f64>; 3],
}

impl Rows {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        let rows = rows_of(group)?;
        let number = |name| {
            let column = column::<DoubleType>(group, name, rows)?.into_iter();
            Ok::<_, ParquetError>(column.map(|number| number.unwrap_or(f64::NAN)).collect())
        };
        Ok(Self {
            texts: [
                Texts::of(group, "kind")?,
                Texts::of(group, "name")?,
                Texts::of(group, "metric")?,
                Texts::of(group, "stat")?,
                Texts::of(group, "unit")?,
            ],
            numbers: [number("q")?, number("t")?, number("value")?],
        })
    }

    /// The first of these rows, and those that follow with the same texts.
    fn block(&self, rows: Range<usize>) -> Block<'_> {
        let mut end = rows.end;
        let [kind, name, metric, stat, unit] = self.texts.each_ref().map(|texts| {
            let (text, last) = texts.at(rows.start);
            end = end.min(last);
            text
        });
        let rows = rows.start..end;
        let [q, t, value] = self
            .numbers
            .each_ref()
            .map(|numbers| &numbers[rows.clone()]);
        Block {
            kind,
            name,
            metric,
            stat,
            unit,
            rows,
            q,
            t,
            value,
        }
    }
}

fn rows_of(group: &dyn RowGroupReader) -> Result<usize, ParquetError> {
    usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))
}

fn full<T>(column: Vec<Option<T>>, name: &str) -> Result<Vec<T>, ParquetError> {
    let values: Option<Vec<T>> = column.into_iter().collect();
    values.ok_or_else(|| ParquetError::General(format!("column `{name}` has empty fields")))
}

/// Where a column of this type is in a row group.
pub(super) fn place<T: DataType>(
    group: &dyn RowGroupReader,
    name: &str,
) -> Result<usize, ParquetError> {
    let schema = group.metadata().schema_descr();
    let place = schema
        .columns()
        .iter()
        .position(|c| c.name() == name)
        .ok_or_else(|| ParquetError::General(format!("column `{name}` is missing")))?;
    let descr = schema.column(place);
    if descr.physical_type() != T::get_physical_type() || descr.max_rep_level() > 0 {
        let reason = format!("column `{name}` has another type");
        return Err(ParquetError::General(reason));
    }
    Ok(place)
}

/// A column's fields in so many rows of a row group.
pub(super) fn column<T: DataType>(
    group: &dyn RowGroupReader,
    name: &str,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let place = place::<T>(group, name)?;
    let max = group
        .metadata()
        .schema_descr()
        .column(place)
        .max_def_level();
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(place)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut left = rows;
    while left > 0 {
        let (read, _, _) = reader.read_records(left, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            break;
        }
        left -= read;
    }
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
        let reason = format!("column `{name}` lacks {left} of {rows} rows");
        return Err(ParquetError::General(reason));
    }
    Ok(column)
}

/// Rows of a run that have the same texts.
struct Block<'a> {
    kind: &'a str,
    name: &'a str,
    metric: &'a str,
    stat: &'a str,
    unit: &'a str,
    rows: Range<usize>,
    q: &'a [f64],
    t: &'a [f64],
    value: &'a [f64],
}

/// Adds rows where they belong.
fn add(run: &mut RunResult, block: &Block<'_>) -> Result<(), Damage> {
    match block.kind {
        "link" => {
            let link = named(&mut run.links, block)?;
            add_to(link, |link| &mut link.series, block)
        }
        "flow" => {
            let flow = named(&mut run.flows, block)?;
            add_to(flow, |flow| &mut flow.series, block)
        }
        _ => Ok(()),
    }
}

fn named<'a, T>(parts: &'a mut [(String, T)], block: &Block<'_>) -> Result<&'a mut T, Damage> {
    let found = parts.iter_mut().find(|(name, _)| name == block.name);
    found.map(|(_, part)| part).ok_or_else(|| Damage::NoPart {
        kind: block.kind.to_owned(),
        name: block.name.to_owned(),
    })
}

fn add_to<T: Part>(
    part: &mut T,
    series: fn(&mut T) -> &mut Vec<Series>,
    block: &Block<'_>,
) -> Result<(), Damage> {
    let figure = || T::rows().find(|known| known.figure.metric == block.metric);
    match block.stat {
        "series" => push(series(part), T::KIND, block),
        "cdf" => {
            let slot = figure().and_then(|figure| figure.slot(part)?.spread());
            let spread = slot.ok_or_else(|| Damage::NoDistribution {
                metric: block.metric.to_owned(),
                kind: T::KIND.name(),
            })?;
            let points = block.value.iter().zip(block.q);
            spread.cdf.extend(points.map(|(value, q)| (*value, *q)));
            Ok(())
        }
        // A count that stands in both files must be the same in both.
        "value" => match figure().and_then(|figure| figure.content(part)) {
            Some(Content::Count(summary)) => {
                let other = block
                    .value
                    .iter()
                    .find(|v| (**v - summary as f64).abs() > 0.5);
                other.map_or(Ok(()), |table| {
                    Err(Damage::OtherRun {
                        name: block.name.to_owned(),
                        table: *table,
                        summary,
                    })
                })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn push(list: &mut Vec<Series>, kind: Kind, block: &Block<'_>) -> Result<(), Damage> {
    let metric = block.metric;
    if block.t.iter().any(|t| t.is_nan()) {
        return Err(Damage::NoTime {
            metric: metric.to_owned(),
            name: block.name.to_owned(),
        });
    }
    let points = block
        .t
        .iter()
        .zip(block.value)
        .map(|(&t, &value)| Point { t, value });
    // Rows of a series follow each other, so it is nearly always the last one.
    if let Some(series) = list.iter_mut().rev().find(|s| s.metric == metric) {
        series.points.extend(points);
        return Ok(());
    }
    list.push(Series {
        metric: metric.to_owned().into(),
        unit: unit_of(kind, metric, block.unit)?,
        points: points.collect(),
    });
    Ok(())
}

/// The unit of a series that is written so.
pub(crate) fn unit_of(kind: Kind, metric: &str, word: &str) -> Result<Unit, Damage> {
    // Of those in the list, because two units are written alike; else a queue's own variable.
    let known = series(kind).find(|figure| figure.metric == metric);
    let unit = known
        .map(|figure| figure.unit)
        .or_else(|| Unit::of_name(word));
    unit.ok_or_else(|| Damage::NoUnit {
        unit: word.to_owned(),
        metric: metric.to_owned(),
    })
}
