//! Runs kept on disk as they finish: memory does not grow with their series, and a process that is
//! killed loses only the runs under way.
//!
//! One file a run, as [`pack`](crate::pack) makes them, in a folder of its own that goes when the
//! results are written.

use crate::error::ReportError;
use crate::packed::{pack, unpack};
use crate::stored::{Finished, Runs, Stored};
use sojourn_qdisc::Report;
use sojourn_world::figure::{Distribution, Part};
use sojourn_world::{RunResult, ScenarioInfo, Series, WorldName};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder's name in that of the results.
const FOLDER: &str = "unfinished";
/// How the files' names end.
const ENDING: &str = "run";

/// Where runs of a scenario are kept until their results are written.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
    /// How the files' names begin.
    start: String,
    info: Arc<ScenarioInfo>,
}

impl Kept {
    /// In the folder where the results will be; both are made with the first run.
    pub fn new(out: &Path, info: &ScenarioInfo) -> Self {
        Self {
            folder: out.join(FOLDER),
            start: String::new(),
            info: Arc::new(info.clone()),
        }
    }

    /// The same, for the scenario of this number among several with results in one folder.
    pub fn of_several(out: &Path, number: usize, info: &ScenarioInfo) -> Self {
        Self {
            start: format!("{number:03}-"),
            ..Self::new(out, info)
        }
    }

    /// Where a run is kept, by its place among all of its world.
    pub fn slot(&self, world: &WorldName, place: usize) -> Slot {
        let start = &self.start;
        let file = format!("{start}{world}-{place:07}.{ENDING}");
        Slot {
            file: self.folder.join(file),
            info: Arc::clone(&self.info),
        }
    }
}

/// Where one run is kept.
#[derive(Clone, Debug)]
pub struct Slot {
    file: PathBuf,
    info: Arc<ScenarioInfo>,
}

impl Slot {
    /// Writes the run. What comes back has its figures in memory.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn keep(&self, run: RunResult) -> Result<Finished, ReportError> {
        let file = &self.file;
        let folder = file.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(ReportError::io("make the folder", folder))?;
        // Whole or not at all for whoever goes on after a kill: no need to reach the disk.
        let new = file.with_extension("new");
        let mut list = [run];
        let bytes = pack(&self.info, Runs::whole(&list))?;
        fs::write(&new, bytes).map_err(ReportError::io("write", &new))?;
        fs::rename(&new, file).map_err(ReportError::io("write", file))?;
        let [run] = &mut list;
        lighten(run);
        let [run] = list;
        Ok(Finished::stored(run, Stored::File(file.clone())))
    }

    /// The run that another process has kept here; none where it has not, or where the file is
    /// damaged or of another scenario.
    pub fn held(&self) -> Option<Finished> {
        let bytes = fs::read(&self.file).ok()?;
        let (info, list) = unpack(&bytes).ok()?;
        let [mut run] = <[RunResult; 1]>::try_from(list).ok()?;
        lighten(&mut run);
        let is_ours = info.source == self.info.source;
        is_ours.then(|| Finished::stored(run, Stored::File(self.file.clone())))
    }
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
