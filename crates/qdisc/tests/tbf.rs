//! The token bucket against arithmetic, and its laws.

use crate::common::{Log, TestPacket};
use proptest::collection::vec;
use proptest::prelude::*;
use sojourn_qdisc::{
    ChangeError, Dequeue, Discard, DropReason, Fifo, FifoParams, Qdisc, Setting, Spec, Tbf,
    TbfParams, Value,
};
use sojourn_units::{Rate, Span, Time};

/// What a byte costs, in bits times nanoseconds per second.
const BYTE: u128 = 8_000_000_000;

fn params(bps: u64, burst: u64) -> TbfParams {
    TbfParams {
        rate: Rate::from_bps(bps),
        burst,
        peakrate: None,
        mtu: None,
        mpu: 0,
        overhead: 0,
        atm: false,
    }
}

fn over_fifo(params: TbfParams) -> Tbf<TestPacket, Fifo<TestPacket>> {
    Tbf::new(params, Fifo::new(FifoParams::Packets(10_000)))
}

fn offer(tbf: &mut impl Qdisc<TestPacket>, id: u64, len: u32, now: Time) {
    tbf.enqueue(TestPacket::new(id, len), now, &mut Discard);
}

fn not_before(answer: Dequeue<TestPacket>) -> Time {
    match answer {
        Dequeue::NotBefore(time) => time,
        other => panic!("{other:?}"),
    }
}

fn sent(answer: Dequeue<TestPacket>) -> (u64, Span) {
    match answer {
        Dequeue::Packet { packet, sojourn } => (packet.id, sojourn),
        other => panic!("{other:?}"),
    }
}

/// Packet k of a standing backlog leaves once the bucket and the rate together have brought
/// k + 1 packets: at ⌈(k·len + len − burst)·8·10⁹ / rate⌉ ns, without drift. (In a bucket no
/// deeper than the packet, what the last nanosecond brings too much would spill.)
#[test]
fn a_million_packets_leave_at_the_exact_nanosecond() {
    for (bps, len, burst) in [(12_345_678_u64, 1514_u32, 1600_u64), (999_999_937, 64, 65)] {
        let mut tbf = over_fifo(params(bps, burst));
        let mut now = Time::ZERO;
        for k in 0..1_000_000_u64 {
            offer(&mut tbf, k, len, Time::ZERO);
            let need = (u128::from(k) + 1) * u128::from(len);
            let due = need.saturating_sub(u128::from(burst)) * BYTE;
            let due = Time::from_nanos(due.div_ceil(u128::from(bps)) as u64);
            if due > now {
                assert_eq!(not_before(tbf.dequeue(now, &mut Discard)), due, "{bps} {k}");
                now = due;
            }
            assert_eq!(sent(tbf.dequeue(now, &mut Discard)), (k, now - Time::ZERO));
        }
    }
}

#[test]
fn not_before_is_the_first_nanosecond_that_works() {
    let mut tbf = over_fifo(params(3_000_000, 1500));
    for id in 0..3 {
        offer(&mut tbf, id, 1000, Time::ZERO);
    }
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    // 500 bytes are left, 500 are missing: 4000 bit at 3 Mbit/s, rounded up.
    let due = not_before(tbf.dequeue(Time::ZERO, &mut Discard));
    assert_eq!(due, Time::from_nanos(1_333_334));
    let early = Time::from_nanos(1_333_333);
    assert_eq!(not_before(tbf.dequeue(early, &mut Discard)), due);
    assert_eq!(sent(tbf.dequeue(due, &mut Discard)), (1, due - Time::ZERO));
    assert_eq!(tbf.counters().overlimits, 2);
    // Asked again at once, two thirds of a nanosecond's tokens are left over.
    assert_eq!(
        not_before(tbf.dequeue(due, &mut Discard)),
        Time::from_nanos(4_000_000)
    );
}

#[test]
fn an_idle_bucket_fills_to_the_burst_and_no_further() {
    let mut tbf = over_fifo(params(8_000_000, 3000));
    let later = Time::from_nanos(u64::MAX / 2);
    assert_eq!(tbf.dequeue(later, &mut Discard), Dequeue::Empty);
    for id in 0..4 {
        offer(&mut tbf, id, 1000, later);
    }
    for id in 0..3 {
        assert_eq!(sent(tbf.dequeue(later, &mut Discard)), (id, Span::ZERO));
    }
    let due = later + Span::from_millis(1);
    assert_eq!(not_before(tbf.dequeue(later, &mut Discard)), due);
    // A clock that runs backwards brings no tokens, and none twice.
    assert_eq!(not_before(tbf.dequeue(Time::ZERO, &mut Discard)), due);
    assert_eq!(not_before(tbf.dequeue(later, &mut Discard)), due);
}

#[test]
fn what_could_never_leave_is_dropped_on_arrival() {
    let peak = TbfParams {
        peakrate: Some(Rate::from_bps(2_000_000)),
        mtu: Some(1500),
        overhead: 100,
        ..params(1_000_000, 2000)
    };
    let mut log = Log::default();
    let mut tbf = over_fifo(peak);
    for (id, len) in [(0, 1500), (1, 1501), (2, u32::MAX)] {
        tbf.enqueue(TestPacket::new(id, len), Time::ZERO, &mut log);
    }
    let dropped: Vec<_> = log.dropped.iter().map(|(p, why)| (p.id, *why)).collect();
    assert_eq!(
        dropped,
        [(1, DropReason::Oversize), (2, DropReason::Oversize)]
    );
    assert_eq!(tbf.counters().dropped_for(DropReason::Oversize), 2);
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut log)).0, 0);
    // The large bucket, of 2100 bytes with the overhead, has 500 and needs 1000 more at 1 Mbit/s;
    // the small one, of 1600, is empty and needs 1500 at 2 Mbit/s.
    offer(&mut tbf, 3, 1400, Time::ZERO);
    assert_eq!(
        not_before(tbf.dequeue(Time::ZERO, &mut log)),
        Time::from_nanos(8_000_000)
    );
}

/// Linux: `psched_l2t_ns` of the burst is the bucket, and of each packet its cost. By hand: 1500
/// and 18 bytes are 32 cells of 53 bytes.
#[test]
fn overhead_and_cells_grow_the_bucket_too() {
    let mut tbf = over_fifo(TbfParams {
        overhead: 18,
        atm: true,
        ..params(8_000_000, 1500)
    });
    offer(&mut tbf, 0, 1500, Time::ZERO);
    offer(&mut tbf, 1, 100, Time::ZERO);
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    // 118 bytes are 3 cells: 159 bytes, a microsecond each.
    assert_eq!(
        not_before(tbf.dequeue(Time::ZERO, &mut Discard)),
        Time::from_nanos(159_000)
    );
}

#[test]
fn short_packets_are_charged_with_mpu() {
    let mut tbf = over_fifo(TbfParams {
        mpu: 1000,
        ..params(8_000_000, 1000)
    });
    offer(&mut tbf, 0, 0, Time::ZERO);
    offer(&mut tbf, 1, 40, Time::ZERO);
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    assert_eq!(
        not_before(tbf.dequeue(Time::ZERO, &mut Discard)),
        Time::from_nanos(1_000_000)
    );
}

#[test]
fn a_stopped_bucket_sends_its_burst_and_then_nothing() {
    let mut tbf = over_fifo(params(0, 1000));
    offer(&mut tbf, 0, 1000, Time::ZERO);
    offer(&mut tbf, 1, 1, Time::ZERO);
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    assert_eq!(not_before(tbf.dequeue(Time::ZERO, &mut Discard)), Time::MAX);
}

/// Builds what `text` says, for a link with an MTU of 1500 bytes.
fn built(text: &str) -> Box<dyn Qdisc<TestPacket>> {
    let spec: Spec = text.parse().expect("valid");
    let setting = Setting {
        seed: 1,
        name: "test",
        mtu: 1514,
        link_header: 14,
    };
    spec.build(setting)
}

/// CoDel drops at departures, so that the next packet is taken from it as soon as the one before
/// has left, and judged then; tokens come later.
#[test]
fn codel_judges_a_packet_when_the_one_before_it_leaves() {
    let mut tbf = built("tbf rate 1mbit burst 1514 over codel");
    for id in 0..20 {
        offer(&mut tbf, id, 1514, Time::ZERO);
    }
    let (mut now, mut before, mut count) = (Time::ZERO, Time::ZERO, 0);
    loop {
        match tbf.dequeue(now, &mut Discard) {
            Dequeue::Packet { sojourn, .. } => {
                count += 1;
                assert_eq!(sojourn, now - Time::ZERO);
                let inner = tbf.report(now).inner.expect("codel is no plain bfifo");
                let ldelay = inner.stats.iter().find(|field| field.name == "ldelay");
                // CoDel's clock has a step of 1024 ns.
                let judged = (before.as_nanos() & !1023) / 1000;
                let judged = i64::try_from(judged).expect("small");
                assert_eq!(ldelay.map(|f| &f.value), Some(&Value::Int(judged)));
                before = now;
            }
            Dequeue::NotBefore(time) => now = time,
            Dequeue::Empty => break,
        }
    }
    // Enough for CoDel to have dropped: what it dropped is in the shaper's own accounts too.
    let counters = tbf.counters();
    assert!(counters.dropped_for(DropReason::Aqm) > 0);
    assert_eq!(counters.dropped.packets + count, 20);
}

/// At 1 Mbit/s 1250 bytes take 10 ms and 125 take one. A packet of a new flow that arrives while
/// one waits for tokens leaves behind that one, which a flow queue has given away already, and
/// before the rest of its flow.
#[test]
fn a_sparse_flow_waits_for_the_packet_that_waits_for_tokens() {
    let mut tbf = built("tbf rate 1mbit burst 1250 over fq_codel");
    for id in 0..4 {
        tbf.enqueue(
            TestPacket::of_flow(id, 1250, 0, 8),
            Time::ZERO,
            &mut Discard,
        );
    }
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
    assert_eq!(not_before(tbf.dequeue(Time::ZERO, &mut Discard)), ms(10));
    tbf.enqueue(TestPacket::of_flow(9, 125, 1, 8), ms(5), &mut Discard);
    assert_eq!(sent(tbf.dequeue(ms(10), &mut Discard)).0, 1);
    assert_eq!(not_before(tbf.dequeue(ms(10), &mut Discard)), ms(11));
    assert_eq!(
        sent(tbf.dequeue(ms(11), &mut Discard)),
        (9, Span::from_millis(6))
    );
}

/// PIE drops on arrival, so that its head is known: it keeps the packet that waits for tokens, and
/// measures its delay when it leaves.
#[test]
fn pie_keeps_the_packet_that_waits_for_tokens() {
    let mut tbf = built("tbf rate 1mbit burst 1250 over pie");
    for id in 0..3 {
        offer(&mut tbf, id, 1250, Time::ZERO);
    }
    for (id, ms, waiting) in [(0, 0, 2), (1, 10, 1)] {
        let now = Time::from_nanos(ms * 1_000_000);
        assert_eq!(sent(tbf.dequeue(now, &mut Discard)), (id, now - Time::ZERO));
        not_before(tbf.dequeue(now, &mut Discard));
        let inner = tbf.report(now).inner.expect("pie is no plain bfifo");
        let backlog = inner.stats.iter().find(|field| field.name == "qlen");
        assert_eq!(backlog.map(|f| &f.value), Some(&Value::Int(waiting)));
        let delay = inner.stats.iter().find(|field| field.name == "delay");
        let micros = i64::try_from(ms * 1000).expect("small");
        assert_eq!(delay.map(|f| &f.value), Some(&Value::Int(micros)));
    }
}

#[test]
fn new_parameters_keep_packets_and_tokens() {
    let with = |text: &str| text.parse::<Spec>().expect("valid");
    let setting = Setting {
        seed: 1,
        name: "test",
        mtu: 1514,
        link_header: 14,
    };
    let old = with("tbf rate 8mbit burst 3000 limit 100000");
    let mut tbf = old.build::<TestPacket>(setting);
    for id in 0..4 {
        offer(&mut tbf, id, 2000, Time::ZERO);
    }
    assert_eq!(sent(tbf.dequeue(Time::ZERO, &mut Discard)).0, 0);
    // 1000 bytes are left; at half the rate the next needs 2 ms.
    let slower = with("tbf rate 4mbit burst 3000 limit 10");
    assert_eq!(tbf.change(&slower, Time::ZERO), Ok(()));
    assert_eq!(tbf.spec(), Some(slower));
    assert_eq!(tbf.backlog().packets, 3);
    let due = Time::from_nanos(2_000_000);
    assert_eq!(not_before(tbf.dequeue(Time::ZERO, &mut Discard)), due);
    assert_eq!(sent(tbf.dequeue(due, &mut Discard)).0, 1);
    // A burst below what waits: it costs a full bucket each, and does not block for ever.
    let shallow = with("tbf rate 4mbit burst 1000 limit 10");
    assert_eq!(tbf.change(&shallow, due), Ok(()));
    let due = Time::from_nanos(4_000_000);
    assert_eq!(not_before(tbf.dequeue(Time::ZERO, &mut Discard)), due);
    assert_eq!(sent(tbf.dequeue(due, &mut Discard)).0, 2);
    // Another kind of discipline below is not a change of parameters.
    let other = with("tbf rate 1mbit burst 1000 over pfifo");
    assert_eq!(
        tbf.change(&other, due),
        Err(ChangeError::OtherKind {
            is: "bfifo",
            wanted: "pfifo"
        })
    );
    assert_eq!(tbf.spec(), Some(shallow));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32, u32),
    Take,
    /// Take when the shaper says.
    TakeDue,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u32..3000, 0_u32..8).prop_map(|(len, flow)| Step::Offer(len, flow)),
        3 => Just(Step::Take),
        5 => Just(Step::TakeDue),
        2 => (0_u64..3_000_000).prop_map(Step::Wait),
    ];
    vec(step, 0..250)
}

fn any_params() -> impl Strategy<Value = TbfParams> {
    let peak = proptest::option::of((100_000_u64..50_000_000, 100_u64..4000));
    (
        100_000_u64..20_000_000,
        100_u64..8000,
        peak,
        0_u32..100,
        0_i32..50,
        any::<bool>(),
    )
        .prop_map(|(bps, burst, peak, mpu, overhead, atm)| TbfParams {
            peakrate: peak.map(|(bps, _)| Rate::from_bps(bps)),
            mtu: peak.map(|(_, mtu)| mtu),
            mpu,
            overhead,
            atm,
            ..params(bps, burst)
        })
}

/// Bytes with overhead, least size and cells.
fn on_link(p: &TbfParams, bytes: u64) -> u64 {
    let framed = (bytes + p.overhead as u64).max(p.mpu.into());
    if p.atm {
        framed.div_ceil(48) * 53
    } else {
        framed
    }
}

/// In every window at most `burst + rate·t` has left.
fn check_windows(left: &[(Time, u64)], rate: Rate, burst: u64) {
    for (i, &(start, _)) in left.iter().enumerate() {
        let mut bytes = 0_u128;
        for &(end, charge) in &left[i..] {
            bytes += u128::from(charge);
            let tokens = u128::from(burst) * BYTE
                + u128::from(rate.as_bps()) * u128::from((end - start).as_nanos());
            assert!(bytes * BYTE <= tokens, "{bytes} in {:?}", end - start);
        }
    }
}

proptest! {
    #[test]
    fn no_window_exceeds_the_rate(
        p in any_params(),
        inner in prop_oneof![
            Just("pfifo limit 20"), Just("bfifo limit 20000"), Just("pfifo_head_drop limit 5"),
            Just("codel limit 30 target 1ms interval 5ms"), Just("pie limit 30"),
            Just("fq_codel limit 30 flows 8 target 1ms interval 5ms"), Just("fq_pie limit 30"),
            Just("tbf rate 5mbit burst 3000 limit 10000"),
        ],
        steps in steps(),
    ) {
        let setting = Setting { seed: 3, name: "test", mtu: 1514, link_header: 14 };
        let inner: Spec = inner.parse().expect("valid");
        let mut tbf = Tbf::new(p, inner.build::<TestPacket>(setting));
        let (mut now, mut due, mut left, mut log) =
            (Time::ZERO, Time::ZERO, Vec::new(), Log::default());
        let mut offered = 0_u64;
        for step in steps {
            match step {
                Step::Offer(len, flow) => {
                    tbf.enqueue(TestPacket::of_flow(offered, len, flow, 8), now, &mut log);
                    offered += 1;
                }
                Step::Wait(nanos) => now += Span::from_nanos(nanos),
                Step::Take | Step::TakeDue => {
                    if matches!(step, Step::TakeDue) {
                        now = now.max(due);
                    }
                    match tbf.dequeue(now, &mut log) {
                        Dequeue::Packet { packet, .. } => {
                            left.push((now, on_link(&p, packet.len.into())));
                        }
                        Dequeue::NotBefore(time) => {
                            prop_assert!(time > now && tbf.backlog().packets > 0);
                            due = time;
                        }
                        Dequeue::Empty => prop_assert_eq!(tbf.backlog().packets, 0),
                    }
                }
            }
            let (counters, backlog) = (*tbf.counters(), tbf.backlog());
            prop_assert_eq!(counters.offered.packets, offered);
            prop_assert_eq!(counters.dequeued.packets, left.len() as u64);
            prop_assert_eq!(counters.dropped.packets, log.dropped.len() as u64);
            prop_assert_eq!(
                counters.offered.bytes,
                counters.dequeued.bytes + counters.dropped.bytes + backlog.bytes
            );
            prop_assert_eq!(
                offered,
                counters.dequeued.packets + counters.dropped.packets + backlog.packets
            );
        }
        check_windows(&left, p.rate, on_link(&p, p.burst));
        if let Some((rate, mtu)) = p.peakrate.zip(p.mtu) {
            check_windows(&left, rate, on_link(&p, mtu));
        }
    }
}
