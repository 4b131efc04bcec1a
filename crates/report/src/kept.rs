//! Runs kept on disk as they finish: memory does not grow with their series, and a process that is
//! killed loses only the runs under way.
//!
//! They stand one behind the other in a file for each thread that runs some, in a folder of its own
//! that goes when the results are written. A file begins with [`START`]; what follows are items: a
//! mark, the item's length, the number of its scenario, and of a run its place and its rows; then
//! the scenario's text, or the run as `binary` has it. A process that is killed leaves half an item
//! at the end, which is passed over.

use crate::binary::{read_run, write_run};
use crate::bytes::{In, Out};
use crate::error::{Damage, ReportError};
use crate::place::read_exact_at;
use crate::stored::{Finished, Stored};
use crate::table::rows;
use sojourn_qdisc::Report;
use sojourn_world::figure::{Distribution, Part};
use sojourn_world::{RunResult, ScenarioInfo, Series, WorldName};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The folder's name in that of the results.
const FOLDER: &str = "unfinished";
/// How the files' names end.
const ENDING: &str = "run";
/// What a file begins with.
const START: &[u8] = b"sojourn unfinished runs 2\n";
/// Marks of items.
const SCENARIO: u8 = 1;
const RUN: u8 = 2;
/// Bytes of an item before its content: mark, length of the content, and three numbers.
const HEAD: usize = 1 + 4 * size_of::<u64>();

/// Where a run of a spool is.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    file: Arc<File>,
    path: Arc<Path>,
    at: u64,
    length: usize,
    /// How many rows of a table it has.
    pub(crate) rows: usize,
}

impl Record {
    /// Reads the run.
    pub(crate) fn read(&self) -> Result<RunResult, ReportError> {
        let mut bytes = vec![0; self.length];
        let read = read_exact_at(&self.file, &mut bytes, self.at);
        read.map_err(ReportError::io("read", &self.path))?;
        let mut from = In(&bytes);
        let run = read_run(&mut from).and_then(|run| match from.0 {
            [] => Ok(run),
            _ => Err(Damage::Short),
        });
        run.map_err(|reason| ReportError::damaged(&self.path, reason))
    }
}

/// Which run: the number of its scenario, its world, and its place among all of that.
type Key = (usize, String, usize);

/// A run that another process has kept, and the text of its scenario.
#[derive(Debug)]
struct Held {
    record: Record,
    source: Arc<Option<String>>,
}

/// A file that is written.
#[derive(Debug)]
struct Growing {
    file: Arc<File>,
    path: Arc<Path>,
    length: u64,
    /// The scenarios that it names.
    scenarios: BTreeSet<usize>,
}

/// The folder in which runs are kept until their results are written.
#[derive(Clone, Debug)]
pub struct Spool(Arc<Files>);

#[derive(Debug)]
struct Files {
    folder: PathBuf,
    /// Those that no thread writes to now.
    idle: Mutex<Vec<Growing>>,
    /// What was there before, read when it is asked for.
    held: OnceLock<BTreeMap<Key, Held>>,
}

impl Spool {
    /// In the folder where the results will be; both are made with the first run.
    pub fn of(out: &Path) -> Self {
        Self(Arc::new(Files {
            folder: out.join(FOLDER),
            idle: Mutex::default(),
            held: OnceLock::new(),
        }))
    }

    /// Where a run of a scenario is kept, by its place among all of its world. `number` tells the
    /// scenario from others with results in this folder.
    pub fn slot(
        &self,
        number: usize,
        info: &Arc<ScenarioInfo>,
        world: &WorldName,
        place: usize,
    ) -> Slot {
        Slot {
            files: Arc::clone(&self.0),
            key: (number, world.as_str().to_owned(), place),
            info: Arc::clone(info),
        }
    }
}

impl Files {
    /// A file that nobody else writes to.
    fn idle(&self) -> Result<Growing, ReportError> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        idle.map_or_else(|| self.begin(), Ok)
    }

    fn begin(&self) -> Result<Growing, ReportError> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(ReportError::io("make the folder", folder))?;
        let mut number = 0;
        let (file, path) = loop {
            let path = folder.join(format!("{number:05}.{ENDING}"));
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).open(&path);
            match file {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                file => break (file.map_err(ReportError::io("write", &path))?, path),
            }
        };
        let failed = ReportError::io("write", &path);
        (&file).write_all(START).map_err(failed)?;
        Ok(Growing {
            file: Arc::new(file),
            path: path.into(),
            length: START.len() as u64,
            scenarios: BTreeSet::new(),
        })
    }

    /// What other processes have left.
    fn held(&self) -> &BTreeMap<Key, Held> {
        self.held.get_or_init(|| {
            let mut held = BTreeMap::new();
            let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            paths.retain(|path| path.extension() == Some(OsStr::new(ENDING)));
            paths.sort();
            for path in paths {
                // What cannot be read is not there: it is run again.
                let _ = list(&path, &mut held);
            }
            held
        })
    }
}

/// Adds the runs of a file, up to its first item that is not whole.
fn list(path: &Path, held: &mut BTreeMap<Key, Held>) -> Result<(), Damage> {
    let open = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = open.map_err(|_| Damage::Short)?;
    let (file, path): (_, Arc<Path>) = (Arc::new(file), path.into());
    let bytes = |at: u64, count: usize| {
        let mut bytes = vec![0; count];
        let read = read_exact_at(&file, &mut bytes, at);
        read.map_err(|_| Damage::Short)?;
        Ok::<_, Damage>(bytes)
    };
    if bytes(0, START.len())? != START {
        return Err(Damage::Short);
    }
    let mut at = START.len() as u64;
    let mut sources = BTreeMap::new();
    while at < length {
        let head = bytes(at, HEAD)?;
        let mut from = In(&head);
        let (mark, count) = (from.mark()?, from.whole()?);
        let [number, place, rows] = [from.whole()?, from.whole()?, from.whole()?];
        let number = number as usize;
        let start = at + HEAD as u64;
        at = start
            .checked_add(count)
            .filter(|end| *end <= length)
            .ok_or(Damage::Short)?;
        if mark == SCENARIO {
            let source = In(&bytes(start, count as usize)?).maybe()?;
            sources.insert(number, Arc::new(source));
            continue;
        }
        // A run begins with its world.
        let name = bytes(start, size_of::<u64>())?;
        let name = size_of::<u64>() + In(&name).whole()?.min(count) as usize;
        let world = In(&bytes(start, name)?).text()?.to_owned();
        let source = Arc::clone(sources.get(&number).ok_or(Damage::Short)?);
        let record = Record {
            file: Arc::clone(&file),
            path: Arc::clone(&path),
            at: start,
            length: count as usize,
            rows: rows as usize,
        };
        held.insert((number, world, place as usize), Held { record, source });
    }
    Ok(())
}

/// Where one run is kept.
#[derive(Clone, Debug)]
pub struct Slot {
    files: Arc<Files>,
    key: Key,
    info: Arc<ScenarioInfo>,
}

impl Slot {
    /// Writes the run. What comes back has its figures in memory.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn keep(&self, mut run: RunResult) -> Result<Finished, ReportError> {
        let (number, _, place) = self.key;
        let rows = rows::count(&run);
        let mut growing = self.files.idle()?;
        let mut to = Out::default();
        if growing.scenarios.insert(number) {
            item(&mut to, SCENARIO, [number, 0, 0], |to| {
                to.maybe(self.info.source.as_deref());
            });
        }
        let before = to.0.len() + HEAD;
        item(&mut to, RUN, [number, place, rows], |to| {
            write_run(to, &run);
        });
        // Whole or not at all for whoever goes on after a kill: no need to reach the disk.
        let written = growing.file.as_ref().write_all(&to.0);
        written.map_err(ReportError::io("write", &growing.path))?;
        let record = Record {
            file: Arc::clone(&growing.file),
            path: Arc::clone(&growing.path),
            at: growing.length + before as u64,
            length: to.0.len() - before,
            rows,
        };
        growing.length += to.0.len() as u64;
        let idle = &self.files.idle;
        idle.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(growing);
        lighten(&mut run);
        Ok(Finished::stored(run, Stored::Record(record)))
    }

    /// The run that another process has kept here; none where it has not, or where the file is
    /// damaged or of another scenario.
    pub fn held(&self) -> Option<Finished> {
        let Held { record, source } = self.files.held().get(&self.key)?;
        if **source != self.info.source {
            return None;
        }
        let mut run = record.read().ok()?;
        lighten(&mut run);
        Some(Finished::stored(run, Stored::Record(record.clone())))
    }
}

/// Adds an item.
fn item(to: &mut Out, mark: u8, numbers: [usize; 3], content: impl FnOnce(&mut Out)) {
    to.mark(mark);
    let at = to.0.len();
    to.length(0);
    for number in numbers {
        to.length(number);
    }
    let start = to.0.len();
    content(to);
    let length = (to.0.len() - start) as u64;
    to.0[at..at + size_of::<u64>()].copy_from_slice(&length.to_le_bytes());
}

/// Takes away what is kept in the folder of results, and its place, unless somebody has put
/// something else there.
///
/// # Errors
/// When the file system refuses.
pub fn forget(out: &Path) -> Result<(), ReportError> {
    let folder = &out.join(FOLDER);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(ReportError::io("read", folder))?,
    };
    let mut others = false;
    for entry in entries {
        let path = entry.map_err(ReportError::io("read", folder))?.path();
        // `new`: of programs that kept each run in a file of its own.
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some(ENDING | "new")) {
            fs::remove_file(&path).map_err(ReportError::io("remove", &path))?;
        } else {
            others = true;
        }
    }
    if others {
        return Ok(());
    }
    fs::remove_dir(folder).map_err(ReportError::io("remove", folder))
}

/// Leaves the figures, and the names of the series, in no more room than they take: there may be
/// many of them.
pub fn lighten(run: &mut RunResult) {
    fn part<T: Part>(part: &mut T) {
        for row in T::rows() {
            // A slot that is asked for is there from then on.
            if row.spread(part).is_none() {
                continue;
            }
            let spread = row.slot(part).and_then(|slot| slot.spread());
            if let Some(Distribution { cdf, .. }) = spread {
                *cdf = Vec::new();
            }
        }
    }
    fn series(list: &mut Vec<Series>) {
        // One without points has no rows in a table.
        list.retain(|series| !series.points.is_empty());
        list.shrink_to_fit();
        for series in list {
            series.points = Vec::new();
        }
    }
    fn queue(report: &mut Report) {
        report.options.shrink_to_fit();
        report.stats.shrink_to_fit();
        if let Some(inner) = &mut report.inner {
            queue(inner);
        }
    }
    run.links.shrink_to_fit();
    run.flows.shrink_to_fit();
    for (_, link) in &mut run.links {
        part(link);
        series(&mut link.series);
        queue(&mut link.qdisc);
    }
    for (_, flow) in &mut run.flows {
        part(flow);
        series(&mut flow.series);
    }
    part(&mut run.aggregate);
}
