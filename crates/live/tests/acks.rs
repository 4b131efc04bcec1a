//! The ACK filter on acknowledgements of the kernel's TCP: whatever it drops, the sender learns the
//! same.
//!
//! `captures/*.hex` hold one Ethernet frame a line, in the order in which they were offered to the
//! uplink's queue of a live run (`sojourn run --world live --pcap up:in`, Linux 6.18): the answers
//! to one download at 10 Mbit/s, RTT 20 ms, with random loss (`sack`, and `plain` without
//! timestamps), with jitter that reorders (`dsack`), and with ECN under fq_codel (`ecn`).

use sojourn_bridge::{Frame, Pool};
use sojourn_qdisc::{AckFacts, Dequeue, Discard, DropReason, Outlet, Packet, Qdisc, Setting, Spec};
use sojourn_units::Time;
use std::collections::BTreeMap;

const CAPTURES: [(&str, &str); 4] = [
    ("sack", include_str!("captures/sack.hex")),
    ("plain", include_str!("captures/plain.hex")),
    ("dsack", include_str!("captures/dsack.hex")),
    ("ecn", include_str!("captures/ecn.hex")),
];

fn bytes(line: &str) -> Vec<u8> {
    let pairs = line.as_bytes().chunks_exact(2);
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("hexadecimal") as u8;
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// What acknowledgements have told their receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Learnt {
    /// Numbers count from here: the first acknowledgement of the capture.
    base: u32,
    ack: u32,
    /// Blocks beyond `ack`, by their first number.
    sacked: BTreeMap<u32, u32>,
    /// Duplicates that were reported, one by one.
    duplicates: Vec<(u32, u32)>,
    /// ECE and CWR, each time they changed.
    ecn: Vec<(u8, bool)>,
    /// The newest timestamps.
    stamps: Option<(u32, u32)>,
}

impl Learnt {
    fn from(&mut self, facts: &AckFacts) {
        let base = self.base;
        self.ack = self.ack.max(facts.ack.wrapping_sub(base));
        let blocks: Vec<_> = facts.sack[..usize::from(facts.sacks)]
            .iter()
            .map(|(from, to)| (from.wrapping_sub(base), to.wrapping_sub(base)))
            .collect();
        if is_duplicate(facts) {
            self.duplicates.push(blocks[0]);
        }
        for (from, to) in blocks {
            // Before the base numbers are huge: those are duplicates.
            if to < 1 << 31 {
                self.sack(from, to);
            }
        }
        self.sacked.retain(|_, to| *to > self.ack);
        if self.ecn.last() != Some(&facts.ecn_flags()) {
            self.ecn.push(facts.ecn_flags());
        }
        self.stamps = self.stamps.max(facts.timestamp);
    }

    /// Adds a block to those that it touches.
    fn sack(&mut self, mut from: u32, mut to: u32) {
        let touching: Vec<(u32, u32)> = (self.sacked.iter())
            .filter(|&(&first, &end)| first <= to && from <= end)
            .map(|(&first, &end)| (first, end))
            .collect();
        for (first, end) in touching {
            self.sacked.remove(&first);
            (from, to) = (from.min(first), to.max(end));
        }
        self.sacked.insert(from, to);
    }
}

/// RFC 2883 section 4: the first block lies at or below the acknowledgement, or within the second.
fn is_duplicate(facts: &AckFacts) -> bool {
    let up_to = |a: u32, b: u32| b.wrapping_sub(a) < 1 << 31;
    match facts.sack[..usize::from(facts.sacks)] {
        [(_, end), ..] if up_to(end, facts.ack) => true,
        [(from, to), (first, end), ..] => up_to(first, from) && up_to(to, end),
        _ => false,
    }
}

/// Keeps what the filter drops.
#[derive(Default)]
struct Dropped(Vec<Frame>);

impl Outlet<Frame> for Dropped {
    fn dropped(&mut self, frame: Frame, reason: DropReason) {
        assert_eq!(reason, DropReason::AckFilter);
        self.0.push(frame);
    }
}

/// Sends the frames through a queue in batches that wait for each other; compares what both sides
/// of it have learnt after each. Returns how many were dropped, and what was learnt.
fn compare(name: &str, lines: &str, filter: &str, batch: usize) -> (usize, Learnt) {
    let spec: Spec = format!("cake unlimited besteffort {filter}")
        .parse()
        .expect("a test's own spec");
    let mut queue: Box<dyn Qdisc<Frame>> = spec.build(Setting {
        seed: 1,
        name: "test",
        mtu: 1514,
        link_header: 14,
    });
    let mut pool = Pool::new(10_000);
    let mut dropped = Dropped::default();
    let frames: Vec<_> = lines.lines().map(bytes).collect();
    let first = Frame::from_bytes(&mut pool, &frames[0], Time::ZERO).and_then(|frame| frame.ack());
    let mut before = Learnt {
        base: first.map_or(0, |facts| facts.ack),
        ..Learnt::default()
    };
    let mut after = before.clone();
    for batch in frames.chunks(batch) {
        for bytes in batch {
            let frame = Frame::from_bytes(&mut pool, bytes, Time::ZERO).expect("it fits");
            if let Some(facts) = frame.ack() {
                before.from(&facts);
            }
            queue.enqueue(frame, Time::ZERO, &mut dropped);
        }
        while let Dequeue::Packet { packet, .. } = queue.dequeue(Time::ZERO, &mut Discard) {
            if let Some(facts) = packet.ack() {
                after.from(&facts);
            }
        }
        assert_eq!(before, after, "{name}, {filter}");
    }
    for frame in &dropped.0 {
        let facts = frame.ack().expect("only acknowledgements");
        assert!(!facts.payload && !facts.other_options && !is_duplicate(&facts));
    }
    (dropped.0.len(), after)
}

#[test]
fn nothing_that_the_kernel_says_is_lost() {
    for (name, lines) in CAPTURES {
        for filter in ["ack-filter", "ack-filter-aggressive"] {
            for batch in [2, 3, 5, 16, 1000] {
                let (dropped, learnt) = compare(name, lines, filter, batch);
                assert!(
                    dropped > 0 || batch < 5,
                    "{name}, {filter}, {batch}: nothing was dropped"
                );
                // The captures have in them what they are named after.
                match name {
                    "dsack" => assert!(learnt.duplicates.len() > 3, "{learnt:?}"),
                    "ecn" => assert!(learnt.ecn.iter().any(|(flags, _)| flags & 0x40 != 0)),
                    "plain" => assert_eq!(learnt.stamps, None),
                    _ => assert!(learnt.stamps.is_some()),
                }
            }
        }
    }
}
