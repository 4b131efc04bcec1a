//! A tree of rates against arithmetic: token traces by hand (`htb_charge_class`), shares by the
//! rule of borrowing, and what holds for any operations.

use crate::common::{Log, TestPacket};
use proptest::prelude::*;
use sojourn_qdisc::{
    Dequeue, Discard, Qdisc, Reconfigured, Setting, Spec, Tree, TreeClass, TreeFault, TreeSpec,
};
use sojourn_units::{Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

const SETTING: Setting<'static> = Setting {
    seed: 1,
    name: "tree",
    mtu: 1514,
    link_header: 14,
};

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// A class that is no leaf, with rates in Mbit/s.
fn site(name: &str, parent: Option<u32>, rate: u64, ceil: u64) -> TreeClass {
    TreeClass {
        name: name.into(),
        parent,
        rate: mbit(rate),
        ceil: Some(mbit(ceil)),
        queue: None,
    }
}

fn leaf(name: &str, parent: Option<u32>, rate: u64, ceil: u64) -> TreeClass {
    TreeClass {
        queue: Some(0),
        ..site(name, parent, rate, ceil)
    }
}

fn spec(classes: Vec<TreeClass>) -> Arc<TreeSpec> {
    let queues = vec![Spec::pfifo(1000)];
    Arc::new(TreeSpec::new(classes, queues).expect("a tree"))
}

fn tree(classes: Vec<TreeClass>) -> Tree<TestPacket> {
    Tree::new(spec(classes), SETTING)
}

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// When each packet leaves that is there, in microseconds, and of which leaf it is.
fn departures(tree: &mut Tree<TestPacket>) -> Vec<(u64, u32)> {
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    loop {
        match tree.dequeue(now, &mut Discard) {
            Dequeue::Packet { packet, .. } => left.push((now.as_nanos() / 1000, packet.circuit)),
            Dequeue::NotBefore(due) => {
                assert!(due > now);
                let early = Time::from_nanos(due.as_nanos() - 1);
                let answer = tree.dequeue(early, &mut Discard);
                assert!(matches!(answer, Dequeue::NotBefore(again) if again == due));
                now = due;
            }
            Dequeue::Empty => return left,
        }
    }
}

fn offer(tree: &mut Tree<TestPacket>, circuit: u32, count: u64, len: u32) {
    for id in 0..count {
        let packet = TestPacket::new(id, len).to(circuit);
        tree.enqueue(packet, Time::ZERO, &mut Discard);
    }
}

#[test]
fn a_leaf_at_its_ceiling_pays_its_debt() {
    // A byte a microsecond; the bucket holds a millisecond's bytes and 1600: 2600, 1600, 600, −400.
    let mut tree = tree(vec![leaf("a", None, 8, 8)]);
    offer(&mut tree, 1, 5, 1000);
    let left: Vec<u64> = departures(&mut tree).iter().map(|(at, _)| *at).collect();
    assert_eq!(left, [0, 0, 0, 400, 1400]);
}

#[test]
fn a_leaf_borrows_its_parents_tokens_and_is_not_charged_for_them() {
    // Tokens of the leaf (½ byte a microsecond, 2100 at first), of its ceiling and of the site (one
    // byte, 2600). Three leave on its own: −900, −400, −400. The fourth at 400 µs, when ceiling and
    // site are at zero, on the site's; so the fifth at 1400. At 2400 µs the leaf has −900 + 1200 =
    // 300 of its own.
    let mut tree = tree(vec![site("s", None, 8, 8), leaf("a", Some(0), 4, 8)]);
    offer(&mut tree, 2, 7, 1000);
    let left: Vec<u64> = departures(&mut tree).iter().map(|(at, _)| *at).collect();
    assert_eq!(left, [0, 0, 0, 400, 1400, 2400, 3400]);
    let counts = tree.class_counts(1).expect("a class");
    // Own: three, that at 2400 (300 − 1000 = −700), and not that at 3400 (−200).
    assert_eq!((counts.lent, counts.borrowed), (4, 3));
    assert_eq!((counts.sent.packets, counts.sent.bytes), (7, 7000));
    assert_eq!((counts.dropped.packets, counts.backlog.packets), (0, 0));
    assert_eq!(counts.waited, Span::from_micros(400 + 1400 + 2400 + 3400));
    // 50, 218.75, 491.41, 854.98 µs: an eighth of each, seven of what was.
    assert_eq!(counts.delay.as_nanos() / 10, 85_498);
    assert_eq!(tree.class_counts(0).map(|site| site.sent.packets), Some(7));
    assert_eq!(tree.class_counts(3), None);
}

#[test]
fn packets_of_no_class_are_counted_behind_the_last() {
    let mut tree = tree(vec![leaf("a", None, 8, 8)]);
    offer(&mut tree, 0, 3, 1000);
    departures(&mut tree);
    let sent = |number| tree.class_counts(number).map(|it| it.sent.packets);
    assert_eq!([0, 1, 2].map(sent), [Some(0), Some(3), None]);
}

#[test]
fn who_has_tokens_goes_before_who_borrows() {
    // Leaf 3 wakes up while leaf 2 lives on what the site lends.
    let mut tree = tree(vec![
        site("s", None, 8, 8),
        leaf("a", Some(0), 1, 8),
        leaf("b", Some(0), 7, 8),
    ]);
    offer(&mut tree, 2, 8, 1000);
    // 1725 bytes of its own; the rest of 2600 is the site's.
    let mut now = Time::ZERO;
    for _ in 0..3 {
        let answer = tree.dequeue(now, &mut Discard);
        assert!(matches!(answer, Dequeue::Packet { .. }));
    }
    now = micros(400);
    tree.enqueue(TestPacket::new(9, 1000).to(3), now, &mut Discard);
    match tree.dequeue(now, &mut Discard) {
        Dequeue::Packet { packet, .. } => assert_eq!(packet.circuit, 3),
        other => panic!("{other:?}"),
    }
}

/// What leaves of each busy leaf from the second second to the eleventh, in kbit/s.
fn shares(tree: &mut Tree<TestPacket>, busy: &[u32], lens: &[u32]) -> Vec<u64> {
    let mut bits = BTreeMap::new();
    let mut id = 0;
    for (&circuit, &len) in busy.iter().zip(lens.iter().cycle()) {
        for _ in 0..20 {
            id += 1;
            let packet = TestPacket::new(id, len).to(circuit);
            tree.enqueue(packet, Time::ZERO, &mut Discard);
        }
    }
    let (mut now, from, end) = (Time::ZERO, micros(1_000_000), micros(11_000_000));
    while now < end {
        match tree.dequeue(now, &mut Discard) {
            Dequeue::Packet { packet, .. } => {
                if now >= from {
                    *bits.entry(packet.circuit).or_insert(0) += u64::from(packet.len) * 8;
                }
                tree.enqueue(packet, now, &mut Discard);
            }
            Dequeue::NotBefore(due) => now = due,
            Dequeue::Empty => panic!("always busy"),
        }
    }
    busy.iter()
        .map(|circuit| bits.get(circuit).copied().unwrap_or(0) / 10_000)
        .collect()
}

/// Within one percent of what is due, in Mbit/s.
#[track_caller]
fn assert_shares(classes: &[TreeClass], busy: &[u32], due: &[f64]) {
    for lens in [&[1514_u32][..], &[64, 1514, 590]] {
        let shares = shares(&mut tree(classes.to_vec()), busy, lens);
        for (share, due) in shares.iter().zip(due) {
            let error = (*share as f64 / 1000.0 - due).abs() / due;
            assert!(
                error < 0.01,
                "{shares:?} kbit/s of {due}, packets of {lens:?}"
            );
        }
    }
}

#[test]
fn what_is_left_is_shared_by_rates_up_to_ceilings() {
    let classes = |ceil| {
        vec![
            site("s", None, 100, 100),
            leaf("a", Some(0), 10, 100),
            leaf("b", Some(0), 30, ceil),
        ]
    };
    // 60 to share, one to three.
    assert_shares(&classes(100), &[2, 3], &[25.0, 75.0]);
    assert_shares(&classes(50), &[2, 3], &[50.0, 50.0]);
    assert_shares(&classes(100), &[2], &[100.0]);
}

#[test]
fn rates_of_nested_classes_hold() {
    let classes = vec![
        site("r", None, 100, 100),
        site("s", Some(0), 60, 100),
        site("t", Some(0), 40, 100),
        leaf("a", Some(1), 10, 100),
        leaf("b", Some(1), 20, 100),
        leaf("c", Some(2), 40, 100),
    ];
    // 30 of s to share, one to two.
    assert_shares(&classes, &[4, 5, 6], &[20.0, 40.0, 40.0]);
    // s borrows what t leaves: 70 to share.
    assert_shares(&classes, &[4, 5], &[33.333, 66.667]);
    // t borrows: 90 beyond a's 10.
    let one = [4, 6];
    assert_shares(&classes, &one, &[60.0, 40.0]);
}

#[test]
fn a_site_without_a_guarantee_borrows_for_its_leaves() {
    let classes = vec![
        site("r", None, 90, 90),
        site("s", Some(0), 0, 90),
        site("t", Some(0), 30, 90),
        leaf("a", Some(1), 5, 90),
        leaf("b", Some(2), 30, 90),
    ];
    // Nothing is assured to a, since s has nothing; of 60 to share both sites have the turns of
    // 1514 bytes, for which t needs no more than s.
    assert_shares(&classes, &[4, 5], &[30.0, 60.0]);
}

#[test]
fn guarantees_that_exceed_their_parent_are_cut() {
    let mut classes = vec![site("s", None, 10, 10)];
    classes.extend(["a", "b", "c", "d"].map(|name| leaf(name, Some(0), 5, 10)));
    assert_shares(&classes, &[2, 3, 4, 5], &[2.5, 2.5, 2.5, 2.5]);
}

#[test]
fn packets_of_no_leaf_borrow_from_the_link() {
    let mut tree = tree(vec![site("s", None, 8, 8), leaf("a", Some(0), 8, 8)]);
    // Nobody's, a number that is too high, and one that is no leaf's: none is lost or held back.
    for circuit in [0, 99, 1, u32::MAX] {
        offer(&mut tree, circuit, 10, 1000);
    }
    let left = departures(&mut tree);
    assert_eq!(left.len(), 40);
    assert!(left.iter().all(|(at, _)| *at == 0));
}

#[test]
fn a_leaf_with_a_shaper_of_its_own_is_waited_for() {
    let queues = vec![
        "tbf rate 8mbit burst 1000 limit 20000"
            .parse()
            .expect("a spec"),
    ];
    let classes = vec![leaf("a", None, 80, 80)];
    let spec = TreeSpec::new(classes, queues).expect("a tree");
    let mut tree = Tree::new(Arc::new(spec), SETTING);
    offer(&mut tree, 1, 4, 1000);
    let left: Vec<u64> = departures(&mut tree).iter().map(|(at, _)| *at).collect();
    assert_eq!(left, [0, 1000, 2000, 3000]);
}

#[test]
fn a_tree_says_what_is_wrong_with_it() {
    let queues = || vec![Spec::pfifo(1)];
    let fault =
        |classes| TreeSpec::new(classes, queues()).map_err(|error| (error.class, error.fault));
    let two = |first, second| fault(vec![first, second]).unwrap_err();
    let a = || leaf("a", None, 1, 1);
    assert_eq!(two(a(), leaf("b", Some(0), 1, 1)), (1, TreeFault::Parent));
    assert_eq!(two(a(), leaf("b", Some(1), 1, 1)), (1, TreeFault::Parent));
    assert_eq!(two(a(), leaf("b", None, 2, 1)), (1, TreeFault::Ceil));
    assert_eq!(two(a(), leaf("b", None, 0, 0)), (1, TreeFault::Ceil));
    assert_eq!(two(a(), a()), (1, TreeFault::Name));
    let deep = (0..40_u32).map(|depth| site(&depth.to_string(), depth.checked_sub(1), 1, 1));
    assert_eq!(fault(deep.collect()).unwrap_err(), (30, TreeFault::Depth));
    let other = TreeClass {
        queue: Some(1),
        ..a()
    };
    assert_eq!(fault(vec![other]).unwrap_err(), (0, TreeFault::Queue));
    // A site and a leaf may be called alike.
    assert!(fault(vec![site("a", None, 1, 1), leaf("a", Some(0), 1, 1)]).is_ok());
}

#[test]
fn a_change_keeps_packets_debts_and_counts() {
    let classes = vec![
        site("s", None, 8, 8),
        leaf("a", Some(0), 8, 8),
        leaf("gone", Some(0), 1, 8),
    ];
    let mut tree = tree(classes);
    offer(&mut tree, 3, 2, 1000);
    offer(&mut tree, 2, 6, 1000);
    let first = tree.dequeue(Time::ZERO, &mut Discard);
    assert!(matches!(first, Dequeue::Packet { .. }));
    // a has another number and half the rate, `gone` is gone, b is new.
    let wanted = vec![
        leaf("b", None, 8, 8),
        site("s", None, 4, 4),
        leaf("a", Some(1), 4, 4),
    ];
    let wanted = Spec::Tree(spec(wanted));
    tree.change(&wanted, Time::ZERO).expect("a tree too");
    assert_eq!(tree.backlog().packets, 7);
    let left = departures(&mut tree);
    assert_eq!(left.len(), 7);
    let of_gone = left.iter().filter(|(_, circuit)| *circuit == 3);
    assert!(of_gone.clone().count() >= 1 && of_gone.clone().all(|(at, _)| *at == 0));
    // 6000 bytes of which at most 2600 go at once take at least 3400 less the last packet, at half
    // a byte a microsecond.
    assert!(
        left.last()
            .is_some_and(|(at, _)| *at >= 2 * (6000 - 2600 - 1000))
    );
    let accounts = *tree.counters();
    assert_eq!(
        (accounts.offered.packets, accounts.dequeued.packets),
        (8, 8)
    );
    let counts = tree.class_counts(2).expect("a class");
    assert_eq!(counts.sent.bytes, 6000);
}

/// What comes in, and when.
#[derive(Clone, Debug)]
enum Step {
    Offer { circuit: u32, len: u32 },
    Take,
    Wait(i64),
    Change(usize, How),
}

/// Who has built the tree that follows.
#[derive(Clone, Copy, Debug)]
enum How {
    Here,
    Beforehand,
    /// Beforehand, for another tree than there is.
    Mistaken,
}

/// A tree becomes another one.
fn change(tree: &mut Box<dyn Qdisc<TestPacket>>, spec: &Spec, how: How, now: Time) {
    let before = match how {
        How::Here => return tree.change(spec, now).expect("a tree too"),
        How::Beforehand => tree.spec().expect("it has one"),
        How::Mistaken => spec.clone(),
    };
    let mut fresh = spec.build_after(&before, SETTING);
    let result = spec.reconfigure_with(tree, now, || &mut fresh);
    assert_eq!(result, Reconfigured::Replaced);
    *tree = fresh;
}

fn step() -> impl Strategy<Value = Step> {
    let how = prop_oneof![Just(How::Here), Just(How::Beforehand), Just(How::Mistaken)];
    let len = prop_oneof![Just(0_u32), 1..2000_u32, Just(65_000)];
    prop_oneof![
        5 => (0..9_u32, len).prop_map(|(circuit, len)| Step::Offer { circuit, len }),
        5 => Just(Step::Take),
        3 => (-1000..100_000_000_i64).prop_map(Step::Wait),
        1 => (0..4_usize, how).prop_map(|(which, how)| Step::Change(which, how)),
    ]
}

fn some_trees() -> Vec<Arc<TreeSpec>> {
    let queues: Vec<Spec> = [
        "pfifo limit 3",
        "fq_codel limit 5",
        "tbf rate 1mbit burst 3000 limit 9000",
        "cake",
    ]
    .iter()
    .map(|queue| queue.parse().expect("a spec"))
    .collect();
    let of = |classes: Vec<TreeClass>| {
        let dress = classes.into_iter().enumerate().map(|(n, mut class)| {
            class.queue = class.queue.map(|_| (n % 4) as u16);
            class
        });
        Arc::new(TreeSpec::new(dress.collect(), queues.clone()).expect("a tree"))
    };
    vec![
        of(vec![
            site("s", None, 5, 9),
            leaf("a", Some(0), 1, 9),
            leaf("b", Some(0), 9, 9),
        ]),
        of(vec![
            leaf("b", None, 0, 2),
            leaf("a", None, 3, 3),
            site("s", None, 1, 1),
        ]),
        of(vec![
            site("r", None, 4, 4),
            site("s", Some(0), 0, 4),
            leaf("a", Some(1), 1, 2),
            leaf("b", Some(0), 1, 4),
            leaf("c", Some(1), 0, 4),
            site("t", Some(0), 2, 3),
            leaf("d", Some(5), 2, 2),
        ]),
        of(Vec::new()),
    ]
}

proptest! {
    #[test]
    fn accounts_balance_and_order_is_kept(steps in prop::collection::vec(step(), 1..300)) {
        let trees = some_trees();
        let mut tree = Spec::Tree(Arc::clone(&trees[0])).build(SETTING);
        let (mut now, mut log, mut last) = (1_000_000_000_i64, Log::default(), BTreeMap::new());
        let (mut offered, mut taken, mut moved) = (0_u64, 0_u64, false);
        let mut take = |tree: &mut Box<dyn Qdisc<TestPacket>>, now, log: &mut Log, moved: bool| {
            let answer = tree.dequeue(now, log);
            if let Dequeue::Packet { packet, .. } = &answer {
                let before = last.insert(packet.circuit, packet.id);
                // Circuits that were taken away and brought back have packets in two places.
                assert!(moved || before.is_none_or(|before| before < packet.id));
            }
            answer
        };
        for step in steps {
            let time = Time::from_nanos(now.cast_unsigned());
            match step {
                Step::Offer { circuit, len } => {
                    offered += 1;
                    tree.enqueue(TestPacket::new(offered, len).to(circuit), time, &mut log);
                }
                Step::Take => match take(&mut tree, time, &mut log, moved) {
                    Dequeue::Packet { .. } => taken += 1,
                    Dequeue::NotBefore(due) => {
                        prop_assert!(due > time && tree.backlog().packets > 0);
                    }
                    Dequeue::Empty => prop_assert_eq!(tree.backlog().packets, 0),
                },
                Step::Wait(span) => now = (now + span).max(0),
                Step::Change(which, how) => {
                    moved = true;
                    let spec = Spec::Tree(Arc::clone(&trees[which]));
                    change(&mut tree, &spec, how, time);
                }
            }
            let dropped = log.dropped.len() as u64;
            prop_assert_eq!(tree.backlog().packets, offered - taken - dropped);
            prop_assert_eq!(tree.counters().dropped.packets, dropped);
        }
        let mut time = Time::from_nanos(now.cast_unsigned());
        loop {
            match take(&mut tree, time, &mut log, moved) {
                Dequeue::Packet { .. } => taken += 1,
                Dequeue::NotBefore(due) => time = due,
                Dequeue::Empty => break,
            }
        }
        prop_assert_eq!(offered, taken + log.dropped.len() as u64);
        prop_assert_eq!(tree.backlog().bytes, 0);
    }
}
