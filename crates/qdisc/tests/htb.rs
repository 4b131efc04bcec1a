//! HTB's class against arithmetic: the figures follow from `htb_accnt_tokens` by hand.

use crate::common::TestPacket;
use sojourn_qdisc::{Dequeue, Discard, Fifo, FifoParams, Htb, HtbParams, Qdisc};
use sojourn_units::{Rate, Time};

fn class(burst: u64) -> Htb<Fifo<TestPacket>> {
    let rate = Rate::from_bps(8_000_000); // a byte a microsecond
    Htb::new(
        HtbParams { rate, burst },
        Fifo::new(FifoParams::Packets(1000)),
    )
}

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// When each packet of a backlog leaves, in microseconds.
fn departures(htb: &mut Htb<Fifo<TestPacket>>, lens: &[u32], from: u64) -> Vec<u64> {
    let mut now = micros(from);
    for (id, &len) in lens.iter().enumerate() {
        htb.enqueue(TestPacket::new(id as u64, len), now, &mut Discard);
    }
    let mut left = Vec::new();
    while left.len() < lens.len() {
        match htb.dequeue(now, &mut Discard) {
            Dequeue::Packet { .. } => left.push(now.as_nanos() / 1000),
            Dequeue::NotBefore(due) => {
                assert!(due > now);
                let early = Time::from_nanos(due.as_nanos() - 1);
                let answer = htb.dequeue(early, &mut Discard);
                assert!(matches!(answer, Dequeue::NotBefore(again) if again == due));
                now = due;
            }
            Dequeue::Empty => panic!("packets are left"),
        }
    }
    left
}

#[test]
fn a_full_bucket_lets_its_bytes_and_one_packet_go() {
    // Tokens in bytes before each packet: 1600, 86, then −1428 until 1428 µs; −86 more would be
    // missing for a bucket that wants the packet's bytes first.
    let left = departures(&mut class(1600), &[1514, 1514, 1514, 1514], 5_000_000);
    assert_eq!(left, [0, 0, 1428, 2942].map(|after| 5_000_000 + after));
    // The same at the start of a run: the bucket begins full.
    assert_eq!(
        departures(&mut class(1600), &[1514, 1514, 1514], 0),
        [0, 0, 1428]
    );
}

#[test]
fn a_packet_waits_for_the_debt_and_not_for_its_own_length() {
    // After 1600 bytes the bucket is at zero: the next may go at once, the one after that not.
    let left = departures(&mut class(1600), &[1600, 1514, 64, 9000, 1], 0);
    assert_eq!(left, [0, 0, 1514, 1578, 10_578]);
}

#[test]
fn an_idle_class_earns_no_more_than_its_burst() {
    let mut htb = class(1000);
    assert_eq!(
        departures(&mut htb, &[500, 500, 500, 500], 0),
        [0, 0, 0, 500]
    );
    // 1000 bytes of debt less than full at 0; full again at 2000 µs, and no fuller at 9000.
    let left = departures(&mut htb, &[500, 500, 500, 500], 9000);
    assert_eq!(left, [9000, 9000, 9000, 9500]);
}

#[test]
fn the_long_run_is_exact() {
    let mut htb = class(1600);
    let lens: Vec<u32> = (0..1000).map(|i| 64 + i * 7 % 1450).collect();
    let left = departures(&mut htb, &lens, 0);
    let before_last: u64 = lens[..999].iter().map(|&len| u64::from(len)).sum();
    assert_eq!(left[999], before_last - 1600);
}
