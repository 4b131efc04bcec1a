//! A tree of rates by its classes.

use super::bucket::UNLIMITED;
use super::schedule::OWN;
use crate::spec::Spec;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use sojourn_units::Rate;

/// Most classes above one another.
const DEEPEST: u8 = 30;

/// A class of a tree of rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeClass {
    /// What it is called; among leaves and among other classes each name is there once.
    pub name: Box<str>,
    /// Number of the class above, which comes earlier in the list; none: the link.
    pub parent: Option<u32>,
    /// Guaranteed rate, whatever its siblings do. Zero: none.
    pub rate: Rate,
    /// What it may have with what it borrows; not below `rate`. None: no limit.
    pub ceil: Option<Rate>,
    /// For a leaf, the number of its queue in the list of queues; none has classes below.
    pub queue: Option<u16>,
}

/// A tree of rates: classes, and the queues that leaves have.
///
/// Rates of siblings that together exceed their parent's are cut in proportion, since HTB's
/// classes send at their own rates whatever is left of their parent's; turns of borrowing stay in
/// proportion to what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeSpec {
    classes: Vec<TreeClass>,
    queues: Vec<Spec>,
    /// Numbers of classes by [`key`].
    by_name: Vec<u32>,
}

/// Leaves and other classes have names of their own.
fn key(class: &TreeClass) -> (bool, &str) {
    (class.queue.is_some(), &class.name)
}

/// What is wrong with a tree of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeError {
    /// The class, by its number.
    pub class: u32,
    /// What is wrong with it.
    pub fault: TreeFault,
}

/// What is wrong with a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFault {
    /// The class above is a leaf, or does not come earlier.
    Parent,
    /// Its `ceil` is below its `rate`, or zero.
    Ceil,
    /// Another one like it has the name.
    Name,
    /// The tree is too deep.
    Depth,
    /// There is no such queue.
    Queue,
}

impl fmt::Display for TreeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parent => f.write_str("the class above is a leaf, or comes later"),
            Self::Ceil => f.write_str("the most it may have is zero, or below what it has"),
            Self::Name => f.write_str("another one has the same name"),
            Self::Depth => write!(f, "more than {DEEPEST} classes are above one another"),
            Self::Queue => f.write_str("there is no queue of its number"),
        }
    }
}

impl core::error::Error for TreeError {}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "class {}: {}", self.class, self.fault)
    }
}

impl TreeSpec {
    /// A tree. `queues` has at least one: the first is that of packets of no leaf.
    ///
    /// # Errors
    /// The first class with a fault.
    pub fn new(classes: Vec<TreeClass>, queues: Vec<Spec>) -> Result<Self, TreeError> {
        let error = |class: usize, fault| TreeError {
            class: class as u32,
            fault,
        };
        if queues.is_empty() {
            return Err(error(0, TreeFault::Queue));
        }
        let mut depths = Vec::<u8>::with_capacity(classes.len());
        for (number, class) in classes.iter().enumerate() {
            let depth = match class.parent.map(|parent| parent as usize) {
                None => 1,
                Some(parent) if parent >= number || classes[parent].queue.is_some() => {
                    return Err(error(number, TreeFault::Parent));
                }
                Some(parent) => depths[parent] + 1,
            };
            if depth > DEEPEST {
                return Err(error(number, TreeFault::Depth));
            }
            depths.push(depth);
            if class
                .ceil
                .is_some_and(|ceil| ceil.is_zero() || ceil < class.rate)
            {
                return Err(error(number, TreeFault::Ceil));
            }
            if class
                .queue
                .is_some_and(|queue| usize::from(queue) >= queues.len())
            {
                return Err(error(number, TreeFault::Queue));
            }
        }
        let mut by_name: Vec<u32> = (0..classes.len() as u32).collect();
        by_name.sort_by_key(|&number| key(&classes[number as usize]));
        for pair in by_name.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|number| &classes[number as usize]);
            if key(a) == key(b) {
                return Err(error(pair[1] as usize, TreeFault::Name));
            }
        }
        Ok(Self {
            classes,
            queues,
            by_name,
        })
    }

    /// The classes, each after the one above it.
    pub fn classes(&self) -> &[TreeClass] {
        &self.classes
    }

    /// The queues of leaves; the first is also that of packets of no leaf.
    pub fn queues(&self) -> &[Spec] {
        &self.queues
    }

    /// The same tree with other queues, as many or more.
    ///
    /// # Errors
    /// As [`TreeSpec::new`].
    pub fn with_queues(&self, queues: Vec<Spec>) -> Result<Self, TreeError> {
        Self::new(self.classes.clone(), queues)
    }

    /// The leaf of this name, or else the class.
    pub fn find(&self, name: &str) -> Option<u32> {
        [true, false].into_iter().find_map(|is_leaf| {
            let wanted = (is_leaf, name);
            let found = self
                .by_name
                .binary_search_by_key(&wanted, |&number| key(&self.classes[number as usize]));
            found.ok().map(|at| self.by_name[at])
        })
    }

    /// Leaves.
    pub fn leaves(&self) -> usize {
        let leaves = self.classes.iter().filter(|class| class.queue.is_some());
        leaves.count()
    }

    /// The queue that a leaf is to have, by its number in the schedule, and what it is called.
    pub(super) fn leaf(&self, number: u32) -> (&Spec, &str) {
        let class = number
            .checked_sub(OWN)
            .map(|number| &self.classes[number as usize]);
        let queue = class.and_then(|class| class.queue).unwrap_or_default();
        let called = class.map_or("others", |class| &class.name);
        (&self.queues[usize::from(queue)], called)
    }

    /// For each class of this tree that was in `old` too, in the order of names: its number here
    /// and there.
    pub(super) fn same<'a>(&'a self, old: &'a Self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let mut before = old.by_name.iter().copied().peekable();
        self.by_name.iter().filter_map(move |&number| {
            let wanted = key(&self.classes[number as usize]);
            while before
                .next_if(|&other| key(&old.classes[other as usize]) < wanted)
                .is_some()
            {}
            let same = before.next_if(|&other| key(&old.classes[other as usize]) == wanted);
            same.map(|other| (number, other))
        })
    }

    /// Guaranteed rate of each class, once those of siblings fit into their parent's.
    pub(super) fn assured(&self) -> Vec<Rate> {
        let bps = |rate: Rate| u128::from(rate.as_bps());
        let mut sums = alloc::vec![0_u128; self.classes.len()];
        for class in &self.classes {
            if let Some(parent) = class.parent {
                sums[parent as usize] += bps(class.rate);
            }
        }
        let mut assured: Vec<Rate> = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let rate = match class.parent.map(|parent| parent as usize) {
                Some(parent) if sums[parent] > bps(assured[parent]) => {
                    let share = bps(class.rate) * bps(assured[parent]) / sums[parent];
                    Rate::from_bps(u64::try_from(share).unwrap_or(u64::MAX))
                }
                _ => class.rate,
            };
            assured.push(rate);
        }
        assured
    }
}

impl TreeClass {
    pub(super) fn most(&self) -> Rate {
        self.ceil.unwrap_or(UNLIMITED)
    }
}

impl fmt::Display for TreeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaves = self.leaves();
        let above = self.classes.len() - leaves;
        write!(
            f,
            "tree of {above} classes and {leaves} leaves over {}",
            self.queues[0]
        )
    }
}
