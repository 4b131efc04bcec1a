//! Results for people and for programs: `report.html`, `results.parquet`, `summary.json`.
//!
//! [`write()`] puts all three into a folder; [`merge`] reads folders back into one set of
//! results. The same results give the same bytes: no clock and no random number enters, and
//! what a run cost stands in the summary only.
//!
//! Not here: running anything, and printing to the terminal.
#![forbid(unsafe_code)]

mod agreement;
mod error;
mod files;
mod headline;
mod html;
mod json;
mod labels;
mod merge;
mod reading;
mod seeds;
mod show;
mod study;
mod summary;
mod table;

pub use agreement::{Agreement, Comparison, GOODPUT_SHARE, LATENCY_MS, LATENCY_SHARE, agreement};
pub use error::{Damage, ReportError, Run};
pub use html::html;
pub use json::Misplaced;
pub use merge::{Merged, merge};
pub use reading::{Reading, reading};
pub use seeds::OverSeeds;
pub use study::{
    CLAIMS, CLAIMS_FORMAT, Check, Claim, Dot, Draw, Drawing, Page, Reproduction, STUDY, Scaling,
    Sheet, Strip, Stroke, Verdict, claims_json, reproduction, study_html, write_study,
};
pub use summary::{FORMAT, summary_json};
pub use table::write_table;

use files::Pending;
use sojourn_world::{RunResult, ScenarioInfo};
use std::io::Write;
use std::path::Path;

/// The page's file name.
pub const PAGE: &str = "report.html";
/// The table's file name.
pub const TABLE: &str = "results.parquet";
/// The summary's file name.
pub const SUMMARY: &str = "summary.json";

/// Writes the page, the table and the summary into `dir`, which is made when it is missing.
/// None of them appears before all of them are complete. `notes` are sentences for the page's
/// reader, such as those of [`Merged`].
///
/// # Errors
/// When the file system refuses; the message names the file.
pub fn write(
    dir: &Path,
    info: &ScenarioInfo,
    results: &[RunResult],
    notes: &[String],
) -> Result<(), ReportError> {
    std::fs::create_dir_all(dir).map_err(ReportError::io("make the folder", dir))?;
    let text = |name: &str, text: String| {
        Pending::write(dir, name, |file| {
            let written = file.write_all(text.as_bytes());
            written.map_err(ReportError::io("write", &dir.join(name)))
        })
    };
    let page = text(PAGE, html(info, results, notes)?)?;
    let table = Pending::write(dir, TABLE, |file| write_table(file, info, results))?;
    let summary = text(SUMMARY, summary_json(info, results))?;
    page.keep()?;
    table.keep()?;
    summary.keep()
}
