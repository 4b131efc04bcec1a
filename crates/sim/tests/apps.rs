//! Applications over simulated links, against arithmetic on what the links can carry.

mod common;
use common::*;
use sojourn_apps::dash::{Manifest, Outage, Rule, Viewing, big_clip};
use sojourn_apps::{Bulk, Dash, Metric, Spec as AppSpec, Telemetry, Voip, Web};
use sojourn_tcp::{Config, DelayedAck};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Amount, Cell, Change, Distribution, Flow, FlowResult, LineChange, RunResult};
use std::sync::Arc;

/// A flow from the server to the client.
fn down(name: &str, app: impl Into<AppSpec>) -> Flow {
    Flow {
        from: 1,
        to: 0,
        ..tcp(name, app, ms(40), Config::default())
    }
}

fn dash(name: &str, rule: Rule, outage: Option<Outage>) -> Flow {
    let viewing = Viewing {
        manifest: Arc::new(big_clip()),
        rule,
        prefill: Span::from_secs(4),
        buffer: Span::from_secs(if rule == Rule::Bola { 30 } else { 12 }),
        buffer_at_top: Span::from_secs(30),
    };
    down(name, Dash { viewing, outage })
}

fn device(name: &str, start: u64) -> Flow {
    let app = Telemetry {
        size: 100,
        interval: ms(8),
    };
    let config = Config {
        delayed_ack: DelayedAck::Off,
        ..Config::default()
    };
    Flow {
        start: Time::ZERO + ms(start),
        ..tcp(name, app, ms(40), config)
    }
}

fn home(up: f64, down: f64, seconds: u64, flows: Vec<Flow>) -> Cell {
    let queue = |name: &str, rate: f64| Hop {
        qdisc: "fq_codel".parse().expect("a test's own spec"),
        ..hop(name, mbit(rate))
    };
    let duration = Span::from_secs(seconds);
    Cell {
        warmup: duration / 4,
        ..dumbbell(queue("up", up), queue("down", down), duration, flows)
    }
}

fn amount(flow: &FlowResult, metric: Metric) -> &Amount {
    let found = flow.measured.iter().find(|m| m.metric == metric);
    &found.expect("the app measures it").amount
}

fn spread(flow: &FlowResult, metric: Metric) -> &Distribution {
    match amount(flow, metric) {
        Amount::Spread(spread) => spread,
        Amount::Sum(_) => panic!("{metric:?} is a sum"),
    }
}

fn sum(flow: &FlowResult, metric: Metric) -> f64 {
    match amount(flow, metric) {
        Amount::Sum(sum) => *sum,
        Amount::Spread(_) => panic!("{metric:?} is a distribution"),
    }
}

fn requested(result: &RunResult, name: &str) -> f64 {
    spread(flow_of(result, name), Metric::RequestedKbps).p50
}

#[test]
fn players_share_a_link_evenly() {
    for (players, mbit) in [(2, 4.0), (4, 8.0)] {
        for rule in [Rule::Throughput, Rule::Bola, Rule::DashJs2] {
            let names: Vec<String> = (0..players).map(|n| format!("dash-{n}")).collect();
            let flows = names.iter().map(|name| dash(name, rule, None)).collect();
            let result = run(&home(2.0, mbit, 120, flows));
            for name in &names {
                // Two Mbit/s each: the rates below it, and above it while others pause.
                let rate = requested(&result, name);
                assert!((1200.0..=2400.0).contains(&rate), "{rule:?} {name}: {rate}");
                assert!(
                    sum(flow_of(&result, name), Metric::Stalls) <= 0.0,
                    "{rule:?}"
                );
            }
        }
    }
}

#[test]
fn a_player_recovers_from_a_server_that_was_away() {
    let outage = Outage {
        after: Span::from_secs(60),
        lasts: Span::from_secs(10),
    };
    let mut flow = dash("dash", Rule::Throughput, Some(outage));
    if let AppSpec::Dash(Dash { viewing, .. }) = &mut flow.app {
        (viewing.buffer, viewing.buffer_at_top) = (Span::from_secs(4), Span::from_secs(4));
    }
    let result = run(&home(1.0, 10.0, 120, vec![flow]));
    let dash = flow_of(&result, "dash");
    assert!((sum(dash, Metric::Stalls) - 1.0).abs() < 1e-9);
    // Four to six seconds of buffer against ten without a chunk, and the time to fetch one.
    let dark = sum(dash, Metric::StalledS);
    assert!((3.5..8.5).contains(&dark), "{dark}");
    assert!(requested(&result, "dash") >= 4200.0);
}

/// A link that loses nine tenths of its rate: the chunk under way is given up, again and again until
/// the lowest rates, each time over another connection.
#[test]
fn a_player_gives_up_chunks_and_goes_on_over_other_connections() {
    let mut cell = home(1.0, 10.0, 120, vec![dash("dash", Rule::DashJs2, None)]);
    cell.warmup = Span::from_secs(60);
    cell.changes = vec![Change {
        at: Time::ZERO + Span::from_secs(40),
        link: 1,
        line: LineChange {
            rate: Some(mbit(0.8)),
            ..LineChange::default()
        },
        ..Change::default()
    }];
    let result = run(&cell);
    let asked = spread(flow_of(&result, "dash"), Metric::RequestedKbps);
    // 0.8 Mbit/s carry 573 kbit/s: nine tenths of what is left beside the heads.
    assert!((374.0..=573.0).contains(&asked.p50), "{asked:?}");
    // No more than is played in 60 s, and a player that stood still would have fetched nothing.
    assert!((25..=36).contains(&asked.count), "{asked:?}");
}

/// A video of one rate in which every second chunk is empty.
#[test]
fn a_video_of_one_rate_with_empty_chunks_plays() {
    let sizes = vec![vec![250_000, 0, 250_000, 0]];
    let manifest = Manifest::new(Span::from_secs(2), vec![Rate::from_bps(1_000_000)], sizes);
    for rule in [Rule::Throughput, Rule::Bola] {
        let mut flow = dash("dash", rule, None);
        if let AppSpec::Dash(Dash { viewing, .. }) = &mut flow.app {
            viewing.manifest = Arc::new(manifest.clone().expect("it is whole"));
        }
        let result = run(&home(1.0, 10.0, 120, vec![flow]));
        let dash = flow_of(&result, "dash");
        // 90 s are measured: 45 chunks, and an achieved rate of those that have bytes.
        let asked = spread(dash, Metric::RequestedKbps);
        assert!((44..=46).contains(&asked.count), "{asked:?}");
        assert!(near(asked.min, 1000.0, 1e-9) && near(asked.max, 1000.0, 1e-9));
        let achieved = spread(dash, Metric::AchievedKbps);
        assert!((22..=23).contains(&achieved.count), "{achieved:?}");
        assert!(sum(dash, Metric::Stalls) + sum(dash, Metric::Switches) <= 0.0);
    }
}

#[test]
fn ten_devices_lose_nothing_and_their_reports_are_fresh() {
    let names: Vec<String> = (0..10).map(|n| format!("device-{n}")).collect();
    let flows = names
        .iter()
        .enumerate()
        .map(|(n, name)| device(name, n as u64))
        .collect();
    // Ten times 152 bytes every 8 ms: 1.52 Mbit/s of 2.
    let result = run(&home(2.0, 2.0, 40, flows));
    for name in &names {
        let device = flow_of(&result, name);
        let goodput = device.goodput.as_bps() as f64;
        assert!(near(goodput, 100_000.0, 0.01), "{goodput}");
        assert!(
            near(device.throughput.p50, 152_000.0, 0.01),
            "{:?}",
            device.throughput
        );
        // 20 ms on the way and up to ten packets of 0.6 ms.
        let age = spread(device, Metric::AgeMs);
        assert!(age.min >= 20.5 && age.p95 < 30.0, "{age:?}");
        assert_eq!(device.blocked_messages, 0);
    }
}

#[test]
fn a_page_comes_over_six_connections_at_once() {
    let load = |connections| {
        let pages = Web {
            objects: 60,
            mean_size: 10_000,
            connections,
            pause: Span::from_secs(1),
        };
        let result = run(&home(10.0, 50.0, 60, vec![down("web", pages)]));
        let web = flow_of(&result, "web");
        assert!(web.goodput.as_bps() > 0);
        spread(web, Metric::PageLoadMs).p50
    };
    let (one, six) = (load(1), load(6));
    // 60 round trips of 40 ms after one another, or six at a time.
    assert!(one > 60.0 * 40.0, "{one}");
    assert!(six < one / 3.0 && six > 400.0, "{six} {one}");
}

#[test]
fn a_call_is_rated_by_what_the_queue_does_to_it() {
    let voip = |down_mbit| {
        let call = Flow {
            transport: sojourn_world::Transport::Udp,
            ..down(
                "call",
                Voip {
                    size: 172,
                    interval: ms(20),
                },
            )
        };
        let mut cell = home(1.0, down_mbit, 40, vec![call, down("bulk", Bulk)]);
        cell.network.interfaces[1].qdisc = "pfifo limit 500".parse().expect("a test's own spec");
        spread(flow_of(&run(&cell), "call"), Metric::Mos).p50
    };
    // Half a second of FIFO at 12 Mbit/s, none worth telling at 1 Gbit/s.
    let (slow, fast) = (voip(12.0), voip(1000.0));
    assert!(slow < 3.0 && fast > 4.3, "{slow} {fast}");
}

#[test]
fn runs_with_applications_repeat() {
    let pages = Web {
        objects: 20,
        mean_size: 20_000,
        connections: 6,
        pause: Span::from_secs(1),
    };
    let flows = || {
        vec![
            dash("dash", Rule::Bola, None),
            down("web", pages),
            device("device", 0),
        ]
    };
    let (once, again) = (
        run(&home(1.0, 6.0, 30, flows())),
        run(&home(1.0, 6.0, 30, flows())),
    );
    assert_eq!(once.digest, again.digest);
    for ((name, a), (_, b)) in once.flows.iter().zip(&again.flows) {
        assert!(a.measured == b.measured && a.goodput == b.goodput, "{name}");
    }
}
