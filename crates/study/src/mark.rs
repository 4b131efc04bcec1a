//! Marks of known deviations: where each one holds, how far it may go, and what an independent
//! reference says.

use crate::claims::Check;
use sojourn_world::WorldName;
use std::fmt;
use std::ops::RangeInclusive;

/// A known deviation of a check.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Why the check is known to fail, in a sentence.
    pub(crate) why: String,
    /// The worlds that it holds for; empty: all.
    pub(crate) worlds: Vec<WorldName>,
    /// The numbers of seeds that it holds for.
    pub(crate) seeds: RangeInclusive<usize>,
    /// How far the deviation may go: outside of it the check fails. None in the copies of studies
    /// that older programs kept beside results.
    pub(crate) within: Option<Check>,
    /// That as it was written.
    pub(crate) bound: String,
    /// What was measured elsewhere.
    pub(crate) reference: Option<Reference>,
}

impl Mark {
    /// Whether it holds for a world and so many seeds.
    pub(crate) fn applies(&self, world: &WorldName, seeds: usize) -> bool {
        let here = self.worlds.is_empty() || self.worlds.contains(world);
        here && self.seeds.contains(&seeds)
    }

    /// What it holds for beside the world, in a few words; empty when that is all.
    #[cfg(test)]
    pub(crate) fn condition(&self) -> String {
        match (*self.seeds.start(), *self.seeds.end()) {
            (1, usize::MAX) => String::new(),
            (1, 1) => "one seed alone".into(),
            (least, usize::MAX) => format!("{least} seeds or more"),
            (least, most) => format!("{least} to {most} seeds"),
        }
    }
}

/// What an independent implementation says of a deviation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Whom it agrees with.
    pub agrees: Agreement,
    /// What it is and what it gave, in a sentence.
    pub says: String,
}

sojourn_units::words! {
    /// Whom an independent reference agrees with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Agreement {
        /// With us: it deviates from the study as we do.
        Us = "us",
        /// Nothing was measured.
        None = "none",
        /// With neither.
        Neither = "neither",
        /// With the study, against us.
        Study = "study",
    }
}

/// Of the deviations of a study in one world: how many the references confirm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreements {
    /// In the order of [`Agreement::ALL`].
    pub counts: [usize; Agreement::ALL.len()],
}

impl Agreements {
    /// Counts one.
    pub(crate) fn add(&mut self, agreement: Agreement) {
        self.counts[agreement as usize] += 1;
    }

    /// How many agree so.
    pub const fn of(&self, agreement: Agreement) -> usize {
        self.counts[agreement as usize]
    }
}

impl fmt::Display for Agreements {
    /// As the end of "3 deviate": who confirms them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [us, none, neither, study] = Agreement::ALL.map(|agreement| self.of(agreement));
        if us + none + neither + study == 0 {
            return Ok(());
        }
        write!(f, " (an independent reference agrees with us in {us}")?;
        for (count, whom) in [(study, "with the study in"), (neither, "with neither in")] {
            if count > 0 {
                write!(f, ", {whom} {count}")?;
            }
        }
        match none {
            0 => write!(f, ")"),
            none => write!(f, "; there is none for {none})"),
        }
    }
}
