//! `sojourn reproduce`: runs a published study and holds its claims against what comes out.

mod again;
mod page;

pub(crate) use again::again;

use crate::progress::Bar;
use crate::run::{run_cells, stop_on_signal};
use crate::table::Table;
use crate::{FAILED, INTERRUPTED, WRONG_INPUT, check_out, print, refuse};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use page::Reproduced;
use sojourn_live::Live;
use sojourn_scenario::{Options, Outcome};
use sojourn_sim::Sim;
use sojourn_study::{Published, Results, Status, WorldName};
use sojourn_world::{Cell, World};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Run a published study and say claim by claim where we stand
///
/// Studies are folders with a `study.toml`: one given by its path, one of `studies/` in the
/// working directory, or one that is built into the program.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn reproduce --list
  sojourn reproduce codel-red --quick
  sojourn reproduce codel-red --claims R1,R4 --json | jq '.claims[].status'
  sojourn reproduce codel-red --out out/codel-red
  sojourn reproduce my-study --world both --out out/my-study   (as root)

Exit status: 0 when every claim passes that is no known deviation and that the world can tell,
1 when one fails or a run failed, 2 when the input is wrong (nothing is run or written), 130
after Ctrl-C.")]
pub(crate) struct ReproduceArgs {
    /// The study: its name or its folder
    #[arg(required_unless_present = "list")]
    study: Option<String>,

    /// List the studies and their claims; nothing is run
    #[arg(long, conflicts_with_all = ["world", "claims", "quick", "seeds", "jobs", "json", "out"])]
    list: bool,

    /// Simulated, on real packets in network namespaces, or one beside the other
    #[arg(long, value_enum, default_value_t = Worlds::Sim)]
    world: Worlds,

    /// Only these claims, and only the settings that they are about
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    claims: Vec<String>,

    /// One seed instead of all: fast, and without intervals
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,

    /// Number of seeds instead of the scenarios' own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,

    /// Runs at a time [default: one for each processor in sim, 1 in live]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Print the claims as JSON on standard output, and nothing else there
    #[arg(long)]
    json: bool,

    /// Write report.html, results.parquet, summary.json and claims.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Worlds {
    /// Simulated: virtual time, model TCP
    Sim,
    /// Real time, the kernel's TCP and real packets; needs root
    Live,
    /// Simulated, then live
    Both,
}

impl Worlds {
    fn list(self) -> &'static [WorldName] {
        match self {
            Self::Sim => &[WorldName::Sim],
            Self::Live => &[WorldName::Live],
            Self::Both => &[WorldName::Sim, WorldName::Live],
        }
    }
}

/// What all runs took.
#[derive(Default)]
struct Cost {
    runs: usize,
    wall_s: f64,
    cpu_s: f64,
    events: u64,
}

impl Cost {
    /// For `claims.json`.
    fn figures(&self) -> [(&'static str, f64); 4] {
        [
            ("runs", self.runs as f64),
            ("events", self.events as f64),
            ("cpu_s", self.cpu_s),
            ("wall_s", self.wall_s),
        ]
    }
}

pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let Some(name) = &args.study else {
        return list();
    };
    let options = Options {
        seeds: if args.quick { Some(1) } else { args.seeds },
        ..Options::default()
    };
    let study = match Published::load(name, &options) {
        Ok(study) => study,
        Err(problems) => return Ok(refuse(&problems)),
    };
    if args.list {
        print(&claims_of(&study))?;
        return Ok(0);
    }
    let chosen = match choose(&study, args) {
        Ok(chosen) => chosen,
        Err(message) => {
            eprintln!("sojourn: {message}");
            return Ok(WRONG_INPUT);
        }
    };
    let worlds = args.world.list();
    if worlds.contains(&WorldName::Live)
        && let Err(reason) = Live::available()
    {
        eprintln!("sojourn: the live world cannot run here: {reason}");
        return Ok(FAILED);
    }
    let stop = stop_on_signal()?;
    let mut cost = Cost::default();
    let mut results = Vec::new();
    for world in worlds {
        results.push(run(&study, &chosen, *world, args, &stop, &mut cost));
        if stop.load(Ordering::Relaxed) {
            eprintln!("sojourn: interrupted; nothing was written");
            return Ok(INTERRUPTED);
        }
    }
    let found = Reproduced::new(&study, &chosen, results, &cost.figures(), None);
    for failure in &found.failures {
        eprintln!("sojourn: {failure}");
    }
    if let Some(dir) = &args.out {
        sojourn_report::write_study(dir, &found.page(), &found.results, &found.json)
            .with_context(|| format!("--out {}", dir.display()))?;
    }
    print(&if args.json {
        found.json.clone()
    } else {
        let runs = format!("{} runs in {:.1} s\n", cost.runs, cost.wall_s);
        found.text(worlds) + &runs + &page::place(args.out.as_deref())
    })?;
    let fail = Status::Fail.name();
    let failed = worlds.iter().any(|world| found.count(*world, fail) > 0);
    Ok(if failed || !found.failures.is_empty() {
        FAILED
    } else {
        0
    })
}

/// The claims that are asked for, if the worlds that are asked for can tell anything of them.
fn choose(study: &Published, args: &ReproduceArgs) -> Result<Vec<usize>, String> {
    check_out(args.out.as_ref())?;
    let chosen = study.select(&args.claims)?;
    for world in args.world.list() {
        if *world == WorldName::Live && study.settings.iter().all(|s| s.live.is_none()) {
            return Err(format!(
                "{} has no part for the live world: no setting names a `live` scenario",
                study.name
            ));
        }
        if study.testable(&chosen, *world).is_empty() && !chosen.is_empty() {
            return Err(format!(
                "the {} world has no cells for {}",
                world.name(),
                args.claims.join(", ")
            ));
        }
    }
    Ok(chosen)
}

/// Runs the cells of every setting that a chosen claim is about, in one world.
#[expect(clippy::disallowed_methods, reason = "the user waits in real time")]
fn run(
    study: &Published,
    chosen: &[usize],
    world: WorldName,
    args: &ReproduceArgs,
    stop: &AtomicBool,
    cost: &mut Cost,
) -> Results {
    let needed = |setting: usize| {
        let mut claims = chosen.iter().map(|index| &study.claims[*index]);
        args.claims.is_empty() || claims.any(|claim| claim.setting == setting)
    };
    let cells_of = |(setting, s)| {
        let scenario = sojourn_study::Setting::in_world(s, world).filter(|_| needed(setting));
        let cells = scenario.map_or(&[][..], |scenario| &scenario.cells);
        cells.iter().map(move |cell| (setting, cell.clone()))
    };
    let settings = study.settings.iter().enumerate();
    let (places, cells): (Vec<usize>, Vec<Cell>) = settings.flat_map(cells_of).unzip();
    let (runner, jobs): (&(dyn World + Sync), _) = match world {
        WorldName::Sim => (&Sim, std::thread::available_parallelism().ok()),
        // Runs side by side share the processors and disturb one another's timing.
        WorldName::Live => (&Live, None),
    };
    let jobs = args.jobs.or(jobs).unwrap_or(NonZeroUsize::MIN);
    let bar = Bar::new(&cells);
    let begin = Instant::now();
    let outcomes = run_cells(runner, &cells, jobs, stop, &bar);
    bar.clear();
    let runs = || outcomes.iter().flatten();
    cost.runs += runs().count();
    cost.wall_s += begin.elapsed().as_secs_f64();
    cost.cpu_s += runs().map(|run| run.cost.cpu_s).sum::<f64>();
    cost.events += runs().map(|run| run.cost.events).sum::<u64>();
    let mut by_setting: Vec<Vec<Outcome>> = study.settings.iter().map(|_| Vec::new()).collect();
    for (setting, outcome) in places.into_iter().zip(outcomes) {
        by_setting[setting].push(outcome);
    }
    Results {
        world,
        outcomes: by_setting,
    }
}

fn list() -> anyhow::Result<u8> {
    let studies = match Published::list() {
        Ok(studies) => studies,
        Err(problems) => return Ok(refuse(&problems)),
    };
    let mut table = Table::new(["study", "title", "from"]);
    for study in studies {
        table.row(vec![study.name, study.title, study.place]);
    }
    print(&table.show())?;
    Ok(0)
}

/// What a study claims, without running it.
fn claims_of(study: &Published) -> String {
    let mut table = Table::new(["id", "setting", ">cells", "statement"]);
    for claim in &study.claims {
        let setting = &study.settings[claim.setting];
        table.row(vec![
            claim.id.clone(),
            setting.name.clone(),
            setting.scenario.cells.len().to_string(),
            claim.statement.clone(),
        ]);
    }
    table.show()
}
