//! `sojourn export`: results in the formats of other programs.

mod mahimahi;

use crate::out::check_folder;
use crate::{FAILED, WrongInput, print};
use anyhow::Context as _;
use clap::{ArgGroup, Args};
use sojourn_flent::data_file;
use sojourn_scenario::Scenario;
use sojourn_world::Source;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Export results in the formats of other programs
///
/// With --flent each run becomes a Flent data file of the test that has its flows: `rrul`,
/// `rrul_be`, `rrul_be_nflows`, `tcp_nup`, `tcp_ndown` or `ping`, with the names of that test's
/// series. With --mahimahi each link that was captured before and after its queue becomes a log as
/// written by `mm-link --uplink-log`.
#[derive(Args)]
#[command(
    group(ArgGroup::new("format").required(true)),
    after_help = "Examples:
  sojourn run scenarios/flent/tcp_nup.toml --out out/nup
  sojourn export --flent out/nup --out out/flent
  flent -i out/flent/*.flent.gz -p totals -o totals.png
  sojourn run scenarios/demo.toml --out out/demo --pcap up,up:in
  sojourn export --mahimahi out/demo --out out/logs
  mm-throughput-graph 500 out/logs/run-1-up.log > up.svg

Exit status: 0 when every run was written, 1 when one cannot be written in the format (the others
are written), 2 when the input is wrong."
)]
pub(crate) struct ExportArgs {
    /// Folders written by `sojourn run --out`
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Write Flent data files, `.flent.gz`
    #[arg(long, group = "format")]
    flent: bool,

    /// Write mahimahi logs, `.log`, of the links captured with `--pcap LINK,LINK:in`
    #[arg(long, group = "format")]
    mahimahi: bool,

    /// Folder to write into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Folder of the scenario's file, to which the paths in it are relative
    #[arg(long, value_name = "DIR", default_value = ".")]
    base: PathBuf,
}

pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<u8> {
    check_folder(&args.out)?;
    if args.mahimahi {
        return mahimahi::export(&args.dirs, &args.out, &args.base);
    }
    let merged = sojourn_report::merge(&args.dirs).map_err(WrongInput::from)?;
    let text = merged.info.source.as_ref().ok_or_else(|| {
        WrongInput("the results do not say of which scenario they are".to_owned())
    })?;
    let source = Source {
        name: merged.info.name.clone(),
        text: text.clone(),
        base: args.base.clone(),
    };
    std::fs::create_dir_all(&args.out).with_context(|| format!("--out {}", args.out.display()))?;
    let (mut failed, mut written) = (false, String::new());
    for run in &merged.runs {
        let run = run.whole().map_err(WrongInput::from)?;
        let cell = Scenario::cell(&source, &run.params, run.seed)?;
        match data_file(&run, &cell) {
            Ok((name, bytes)) => {
                let path = args.out.join(name);
                std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
                let _ = writeln!(written, "{}", path.display());
            }
            Err(reason) => {
                eprintln!(
                    "sojourn: seed {} of {}: {reason}",
                    run.seed, merged.info.name
                );
                failed = true;
            }
        }
    }
    print(&written)?;
    Ok(if failed { FAILED } else { 0 })
}
