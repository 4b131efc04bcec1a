//! Each discipline decides the same behind the module's border as without it, and the kernel's
//! module can be held to the digests of `decisions.txt`.

use sojourn_module::check::{
    Arrival, Decision, Digest, LINK, Next, Queue, digest, is_checked, run,
};
use sojourn_module::{FRONT, Handle, Instance, Kernel, Link, Offer, Taken};
use sojourn_qdisc::{
    Dequeue, DropReason, Ecn, Outlet, Packet, Qdisc, Setting, Spec, catalogue, truesize,
};
use sojourn_tidy::generated;
use sojourn_units::Time;
use sojourn_wire::{FlowKey, ether_type, protocol};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const DIGESTS: &str = include_str!("decisions.txt");
const SEED: u64 = 1;

/// A machine without skbs.
struct Nowhere;

impl Kernel for Nowhere {
    fn front(_: Handle, _: &mut [u8; FRONT]) -> usize {
        0
    }

    fn set_ce(packet: Handle) -> bool {
        is_checked(packet)
    }

    fn clear_dscp(_: Handle) {}

    fn free(_: Handle) {}
}

/// The same packet as the library knows it, made from the arrival and from no bytes.
#[derive(Clone)]
struct Plain {
    arrival: Arrival,
    ecn: Ecn,
    dscp: u8,
    marked: bool,
    key: FlowKey,
}

impl Plain {
    fn of(arrival: Arrival) -> Self {
        let mut key = FlowKey {
            src_port: 1000 + u16::from(arrival.flow),
            dst_port: 443,
            ether_type: ether_type::IPV4,
            protocol: protocol::UDP,
            ..FlowKey::default()
        };
        key.src[12..].copy_from_slice(&[10, 0, 0, arrival.flow % 5]);
        key.dst[12..].copy_from_slice(&[10, 0, 1, arrival.flow % 3]);
        Self {
            arrival,
            ecn: Ecn::from_bits(arrival.tos),
            dscp: arrival.tos >> 2,
            marked: false,
            key,
        }
    }
}

impl Packet for Plain {
    fn len(&self) -> u32 {
        self.arrival.len
    }

    fn memory(&self) -> u32 {
        truesize::of_datagram(self.arrival.len)
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        self.key.hash(perturbation)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.marked |= matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1);
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
        self.ecn == Ecn::Ce
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }

    fn host_hashes(&self, perturbation: u64) -> (u32, u32) {
        (
            self.key.src_hash(perturbation),
            self.key.dst_hash(perturbation),
        )
    }

    fn network_offset(&self) -> Option<u32> {
        Some(14)
    }
}

/// The library alone.
struct Direct(Box<dyn Qdisc<Plain>>);

impl Direct {
    fn new(text: &str) -> Self {
        let spec: Spec = text.parse().unwrap();
        Self(spec.build(Setting {
            seed: LINK.seed,
            name: "qdisc",
            mtu: LINK.mtu,
            link_header: LINK.link_header,
        }))
    }
}

struct Tell<'a>(&'a mut dyn FnMut(u64, DropReason));

impl Outlet<Plain> for Tell<'_> {
    fn dropped(&mut self, packet: Plain, reason: DropReason) {
        (self.0)(packet.arrival.number, reason);
    }
}

impl Queue for Direct {
    fn offer(&mut self, arrival: &Arrival, dropped: &mut dyn FnMut(u64, DropReason)) {
        self.0
            .enqueue(Plain::of(*arrival), arrival.at, &mut Tell(dropped));
    }

    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(u64, DropReason)) -> Next {
        match self.0.dequeue(now, &mut Tell(dropped)) {
            Dequeue::Packet { packet, .. } => Next::Sent(packet.arrival.number, packet.marked),
            Dequeue::NotBefore(time) => Next::NotBefore(time),
            Dequeue::Empty => Next::Empty,
        }
    }
}

/// The lines of the file: a discipline's string, and what was decided.
fn lines() -> impl Iterator<Item = (&'static str, u64, &'static str)> {
    let lines = DIGESTS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (text, rest) = line.split_once(" | ").expect("a string and its digest");
        let (packets, digest) = rest.split_once(' ').expect("packets and digest");
        (text, packets.parse().expect("a number of packets"), digest)
    })
}

fn shown(digest: Digest) -> String {
    let Digest {
        sent,
        dropped,
        marked,
        sum,
    } = digest;
    format!("{sent} {dropped} {marked} {sum:016x}")
}

#[test]
fn each_packet_has_the_same_fate_behind_the_border() {
    for (text, _, _) in lines() {
        let mut direct = Vec::new();
        let mut behind = Vec::new();
        run(&mut Direct::new(text), 7, 100_000, &mut |decision| {
            direct.push(decision);
        });
        let mut queue = sojourn_module::check::Checked::<Nowhere>::new(text).unwrap();
        run(&mut queue, 7, 100_000, &mut |decision| {
            behind.push(decision);
        });
        let differs = direct.iter().zip(&behind).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!(
                "{text}: decision {at} is {:?}, behind the border {:?}",
                direct[at], behind[at]
            );
        }
        assert_eq!(direct.len(), behind.len(), "{text}");
        assert_eq!(direct.len(), 100_000, "{text}: each packet has one fate");
    }
}

#[test]
fn the_digests_of_the_file_are_those_of_this_machine() {
    let header = DIGESTS.lines().take_while(|line| line.starts_with('#'));
    let mut all = String::new();
    for line in header {
        let _ = writeln!(all, "{line}");
    }
    for (text, packets, _) in lines() {
        let found = shown(digest::<Nowhere>(text, SEED, packets).unwrap());
        let _ = writeln!(all, "{text} | {packets} {found}");
    }
    generated::file("crates/module/tests/decisions.txt", &all);
}

#[test]
fn every_kind_is_in_the_file() {
    let words: BTreeSet<&str> = lines().flat_map(|(text, _, _)| text.split(' ')).collect();
    let missing: Vec<_> = catalogue()
        .iter()
        .map(|kind| kind.name)
        .filter(|name| !words.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// A digest that notices nothing would let every kernel pass.
#[test]
fn a_digest_depends_on_each_decision() {
    let [sent, marked, dropped] = [
        Decision::Sent {
            number: 3,
            at: Time::from_nanos(5),
            ce: false,
        },
        Decision::Sent {
            number: 3,
            at: Time::from_nanos(5),
            ce: true,
        },
        Decision::Dropped {
            number: 3,
            reason: DropReason::Aqm,
        },
    ];
    let sum = |decisions: &[Decision]| {
        let mut digest = Digest::default();
        for &decision in decisions {
            digest.add(decision);
        }
        digest.sum
    };
    let sums = BTreeSet::from([
        sum(&[sent]),
        sum(&[marked]),
        sum(&[dropped]),
        sum(&[sent, dropped]),
        sum(&[dropped, sent]),
    ]);
    assert_eq!(sums.len(), 5);
}

#[test]
fn an_instance_accounts_for_what_it_lost_and_begins_anew() {
    let link = Link {
        seed: 1,
        mtu: 1514,
        link_header: 14,
    };
    let mut instance = Instance::<Nowhere>::new("pfifo limit 3", link).unwrap();
    let mut drops = Vec::new();
    for number in 0..5 {
        let handle = Handle::new(number * 2 + 1).unwrap();
        let offer = Offer {
            handle,
            len: 100,
            mark: 0,
            class: 0,
            front: &[],
        };
        let tell = &mut |handle: Handle, reason| drops.push((handle.number(), reason));
        instance.enqueue(&offer, Time::ZERO, tell);
    }
    instance.lost(70);
    assert_eq!(drops, [(7, DropReason::Tail), (9, DropReason::Tail)]);
    let counters = instance.counters();
    assert_eq!((counters.offered.packets, counters.dropped.packets), (6, 3));
    assert_eq!(counters.dropped_for(DropReason::NoBuffer), 1);
    instance.change("pfifo limit 4", Time::ZERO).unwrap();
    assert_eq!(
        (instance.text().as_str(), instance.backlog().packets),
        ("pfifo limit 4", 3)
    );
    assert!(instance.change("nonsense", Time::ZERO).is_err());
    assert_eq!(instance.text(), "pfifo limit 4");
    instance.reset();
    assert_eq!(instance.backlog().packets, 0);
    let counters = instance.counters();
    assert_eq!((counters.offered.packets, counters.dropped.packets), (6, 6));
    assert_eq!(instance.dequeue(Time::ZERO, &mut |_, _| {}), Taken::Empty);
}
