//! What there is one of for each world.

use crate::name::WorldName;

/// A map from worlds to what each has, in the order in which the worlds were put in: the first is
/// the one that the others are held against.
#[derive(Clone, Debug, PartialEq)]
pub struct ByWorld<T>(Vec<(WorldName, T)>);

impl<T> Default for ByWorld<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByWorld<T> {
    /// What a world has.
    pub fn get(&self, world: &WorldName) -> Option<&T> {
        let mut all = self.iter();
        all.find_map(|(name, value)| (name == world).then_some(value))
    }

    /// Gives a world what it has; what it had before is gone.
    pub fn insert(&mut self, world: WorldName, value: T) {
        match self.0.iter_mut().find(|(name, _)| *name == world) {
            Some((_, known)) => *known = value,
            None => self.0.push((world, value)),
        }
    }

    /// What the first world has.
    pub fn first(&self) -> Option<&T> {
        self.0.first().map(|(_, value)| value)
    }

    /// All worlds with what they have, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = (&WorldName, &T)> {
        self.0.iter().map(|(world, value)| (world, value))
    }

    /// All worlds that have something.
    pub fn worlds(&self) -> impl Iterator<Item = &WorldName> {
        self.0.iter().map(|(world, _)| world)
    }

    /// How many worlds have something.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no world has anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(WorldName, T)> for ByWorld<T> {
    fn from_iter<I: IntoIterator<Item = (WorldName, T)>>(pairs: I) -> Self {
        let mut all = Self::default();
        for (world, value) in pairs {
            all.insert(world, value);
        }
        all
    }
}

impl<T> IntoIterator for ByWorld<T> {
    type Item = (WorldName, T);
    type IntoIter = std::vec::IntoIter<(WorldName, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
