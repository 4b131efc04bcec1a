//! A study's results as the report shows them.

use crate::run::split;
use sojourn_report::{
    Claim, Dot, Draw, Drawing, OverSeeds, Page, Scaling, Sheet, Strip, Stroke, Verdict,
};
use sojourn_study::{ChartKind, Judgement, Published, Results, Source, Status, WorldName};
use sojourn_world::{Axis, RunResult, ScenarioInfo};
use std::fmt::Write as _;
use std::path::Path;

/// A study's results, held against its claims.
pub(crate) struct Reproduced {
    pub(crate) claims: Vec<Claim>,
    pub(crate) json: String,
    pub(crate) results: Vec<RunResult>,
    /// A sentence for each run without a result.
    pub(crate) failures: Vec<String>,
    source: String,
    files: Vec<(String, String)>,
    info: ScenarioInfo,
    references: Vec<(String, String)>,
    drawings: Vec<Drawing>,
    sheets: Vec<Sheet>,
}

impl Reproduced {
    /// Of results that are read back, `notes` are what was said of the runs without a result.
    pub(crate) fn new(
        study: &Published,
        chosen: &[usize],
        worlds: Vec<Results>,
        cost: &[(&str, f64)],
        notes: Option<Vec<String>>,
    ) -> Self {
        let claims = claims(study, chosen, &worlds);
        let (drawings, sheets) = (drawings(study, &worlds), sheets(study, &worlds));
        let (results, failures, info) = gather(study, worlds);
        let failures = notes.unwrap_or(failures);
        let json = sojourn_report::claims_json(&study.name, &claims, cost, &failures, &results);
        Self {
            claims,
            json,
            results,
            failures,
            source: study.source.clone(),
            files: study.files.clone(),
            info,
            references: study
                .references()
                .into_iter()
                .map(|r| (r.name, r.source))
                .collect(),
            drawings,
            sheets,
        }
    }

    pub(crate) fn page(&self) -> Page<'_> {
        Page {
            info: &self.info,
            source: &self.source,
            claims: &self.claims,
            drawings: &self.drawings,
            sheets: &self.sheets,
            references: &self.references,
            notes: &self.failures,
            files: &self.files,
        }
    }

    /// The claims for a terminal.
    pub(crate) fn text(&self, worlds: &[WorldName]) -> String {
        let mut text = format!(
            "{}: {}\n{}\n\n",
            self.info.name, self.info.title, self.source
        );
        for claim in &self.claims {
            let _ = writeln!(text, "{:<5} {}", claim.id, claim.statement);
            let _ = writeln!(text, "      published  {}", claim.published);
            for verdict in &claim.verdicts {
                if worlds.len() > 1 {
                    let _ = writeln!(text, "      {}", verdict.world);
                }
                if !verdict.ours.is_empty() {
                    let _ = writeln!(text, "      ours       {}", verdict.ours);
                }
                if !verdict.interval_text.is_empty() {
                    let _ = writeln!(text, "      95 %       {}", verdict.interval_text);
                }
                let _ = write!(text, "      {}", verdict.status);
                if !verdict.reason.is_empty() {
                    let _ = write!(text, ": {}", verdict.reason);
                }
                text.push('\n');
            }
            text.push('\n');
        }
        for world in worlds {
            let count = |status: Status| self.count(*world, status.name());
            let _ = write!(
                text,
                "{}: {} claims: {} pass, {} fail, {} known deviations",
                world.name(),
                self.claims.len(),
                count(Status::Pass),
                count(Status::Fail),
                count(Status::Deviation),
            );
            match count(Status::NotRun) {
                0 => text.push('\n'),
                n => _ = writeln!(text, ", {n} not run"),
            }
        }
        text
    }

    /// How many claims came out so in a world.
    pub(crate) fn count(&self, world: WorldName, status: &str) -> usize {
        let verdicts = self.claims.iter().flat_map(|claim| &claim.verdicts);
        let of_world = verdicts.filter(|verdict| verdict.world == world.name());
        of_world.filter(|verdict| verdict.status == status).count()
    }
}

/// Where the page was written, on a line.
pub(crate) fn place(out: Option<&Path>) -> String {
    out.map_or_else(String::new, |dir| {
        format!("{}\n", dir.join(sojourn_report::PAGE).display())
    })
}

fn claims(study: &Published, chosen: &[usize], worlds: &[Results]) -> Vec<Claim> {
    let judged: Vec<Vec<Judgement>> = worlds
        .iter()
        .map(|results| study.judge(chosen, results))
        .collect();
    let claims = chosen.iter().enumerate();
    claims
        .map(|(number, index)| {
            let claim = &study.claims[*index];
            let of_world = worlds.iter().zip(&judged);
            Claim {
                id: claim.id.clone(),
                statement: claim.statement.clone(),
                published: claim.published.clone(),
                verdicts: of_world
                    .map(|(results, judged)| verdict(results.world, &judged[number]))
                    .collect(),
            }
        })
        .collect()
}

fn verdict(world: WorldName, judged: &Judgement) -> Verdict {
    let over = OverSeeds::of(judged.seeds.iter().copied());
    let interval = over.and_then(|over| Some((over.mean - over.ci95?, over.mean + over.ci95?)));
    Verdict {
        world: world.name(),
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
                not_run: check.not_run,
                closest: check.closest.clone(),
                failures: check.failures.clone(),
            })
            .collect(),
    }
}

/// All results of all settings and worlds as those of one scenario, the setting a parameter.
fn gather(study: &Published, worlds: Vec<Results>) -> (Vec<RunResult>, Vec<String>, ScenarioInfo) {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    let mut axes = vec![Axis {
        field: "setting".into(),
        values: Vec::new(),
    }];
    for world in worlds {
        for (setting, outcomes) in study.settings.iter().zip(world.outcomes) {
            let Some(scenario) = setting
                .in_world(world.world)
                .filter(|_| !outcomes.is_empty())
            else {
                continue;
            };
            join(&mut axes, "setting", std::slice::from_ref(&setting.name));
            for axis in &scenario.info.axes {
                join(&mut axes, &axis.field, &axis.values);
            }
            let (mut good, bad) = split(&scenario.cells, outcomes);
            for run in &mut good {
                let name = ("setting".to_owned(), setting.name.clone());
                run.params.insert(0, name);
            }
            results.append(&mut good);
            let name = (&setting.name, world.world.name());
            failures.extend(
                bad.into_iter()
                    .map(|line| format!("{} ({}): {line}", name.0, name.1)),
            );
        }
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

/// Adds values to an axis, which is made when there is none.
fn join(axes: &mut Vec<Axis>, field: &str, values: &[String]) {
    let at = axes.iter().position(|known| known.field == field);
    let at = at.unwrap_or_else(|| {
        axes.push(Axis {
            field: field.to_owned(),
            values: Vec::new(),
        });
        axes.len() - 1
    });
    for value in values {
        if !axes[at].values.contains(value) {
            axes[at].values.push(value.clone());
        }
    }
}

fn drawings(study: &Published, worlds: &[Results]) -> Vec<Drawing> {
    let simulated = worlds.iter().any(|world| world.world == WorldName::Sim);
    let strip = |line: sojourn_study::Line| {
        let (suffix, stroke) = match line.from {
            Source::Live if simulated => ("live", Stroke::Dashed),
            Source::Sim | Source::Live => ("", Stroke::Solid),
            Source::Reference => ("reference", Stroke::Dotted),
        };
        let parts = [line.name.as_str(), suffix];
        Strip {
            name: parts.join(", ").trim_matches([',', ' ']).to_owned(),
            colour: line.colour,
            stroke,
            points: line.points.into_iter().map(dot).collect(),
        }
    };
    let charts = study.charts(worlds).into_iter();
    charts
        .map(|chart| Drawing {
            title: chart.title,
            draw: match chart.kind {
                ChartKind::Lines => Draw::Points,
                ChartKind::Bars => Draw::Bars,
                ChartKind::Boxes => Draw::Boxes,
                ChartKind::Scatter => Draw::Scatter,
                ChartKind::Map => Draw::Map,
                ChartKind::Distribution => Draw::Distribution,
                ChartKind::Time => Draw::Lines,
            },
            x: Scaling {
                label: chart.x_label,
                names: chart.x_names,
                log: chart.log.x,
            },
            y: Scaling {
                label: chart.y_label,
                names: chart.y_names,
                log: chart.log.y,
            },
            panels: chart
                .panels
                .into_iter()
                .map(|panel| (panel.title, panel.lines.into_iter().map(strip).collect()))
                .collect(),
        })
        .collect()
}

fn dot(dot: sojourn_study::Dot) -> Dot {
    Dot {
        x: dot.x,
        y: dot.y,
        x_range: dot.x_range,
        y_range: dot.y_range,
        inner: dot.inner,
        text: dot.text,
    }
}

fn sheets(study: &Published, worlds: &[Results]) -> Vec<Sheet> {
    let grids = study.grids(worlds).into_iter();
    grids
        .map(|grid| Sheet {
            title: grid.title,
            columns: grid.columns,
            rows: grid.rows,
        })
        .collect()
}
