//! The routes of all nodes.
//!
//! By target, and by node within: a question that goes through the network makes a route to its
//! origin at all nodes, one neighbour after the other. Their routes are side by side, in the
//! processor's caches meanwhile. Thousands of nodes with a table each, of hundreds of targets, are
//! in no cache.

use super::route::Route;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_memory::fetch;

/// Nodes whose routes are side by side. Where only few nodes hear of a target, the rest takes no
/// memory.
const BLOCK: usize = 64;

/// By node, and by block before.
type Blocks = Vec<Box<[Option<Route>]>>;

#[derive(Clone, Debug)]
pub(super) struct Table {
    /// By target. Without blocks where no node knows one, and an empty block where none of it does.
    targets: Vec<Blocks>,
    /// By node: the targets that it knows.
    known: Vec<Vec<u32>>,
}

impl Table {
    /// Of so many nodes, which know none.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            targets: vec![Vec::new(); nodes],
            known: vec![Vec::new(); nodes],
        }
    }

    /// What a node knows of a target.
    #[inline]
    pub(super) fn get(&self, node: u32, target: u32) -> Option<&Route> {
        let node = node as usize;
        let block = self.targets[target as usize].get(node / BLOCK)?;
        block.get(node % BLOCK)?.as_ref()
    }

    /// Asks for the memory of the same.
    #[inline]
    pub(super) fn fetch(&self, node: u32, target: u32) {
        let node = node as usize;
        let block = self.targets[target as usize].get(node / BLOCK);
        if let Some(route) = block.and_then(|block| block.get(node % BLOCK)) {
            fetch(route);
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, node: u32, target: u32) -> Option<&mut Route> {
        let node = node as usize;
        let block = self.targets[target as usize].get_mut(node / BLOCK)?;
        block.get_mut(node % BLOCK)?.as_mut()
    }

    /// A node's route to a target; `new` makes it if there is none.
    #[inline]
    pub(super) fn get_or_insert_with(
        &mut self,
        node: u32,
        target: u32,
        new: impl FnOnce() -> Route,
    ) -> &mut Route {
        if self.get(node, target).is_none() {
            self.make_room(node, target);
        }
        let blocks = &mut self.targets[target as usize];
        let slot = &mut blocks[node as usize / BLOCK][node as usize % BLOCK];
        slot.get_or_insert_with(new)
    }

    /// A node is going to know a target.
    #[inline(never)]
    fn make_room(&mut self, node: u32, target: u32) {
        let nodes = self.known.len();
        let blocks = &mut self.targets[target as usize];
        if blocks.is_empty() {
            blocks.resize(nodes.div_ceil(BLOCK), Box::default());
        }
        let block = &mut blocks[node as usize / BLOCK];
        if block.is_empty() {
            *block = vec![None; nodes.min(BLOCK)].into_boxed_slice();
        }
        self.known[node as usize].push(target);
    }

    /// The targets that a node knows, ascending.
    pub(super) fn known(&mut self, node: u32) -> Vec<u32> {
        let known = &mut self.known[node as usize];
        known.sort_unstable();
        known.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;
    use sojourn_units::Time;

    proptest! {
        #[test]
        fn is_a_map_at_each_node(
            nodes in 1..200_u32,
            steps in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..60_u32, 0..3_u8, any::<u32>()),
                0..300,
            ),
        ) {
            let (mut table, mut model) = (Table::new(nodes as usize), BTreeMap::new());
            for (node, target, step, value) in steps {
                let (node, target) = (node.index(nodes as usize) as u32 / 3, target % nodes);
                let new = || Route::new(value, 0, 1, Time::ZERO);
                match step {
                    0 => {
                        let ours = table.get_or_insert_with(node, target, new).next;
                        prop_assert_eq!(ours, *model.entry((node, target)).or_insert(value));
                    }
                    1 => {
                        if let Some(route) = table.get_mut(node, target) {
                            route.next = value;
                        }
                        model.entry((node, target)).and_modify(|next| *next = value);
                    }
                    _ => {
                        let ours = table.get(node, target).map(|route| route.next);
                        prop_assert_eq!(ours, model.get(&(node, target)).copied());
                    }
                }
                let of_node = model.keys().filter(|(other, _)| *other == node);
                let wanted: Vec<u32> = of_node.map(|(_, target)| *target).collect();
                prop_assert_eq!(table.known(node), wanted);
            }
        }
    }
}
