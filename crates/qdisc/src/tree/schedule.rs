//! Which leaf is next: classes, their tokens, and who borrows from whom.
//!
//! Source: Linux `sch_htb.c` (`htb_lookup_leaf`, `htb_charge_class`, `htb_change_class_mode`) for
//! lending; P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queuing", SIGCOMM 1996, for turns.
//!
//! An active class has its own tokens and stands in the row of its level, or has none, may borrow,
//! and stands in the feed of its parent, or may not and waits for a timer. A class that is no leaf
//! is active while somebody stands in its feed. The lowest row with somebody in it is served.
//!
//! Who is next in a row or a feed says a tag: the time that the class would have taken so far at
//! its own rate. It keeps its tag when it leaves and comes back, as it does with every packet's
//! worth of its own tokens: a place in a round would be lost then, and with it the proportion.

use super::bucket::{Bucket, UNLIMITED};
use super::heap::{Heap, NOWHERE};
use super::spec::TreeSpec;
use crate::accounts::Tally;
use alloc::vec::Vec;
use sojourn_units::{Rate, Time, TxClock};

/// No class.
const NONE: u32 = u32::MAX;
/// The link, above all others.
pub(super) const LINK: u32 = 0;
/// The leaf of packets that are of no other; it borrows all it gets from the link.
pub(super) const OTHERS: u32 = 1;
/// Classes that are not in the spec.
pub(super) const OWN: u32 = 2;
/// Leaves are at level 0, the link at the highest, and between them a class has the level below
/// its parent's.
const LEVELS: usize = 32;
/// What turns are in proportion to where nobody has a rate of its own.
const ANY: Rate = Rate::from_bps(1_000_000);

/// Where an active class stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// It waits for a timer.
    None,
    /// In the row of its level.
    Row,
    /// In the feed of its parent.
    Feed,
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    parent: u32,
    /// Of one that is no leaf, the number of its feed.
    feed: u32,
    level: u8,
    line: Line,
    is_active: bool,
    /// At its own rate, or that of the slowest sibling if it has none.
    turns: TxClock,
    row_tag: Time,
    feed_tag: Time,
    /// Its queue holds packets back until then.
    held: Time,
    rate: Bucket,
    ceil: Bucket,
    /// What has left through it.
    pub(super) sent: Tally,
    /// Packets that left on its own tokens.
    pub(super) lent: u64,
    /// Packets that left on tokens of a class above.
    pub(super) borrowed: u64,
}

impl Class {
    fn new(parent: u32, level: u8, [rate, ceil]: [Rate; 2], turns: Rate) -> Self {
        Self {
            parent,
            feed: NONE,
            level,
            line: Line::None,
            is_active: false,
            turns: TxClock::new(turns),
            row_tag: Time::ZERO,
            feed_tag: Time::ZERO,
            held: Time::ZERO,
            rate: Bucket::full(rate),
            ceil: Bucket::full(ceil),
            sent: Tally::default(),
            lent: 0,
            borrowed: 0,
        }
    }

    pub(super) const fn is_leaf(&self) -> bool {
        self.level == 0
    }

    /// Goes on where `old` was, which is the same class under other parameters.
    pub(super) fn succeed(&mut self, old: &Self, now: Time) {
        self.rate.succeed(&old.rate, now);
        self.ceil.succeed(&old.ceil, now);
        (self.sent, self.lent, self.borrowed) = (old.sent, old.lent, old.borrowed);
    }
}

/// A row or a feed.
#[derive(Clone, Debug, Default)]
struct Queue {
    heap: Heap,
    /// The tag of whoever was last served: none who comes has an earlier one.
    served: Time,
}

#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) classes: Vec<Class>,
    /// Rows by level, then feeds.
    lines: Vec<Queue>,
    /// Where each class is in the line that it stands in.
    places: Vec<u32>,
    /// Rows with somebody in them, a bit each.
    busy: u32,
    timers: Heap,
    timer_places: Vec<u32>,
}

impl Schedule {
    pub(super) fn new(spec: &TreeSpec) -> Self {
        let listed = spec.classes();
        let at = |parent: Option<u32>| parent.map_or(LINK, |parent| parent + OWN);
        let mut slowest = alloc::vec![None::<Rate>; listed.len() + OWN as usize];
        for class in listed.iter().filter(|class| !class.rate.is_zero()) {
            let slowest = &mut slowest[at(class.parent) as usize];
            *slowest = Some(slowest.map_or(class.rate, |rate| rate.min(class.rate)));
        }
        let of_siblings = |parent: u32| slowest[parent as usize].unwrap_or(ANY);
        let mut classes = Vec::with_capacity(slowest.len());
        let top = LEVELS as u8 - 1;
        classes.push(Class::new(NONE, top, [UNLIMITED; 2], ANY));
        classes.push(Class::new(
            LINK,
            0,
            [Rate::ZERO, UNLIMITED],
            of_siblings(LINK),
        ));
        for (class, assured) in listed.iter().zip(spec.assured()) {
            let parent = at(class.parent);
            let level = match class.queue {
                Some(_) => 0,
                None => classes[parent as usize].level - 1,
            };
            let turns = Some(class.rate)
                .filter(|rate| !rate.is_zero())
                .unwrap_or_else(|| of_siblings(parent));
            classes.push(Class::new(parent, level, [assured, class.most()], turns));
        }
        let mut lines = LEVELS as u32;
        for class in classes.iter_mut().filter(|class| !class.is_leaf()) {
            class.feed = lines;
            lines += 1;
        }
        Self {
            lines: alloc::vec![Queue::default(); lines as usize],
            places: alloc::vec![NOWHERE; classes.len()],
            busy: 0,
            timers: Heap::default(),
            timer_places: alloc::vec![NOWHERE; classes.len()],
            classes,
        }
    }

    fn class(&mut self, number: u32) -> &mut Class {
        &mut self.classes[number as usize]
    }

    pub(super) fn is_active(&self, number: u32) -> bool {
        self.classes[number as usize].is_active
    }

    /// The next leaf, and whose tokens it leaves on; or when there will be one, [`Time::MAX`] for
    /// never.
    pub(super) fn next(&mut self, now: Time) -> Result<(u32, u32), Time> {
        while let Some(due) = self.timers.first().filter(|due| due.at <= now) {
            self.update(due.class, now);
        }
        let never = self.timers.first().map_or(Time::MAX, |due| due.at);
        if self.busy == 0 {
            return Err(never);
        }
        // The lowest row first: a class with tokens of its own comes before one that borrows, and
        // who borrows does it from the nearest class that has some (HTB's order).
        let mut line = self.busy.trailing_zeros();
        let mut lender = None;
        loop {
            let first = self.lines[line as usize].heap.first();
            debug_assert!(first.is_some(), "a line that is served has somebody in it");
            let number = first.ok_or(never)?.class;
            let lender = *lender.get_or_insert(number);
            let class = &self.classes[number as usize];
            if class.is_leaf() {
                return Ok((number, lender));
            }
            line = class.feed;
        }
    }

    /// A packet of `len` bytes leaves from a leaf on a lender's tokens, and others stay or not.
    pub(super) fn charge(&mut self, leaf: u32, lender: u32, len: u32, stays: bool, now: Time) {
        let from = self.classes[lender as usize].level;
        let mut number = leaf;
        while number != NONE {
            let class = self.class(number);
            class.sent.add(len);
            class.ceil.charge(len, now);
            // A ceiling bounds all that passes. Tokens are taken from the lender up: what was
            // borrowed leaves a class's own for its own turn.
            let is_lender = number == lender;
            class.lent += u64::from(is_lender);
            class.borrowed += u64::from(class.level < from);
            if class.level >= from {
                class.rate.charge(len, now);
            }
            let parent = class.parent;
            if self.classes[number as usize].level < from || is_lender {
                self.take_turn(number, len);
            }
            number = parent;
        }
        // The leaf first: whether it still borrows decides whether its parent is active.
        let mut above = self.classes[leaf as usize].parent;
        if stays {
            self.update(leaf, now);
        } else {
            self.deactivate(leaf);
        }
        while above != NONE {
            if self.is_active(above) {
                self.update(above, now);
            }
            above = self.classes[above as usize].parent;
        }
    }

    /// Of the class that is the first of its line.
    fn take_turn(&mut self, number: u32, len: u32) {
        let Some(line) = self.line_of(number) else {
            return;
        };
        let class = &mut self.classes[number as usize];
        let span = class.turns.advance(len);
        let tag = match class.line {
            Line::Row => &mut class.row_tag,
            _ => &mut class.feed_tag,
        };
        let line = &mut self.lines[line];
        // Start-time fair queuing: the line's virtual time is the start tag of who is served.
        line.served = *tag;
        *tag += span;
        line.heap.set(&mut self.places, number, *tag);
    }

    /// A leaf's queue gives nothing before `until`.
    pub(super) fn hold(&mut self, leaf: u32, until: Time, now: Time) {
        self.class(leaf).held = until;
        self.update(leaf, now);
    }

    /// Where a class is to stand, and until when.
    fn stand(&self, number: u32, now: Time) -> (Line, Time) {
        let class = &self.classes[number as usize];
        let (blocked, due) = (class.ceil.due().max(class.held), class.rate.due());
        if blocked > now {
            (Line::None, blocked)
        } else if due <= now {
            (Line::Row, Time::MAX)
        } else if class.parent == NONE {
            // The link has nobody to borrow from.
            (Line::None, due)
        } else {
            (Line::Feed, due)
        }
    }

    /// When a class is to be looked at again; [`Time::MAX`] is never.
    fn set_timer(&mut self, number: u32, at: Time) {
        if at == Time::MAX {
            self.timers.remove(&mut self.timer_places, number);
        } else {
            self.timers.set(&mut self.timer_places, number, at);
        }
    }

    /// A leaf has packets, or a class has somebody in its feed.
    pub(super) fn activate(&mut self, number: u32, now: Time) {
        let mut next = Some(number);
        while let Some(number) = next {
            debug_assert!(!self.is_active(number), "active already");
            self.class(number).is_active = true;
            let (line, until) = self.stand(number, now);
            self.set_timer(number, until);
            next = self.join(number, line);
        }
    }

    pub(super) fn deactivate(&mut self, number: u32) {
        let mut next = Some(number);
        while let Some(number) = next {
            self.set_timer(number, Time::MAX);
            self.class(number).is_active = false;
            next = self.leave(number);
        }
    }

    /// Has an active class stand where it is to stand by now.
    fn update(&mut self, number: u32, now: Time) {
        let (line, until) = self.stand(number, now);
        self.set_timer(number, until);
        if line == self.classes[number as usize].line {
            return;
        }
        if let Some(parent) = self.leave(number) {
            self.deactivate(parent);
        }
        if let Some(parent) = self.join(number, line) {
            self.activate(parent, now);
        }
    }

    /// The number of the line that a class stands in.
    fn line_of(&self, number: u32) -> Option<usize> {
        let class = &self.classes[number as usize];
        match class.line {
            Line::None => None,
            Line::Row => Some(usize::from(class.level)),
            Line::Feed => Some(self.classes[class.parent as usize].feed as usize),
        }
    }

    /// Puts a class into a line; yields its parent when it is the first to borrow there.
    fn join(&mut self, number: u32, line: Line) -> Option<u32> {
        self.class(number).line = line;
        let index = self.line_of(number)?;
        let class = &mut self.classes[number as usize];
        let queue = &mut self.lines[index];
        let tag = match line {
            Line::Row => &mut class.row_tag,
            _ => &mut class.feed_tag,
        };
        // Time that a class was away from the line earns nothing.
        *tag = queue.served.max(*tag);
        let is_first = queue.heap.first().is_none();
        queue.heap.set(&mut self.places, number, *tag);
        if line == Line::Row {
            self.busy |= 1 << index;
            return None;
        }
        is_first.then_some(class.parent)
    }

    /// Takes a class out of its line; yields its parent when nobody borrows there any more.
    fn leave(&mut self, number: u32) -> Option<u32> {
        let index = self.line_of(number)?;
        let queue = &mut self.lines[index];
        queue.heap.remove(&mut self.places, number);
        let is_empty = queue.heap.first().is_none();
        let class = &mut self.classes[number as usize];
        let line = core::mem::replace(&mut class.line, Line::None);
        if line == Line::Row {
            self.busy &= !(u32::from(is_empty) << index);
            return None;
        }
        is_empty.then_some(class.parent)
    }
}
