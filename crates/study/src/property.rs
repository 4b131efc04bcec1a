//! A property: checks in the language of claims, outside of any study.
//!
//! Its axes are what the scenario sweeps, by the last key of their paths. A figure without a value
//! decides nothing here: a flow that is not there breaks no bound on its delay.

use crate::claims::{
    Axis, AxisValue, Case, Cells, Check, Complaint, Evaluator, Finding, Vocabulary,
};
use crate::study::Outcomes;
use sojourn_scenario::problem::{Origin, Problem, Problems, suggestion};
use sojourn_scenario::{Outcome, Scenario};
use sojourn_world::{Cell, RunResult};

/// Checks that all must hold.
#[derive(Clone, Debug)]
pub struct Property {
    words: Vocabulary,
    checks: Vec<(String, Check)>,
}

/// What came out of a property.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// The check that is nearest to failing, as it was written.
    pub check: String,
    /// Its values, in words.
    pub text: String,
    /// Whether it does not hold.
    pub is_broken: bool,
    /// How far it is from failing, as a share of what is compared; negative when it failed.
    pub margin: f64,
}

impl Property {
    /// Reads checks about a scenario's runs. Where they name no link or flow, `link` and `flow` are
    /// meant; by default the first link and all flows.
    ///
    /// # Errors
    /// What is wrong with the checks.
    pub fn read(
        checks: &[String],
        scenario: &Scenario,
        [link, flow]: [Option<&str>; 2],
    ) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let mut words = vocabulary(scenario);
        if let Some(link) = link {
            link.clone_into(&mut words.link);
            name(
                &mut problems,
                ["--link", link],
                words.has_link(link),
                &words.links,
            );
        }
        if let Some(flow) = flow {
            flow.clone_into(&mut words.flow);
            name(
                &mut problems,
                ["--flow", flow],
                words.has_flow(flow),
                &words.flows,
            );
        }
        let cells = Cells::planned(&scenario.cells);
        let mut read = Vec::new();
        for text in checks {
            let source = problems.add_source("--property", text);
            let mut told = |Complaint {
                                span,
                                message,
                                help,
                            }: Complaint| {
                let problem = Problem::new(Origin::new(source, span), "", message);
                problems.add(match help {
                    Some(help) => problem.help(help),
                    None => problem,
                });
            };
            match crate::claims::check(text, &words) {
                Ok(check) => {
                    let cases = Evaluator::new(&words, &cells).check(&check);
                    if let Some(missing) = cases.into_iter().find_map(Result::err) {
                        told(Complaint {
                            span: 0..text.len(),
                            message: missing.message(),
                            help: None,
                        });
                    }
                    read.push((text.clone(), check));
                }
                Err(complaint) => told(complaint),
            }
        }
        if problems.is_empty() {
            return Ok(Self {
                words,
                checks: read,
            });
        }
        Err(problems)
    }

    /// What came out in a scenario's cells: the check that is nearest to failing, or has failed by
    /// most. None where no check has a value.
    pub fn test(&self, cells: &[Cell], runs: Vec<Outcome<RunResult>>) -> Option<Tested> {
        let outcomes: Outcomes = [runs].into_iter().collect();
        let cells = Cells::new(cells, &outcomes, 0);
        let mut nearest: Option<Tested> = None;
        for (text, check) in &self.checks {
            let mut evaluator = Evaluator::new(&self.words, &cells);
            // Flows and links that are absent from one scenario are no cells of it.
            for case in evaluator.check(check).into_iter().flatten() {
                let Some(tested) = tested(&evaluator, text, &case) else {
                    continue;
                };
                if nearest
                    .as_ref()
                    .is_none_or(|nearest| tested.margin < nearest.margin)
                {
                    nearest = Some(tested);
                }
            }
        }
        nearest
    }
}

/// A case with a value.
fn tested(evaluator: &Evaluator<'_>, check: &str, case: &Case) -> Option<Tested> {
    // No value has no distance to anything.
    if case.margin == f64::NEG_INFINITY {
        return None;
    }
    let is_broken = case.finding != Finding::Holds;
    Some(Tested {
        check: check.to_owned(),
        text: match &evaluator.show(&case.place)[..] {
            "" => case.text.clone(),
            place => format!("{place}: {}", case.text),
        },
        is_broken,
        // What is equal where it must be below has no distance, and has failed all the same.
        margin: if is_broken {
            case.margin.min(-f64::MIN_POSITIVE)
        } else {
            case.margin
        },
    })
}

/// A name on the command line that must be there.
fn name(problems: &mut Problems, [option, name]: [&str; 2], is_there: bool, known: &[String]) {
    if is_there {
        return;
    }
    let source = problems.add_source(option, name);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let message = format!(
        "the scenario has no {} `{name}`",
        option.trim_start_matches('-')
    );
    let problem = Problem::new(Origin::new(source, 0..name.len()), "", message);
    problems.add(problem.help(suggestion(name, &known)));
}

/// The words of a scenario.
fn vocabulary(scenario: &Scenario) -> Vocabulary {
    let axes = scenario.info.axes.iter().map(|axis| {
        let short = axis.field.rsplit('.').next().unwrap_or_default();
        let same = scenario.info.axes.iter().filter(|other| {
            let end = other.field.rsplit('.').next();
            end == Some(short)
        });
        Axis {
            name: if same.count() > 1 { &axis.field } else { short }.to_owned(),
            values: (axis.values.iter())
                .map(|value| AxisValue {
                    name: value.clone(),
                    params: vec![(axis.field.clone(), vec![value.clone()])],
                })
                .collect(),
        }
    });
    let cell = &scenario.cells[0];
    let links: Vec<String> = cell
        .network
        .interfaces
        .iter()
        .map(|link| link.name.clone())
        .collect();
    Vocabulary {
        axes: axes.collect(),
        link: links.first().cloned().unwrap_or_default(),
        flow: "*".into(),
        links,
        flows: cell.flows.iter().map(|flow| flow.name.clone()).collect(),
        ..Vocabulary::default()
    }
}

#[cfg(test)]
mod tests;
