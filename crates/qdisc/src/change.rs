//! Why a live instance cannot take new parameters.

use crate::spec::Spec;
use core::fmt;

/// What a policy that is not of this crate is called.
pub(crate) const OWN: &str = "own";

/// Why a live instance cannot take a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The instance is of another kind: [`Spec::reconfigure`] puts a new one in its place.
    OtherKind {
        /// The instance's kind.
        is: &'static str,
        /// The kind asked for.
        wanted: &'static str,
    },
    /// What this option says is fixed when the instance is made.
    Fixed {
        /// tc's name.
        option: &'static str,
    },
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherKind { is, wanted } => {
                write!(f, "a live {is} cannot become {wanted}; replace it")
            }
            Self::Fixed { option } => {
                write!(f, "`{option}` cannot change on a live instance; replace it")
            }
        }
    }
}

impl core::error::Error for ChangeError {}

/// Whether a live instance of `own` can take the numbers of `wanted`.
///
/// # Errors
/// [`ChangeError::OtherKind`] when both are not of the same kind.
pub(crate) fn alike(own: Option<&Spec>, wanted: &Spec) -> Result<(), ChangeError> {
    let Some(own) = own else {
        return Err(other(OWN, wanted));
    };
    if !own.is_like(wanted) {
        return Err(other(own.name(), wanted));
    }
    match (own.unsteered(), wanted.unsteered()) {
        (Some(own), Some(wanted)) => alike(Some(&own), &wanted),
        _ => Ok(()),
    }
}

/// Whether all stays the same that the options named beside it fix at construction.
///
/// # Errors
/// [`ChangeError::Fixed`] with the first option that would change it.
pub(crate) fn unchanged<const N: usize>(
    fixed: [(bool, &'static str); N],
) -> Result<(), ChangeError> {
    let changed = fixed.into_iter().find(|(is_same, _)| !is_same);
    changed.map_or(Ok(()), |(_, option)| Err(ChangeError::Fixed { option }))
}

fn other(is: &'static str, wanted: &Spec) -> ChangeError {
    let wanted = wanted.name();
    ChangeError::OtherKind { is, wanted }
}
