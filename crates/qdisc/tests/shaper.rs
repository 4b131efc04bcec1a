//! C10 of the study `cake`: the shaper's rate, and no burst after idle, for any rate and sizes.

use crate::common::frame::{Drops, Frame, build, frame};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeue, Qdisc};
use sojourn_units::{Span, Time};

/// Sends packets of these lengths back to back; the time of each.
fn send(queue: &mut dyn Qdisc<Frame>, start: Time, lens: &[u32]) -> Vec<Time> {
    let (mut now, mut out, mut times) = (start, Drops::default(), Vec::new());
    let mut lens = lens.iter();
    let mut offer = |queue: &mut dyn Qdisc<Frame>, now, out: &mut Drops| {
        if let Some(&len) = lens.next() {
            let packet = Frame {
                len,
                ..frame(1, 2, 3)
            };
            queue.enqueue(packet, now, out);
        }
    };
    // Two at a time: always one behind, and no standing queue for COBALT.
    offer(queue, now, &mut out);
    loop {
        offer(queue, now, &mut out);
        loop {
            match queue.dequeue(now, &mut out) {
                Dequeue::Packet { .. } => break,
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Empty => return times,
            }
        }
        times.push(now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// From 64 kbit/s to 10 Gbit/s. Times are whole nanoseconds, so that each is right within
    /// one, and the sum too: no error adds up.
    #[test]
    fn the_rate_is_right_from_the_first_packet(
        exponent in 0.0_f64..1.0,
        lens in proptest::collection::vec(64_u32..1515, 2000),
        idle in 1_000_000_u64..5_000_000_000,
    ) {
        let bps = (64e3 * libm::pow(10e9 / 64e3, exponent)) as u64;
        let mut queue = build(&format!("cake bandwidth {bps}bit besteffort rtt 1000s"));
        let mut start = Time::from_nanos(1);
        for _ in 0..2 {
            let times = send(&mut *queue, start, &lens);
            prop_assert_eq!(times.len(), lens.len());
            let mut bits = 0_u128;
            for (time, len) in times.iter().zip(&lens) {
                let exact = bits * 1_000_000_000 / u128::from(bps);
                let took = u128::from((*time - start).as_nanos());
                prop_assert!(took.abs_diff(exact) <= 1, "{took} {exact}");
                bits += u128::from(*len) * 8;
            }
            // After any idle time the same again: no credit.
            start = *times.last().expect("some") + Span::from_nanos(idle) + Span::from_secs(1);
        }
    }
}
