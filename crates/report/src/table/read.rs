//! Reads distributions' points and series back from a table into results that came from the
//! summary beside it, and checks on the way that the two belong together.

use super::numbers::numbers;
use super::texts::{Texts, Words};
use crate::error::{Damage, ReportError, Run};
use crate::files::open;
use crate::parallel::in_order;
use crate::place::read_at;
use bytes::Bytes;
use indexmap::IndexMap;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{
    ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader,
};
use sojourn_units::Unit;
use sojourn_world::figure::{Content, Kind, Part, series};
use sojourn_world::{Point, RunResult, Series, WorldName};
use std::borrow::Cow;
use std::collections::VecDeque;
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
        let stretches = &self.groups.runs[number];
        stretches.iter().map(|stretch| stretch.rows.len()).sum()
    }

    /// All runs, as many in a row as begin in the same row group.
    pub(crate) fn pieces(&self) -> Vec<Range<usize>> {
        let runs = &self.groups.runs;
        let begins = |number: usize| runs[number].first().map(|stretch| stretch.group);
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for number in 0..runs.len() {
            match pieces.last_mut() {
                Some(piece) if begins(piece.start) == begins(number) => piece.end = number + 1,
                _ => pieces.push(number..number + 1),
            }
        }
        pieces
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
    /// Of each run.
    runs: Vec<Vec<Stretch>>,
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
        let mut runs = IndexMap::with_capacity(results.len());
        for run in results {
            let run = Run::of(run);
            if runs.contains_key(&run) {
                return Err(Damage::Twice(run));
            }
            runs.insert(run, Vec::new());
        }
        let make = |number| {
            let names = file
                .get_row_group(number)
                .and_then(|group| Names::of(&*group))
                .map_err(|error| Damage::Group { number, error })?;
            Ok::<_, Damage>((number, names.runs()?))
        };
        let mut next = 0;
        in_order(file.num_row_groups(), make, |made| {
            let (group, there) = made?;
            for (run, rows) in there {
                // Mostly they are in the same order.
                let place = match runs.get_index(next) {
                    Some((known, _)) if *known == run => Some(next),
                    _ => runs.get_index_of(&run),
                };
                let Some((_, stretches)) = place.and_then(|place| runs.get_index_mut(place)) else {
                    return Err(Damage::Unknown(run));
                };
                let is_last = stretches.is_empty();
                stretches.push(Stretch { group, rows });
                next = place.map_or(next, |place| place + usize::from(is_last));
            }
            Ok(())
        })?;
        let mut all = runs.iter();
        if let Some((run, _)) = all.find(|(_, stretches)| stretches.is_empty()) {
            return Err(Damage::Lacking(run.clone()));
        }
        Ok(Self {
            file,
            runs: runs.into_values().collect(),
            recent: Mutex::default(),
        })
    }

    fn fill(&self, number: usize, run: &mut RunResult) -> Result<(), Damage> {
        for Stretch { group, rows } in &self.runs[number] {
            let number = *group;
            let read = self
                .group(number)
                .map_err(|error| Damage::Group { number, error })?;
            read.blocks(rows.clone(), |block| add(run, &block))?;
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
    rows: usize,
    seed: Words<i64>,
    world: Texts,
    params: Texts,
}

impl Names {
    fn of(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        Ok(Self {
            rows: rows_of(group)?,
            seed: Words::of(group, "seed")?,
            world: Texts::of(group, "world")?,
            params: Texts::of(group, "params")?,
        })
    }

    /// The runs in their order, each with its rows.
    fn runs(&self) -> Result<Vec<(Run, Range<usize>)>, Damage> {
        let mut runs = Vec::new();
        let (mut seeds, mut worlds) = (self.seed.from(0), self.world.from(0));
        let mut params = self.params.from(0);
        let mut row = 0;
        while row < self.rows {
            let (seed, end) = seeds.at(row);
            let ((world, last), (text, behind)) = (worlds.at(row), params.at(row));
            let run = Run {
                world: WorldName::parse(world).ok_or(Damage::NoWorld)?,
                params: text.clone(),
                seed: seed.cast_unsigned(),
            };
            let end = end.min(last).min(behind);
            runs.push((run, row..end));
            row = end;
        }
        Ok(runs)
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
        let number = |name| numbers(group, name, rows);
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

    /// Hands over some of the rows, as many at a time as follow with the same texts.
    fn blocks<'a>(
        &'a self,
        rows: Range<usize>,
        mut take: impl FnMut(Block<'a>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let mut along = self.texts.each_ref().map(|texts| texts.from(rows.start));
        let mut start = rows.start;
        while start < rows.end {
            let mut end = rows.end;
            let [kind, name, metric, stat, unit] = along.each_mut().map(|along| {
                let (text, last) = along.at(start);
                end = end.min(last);
                text.as_str()
            });
            let numbers = self.numbers.each_ref().map(|all| &all[start..end]);
            let [q, t, value] = numbers;
            take(Block {
                kind,
                name,
                metric,
                stat,
                unit,
                q,
                t,
                value,
            })?;
            start = end;
        }
        Ok(())
    }
}

fn rows_of(group: &dyn RowGroupReader) -> Result<usize, ParquetError> {
    usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))
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
    let (metric, unit) = known_series(kind, metric, block.unit)?;
    list.push(Series {
        metric,
        unit,
        points: points.collect(),
    });
    Ok(())
}

/// The name of a series and its unit, which are written so.
pub(crate) fn known_series(
    kind: Kind,
    metric: &str,
    word: &str,
) -> Result<(Cow<'static, str>, Unit), Damage> {
    // Of those in the list, because two units are written alike; else a queue's own variable.
    if let Some(known) = series(kind).find(|figure| figure.metric == metric) {
        return Ok((Cow::Borrowed(known.metric), known.unit));
    }
    let unit = Unit::of_name(word).ok_or_else(|| Damage::NoUnit {
        unit: word.to_owned(),
        metric: metric.to_owned(),
    })?;
    Ok((metric.to_owned().into(), unit))
}
