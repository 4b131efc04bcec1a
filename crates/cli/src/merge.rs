//! `sojourn merge`: the folders of a scenario's shards as one.

use crate::out::check_out;
use crate::{WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use sojourn_batch::Results;
use sojourn_report::{Joined, Rest, Runs};
use std::path::PathBuf;

/// Merge the shards of a scenario's runs into the results of the whole
///
/// The shards may be named in any order. Every shard must be named once and be complete.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn run sweep.toml --shard 1/2 --out out/1
  sojourn run sweep.toml --shard 2/2 --out out/2
  sojourn merge out/1 out/2 --out out/all

Exit status: 0 when all shards are complete, 2 when a shard is missing, is named twice, lacks runs
or belongs to other runs (nothing is written).")]
pub(crate) struct MergeArgs {
    /// Folders written by `sojourn run --shard I/N --out DIR`
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Folder to write into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace results of another scenario or study in the folder of --out
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<u8> {
    let Joined { info, runs } = sojourn_report::join(&args.dirs).map_err(WrongInput::from)?;
    let out = &args.out;
    check_out(out, &Results::Scenario(info.name.clone()), args.overwrite)?;
    let (figures, rest) = Rest::of(runs);
    sojourn_report::write_runs(out, &info, Runs::new(&figures, &rest), &[])
        .with_context(|| format!("--out {}", out.display()))?;
    let count = figures.len();
    let page = out.join(sojourn_report::PAGE);
    print(&format!("{count} runs\n{}\n", page.display()))?;
    Ok(0)
}
