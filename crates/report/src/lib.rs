//! Results for people and for programs: `report.html`, `results.parquet`, `summary.json`.
//!
//! [`write()`] puts all three into a folder; [`merge`] reads folders back into one set of
//! results. The same results give the same bytes: no clock and no random number enters, and
//! what a run cost stands in the summary only.
//!
//! Not here: running anything, and printing to the terminal.
#![forbid(unsafe_code)]

mod agreement;
mod aims;
mod binary;
mod bytes;
mod error;
mod files;
mod folder;
mod headline;
mod held;
mod html;
mod json;
mod kept;
mod labels;
mod limited;
mod merge;
mod packed;
mod parallel;
mod place;
mod reading;
mod recording;
mod seeds;
mod shards;
mod show;
mod stored;
mod summary;
mod table;
mod varied;

pub use agreement::{Agreement, Comparison, Tolerance, agreement};
pub use error::{Damage, ReportError, Run};
pub use files::{PAGE, SUMMARY, TABLE, document};
pub use folder::Folder;
pub use held::held;
pub use html::{SCRIPT, STYLE, html, html_of, packed, render};
pub use json::Misplaced;
pub use kept::{Slot, Spool, forget, lighten};
pub use labels::{colours_of, programs};
pub use limited::held_flows;
pub use merge::{Merged, merge};
pub use packed::{pack, pack_run, unpack, unpack_runs};
pub use reading::{Reading, reading};
pub use recording::{ColumnType, Field, Recording};
pub use seeds::{OverSeeds, repeated, student_t_975};
pub use shards::{Joined, join};
pub use sojourn_units::significant;
pub use stored::{Finished, Rest, Runs};
pub use summary::{FORMAT, summary_json};
pub use table::write_table;
pub use varied::{Varied, varied};

use files::Pending;
use labels::Labels;
use sojourn_world::{RunResult, ScenarioInfo};
use std::path::{Path, PathBuf};

/// Writes the page, the table and the summary into `dir`; see [`write_folder`]. `notes` are
/// sentences for the page's reader, such as those of [`Merged`].
///
/// # Errors
/// When the file system refuses; the message names the file.
pub fn write(
    dir: &Path,
    info: &ScenarioInfo,
    results: &[RunResult],
    notes: &[String],
) -> Result<(), ReportError> {
    write_runs(dir, info, Runs::whole(results), notes)
}

/// As [`write()`], with results that may be kept on disk.
///
/// # Errors
/// When the file system refuses; the message names the file.
pub fn write_runs(
    dir: &Path,
    info: &ScenarioInfo,
    runs: Runs<'_>,
    notes: &[String],
) -> Result<(), ReportError> {
    let labels = Labels::of(runs.figures);
    let page = || html::page(info, runs, &labels, notes);
    write_all(dir, info, runs, &labels, &page, &[])
}

/// Writes a page, the table and the summary of `runs`, and `more` files by their paths, into
/// `dir`, which is made when it is missing. None of them appears before all are complete.
///
/// # Errors
/// When the file system refuses, with the file's name; when the page cannot be put together.
pub fn write_folder(
    dir: &Path,
    info: &ScenarioInfo,
    runs: Runs<'_>,
    page: &dyn Fn() -> Result<String, ReportError>,
    more: &[(PathBuf, &str)],
) -> Result<(), ReportError> {
    write_all(dir, info, runs, &Labels::of(runs.figures), page, more)
}

/// [`write_folder`] of runs whose labels are known.
fn write_all(
    dir: &Path,
    info: &ScenarioInfo,
    runs: Runs<'_>,
    labels: &Labels<'_>,
    page: &dyn Fn() -> Result<String, ReportError>,
    more: &[(PathBuf, &str)],
) -> Result<(), ReportError> {
    std::fs::create_dir_all(dir).map_err(ReportError::io("make the folder", dir))?;
    // The table takes as long as all else together.
    let (table, rest) = std::thread::scope(|scope| {
        let table = || {
            Pending::write(dir.join(TABLE), |file| {
                table::write(file, info, runs, labels)
            })
        };
        // Named for whoever looks at what the threads do (`benches/sweep.py`).
        let thread = std::thread::Builder::new().name("table".to_owned());
        let table = thread
            .spawn_scoped(scope, table)
            .map_err(ReportError::io("write", &dir.join(TABLE)))?;
        let rest = || -> Result<_, ReportError> {
            Ok([
                Pending::text(dir.join(PAGE), &page()?)?,
                Pending::write(dir.join(SUMMARY), |file| {
                    let written = summary::write(&mut *file, info, runs.figures);
                    written.map_err(ReportError::io("write", &dir.join(SUMMARY)))
                })?,
            ])
        };
        let rest = rest();
        Ok::<_, ReportError>((table.join(), rest))
    })?;
    let table = table.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let mut files = vec![table?];
    files.extend(rest?);
    files.extend(pending(dir, more)?);
    files.into_iter().try_for_each(Pending::keep)
}

/// Writes texts by their paths into `dir`, which is made when it is missing. None of them appears
/// before all are complete.
///
/// # Errors
/// When the file system refuses, with the file's name.
pub fn write_files(dir: &Path, files: &[(PathBuf, &str)]) -> Result<(), ReportError> {
    let files = pending(dir, files)?;
    files.into_iter().try_for_each(Pending::keep)
}

fn pending(dir: &Path, files: &[(PathBuf, &str)]) -> Result<Vec<Pending>, ReportError> {
    let write = |(path, text): &(PathBuf, &str)| {
        let place = dir.join(path);
        let folder = place.parent().unwrap_or(dir);
        std::fs::create_dir_all(folder).map_err(ReportError::io("make the folder", folder))?;
        Pending::text(place, text)
    };
    files.iter().map(write).collect()
}
