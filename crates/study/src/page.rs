//! A study's page: its claims, charts and tables, and the folder around it.
//!
//! A study has many cells, so its page carries pictures that are drawn here, as SVG, and no data;
//! the figures of every run stand in the table and the summary.

use crate::draw::Chart;
use crate::judge::Judged;
use crate::record::{CLAIMS, claim_json};
use crate::reproduced::Reproduced;
use minijinja::value::Serde;
use serde_json::{Value as Json, json};
use sojourn_report::{
    PAGE, ReportError, Runs, SCRIPT, STYLE, packed, programs, render, write_folder,
};
use sojourn_world::{ScenarioInfo, WorldName};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the study's own files, from which the page can be made again.
pub const STUDY: &str = "study";
const OWN_SCRIPT: &str = include_str!("../assets/study.js");
const OWN_STYLE: &str = include_str!("../assets/study.css");
const TEMPLATE: &str = include_str!("../assets/study.html.j2");

/// What is shown of a study that was reproduced.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The page.
    pub html: String,
    /// `claims.json`.
    pub claims: String,
    files: Vec<(String, String)>,
}

impl Pages {
    /// What a folder shows that [`Reproduced::write`] has written.
    ///
    /// # Errors
    /// When its files are missing.
    pub fn read(dir: &Path) -> Result<Self, ReportError> {
        let text = |path: &Path| {
            let text = fs::read_to_string(path);
            text.map_err(ReportError::io("read", path))
        };
        let study = &dir.join(STUDY);
        let mut files = Vec::new();
        for entry in fs::read_dir(study).map_err(ReportError::io("read", study))? {
            let entry = entry.map_err(ReportError::io("read", study))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, text(&entry.path())?));
        }
        files.sort();
        Ok(Self {
            html: text(&dir.join(PAGE))?,
            claims: text(&dir.join(CLAIMS))?,
            files,
        })
    }

    /// Writes the folder that [`Reproduced::write`] writes.
    ///
    /// # Errors
    /// When the file system refuses; the message names the file.
    pub fn write(
        &self,
        dir: &Path,
        info: &ScenarioInfo,
        runs: Runs<'_>,
    ) -> Result<(), ReportError> {
        let more = beside(&self.claims, &self.files);
        write_folder(dir, info, runs, &|| Ok(self.html.clone()), &more)
    }
}

/// The files of the folder beside page, table and summary: the claims, and the study itself.
fn beside<'a>(claims: &'a str, study: &'a [(String, String)]) -> Vec<(PathBuf, &'a str)> {
    let own = study
        .iter()
        .map(|(name, text)| (Path::new(STUDY).join(name), text.as_str()));
    let claims = (PathBuf::from(CLAIMS), claims);
    std::iter::once(claims).chain(own).collect()
}

impl Reproduced<'_> {
    /// Writes the page, the table and the summary of all results, `claims.json` and the study's
    /// own files into `dir`, which is made when it is missing. None of them appears before all are
    /// complete.
    ///
    /// # Errors
    /// When the file system refuses; the message names the file.
    pub fn write(&self, dir: &Path) -> Result<(), ReportError> {
        let (claims, study) = (self.json(), self.study);
        let more = beside(&claims, &study.files);
        write_folder(
            dir,
            &self.info,
            Runs::new(&self.results, &self.rest),
            &|| self.html(),
            &more,
        )
    }

    /// What is shown of it, for who keeps that and the results apart.
    ///
    /// # Errors
    /// When the page cannot be put together.
    pub fn pages(&self) -> Result<Pages, ReportError> {
        Ok(Pages {
            html: self.html()?,
            claims: self.json(),
            files: self.study.files.clone(),
        })
    }

    /// The page alone.
    ///
    /// # Errors
    /// When the page cannot be put together.
    pub fn html(&self) -> Result<String, ReportError> {
        render(TEMPLATE, Serde(self.content()))
    }

    /// What the page says.
    fn content(&self) -> Json {
        let info = &self.info;
        let axes = info
            .axes
            .iter()
            .map(|axis| json!({ "field": axis.field, "values": axis.values }));
        json!({
            "title": info.title,
            "name": info.name,
            "program": programs(&self.results),
            "description": info.description,
            "published": self.study.source,
            "queue": self.study.another_queue(),
            "set": self.study.changes(),
            "worlds": self.worlds.iter().map(|name| self.world(name)).collect::<Json>(),
            "axes": axes.collect::<Json>(),
            "notes": self.failures,
            "references": self.study.references(),
            "claims": self.claims.iter().map(claim).collect::<Json>(),
            "charts": charts(&self.charts),
            "tables": self.tables,
            "source": info.source,
            // The tables of all panels, in the order of the page.
            "data": packed(&self.charts.iter().flat_map(tables).collect()),
            "style": STYLE,
            "own_style": OWN_STYLE,
            "script": format!("{SCRIPT}\n{OWN_SCRIPT}"),
        })
    }

    fn world(&self, world: &WorldName) -> Json {
        json!({
            "name": world.as_str(),
            "runs": self.results.iter().filter(|run| run.world == *world).count(),
            "headline": self.headline(world),
            "answer": self.answer(world),
        })
    }
}

/// As in `claims.json`, with intervals in words.
fn claim(judged: &Judged<'_>) -> Json {
    let mut claim = claim_json(judged);
    for (number, verdict) in judged.verdicts.values().enumerate() {
        claim["worlds"][number]["interval"] = verdict.interval_text().into();
    }
    claim
}

/// What each panel shows as a table.
fn tables(chart: &Chart) -> impl Iterator<Item = Json> {
    (0..chart.panels.len()).map(|number| json!(chart.rows(number)))
}

/// Charts of one panel in pairs, two a row.
fn charts(all: &[Chart]) -> Json {
    let alone = |chart: &Chart| chart.panels.len() == 1 && !chart.is_wide();
    let rows = all.chunk_by(|a, b| alone(a) && alone(b));
    let each = rows.flat_map(|row| {
        let paired = if alone(&row[0]) { row.len() / 2 * 2 } else { 0 };
        let row = row.iter().enumerate();
        row.map(move |(place, one)| chart(one, place < paired))
    });
    each.collect()
}

fn chart(chart: &Chart, half: bool) -> Json {
    let legend = chart.legend().into_iter().map(
        |line| json!({ "id": line.name, "name": line.shown_name(), "key": line.key(chart.kind) }),
    );
    let panels = chart
        .panels
        .iter()
        .enumerate()
        .map(|(number, panel)| json!({ "title": panel.title, "svg": chart.svg(number) }));
    json!({
        "title": chart.title,
        "wide": chart.is_wide(),
        "half": half,
        "legend": legend.collect::<Json>(),
        "panels": panels.collect::<Json>(),
    })
}

#[cfg(test)]
mod tests {
    use super::charts;
    use crate::draw::{Chart, ChartKind, Panel, Scaling};

    fn of_panels(count: usize) -> Chart {
        let panel = Panel {
            title: String::new(),
            lines: Vec::new(),
        };
        Chart {
            title: "t".to_owned(),
            kind: ChartKind::Lines,
            x: Scaling::default(),
            y: Scaling::default(),
            panels: vec![panel; count],
        }
    }

    #[test]
    fn charts_of_one_panel_stand_in_pairs() {
        let half = |panels: &[usize]| -> Vec<bool> {
            let all: Vec<Chart> = panels.iter().map(|count| of_panels(*count)).collect();
            let made = charts(&all);
            let each = made.as_array().expect("a list").iter();
            each.map(|chart| chart["half"] == true).collect()
        };
        assert_eq!(half(&[1, 1, 2, 1]), [true, true, false, false]);
        assert_eq!(half(&[6, 1, 1, 1]), [false, true, true, false]);
        assert!(half(&[]).is_empty());
    }
}
