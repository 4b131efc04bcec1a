//! Claims held against results.

use crate::claims::{Case, Cells, Evaluator, Missing, Unit, Vocabulary};
use crate::study::{Claim, Expected, Outcomes, Study};
use sojourn_report::OverSeeds;
use sojourn_scenario::Scenario;
use sojourn_world::{ByWorld, WorldName};
use std::cmp::Reverse;

/// How a claim came out; the greater outweighs the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The world has none of the cells that it is about.
    NotRun,
    /// Every check holds that could be made, and one could.
    Pass,
    /// Every check that fails is a known deviation.
    Deviation,
    /// A check fails, and nobody has said why.
    Fail,
}

impl Status {
    /// `pass`, `fail`, `deviation` or `not run`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRun => "not run",
            Self::Pass => "pass",
            Self::Deviation => "deviation",
            Self::Fail => "fail",
        }
    }
}

/// What we found of a claim in one world.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Our values, in words.
    pub ours: String,
    /// Of each seed, the value that decides: of the check that is nearest to failing. In a
    /// comparison of two figures it is their difference. Empty when there is none.
    pub seeds: Vec<f64>,
    /// Its unit.
    pub unit: Unit,
    /// How the claim came out.
    pub status: Status,
    /// Why it deviates; for a deviation that is none any more, that it is so.
    pub reason: String,
    /// Its checks.
    pub checks: Vec<Checked>,
}

impl Verdict {
    /// 95 % confidence interval of the mean over seeds of the deciding value; none for one seed.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let over = OverSeeds::of(self.seeds.iter().copied())?;
        let half = over.ci95?;
        Some((over.mean - half, over.mean + half))
    }

    /// The same with its unit; empty when there is none.
    pub fn interval_text(&self) -> String {
        self.interval().map_or_else(String::new, |(low, high)| {
            format!("{} .. {}", self.unit.show(low), self.unit.show(high))
        })
    }
}

/// A claim with what we found in each world, at least one.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What we found.
    pub verdicts: ByWorld<Verdict>,
}

impl Judged<'_> {
    /// The verdict that decides: the worst, of equals that of the first world.
    pub fn decisive(&self) -> &Verdict {
        let verdicts = self.verdicts.values();
        let worst = verdicts.min_by_key(|verdict| Reverse(verdict.status));
        worst.expect("a claim is judged in one world at least")
    }
}

/// A check with what came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// As it was written.
    pub check: String,
    /// How it came out.
    pub status: Status,
    /// Number of combinations, without those that were not run.
    pub cases: usize,
    /// Those in which it holds.
    pub held: usize,
    /// Combinations whose cells this world does not have.
    pub not_run: usize,
    /// The combination nearest to failing, with its values.
    pub closest: String,
    /// Combinations in which it fails, with their values.
    pub failures: Vec<String>,
}

impl Study {
    /// Holds the chosen claims against the results of one world.
    pub fn judge(&self, chosen: &[usize], world: &WorldName, outcomes: &Outcomes) -> Vec<Verdict> {
        let claims = chosen.iter().map(|index| &self.claims[*index]);
        claims
            .map(|claim| {
                let scenario = self.settings[claim.setting].scenarios.get(world);
                let cells = scenario.map_or(&[][..], |scenario| &scenario.cells);
                let cells = Cells::new(cells, &outcomes[claim.setting]);
                let evaluator = Evaluator::new(&self.words, &cells).over_part();
                judge(claim, world, evaluator)
            })
            .collect()
    }

    /// Those of the chosen claims that have a cell in a world.
    pub fn testable(&self, chosen: &[usize], world: &WorldName) -> Vec<usize> {
        let testable = |index: &usize| {
            let claim = &self.claims[*index];
            let scenario = self.settings[claim.setting].scenarios.get(world);
            scenario.is_some_and(|scenario| claim.finds(scenario, &self.words))
        };
        chosen.iter().copied().filter(testable).collect()
    }
}

impl Claim {
    /// Whether a scenario has a cell for one of its checks.
    pub(crate) fn finds(&self, scenario: &Scenario, words: &Vocabulary) -> bool {
        let cells = Cells::new(&scenario.cells, &[]);
        let mut evaluator = Evaluator::new(words, &cells).over_part();
        let mut checks = self.checks.iter();
        checks.any(|expected| evaluator.check(&expected.check).iter().any(Result::is_ok))
    }
}

fn judge(claim: &Claim, world: &WorldName, mut evaluator: Evaluator<'_>) -> Verdict {
    let mut checks: Vec<Checked> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    let mut decisive: Option<Case> = None;
    for expected in &claim.checks {
        let own = expected.deviations.get(world);
        let known = own.or(claim.deviations.get(world));
        let (checked, closest) = hold(expected, known.is_some(), &mut evaluator);
        let reason = match (checked.status, known) {
            (Status::Deviation, Some(reason)) => Some(reason.clone()),
            (Status::Pass, Some(_)) if own.is_some() || claim.checks.len() == 1 => Some(format!(
                "marked as a known deviation, but it holds: {}",
                expected.text
            )),
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
    let status = checks.iter().map(|checked| checked.status).max();
    let status = status.unwrap_or(Status::NotRun);
    reasons.extend(left_out(&checks));
    let made = checks.iter().filter(|c| c.status != Status::NotRun);
    let ours: Vec<String> = made.map(ours).collect();
    Verdict {
        ours: ours.join("; "),
        unit: decisive.as_ref().map_or(Unit::None, |case| case.unit),
        seeds: decisive.map_or_else(Vec::new, |case| case.seeds),
        status,
        reason: sentences(&reasons),
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

/// Reasons behind one another, each with its full stop.
fn sentences(reasons: &[String]) -> String {
    let Some((last, others)) = reasons.split_last() else {
        return String::new();
    };
    let others = others
        .iter()
        .map(|reason| format!("{}. ", reason.trim_end_matches('.')));
    others.chain(std::iter::once(last.clone())).collect()
}

/// What this world could not say, in a sentence.
fn left_out(checks: &[Checked]) -> Option<String> {
    let missing: usize = checks.iter().map(|checked| checked.not_run).sum();
    let all: usize = checks.iter().map(|checked| checked.cases).sum::<usize>() + missing;
    match missing {
        0 => None,
        _ if missing == all => Some("this world has none of its cells".into()),
        _ => Some(format!(
            "{missing} of {all} comparisons not run: this world has no such cells."
        )),
    }
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
    let mut cases = Vec::new();
    let mut not_run = 0;
    for case in evaluator.check(&expected.check) {
        match case {
            Ok(case) => cases.push(case),
            Err(Missing::Cell(_)) => not_run += 1,
            Err(Missing::Unclear(message)) => {
                unreachable!("a study is read only when its checks are clear: {message}")
            }
        }
    }
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
        status: match cases.len() {
            0 => Status::NotRun,
            all if all == held => Status::Pass,
            _ => failed,
        },
        cases: cases.len(),
        held,
        not_run,
        closest: closest.as_ref().map_or_else(String::new, words),
        failures,
    };
    (checked, closest)
}
