//! A study: scenarios by world, and the claims that their results are held against.
//!
//! Not here: where studies are found ([`library`](crate::library)), how their file is read, and
//! what is made of their results.

use crate::changes::Changes;
use crate::claims::{Cells, Check, Vocabulary};
use crate::mark::Mark;
use crate::plan::{ChartPlan, TablePlan};
use sojourn_report::{Finished, ReportError};
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::{Outcome, Scenario};
use sojourn_world::{ByWorld, WorldName};
use std::cell::OnceCell;

/// What a study's cells yielded in one world.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// For every setting the outcomes in the order of its cells in that world; empty where nothing
    /// was run.
    by_setting: Vec<Vec<Outcome<Finished>>>,
    /// Why the first run could not be read of which more than figures was wanted.
    unread: OnceCell<ReportError>,
}

impl<T: Into<Finished>> FromIterator<Vec<Outcome<T>>> for Outcomes {
    /// Of each setting the outcomes of all its cells in this world, or none.
    fn from_iter<I: IntoIterator<Item = Vec<Outcome<T>>>>(settings: I) -> Self {
        let finished = |outcome: Outcome<T>| outcome.map(T::into);
        let settings = settings
            .into_iter()
            .map(|list| list.into_iter().map(finished).collect());
        Self {
            by_setting: settings.collect(),
            unread: OnceCell::new(),
        }
    }
}

impl Outcomes {
    /// Those of a setting.
    pub(crate) fn of(&self, setting: usize) -> &[Outcome<Finished>] {
        self.by_setting.get(setting).map_or(&[], Vec::as_slice)
    }

    /// Remembers that a run could not be read.
    pub(crate) fn note(&self, error: ReportError) {
        // The first one says enough.
        let _ = self.unread.set(error);
    }

    /// All of them, setting by setting, if all could be read that was wanted.
    pub(crate) fn read(self) -> Result<Vec<Vec<Outcome<Finished>>>, ReportError> {
        match self.unread.into_inner() {
            None => Ok(self.by_setting),
            Some(error) => Err(error),
        }
    }
}

/// A published work that can be reproduced, read and checked.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// Its name, as on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// A few sentences for people.
    pub description: String,
    /// Where it was published.
    pub source: String,
    /// Its settings. Never empty.
    pub settings: Vec<Setting>,
    /// What it found.
    pub claims: Vec<Claim>,
    pub(crate) words: Vocabulary,
    pub(crate) charts: Vec<ChartPlan>,
    pub(crate) tables: Vec<TablePlan>,
    /// A world by its name in the text, and what it is called here ([`Study::called`]).
    pub(crate) called: Option<(WorldName, WorldName)>,
    /// What is set from outside in its scenarios ([`Study::with_set`]).
    pub(crate) changes: Option<Changes>,
    /// The text of `study.toml`.
    pub text: String,
    /// Names and texts of all files of its folder that it is made of.
    pub files: Vec<(String, String)>,
}

/// Where values come from that were measured elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Provenance {
    /// Their name in the study.
    pub name: String,
    /// What made them.
    pub source: String,
    /// Their file, as it is named in messages.
    pub file: String,
}

/// One of the situations that a study looks at: a scenario, in each world that it runs in.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in the study.
    pub name: String,
    /// Whether `--quick` leaves it out.
    pub slow: bool,
    /// Whether only its claims' ids, or the wish for all settings, have it run.
    pub on_request: bool,
    /// Its scenarios. The first is that of the key `scenario`, the others may leave cells out.
    pub scenarios: ByWorld<Scenario>,
}

impl Setting {
    /// The scenario of the key `scenario`, which has all cells that claims ask for.
    pub fn scenario(&self) -> &Scenario {
        let first = self.scenarios.values().next();
        first.expect("a setting is read with its scenario")
    }
}

/// One finding of a study.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `R1`, for example.
    pub id: String,
    /// Index of the setting that it is about.
    pub setting: usize,
    /// What was found, in words.
    pub statement: String,
    /// The published values, in words.
    pub published: String,
    /// Whether it is not a statement of the source, but one of ours beside them.
    pub own: bool,
    /// The least number of seeds that it can be judged with.
    pub seeds: usize,
    /// The worlds that it can be judged in; empty: all.
    pub worlds: Vec<WorldName>,
    pub(crate) checks: Vec<Expected>,
}

/// A check, and the marks of its known deviations.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) text: String,
    pub(crate) check: Check,
    pub(crate) marks: Vec<Mark>,
}

fn rename(worlds: &mut [WorldName], world: &WorldName, name: &WorldName) {
    for known in worlds.iter_mut().filter(|known| *known == world) {
        *known = name.clone();
    }
}

/// An id that no claim of a study has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{study} has no claim `{id}`; {help}")]
pub struct NoClaim {
    study: String,
    id: String,
    help: String,
}

impl Study {
    /// With another name for a world: what the study says of `world` is said of `name`, which runs
    /// the same cells in another way.
    #[must_use]
    pub fn called(mut self, world: &WorldName, name: &WorldName) -> Self {
        for setting in &mut self.settings {
            if let Some(scenario) = setting.scenarios.shift_remove(world) {
                setting.scenarios.insert(name.clone(), scenario);
            }
        }
        for claim in &mut self.claims {
            rename(&mut claim.worlds, world, name);
            let marks = claim.checks.iter_mut().flat_map(|check| &mut check.marks);
            marks.for_each(|mark| rename(&mut mark.worlds, world, name));
        }
        self.called = Some((world.clone(), name.clone()));
        self
    }

    /// With the name that another study, which may be the same one of another time, has for a
    /// world.
    #[must_use]
    pub fn called_as_in(self, other: &Self) -> Self {
        match &other.called {
            Some((world, name)) => self.called(world, name),
            None => self,
        }
    }

    /// The values measured elsewhere that it is held against.
    pub fn references(&self) -> Vec<Provenance> {
        let recorded = self.words.recorded.iter();
        recorded
            .map(|recorded| Provenance {
                name: recorded.name.clone(),
                source: recorded.source.clone(),
                file: recorded.file.clone(),
            })
            .collect()
    }

    /// The queue that runs beside those that the study compares ([`Study::with_queue`]).
    pub fn another_queue(&self) -> Option<&str> {
        self.words.another.as_deref()
    }

    /// The claims with these ids, in the study's order; all of them when there is none.
    ///
    /// # Errors
    /// Names an id that no claim has.
    pub fn select(&self, ids: &[String]) -> Result<Vec<usize>, NoClaim> {
        let known: Vec<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(&id.as_str())) {
            return Err(NoClaim {
                study: self.name.clone(),
                id: id.clone(),
                help: suggestion(id, &known),
            });
        }
        let wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| wanted == id);
        Ok((0..known.len()).filter(|i| wanted(known[*i])).collect())
    }

    /// The cells of a setting with what they yielded; none when they yielded nothing.
    pub(crate) fn cells<'a>(
        &'a self,
        setting: usize,
        world: &WorldName,
        outcomes: &'a Outcomes,
    ) -> Option<Cells<'a>> {
        let scenario = self.settings[setting].scenarios.get(world)?;
        let some = outcomes.of(setting).iter().any(Result::is_ok);
        some.then(|| Cells::new(&scenario.cells, outcomes, setting))
    }
}
