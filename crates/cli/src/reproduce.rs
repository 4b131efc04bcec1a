//! `sojourn reproduce`: runs a published study and holds its claims against what comes out.

use crate::progress::Bar;
use crate::run::{split, stop_on_signal};
use crate::table::Table;
use crate::{FAILED, INTERRUPTED, WRONG_INPUT, check_out, print, refuse};
use anyhow::Context as _;
use clap::Args;
use sojourn_report::{Claim, Draw, Drawing, OverSeeds, Page, Sheet, Strip};
use sojourn_sim::Sim;
use sojourn_study::{ChartKind, Judgement, Options, Outcome, Published, Status};
use sojourn_world::{Axis, Cell, RunResult, ScenarioInfo};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Run a published study in the simulator and say claim by claim where we stand
///
/// Studies are folders with a `study.toml`: one given by its path, one of `studies/` in the
/// working directory, or one that is built into the program.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn reproduce --list
  sojourn reproduce codel-red --quick
  sojourn reproduce codel-red --claims R1,R4 --json | jq '.claims[].status'
  sojourn reproduce codel-red --out out/codel-red

Exit status: 0 when every claim passes that is no known deviation, 1 when one fails or a run
failed, 2 when the input is wrong (nothing is run or written), 130 after Ctrl-C.")]
pub(crate) struct ReproduceArgs {
    /// The study: its name or its folder
    #[arg(required_unless_present = "list")]
    study: Option<String>,

    /// List the studies and their claims; nothing is run
    #[arg(long, conflicts_with_all = ["claims", "quick", "jobs", "json", "out"])]
    list: bool,

    /// Only these claims, and only the settings that they are about
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    claims: Vec<String>,

    /// One seed instead of all: fast, and without intervals
    #[arg(long)]
    quick: bool,

    /// Runs at a time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Print the claims as JSON on standard output, and nothing else there
    #[arg(long)]
    json: bool,

    /// Write report.html, results.parquet, summary.json and claims.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What all runs took.
struct Cost {
    runs: usize,
    wall_s: f64,
    cpu_s: f64,
    events: u64,
}

pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let Some(name) = &args.study else {
        return list();
    };
    let options = Options {
        seeds: args.quick.then_some(1),
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
    let checked = study
        .select(&args.claims)
        .and_then(|chosen| check_out(args.out.as_ref()).map(|()| chosen));
    let chosen = match checked {
        Ok(chosen) => chosen,
        Err(message) => {
            eprintln!("sojourn: {message}");
            return Ok(WRONG_INPUT);
        }
    };
    let Some((outcomes, cost)) = run(&study, &chosen, args)? else {
        return Ok(INTERRUPTED);
    };
    let judged = study.judge(&chosen, &outcomes);
    let claims: Vec<Claim> = judged.iter().map(claim).collect();
    let json = sojourn_report::claims_json(&study.name, &claims, &cost_json(&cost));
    let (pictures, sheets) = (drawings(&study, &outcomes), sheets(&study, &outcomes));
    let (results, failures, info) = gather(&study, outcomes);
    for failure in &failures {
        eprintln!("sojourn: {failure}");
    }
    if let Some(dir) = &args.out {
        let page = Page {
            info: &info,
            source: &study.source,
            claims: &claims,
            drawings: &pictures,
            sheets: &sheets,
            notes: &failures,
        };
        sojourn_report::write_study(dir, &page, &results, &json)
            .with_context(|| format!("--out {}", dir.display()))?;
    }
    print(&if args.json {
        json
    } else {
        text(&study, &judged, &claims, &cost, args.out.as_deref())
    })?;
    let failed = judged.iter().any(|claim| claim.status == Status::Fail);
    Ok(if failed || !failures.is_empty() {
        FAILED
    } else {
        0
    })
}

/// Runs the cells of every setting that a chosen claim is about; none when interrupted.
fn run(
    study: &Published,
    chosen: &[usize],
    args: &ReproduceArgs,
) -> anyhow::Result<Option<(Vec<Vec<Outcome>>, Cost)>> {
    let needed = |setting: usize| {
        let mut claims = chosen.iter().map(|index| &study.claims[*index]);
        args.claims.is_empty() || claims.any(|claim| claim.setting == setting)
    };
    let cells: Vec<(usize, Cell)> = study
        .settings
        .iter()
        .enumerate()
        .filter(|(setting, _)| needed(*setting))
        .flat_map(|(setting, s)| {
            s.study
                .cells
                .iter()
                .map(move |cell| (setting, cell.clone()))
        })
        .collect();
    let (places, cells): (Vec<usize>, Vec<Cell>) = cells.into_iter().unzip();
    let jobs = args
        .jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let stop = stop_on_signal()?;
    let bar = Bar::new(&cells);
    let begin = Instant::now();
    let outcomes = sojourn_study::run(&Sim, &cells, jobs, &stop, &bar);
    bar.clear();
    if stop.load(Ordering::Relaxed) {
        eprintln!("sojourn: interrupted; nothing was written");
        return Ok(None);
    }
    let runs = || outcomes.iter().flatten();
    let cost = Cost {
        runs: runs().count(),
        wall_s: begin.elapsed().as_secs_f64(),
        cpu_s: runs().map(|run| run.cost.cpu_s).sum(),
        events: runs().map(|run| run.cost.events).sum(),
    };
    let mut by_setting: Vec<Vec<Outcome>> = study.settings.iter().map(|_| Vec::new()).collect();
    for (setting, outcome) in places.into_iter().zip(outcomes) {
        by_setting[setting].push(outcome);
    }
    Ok(Some((by_setting, cost)))
}

fn cost_json(cost: &Cost) -> [(&'static str, f64); 4] {
    [
        ("runs", cost.runs as f64),
        ("events", cost.events as f64),
        ("cpu_s", cost.cpu_s),
        ("wall_s", cost.wall_s),
    ]
}

fn claim(judged: &Judgement) -> Claim {
    let over = OverSeeds::of(judged.seeds.iter().copied());
    let interval = over.and_then(|over| Some((over.mean - over.ci95?, over.mean + over.ci95?)));
    Claim {
        id: judged.id.clone(),
        statement: judged.statement.clone(),
        published: judged.published.clone(),
        ours: judged.ours.clone(),
        interval,
        interval_text: interval.map_or_else(String::new, |(low, high)| {
            format!("{} .. {}", judged.unit.show(low), judged.unit.show(high))
        }),
        status: judged.status.name(),
        reason: judged.reason.clone(),
        checks: judged
            .checks
            .iter()
            .map(|check| sojourn_report::Check {
                check: check.check.clone(),
                status: check.status.name(),
                cases: check.cases,
                held: check.held,
                closest: check.closest.clone(),
                failures: check.failures.clone(),
            })
            .collect(),
    }
}

/// All results of all settings as those of one scenario, the setting a parameter.
fn gather(
    study: &Published,
    outcomes: Vec<Vec<Outcome>>,
) -> (Vec<RunResult>, Vec<String>, ScenarioInfo) {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    let mut axes = vec![Axis {
        field: "setting".into(),
        values: Vec::new(),
    }];
    for (setting, outcomes) in study.settings.iter().zip(outcomes) {
        if outcomes.is_empty() {
            continue;
        }
        axes[0].values.push(setting.name.clone());
        for axis in &setting.study.info.axes {
            let at = axes.iter().position(|known| known.field == axis.field);
            let at = at.unwrap_or_else(|| {
                axes.push(Axis {
                    field: axis.field.clone(),
                    values: Vec::new(),
                });
                axes.len() - 1
            });
            let known = &mut axes[at];
            for value in &axis.values {
                if !known.values.contains(value) {
                    known.values.push(value.clone());
                }
            }
        }
        let (mut good, bad) = split(&setting.study.cells, outcomes);
        for run in &mut good {
            let name = ("setting".to_owned(), setting.name.clone());
            run.params.insert(0, name);
        }
        results.append(&mut good);
        failures.extend(
            bad.into_iter()
                .map(|line| format!("{}: {line}", setting.name)),
        );
    }
    let info = ScenarioInfo {
        name: study.name.clone(),
        title: study.title.clone(),
        description: study.description.clone(),
        version: 1,
        axes,
        source: Some(study.text.clone()),
    };
    (results, failures, info)
}

fn drawings(study: &Published, outcomes: &[Vec<Outcome>]) -> Vec<Drawing> {
    let charts = study.charts(outcomes).into_iter();
    charts
        .map(|chart| Drawing {
            title: chart.title,
            draw: match chart.kind {
                ChartKind::Lines => Draw::Points,
                ChartKind::Distribution | ChartKind::Time => Draw::Lines,
            },
            x_label: chart.x_label,
            y_label: chart.y_label,
            panels: chart
                .panels
                .into_iter()
                .map(|panel| {
                    let strips = panel.lines.into_iter().map(|line| Strip {
                        name: line.name,
                        points: line.points,
                    });
                    (panel.title, strips.collect())
                })
                .collect(),
        })
        .collect()
}

fn sheets(study: &Published, outcomes: &[Vec<Outcome>]) -> Vec<Sheet> {
    let grids = study.grids(outcomes).into_iter();
    grids
        .map(|grid| Sheet {
            title: grid.title,
            columns: grid.columns,
            rows: grid.rows,
        })
        .collect()
}

/// The claims table for a terminal.
fn text(
    study: &Published,
    judged: &[Judgement],
    claims: &[Claim],
    cost: &Cost,
    out: Option<&Path>,
) -> String {
    let mut text = format!("{}: {}\n{}\n\n", study.name, study.title, study.source);
    for claim in claims {
        let _ = writeln!(text, "{:<5} {}", claim.id, claim.statement);
        let _ = writeln!(text, "      published  {}", claim.published);
        let _ = writeln!(text, "      ours       {}", claim.ours);
        if !claim.interval_text.is_empty() {
            let _ = writeln!(text, "      95 %       {}", claim.interval_text);
        }
        let _ = write!(text, "      {}", claim.status);
        if !claim.reason.is_empty() {
            let _ = write!(text, ": {}", claim.reason);
        }
        text += "\n\n";
    }
    let count = |status| judged.iter().filter(|claim| claim.status == status).count();
    let _ = writeln!(
        text,
        "{} claims: {} pass, {} fail, {} known deviations; {} runs in {:.1} s",
        claims.len(),
        count(Status::Pass),
        count(Status::Fail),
        count(Status::Deviation),
        cost.runs,
        cost.wall_s
    );
    if let Some(dir) = out {
        let _ = writeln!(text, "{}", dir.join(sojourn_report::PAGE).display());
    }
    text
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
            setting.study.cells.len().to_string(),
            claim.statement.clone(),
        ]);
    }
    table.show()
}
