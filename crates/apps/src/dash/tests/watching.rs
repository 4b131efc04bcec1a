//! Player and server on a wire.

use crate::dash::dashjs2;
use crate::dash::player::Player;
use crate::dash::server::Server;
use crate::dash::{Manifest, Outage, Rule, Viewing, big_clip};
use crate::tests::harness::{Wire, ms};
use crate::{App, Metric};
use alloc::boxed::Box;
use alloc::sync::Arc;
use proptest::prelude::*;
use sojourn_units::{Rate, Span};
use std::vec;

pub(super) fn viewing(manifest: Manifest, rule: Rule) -> Viewing {
    Viewing {
        manifest: Arc::new(manifest),
        rule,
        prefill: Span::from_secs(4),
        buffer: Span::from_secs(if rule == Rule::Bola { 30 } else { 12 }),
        buffer_at_top: Span::from_secs(30),
    }
}

fn watch(viewing: Viewing, kbps: u64, outage: Option<Outage>) -> Wire {
    let server = Server::new(Arc::clone(&viewing.manifest), outage);
    let player: Box<dyn App> = match viewing.rule {
        Rule::DashJs2 => Box::new(dashjs2::Player::new(viewing)),
        Rule::Throughput | Rule::Bola => Box::new(Player::new(viewing)),
    };
    let ends = (Box::new(server) as Box<dyn App>, player);
    Wire::new(ends, 1, Rate::from_bps(kbps * 1000), Span::from_millis(10))
}

/// Two-second chunks of exactly their nominal size.
pub(super) fn even(kbps: &[u32]) -> Manifest {
    let rates = kbps.iter().map(|&k| Rate::from_bps(u64::from(k) * 1000));
    let sizes = kbps.iter().map(|k| vec![k * 250; 4]);
    Manifest::new(Span::from_secs(2), rates.collect(), sizes.collect()).unwrap()
}

#[test]
fn the_rate_settles_below_nine_tenths_of_the_link() {
    for rule in [Rule::Throughput, Rule::Bola, Rule::DashJs2] {
        let mut wire = watch(viewing(even(&[500, 1000, 2000, 4000]), rule), 2500, None);
        wire.run(ms(120_000));
        let rates = wire.values(Metric::RequestedKbps);
        let settled = &rates[rates.len() / 2..];
        assert!(
            settled.iter().all(|&rate| (1999.0..2001.0).contains(&rate)),
            "{rule:?}: {rates:?}"
        );
        assert!(wire.values(Metric::Stalls).is_empty());
        // A chunk of 500 kB comes at 2.5 Mbit/s, the two ways and the heads included.
        let achieved = *wire.values(Metric::AchievedKbps).last().unwrap();
        assert!((2400.0..2500.0).contains(&achieved), "{achieved}");
    }
}

#[test]
fn a_link_below_the_lowest_rate_stalls_and_says_how_long() {
    // 200 kbit/s of video over 100 kbit/s: two seconds of video every four.
    let mut wire = watch(viewing(even(&[200]), Rule::Throughput), 100, None);
    wire.run(ms(100_000));
    let dark: f64 = wire.values(Metric::StalledS).iter().sum();
    let chunks = wire.values(Metric::RequestedKbps).len();
    assert_eq!(chunks, 24);
    // The first two chunks are the pre-fill; from then on half of the time is dark.
    assert!((dark - (100.0 - 8.1) / 2.0).abs() < 2.5, "{dark}");
    assert!(wire.values(Metric::Stalls).len() > 15);
    assert!(wire.values(Metric::Qoe).last().unwrap() < &-5000.0);
}

#[test]
fn the_player_recovers_from_a_server_that_goes_away() {
    let outage = Outage {
        after: Span::from_secs(40),
        lasts: Span::from_secs(10),
    };
    for (rule, buffer) in [(Rule::Throughput, 4), (Rule::Bola, 30)] {
        let mut view = viewing(even(&[500, 1000, 2000]), rule);
        view.buffer = Span::from_secs(buffer);
        view.buffer_at_top = view.buffer;
        let mut wire = watch(view, 3000, Some(outage));
        wire.run(ms(120_000));
        let stalls = wire.values(Metric::Stalls).len();
        let dark: f64 = wire.values(Metric::StalledS).iter().sum();
        if buffer == 4 {
            // Two to four seconds of buffer against ten without a chunk.
            assert_eq!(stalls, 1);
            assert!((5.9..8.5).contains(&dark), "{dark}");
        } else {
            assert_eq!((stalls, dark), (0, 0.0));
        }
        let rates = wire.values(Metric::RequestedKbps);
        assert_eq!(rates.last(), Some(&2000.0), "{rates:?}");
        // Played to the end: 120 s less what was dark and what lies in the buffer.
        assert!(rates.len() as f64 * 2.0 > 115.0 - dark, "{}", rates.len());
    }
}

#[test]
fn chunks_without_bytes_fill_the_buffer_and_measure_nothing() {
    let rates = vec![Rate::from_bps(1_000_000), Rate::from_bps(2_000_000)];
    let manifest = Manifest::new(Span::from_secs(2), rates, vec![vec![0], vec![0]]).unwrap();
    let mut wire = watch(viewing(manifest, Rule::Throughput), 1000, None);
    wire.run(ms(60_000));
    assert!(wire.values(Metric::AchievedKbps).is_empty());
    assert!(wire.values(Metric::Stalls).is_empty());
    assert!(
        wire.values(Metric::RequestedKbps)
            .iter()
            .all(|&rate| (999.0..1001.0).contains(&rate))
    );
}

proptest! {
    /// Time is accounted for: what was watched, what was dark and what lies in the buffer make up
    /// the run, at any rate of the link, for each rule.
    #[test]
    fn video_and_time_balance(
        kbps in 30_u64..8000,
        rule in 0_usize..3,
        away in proptest::option::of((0_u64..50, 1_u64..20)),
    ) {
        let rule = [Rule::Throughput, Rule::Bola, Rule::DashJs2][rule];
        let outage = away.map(|(after, lasts)| Outage {
            after: Span::from_secs(after),
            lasts: Span::from_secs(lasts),
        });
        let mut wire = watch(viewing(big_clip(), rule), kbps, outage);
        wire.run(ms(90_000));
        let arrived: usize = wire.values(Metric::RequestedKbps).len();
        let dark: f64 = wire.values(Metric::StalledS).iter().sum();
        let began = wire.observed.iter().filter(|(_, m, _)| *m == Metric::RequestedKbps).nth(1);
        if let Some(&(began, _, _)) = began {
            let watched = 90.0 - began.as_secs_f64() - dark;
            // A stall is told in steps of half a second.
            prop_assert!(watched <= 2.0 * arrived as f64 + 0.6, "{watched} {arrived}");
            let left = 2.0 * arrived as f64 - watched;
            prop_assert!(left <= 34.6, "{left} s in the buffer");
        }
        for value in wire.values(Metric::BufferS) {
            prop_assert!(value <= 34.1, "{value}");
        }
    }
}
