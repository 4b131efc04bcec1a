//! `sojourn report`: rebuilds reports from result folders, or sets several side by side.

use crate::{WrongInput, check_out, print};
use anyhow::{Context as _, bail};
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Rebuild a report from result folders; folders of one scenario are set side by side
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn report out/sim                           rebuild out/sim/report.html
  sojourn report out/sim out/live --out out/both   simulated beside live
  sojourn report out/codel-red                     judge a study's results again")]
pub(crate) struct ReportArgs {
    /// Folders written by `sojourn run --out`, or by `sojourn reproduce --out`
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Folder to write into [default: the folder itself, when there is only one]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    check_out(args.out.as_ref())?;
    let mut told = Vec::new();
    for dir in &args.dirs {
        told.extend(sojourn_study::reproduction(dir).map_err(WrongInput::from)?);
    }
    if !told.is_empty() {
        if told.len() < args.dirs.len() {
            let message = "a study's folder and a scenario's make no common report";
            bail!(WrongInput(message.into()));
        }
        return crate::reproduce::again(&args.dirs, &told, out);
    }
    let merged = sojourn_report::merge(&args.dirs).map_err(WrongInput::from)?;
    sojourn_report::write(out, &merged.info, &merged.results, &merged.notes)
        .with_context(|| format!("--out {}", out.display()))?;
    let mut text = String::new();
    for part in sojourn_report::reading(&merged.results) {
        text += &part.to_string();
    }
    for note in &merged.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    let _ = writeln!(text, "{}", out.join(sojourn_report::PAGE).display());
    print(&text)?;
    Ok(0)
}
