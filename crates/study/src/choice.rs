//! Which claims of a study are asked for, and which of its runs they take.

use crate::study::{NoClaim, Outcomes, Setting, Study};
use sojourn_report::Finished;
use sojourn_scenario::Outcome;
use sojourn_world::{Cell, WorldName};

/// How much of a study is run when no claim is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Neither slow settings nor those that are run on request.
    Quick,
    /// All settings but those that are run on request.
    #[default]
    Usual,
    /// All settings.
    All,
}

impl Extent {
    fn has(self, setting: &Setting) -> bool {
        match self {
            Self::Quick => !setting.slow && !setting.on_request,
            Self::Usual => !setting.on_request,
            Self::All => true,
        }
    }
}

/// Claims of a study that are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Their indices, in the study's order.
    pub claims: Vec<usize>,
    /// The ids of those that this extent leaves out.
    pub left_out: Vec<String>,
    /// Indices of the settings that are run.
    settings: Vec<usize>,
}

/// The runs of a choice in one world.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// What is to be run.
    pub cells: Vec<&'a Cell>,
    /// Of each cell the index of its setting, and its own among the setting's.
    places: Vec<(usize, usize)>,
    settings: usize,
}

impl Choice {
    /// Indices of the settings that are run.
    pub(crate) fn settings(&self) -> &[usize] {
        &self.settings
    }
}

impl Study {
    /// The claims with these ids; when there is none, all that this extent has.
    ///
    /// # Errors
    /// Names an id that no claim has.
    pub fn choose(&self, ids: &[String], extent: Extent) -> Result<Choice, NoClaim> {
        let mut claims = self.select(ids)?;
        let mut left_out = Vec::new();
        if ids.is_empty() {
            claims.retain(|index| {
                let claim = &self.claims[*index];
                let is_in = extent.has(&self.settings[claim.setting]);
                left_out.extend((!is_in).then(|| claim.id.clone()));
                is_in
            });
        }
        let is_needed = |(number, setting): &(usize, &Setting)| {
            let mut claims = claims.iter().map(|index| &self.claims[*index]);
            let is_in = ids.is_empty() && extent.has(setting);
            is_in || claims.any(|claim| claim.setting == *number)
        };
        let settings = self.settings.iter().enumerate().filter(is_needed);
        Ok(Choice {
            settings: settings.map(|(number, _)| number).collect(),
            claims,
            left_out,
        })
    }

    /// The runs of a choice in one world; none where no setting is run there.
    pub fn runs(&self, choice: &Choice, world: &WorldName) -> Runs<'_> {
        let (mut cells, mut places) = (Vec::new(), Vec::new());
        for &number in &choice.settings {
            if let Some(scenario) = self.settings[number].scenarios.get(world) {
                cells.extend(&scenario.cells);
                places.extend((0..scenario.cells.len()).map(|place| (number, place)));
            }
        }
        Runs {
            cells,
            places,
            settings: self.settings.len(),
        }
    }
}

impl Runs<'_> {
    /// What these runs have yielded, in the order of the cells, by setting.
    pub fn outcomes<T: Into<Finished>>(self, outcomes: Vec<Outcome<T>>) -> Outcomes {
        let mut by_setting: Vec<Vec<Outcome<T>>> = (0..self.settings).map(|_| Vec::new()).collect();
        for ((setting, _), outcome) in self.places.into_iter().zip(outcomes) {
            by_setting[setting].push(outcome);
        }
        by_setting.into_iter().collect()
    }

    /// Of each cell the index of its setting, and its own among those of the setting in this world.
    pub fn places(&self) -> &[(usize, usize)] {
        &self.places
    }
}
