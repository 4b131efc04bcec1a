//! A published study's results: its claims, charts and tables on a page of their own, and
//! `claims.json`.
//!
//! A study has many cells, so its page carries pictures that are drawn here, as SVG, and no data;
//! the figures of every run stand in the table and the summary.

mod svg;

use crate::error::ReportError;
use crate::files::Pending;
use crate::{PAGE, SUMMARY, TABLE, html, summary_json, write_table};
use minijinja::{AutoEscape, Environment, Value as PageValue, context};
use serde_json::{Map, Value, json};
use sojourn_world::{RunResult, ScenarioInfo};
use std::io::Write;
use std::path::Path;

pub use svg::{Draw, Drawing, Strip};

/// The claims' file name.
pub const CLAIMS: &str = "claims.json";
/// The format of `claims.json`.
pub const CLAIMS_FORMAT: &str = "sojourn-claims/1";
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
    /// Our values.
    pub ours: String,
    /// 95 % confidence interval of the mean over seeds of the deciding value; none for one seed.
    pub interval: Option<(f64, f64)>,
    /// The same with its unit; empty when there is none.
    pub interval_text: String,
    /// `pass`, `fail` or `deviation`.
    pub status: &'static str,
    /// Why it deviates.
    pub reason: String,
    /// Its checks.
    pub checks: Vec<Check>,
}

/// A check of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// As it was written.
    pub check: String,
    /// `pass`, `fail` or `deviation`.
    pub status: &'static str,
    /// Number of combinations.
    pub cases: usize,
    /// Those in which it holds.
    pub held: usize,
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
    /// Sentences for the reader.
    pub notes: &'a [String],
}

/// `claims.json`, format `sojourn-claims/1`, with a newline at its end.
pub fn claims_json(study: &str, claims: &[Claim], cost: &[(&str, f64)]) -> String {
    let claims: Vec<Value> = claims
        .iter()
        .map(|claim| {
            let checks = claim.checks.iter().map(|check| {
                json!({
                    "check": check.check,
                    "status": check.status,
                    "cases": check.cases,
                    "held": check.held,
                    "closest": check.closest,
                    "failures": check.failures,
                })
            });
            json!({
                "id": claim.id,
                "statement": claim.statement,
                "published": claim.published,
                "ours": claim.ours,
                "interval": claim.interval.map(|(low, high)| [low, high]),
                "status": claim.status,
                "reason": claim.reason,
                "checks": checks.collect::<Vec<_>>(),
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
    let document = json!({
        "format": CLAIMS_FORMAT,
        "study": study,
        "claims": claims,
        "cost": cost,
    });
    let mut text = serde_json::to_string_pretty(&document).expect("JSON values always serialise");
    text.push('\n');
    text
}

/// Writes a study's page, the table and the summary of `results`, and `claims` as they are, into
/// `dir`, which is made when it is missing. None of them appears before all are complete.
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
    let text = |name: &str, text: &str| {
        Pending::write(dir, name, |file| {
            let written = file.write_all(text.as_bytes());
            written.map_err(ReportError::io("write", &dir.join(name)))
        })
    };
    let files = [
        text(PAGE, &study_html(page, results)?)?,
        Pending::write(dir, TABLE, |file| write_table(file, page.info, results))?,
        text(SUMMARY, &summary_json(page.info, results))?,
        text(CLAIMS, claims)?,
    ];
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
    let count = |status: &str| page.claims.iter().filter(|c| c.status == status).count();
    let html = environment.get_template("study.html")?.render(context! {
        title => page.info.title.clone(),
        name => page.info.name.clone(),
        description => page.info.description.clone(),
        published => page.source,
        runs => results.len(),
        axes => page.info.axes.iter().map(|axis| context! {
            field => axis.field.clone(),
            values => axis.values.clone(),
        }).collect::<Vec<_>>(),
        notes => page.notes.to_vec(),
        pass => count("pass"),
        fail => count("fail"),
        deviation => count("deviation"),
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
        ours => claim.ours.clone(),
        interval => claim.interval_text.clone(),
        status => claim.status,
        reason => claim.reason.clone(),
        checks => claim.checks.iter().map(|check| context! {
            check => check.check.clone(),
            status => check.status,
            held => check.held,
            cases => check.cases,
            failures => check.failures.clone(),
        }).collect::<Vec<_>>(),
    }
}

fn chart(drawing: &Drawing) -> PageValue {
    let names: Vec<&String> = drawing
        .panels
        .first()
        .into_iter()
        .flat_map(|(_, strips)| strips.iter().map(|strip| &strip.name))
        .collect();
    context! {
        title => drawing.title.clone(),
        legend => names.iter().enumerate().map(|(i, name)| context! {
            name => (*name).clone(),
            colour => i % 8,
        }).collect::<Vec<_>>(),
        panels => drawing.panels.iter().enumerate().map(|(i, (title, _))| context! {
            title => title.clone(),
            svg => drawing.svg(i),
        }).collect::<Vec<_>>(),
    }
}
