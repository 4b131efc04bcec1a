//! What a station knows of some others, by their numbers.
//!
//! Why not `BTreeMap`: every packet looks up its target and its next station several times. The
//! numbers of the few stations that one knows are side by side here, within a cache line or two.

use alloc::vec::Vec;
use core::ops::Index;

/// Entries in the order of their nodes. Memory is that of the entries.
#[derive(Clone, Debug)]
pub(crate) struct ByNode<T> {
    /// Ascending.
    nodes: Vec<u32>,
    /// In the same order.
    entries: Vec<T>,
    /// Place of the one that was looked up last to be changed: most often that is wanted again.
    last: usize,
}

impl<T> ByNode<T> {
    /// Without any.
    pub(crate) const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            entries: Vec::new(),
            last: 0,
        }
    }

    /// Where a node's entry is, or belongs.
    #[inline]
    fn place(&self, node: u32) -> Result<usize, usize> {
        if self.nodes.get(self.last) == Some(&node) {
            return Ok(self.last);
        }
        self.nodes.binary_search(&node)
    }

    #[inline]
    pub(crate) fn get(&self, node: u32) -> Option<&T> {
        self.place(node).ok().map(|place| &self.entries[place])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, node: u32) -> Option<&mut T> {
        self.last = self.place(node).ok()?;
        Some(&mut self.entries[self.last])
    }

    /// All entries, by node.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// A node's entry; `new` makes it if it has none.
    #[inline]
    pub(crate) fn get_or_insert_with(&mut self, node: u32, new: impl FnOnce() -> T) -> &mut T {
        let place = self.place(node).unwrap_or_else(|place| {
            self.nodes.insert(place, node);
            self.entries.insert(place, new());
            place
        });
        self.last = place;
        &mut self.entries[place]
    }

    /// All, in the order of their nodes.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.nodes.iter().copied().zip(&mut self.entries)
    }
}

impl<T> Index<u32> for ByNode<T> {
    type Output = T;

    fn index(&self, node: u32) -> &T {
        self.get(node).expect("a node that is known")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_sorted_map(steps in prop::collection::vec((0..40_u32, 0..3_u8, any::<u8>()), 0..200)) {
            let (mut map, mut model) = (ByNode::new(), BTreeMap::new());
            for (node, step, value) in steps {
                match step {
                    0 => {
                        let ours = *map.get_or_insert_with(node, || value);
                        prop_assert_eq!(ours, *model.entry(node).or_insert(value));
                    }
                    1 => {
                        let entries = map.get_mut(node).into_iter().chain(model.get_mut(&node));
                        entries.for_each(|entry| *entry = value);
                    }
                    _ => prop_assert_eq!(map.get(node), model.get(&node)),
                }
                let ours: Vec<_> = map.iter_mut().map(|(node, value)| (node, *value)).collect();
                let wanted: Vec<_> = model.iter().map(|(node, value)| (*node, *value)).collect();
                prop_assert_eq!(ours, wanted);
            }
        }
    }
}
