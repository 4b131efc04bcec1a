//! A study's page: its claims, charts and tables, and the folder around it.
//!
//! A study has many cells, so its page carries pictures that are drawn here, as SVG, and no data;
//! the figures of every run stand in the table and the summary.

use crate::draw::Chart;
use crate::judge::{Judged, Status, Verdict};
use crate::record::CLAIMS;
use crate::reproduced::Reproduced;
use minijinja::{AutoEscape, Environment, Value, context};
use sojourn_report::{ReportError, STYLE, programs, write_folder};
use sojourn_world::WorldName;
use std::path::{Path, PathBuf};

/// The folder of the study's own files, from which the page can be made again.
pub const STUDY: &str = "study";
const TEMPLATE: &str = include_str!("../assets/study.html.j2");

impl Reproduced<'_> {
    /// Writes the page, the table and the summary of all results, `claims.json` and the study's
    /// own files into `dir`, which is made when it is missing. None of them appears before all are
    /// complete.
    ///
    /// # Errors
    /// When the file system refuses; the message names the file.
    pub fn write(&self, dir: &Path) -> Result<(), ReportError> {
        let claims = self.json();
        let own = self.study.files.iter();
        let own = own.map(|(name, text)| (Path::new(STUDY).join(name), text.as_str()));
        let mut more = vec![(PathBuf::from(CLAIMS), claims.as_str())];
        more.extend(own);
        write_folder(dir, &self.info, &self.results, &|| self.html(), &more)
    }

    /// The page alone.
    ///
    /// # Errors
    /// When the page cannot be put together.
    pub fn html(&self) -> Result<String, ReportError> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_template("study.html", TEMPLATE)?;
        let html = environment.get_template("study.html")?.render(context! {
            title => self.info.title.clone(),
            name => self.info.name.clone(),
            program => programs(&self.results),
            description => self.info.description.clone(),
            published => self.study.source.clone(),
            worlds => self.worlds.iter().map(|name| self.world(name)).collect::<Vec<_>>(),
            axes => self.info.axes.iter().map(|axis| context! {
                field => axis.field.clone(),
                values => axis.values.clone(),
            }).collect::<Vec<_>>(),
            notes => self.failures.clone(),
            references => self.study.references().into_iter().map(|reference| context! {
                name => reference.name,
                source => reference.source,
            }).collect::<Vec<_>>(),
            claims => self.claims.iter().map(claim).collect::<Vec<_>>(),
            charts => self.charts.iter().map(chart).collect::<Vec<_>>(),
            tables => self.tables.iter().map(|table| context! {
                title => table.title.clone(),
                columns => table.columns.clone(),
                rows => table.rows.iter().map(|(name, values)| context! {
                    name => name.clone(),
                    values => values.clone(),
                }).collect::<Vec<_>>(),
            }).collect::<Vec<_>>(),
            source => self.info.source.clone(),
            style => STYLE,
        })?;
        Ok(html)
    }

    fn world(&self, world: &WorldName) -> Value {
        context! {
            name => world.as_str(),
            runs => self.results.iter().filter(|run| run.world == *world).count(),
            pass => self.count(world, Status::Pass),
            fail => self.count(world, Status::Fail),
            deviation => self.count(world, Status::Deviation),
            not_run => self.count(world, Status::NotRun),
        }
    }
}

fn claim(judged: &Judged<'_>) -> Value {
    context! {
        id => judged.claim.id.clone(),
        statement => judged.claim.statement.clone(),
        published => judged.claim.published.clone(),
        verdicts => judged.verdicts.values().map(verdict).collect::<Vec<_>>(),
    }
}

fn verdict(verdict: &Verdict) -> Value {
    context! {
        ours => verdict.ours.clone(),
        interval => verdict.interval_text(),
        status => verdict.status.name(),
        class => class(verdict.status),
        reason => verdict.reason.clone(),
        checks => verdict.checks.iter().map(|check| context! {
            check => check.check.clone(),
            status => check.status.name(),
            class => class(check.status),
            held => check.held,
            cases => check.cases,
            not_run => check.not_run,
            failures => check.failures.clone(),
        }).collect::<Vec<_>>(),
    }
}

/// As the page's style knows it.
fn class(status: Status) -> String {
    status.name().replace(' ', "-")
}

fn chart(chart: &Chart) -> Value {
    context! {
        title => chart.title.clone(),
        wide => chart.is_wide(),
        legend => chart.legend().into_iter().map(|line| context! {
            // Ours has no name where only the reference stands beside it.
            name => if line.name.is_empty() { "ours" } else { &line.name },
            key => line.key(chart.kind),
        }).collect::<Vec<_>>(),
        panels => chart.panels.iter().enumerate().map(|(number, panel)| context! {
            title => panel.title.clone(),
            svg => chart.svg(number),
        }).collect::<Vec<_>>(),
    }
}
