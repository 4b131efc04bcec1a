//! A card: the measures of all cells, each over its seeds.

use crate::cases::Case;
use crate::measure::{COMMON, Measure};
use serde_json::{Map, Value, json};
use sojourn_report::{OverSeeds, significant};
use sojourn_world::RunResult;
use std::fmt::Write as _;

const FORMAT: &str = "sojourn-card/1";
/// Digits that are shown.
const DIGITS: i32 = 3;

/// The measures of something in its cases, each as mean and 95 % confidence interval over the
/// seeds.
pub struct Card {
    /// What is evaluated, as it was given.
    pub(crate) subject: String,
    pub(crate) world: String,
    pub(crate) seeds: u64,
    pub(crate) rows: Vec<MeasuredCell>,
}

/// One cell of a case.
pub(crate) struct MeasuredCell {
    case: &'static str,
    source: &'static str,
    /// What is swept in the case.
    params: Vec<(String, String)>,
    measures: Vec<(Measure, OverSeeds)>,
    /// How queue delay and goodput go together over the seeds: the ellipse of RFC 7928 section 2.7.
    correlation: Option<f64>,
}

impl MeasuredCell {
    /// Of runs that differ in their seed only.
    pub(crate) fn of(case: &Case, runs: &[RunResult]) -> Self {
        let own = |(field, _): &&(String, String)| !case.places.contains(&field.as_str());
        let measures = COMMON.iter().chain(case.measures).filter_map(|measure| {
            let over = OverSeeds::of(runs.iter().map(measure.of))?;
            Some((*measure, over))
        });
        Self {
            case: case.name,
            source: case.source,
            params: runs[0].params.iter().filter(own).cloned().collect(),
            measures: measures.collect(),
            correlation: correlation(runs.iter().map(|run| {
                let (_, link) = &run.links[0];
                (link.sojourn.mean, run.aggregate.goodput_bps)
            })),
        }
    }

    fn params(&self) -> String {
        let shown = self.params.iter().map(|(field, value)| {
            let field = field.rsplit('.').next().unwrap_or(field);
            format!("{field} {value}")
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    fn json(&self) -> Value {
        let measures = self.measures.iter().map(|(measure, over)| {
            let value = json!({
                "unit": measure.unit, "n": over.n, "mean": over.mean, "sd": over.sd,
                "ci95": over.ci95,
            });
            (measure.name.to_owned(), value)
        });
        let params = self
            .params
            .iter()
            .map(|(field, value)| (field.clone(), json!(value)));
        json!({
            "case": self.case,
            "source": self.source,
            "params": params.collect::<Map<_, _>>(),
            "measures": measures.collect::<Map<_, _>>(),
            "delay_goodput_correlation": self.correlation,
        })
    }
}

/// Pearson's correlation; none where one of both does not vary.
fn correlation(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let pairs: Vec<_> = pairs.collect();
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (xx, yy) = (
        sum(&|pair| (pair.0 - x) * (pair.0 - x)),
        sum(&|pair| (pair.1 - y) * (pair.1 - y)),
    );
    let xy = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let r = xy / (xx * yy).sqrt();
    r.is_finite().then_some(r)
}

/// A value with its interval.
fn shown(over: OverSeeds) -> String {
    let mean = significant(over.mean, DIGITS);
    match over.ci95 {
        Some(ci95) if ci95 > 0.0 => format!("{mean} ± {}", significant(ci95, 2)),
        _ => mean,
    }
}

impl Card {
    /// For a table: case, what is swept in it, measure, value with its interval, and unit. What all
    /// lines of a cell have in common is in the first of them only.
    pub fn lines(&self) -> impl Iterator<Item = [String; 5]> {
        self.rows.iter().flat_map(|cell| {
            let rows = cell.measures.iter().enumerate();
            rows.map(|(index, (measure, over))| {
                // What all rows of a cell have in common stands in the first.
                let first = |text: &str| {
                    if index == 0 {
                        text.to_owned()
                    } else {
                        String::new()
                    }
                };
                [
                    first(cell.case),
                    first(&cell.params()),
                    measure.name.to_owned(),
                    shown(*over),
                    measure.unit.to_owned(),
                ]
            })
        })
    }

    /// What was evaluated, where, with how many seeds, in one line.
    pub fn title(&self) -> String {
        let (subject, world, seeds) = (&self.subject, &self.world, self.seeds);
        format!("{subject} in the world {world}, {seeds} seeds: mean ± 95 % confidence interval")
    }

    /// `card.json`.
    pub fn json(&self) -> String {
        let cells: Vec<_> = self.rows.iter().map(MeasuredCell::json).collect();
        let card = json!({
            "format": FORMAT,
            "subject": self.subject,
            "world": self.world,
            "seeds": self.seeds,
            "cells": cells,
        });
        format!("{card:#}\n")
    }

    /// `card.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title());
        for cell in &self.rows {
            let (params, case) = (cell.params(), cell.case);
            let with = if params.is_empty() {
                params
            } else {
                format!(", {params}")
            };
            let source = cell.source;
            let _ = write!(
                text,
                "\n## {case}{with}\n\n{source}; [page]({case}/report.html)\n\n\
                 | measure | value | unit |\n| --- | ---: | --- |\n"
            );
            for (measure, over) in &cell.measures {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} |",
                    measure.name,
                    shown(*over),
                    measure.unit
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correlation_is_pearsons() {
        // By hand: deviations (-1, 0, 1) and (-1, 1, 0) have a sum of products of 1 over 2.
        let pairs = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)];
        let r = correlation(pairs.into_iter()).expect("both vary");
        assert!((r - 0.5).abs() < 1e-12, "{r}");
        assert_eq!(correlation([(1.0, 1.0), (1.0, 2.0)].into_iter()), None);
    }
}
