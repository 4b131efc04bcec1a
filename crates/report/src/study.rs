//! A published study's results: its claims, charts and tables on a page of their own, and
//! `claims.json`.
//!
//! A study has many cells, so its page carries pictures that are drawn here, as SVG, and no data;
//! the figures of every run stand in the table and the summary.

mod again;
mod svg;

use crate::error::ReportError;
use crate::files::Pending;
use crate::{PAGE, SUMMARY, TABLE, html, labels, summary_json, write_table};
use minijinja::{AutoEscape, Environment, Value as PageValue, context};
use serde_json::{Map, Value, json};
use sojourn_world::{RunResult, ScenarioInfo};
use std::io::Write;
use std::path::Path;

pub use again::{Reproduction, reproduction};
pub use svg::{Dot, Draw, Drawing, Scaling, Strip, Stroke};

/// The claims' file name.
pub const CLAIMS: &str = "claims.json";
/// The folder of the study's own files, from which the page can be made again.
pub const STUDY: &str = "study";
/// The format of `claims.json`.
pub const CLAIMS_FORMAT: &str = "sojourn-claims/1";
/// The worlds as they stand in results, and as they are called on the page.
const WORLDS: [(&str, &str); 2] = [("sim", "Simulated"), ("live", "Live")];
const TEMPLATE: &str = include_str!("../assets/study.html.j2");

/// A claim with what we found; all in words, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// What was found.
    pub statement: String,
    /// The published values.
    pub published: String,
    /// What we found in each world, at least one.
    pub verdicts: Vec<Verdict>,
}

/// What we found of a claim in one world.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `sim` or `live`.
    pub world: &'static str,
    /// Our values.
    pub ours: String,
    /// 95 % confidence interval of the mean over seeds of the deciding value; none for one seed.
    pub interval: Option<(f64, f64)>,
    /// The same with its unit; empty when there is none.
    pub interval_text: String,
    /// `pass`, `fail`, `deviation` or `not run`.
    pub status: &'static str,
    /// Why it deviates.
    pub reason: String,
    /// Its checks.
    pub checks: Vec<Check>,
}

impl Claim {
    /// The verdict that decides, the worst of all worlds.
    pub fn decisive(&self) -> &Verdict {
        let rank = |verdict: &&Verdict| {
            let order = ["fail", "deviation", "pass", "not run"];
            order.iter().position(|status| *status == verdict.status)
        };
        let worst = self.verdicts.iter().min_by_key(rank);
        worst.expect("a claim is judged in one world at least")
    }
}

/// A check of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// As it was written.
    pub check: String,
    /// As the claim's.
    pub status: &'static str,
    /// Number of combinations, without those that were not run.
    pub cases: usize,
    /// Those in which it holds.
    pub held: usize,
    /// Combinations whose cells this world does not have.
    pub not_run: usize,
    /// The combination nearest to failing.
    pub closest: String,
    /// Combinations in which it fails.
    pub failures: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Its heading.
    pub title: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Heading and values of each row.
    pub rows: Vec<(String, Vec<String>)>,
}

/// What a study's page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Of all its scenarios together; `source` is the text of `study.toml`.
    pub info: &'a ScenarioInfo,
    /// Where it was published.
    pub source: &'a str,
    /// Its claims.
    pub claims: &'a [Claim],
    /// Its charts.
    pub drawings: &'a [Drawing],
    /// Its tables.
    pub sheets: &'a [Sheet],
    /// What was measured elsewhere: name and provenance.
    pub references: &'a [(String, String)],
    /// Sentences for the reader.
    pub notes: &'a [String],
    /// Names and texts of the study's files, to be kept beside the results.
    pub files: &'a [(String, String)],
}

/// `claims.json`, format `sojourn-claims/1`, with a newline at its end.
///
/// `notes` are sentences for the page's reader, kept for when it is made again; the `results` say
/// which program they are of.
pub fn claims_json(
    study: &str,
    claims: &[Claim],
    cost: &[(&str, f64)],
    notes: &[String],
    results: &[RunResult],
) -> String {
    let claims: Vec<Value> = claims
        .iter()
        .map(|claim| {
            let decisive = claim.decisive();
            let worlds: Vec<Value> = claim.verdicts.iter().map(verdict_json).collect();
            json!({
                "id": claim.id,
                "statement": claim.statement,
                "published": claim.published,
                "ours": decisive.ours,
                "interval": decisive.interval.map(|(low, high)| [low, high]),
                "status": decisive.status,
                "reason": decisive.reason,
                "worlds": worlds,
            })
        })
        .collect();
    let cost: Map<String, Value> = cost
        .iter()
        .map(|(name, value)| {
            let whole = value.fract() == 0.0 && value.abs() < 1e15;
            let value = if whole {
                json!(*value as i64)
            } else {
                json!(value)
            };
            ((*name).to_owned(), value)
        })
        .collect();
    let mut document = json!({
        "format": CLAIMS_FORMAT,
        "study": study,
        "claims": claims,
        "cost": cost,
        "notes": notes,
    });
    if let Some(program) = labels::programs(results) {
        document["program"] = json!(program);
    }
    let mut text = serde_json::to_string_pretty(&document).expect("JSON values always serialise");
    text.push('\n');
    text
}

fn verdict_json(verdict: &Verdict) -> Value {
    let checks = verdict.checks.iter().map(|check| {
        json!({
            "check": check.check,
            "status": check.status,
            "cases": check.cases,
            "held": check.held,
            "not_run": check.not_run,
            "closest": check.closest,
            "failures": check.failures,
        })
    });
    json!({
        "world": verdict.world,
        "ours": verdict.ours,
        "interval": verdict.interval.map(|(low, high)| [low, high]),
        "status": verdict.status,
        "reason": verdict.reason,
        "checks": checks.collect::<Vec<_>>(),
    })
}

/// Writes a study's page, the table and the summary of `results`, `claims` as they are, and the
/// study's own files into `dir`, which is made when it is missing. None of them appears before all
/// are complete.
///
/// # Errors
/// When the file system refuses; the message names the file.
pub fn write_study(
    dir: &Path,
    page: &Page<'_>,
    results: &[RunResult],
    claims: &str,
) -> Result<(), ReportError> {
    std::fs::create_dir_all(dir).map_err(ReportError::io("make the folder", dir))?;
    let text = |dir: &Path, name: &str, text: &str| {
        Pending::write(dir, name, |file| {
            let written = file.write_all(text.as_bytes());
            written.map_err(ReportError::io("write", &dir.join(name)))
        })
    };
    // The table takes as long as all else together.
    let (table, rest) = std::thread::scope(|scope| {
        let table = || Pending::write(dir, TABLE, |file| write_table(file, page.info, results));
        let table = scope.spawn(table);
        let rest = || -> Result<_, ReportError> {
            Ok([
                text(dir, PAGE, &study_html(page, results)?)?,
                text(dir, SUMMARY, &summary_json(page.info, results))?,
                text(dir, CLAIMS, claims)?,
            ])
        };
        let rest = rest();
        (table.join(), rest)
    });
    let table = table.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let mut files = vec![table?];
    files.extend(rest?);
    let own = dir.join(STUDY);
    for (name, content) in page.files {
        let place = own.join(name);
        let folder = place.parent().unwrap_or(&own);
        std::fs::create_dir_all(folder).map_err(ReportError::io("make the folder", folder))?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        files.push(text(folder, &name, content)?);
    }
    files.into_iter().try_for_each(Pending::keep)
}

/// The page alone.
///
/// # Errors
/// When the page cannot be put together.
pub fn study_html(page: &Page<'_>, results: &[RunResult]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("study.html", TEMPLATE)?;
    let verdicts = || page.claims.iter().flat_map(|claim| &claim.verdicts);
    let worlds = WORLDS
        .iter()
        .filter(|(world, _)| verdicts().any(|v| v.world == *world));
    let worlds: Vec<PageValue> = worlds
        .map(|(world, name)| {
            let count = |status: &str| {
                let of = verdicts().filter(|v| v.world == *world);
                of.filter(|v| v.status == status).count()
            };
            context! {
                name => *name,
                runs => results.iter().filter(|run| run.world.as_str() == *world).count(),
                pass => count("pass"),
                fail => count("fail"),
                deviation => count("deviation"),
                not_run => count("not run"),
            }
        })
        .collect();
    let html = environment.get_template("study.html")?.render(context! {
        title => page.info.title.clone(),
        name => page.info.name.clone(),
        program => labels::programs(results),
        description => page.info.description.clone(),
        published => page.source,
        worlds => worlds,
        axes => page.info.axes.iter().map(|axis| context! {
            field => axis.field.clone(),
            values => axis.values.clone(),
        }).collect::<Vec<_>>(),
        notes => page.notes.to_vec(),
        references => page.references.iter().map(|(name, source)| context! {
            name => name.clone(),
            source => source.clone(),
        }).collect::<Vec<_>>(),
        claims => page.claims.iter().map(claim).collect::<Vec<_>>(),
        charts => page.drawings.iter().map(chart).collect::<Vec<_>>(),
        sheets => page.sheets.iter().map(|sheet| context! {
            title => sheet.title.clone(),
            columns => sheet.columns.clone(),
            rows => sheet.rows.iter().map(|(name, values)| context! {
                name => name.clone(),
                values => values.clone(),
            }).collect::<Vec<_>>(),
        }).collect::<Vec<_>>(),
        source => page.info.source.clone(),
        style => html::STYLE,
    })?;
    Ok(html)
}

fn claim(claim: &Claim) -> PageValue {
    context! {
        id => claim.id.clone(),
        statement => claim.statement.clone(),
        published => claim.published.clone(),
        verdicts => claim.verdicts.iter().map(verdict).collect::<Vec<_>>(),
    }
}

fn verdict(verdict: &Verdict) -> PageValue {
    context! {
        ours => verdict.ours.clone(),
        interval => verdict.interval_text.clone(),
        status => verdict.status,
        class => verdict.status.replace(' ', "-"),
        reason => verdict.reason.clone(),
        checks => verdict.checks.iter().map(|check| context! {
            check => check.check.clone(),
            status => check.status,
            class => check.status.replace(' ', "-"),
            held => check.held,
            cases => check.cases,
            not_run => check.not_run,
            failures => check.failures.clone(),
        }).collect::<Vec<_>>(),
    }
}

fn chart(drawing: &Drawing) -> PageValue {
    context! {
        title => drawing.title.clone(),
        wide => drawing.is_wide(),
        legend => drawing.legend().into_iter().map(|strip| context! {
            // Ours has no name where only the reference stands beside it.
            name => if strip.name.is_empty() { "ours" } else { &strip.name },
            key => strip.key(drawing.draw),
        }).collect::<Vec<_>>(),
        panels => drawing.panels.iter().enumerate().map(|(i, (title, _))| context! {
            title => title.clone(),
            svg => drawing.svg(i),
        }).collect::<Vec<_>>(),
    }
}
