//! Whether a comparison holds, from the values of all seeds.

use sojourn_report::OverSeeds;

/// Whether a comparison holds; the smaller outweighs the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    Fails,
    /// The 95 % interval of the difference holds zero.
    Open,
    Holds,
}

impl Finding {
    pub(crate) const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Of two figures, by how much each seed has them in the order that is asked for. One seed has
    /// no interval: there the difference decides.
    pub(super) fn of_differences(differences: &[f64], or_equal: bool) -> Self {
        // No value fulfils no comparison.
        if differences.iter().any(|difference| !difference.is_finite()) {
            return Self::Fails;
        }
        if differences.iter().all(|difference| *difference == 0.0) {
            return Self::of(or_equal);
        }
        let Some(over) = OverSeeds::of(differences.iter().copied()) else {
            return Self::Fails;
        };
        let half = over.ci95.unwrap_or(0.0);
        if over.mean - half > 0.0 {
            Self::Holds
        } else if over.mean + half < 0.0 || over.ci95.is_none() {
            Self::Fails
        } else {
            Self::Open
        }
    }

    /// What stands before the sign of a comparison.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Fails => "not ",
            Self::Open => "perhaps ",
            Self::Holds => "",
        }
    }
}
