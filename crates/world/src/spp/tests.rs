//! Traces made by hand. Times in milliseconds; the monitor's clock is ahead by `AHEAD`.

use super::*;
use proptest::prelude::*;

const AHEAD: u64 = 5_000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// There: leaves the reference point and reaches the monitor, both by true time.
fn forth(sent: u64, arrived: u64) -> Passage {
    Passage {
        sent: ms(sent),
        arrived: ms(arrived + AHEAD),
    }
}

/// Back: leaves the monitor and reaches the reference point.
fn back(sent: u64, arrived: u64) -> Passage {
    Passage {
        sent: ms(sent + AHEAD),
        arrived: ms(arrived),
    }
}

fn trip(at: u64, rtt: u64) -> RoundTrip {
    RoundTrip {
        at: ms(at),
        rtt: Span::from_millis(rtt),
    }
}

#[test]
fn a_pair_takes_its_time_less_that_at_the_monitor() {
    // 20 there, 30 of waiting at the monitor, 40 back: a round trip of 60, seen around 45.
    let mut pairs = PacketPairs::default();
    pairs.forth(forth(0, 20));
    assert_eq!(pairs.back(back(50, 90)), Some(trip(45, 60)));
}

/// The figure of the report: packets 1 to 3 go there, a and b come back. a left the monitor when
/// 1 and 2 were there, so it pairs with 2; b pairs with 3.
#[test]
fn the_latest_packet_at_the_monitor_makes_the_pair() {
    let mut pairs = PacketPairs::default();
    pairs.forth(forth(0, 10));
    pairs.forth(forth(5, 17));
    pairs.forth(forth(30, 44));
    assert_eq!(pairs.back(back(20, 33)), Some(trip(19, 25)));
    assert_eq!(pairs.back(back(44, 60)), Some(trip(45, 30)));
}

#[test]
fn a_packet_belongs_to_one_pair() {
    let mut pairs = PacketPairs::default();
    assert_eq!(pairs.back(back(0, 9)), None, "nothing has gone there");
    pairs.forth(forth(0, 10));
    assert_eq!(pairs.back(back(5, 15)), None, "it left before");
    assert_eq!(pairs.back(back(10, 20)), Some(trip(10, 20)));
    assert_eq!(pairs.back(back(11, 21)), None, "its partner has one");
    pairs.forth(forth(12, 22));
    assert_eq!(pairs.back(back(24, 34)), Some(trip(23, 20)));
}

#[test]
fn clocks_that_drift_apart_never_give_less_than_nothing() {
    let mut pairs = PacketPairs::default();
    pairs.forth(forth(0, 0));
    let rtt = pairs.back(back(100, 90)).map(|trip| trip.rtt);
    assert_eq!(rtt, Some(Span::ZERO));
}

#[test]
fn lost_and_unknown_packets_match_nothing() {
    let mut matcher = PacketMatcher::new(10);
    for (identity, at) in [(7, 1), (8, 2), (9, 3)] {
        matcher.left(identity, ms(at));
    }
    assert_eq!(matcher.reached(8), Some(ms(2)), "7 is lost or late");
    assert_eq!(matcher.reached(8), None, "a copy made on the way");
    assert_eq!(matcher.reached(7), Some(ms(1)), "it was late");
    assert_eq!(matcher.reached(5), None);
    assert_eq!(matcher.reached(9), Some(ms(3)));
}

#[test]
fn what_may_be_one_of_several_gives_no_time() {
    let mut matcher = PacketMatcher::new(10);
    matcher.left(7, ms(1));
    matcher.left(7, ms(2));
    assert_eq!(matcher.reached(7), None);
    // The first of them is used up: what comes now can only be the second.
    assert_eq!(matcher.reached(7), Some(ms(2)));
}

/// A 16-bit identification comes round after 65 536 packets: near the last match there is one
/// of each, far from it any of them may be meant.
#[test]
fn identities_that_come_round_are_told_apart_by_their_place() {
    let mut matcher = PacketMatcher::new(usize::MAX);
    matcher.left(1_000_000, ms(0));
    for number in 1..=2 * 65_536_u64 {
        matcher.left(number % 65_536, ms(number));
    }
    matcher.left(2_000_000, ms(200_000));
    assert_eq!(matcher.reached(5), None, "the first packet may be either");
    assert_eq!(matcher.reached(1_000_000), Some(ms(0)));
    for number in [6, 9_000, 18_999] {
        assert_eq!(matcher.reached(number), Some(ms(number)));
    }
    assert_eq!(
        matcher.reached(50_000),
        None,
        "after a gap it may be either"
    );
    assert_eq!(matcher.reached(2_000_000), Some(ms(200_000)), "only one");
    assert_eq!(matcher.reached(65_535), Some(ms(131_071)));
}

#[test]
fn the_oldest_are_forgotten() {
    let mut matcher = PacketMatcher::new(2);
    for identity in 1..=3 {
        matcher.left(identity, ms(identity));
    }
    assert_eq!(matcher.reached(1), None);
    assert_eq!(matcher.reached(2), Some(ms(2)));
    assert_eq!(matcher.times.len(), 1);
}

proptest! {
    /// Over a path of constant delays every sample is their sum, whatever is lost and whichever
    /// way the clocks are set apart.
    #[test]
    fn samples_of_a_constant_path_are_its_round_trip(
        events in prop::collection::vec((0..2_u8, 1..50_u64, any::<bool>()), 1..200),
        there in 0..1000_u64,
        home in 0..1000_u64,
        skew in 0..10_000_u64,
    ) {
        // A packet leaves either end every so often; some are lost.
        let mut now = 0;
        let (mut forths, mut backs) = (Vec::new(), Vec::new());
        for (end, gap, lost) in events {
            now += gap;
            match end {
                _ if lost => {}
                0 => forths.push(Passage { sent: ms(now), arrived: ms(now + there + skew) }),
                _ => backs.push(Passage { sent: ms(now + skew), arrived: ms(now + home) }),
            }
        }
        let mut pairs = PacketPairs::default();
        let count = forths.len().min(backs.len());
        for passage in forths {
            pairs.forth(passage);
        }
        let trips: Vec<_> = backs.into_iter().filter_map(|p| pairs.back(p)).collect();
        prop_assert!(trips.len() <= count);
        for trip in trips {
            prop_assert_eq!(trip.rtt, Span::from_millis(there + home));
        }
    }

    /// Whatever is told in whatever order: no panic, and memory stays bounded.
    #[test]
    fn disorder_is_survived(steps in prop::collection::vec((0..4_u8, 0..20_u64, any::<u64>()), 0..500)) {
        let (mut pairs, mut matcher) = (PacketPairs::default(), PacketMatcher::new(50));
        for (step, identity, nanos) in steps {
            let at = Time::from_nanos(nanos);
            let passage = Passage { sent: at, arrived: ms(identity) };
            match step {
                0 => pairs.forth(passage),
                1 => drop(pairs.back(passage)),
                2 => matcher.left(identity, at),
                _ => drop(matcher.reached(identity)),
            }
            prop_assert!(matcher.times.len() <= 50 && matcher.order.len() <= 50);
        }
    }
}
