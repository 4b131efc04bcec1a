//! What a link has beside others where its queue is a pair (`dualpi2`): the C queue and the L
//! queue apart, and the probability that couples them.

use super::samples::Samples;
use super::spread::Spread;
use crate::figure::LinkResult;
use sojourn_qdisc::{Dual, DualCounts};
use sojourn_units::Span;

/// Records a pair of queues.
#[derive(Clone, Debug)]
pub(super) struct DualRecorder {
    classic: OneRecorder,
    low: OneRecorder,
    probability: Samples,
    coupled: Samples,
    /// Whether marks of this queue are known apart from those of others.
    knows_marks: bool,
}

#[derive(Clone, Debug)]
struct OneRecorder {
    sojourn: Spread,
    dequeued: u64,
    /// Within the time that counts.
    counts: DualCounts,
    /// What the queue had counted when it was last looked at.
    seen: DualCounts,
}

impl OneRecorder {
    fn new() -> Self {
        Self {
            sojourn: Spread::new(Span::ZERO),
            dequeued: 0,
            counts: DualCounts::default(),
            seen: DualCounts::default(),
        }
    }

    /// A queue that took the place of another one begins with zero.
    fn counted(&mut self, now: DualCounts, counts: bool) {
        let since = |now: u64, seen: u64| now.checked_sub(seen).unwrap_or(now);
        if counts && now != self.seen {
            self.counts.dropped += since(now.dropped, self.seen.dropped);
            self.counts.marked += since(now.marked, self.seen.marked);
            self.counts.came_marked += since(now.came_marked, self.seen.came_marked);
        }
        self.seen = now;
    }

    fn left(&mut self, sojourn: Span) {
        self.dequeued += 1;
        self.sojourn.add(sojourn);
    }
}

impl DualRecorder {
    pub(super) fn new() -> Self {
        Self {
            classic: OneRecorder::new(),
            low: OneRecorder::new(),
            probability: Samples::default(),
            coupled: Samples::default(),
            knows_marks: true,
        }
    }

    /// Leaves marks out: they cannot be told from those that packets came with.
    pub(super) fn omit_marks(&mut self) {
        self.knows_marks = false;
    }

    /// What the pair has counted, and how long the packet was held that has left it.
    #[inline]
    pub(super) fn told(&mut self, dual: &Dual, left: Option<Span>, counts: bool) {
        self.classic.counted(dual.classic, counts);
        self.low.counted(dual.low, counts);
        if let Some(sojourn) = left.filter(|_| counts) {
            let one = if dual.served_low {
                &mut self.low
            } else {
                &mut self.classic
            };
            one.left(sojourn);
        }
    }

    /// Looks at the probability, which is done at fixed times.
    pub(super) fn looked(&mut self, dual: &Dual) {
        self.probability.add(dual.probability);
        self.coupled.add(dual.coupled);
    }

    /// Puts its figures into the result.
    pub(super) fn finish(mut self, result: &mut LinkResult) {
        result.c_sojourn = self.classic.sojourn.distribution();
        result.l_sojourn = self.low.sojourn.distribution();
        result.base_probability = self.probability.distribution();
        result.coupled_probability = self.coupled.distribution();
        let (classic, low) = (self.classic.counts, self.low.counts);
        for (figure, count) in [
            (&mut result.c_dequeued_packets, self.classic.dequeued),
            (&mut result.c_dropped_packets, classic.dropped),
            (&mut result.l_dequeued_packets, self.low.dequeued),
            (&mut result.l_dropped_packets, low.dropped),
        ] {
            *figure = Some(count as f64);
        }
        for (figure, count) in [
            (&mut result.c_marked_packets, classic.marked),
            (&mut result.l_marked_packets, low.marked),
            (&mut result.l_came_marked_packets, low.came_marked),
        ] {
            *figure = self.knows_marks.then_some(count as f64);
        }
    }
}
