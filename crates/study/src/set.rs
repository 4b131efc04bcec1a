//! Fields of a study's scenarios that are set from outside: the same claims under a condition that
//! the study does not have.

use crate::changes::Changes;
use crate::choice::Choice;
use crate::study::{Setting, Study};
use sojourn_scenario::{Options, Problems, Scenario};

/// Why a field cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum NotSet {
    /// The study compares values of it.
    #[error(
        "--set {argument}: setting `{setting}` of {study} compares values of `{field}`, so none of \
         them can be the only one; run its scenario alone, or leave the field out"
    )]
    Compared {
        /// What was to be set.
        argument: String,
        /// The study.
        study: String,
        /// The setting.
        setting: String,
        /// The field whose values are compared.
        field: String,
    },
    /// A scenario refuses it.
    #[error(transparent)]
    Refused(#[from] Problems),
}

impl Study {
    /// Has fields set in every scenario of the settings that a choice runs. `options` are those
    /// that the study was read with. Its claims, and what it records of them, stay the same.
    ///
    /// # Errors
    /// When the study compares values of a field, or a scenario refuses a field or its value.
    pub fn with_set(
        self,
        fields: &[String],
        choice: &Choice,
        options: &Options,
    ) -> Result<Self, NotSet> {
        let settings = choice
            .settings()
            .iter()
            .map(|number| &self.settings[*number].name);
        let changes = Changes {
            fields: fields.to_vec(),
            settings: settings.cloned().collect(),
        };
        self.changed(changes, options)
    }

    /// The same of a study that is read again.
    ///
    /// # Errors
    /// As [`Study::with_set`].
    pub fn changed(mut self, changes: Changes, options: &Options) -> Result<Self, NotSet> {
        if changes.fields.is_empty() {
            return Ok(self);
        }
        let name = &self.name;
        let settings = self.settings.iter_mut();
        for setting in settings.filter(|it| changes.settings.contains(&it.name)) {
            change(setting, name, &changes.fields, options)?;
        }
        self.changes = Some(changes);
        Ok(self)
    }

    /// What is set from outside, and where ([`Study::with_set`]).
    pub fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }
}

/// Sets fields in the scenarios of a setting.
fn change(
    setting: &mut Setting,
    study: &str,
    fields: &[String],
    options: &Options,
) -> Result<(), NotSet> {
    for scenario in setting.scenarios.values_mut() {
        let axes: Vec<&str> = scenario.info.axes.iter().map(|it| &*it.field).collect();
        for argument in fields {
            let path = argument.split('=').next().unwrap_or_default().trim();
            if let Some(field) = axes.iter().find(|axis| touches(axis, path)) {
                return Err(NotSet::Compared {
                    argument: argument.clone(),
                    study: study.to_owned(),
                    setting: setting.name.clone(),
                    field: (*field).to_owned(),
                });
            }
        }
        let first = scenario.cells.first().and_then(|cell| cell.source.clone());
        let source = first.expect("it was read from a text");
        let options = Options {
            sets: fields.to_vec(),
            ..options.clone()
        };
        *scenario = Scenario::parse(&source.name, &source.text, &source.base, &options)?;
    }
    Ok(())
}

/// Whether one of two field paths is the other one, or within it.
fn touches(a: &str, b: &str) -> bool {
    let within = |whole: &str, part: &str| {
        let rest = part.strip_prefix(whole);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(a, b) || within(b, a)
}
