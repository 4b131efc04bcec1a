//! Another queue in a study: it runs in each setting in the place of each queue that the study
//! compares there, and stands beside those in charts and tables. Claims stay about the study's own.

use crate::claims::{AxisValue, Binder};
use crate::plan::{ChartPlan, Shape, TablePlan};
use crate::study::Study;
use sojourn_qdisc::Spec;
use sojourn_scenario::{Options, Problems, Scenario};
use std::path::Path;

/// What its values are called.
const NAME: &str = "yours";

/// Why a queue cannot be one of a study's.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    /// The study compares no queues.
    #[error("{0} compares no queues: none of its axes has a field `…qdisc` with several values")]
    Nowhere(String),
    /// It is one of the study's own.
    #[error("{study} has the queue `{queue}` already, as `{name}`")]
    Known {
        /// The study.
        study: String,
        /// The queue.
        queue: String,
        /// Its name in the study.
        name: String,
    },
    /// A scenario cannot have it.
    #[error(transparent)]
    Refused(#[from] Problems),
}

impl Study {
    /// Has a queue beside those that the study compares: in each setting that sweeps a field of an
    /// axis of queues, with every combination of what else is swept there.
    ///
    /// # Errors
    /// Why it has no place in this study, or what is wrong with it there.
    pub fn with_queue(self, queue: &Spec) -> Result<Self, NoPlace> {
        let text = queue.to_string();
        self.with_queue_called(queue, &text)
    }

    /// As [`with_queue`](Self::with_queue), with a name for the queue in results: `queue` stands in
    /// the cells for one that no [`Spec`] describes.
    ///
    /// # Errors
    /// Why it has no place in this study, or what is wrong with it there.
    pub fn with_queue_called(mut self, queue: &Spec, name: &str) -> Result<Self, NoPlace> {
        let text = queue.to_string();
        let is_it = |text: &String| text.parse::<Spec>().is_ok_and(|spec| spec == *queue);
        let mut values = self.words.axes.iter().flat_map(|axis| &axis.values);
        let known = values.find(|value| {
            let mut texts = value.params.iter().flat_map(|(_, texts)| texts);
            texts.any(is_it)
        });
        if let Some(value) = known {
            return Err(NoPlace::Known {
                study: self.name,
                queue: text,
                name: value.name.clone(),
            });
        }
        let mut fields: Vec<String> = Vec::new();
        for setting in &mut self.settings {
            for scenario in setting.scenarios.values_mut() {
                fields.extend(add(scenario, &text, name)?);
            }
        }
        fields.sort();
        fields.dedup();
        if fields.is_empty() {
            return Err(NoPlace::Nowhere(self.name));
        }
        self.words.another = Some(name.to_owned());
        let axes = self.name_it(&fields, name);
        self.show(&axes);
        Ok(self)
    }

    /// Names it on each axis that has values of these fields: once for each choice of fields that
    /// stands for a value there. Tells which axes those are.
    fn name_it(&mut self, fields: &[String], text: &str) -> Vec<usize> {
        let mut named = Vec::new();
        for (number, axis) in self.words.axes.iter_mut().enumerate() {
            let mut choices: Vec<Vec<String>> = Vec::new();
            for value in &axis.values {
                let of_value = value.params.iter().map(|(field, _)| field);
                let choice: Vec<String> =
                    of_value.filter(|it| fields.contains(it)).cloned().collect();
                if !choice.is_empty() && !choices.contains(&choice) {
                    choices.push(choice);
                }
            }
            named.extend((!choices.is_empty()).then_some(number));
            for choice in choices {
                let name = match axis.value(NAME) {
                    None => NAME.to_owned(),
                    Some(_) => format!("{NAME} ({})", choice.join(", ")),
                };
                let params = choice
                    .into_iter()
                    .map(|field| (field, vec![text.to_owned()]))
                    .collect();
                axis.values.push(AxisValue { name, params });
            }
        }
        named
    }

    /// Charts and tables that set values of these axes side by side have the last one too.
    fn show(&mut self, axes: &[usize]) {
        let words = &self.words;
        let widen = |binder: &mut Binder| {
            if axes.contains(&binder.axis) && binder.values.len() > 1 {
                let values = words.axes[binder.axis].values.iter().enumerate();
                let added = values.filter(|(_, value)| words.is_another(value));
                binder.values.extend(added.map(|(number, _)| number));
            }
        };
        self.charts
            .iter_mut()
            .flat_map(chart_binders)
            .for_each(widen);
        self.tables
            .iter_mut()
            .flat_map(table_binders)
            .for_each(widen);
    }
}

/// Adds the runs with this queue to a scenario, behind its own, under a name for their parameters.
/// Tells which fields it has it in.
fn add(scenario: &mut Scenario, text: &str, name: &str) -> Result<Vec<String>, Problems> {
    let axes = scenario
        .info
        .axes
        .iter()
        .filter(|axis| axis.field.ends_with("qdisc") && axis.values.len() > 1);
    let fields: Vec<String> = axes.map(|axis| axis.field.clone()).collect();
    let Some(first) = scenario.cells.first().filter(|_| !fields.is_empty()) else {
        return Ok(Vec::new());
    };
    let source = first.source.as_ref().expect("it was read from a text");
    let seeds = scenario
        .cells
        .iter()
        .filter(|cell| cell.params == first.params);
    let sweep = |field: &String| format!("{field}=[{}]", quoted(text));
    // What was set from outside are parameters of every cell, and no axes.
    let is_set = |(field, _): &&(String, String)| {
        let mut axes = scenario.info.axes.iter();
        axes.all(|axis| axis.field != *field)
    };
    let sets = first.params.iter().filter(is_set);
    let options = Options {
        sets: sets
            .map(|(field, value)| format!("{field}={value}"))
            .collect(),
        sweeps: fields.iter().map(sweep).collect(),
        seed: Some(first.seed),
        seeds: Some(seeds.count() as u64),
    };
    let base: &Path = &source.base;
    let added = Scenario::parse(&source.name, &source.text, base, &options)?;
    let order: Vec<String> = scenario
        .info
        .axes
        .iter()
        .map(|axis| axis.field.clone())
        .collect();
    let place = |field: &str| order.iter().position(|known| known == field);
    for mut cell in added.cells {
        for (field, value) in &mut cell.params {
            if fields.contains(field) {
                name.clone_into(value);
            }
        }
        cell.params.sort_by_key(|(field, _)| place(field));
        scenario.cells.push(cell);
    }
    for axis in &mut scenario.info.axes {
        if fields.contains(&axis.field) {
            axis.values.push(name.to_owned());
        }
    }
    Ok(fields)
}

/// As a value of TOML.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn chart_binders(chart: &mut ChartPlan) -> Vec<&mut Binder> {
    let around = chart.panels.iter_mut().chain(&mut chart.lines);
    let inside: Vec<&mut Binder> = match &mut chart.shape {
        Shape::Along { x, .. } | Shape::Boxes { x, .. } => vec![x],
        Shape::Scatter { points, .. } => points.iter_mut().collect(),
        Shape::Map { x, y, .. } => vec![x, y],
        Shape::Time { .. } | Shape::Distribution { .. } => Vec::new(),
    };
    around.chain(inside).collect()
}

/// A table of differences has what was measured elsewhere only.
fn table_binders(table: &mut TablePlan) -> Vec<&mut Binder> {
    match table {
        TablePlan::Values(plan) => vec![&mut plan.rows, &mut plan.columns],
        TablePlan::Numbered(plan) => vec![&mut plan.columns],
        TablePlan::Difference(_) => Vec::new(),
    }
}
