//! Random loss, reordering, duplication and garbage: nothing is lost for ever, nothing panics.

use super::pair::{A, B, Fate, Pair};
use crate::{
    AccEcnRule, Algorithm, Codepoint, Config, Connection, DelayedAck, Ecn, Flags, RtoRule,
    SackBlock, Segment, SlowStart, Span, Time, VegasConfig,
};
use proptest::prelude::*;
use std::boxed::Box;
use std::vec::Vec;

/// SplitMix64: dice for the script.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

prop_compose! {
    fn configs()(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        ns2 in any::<bool>(),
        slow_start in 0..3_u8,
        sack in any::<bool>(),
        rack in any::<bool>(),
        frto in any::<bool>(),
        timestamps in any::<bool>(),
        delayed in any::<bool>(),
        nagle in any::<bool>(),
        (ecn, accecn) in prop::sample::select(std::vec![
            (Ecn::Off, AccEcnRule::Rfc9768),
            (Ecn::Classic, AccEcnRule::Rfc9768),
            (Ecn::Accurate, AccEcnRule::Rfc9768),
            (Ecn::Accurate, AccEcnRule::Linux),
            (Ecn::Accurate, AccEcnRule::LinuxWithoutOption),
        ]),
        pacing in any::<bool>(),
        linux_rto in any::<bool>(),
        timed_segment in any::<bool>(),
        initial_window in 1..20_u32,
        mss in prop::sample::select(std::vec![1_u16, 100, 536, 1448, 9000]),
        receive_window in prop::sample::select(std::vec![1_u32, 3000, 65_536, 1 << 24]),
    ) -> Config {
        Config {
            algorithm,
            vegas: if ns2 { VegasConfig::NS2 } else { VegasConfig::default() },
            tick: Span::from_millis(if ns2 { 10 } else { 0 }),
            slow_start: match slow_start {
                0 => SlowStart::Standard,
                1 => SlowStart::HyStart,
                _ => SlowStart::HyStartPlusPlus,
            },
            sack,
            rack,
            frto,
            timestamps,
            delayed_ack: if delayed {
                DelayedAck::On { timeout: Span::from_millis(40) }
            } else {
                DelayedAck::Off
            },
            nagle,
            ecn,
            accecn,
            slow_start_after_idle: !pacing,
            pacing,
            rto_rule: if linux_rto { RtoRule::Linux } else { RtoRule::Rfc6298 },
            timed_segment,
            initial_window,
            mss,
            receive_window,
            ..Config::default()
        }
    }
}

fn noisy(seed: u64, loss: f64, late: f64, twice: f64, marks: f64) -> super::pair::Script {
    let mut dice = Dice(seed);
    Box::new(move |_, _, _, _| {
        let roll = dice.roll();
        let more = Span::from_nanos((dice.roll() * 60e6) as u64);
        if roll < loss {
            Fate::Drop
        } else if roll < loss + late {
            Fate::Late(more)
        } else if roll < loss + late + twice {
            Fate::Twice(more)
        } else if roll < loss + late + twice + marks {
            Fate::Mark
        } else {
            Fate::Pass
        }
    })
}

fn transfer(config: &Config, segments: u64, script: super::pair::Script) {
    let bytes = segments * u64::from(config.mss);
    let mut pair = Pair::with_script(config, Span::from_millis(20), script);
    let mut left = bytes;
    let mut steps = 0_u64;
    while !(pair.peer_closed[B] && pair.ends[A].info().acked_bytes == bytes) {
        if left > 0 {
            left -= pair.ends[A].write(left.min(30_000));
            if left == 0 {
                pair.ends[A].close();
            }
        }
        assert!(pair.step(), "stalled: {:?}", pair.ends[A].info());
        for end in &pair.ends {
            end.check();
            assert!(end.info().window_segments >= 1);
        }
        assert!(pair.delivered[B] <= bytes, "delivered twice");
        steps += 1;
        assert!(steps < 2_000_000, "no progress: {:?}", pair.ends[A].info());
    }
    assert_eq!(pair.delivered[B], bytes);
}

proptest! {
    #[test]
    fn everything_arrives_once_and_in_order(
        config in configs(),
        seed in any::<u64>(),
        segments in 1..400_u64,
        loss in prop::sample::select(std::vec![0.0, 0.01, 0.1, 0.3]),
        late in prop::sample::select(std::vec![0.0, 0.05, 0.3]),
        twice in prop::sample::select(std::vec![0.0, 0.02, 0.2]),
        marks in prop::sample::select(std::vec![0.0, 0.1]),
    ) {
        // One-byte windows move one byte a round trip: keep those short.
        let narrow = config.receive_window < u32::from(config.mss);
        let segments = if narrow { segments.min(3) } else { segments };
        let config = Config { mss: if narrow { 100 } else { config.mss }, ..config };
        transfer(&config, segments, noisy(seed, loss, late, twice, marks));
    }
}

fn garbage() -> impl Strategy<Value = (Segment, u8, u64)> {
    // Mostly near the numbers in use, so that the deep branches are reached.
    let number = prop_oneof![
        any::<u32>(),
        (0..200_000_u32).prop_map(|n| n.wrapping_add(u32::MAX - 5000)),
        0..100_000_u32,
    ];
    let block = (number.clone(), number.clone()).prop_map(|(start, end)| SackBlock { start, end });
    (
        (any::<u64>(), any::<u64>(), number.clone(), number),
        (block.clone(), block.clone(), block),
        (any::<u32>(), any::<u16>(), any::<u8>(), any::<u8>()),
        0..4_u8,
        0..3_000_000_000_u64,
    )
        .prop_map(|(numbers, blocks, rest, ce, wait)| {
            // No reset: it would end the test; SYN and FIN only now and then.
            let mut flags = Flags::default();
            for flag in [Flags::PSH, Flags::ACK, Flags::ECE, Flags::CWR] {
                if u16::from(rest.2) & flag.bits() != 0 {
                    flags = flags.with(flag);
                }
            }
            if rest.2 & 0x23 == 0x23 {
                flags = flags.with(Flags::FIN);
            }
            if rest.2 & 0x27 == 0x27 {
                flags = flags.with(Flags::SYN);
            }
            let segment = Segment {
                ts: Time::from_nanos(numbers.0),
                ts_echo: Time::from_nanos(numbers.1),
                seq: numbers.2,
                ack: numbers.3,
                sack: [blocks.0, blocks.1, blocks.2],
                window: rest.0,
                payload: rest.1,
                flags: flags.with(Flags::ACK).with_ace(rest.2 >> 5),
                sack_count: rest.3,
            };
            (segment, ce, wait)
        })
}

proptest! {
    #[test]
    fn garbage_never_panics(
        config in configs(),
        inputs in prop::collection::vec(garbage(), 1..200),
        active in any::<bool>(),
    ) {
        let mut pair = Pair::new(&config, Span::from_millis(5));
        let side = if active { A } else { B };
        pair.ends[side].write_forever();
        pair.run_until(Time::ZERO + Span::from_millis(40));
        let connection: &mut Connection = &mut pair.ends[side];
        let mut now = pair.now;
        for (segment, ce, wait) in inputs {
            connection.receive(&segment, Codepoint::from_bits(ce), now);
            // Sending is limited, since a random window may allow 4 GiB.
            let sent: Vec<_> = (0..50).map_while(|_| connection.poll_transmit(now)).collect();
            prop_assert!(sent.len() <= 50);
            now += Span::from_nanos(wait);
            if connection.next_timer().is_some_and(|at| at <= now) {
                connection.on_timer(now);
            }
            connection.check();
            prop_assert!(connection.info().window_segments >= 1);
        }
    }
}
