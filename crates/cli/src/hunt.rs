//! `sojourn hunt`: the scenario in which a property breaks.

use crate::out::check_file;
use crate::progress::Search;
use crate::worlds::{Setup, WorldRow, repeating, world};
use crate::{FAILED, INTERRUPTED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_hunt::{Broken, Found, Hunt, Progress, Unsearched};
use sojourn_scenario::{Options, Space};
use sojourn_study::Property;
use sojourn_units::{Span, parse_span, significant};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Runs of a search that nobody has given a budget.
const RUNS: usize = 2000;

/// Find the smallest scenario that violates a property
///
/// FILE is a scenario whose sweep says what may vary: a list of values, or an interval such as
/// `"1mbit .. 100mbit"`. The search prefers scenarios in which the property is close to failing, or
/// in which queues reach new states. It then reduces a failing scenario as far as it still fails,
/// and prints it.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn hunt voice.toml --property 'flow.loss_ratio[flow=voice] <= 1%'
  sojourn hunt a.toml --property 'link.sojourn_ms.p99 <= 25' --sweep 'dumbbell.rtt=1ms .. 300ms'
  sojourn hunt b.toml --compare dumbbell.qdisc --flow probe --property \\
      'flow.induced_rtt_ms.p95[fq_codel] <= 120% * flow.induced_rtt_ms.p95[codel]'
  sojourn hunt a.toml --property '…' --out broken.toml && sojourn run broken.toml

Exit status: 0 when nothing was found within the budget, 1 when the property breaks, 2 when the
input is wrong (nothing is run), 130 after Ctrl-C.")]
pub(crate) struct HuntArgs {
    /// The scenario, with lists and intervals in its sweep
    file: PathBuf,

    /// The property, in the language of claims (docs/claims.md); may be repeated
    #[arg(long, value_name = "CHECK", required = true)]
    property: Vec<String>,

    /// Let a field vary, in addition to the file's sweeps: a list or an interval; may be repeated
    #[arg(long = "sweep", value_name = "KEY=LOW .. HIGH")]
    sweeps: Vec<String>,

    /// Set a field to a value; may be repeated. The field then no longer varies
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,

    /// Run every scenario with all values of this swept field, for the property to compare; may be
    /// repeated
    #[arg(long, value_name = "KEY")]
    compare: Vec<String>,

    /// The link that the property refers to if it names none; default: the first
    #[arg(long, value_name = "NAME")]
    link: Option<String>,

    /// The flows that the property refers to if it names none; default: all
    #[arg(long, value_name = "PATTERN")]
    flow: Option<String>,

    /// Stop after about this many runs; default: 2000
    #[arg(long, value_name = "N", value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
    runs: Option<NonZeroUsize>,

    /// Stop after this much processor time
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    cpu: Option<Span>,

    /// Seed of the search
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    seed: u64,

    /// Seeds of each scenario; with several the median counts, and intervals for orders
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole::<u64>(1, 100))]
    seeds: u64,

    /// Runs at a time; default: one for each processor. The result does not depend on it
    #[arg(long, short, value_name = "N", value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
    jobs: Option<NonZeroUsize>,

    /// The world to run in: one of those of `run`, except `live`
    #[arg(long, value_name = "WORLD", default_value = "sim", value_parser = repeating)]
    world: &'static WorldRow,

    /// Write the scenario into this file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn hunt(args: &HuntArgs) -> anyhow::Result<u8> {
    let options = Options {
        sets: args.sets.clone(),
        sweeps: args.sweeps.clone(),
        ..Options::default()
    };
    let space = Space::load(&args.file, &options, &args.compare)?;
    let names = [args.link.as_deref(), args.flow.as_deref()];
    let property = Property::read(&args.property, &sojourn_hunt::fullest(&space)?, names)?;
    if let Some(out) = &args.out {
        check_file(out)?;
    }
    let world = world(args.world, Setup::default())?;
    let stop = stop_on_signal()?;
    let hunt = Hunt {
        space: &space,
        property: &property,
        world: world.as_ref(),
        seeds: args.seeds,
        seed: args.seed,
        jobs: args.world.jobs(args.jobs),
        stop: &stop,
    };
    let shown = Search::new(args.quiet);
    let mut last = Progress::default();
    let found = hunt.search(&mut |progress| {
        last = *progress;
        shown.say(&so_far(progress));
        !stop.load(Ordering::Relaxed) && args.goes_on(progress)
    });
    shown.clear();
    if stop.load(Ordering::Relaxed) {
        eprintln!("sojourn: interrupted; nothing was written");
        return Ok(INTERRUPTED);
    }
    match found {
        Ok(None) => {
            print(&format!("Nothing found: {}.\n", so_far(&last)))?;
            Ok(0)
        }
        Ok(Some(found)) => {
            args.tell(&space, &found)?;
            Ok(FAILED)
        }
        Err(Unsearched::Unfit(problems)) => Err(problems.into()),
        Err(Unsearched::Refused(error)) => Err(WrongInput::from(error).into()),
    }
}

impl HuntArgs {
    /// Whether the budget allows another batch.
    fn goes_on(&self, progress: &Progress) -> bool {
        let within = |cpu| processor_time() < cpu;
        let runs = match (self.runs, self.cpu) {
            (Some(runs), _) => runs.get(),
            (None, Some(_)) => usize::MAX,
            (None, None) => RUNS,
        };
        progress.runs < runs && self.cpu.is_none_or(within)
    }

    /// Prints what was found, or writes it into the file.
    fn tell(&self, space: &Space, found: &Found) -> anyhow::Result<()> {
        let name = match &self.out {
            Some(out) => out.display().to_string(),
            None => "THIS-FILE.toml".into(),
        };
        let mut story = story(space, found);
        let _ = writeln!(story, "Replay it: sojourn run {name}{}", self.world_words());
        let mut text = String::new();
        for line in story.lines() {
            let _ = writeln!(text, "# {line}");
        }
        text.push_str(&found.text);
        let Some(out) = &self.out else {
            return print(&text);
        };
        std::fs::write(out, text).with_context(|| format!("--out {}", out.display()))?;
        print(&story)
    }

    fn world_words(&self) -> String {
        match self.world.name.as_str() {
            "sim" => String::new(),
            name => format!(" --world {name}"),
        }
    }
}

/// What was found, in words.
fn story(space: &Space, found: &Found) -> String {
    let mut story = String::new();
    let _ = match &found.broken {
        Broken::Check(tested) => {
            writeln!(story, "It breaks: {}\n{}", tested.check, tested.text)
        }
        Broken::Bug(what) => writeln!(story, "The program has a fault: {what}"),
    };
    let fields = space
        .fields(&found.point.genes)
        .into_iter()
        .map(|(path, node)| format!("{path} = {}", node.text));
    let all: Vec<String> = fields
        .chain([format!("seed {}", found.point.seed)])
        .collect();
    let [broke, of] = found.again;
    let _ = write!(
        story,
        "with {}\nWith {broke} of the next {of} seeds it breaks too. \
         {} runs made it smaller.\n",
        all.join(", "),
        found.shrinking
    );
    story
}

/// How far a search is, in words.
fn so_far(progress: &Progress) -> String {
    let Progress {
        runs,
        unfit,
        refused,
        nearest,
        states,
        tested,
    } = *progress;
    let mut text = format!("{runs} runs, {states} states of queues and flows");
    if nearest.is_finite() {
        let _ = write!(
            text,
            ", {} % from breaking",
            significant(100.0 * nearest, 2)
        );
    }
    for (count, what) in [
        (unfit, "points were no scenario"),
        (refused, "runs had no result"),
    ] {
        if count > 0 {
            let _ = write!(text, "; {count} {what}");
        }
    }
    if tested == 0 {
        text.push_str("; the property had a value nowhere");
    }
    text
}

/// Processor time of the program so far.
fn processor_time() -> Span {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Span::from_secs(time.tv_sec.cast_unsigned()) + Span::from_nanos(time.tv_nsec.cast_unsigned())
}
