//! What a world is called.

use std::borrow::Cow;
use std::fmt;

/// A world's name, as on the command line and in results: `sim`, for example.
///
/// Each world says its own; nobody else needs to know which there are, but the program's table of
/// worlds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldName(Cow<'static, str>);

/// What there is one of for each world, in the order in which the worlds were put in: the first is
/// the one that the others are held against.
pub type ByWorld<T> = indexmap::IndexMap<WorldName, T>;

impl WorldName {
    /// The name of a world of this program.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// A name that stands in a file; none when it cannot be one: small letters, digits and `-`.
    pub fn parse(name: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (!name.is_empty() && name.chars().all(fits)).then(|| Self(name.to_owned().into()))
    }

    /// The name alone.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
