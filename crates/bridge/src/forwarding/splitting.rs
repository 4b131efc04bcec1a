//! Whether super-packets are cut into their segments before a queue.

use sojourn_line::LineRate;
use sojourn_qdisc::Spec;
use sojourn_units::Rate;

/// Up to this rate they are by default, as CAKE did in Linux 4.19: 64 KiB take half a millisecond
/// and more, for which everybody else waits. Above, cutting costs more than it brings.
const BELOW: Rate = Rate::from_bps(1_000_000_000);

/// The decision for one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Splitting {
    /// What was asked for.
    asked: Option<bool>,
    /// What that or the queue decides; else the link's rate does.
    rule: Option<bool>,
    is_on: bool,
}

impl Splitting {
    /// As it was asked for, or as it is right for this queue behind this rate.
    pub(super) fn new(asked: Option<bool>, queue: &Spec, rate: &LineRate) -> Self {
        let mut splitting = Self {
            asked,
            rule: None,
            is_on: false,
        };
        splitting.follow(queue, rate);
        splitting
    }

    /// The queue is another one.
    pub(super) fn follow(&mut self, queue: &Spec, rate: &LineRate) {
        self.rule = rule(self.asked, queue);
        self.set_rate(rate);
    }

    /// The link has another rate.
    pub(super) fn set_rate(&mut self, rate: &LineRate) {
        self.is_on = self.rule.unwrap_or(match rate {
            LineRate::Infinite => false,
            LineRate::Fixed(rate) => *rate <= BELOW,
            LineRate::Trace(_) => true,
        });
    }

    /// Whether they are cut.
    pub(super) const fn is_on(self) -> bool {
        self.is_on
    }
}

/// What is decided without the link's rate. A CAKE or a DualPI2 that is to let super-packets pass
/// whole gets them whole; of a shaper in the queue's place its rate counts.
fn rule(asked: Option<bool>, queue: &Spec) -> Option<bool> {
    let mut lowest = queue;
    while let Spec::Htb { inner, .. } | Spec::Tbf { inner, .. } = lowest {
        lowest = inner;
    }
    let stays_whole = match lowest {
        Spec::Cake(cake) | Spec::CakeMq { cake, .. } => !cake.split_gso,
        Spec::DualPi2(dual) => !dual.split_gso,
        _ => false,
    };
    if stays_whole {
        return Some(false);
    }
    let shaped = match queue {
        Spec::Htb { htb, .. } => htb.rate <= BELOW,
        // A bucket drops what is larger than it; of a tree's leaves each has its own rate.
        Spec::Tbf { .. } | Spec::Tree(_) => true,
        _ => false,
    };
    asked.or(shaped.then_some(true))
}
