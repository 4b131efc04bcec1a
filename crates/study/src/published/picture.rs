//! A study's charts and tables, from our results.

use super::Published;
use crate::claims::{Binder, Cells, Evaluator, Expr, Place, Unit};
use crate::runner::Outcome;
use sojourn_world::{RunResult, Series};

/// What a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// A quantity along an axis; the median over seeds and its range.
    Lines,
    /// Cumulative distributions of the sojourn time, of the first seed.
    Distribution,
    /// A series over time, of the first seed.
    Time,
}

/// How a chart is made.
#[derive(Clone, Debug)]
pub(crate) struct ChartPlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) kind: ChartKind,
    pub(crate) panels: Option<Binder>,
    pub(crate) lines: Binder,
    /// Along the axis, of [`ChartKind::Lines`].
    pub(crate) x: Option<Binder>,
    pub(crate) y: Option<Expr>,
    /// Metric of the series, and the flow or link it is of.
    pub(crate) series: Option<(String, String)>,
    pub(crate) label: String,
}

/// How a table is made.
#[derive(Clone, Debug)]
pub(crate) struct GridPlan {
    pub(crate) title: String,
    pub(crate) setting: usize,
    pub(crate) rows: Binder,
    pub(crate) columns: Binder,
    pub(crate) value: Expr,
}

/// A chart: small panels of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub kind: ChartKind,
    /// What stands along the horizontal axis.
    pub x_label: String,
    /// What stands along the vertical axis.
    pub y_label: String,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading; empty when there is one panel only.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// Points: x, y, and the lowest and highest of the seeds.
    pub points: Vec<[f64; 4]>,
}

/// A table: medians over the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Its heading.
    pub title: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Heading and values of each row.
    pub rows: Vec<(String, Vec<String>)>,
}

fn places(binder: Option<&Binder>) -> Vec<Place> {
    match binder {
        None => vec![Place::new()],
        Some(binder) => binder
            .values
            .iter()
            .map(|value| vec![(binder.axis, *value)])
            .collect(),
    }
}

impl Published {
    fn value_name(&self, place: &Place) -> String {
        let name = |(axis, value): &(usize, usize)| &self.words.axes[*axis].values[*value].name;
        place.first().map(name).cloned().unwrap_or_default()
    }

    /// The charts of all settings that were run; `outcomes` as for [`Published::judge`].
    pub fn charts(&self, outcomes: &[Vec<Outcome>]) -> Vec<Chart> {
        let plans = self.charts.iter();
        plans
            .filter(|plan| !outcomes[plan.setting].is_empty())
            .map(|plan| {
                let study = &self.settings[plan.setting].study;
                let cells = Cells::new(&study.cells, &outcomes[plan.setting]);
                self.chart(plan, &mut Evaluator::new(&self.words, &cells))
            })
            .collect()
    }

    /// The tables of all settings that were run.
    pub fn grids(&self, outcomes: &[Vec<Outcome>]) -> Vec<Grid> {
        let plans = self.grids.iter();
        plans
            .filter(|plan| !outcomes[plan.setting].is_empty())
            .map(|plan| {
                let study = &self.settings[plan.setting].study;
                let cells = Cells::new(&study.cells, &outcomes[plan.setting]);
                self.grid(plan, &mut Evaluator::new(&self.words, &cells))
            })
            .collect()
    }

    fn chart(&self, plan: &ChartPlan, evaluator: &mut Evaluator<'_>) -> Chart {
        let mut panels = Vec::new();
        for panel in places(plan.panels.as_ref()) {
            let mut lines = Vec::new();
            for line in places(Some(&plan.lines)) {
                let place: Place = panel.iter().chain(&line).copied().collect();
                lines.push(Line {
                    name: self.value_name(&line),
                    points: self.points(plan, &place, evaluator),
                });
            }
            panels.push(Panel {
                title: self.value_name(&panel),
                lines,
            });
        }
        let x_label = match plan.kind {
            ChartKind::Lines => plan
                .x
                .as_ref()
                .map_or_else(String::new, |x| self.words.axes[x.axis].name.clone()),
            ChartKind::Distribution => "queueing delay, ms".into(),
            ChartKind::Time => "s".into(),
        };
        Chart {
            title: plan.title.clone(),
            kind: plan.kind,
            x_label,
            y_label: plan.label.clone(),
            panels,
        }
    }

    fn points(
        &self,
        plan: &ChartPlan,
        place: &Place,
        evaluator: &mut Evaluator<'_>,
    ) -> Vec<[f64; 4]> {
        let run = || evaluator.runs(place).ok()?.first().copied();
        match plan.kind {
            ChartKind::Lines => self.along(plan, place, evaluator),
            ChartKind::Distribution => run().map_or_else(Vec::new, |run| {
                let links = run.links.iter();
                let link = links.filter(|(name, _)| *name == self.words.link);
                let cdf = link.flat_map(|(_, link)| &link.sojourn.cdf);
                cdf.map(|(ms, share)| [*ms, *share, *share, *share])
                    .collect()
            }),
            ChartKind::Time => match (run(), &plan.series) {
                (Some(run), Some((metric, of))) => series(run, metric, of),
                _ => Vec::new(),
            },
        }
    }

    fn along(
        &self,
        plan: &ChartPlan,
        place: &Place,
        evaluator: &mut Evaluator<'_>,
    ) -> Vec<[f64; 4]> {
        let (Some(x), Some(y)) = (&plan.x, &plan.y) else {
            return Vec::new();
        };
        let mut points = Vec::new();
        for (number, at) in places(Some(x)).into_iter().enumerate() {
            let name = self.value_name(&at);
            let place: Place = place.iter().chain(&at).copied().collect();
            let Ok(quantity) = evaluator.quantity_at(&place, y) else {
                continue;
            };
            let scale = if quantity.unit == Unit::Share {
                100.0
            } else {
                1.0
            };
            let seeds = || quantity.seeds.iter().map(|v| v * scale);
            if quantity.median.is_finite() {
                points.push([
                    name.parse().unwrap_or(number as f64),
                    quantity.median * scale,
                    seeds().fold(f64::INFINITY, f64::min),
                    seeds().fold(f64::NEG_INFINITY, f64::max),
                ]);
            }
        }
        points
    }

    fn grid(&self, plan: &GridPlan, evaluator: &mut Evaluator<'_>) -> Grid {
        let columns = places(Some(&plan.columns));
        let rows = places(Some(&plan.rows)).into_iter().map(|row| {
            let values = columns.iter().map(|column| {
                let place: Place = row.iter().chain(column).copied().collect();
                let value = evaluator.quantity_at(&place, &plan.value);
                value.map_or_else(|_| "–".into(), |q| q.unit.show(q.median))
            });
            (self.value_name(&row), values.collect())
        });
        Grid {
            title: plan.title.clone(),
            rows: rows.collect(),
            columns: columns.iter().map(|place| self.value_name(place)).collect(),
        }
    }
}

/// A series of a flow or a link by its name.
fn series(run: &RunResult, metric: &str, of: &str) -> Vec<[f64; 4]> {
    let flow = run.flows.iter().find(|(name, _)| name == of);
    let link = run.links.iter().find(|(name, _)| name == of);
    let lists = [
        flow.map(|(_, flow)| &flow.series),
        link.map(|(_, link)| &link.series),
    ];
    let mut all = lists.into_iter().flatten().flatten();
    let found = all.find(|series: &&Series| series.metric == metric);
    found.map_or_else(Vec::new, |series| {
        let points = series.points.iter().filter(|p| p.value.is_finite());
        points.map(|p| [p.t, p.value, p.value, p.value]).collect()
    })
}
