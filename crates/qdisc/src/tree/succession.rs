//! How a tree takes the place of another one while packets wait.
//!
//! What both have in common is found out when the new tree is built, by whoever has the time: the
//! moment of the change costs a look at each class, builds nothing and gives nothing up. Leaves
//! that are to have another queue get it one by one, with the packets that follow.

use super::schedule::{LINK, OTHERS, OWN};
use super::{Tree, TreeSpec};
use crate::packet::Packet;
use crate::qdisc::Qdisc;
use crate::setting::Setting;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_units::Time;

/// What a tree has in common with the one before it; classes by their numbers in the schedule.
#[derive(Clone)]
pub(super) struct Origin {
    before: Arc<TreeSpec>,
    /// Classes of both, here and there, in the order of here: each after the one above it.
    same: Vec<(u32, u32)>,
    /// Leaves that are to have another queue than there.
    others: Vec<u32>,
    /// Leaves that were there.
    gone: Vec<u32>,
}

impl Origin {
    fn of(spec: &TreeSpec, before: &Arc<TreeSpec>) -> Self {
        let listed = spec.same(before).map(|(new, was)| (new + OWN, was + OWN));
        let mut same: Vec<_> = listed.chain([(LINK, LINK), (OTHERS, OTHERS)]).collect();
        same.sort_unstable();
        let is_other = |&&(new, was): &&(u32, u32)| spec.leaf(new).0 != before.leaf(was).0;
        let others = same.iter().filter(is_other).map(|&(new, _)| new).collect();
        let mut stays = alloc::vec![false; before.classes().len() + OWN as usize];
        for &(_, was) in &same {
            stays[was as usize] = true;
        }
        let gone = (0..).zip(&stays).filter(|(_, stays)| !**stays);
        Self {
            before: Arc::clone(before),
            gone: gone.map(|(number, _)| number).collect(),
            same,
            others,
        }
    }
}

impl<P: Packet + 'static> Tree<P> {
    /// As [`Tree::new`], of a tree that is to take the place of one of `before`.
    pub fn after(spec: Arc<TreeSpec>, before: &Arc<TreeSpec>, setting: Setting<'_>) -> Self {
        let origin = Origin::of(&spec, before);
        let mut tree = Self::new(spec, setting);
        tree.origin = Some(origin);
        tree
    }

    /// Takes over the classes of `old` that are still there, and all that was held.
    pub(crate) fn follow(&mut self, old: &mut Self, now: Time) {
        let known = self
            .origin
            .take()
            .filter(|origin| Arc::ptr_eq(&origin.before, &old.spec));
        let origin = known.unwrap_or_else(|| Origin::of(&self.spec, &old.spec));
        for &number in &origin.others {
            self.leaves[number as usize].is_outdated = true;
        }
        for &(number, was) in &origin.same {
            let (new, was) = (number as usize, was as usize);
            self.schedule.classes[new].succeed(&old.schedule.classes[was], now);
            let is_other = self.leaves[new].is_outdated;
            core::mem::swap(&mut self.leaves[new], &mut old.leaves[was]);
            self.leaves[new].is_outdated |= is_other;
            self.go_on(number, now);
        }
        // Circuits that are gone: what they hold leaves with what is nobody's.
        let mut held = Vec::new();
        for &number in &origin.gone {
            let queue = old.leaves[number as usize].queue.as_mut();
            held.extend(queue.into_iter().flat_map(Qdisc::drain));
        }
        self.hand_over(OTHERS, held, now);
        self.counters = old.counters;
        // Given up with the old one.
        old.origin = Some(origin);
    }

    /// Has a leaf that was taken over stand in line, and get its queue later if it is another.
    fn go_on(&mut self, number: u32, now: Time) {
        let leaf = &mut self.leaves[number as usize];
        leaf.is_listed = false;
        if leaf.queue.is_none() {
            leaf.is_outdated = false;
            return;
        }
        if leaf.is_outdated {
            self.outdated.push(number);
        }
        if leaf.holds() {
            self.schedule.activate(number, now);
        } else {
            self.has_emptied(number, now);
        }
    }

    /// Gives a leaf the queue that it is to have; one at a time, since it may have to be built.
    pub(super) fn renew(&mut self, now: Time) {
        let Some(number) = self.outdated.pop() else {
            return;
        };
        let (spec, called) = self.spec.leaf(number);
        let name = alloc::format!("{}.{called}", self.name);
        let leaf = &mut self.leaves[number as usize];
        leaf.is_outdated = false;
        if let Some(queue) = &mut leaf.queue {
            spec.reconfigure(queue, self.setting.named(&name), now);
        }
        if self.schedule.is_active(number) {
            // What the old queue said of its next packet does not bind the new one.
            self.schedule.hold(number, Time::ZERO, now);
        }
    }
}
