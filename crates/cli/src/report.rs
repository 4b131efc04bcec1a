//! `sojourn report`: rebuilds reports from result folders, or sets several side by side.

use crate::fidelity::{self, PAGE, pairs};
use crate::fit::side_by_side;
use crate::out::{check_folder, check_out};
use crate::worlds::squares;
use crate::{WrongInput, print};
use anyhow::{Context as _, bail};
use clap::Args;
use sojourn_batch::Results;
use sojourn_fidelity::Matrix;
use sojourn_fit::is_flent;
use sojourn_report::{Merged, Rest, Runs};
use sojourn_world::RunResult;
use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// Rebuild a report from folders with results; several folders of one scenario are shown side by
/// side
///
/// Worlds of the fidelity matrix (sim, kernel, live, kernel-tc) are also compared by the figures of
/// whole runs: which cells are within the tolerances and, with three worlds, whether TCP or the
/// queue causes a difference. fidelity.html shows this, fidelity.csv has the figures.
///
/// A Flent data file is compared with the same test, simulated on the line that fits it (see
/// `sojourn fit`).
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn report out/sim                           rebuild out/sim/report.html
  sojourn report out/sim out/live --out out/both   simulated beside live
  sojourn report out/codel-red                     judge a study's results again
  sojourn report rrul.flent.gz --out out/line      a measurement beside its line, simulated")]
pub(crate) struct ReportArgs {
    /// Folders written by `sojourn run --out`, or by `sojourn reproduce --out`; or one .flent.gz
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Folder to write into [default: the folder itself, when there is only one]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace results of another scenario or study in the folder of --out
    #[arg(long, requires = "out")]
    overwrite: bool,
}

pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    let out = match (&args.out, &args.dirs[..]) {
        (Some(out), _) => out,
        (None, [only]) => only,
        (None, _) => {
            let message = "several folders need `--out DIR` for the merged report";
            bail!(WrongInput(message.into()));
        }
    };
    if args.dirs.iter().any(|path| is_flent(path)) {
        let ([file], Some(out)) = (&args.dirs[..], &args.out) else {
            let message = "a data file of Flent's takes a report of its own: \
                           `sojourn report FILE --out DIR`";
            bail!(WrongInput(message.into()));
        };
        return side_by_side(file, out, args.overwrite);
    }
    if let Some(file) = args
        .dirs
        .iter()
        .find(|path| path.exists() && !path.is_dir())
    {
        let file = file.display();
        bail!(WrongInput(format!(
            "{file}: is a file; a report is of folders that `sojourn run --out` has written, or of \
             one .flent.gz, and `sojourn fit` takes captures"
        )));
    }
    check_folder(out)?;
    let mut told = Vec::new();
    for dir in &args.dirs {
        told.extend(sojourn_study::reproduction(dir).map_err(WrongInput::from)?);
    }
    if !told.is_empty() {
        if told.len() < args.dirs.len() {
            let message = "a study's folder and a scenario's make no common report";
            bail!(WrongInput(message.into()));
        }
        check_out(out, &Results::Study(told[0].study.clone()), args.overwrite)?;
        return crate::reproduce::again(&args.dirs, &told, out);
    }
    let merged = sojourn_report::merge(&args.dirs).map_err(WrongInput::from)?;
    check_out(
        out,
        &Results::Scenario(merged.info.name.clone()),
        args.overwrite,
    )?;
    let Merged { info, runs, notes } = merged;
    // The program ends with this: nobody needs to give back ten thousand runs one by one.
    let runs = ManuallyDrop::new(Rest::of(runs));
    let (figures, rest) = &*runs;
    sojourn_report::write_runs(out, &info, Runs::new(figures, rest), &notes)
        .with_context(|| format!("--out {}", out.display()))?;
    let mut text = worlds_side_by_side(&info.name, figures, &notes, out)?;
    for part in sojourn_report::reading(figures) {
        text += &part.to_string();
    }
    for note in &notes {
        let _ = writeln!(text, "Note: {note}");
    }
    let _ = writeln!(text, "{}", out.join(sojourn_report::PAGE).display());
    print(&text)?;
    Ok(0)
}

/// Worlds of the fidelity matrix as the matrix has them, with its figures, tolerances and causes:
/// as text, and as a page. Empty when there are not two.
fn worlds_side_by_side(
    scenario: &str,
    results: &[RunResult],
    notes: &[String],
    out: &Path,
) -> anyhow::Result<String> {
    let mut worlds = results.iter().map(|run| &run.world);
    let first = worlds.next();
    if worlds.all(|world| Some(world) == first) {
        return Ok(String::new());
    }
    let matrix = Matrix::of_scenario(squares(), scenario, results);
    let text = pairs(&matrix);
    if text.is_empty() {
        return Ok(text);
    }
    fidelity::write(out, &matrix, notes).with_context(|| format!("--out {}", out.display()))?;
    Ok(format!("{text}{}\n\n", out.join(PAGE).display()))
}
