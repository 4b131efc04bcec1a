//! Over any path, the sender's counts follow the receiver's.

use crate::tests::pair::{A, B, Fate, Pair, Script};
use crate::{Algorithm, Config, DelayedAck, Ecn, Flags, Span, Time, Transmit};
use proptest::prelude::*;
use std::boxed::Box;

/// What is sent, and at the end when all is quiet.
const BYTES: u64 = 1_000_000;
const LAST: u64 = 5000;

/// What the path does: shares of 256 of data lost and marked, of ACKs lost in a row.
#[derive(Clone, Copy, Debug)]
struct Path {
    seed: u64,
    lost: u8,
    marked: u8,
    thinned: u8,
    bare: bool,
}

fn script(path: Path) -> Script {
    let mut state = path.seed;
    let mut roll = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut dropped = 0;
    Box::new(move |side, _, sent: &Transmit, now| {
        // The end is quiet, so that what is under way arrives.
        if now > Time::ZERO + Span::from_millis(3000) {
            return Fate::Pass;
        }
        if side == A && sent.segment.payload > 0 {
            return match roll() {
                dice if dice < path.lost => Fate::Drop,
                _ if roll() < path.marked => Fate::Mark,
                _ => Fate::Pass,
            };
        }
        if side == A || sent.segment.flags.has(Flags::SYN) {
            return Fate::Pass;
        }
        // ACKs: at most two in a row are lost, of two segments each.
        let drops = dropped < path.thinned;
        dropped = if drops { dropped + 1 } else { 0 };
        if drops { Fate::Drop } else { Fate::Pass }
    })
}

fn run(path: Path, algorithm: Algorithm, delayed: bool) -> Pair {
    let config = Config {
        algorithm,
        ecn: Ecn::Accurate,
        mss: 1000,
        delayed_ack: if delayed {
            Config::default().delayed_ack
        } else {
            DelayedAck::Off
        },
        ..Config::default()
    };
    let mut pair = Pair::with_script(&config, Span::from_millis(10), script(path));
    if path.bare {
        // A middlebox takes the option out of all segments.
        pair.mangle = Some(Box::new(|_, sent: &mut Transmit| {
            if sent.segment.accecn().is_some() {
                sent.segment.sack_count &= 3;
            }
        }));
    }
    pair.ends[A].write(BYTES);
    pair.run_until(Time::ZERO + Span::from_millis(20_000));
    // The last option may have been lost; the next has all that has ever changed.
    pair.ends[A].write(LAST);
    pair.run_for(Span::from_millis(2000));
    pair
}

fn path(most_lost: u8) -> impl Strategy<Value = Path> {
    (
        any::<u64>(),
        0..=most_lost,
        any::<u8>(),
        0..3_u8,
        any::<bool>(),
    )
        .prop_map(|(seed, lost, marked, thinned, bare)| Path {
            seed,
            lost,
            marked,
            thinned,
            bare,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// As long as no ACK covers more than seven packets, each mark is counted once: three bits
    /// suffice, with the option and without.
    #[test]
    fn the_sender_counts_what_the_receiver_counts(path in path(0), delayed in any::<bool>()) {
        let pair = run(path, Algorithm::Reno, delayed);
        prop_assert_eq!(pair.delivered[B], BYTES + LAST);
        let (of_a, of_b) = (pair.ends[A].info(), pair.ends[B].info());
        let (of_a, of_b) = (of_a.ce.expect("agreed on"), of_b.ce.expect("agreed on"));
        prop_assert_eq!(of_a.told, of_b.received);
        if !path.bare {
            prop_assert_eq!(of_a.told_bytes, of_b.received_bytes);
        }
        // A first ACK of three marks looks as if it had been zeroed, if no option says otherwise.
        prop_assert!(of_a.capable || (path.bare && path.thinned == 2));
        prop_assert!(of_b.capable);
    }

    /// When data is lost, a repair acknowledges many at once, and some come twice: then the option
    /// keeps the count exact. Without it the count is right but for whole rounds of three bits.
    #[test]
    fn no_mark_is_lost_with_data(path in path(20), algorithm in prop::sample::select(Algorithm::ALL.to_vec())) {
        let pair = run(path, algorithm, true);
        prop_assert_eq!(pair.delivered[B], BYTES + LAST);
        let (of_a, of_b) = (pair.ends[A].info(), pair.ends[B].info());
        let (of_a, of_b) = (of_a.ce.expect("agreed on"), of_b.ce.expect("agreed on"));
        if path.bare {
            prop_assert_eq!(of_a.told.abs_diff(of_b.received) % 8, 0);
        } else {
            prop_assert_eq!(of_a.told, of_b.received);
            prop_assert_eq!(of_a.told_bytes, of_b.received_bytes);
        }
    }
}
