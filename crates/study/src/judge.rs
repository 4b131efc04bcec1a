//! Claims held against results.

use crate::claims::{Case, Cells, Check, Evaluator, Missing, Unit, Vocabulary};
use crate::mark::{Agreement, Mark, Reference};
use crate::study::{Claim, Expected, Outcomes, Study};
use sojourn_report::OverSeeds;
use sojourn_scenario::Scenario;
use sojourn_world::{ByWorld, WorldName};
use std::cmp::Reverse;

/// What is said of a deviation that nobody else has measured.
const NO_REFERENCE: &str = "No independent reference has measured it.";

/// How a claim came out; the greater outweighs the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The world has none of the cells that it is about.
    NotRun,
    /// Every check holds that could be made, and one could.
    Pass,
    /// Every check that fails is a known deviation, and within its bound.
    Deviation,
    /// A check fails, and nobody has said why, or it fails by more than was said.
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
    /// Whom the references of its deviations agree with; of several the least favourable to us.
    /// None where nothing deviates.
    pub agrees: Option<Agreement>,
    /// Why it deviates and what the references say; for a deviation that is none any more, that
    /// it is so.
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
    /// The mark that holds here, if there is one.
    pub mark: Option<MarkShown>,
}

/// A mark, for those who show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkShown {
    /// Why the check is known to fail.
    pub why: String,
    /// How far it may fail.
    pub within: String,
    /// What an independent reference says.
    pub reference: Option<Reference>,
}

impl Study {
    /// Holds the chosen claims against the results of one world.
    pub fn judge(&self, chosen: &[usize], world: &WorldName, outcomes: &Outcomes) -> Vec<Verdict> {
        let claims = chosen.iter().map(|index| &self.claims[*index]);
        claims
            .map(|claim| {
                let scenario = self.settings[claim.setting].scenarios.get(world);
                let cells = scenario.map_or(&[][..], |scenario| &scenario.cells);
                let cells = Cells::new(cells, outcomes, claim.setting);
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
        let cells = Cells::planned(&scenario.cells);
        let mut evaluator = Evaluator::new(words, &cells).over_part();
        let mut checks = self.checks.iter();
        checks.any(|expected| evaluator.check(&expected.check).iter().any(Result::is_ok))
    }
}

fn judge(claim: &Claim, world: &WorldName, mut evaluator: Evaluator<'_>) -> Verdict {
    let mut checks: Vec<Checked> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    let mut decisive: Option<Case> = None;
    let mut agrees: Option<Agreement> = None;
    let seeds = evaluator.seeds();
    for expected in &claim.checks {
        let mut marks = expected.marks.iter();
        let mark = marks.find(|mark| mark.applies(world, seeds));
        let (checked, closest) = hold(expected, mark, &mut evaluator);
        let reason = match (checked.status, mark) {
            (Status::Deviation, Some(mark)) => {
                let reference = mark.reference.as_ref();
                agrees = agrees.max(Some(reference.map_or(Agreement::None, |r| r.agrees)));
                Some(sentences(&[
                    mark.why.clone(),
                    reference.map_or_else(|| NO_REFERENCE.into(), |r| r.says.clone()),
                ]))
            }
            (Status::Fail, Some(mark)) => {
                Some(format!("Outside of the mark's bound, {}.", mark.bound))
            }
            (Status::Pass, Some(_)) => Some(format!(
                "Marked as a known deviation, but it holds: {}.",
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
        agrees: agrees.filter(|_| status == Status::Deviation),
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

/// Sentences behind one another.
fn sentences(reasons: &[String]) -> String {
    reasons.join(" ")
}

/// What this world could not say, in a sentence.
fn left_out(checks: &[Checked]) -> Option<String> {
    let missing: usize = checks.iter().map(|checked| checked.not_run).sum();
    let all: usize = checks.iter().map(|checked| checked.cases).sum::<usize>() + missing;
    match missing {
        0 => None,
        _ if missing == all => Some("This world has none of its cells.".into()),
        _ => Some(format!(
            "{missing} of {all} comparisons not run: this world has no such cells."
        )),
    }
}

/// Whether a bound holds in all cases that this world has, one at least.
fn is_within(bound: &Check, evaluator: &mut Evaluator<'_>) -> bool {
    let cases = evaluator.check(bound);
    let mut cases = cases.iter().flatten().peekable();
    cases.peek().is_some() && cases.all(|case| case.held)
}

fn hold(
    expected: &Expected,
    mark: Option<&Mark>,
    evaluator: &mut Evaluator<'_>,
) -> (Checked, Option<Case>) {
    let mut bounds = |mark: &Mark| {
        let within = mark.within.as_ref();
        within.is_none_or(|within| is_within(within, evaluator))
    };
    let failed = if mark.is_some_and(&mut bounds) {
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
        mark: mark.map(|mark| MarkShown {
            why: mark.why.clone(),
            within: mark.bound.clone(),
            reference: mark.reference.clone(),
        }),
    };
    (checked, closest)
}
