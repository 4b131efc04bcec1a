//! Claims held against results.

use crate::claims::{Case, Cells, Check, Evaluator, Finding, Missing, Unit, Vocabulary};
use crate::mark::Mark;
use crate::status::Status;
use crate::study::{Claim, Expected, Outcomes, Study};
use sojourn_report::OverSeeds;
use sojourn_scenario::Scenario;
use sojourn_world::{ByWorld, WorldName};
use std::cmp::Reverse;

/// What is said of a deviation that nobody else has measured.
const NO_REFERENCE: &str = "No independent reference has measured it.";

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
    /// Whether that is worse than what the study records of it.
    pub is_worse: bool,
    /// Why it deviates and what the references say; for a deviation that is none any more, that
    /// it is so; why it is not judged.
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
    /// Those in which the interval of the difference holds zero.
    pub open: usize,
    /// Combinations whose cells this world does not have.
    pub not_run: usize,
    /// The combination nearest to failing, with its values.
    pub closest: String,
    /// Combinations in which it does not hold, with their values.
    pub failures: Vec<String>,
    /// What the study records of it in this world.
    pub recorded: Status,
    /// Whether it came out worse.
    pub is_worse: bool,
    /// The mark that holds here, if there is one.
    pub mark: Option<MarkShown>,
}

/// A mark, for those who show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkShown {
    /// Why the check is known to fail.
    pub why: String,
    /// How far it may fail; none when nobody else has measured it.
    pub within: Option<String>,
    /// What an independent reference gives.
    pub reference: Option<String>,
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
    /// Why it cannot be judged in a world with so many seeds, in a sentence.
    pub(crate) fn unable(&self, world: &WorldName, seeds: usize) -> Option<String> {
        if !self.worlds.is_empty() && !self.worlds.contains(world) {
            return Some(format!("It is not judged in the {world} world."));
        }
        let has = match seeds {
            1 => "there is one".to_owned(),
            seeds => format!("there are {seeds}"),
        };
        (seeds < self.seeds).then(|| format!("It needs {} seeds, {has}.", self.seeds))
    }

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
    let unable = claim.unable(world, evaluator.seeds());
    for expected in &claim.checks {
        let mut marks = expected.marks.iter();
        let mark = marks.find(|mark| mark.applies(world));
        let (mut checked, closest) = hold(expected, mark, &mut evaluator);
        if unable.is_some() && checked.cases > 0 {
            (checked.status, checked.is_worse) = (Status::NotJudged, false);
        }
        let reason = reason(&checked);
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        checks.push(checked);
        if let Some(case) = closest
            && decisive.as_ref().is_none_or(|d| case.margin < d.margin)
        {
            decisive = Some(case);
        }
    }
    let status = checks.iter().map(|checked| checked.status).max();
    let made = checks.iter().filter(|checked| checked.cases > 0);
    let ours: Vec<String> = made.map(ours).collect();
    // Where there are no cells, more seeds would not help.
    reasons.extend(unable.filter(|_| !ours.is_empty()));
    reasons.extend(left_out(&checks));
    Verdict {
        ours: ours.join("; "),
        unit: decisive.as_ref().map_or(Unit::None, |case| case.unit),
        seeds: decisive.map_or_else(Vec::new, |case| case.seeds),
        status: status.unwrap_or(Status::NotJudged),
        is_worse: checks.iter().any(|checked| checked.is_worse),
        reason: sentences(&reasons),
        checks,
    }
}

/// Why a check came out as it did, where there is something to say.
fn reason(checked: &Checked) -> Option<String> {
    let mark = checked.mark.as_ref();
    match (checked.status, mark) {
        (Status::NotJudged, _) | (Status::Published, None) => None,
        (Status::Published, Some(_)) => Some(format!(
            "Marked as a known deviation, but it holds: {}.",
            checked.check
        )),
        (
            _,
            Some(MarkShown {
                within: Some(within),
                ..
            }),
        ) if checked.is_worse => Some(format!("Outside of the mark's bound, {within}.")),
        (_, Some(mark)) => {
            let reference = mark.reference.clone();
            let says = reference.unwrap_or_else(|| NO_REFERENCE.into());
            Some(sentences(&[mark.why.clone(), says]))
        }
        (Status::Open, None) => Some(format!(
            "The 95 % interval of a difference holds zero: {}.",
            checked.check
        )),
        (_, None) => None,
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
    let found = evaluator.check(bound);
    let mut cases = found.iter().flatten().peekable();
    cases.peek().is_some() && cases.all(|case| case.finding == Finding::Holds)
}

fn hold(
    expected: &Expected,
    mark: Option<&Mark>,
    evaluator: &mut Evaluator<'_>,
) -> (Checked, Option<Case>) {
    let is_explained = mark.is_some_and(|mark| {
        let within = mark.within.as_ref();
        within.is_none_or(|within| is_within(within, evaluator))
    });
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
    let count = |finding| {
        let cases = cases.iter();
        cases.filter(|case| case.finding == finding).count()
    };
    let (held, open) = (count(Finding::Holds), count(Finding::Open));
    let failures = cases
        .iter()
        .filter(|case| case.finding != Finding::Holds)
        .map(words)
        .collect();
    // What fails before what is open, that before what holds, whatever their margins.
    let closest = cases
        .iter()
        .min_by(|a, b| {
            let order = a.finding.cmp(&b.finding);
            order.then(a.margin.total_cmp(&b.margin))
        })
        .cloned();
    let recorded = mark.map_or(Status::Published, |mark| mark.cause.status());
    let (status, is_worse) = match cases.len() {
        0 => (Status::NotJudged, false),
        all if all == held => (Status::Published, false),
        _ if is_explained => (recorded, false),
        all if all == held + open => (Status::Open, true),
        _ => (Status::Model, true),
    };
    let checked = Checked {
        check: expected.text.clone(),
        status,
        cases: cases.len(),
        held,
        open,
        not_run,
        closest: closest.as_ref().map_or_else(String::new, words),
        failures,
        recorded,
        is_worse,
        mark: mark.map(|mark| MarkShown {
            why: mark.why.clone(),
            within: mark.bound.clone(),
            reference: mark.reference.clone(),
        }),
    };
    (checked, closest)
}
