//! A tree of rates: HTB's classes that lend and borrow, with a queue of any kind in each leaf.
//!
//! Source: `tc-htb(8)`, Linux `sch_htb.c`, M. Devera's "HTB Linux queuing discipline manual".
//! Units: bytes, bit/s, integer nanoseconds.
//!
//! Each class has a rate of its own and a ceiling; a leaf beyond its rate borrows from the
//! nearest class above that has tokens, up to the ceilings on the way. Siblings that borrow do so
//! in proportion to their rates; one with a rate of zero counts as the slowest of them. A packet's
//! leaf is what [`Packet::circuit`] says; packets of no leaf share one that borrows all from the
//! link. The link itself has no limit here: behind a tree stands a transmitter.
//!
//! Invariants: over any time a class sends at most its ceiling, with what its bucket holds; over
//! the long run a class whose leaves always have packets sends exactly it, where classes above let
//! it; [`Dequeue::NotBefore`] is the first nanosecond at which a packet may leave; a leaf without
//! packets has no queue after five seconds, and takes less than 1 KiB.
//!
//! Differs from Linux: rates of siblings that exceed their parent's are cut in proportion (Linux
//! lets them exceed it); whose turn it is says start-time fair queueing at every level (Linux:
//! rounds of leaves with quanta of 1000 to 200 000 bytes, so that rates above 16 Mbit/s count
//! alike); one priority; no debt is forgiven after a minute.
//!
//! Not here: which address is of which leaf (see `bridge`), the formats of trees (see `scenario`).

mod bucket;
mod heap;
mod leaf;
mod schedule;
mod spec;
mod succession;

use crate::accounts::{Backlog, ClassCounts, Counters};
use crate::change::{ChangeError, alike};
use crate::packet::Packet;
use crate::qdisc::{Dequeue, Outlet, Qdisc};
use crate::report::{Report, int};
use crate::setting::Setting;
use crate::spec::Spec;
use crate::tbf::Audit;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use leaf::Leaf;
use schedule::{OTHERS, OWN, Schedule};
use sojourn_units::{Span, Time};
pub use spec::{TreeClass, TreeError, TreeFault, TreeSpec};
use succession::Origin;

/// How long a leaf without packets keeps its queue, and with it what its AQM has learned.
const LINGER: Span = Span::from_secs(5);

/// A tree of rates.
pub struct Tree<P> {
    spec: Arc<TreeSpec>,
    setting: Setting<'static>,
    name: String,
    schedule: Schedule,
    leaves: Vec<Leaf<P>>,
    /// Leaves that have become empty, and when, each at most once; those that have had packets
    /// since are passed over.
    idle: VecDeque<(Time, u32)>,
    /// Leaves whose queue is that of a tree before this one, and is to be another.
    outdated: Vec<u32>,
    /// Of a tree that is to take the place of another one, or has given up its own.
    origin: Option<Origin>,
    counters: Counters,
}

impl<P: Packet + 'static> Tree<P> {
    /// A tree without packets; its buckets are full.
    pub fn new(spec: Arc<TreeSpec>, setting: Setting<'_>) -> Self {
        let schedule = Schedule::new(&spec);
        let leaves = schedule.classes.iter().map(|_| Leaf::default()).collect();
        Self {
            spec,
            name: setting.name.to_string(),
            setting: Setting {
                name: "",
                seed: setting.seed,
                mtu: setting.mtu,
                link_header: setting.link_header,
            },
            schedule,
            leaves,
            idle: VecDeque::new(),
            outdated: Vec::new(),
            origin: None,
            counters: Counters::default(),
        }
    }

    /// The leaf of a packet.
    fn leaf_of(&self, circuit: u32) -> u32 {
        // Circuits are counted from 1; the link and the leaf of all others stand before them.
        let number = circuit.saturating_add(OWN - 1);
        let class = self.schedule.classes.get(number as usize);
        match class {
            Some(class) if circuit > 0 && class.is_leaf() => number,
            _ => OTHERS,
        }
    }

    /// The queue of a leaf, with the name that its dice have.
    fn queue_of(&mut self, leaf: u32) -> &mut Box<dyn Qdisc<P>> {
        let (spec, called) = self.spec.leaf(leaf);
        let (setting, tree) = (self.setting, &self.name);
        self.leaves[leaf as usize].queue.get_or_insert_with(|| {
            let name = alloc::format!("{tree}.{called}");
            spec.build(setting.named(&name))
        })
    }

    /// What is to be done beside packets, a leaf at a time.
    fn tend(&mut self, now: Time) {
        self.renew(now);
        self.give_back(now);
    }

    /// Gives back the queue of a leaf that has been idle for long.
    fn give_back(&mut self, now: Time) {
        let Some(&(since, number)) = self.idle.front() else {
            return;
        };
        if now - since < LINGER {
            return;
        }
        self.idle.pop_front();
        let leaf = &mut self.leaves[number as usize];
        leaf.is_listed = false;
        // The list is not corrected when a leaf is used again: what it says is looked at when its
        // time has come, which is cheaper than a search for each packet.
        match leaf.idle_since {
            Time::MAX => {}
            since if now - since < LINGER => self.list(number, since),
            _ => leaf.give_back(),
        }
    }

    fn list(&mut self, number: u32, since: Time) {
        let leaf = &mut self.leaves[number as usize];
        if !leaf.is_listed {
            leaf.is_listed = true;
            self.idle.push_back((since, number));
        }
    }

    fn has_emptied(&mut self, leaf: u32, now: Time) {
        self.leaves[leaf as usize].idle_since = now;
        self.list(leaf, now);
    }

    /// Gives a leaf packets that were held elsewhere.
    fn hand_over(&mut self, leaf: u32, mut held: Vec<(Time, P)>, now: Time) {
        if held.is_empty() {
            return;
        }
        // A queue that was drained is to be given up.
        let mut before = self.leaves[leaf as usize].queue.take();
        let mut counters = before
            .as_ref()
            .map(|queue| *queue.counters())
            .unwrap_or_default();
        // Their old queue has counted them as offered elsewhere; here they must balance with what
        // leaves.
        for (_, packet) in &held {
            counters.offered.add(packet.len());
        }
        held.extend(before.iter_mut().flat_map(Qdisc::drain));
        // By arrival: two queues become one, and each sojourn goes on. With little stack, as in
        // `build.rs`.
        held.sort_by_cached_key(|&(arrived, _)| arrived);
        self.queue_of(leaf).adopt(held, counters);
        self.leaves[leaf as usize].idle_since = Time::MAX;
        if !self.schedule.is_active(leaf) {
            self.schedule.activate(leaf, now);
        }
    }
}

impl<P: Packet + 'static> Qdisc<P> for Tree<P> {
    fn enqueue(&mut self, packet: P, now: Time, out: &mut dyn Outlet<P>) {
        self.tend(now);
        self.counters.offered.add(packet.len());
        let number = self.leaf_of(packet.circuit());
        // Built by the first packet: of thousands of circuits few are busy at a time.
        self.queue_of(number);
        let leaf = &mut self.leaves[number as usize];
        let counters = &mut self.counters;
        let Some(queue) = &mut leaf.queue else {
            return;
        };
        queue.enqueue(packet, now, &mut Audit { counters, out });
        let holds = queue.backlog().packets > 0;
        match (holds, self.schedule.is_active(number)) {
            (true, false) => {
                leaf.idle_since = Time::MAX;
                self.schedule.activate(number, now);
            }
            // An arrival can empty a queue: a limit that was lowered, or an AQM that drops the
            // last packet.
            (false, true) => {
                self.schedule.deactivate(number);
                self.has_emptied(number, now);
            }
            (false, false) if leaf.idle_since == Time::MAX => self.has_emptied(number, now),
            _ => {}
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Outlet<P>) -> Dequeue<P> {
        self.tend(now);
        loop {
            let (number, lender) = match self.schedule.next(now) {
                Ok(next) => next,
                Err(Time::MAX) => return Dequeue::Empty,
                // All leaves with packets stand before a rate: this is the first time at which
                // one may send.
                Err(due) => {
                    self.counters.overlimits += 1;
                    return Dequeue::NotBefore(due);
                }
            };
            let counters = &mut self.counters;
            let queue = self.leaves[number as usize].queue.as_mut();
            let answer = queue.map_or(Dequeue::Empty, |queue| {
                queue.dequeue(now, &mut Audit { counters, out })
            });
            match answer {
                Dequeue::Packet { packet, sojourn } => {
                    let len = packet.len();
                    self.counters.dequeued.add(len);
                    self.leaves[number as usize].has_sent(sojourn);
                    let stays = self.leaves[number as usize].holds();
                    // After the packet is known: the length at the head is what the AQM lets
                    // through, not what waits there.
                    self.schedule.charge(number, lender, len, stays, now);
                    if !stays {
                        self.has_emptied(number, now);
                    }
                    return Dequeue::Packet { packet, sojourn };
                }
                // A time that has come would turn this loop for ever.
                Dequeue::NotBefore(due) => {
                    let due = due.max(now + Span::from_nanos(1));
                    self.schedule.hold(number, due, now);
                }
                // The AQM has dropped all that the leaf held. The turn goes to the next leaf at
                // once.
                Dequeue::Empty => {
                    self.schedule.deactivate(number);
                    self.has_emptied(number, now);
                }
            }
        }
    }

    /// What was offered and has not left.
    fn backlog(&self) -> Backlog {
        let Counters {
            offered,
            dequeued,
            dropped,
            ..
        } = self.counters;
        Backlog {
            packets: offered.packets - dequeued.packets - dropped.packets,
            bytes: offered.bytes - dequeued.bytes - dropped.bytes,
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _now: Time) -> Report {
        let queues = self.leaves.iter().filter(|leaf| leaf.queue.is_some());
        let own = Vec::from([
            int("leaves", self.spec.leaves() as u64),
            int("live_queues", queues.count() as u64),
        ]);
        let (spec, backlog) = (self.spec(), self.backlog());
        Report::new(spec.as_ref(), &self.counters, backlog, own)
    }

    fn class_counts(&self, number: u32) -> Option<ClassCounts> {
        let place = match self.spec.classes().len() as u32 {
            count if number < count => number + OWN,
            count if number == count => OTHERS,
            _ => return None,
        };
        let class = &self.schedule.classes[place as usize];
        let leaf = &self.leaves[place as usize];
        let (counters, backlog) = leaf.accounts();
        Some(ClassCounts {
            sent: class.sent,
            lent: class.lent,
            borrowed: class.borrowed,
            dropped: counters.dropped,
            marked: counters.marked,
            backlog,
            waited: leaf.waited,
            delay: leaf.delay,
        })
    }

    fn spec(&self) -> Option<Spec> {
        Some(Spec::Tree(Arc::clone(&self.spec)))
    }

    fn change(&mut self, spec: &Spec, now: Time) -> Result<(), ChangeError> {
        alike(self.spec().as_ref(), spec)?;
        if let Spec::Tree(spec) = spec {
            let setting = self.setting.named(&self.name);
            let mut fresh = Self::after(Arc::clone(spec), &self.spec, setting);
            fresh.follow(self, now);
            *self = fresh;
        }
        Ok(())
    }

    fn drain(&mut self) -> Vec<(Time, P)> {
        let queues = self
            .leaves
            .iter_mut()
            .filter_map(|leaf| leaf.queue.as_mut());
        queues.flat_map(Qdisc::drain).collect()
    }

    fn adopt(&mut self, held: Vec<(Time, P)>, counters: Counters) {
        self.counters = counters;
        let mut by_leaf = BTreeMap::<u32, Vec<(Time, P)>>::new();
        let now = held.last().map_or(Time::ZERO, |&(arrived, _)| arrived);
        for (arrived, packet) in held {
            let leaf = self.leaf_of(packet.circuit());
            by_leaf.entry(leaf).or_default().push((arrived, packet));
        }
        for (leaf, held) in by_leaf {
            self.hand_over(leaf, held, now);
        }
    }

    fn fork(&self) -> Option<Box<dyn Qdisc<P>>>
    where
        P: Clone,
    {
        Some(Box::new(Self {
            spec: self.spec.clone(),
            setting: self.setting,
            name: self.name.clone(),
            schedule: self.schedule.clone(),
            leaves: self.leaves.iter().map(Leaf::fork).collect::<Option<_>>()?,
            idle: self.idle.clone(),
            outdated: self.outdated.clone(),
            origin: self.origin.clone(),
            counters: self.counters,
        }))
    }
}
