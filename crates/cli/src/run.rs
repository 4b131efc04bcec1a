//! `sojourn run`: runs a scenario and shows or writes what came out.

use crate::figures;
use crate::pcap::{Capturing, SNAP_LEN};
use crate::progress::Bar;
use crate::signal::stop_on_signal;
use crate::worlds::{self, Row, Setup, WORLDS};
use crate::{FAILED, INTERRUPTED, Overrides, WrongInput, check_out, print};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use sojourn_kernel::Version;
use sojourn_live::Queues;
use sojourn_scenario::Outcome;
use sojourn_world::{Cell, World};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run a scenario: every combination of its sweep with every seed
///
/// Without --out and --json the main figures are printed as a table.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn run scenarios/demo.toml
  sojourn run scenarios/demo.toml --set dumbbell.qdisc='fq_codel target 10ms' --seeds 5
  sojourn run scenarios/demo.toml --set flow.upload.tcp.cc=reno --out out/reno
  sojourn run scenarios/demo.toml --world live --out out/live   (as root)
  sojourn run scenarios/demo.toml --world kernel                (after `sojourn kernel build`)
  sojourn run scenarios/demo.toml --json | jq '.cells[].aggregate'

Exit status: 0 when every run succeeded, 1 when one failed (the others are kept), 2 when the
input is wrong (nothing is run or written), 130 after Ctrl-C (nothing is written).")]
pub(crate) struct RunArgs {
    /// The scenario file
    file: PathBuf,

    /// Simulated, or on real packets in network namespaces: in real time, or in a guest's virtual
    #[arg(long, value_parser = worlds::one(), default_value = WORLDS[0].name.as_str())]
    world: &'static Row,

    #[command(flatten)]
    overrides: Overrides,

    #[arg(long, value_name = "N", help = worlds::jobs_help())]
    jobs: Option<NonZeroUsize>,

    /// Write report.html, results.parquet and summary.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print the summary as JSON on standard output, and nothing else there
    #[arg(long)]
    json: bool,

    /// Run this shell command on the clients' side of a live or kernel run, beside its own hosts
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,

    /// Run this shell command on the servers' side of a live or kernel run, beside its own hosts
    #[arg(long, value_name = "COMMAND")]
    server_command: Option<String>,

    /// Whose queues --world kernel has [default: ours]
    #[arg(long, value_name = "WHOSE")]
    queues: Option<Whose>,

    /// Which kernel --world kernel runs [default: the first there is]
    #[arg(long, value_name = "VERSION", value_parser = Version::named)]
    kernel_version: Option<Version>,

    /// Capture packets as they leave these links' queues (`LINK`), before them (`LINK:in`), or at
    /// these nodes' hosts: DIR/run-N-POINT.pcapng of each run
    #[arg(
        long,
        value_name = "POINT,...",
        value_delimiter = ',',
        requires = "out"
    )]
    pcap: Vec<String>,

    /// Bytes of each packet that --pcap keeps; live runs keep at most 256
    #[arg(long, value_name = "BYTES", default_value_t = SNAP_LEN, requires = "pcap")]
    snap_len: u32,
}

/// Whose queues a run in the kernel world has.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Whose {
    /// Ours, in the bridge
    Ours,
    /// The kernel's own, set up by tc from the same strings
    Kernel,
}

impl RunArgs {
    fn setup(&self) -> Setup {
        Setup {
            client: self.client_command.clone(),
            server: self.server_command.clone(),
            queues: match self.queues {
                Some(Whose::Kernel) => Queues::Kernel,
                Some(Whose::Ours) | None => Queues::Ours,
            },
            kernel: self.kernel_version,
        }
    }

    /// What clap cannot check.
    fn check(&self) -> Result<(), WrongInput> {
        let command = self.client_command.is_some() || self.server_command.is_some();
        if command && !self.world.takes_programs {
            return Err(WrongInput(format!(
                "--client-command and --server-command need --world {}: a simulated network has \
                 no place for a program",
                worlds::names_with(|row| row.takes_programs)
            )));
        }
        let words = [
            (self.kernel_version.is_some(), "--kernel-version"),
            (self.queues.is_some(), "--queues"),
        ];
        for (_, word) in words.into_iter().filter(|(given, _)| *given) {
            if !self.world.has_kernels {
                let fit = worlds::names_with(|row| row.has_kernels);
                return Err(WrongInput(format!("{word} needs --world {fit}")));
            }
        }
        check_out(self.out.as_ref())
    }

    /// The world behind `--pcap`, if that is wanted.
    fn capturing<'a>(
        &'a self,
        world: &'a (dyn World + Sync),
        cells: &'a [Cell],
    ) -> Result<Option<Capturing<'a>>, WrongInput> {
        let Some(dir) = self.out.as_deref().filter(|_| !self.pcap.is_empty()) else {
            return Ok(None);
        };
        let points = &self.pcap;
        let capturing = Capturing {
            world,
            cells,
            points,
            dir,
            snap_len: self.snap_len,
        };
        capturing.check()?;
        std::fs::create_dir_all(dir)
            .map_err(|error| WrongInput(format!("--out {}: {error}", dir.display())))?;
        Ok(Some(capturing))
    }
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let scenario = args.overrides.load(&args.file)?;
    args.check()?;
    let world = args.world.world(args.setup())?;
    let capturing = args.capturing(world.as_ref(), &scenario.cells)?;
    let world: &(dyn World + Sync) = match &capturing {
        Some(capturing) => capturing,
        None => world.as_ref(),
    };
    let stop = stop_on_signal()?;
    let bar = Bar::new(&scenario.cells);
    let jobs = args.world.jobs(args.jobs);
    let outcomes = run_cells(world, &scenario.cells, jobs, &stop, &bar);
    bar.clear();
    if stop.load(Ordering::Relaxed) {
        eprintln!("sojourn: interrupted; nothing was written");
        return Ok(INTERRUPTED);
    }
    let (results, failures) = sojourn_scenario::split(&scenario.cells, outcomes);
    for failure in &failures {
        eprintln!("sojourn: {failure}");
    }
    if !results.is_empty() {
        if let Some(dir) = &args.out {
            sojourn_report::write(dir, &scenario.info, &results, &failures)
                .with_context(|| format!("--out {}", dir.display()))?;
        }
        if args.json {
            print(&sojourn_report::summary_json(&scenario.info, &results))?;
        } else if let Some(dir) = &args.out {
            print(&format!("{}\n", dir.join(sojourn_report::PAGE).display()))?;
        } else {
            print(&figures::text(&results))?;
        }
    }
    Ok(if failures.is_empty() { 0 } else { FAILED })
}

/// Runs cells, and signs the results with the version and commit of this program.
pub(crate) fn run_cells(
    world: &(dyn World + Sync),
    cells: &[Cell],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    bar: &Bar,
) -> Vec<Outcome> {
    let mut outcomes = sojourn_scenario::run(world, cells, jobs, stop, bar);
    for result in outcomes.iter_mut().flatten() {
        result.program = Some(sojourn_version::VERSION.to_owned());
    }
    outcomes
}
