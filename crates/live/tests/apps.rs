//! Applications over the kernel's sockets: each does on real packets what it is for, and measures
//! itself. They need root; see `world.rs`.

mod common;

use common::cells::{cell, flow, none_below, only, run, tcp};
use common::{available, measured};
use sojourn_apps::dash::{Manifest, Outage, Rule, Viewing};
use sojourn_apps::{Cbr, Dash, Game, Gaps, Metric, Telemetry, Video, Voip, Web};
use sojourn_units::{Rate, Span};
use sojourn_world::{Amount, Cell, Distribution, Flow, FlowResult, RunResult, Transport};
use std::sync::Arc;

/// Of the path that `flow` gives, one way and both, in milliseconds.
const ONE_WAY: f64 = 10.0;
const ROUND_TRIP: f64 = 20.0;

fn back(flow: Flow) -> Flow {
    Flow {
        from: 1,
        to: 0,
        ..flow
    }
}

/// Chunks of half a second in two rates, 0.4 and 0.8 Mbit/s.
fn video(buffer: Span, outage: Option<Outage>) -> Dash {
    let rates = [400_000, 800_000].map(Rate::from_bps).to_vec();
    let sizes = vec![vec![25_000; 8], vec![50_000; 8]];
    let manifest = Manifest::new(Span::from_millis(500), rates, sizes).expect("it is whole");
    Dash {
        viewing: Viewing {
            manifest: Arc::new(manifest),
            rule: Rule::Throughput,
            prefill: Span::from_millis(500),
            buffer,
            buffer_at_top: buffer,
        },
        outage,
    }
}

fn spread(flow: &FlowResult, metric: Metric) -> &Distribution {
    let found = flow.measured.iter().find(|m| m.metric == metric);
    match &found.expect("the app measures it").amount {
        Amount::Spread(spread) => spread,
        Amount::Sum(_) => panic!("{metric:?} is a sum"),
    }
}

fn sum(flow: &FlowResult, metric: Metric) -> f64 {
    let found = flow.measured.iter().find(|m| m.metric == metric);
    match found.expect("the app measures it").amount {
        Amount::Sum(sum) => sum,
        Amount::Spread(_) => panic!("{metric:?} is a distribution"),
    }
}

/// The flow with this name.
fn named<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    let mut flows = result.flows.iter();
    let found = flows.find(|(known, _)| known == name);
    &found.expect("the cell has it").1
}

/// A run of all applications, of which nothing takes less time than the line does, and nothing is
/// measured that cannot be.
fn holds_whenever(cell: &Cell) -> RunResult {
    let result = run(cell);
    let of = |name: &str| named(&result, name);
    none_below(spread(of("telemetry"), Metric::AgeMs), ONE_WAY);
    none_below(spread(of("game"), Metric::LagMs), ROUND_TRIP);
    // The document, then eleven objects over six connections: three round trips at least.
    none_below(spread(of("web"), Metric::PageLoadMs), 3.0 * ROUND_TRIP);
    // The two directions of a call answer each other's packets; the video has one only.
    for name in ["voip", "voip-back"] {
        none_below(&of(name).spp_rtt, ROUND_TRIP);
    }
    assert_eq!(of("video").spp_rtt.count, 0);
    result
}

/// All at once: their 2.5 Mbit/s don't fill the link of ten.
#[test]
fn every_application_does_its_work() {
    if !available() {
        return;
    }
    let interval = Span::from_millis(20);
    let report = Telemetry {
        size: 100,
        interval,
    };
    let speech = Voip {
        size: 172,
        interval,
    };
    let pictures = Video {
        size: 700,
        interval,
    };
    let game = Game {
        command: 60,
        picture: 200,
        interval,
    };
    let pages = Web {
        objects: 12,
        mean_size: 5000,
        connections: 6,
        pause: Span::from_millis(500),
    };
    let flows = vec![
        flow("telemetry", tcp(), report),
        flow("voip", Transport::Udp, speech),
        back(flow("voip-back", Transport::Udp, speech)),
        flow("video", Transport::Udp, pictures),
        flow("game", Transport::Udp, game),
        back(flow("dash", tcp(), video(Span::from_secs(2), None))),
        back(flow("web", tcp(), pages)),
    ];
    let mut cell = cell(9000, flows);
    cell.spp = true;
    measured(
        || holds_whenever(&cell),
        |result| {
            let of = |name: &str| named(result, name);
            // Six seconds are measured.
            let age = spread(of("telemetry"), Metric::AgeMs);
            assert!(age.count > 100, "{age:?}");
            assert!(of("telemetry").goodput.as_bps() > 20_000);
            for name in ["voip", "video"] {
                let mos = spread(of(name), Metric::Mos);
                assert!(mos.count >= 4 && mos.max > 4.0, "{name}: {mos:?}");
                assert!(spread(of(name), Metric::MissingRatio).min < 0.1, "{name}");
            }
            for name in ["voip", "voip-back"] {
                let pairs = &of(name).spp_rtt;
                assert!(pairs.count > 100, "{pairs:?}");
            }
            let lag = spread(of("game"), Metric::LagMs);
            assert!(lag.count > 100, "{lag:?}");
            // The higher rate by far fits, and the video plays in real time.
            let asked = spread(of("dash"), Metric::RequestedKbps);
            assert!(asked.count >= 8 && asked.p50 > 799.0, "{asked:?}");
            assert!(spread(of("dash"), Metric::AchievedKbps).p50 > 800.0);
            assert!(sum(of("dash"), Metric::Stalls) <= 0.0);
            let load = spread(of("web"), Metric::PageLoadMs);
            assert!(load.count >= 3, "{load:?}");
            assert!(spread(of("web"), Metric::ObjectMs).count >= 36);
        },
    );
}

#[test]
fn a_player_recovers_from_a_server_that_was_away() {
    if !available() {
        return;
    }
    let outage = Outage {
        after: Span::from_secs(2),
        lasts: Span::from_secs(3),
    };
    let app = video(Span::from_secs(1), Some(outage));
    let mut cell = cell(9000, vec![back(flow("dash", tcp(), app))]);
    cell.warmup = Span::ZERO;
    measured(
        || run(&cell),
        |result| {
            let dash = only(result);
            assert!(sum(dash, Metric::Stalls) >= 1.0);
            // Up to one and a half seconds of buffer against three without a chunk.
            let dark = sum(dash, Metric::StalledS);
            assert!((1.0..4.0).contains(&dark), "{dark}");
            // Two chunks a second before and after.
            let chunks = spread(dash, Metric::RequestedKbps).count;
            assert!((9..=18).contains(&chunks), "{chunks}");
        },
    );
}

/// Packets of a tenth of a second: 100 each when they are even, with a standard deviation of 10 as
/// a Poisson process. The rate is the same.
#[test]
fn gaps_of_cbr_vary_over_sockets_too() {
    if !available() {
        return;
    }
    let stream = |name: &str, gaps| {
        let cbr = Cbr {
            size: 200,
            interval: Span::from_millis(1),
            gaps,
        };
        flow(name, Transport::Udp, cbr)
    };
    let flows = vec![
        stream("even", Gaps::Even),
        stream("jittered", Gaps::Jittered(Span::from_micros(900))),
        stream("poisson", Gaps::Poisson),
    ];
    let cell = cell(9000, flows);
    measured(
        || run(&cell),
        |result| {
            let deviation = |flow: &FlowResult| {
                let points = flow.series[0]
                    .points
                    .iter()
                    .filter(|p| p.t > 3.5 && p.t < 8.5);
                let packets: Vec<f64> = points.map(|p| p.value / 16_000.0).collect();
                let mean = packets.iter().sum::<f64>() / packets.len() as f64;
                let squares = packets.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>();
                assert!((95.0..105.0).contains(&mean), "{mean}");
                (squares / packets.len() as f64).sqrt()
            };
            let [even, jittered, poisson] = [0, 1, 2].map(|n| deviation(&result.flows[n].1));
            assert!(even < 4.0 && jittered < 4.0, "{even} {jittered}");
            assert!((6.0..15.0).contains(&poisson), "{poisson}");
        },
    );
}
