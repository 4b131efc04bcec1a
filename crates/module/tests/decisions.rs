//! Each discipline decides the same behind the module's border as without it, and the kernel's
//! module can be held to the digests of `decisions.txt`.

use sojourn_module::check::{
    Arrival, Checked, Decision, Digest, LINK, Next, Nowhere, Queue, Traffic, digest, front, read,
    run,
};
use sojourn_module::{FRONT, Handle, Instance, Kernel, Link, Offer, Taken};
use sojourn_qdisc::{
    Dequeue, DropReason, Ecn, Outlet, Packet, Qdisc, Setting, Spec, catalogue, truesize,
};
use sojourn_random::mix;
use sojourn_tidy::generated;
use sojourn_units::Time;
use sojourn_wire::{FlowKey, ether_type, protocol};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const DIGESTS: &str = include_str!("decisions.txt");
const SEED: u64 = 1;

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

    /// A packet that carries a number is of the flow with that number, whatever its headers say.
    fn flow_hash(&self, perturbation: u64) -> u32 {
        match self.arrival.hash {
            0 => self.key.hash(perturbation),
            number => (mix(perturbation ^ u64::from(number)) >> 32) as u32,
        }
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

const SETTING: Setting<'static> = Setting {
    seed: LINK.seed,
    name: "qdisc",
    mtu: LINK.mtu,
    link_header: LINK.link_header,
};

impl Direct {
    fn new(text: &str) -> Self {
        let spec: Spec = text.parse().unwrap();
        Self(spec.build(SETTING))
    }

    fn change(&mut self, text: &str, now: Time) {
        let spec: Spec = text.parse().unwrap();
        spec.reconfigure(&mut self.0, SETTING, now);
    }
}

/// A queue that becomes the next discipline of a list every 1500 packets.
struct Changing<'a, Q> {
    queue: Q,
    kinds: &'a [&'a str],
    change: fn(&mut Q, &str, Time),
}

impl<'a, Q> Changing<'a, Q> {
    fn new(queue: Q, kinds: &'a [&'a str], change: fn(&mut Q, &str, Time)) -> Self {
        Self {
            queue,
            kinds,
            change,
        }
    }
}

impl<Q: Queue> Queue for Changing<'_, Q> {
    fn offer(&mut self, arrival: &Arrival, dropped: &mut dyn FnMut(u64, DropReason)) {
        let number = arrival.number as usize;
        if number % 1500 == 1499 {
            let text = self.kinds[(number / 1500 + 1) % self.kinds.len()];
            (self.change)(&mut self.queue, text, arrival.at);
        }
        self.queue.offer(arrival, dropped);
    }

    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(u64, DropReason)) -> Next {
        self.queue.take(now, dropped)
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

/// The lines of the file: `[hashed] DISCIPLINE`, packets, and what was decided.
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

/// Packets that carry no hash.
fn plain(seed: u64, packets: u64) -> Traffic {
    Traffic {
        seed,
        packets,
        hashed: false,
    }
}

#[test]
fn each_packet_has_the_same_fate_behind_the_border() {
    for (line, _, _) in lines() {
        let (hashed, text) = read(line);
        let traffic = Traffic {
            hashed,
            ..plain(7, 100_000)
        };
        let mut direct = Vec::new();
        let mut behind = Vec::new();
        run(&mut Direct::new(text), traffic, &mut |decision| {
            direct.push(decision);
        });
        let mut queue = Checked::<Nowhere>::new(text).unwrap();
        run(&mut queue, traffic, &mut |decision| {
            behind.push(decision);
        });
        let differs = direct.iter().zip(&behind).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!(
                "{line}: decision {at} is {:?}, behind the border {:?}",
                direct[at], behind[at]
            );
        }
        assert_eq!(direct.len(), behind.len(), "{line}");
        assert_eq!(direct.len(), 100_000, "{line}: each packet has one fate");
    }
}

/// Each discipline becomes another one while it holds packets: what was not read of them when they
/// came is read then.
#[test]
fn a_change_of_discipline_is_the_same_behind_the_border() {
    let kinds = [
        "pfifo limit 500",
        "fq_codel flows 64",
        "pfifo limit 400",
        "cake bandwidth 90mbit diffserv4",
        "tbf rate 80mbit burst 20kb over pfifo limit 300",
        "dualpi2",
        "bfifo limit 600000",
        "fq_pie dual-srchost",
        "pfifo_head_drop limit 500",
        "codel target 2ms interval 20ms ecn",
        "cake besteffort triple-isolate wash",
    ];
    let mut direct = Changing::new(Direct::new(kinds[0]), &kinds, Direct::change);
    let mut behind = Changing::new(
        Checked::<Nowhere>::new(kinds[0]).unwrap(),
        &kinds,
        |queue, text, now| {
            queue.change(text, now).unwrap();
        },
    );
    let [direct, behind] = [&mut direct as &mut dyn Queue, &mut behind].map(|queue| {
        let mut decisions = Vec::new();
        run(queue, plain(9, 60_000), &mut |decision| {
            decisions.push(decision);
        });
        decisions
    });
    assert_eq!(direct.len(), 60_000);
    let differs = direct.iter().zip(&behind).position(|(a, b)| a != b);
    assert_eq!(differs.map(|at| (direct[at], behind[at])), None);
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

/// A queue with flows tells them apart by the hash; for one without flows nothing changes.
#[test]
fn a_hash_changes_what_a_flow_queue_decides_and_nothing_else() {
    for (text, has_flows) in [("codel", false), ("fq_codel", true), ("cake", true)] {
        let [plain, hashed] = [text.to_owned(), format!("hashed {text}")]
            .map(|text| digest::<Nowhere>(&text, SEED, 20_000).unwrap());
        assert_eq!(plain != hashed, has_flows, "{text}");
    }
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

thread_local! {
    static FREED: Cell<u32> = const { Cell::new(0) };
}

/// Counts the packets that the library has given up.
struct Counting;

impl Kernel for Counting {
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize {
        front(packet, room)
    }

    fn set_ce(_: Handle) -> bool {
        true
    }

    fn clear_dscp(_: Handle) {}

    fn free(_: Handle) {
        FREED.set(FREED.get() + 1);
    }
}

/// A packet that is sent or told as dropped is the kernel's again, and is not freed beside it.
#[test]
fn packets_are_freed_only_with_the_queue_that_holds_them() {
    for (text, _, _) in lines() {
        let mut queue = Checked::<Counting>::new(read(text).1).unwrap();
        let mut decided = 0;
        run(&mut queue, plain(3, 2000), &mut |_| decided += 1);
        assert_eq!((decided, FREED.get()), (2000, 0), "{text}");
        let arrival = Arrival {
            number: 1,
            at: Time::from_nanos(u64::MAX / 2),
            len: 100,
            flow: 0,
            hash: 0,
            tos: 0,
        };
        queue.offer(&arrival, &mut |_, _| {});
        drop(queue);
        assert_eq!(FREED.replace(0), 1, "{text}");
    }
}

/// A hash of a socket or a network card separates flows as their headers do.
#[test]
fn packets_with_a_hash_are_told_apart_by_it() {
    let mut instance = Instance::<Nowhere>::new("fq_codel", LINK).unwrap();
    let mut order = Vec::new();
    for number in 0..6 {
        let offer = Offer {
            handle: Handle::new(number * 2 + 1).unwrap(),
            len: 1500,
            memory: 2304,
            hash: if number < 4 { 5 } else { 6 },
            front: &[],
        };
        instance.enqueue(&offer, Time::ZERO, |_, _| {});
    }
    while let Taken::Packet { handle, .. } = instance.dequeue(Time::ZERO, |_, _| {}) {
        order.push(handle.number() / 2);
    }
    // A quantum is 1514 bytes: one packet of each flow, then the second turn, of 1528 bytes.
    assert_eq!(order, [0, 1, 4, 5, 2, 3]);
    assert_eq!(instance.counters().dequeued.packets, 6);
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
            memory: 768,
            hash: 0,
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
