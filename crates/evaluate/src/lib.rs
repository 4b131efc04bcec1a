//! A queue or a congestion control, measured by the cases that RFCs ask for.
//!
//! The cases are ordinary scenarios (`scenarios/evaluate`), in which one thing is replaced.
//! [`Evaluation`] has the cells of the cases, and makes a [`Card`] of their results: every measure
//! over the seeds. There is no single score. `cases.rs` says what each case measures, `measure.rs`
//! how it is measured.
//!
//! Not here: running the cells, and the table for the terminal.
#![forbid(unsafe_code)]

mod card;
mod cases;
mod measure;

pub use card::Card;

use card::MeasuredCell;
use cases::{CONTROL, Case, QUEUE};
use sojourn_qdisc::Spec;
use sojourn_report::ReportError;
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_world::{Cell, RunResult};
use std::path::{Path, PathBuf};

/// What is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// A queue, in the cases of RFC 7928.
    Queue,
    /// A congestion control, in cases for the questions of RFC 9743.
    Control,
}

impl Candidate {
    /// The name of its option and argument: `qdisc` or `cc`.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Queue => "qdisc",
            Self::Control => "cc",
        }
    }
}

/// Why something cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// No case has this name.
    #[error("no case has the name `{name}`; {help}")]
    Case {
        /// The name.
        name: String,
        /// What would be right.
        help: String,
    },
    /// The queue or the control is wrong; what is wrong with it.
    #[error("{0}")]
    Subject(String),
    /// It does not fit into a case.
    #[error(transparent)]
    Scenario(#[from] Problems),
}

/// The cases that something is measured in.
pub struct Evaluation {
    cases: Vec<&'static Case>,
    scenarios: Vec<Scenario>,
}

impl Evaluation {
    /// `own` (a queue in tc's words, or a congestion control as scenarios name it) in the cases
    /// with these names, or in all if there are no names, each with so many seeds.
    ///
    /// # Errors
    /// A case is unknown, or `own` is.
    pub fn new(kind: Candidate, own: &str, names: &[String], seeds: u64) -> Result<Self, Unfit> {
        let cases = chosen(kind, names)?;
        let read = cases.iter().map(|case| read(case, own, seeds));
        let scenarios = read.collect::<Result<_, _>>()?;
        Ok(Self { cases, scenarios })
    }

    /// The runs of all cases.
    pub fn cells(&self) -> Vec<Cell> {
        let cells = self.scenarios.iter().flat_map(|it| &it.cells);
        cells.cloned().collect()
    }

    /// The scenario of each case.
    pub fn scenarios(&mut self) -> &mut [Scenario] {
        &mut self.scenarios
    }

    /// The folder of each case inside that of the card, and the name of the scenario in it.
    pub fn folders<'a>(&'a self, out: &'a Path) -> impl Iterator<Item = (PathBuf, &'a str)> {
        let both = self.cases.iter().zip(&self.scenarios);
        both.map(|(case, scenario)| (out.join(case.name), scenario.info.name.as_str()))
    }

    /// The card of the results of all cells. `subject` is what is evaluated, as the user has named
    /// it.
    pub fn card(&self, subject: String, world: String, seeds: u64, results: &[RunResult]) -> Card {
        let mut rows = Vec::new();
        for (case, _, own) in self.parts(results) {
            let same = |a: &RunResult, b: &RunResult| a.params == b.params;
            rows.extend(own.chunk_by(same).map(|runs| MeasuredCell::of(case, runs)));
        }
        Card {
            subject,
            world,
            seeds,
            rows,
        }
    }

    /// Writes `card.json`, `card.md`, and a folder with a page for each case.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, out: &Path, card: &Card, results: &[RunResult]) -> Result<(), ReportError> {
        for (case, scenario, own) in self.parts(results) {
            let notes = [format!("{}: {}.", card.subject, case.source)];
            sojourn_report::write(&out.join(case.name), &scenario.info, own, &notes)?;
        }
        let (json, markdown) = (card.json(), card.markdown());
        let files = [("card.json", &*json), ("card.md", &*markdown)]
            .map(|(name, text)| (PathBuf::from(name), text));
        sojourn_report::write_files(out, &files)
    }

    /// Each case with its scenario and its part of the results.
    fn parts<'a>(
        &'a self,
        results: &'a [RunResult],
    ) -> impl Iterator<Item = (&'static Case, &'a Scenario, &'a [RunResult])> {
        let mut rest = results;
        let both = self.cases.iter().zip(&self.scenarios);
        both.map(move |(case, scenario)| {
            let (own, others) = rest.split_at(scenario.cells.len());
            rest = others;
            (*case, scenario, own)
        })
    }
}

/// The cases with these names, or all.
fn chosen(kind: Candidate, names: &[String]) -> Result<Vec<&'static Case>, Unfit> {
    let groups = match kind {
        Candidate::Queue => QUEUE,
        Candidate::Control => CONTROL,
    };
    let all: Vec<&Case> = groups.iter().copied().flatten().collect();
    if names.is_empty() {
        return Ok(all);
    }
    let known: Vec<_> = all.iter().map(|case| case.name).collect();
    let named = names.iter().map(|name| {
        let case = all.iter().copied().find(|case| case.name == name);
        case.ok_or_else(|| Unfit::Case {
            name: name.clone(),
            help: suggestion(name, &known),
        })
    });
    named.collect()
}

/// The scenario of a case with what is evaluated in its place.
fn read(case: &Case, own: &str, seeds: u64) -> Result<Scenario, Unfit> {
    let options = Options {
        sets: case.places.iter().map(|at| format!("{at}={own}")).collect(),
        seeds: Some(seeds),
        ..Options::default()
    };
    let name = format!("case {}", case.name);
    let read = Scenario::parse(&name, case.text, Path::new(""), &options);
    read.map_err(|problems| of_subject(&problems, own).unwrap_or_else(|| problems.into()))
}

/// What is wrong with the queue or the control itself: the places in a case, which the user has not
/// written, do not help.
fn of_subject(problems: &Problems, own: &str) -> Option<Unfit> {
    let problem = problems.iter().next()?;
    let kind = [Candidate::Queue, Candidate::Control]
        .into_iter()
        .find(|kind| problem.field().rsplit('.').next() == Some(kind.option()))?;
    let message = match own.parse::<Spec>() {
        Err(error) if kind == Candidate::Queue && problem.way_out().is_none() => {
            error.pretty().trim_end().to_owned()
        }
        _ => [Some(problem.message()), problem.way_out()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
    };
    Some(Unfit::Subject(message))
}
