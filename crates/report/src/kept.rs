//! Runs kept on disk as they finish: memory does not grow with their series, and a process that is
//! killed loses only the runs under way.
//!
//! One file a run, as [`pack`](crate::pack) makes them, in a folder of its own that goes when the
//! results are written.

use crate::error::ReportError;
use crate::packed::{pack, unpack};
use sojourn_world::figure::{Distribution, Part};
use sojourn_world::{RunResult, ScenarioInfo, Series, WorldName};
use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder's name in that of the results.
const FOLDER: &str = "unfinished";
/// How the files' names end.
const ENDING: &str = "run";

/// The folder of runs whose results are not written yet.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
    info: ScenarioInfo,
}

impl Kept {
    /// In the folder where the results will be; both are made with the first run.
    pub fn new(out: &Path, info: &ScenarioInfo) -> Self {
        Self {
            folder: out.join(FOLDER),
            info: info.clone(),
        }
    }

    fn file(&self, world: &WorldName, place: usize) -> PathBuf {
        self.folder.join(format!("{world}-{place:07}.{ENDING}"))
    }

    /// Writes a run with its place among all of its world. Returns what of it stays in memory.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn keep(&self, place: usize, run: RunResult) -> Result<RunResult, ReportError> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(ReportError::io("make the folder", folder))?;
        let file = self.file(&run.world, place);
        // Whole or not at all for whoever goes on after a kill: no need to reach the disk.
        let new = file.with_extension("new");
        let mut list = [run];
        let bytes = pack(&self.info, &list)?;
        fs::write(&new, bytes).map_err(ReportError::io("write", &new))?;
        fs::rename(&new, &file).map_err(ReportError::io("write", &file))?;
        let [run] = &mut list;
        lighten(run);
        let [run] = list;
        Ok(run)
    }

    /// What stays in memory of a run that another process has kept; none where it has not, or
    /// where the file is damaged or of other runs.
    pub fn held(&self, world: &WorldName, place: usize) -> Option<RunResult> {
        let bytes = fs::read(self.file(world, place)).ok()?;
        let (info, list) = unpack(&bytes).ok()?;
        let [mut run] = <[RunResult; 1]>::try_from(list).ok()?;
        let is_ours = info.source == self.info.source && run.world == *world;
        lighten(&mut run);
        is_ours.then_some(run)
    }

    /// The run as it was.
    fn whole(&self, world: &WorldName, place: usize) -> Result<RunResult, ReportError> {
        let file = self.file(world, place);
        let bytes = fs::read(&file).map_err(ReportError::io("read", &file))?;
        let (_, list) = unpack(&bytes).map_err(|reason| ReportError::damaged(&file, reason))?;
        let [run] = <[RunResult; 1]>::try_from(list)
            .map_err(|_| ReportError::Mixed(format!("{} is not one run", file.display())))?;
        Ok(run)
    }

    /// Takes the folder away, unless somebody has put something else there.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn clear(&self) -> Result<(), ReportError> {
        let folder = &self.folder;
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
}

/// Leaves the figures, and the names of the series.
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
        for series in list {
            series.points = Vec::new();
        }
    }
    for (_, link) in &mut run.links {
        part(link);
        series(&mut link.series);
    }
    for (_, flow) in &mut run.flows {
        part(flow);
        series(&mut flow.series);
    }
    part(&mut run.aggregate);
}

/// Results of which the series and the distributions' points may be on disk.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// All of them, with figures at least.
    pub figures: &'a [RunResult],
    kept: Option<(&'a Kept, &'a [usize])>,
}

impl<'a> Runs<'a> {
    /// What is whole in memory.
    pub fn whole(results: &'a [RunResult]) -> Self {
        Self {
            figures: results,
            kept: None,
        }
    }

    /// What is kept on disk, with the place of each run.
    pub fn kept(figures: &'a [RunResult], kept: &'a Kept, places: &'a [usize]) -> Self {
        Self {
            figures,
            kept: Some((kept, places)),
        }
    }

    /// A run with all that belongs to it.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn get(&self, index: usize) -> Result<Cow<'a, RunResult>, ReportError> {
        let run = &self.figures[index];
        match self.kept {
            None => Ok(Cow::Borrowed(run)),
            Some((kept, places)) => kept.whole(&run.world, places[index]).map(Cow::Owned),
        }
    }
}
