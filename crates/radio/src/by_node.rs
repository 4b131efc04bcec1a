//! What a station knows of some others, by their numbers.
//!
//! Why not `BTreeMap`: every packet looks up its next station. The numbers of the few stations that
//! one knows are side by side here, within a cache line or two.

use alloc::vec::Vec;

/// Entries in the order of their nodes. Memory is that of the entries.
#[derive(Clone, Debug)]
pub(crate) struct ByNode<T> {
    /// Ascending.
    nodes: Vec<u32>,
    /// In the same order.
    entries: Vec<T>,
    /// Place of the one that was looked up last: most often that is wanted again.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_sorted_map(steps in prop::collection::vec((0..40_u32, any::<bool>(), any::<u8>()), 0..200)) {
            let (mut map, mut model) = (ByNode::new(), BTreeMap::new());
            for (node, changes, value) in steps {
                let ours = map.get_or_insert_with(node, || value);
                let wanted = model.entry(node).or_insert(value);
                prop_assert_eq!(*ours, *wanted);
                if changes {
                    (*ours, *wanted) = (!value, !value);
                }
                prop_assert!(map.entries().eq(model.values()));
            }
        }
    }
}
