//! Which nodes have met which questions, so that copies are known.
//!
//! By question and not by node: a question goes through the whole network within a fraction of a
//! second. What is known of it stays in the processor's caches meanwhile. A list of hundreds of
//! questions at each of thousands of nodes does not.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// A node remembers a question for so long.
const REMEMBERED: Span = Span::from_secs(6);

#[derive(Clone, Debug, Default)]
struct Question {
    origin: u32,
    /// When a node met it last.
    last: Time,
    /// A bit for each node: whether it remembers the question.
    nodes: Vec<u64>,
    /// Those nodes, each once, with the times at which they met it.
    log: VecDeque<(u32, Time)>,
}

/// All questions that nodes remember.
#[derive(Clone, Debug)]
pub(super) struct Met {
    /// By origin: numbers of its questions, and their places below.
    by_origin: Vec<Vec<(u32, u32)>>,
    questions: Vec<Question>,
    /// Places that are used, the oldest question first.
    order: VecDeque<u32>,
    free: Vec<u32>,
}

impl Met {
    /// For so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            by_origin: vec![Vec::new(); nodes],
            questions: Vec::new(),
            order: VecDeque::new(),
            free: Vec::new(),
        }
    }

    /// A node meets a question. Returns whether it remembers none with this origin and number.
    pub(super) fn is_new(&mut self, node: u32, origin: u32, id: u32, now: Time) -> bool {
        let questions = self.by_origin[origin as usize].iter().rev();
        let place = match questions.copied().find(|(known, _)| *known == id) {
            Some((_, place)) => place,
            None => self.begin(origin, id, now),
        };
        let question = &mut self.questions[place as usize];
        // Before the node is looked up, so that the log has it once.
        while let Some(&(other, at)) = question.log.front()
            && at + REMEMBERED <= now
        {
            question.log.pop_front();
            question.nodes[other as usize / 64] &= !(1 << (other % 64));
        }
        let (word, bit) = (&mut question.nodes[node as usize / 64], 1 << (node % 64));
        let is_new = *word & bit == 0;
        if is_new {
            *word |= bit;
            question.last = now;
            question.log.push_back((node, now));
        }
        is_new
    }

    /// A question that nobody remembers. Returns its place.
    fn begin(&mut self, origin: u32, id: u32, now: Time) -> u32 {
        while let Some(&oldest) = self.order.front()
            && self.questions[oldest as usize].last + REMEMBERED <= now
        {
            self.order.pop_front();
            let question = &mut self.questions[oldest as usize];
            question.log.clear();
            question.nodes.fill(0);
            self.by_origin[question.origin as usize].retain(|(_, place)| *place != oldest);
            self.free.push(oldest);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.questions.push(Question {
                nodes: vec![0; self.by_origin.len().div_ceil(64)],
                ..Question::default()
            });
            self.questions.len() as u32 - 1
        });
        let question = &mut self.questions[place as usize];
        (question.origin, question.last) = (origin, now);
        self.order.push_back(place);
        self.by_origin[origin as usize].push((id, place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list at each node, from which what is forgotten is taken.
        #[test]
        fn agrees_with_a_list_at_each_node(
            steps in prop::collection::vec((0..70_u32, 0..3_u32, 0..4_u32, 0..4000_u64), 1..300),
        ) {
            let mut met = Met::new(70);
            let mut lists: Vec<Vec<(Time, u32, u32)>> = vec![Vec::new(); 70];
            let mut now = Time::ZERO;
            for (node, origin, id, millis) in steps {
                // Most nodes are few, and most steps short.
                let node = if node % 3 > 0 { node % 4 } else { node };
                now += Span::from_millis(if millis % 2 == 0 { millis } else { millis / 100 });
                let list = &mut lists[node as usize];
                list.retain(|(until, ..)| *until > now);
                let is_known = list.iter().any(|&(_, o, i)| (o, i) == (origin, id));
                if !is_known {
                    list.push((now + REMEMBERED, origin, id));
                }
                prop_assert_eq!(met.is_new(node, origin, id, now), !is_known);
            }
            prop_assert!(met.questions.len() <= 12, "places are used again");
        }
    }
}
