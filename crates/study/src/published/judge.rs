//! Claims held against results.

use super::{Claim, Expected, Published};
use crate::claims::{Case, Cells, Evaluator, Unit};
use crate::runner::Outcome;

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every check holds.
    Pass,
    /// A check fails, and nobody has said why.
    Fail,
    /// Every check that fails is a known deviation.
    Deviation,
}

impl Status {
    /// `pass`, `fail` or `deviation`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Deviation => "deviation",
        }
    }
}

/// A claim with what we found.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Its id.
    pub id: String,
    /// What was found, in words.
    pub statement: String,
    /// The published values, in words.
    pub published: String,
    /// Our values, in words.
    pub ours: String,
    /// Of each seed, the value that decides: of the check that is nearest to failing. In a
    /// comparison of two figures it is their difference. Empty when there is none.
    pub seeds: Vec<f64>,
    /// Its unit.
    pub unit: Unit,
    /// How it came out.
    pub status: Status,
    /// Why it deviates; for a deviation that is none any more, that it is so.
    pub reason: String,
    /// Its checks.
    pub checks: Vec<Checked>,
}

/// A check with what came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// As it was written.
    pub check: String,
    /// How it came out.
    pub status: Status,
    /// Number of combinations.
    pub cases: usize,
    /// Those in which it holds.
    pub held: usize,
    /// The combination nearest to failing, with its values.
    pub closest: String,
    /// Combinations in which it fails, with their values.
    pub failures: Vec<String>,
}

impl Published {
    /// Holds the chosen claims against the results; `outcomes` has an entry for every setting,
    /// in the order of its cells, empty where nothing was run.
    pub fn judge(&self, chosen: &[usize], outcomes: &[Vec<Outcome>]) -> Vec<Judgement> {
        let claims = chosen.iter().map(|index| &self.claims[*index]);
        claims
            .map(|claim| {
                let study = &self.settings[claim.setting].study;
                let cells = Cells::new(&study.cells, &outcomes[claim.setting]);
                judge(claim, &mut Evaluator::new(&self.words, &cells))
            })
            .collect()
    }
}

fn judge(claim: &Claim, evaluator: &mut Evaluator<'_>) -> Judgement {
    let mut checks = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    let mut decisive: Option<Case> = None;
    for expected in &claim.checks {
        let known = expected.deviation.as_ref().or(claim.deviation.as_ref());
        let (checked, closest) = hold(expected, known.is_some(), evaluator);
        let reason = match (checked.status, known) {
            (Status::Deviation, Some(reason)) => Some(reason.clone()),
            (Status::Fail, _) if closest.is_none() => Some(checked.closest.clone()),
            (Status::Pass, Some(_)) if expected.deviation.is_some() || claim.checks.len() == 1 => {
                Some(format!(
                    "marked as a known deviation, but it holds: {}",
                    expected.text
                ))
            }
            _ => None,
        };
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        checks.push(checked);
        if let Some(case) = closest
            && decisive.as_ref().is_none_or(|d| case.margin < d.margin)
        {
            decisive = Some(case);
        }
    }
    let has = |status| {
        checks
            .iter()
            .any(|checked: &Checked| checked.status == status)
    };
    let status = if has(Status::Fail) {
        Status::Fail
    } else if has(Status::Deviation) {
        Status::Deviation
    } else {
        Status::Pass
    };
    let ours: Vec<String> = checks.iter().map(ours).collect();
    Judgement {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        published: claim.published.clone(),
        ours: ours.join("; "),
        unit: decisive.as_ref().map_or(Unit::None, |case| case.unit),
        seeds: decisive.map_or_else(Vec::new, |case| case.seeds),
        status,
        reason: reasons.join(" "),
        checks,
    }
}

/// A check in a few words: its one case, or how many hold and the one nearest to failing.
fn ours(checked: &Checked) -> String {
    if checked.cases <= 1 {
        return checked.closest.clone();
    }
    let which = if checked.held == checked.cases {
        "closest"
    } else {
        "worst"
    };
    format!(
        "{} of {} ({which}: {})",
        checked.held, checked.cases, checked.closest
    )
}

fn hold(
    expected: &Expected,
    known: bool,
    evaluator: &mut Evaluator<'_>,
) -> (Checked, Option<Case>) {
    let failed = if known {
        Status::Deviation
    } else {
        Status::Fail
    };
    let cases = match evaluator.check(&expected.check) {
        Ok(cases) => cases,
        // A study is read only when every check finds its cells: what is missing is a result.
        Err(message) => {
            let checked = Checked {
                check: expected.text.clone(),
                status: Status::Fail,
                cases: 0,
                held: 0,
                closest: message,
                failures: Vec::new(),
            };
            return (checked, None);
        }
    };
    let words = |case: &Case| match &evaluator.show(&case.place)[..] {
        "" => case.text.clone(),
        place => format!("{place}: {}", case.text),
    };
    let held = cases.iter().filter(|case| case.held).count();
    let failures = cases.iter().filter(|case| !case.held).map(words).collect();
    // A failed case before one that holds, whatever their margins.
    let order = |case: &&Case| (case.held, case.margin);
    let closest = cases
        .iter()
        .min_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
        .cloned();
    let checked = Checked {
        check: expected.text.clone(),
        status: if held == cases.len() {
            Status::Pass
        } else {
            failed
        },
        cases: cases.len(),
        held,
        closest: closest.as_ref().map_or_else(String::new, words),
        failures,
    };
    (checked, closest)
}
