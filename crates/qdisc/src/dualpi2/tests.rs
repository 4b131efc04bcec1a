//! The controller, the coupling, the step and the scheduler, against numbers by hand.

// Shares of nothing and of all are exact.
#![allow(clippy::float_cmp)]

use super::*;
use crate::qdisc::Discard;
use alloc::string::ToString;

/// A full packet with a number and its ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full(pub(super) u64, pub(super) Ecn);

impl Packet for Full {
    fn len(&self) -> u32 {
        1514
    }

    fn flow_hash(&self, _perturbation: u64) -> u32 {
        0
    }

    fn ecn(&self) -> Ecn {
        self.1
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.1.is_capable();
        if capable {
            self.1 = Ecn::Ce;
        }
        capable
    }
}

pub(super) fn dual(change: impl FnOnce(&mut DualPi2Params)) -> DualPi2<Full> {
    let mut params = DualPi2Params::default();
    change(&mut params);
    DualPi2::new(params, 1514, Stream::named(1, "dualpi2"))
}

pub(super) fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

pub(super) fn us(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

pub(super) fn next(queue: &mut DualPi2<Full>, now: Time) -> Option<Full> {
    match queue.dequeue(now, &mut Discard) {
        Dequeue::Packet { packet, .. } => Some(packet),
        _ => None,
    }
}

/// The kernel's arithmetic: alpha 41/256 Hz is 44 of 2⁻³² a 64 ns, beta 819/256 Hz 879. A head of
/// the C queue that has waited 31 ms at 32 ms, where the target is 15: (16·44 + 31·879) · 10⁶ / 64
/// = 436 765 625 (10.2 %); 16 ms later, at 47 ms: (32·44 + 16·879) · 10⁶ / 64 = 241 750 000 more.
#[test]
fn the_controller_reckons_as_the_kernel() {
    assert_eq!((scaled(41), scaled(819)), (44, 879));
    let mut queue = dual(|_| {});
    queue.enqueue(Full(1, Ecn::NotEct), ms(17), &mut Discard);
    // The update of 16 ms saw an empty queue.
    assert_eq!(queue.probability, 0);
    queue.keep_up(ms(31));
    assert_eq!(queue.probability, 0);
    // At 32 ms it has waited 15 ms: (0 · 44 + 15 · 879) · 10⁶ / 64.
    queue.keep_up(ms(32));
    assert_eq!(queue.probability, 206_015_625);
    // At 48 ms 31: (16 · 44 + 16 · 879) · 10⁶ / 64 = 230 750 000 more.
    queue.keep_up(ms(48));
    assert_eq!(queue.probability, 436_765_625);
    // Twice late: at 64 ms (32 · 44 + 16 · 879), at 80 ms (48 · 44 + 16 · 879), all · 10⁶ / 64.
    queue.keep_up(ms(80));
    assert_eq!(queue.probability, 436_765_625 + 241_750_000 + 252_750_000);
    // It falls while the queue is empty: the first time by (15 · 44 + 63 · 879) · 10⁶ / 64, which
    // is 875 578 125 of 931 265 625, and by 15 · 44 · 10⁶ / 64 = 10 312 500 each time.
    assert_eq!(next(&mut queue, ms(80)), Some(Full(1, Ecn::NotEct)));
    queue.keep_up(ms(96));
    assert_eq!(queue.probability, 931_265_625 - 875_578_125);
    queue.keep_up(ms(112));
    assert_eq!(queue.probability, 931_265_625 - 875_578_125 - 10_312_500);
    queue.keep_up(Time::MAX);
    assert_eq!(queue.probability, 0);
}

/// RFC 9332 section 2.1: the C queue's probability is the square of the base one, the L queue's
/// twice the base one.
#[test]
fn the_coupling_is_a_square_and_a_product() {
    let mut queue = dual(|_| {});
    queue.probability = u32::MAX / 5;
    queue.backlog.bytes = 1 << 20;
    let mut share = |is_low, ecn, wanted: Fate| {
        let hits = (0..100_000).filter(|_| queue.judge(is_low, ecn) == wanted);
        hits.count() as f64 / 100_000.0
    };
    // 0.2: 4 % and 40 %; three standard errors are 0.2 and 0.5 %.
    assert!((share(false, Ecn::NotEct, Fate::Drop) - 0.04).abs() < 0.002);
    assert!((share(false, Ecn::Ect0, Fate::Mark) - 0.04).abs() < 0.002);
    assert!((share(true, Ecn::Ect1, Fate::Mark) - 0.4).abs() < 0.005);
    assert_eq!(share(true, Ecn::Ect1, Fate::Drop), 0.0);
    // Less than two full packets are left alone.
    queue.backlog.bytes = 3027;
    assert!((0..1000).all(|_| queue.judge(true, Ecn::Ect1) == Fate::Pass));
}

/// Above one half the L queue's probability would be above 1: it marks everything, and drops as the
/// C queue does, which no longer marks. With `overflow` the base stays at one half.
#[test]
fn overload_drops_in_both_queues_or_marks_all() {
    let mut queue = dual(|_| {});
    queue.probability = (f64::from(u32::MAX) * 0.6) as u32;
    queue.backlog.bytes = 1 << 20;
    let mut drops = |is_low, ecn| {
        let fates: Vec<Fate> = (0..100_000).map(|_| queue.judge(is_low, ecn)).collect();
        let of = |wanted| fates.iter().filter(|fate| **fate == wanted).count() as f64 / 100_000.0;
        (of(Fate::Drop), of(Fate::Mark))
    };
    let (dropped, marked) = drops(true, Ecn::Ect1);
    assert!((dropped - 0.36).abs() < 0.005 && (dropped + marked - 1.0).abs() < 1e-9);
    let (dropped, marked) = drops(false, Ecn::Ect0);
    assert!((dropped - 0.36).abs() < 0.005 && marked == 0.0);

    let mut queue = dual(|params| params.overload = DualOverload::Overflow);
    queue.enqueue(Full(1, Ecn::NotEct), ms(0), &mut Discard);
    queue.keep_up(ms(10_000));
    assert_eq!(queue.probability, u32::MAX / 2);
    queue.backlog.bytes = 1 << 20;
    assert!((0..1000).all(|_| queue.judge(true, Ecn::Ect1) == Fate::Mark));
}

/// Exactly the threshold is not above it, and packets without ECT are never in the L queue.
#[test]
fn the_step_marks_what_waited_longer() {
    let mut queue = dual(|_| {});
    for (id, ecn) in [(1, Ecn::Ect1), (2, Ecn::Ect1), (3, Ecn::Ce), (4, Ecn::Ect0)] {
        queue.enqueue(Full(id, ecn), us(0), &mut Discard);
    }
    assert_eq!(next(&mut queue, us(1000)), Some(Full(1, Ecn::Ect1)));
    assert_eq!(next(&mut queue, us(1001)), Some(Full(2, Ecn::Ce)));
    // The one that came with CE counts for Linux, and is no mark of this queue's.
    assert_eq!(next(&mut queue, us(1001)), Some(Full(3, Ecn::Ce)));
    assert_eq!((queue.ecn_mark, queue.step_mark), (2, 2));
    assert_eq!(queue.counters().marked.packets, 1);
    // That of the C queue has no step.
    assert_eq!(next(&mut queue, us(9000)), Some(Full(4, Ecn::Ect0)));

    let mut queue = dual(|params| {
        params.step_thresh = StepThreshold::Packets(1);
        params.min_qlen_step = 1;
    });
    for id in 0..4 {
        queue.enqueue(Full(id, Ecn::Ect1), us(0), &mut Discard);
    }
    // Behind them wait 3, 2, 1 and 0; the first found none, which is fewer than one.
    let left: Vec<Ecn> = (0..4)
        .filter_map(|_| next(&mut queue, us(1)))
        .map(|p| p.1)
        .collect();
    assert_eq!(left, [Ecn::Ect1, Ecn::Ce, Ecn::Ect1, Ecn::Ect1]);
}

/// With 10 % the C queue sends one byte of ten while both wait; alone it sends all.
#[test]
fn the_classic_queue_gets_its_share() {
    let mut queue = dual(|params| {
        params.step_thresh = StepThreshold::Time(Span::from_secs(9));
        params.target = Span::from_secs(9);
    });
    for id in 0..1000 {
        queue.enqueue(Full(id, Ecn::Ect1), us(0), &mut Discard);
        queue.enqueue(Full(id, Ecn::NotEct), us(0), &mut Discard);
    }
    let sent: Vec<Full> = (0..1000).filter_map(|_| next(&mut queue, us(1))).collect();
    let classic = sent.iter().filter(|packet| packet.1 == Ecn::NotEct);
    assert_eq!(classic.count(), 100);
    // The credit at rest is -80 full packets of 1 %. Each of the L queue adds 10, each of the C
    // queue takes 90: up to zero nine go ahead, then one, then nine again.
    let first: Vec<bool> = sent
        .iter()
        .take(20)
        .map(|packet| packet.1 == Ecn::Ect1)
        .collect();
    let mut wanted = [true; 20];
    (wanted[9], wanted[19]) = (false, false);
    assert_eq!(first, wanted);
    let rest: Vec<Full> = (0..1000).filter_map(|_| next(&mut queue, us(1))).collect();
    assert_eq!(rest.len(), 1000);
    assert_eq!(queue.backlog(), Backlog::default());
}

#[test]
fn limits_refuse_the_arrival() {
    let mut queue = dual(|params| params.limit = 2);
    for id in 0..3 {
        queue.enqueue(Full(id, Ecn::Ect1), us(0), &mut Discard);
    }
    assert_eq!(queue.counters().dropped_for(DropReason::Tail), 1);
    // 2304 bytes each.
    let mut queue = dual(|params| params.memlimit = Some(5000));
    for id in 0..3 {
        queue.enqueue(Full(id, Ecn::NotEct), us(0), &mut Discard);
    }
    assert_eq!((queue.backlog().packets, queue.memory), (2, 4608));
    assert_eq!(queue.counters().overlimits, 1);
}

/// With any_ect ECT(0) is in the L queue too, for DCTCP.
#[test]
fn the_mask_chooses_the_queue() {
    let mut queue = dual(|params| params.mask = DualMask::Any);
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
        .into_iter()
        .enumerate()
    {
        queue.enqueue(Full(id as u64, ecn), us(0), &mut Discard);
    }
    assert_eq!((queue.into_classic, queue.into_low), (1, 3));
}

/// The options as the kernel's tc-testing expects them of iproute2 (dualpi2.json), and JSON's names.
#[test]
fn it_is_shown_as_tc_shows_it() {
    let place = crate::Place {
        dev: None,
        handle: 1,
    };
    let mut queue = dual(|_| {});
    queue.enqueue(Full(1, Ecn::Ect1), ms(1), &mut Discard);
    let told = queue.report(ms(2));
    assert_eq!(
        told.tc_text(place),
        "qdisc dualpi2 1: root refcnt 2 limit 10000p memlimit 30280000B target 15ms tupdate 16ms \
         alpha 0.156250 beta 3.195312 step_thresh 1ms min_qlen_step 0p coupling_factor 2 \
         drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso \n \
         Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n \
         backlog 1514b 1p requeues 0\n\
         prob 0.000000 delay_c 0us delay_l 1000us\n\
         pkts_in_c 0 pkts_in_l 1 maxq 0\n\
         ecn_mark 0 step_mark 0\n\
         credit -121120 (L-queue)\n\
         memory_used 2304 (max 2304) of memory limit 30280000\n\n"
    );
    let json = told.tc_json(place);
    for part in [
        r#""memory-limit":30280000"#,
        r#""alpha":0.15625,"beta":3.1953125"#,
        r#""split-gso":null}"#,
        r#""step-thresh-us":1000"#,
        r#""drop-overload":"drop""#,
        r#""c-protection":10"#,
        r#""delay-l":1000"#,
        r#""credit":-121120"#,
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
    let packets = dual(|params| params.step_thresh = StepThreshold::Packets(5)).report(ms(1));
    assert!(packets.tc_text(place).contains(" step_thresh 5p "));
    assert!(packets.tc_json(place).contains(r#""step-thresh-pkts":5"#));
}

fn of(words: &str) -> DualPi2Params {
    match words.parse() {
        Ok(Spec::DualPi2(params)) => params,
        other => panic!("{words}: {other:?}"),
    }
}

/// Round trips set four values as in iproute2; one alone gives the other, six times as long.
#[test]
fn round_trips_set_target_pace_and_weights() {
    let both = of("dualpi2 typical_rtt 20ms max_rtt 200ms");
    assert_eq!(
        (both.target, both.tupdate),
        (Span::from_millis(20), Span::from_millis(20))
    );
    // 0.1 · 0.02 / 0.2² Hz and 0.3 / 0.2 Hz, in 1/256 Hz, cut.
    assert_eq!((both.alpha, both.beta), (12, 384));
    assert_eq!(of("dualpi2 typical_rtt 10ms"), of("dualpi2 max_rtt 60ms"));
    for (words, why) in [
        (
            "dualpi2 typical_rtt 50ms max_rtt 40ms",
            "`typical_rtt` of dualpi2 is above `max_rtt`",
        ),
        (
            "dualpi2 max_rtt 90ms target 5ms",
            "`target` of dualpi2 stands beside `max_rtt`",
        ),
        ("dualpi2 max_rtt 5s", "`max_rtt` of dualpi2 is too long"),
        ("dualpi2 alpha 0.003", "`alpha` of dualpi2 is too small"),
        ("dualpi2 beta 0.0039", "`beta` of dualpi2 is too small"),
        (
            "dualpi2 law rfc9332 drop_enqueue",
            "`law rfc9332` of dualpi2 judges packets that leave",
        ),
    ] {
        let error = words.parse::<Spec>().unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    assert_eq!(of("dualpi2 alpha 0.0039063").alpha, 1);
}

/// The commands of the kernel's tc-testing for this queue (Linux 7.3, `qdiscs/dualpi2.json`), by
/// their numbers, and what the queue's line then has.
const TC_TESTING: [(&str, &str, &str); 12] = [
    (
        "a4c7",
        "",
        "step_thresh 1ms min_qlen_step 0p coupling_factor 2 drop_on_overload drop_dequeue \
         classic_protection 10% l4s_ect split_gso",
    ),
    ("1ea4", "memlimit 20000000", "memlimit 20000000B"),
    (
        "2130",
        "typical_rtt 20ms max_rtt 200ms",
        "target 20ms tupdate 20ms alpha 0.042969 beta 1.496094",
    ),
    (
        "90c1",
        "max_rtt 300ms",
        "target 50ms tupdate 50ms alpha 0.050781 beta 0.996094",
    ),
    ("7b3c", "any_ect", "any_ect"),
    ("49a3", "overflow", "overflow"),
    ("d0a1", "drop_enqueue", "drop_enqueue"),
    ("f051", "no_split_gso", "no_split_gso"),
    ("456b", "step_thresh 3p", "step_thresh 3p"),
    ("610c", "min_qlen_step 1", "min_qlen_step 1p"),
    ("b4fa", "coupling_factor 1", "coupling_factor 1"),
    ("37f1", "classic_protection 0", "classic_protection 0%"),
];

#[test]
fn the_kernels_own_tests_of_its_words_pass() {
    let place = crate::Place {
        dev: None,
        handle: 1,
    };
    for (number, words, line) in TC_TESTING {
        let params = of(&alloc::format!("dualpi2 {words}"));
        let queue: DualPi2<Full> = DualPi2::new(params, 1514, Stream::named(1, "dualpi2"));
        let text = queue.report(ms(0)).tc_text(place);
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("qdisc dualpi2 1: root refcnt 2 limit 10000p "),
            "{number}: {first}"
        );
        assert!(
            first.contains(&alloc::format!(" {line} ")),
            "{number}: {first}"
        );
    }
    // What iproute2 or the kernel refuse.
    for words in [
        "alpha 0",
        "beta 0",
        "beta 8388608",
        "coupling_factor 0",
        "coupling_factor 256",
        "classic_protection 101",
        "limit 0",
        "memlimit 0",
        "tupdate 0",
        "step_thresh x",
        "min_qlen_step -1",
        "l4s",
    ] {
        let refused = alloc::format!("dualpi2 {words}").parse::<Spec>();
        assert!(refused.is_err(), "{words}: {refused:?}");
    }
}

/// Ten of the L queue have waited above the step, one of them came with CE: nine marks of this
/// queue, ten of Linux's `ecn-mark`. The limit refuses one packet of each kind.
#[test]
fn both_queues_are_counted_apart() {
    let mut queue = dual(|params| params.limit = 12);
    for number in 0..10 {
        let ecn = if number == 3 { Ecn::Ce } else { Ecn::Ect1 };
        queue.enqueue(Full(number, ecn), ms(1), &mut Discard);
    }
    for (number, ecn) in [
        (10, Ecn::NotEct),
        (11, Ecn::Ect0),
        (12, Ecn::NotEct),
        (13, Ecn::Ce),
    ] {
        queue.enqueue(Full(number, ecn), ms(1), &mut Discard);
    }
    let mut low = 0;
    while next(&mut queue, ms(3)).is_some() {
        low += u64::from(queue.dual().expect("it has two").served_low);
    }
    let dual = queue.dual().expect("it has two");
    let counts = |of: DualCounts| {
        assert_eq!(of.backlog, Backlog::default());
        (of.dequeued.packets, of.dropped, of.marked, of.came_marked)
    };
    assert_eq!(low, 10);
    assert_eq!(counts(dual.low), (10, 1, 9, 2));
    assert_eq!(counts(dual.classic), (2, 1, 0, 0));
    assert_eq!((queue.counters.marked.packets, queue.ecn_mark), (9, 10));
    // The coupled probability stops at one.
    queue.probability = u32::MAX / 4 * 3;
    let dual = queue.dual().expect("it has two");
    assert!((dual.probability - 0.75).abs() < 1e-6 && dual.coupled == 1.0);
}
