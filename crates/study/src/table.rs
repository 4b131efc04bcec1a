//! Tables from our results.

use crate::claims::{Cells, Evaluator, Expr, Place, Quantity};
use crate::plan::{DifferencePlan, NumberedPlan, TablePlan, ValuesPlan, name, places, rows};
use crate::study::{Outcomes, Study};
use sojourn_units::typeset;
use sojourn_world::{ByWorld, WorldName};

/// A table: medians over the seeds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Heading and values of each row.
    pub rows: Vec<(String, Vec<String>)>,
}

/// A value that there is not.
const NONE: &str = "–";
/// A difference that nobody has explained yet.
const UNEXPLAINED: &str = "not explained";

impl Study {
    /// The tables of all settings that were run. Of several worlds each has its own, but a table of
    /// differences shows all.
    pub fn tables(&self, found: &ByWorld<Outcomes>) -> Vec<Table> {
        let mut tables = Vec::new();
        for plan in &self.tables {
            match plan {
                TablePlan::Values(plan) => tables.extend(self.values(plan, found)),
                TablePlan::Numbered(plan) => tables.extend(self.of_numbers(plan, found)),
                TablePlan::Difference(plan) => tables.extend(self.differences(plan, found)),
            }
        }
        tables
    }

    fn values(&self, plan: &ValuesPlan, found: &ByWorld<Outcomes>) -> Vec<Table> {
        let mut tables = Vec::new();
        for (world, outcomes) in found {
            let Some(cells) = self.cells(plan.setting, world, outcomes) else {
                continue;
            };
            let mut evaluator = Evaluator::new(&self.words, &cells);
            let columns = places(Some(&plan.columns));
            let rows = places(Some(&plan.rows)).into_iter().map(|row| {
                let values = columns.iter().map(|column| {
                    let place: Place = row.iter().chain(column).copied().collect();
                    show(finite(&mut evaluator, &place, &plan.value).as_ref())
                });
                (name(&row, &self.words), values.collect())
            });
            tables.push(Table {
                title: match found.len() {
                    1 => plan.title.clone(),
                    _ => format!("{}, {}", plan.title, world),
                },
                rows: rows.collect(),
                columns: columns
                    .iter()
                    .map(|place| name(place, &self.words))
                    .collect(),
            });
        }
        tables
    }

    /// Each column with that of the reference beside it, if there is one.
    fn of_numbers(&self, plan: &NumberedPlan, found: &ByWorld<Outcomes>) -> Vec<Table> {
        let mut tables = Vec::new();
        for (world, outcomes) in found {
            let Some(cells) = self.cells(plan.setting, world, outcomes) else {
                continue;
            };
            let mut evaluator = Evaluator::new(&self.words, &cells);
            let places = places(Some(&plan.columns));
            let has_reference = plan.rows.iter().any(|(_, reference)| reference.is_some());
            let columns = places
                .iter()
                .flat_map(|place| {
                    let name = name(place, &self.words);
                    let reference = has_reference.then(|| format!("{name}, reference"));
                    std::iter::once(name).chain(reference)
                })
                .collect();
            let rows = plan
                .rows
                .iter()
                .zip(1..)
                .map(|((value, reference), number)| {
                    let values = places.iter().flat_map(|place| {
                        let exprs = std::iter::once(value).chain(reference);
                        let shown =
                            exprs.map(|expr| show(finite(&mut evaluator, place, expr).as_ref()));
                        shown.collect::<Vec<_>>()
                    });
                    (format!("{number}"), values.collect())
                });
            tables.push(Table {
                title: match found.len() {
                    1 => plan.title.clone(),
                    _ => format!("{}, {}", plan.title, world),
                },
                rows: rows.collect(),
                columns,
            });
        }
        tables
    }

    fn differences(&self, plan: &DifferencePlan, found: &ByWorld<Outcomes>) -> Option<Table> {
        let worlds: Vec<(&WorldName, Cells<'_>)> = found
            .iter()
            .filter_map(|(world, o)| Some((world, self.cells(plan.setting, world, o)?)))
            .collect();
        if worlds.is_empty() {
            return None;
        }
        let empty = Cells::planned(&[]);
        let mut elsewhere = Evaluator::new(&self.words, &empty);
        let mut rows_shown = Vec::new();
        for (number, (name, place)) in rows(&plan.rows, &self.words).into_iter().enumerate() {
            let reference = finite(&mut elsewhere, &place, &plan.reference);
            let ours: Vec<Option<Quantity>> = worlds
                .iter()
                .map(|(_, cells)| {
                    let mut evaluator = Evaluator::new(&self.words, cells);
                    finite(&mut evaluator, &place, &plan.value)
                })
                .collect();
            let off: Vec<Option<f64>> = ours
                .iter()
                .map(|ours| relative(ours.as_ref()?, reference.as_ref()?))
                .collect();
            let mut values = vec![show(reference.as_ref())];
            values.extend(ours.iter().map(|ours| show(ours.as_ref())));
            values.extend(off.iter().map(|off| {
                let share = |off: f64| typeset(&format!("{:+.1}", off * 100.0)) + " %";
                off.map_or_else(|| NONE.into(), share)
            }));
            let notable = off.iter().flatten().any(|off| off.abs() > plan.above);
            values.push(if notable {
                plan.reason(number).unwrap_or(UNEXPLAINED).to_owned()
            } else {
                String::new()
            });
            rows_shown.push((name, values));
        }
        let mut columns = vec!["reference".to_owned()];
        columns.extend(worlds.iter().map(|(world, _)| world.to_string()));
        let apart = worlds
            .iter()
            .map(|(world, _)| format!("{world} − reference"));
        columns.extend(apart);
        columns.push(format!("why, above {} %", plan.above * 100.0));
        Some(Table {
            title: plan.title.clone(),
            columns,
            rows: rows_shown,
        })
    }
}

impl DifferencePlan {
    /// Why a row differs.
    fn reason(&self, row: usize) -> Option<&str> {
        let own = self.why.iter().find(|why| why.row == Some(row));
        let any = || self.why.iter().find(|why| why.row.is_none());
        own.or_else(any).map(|why| why.text.as_str())
    }
}

/// A quantity that has a value.
fn finite(evaluator: &mut Evaluator<'_>, place: &Place, expr: &Expr) -> Option<Quantity> {
    let quantity = evaluator.quantity_at(place, expr).ok()?;
    quantity.median.is_finite().then_some(quantity)
}

fn show(quantity: Option<&Quantity>) -> String {
    quantity.map_or_else(|| NONE.into(), |q| q.unit.show(q.median))
}

/// How far ours is from the reference, as a share of it; none when that is zero.
fn relative(ours: &Quantity, reference: &Quantity) -> Option<f64> {
    let off = (ours.median - reference.median) / reference.median.abs();
    off.is_finite().then_some(off)
}
