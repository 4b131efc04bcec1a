//! The ACK filter loses no information: a sender that gets what the filter has left knows in the
//! end what it would know from all acknowledgements.

use crate::common::frame::{Drops, Frame, build, frame, ms};
use proptest::prelude::*;
use sojourn_qdisc::{AckFacts, Dequeue, DropReason, Qdisc};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a segment; all numbers of this model are multiples of it.
const SEGMENT: u32 = 1000;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// What a sender has learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Knowledge {
    /// Segments below this one have arrived.
    cumulative: u32,
    /// Segments that have arrived, each with ECE and CWR of the acknowledgement that told first:
    /// what DCTCP counts, and more than RFC 3168 asks.
    arrived: BTreeMap<u32, u8>,
    /// Acknowledgements of the last cumulative number that told nothing new: a loss, to a sender
    /// without SACK (RFC 5681 section 2). With SACK only news counts (RFC 6675 section 2).
    duplicates: u32,
    /// Newest timestamps (RFC 7323).
    stamps: Option<(u32, u32)>,
    /// Duplicate arrivals reported (RFC 2883).
    dsacks: Vec<(u32, u32)>,
    /// Segments that are more than acknowledgements: data, flags, options that nobody knows.
    others: Vec<u64>,
}

impl Knowledge {
    fn learn(&mut self, id: u64, facts: &AckFacts) {
        let number = facts.ack / SEGMENT;
        let blocks = &facts.sack[..usize::from(facts.sacks)];
        let mut told = BTreeSet::new();
        told.extend(0..number);
        for (index, &(start, end)) in blocks.iter().enumerate() {
            let is_within = |&(from, to): &(u32, u32)| from <= start && end <= to;
            let second = blocks.get(1).filter(|_| index == 0);
            if start < facts.ack || second.is_some_and(is_within) {
                self.dsacks.push((start, end));
            } else {
                told.extend(start / SEGMENT..end / SEGMENT);
            }
        }
        let before = self.arrived.len();
        for segment in told {
            self.arrived
                .entry(segment)
                .or_insert(facts.flags & (ECE | CWR));
        }
        let is_news = self.arrived.len() > before;
        if number > self.cumulative {
            (self.cumulative, self.duplicates) = (number, 0);
        } else if !is_news && !facts.payload && blocks.is_empty() {
            self.duplicates += 1;
        }
        self.stamps = self.stamps.max(facts.timestamp);
        if facts.payload || facts.other_options || facts.flags & !(ECE | CWR) != ACK {
            self.others.push(id);
        }
    }
}

/// A receiver that acknowledges every arrival as Linux does: the newest block first.
#[derive(Debug, Default)]
struct Receiver {
    arrived: BTreeSet<u32>,
    recent: Vec<u32>,
}

impl Receiver {
    fn block(&self, segment: u32) -> (u32, u32) {
        let (mut start, mut end) = (segment, segment + 1);
        while start > 0 && self.arrived.contains(&(start - 1)) {
            start -= 1;
        }
        while self.arrived.contains(&end) {
            end += 1;
        }
        (start * SEGMENT, end * SEGMENT)
    }

    fn arrives(&mut self, segment: u32, sack: bool) -> AckFacts {
        let is_new = self.arrived.insert(segment);
        let next = (0..u32::MAX)
            .find(|segment| !self.arrived.contains(segment))
            .expect("finite");
        let mut facts = AckFacts {
            ack: next * SEGMENT,
            flags: ACK,
            ..AckFacts::default()
        };
        if !sack {
            return facts;
        }
        let mut blocks = Vec::new();
        if !is_new {
            blocks.push((segment * SEGMENT, (segment + 1) * SEGMENT));
        }
        self.recent.retain(|&other| other != segment);
        self.recent.insert(0, segment);
        for &segment in &self.recent {
            let block = self.block(segment);
            if block.0 > facts.ack && !blocks[usize::from(!is_new)..].contains(&block) {
                blocks.push(block);
            }
        }
        for (to, block) in facts.sack.iter_mut().zip(blocks.into_iter().take(3)) {
            *to = block;
            facts.sacks += 1;
        }
        facts
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A segment arrives, this many after the first hole.
    Arrive(u32),
    /// The receiver's ECE and CWR change.
    Flags(u8),
    /// Its next acknowledgement is more than one: data, PSH, or an option that nobody knows.
    Special(u8),
    /// The stamps stand still, or go on.
    Tick(u32),
    /// The link takes packets.
    Take(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flags = proptest::sample::select(vec![0, ECE, CWR, ECE | CWR]);
    let ahead = prop_oneof![4 => Just(0_u32), 3 => 0_u32..4, 1 => 0_u32..40];
    proptest::collection::vec(
        prop_oneof![
            20 => ahead.prop_map(Step::Arrive),
            2 => flags.prop_map(Step::Flags),
            1 => (0_u8..3).prop_map(Step::Special),
            3 => (0_u32..3).prop_map(Step::Tick),
            4 => (1_u8..4).prop_map(Step::Take),
        ],
        1..300,
    )
}

/// Runs the steps through a queue; what a sender knows from all, what it knows from those that
/// are left, and how many the filter has dropped.
fn run(spec: &str, steps: &[Step], sack: bool, stamped: bool) -> (Knowledge, Knowledge, u64) {
    let mut queue = build(spec);
    let (mut all, mut left) = (Knowledge::default(), Knowledge::default());
    let (mut receiver, mut out) = (Receiver::default(), Drops::default());
    let (mut id, mut flags, mut special, mut clock) = (0, 0, None, 1);
    let mut take = |queue: &mut Box<dyn Qdisc<Frame>>, out: &mut Drops| {
        let Dequeue::Packet { packet, .. } = queue.dequeue(ms(1), out) else {
            return false;
        };
        left.learn(packet.id, &packet.ack.expect("all are"));
        true
    };
    for step in steps {
        match *step {
            Step::Arrive(ahead) => {
                let hole = (0..u32::MAX).find(|segment| !receiver.arrived.contains(segment));
                let segment = (hole.expect("finite") + ahead).saturating_sub(2);
                let mut facts = receiver.arrives(segment, sack);
                facts.flags |= flags;
                facts.timestamp = stamped.then_some((clock, clock));
                match special.take() {
                    Some(0) => facts.payload = true,
                    Some(1) => facts.flags |= PSH,
                    Some(_) => facts.other_options = true,
                    None => {}
                }
                let packet = Frame {
                    id,
                    len: 66,
                    ack: Some(facts),
                    ..frame(1, 2, 3)
                };
                id += 1;
                all.learn(packet.id, &facts);
                queue.enqueue(packet, ms(1), &mut out);
            }
            Step::Flags(new) => flags = new,
            Step::Special(kind) => special = Some(kind),
            Step::Tick(by) => clock += by,
            Step::Take(times) => {
                for _ in 0..times {
                    take(&mut queue, &mut out);
                }
            }
        }
    }
    while take(&mut queue, &mut out) {}
    let filtered = queue.counters().dropped_for(DropReason::AckFilter);
    assert_eq!(filtered, out.0.len() as u64, "nothing else drops here");
    (all, left, filtered)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_is_forgotten(
        steps in steps(),
        filter in proptest::sample::select(vec!["ack-filter", "ack-filter-aggressive"]),
        sack in any::<bool>(),
        stamped in any::<bool>(),
    ) {
        let spec = format!("cake besteffort {filter}");
        let (all, left, _) = run(&spec, &steps, sack, stamped);
        prop_assert_eq!(all, left);
    }
}

/// An acknowledgement of AccECN's receiver that has counted so many marks: the last three bits are
/// AE, CWR and ECE (RFC 9768 section 3.2.2).
fn accurate(id: u64, marks: u32) -> Frame {
    let [ae, cwr, ece] = [4, 2, 1].map(|bit| marks & bit != 0);
    let facts = AckFacts {
        ack: id as u32 * SEGMENT,
        flags: ACK | if cwr { CWR } else { 0 } | if ece { ECE } else { 0 },
        ae,
        other_options: ae,
        ..AckFacts::default()
    };
    Frame {
        id,
        len: 66,
        ack: Some(facts),
        ..frame(1, 2, 3)
    }
}

/// What AccECN's sender reckons from the three bits: the number of marks after each
/// acknowledgement, by its number.
#[derive(Debug, Default)]
struct Marks {
    counted: u32,
    at: BTreeMap<u32, u32>,
}

impl Marks {
    fn learn(&mut self, facts: &AckFacts) {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let ace =
            bit(facts.ae, 4) | bit(facts.flags & CWR != 0, 2) | bit(facts.flags & ECE != 0, 1);
        self.counted += ace.wrapping_sub(self.counted) & 7;
        self.at.insert(facts.ack, self.counted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A receiver acknowledges before seven new marks have come (RFC 9768 section 3.2.2.5.1). Then
    /// a sender counts behind the filter what it counts without, at each acknowledgement that is
    /// left.
    #[test]
    fn marks_of_accecn_are_counted_behind_the_filter(
        marks in proptest::collection::vec((0_u32..=6, 0_u8..3), 1..200),
        filter in proptest::sample::select(vec!["ack-filter", "ack-filter-aggressive"]),
    ) {
        let mut queue = build(&format!("cake besteffort {filter}"));
        let (mut all, mut left) = (Marks::default(), Marks::default());
        let (mut count, mut out) = (0, Drops::default());
        let mut take = |queue: &mut Box<dyn Qdisc<Frame>>, out: &mut Drops| {
            let Dequeue::Packet { packet, .. } = queue.dequeue(ms(1), out) else {
                return false;
            };
            left.learn(&packet.ack.expect("all are"));
            true
        };
        for (id, &(new, taken)) in (1..).zip(&marks) {
            count += new;
            let packet = accurate(id, count);
            all.learn(&packet.ack.expect("it is one"));
            queue.enqueue(packet, ms(1), &mut out);
            for _ in 0..taken {
                take(&mut queue, &mut out);
            }
        }
        while take(&mut queue, &mut out) {}
        prop_assert_eq!(all.counted, count);
        for (number, counted) in &left.at {
            prop_assert_eq!(all.at.get(number), Some(counted), "at {}", number);
        }
        prop_assert_eq!(left.counted, count);
    }
}

/// Between ACE 1 and ACE 5 nothing but AE differs. By hand: of 3, 9, 13 and 17 marks, with 9 gone
/// the sender would see ACE 3 and then 5, two more marks instead of ten.
#[test]
fn a_change_of_ae_alone_is_news() {
    for filter in ["ack-filter", "ack-filter-aggressive"] {
        let mut queue = build(&format!("cake besteffort {filter}"));
        let mut out = Drops::default();
        for (id, marks) in (1..).zip([3, 9, 13, 17, 17, 17]) {
            queue.enqueue(accurate(id, marks), ms(1), &mut out);
        }
        let gone: Vec<u64> = out.0.iter().map(|(packet, _)| packet.id).collect();
        // Of the three with 17 marks one or two; all others have news.
        let expected: &[u64] = if filter == "ack-filter" {
            &[4]
        } else {
            &[4, 5]
        };
        assert_eq!(gone, expected, "{filter}");
    }
}

/// The property must not hold because nothing is ever dropped.
#[test]
fn most_acknowledgements_of_a_long_queue_go() {
    let steps: Vec<Step> = (0..500)
        .map(|i| match i % 50 {
            0 => Step::Flags(if i % 100 == 0 { ECE } else { 0 }),
            _ => Step::Arrive(2 + u32::from(i % 7 == 0)),
        })
        .collect();
    for (filter, least) in [("ack-filter", 400), ("ack-filter-aggressive", 410)] {
        let spec = format!("cake besteffort {filter}");
        let (all, left, filtered) = run(&spec, &steps, true, true);
        assert_eq!(all, left);
        assert!(filtered > least, "{filter}: {filtered}");
    }
}
