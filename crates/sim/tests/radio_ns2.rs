//! Radios against what ns-2.35 answers on the same cells: ranges over its seeds, from
//! `anchors/wireless`. Ours are medians of three seeds.

mod common;

use common::radio::{NS2, chain, network, row, steps};
use common::{flow_of, run};
use sojourn_apps::{Bulk, Cbr, Gaps, Spec};
use sojourn_tcp::{Config, DelayedAck, Ns2Agent};
use sojourn_units::{Rate, Span};
use sojourn_world::{Cell, Flow, FlowResult, Profile, RunResult, Transport};

/// A FIFO of so many packets that drops the oldest.
fn fifo(packets: u32) -> String {
    format!("pfifo_head_drop limit {packets}")
}

/// The study's load: forth from the first moment, halved at 50 s; back from 25 s on, halved at 75.
/// Each flow of `(bytes, Mbit/s)` begins 10 ms after the one before.
fn both_ways(hops: usize, forth: &[(u16, f64)], back: &[(u16, f64)], deadline: u64) -> Vec<Flow> {
    let all = |name: &'static str, ends: [usize; 2], start: u64, list: &[(u16, f64)]| {
        let flow = |(index, load): (usize, &(u16, f64))| {
            let start_at = Span::from_secs(start) + Span::from_millis(10 * index as u64);
            let times = (start_at, Some(start + 50));
            Flow {
                deadline: Some(Span::from_millis(deadline)),
                ..steps(&format!("{name}{index}"), ends, *load, times)
            }
        };
        list.iter().enumerate().map(flow).collect::<Vec<_>>()
    };
    let mut flows = all("forth", [0, hops], 0, forth);
    flows.extend(all("back", [hops, 0], 25, back));
    flows
}

/// The middle of three.
fn median(mut values: [f64; 3]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[1]
}

/// ns-2's least and greatest value.
type Range = (f64, f64);

/// What ns-2 has in one direction.
struct Expected {
    /// Of what arrived, later than the deadline, in %.
    late: Range,
    /// In %.
    lost: Range,
    /// Largest delay in s.
    longest: Range,
}

const fn expect(late: Range, lost: Range, longest: Range) -> Expected {
    Expected {
        late,
        lost,
        longest,
    }
}

/// Of all flows of a direction: late in %, lost in %, largest delay in s. What is under way at the
/// end is lost in ns-2, so it counts as lost here.
fn direction(cell: &Cell, result: &RunResult, name: &str) -> [f64; 3] {
    let (mut sent, mut in_time, mut arrived, mut late, mut longest) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let flows = cell.flows.iter().zip(&result.flows);
    for (flow, (_, got)) in flows.filter(|(flow, _)| flow.name.starts_with(name)) {
        let Spec::Steps(steps) = &flow.app else {
            panic!("{}: not one of the study", flow.name);
        };
        let count = got.delay.count as f64;
        let length = cell.end() - flow.start;
        let bits = got.goodput.as_bps() as f64 * length.as_secs_f64();
        in_time += bits / (8.0 * f64::from(steps.size[0]));
        let in_flight = got.in_flight_ratio.expect("the simulator counts them");
        sent += count / (1.0 - got.loss_ratio.expect("it is UDP") - in_flight);
        arrived += count;
        late += count * got.late_ratio.expect("there is a deadline");
        longest = f64::max(longest, got.delay.max);
    }
    [
        100.0 * late / arrived,
        100.0 * (1.0 - in_time / sent),
        longest / 1e3,
    ]
}

/// Holds a cell to what ns-2 has in both directions: lateness within 4 points, loss within 2,
/// largest delay within 15 % or 30 ms.
fn hold(name: &str, cell: &Cell, expected: [Expected; 2]) {
    let runs = [1, 2, 3].map(|seed| {
        run(&Cell {
            seed,
            ..cell.clone()
        })
    });
    for (way, ns2) in ["forth", "back"].into_iter().zip(expected) {
        let all = [0, 1, 2].map(|seed| direction(cell, &runs[seed], way));
        let [late, lost, longest] = [0, 1, 2].map(|figure| median(all.map(|one| one[figure])));
        println!("{name} {way}: {late:.1} % late, {lost:.1} % lost, {longest:.2} s at most");
        let within =
            |got: f64, (low, high): Range, slack: f64| (low - slack..=high + slack).contains(&got);
        assert!(within(late, ns2.late, 4.0), "{name} {way}: {late} % late");
        assert!(within(lost, ns2.lost, 2.0), "{name} {way}: {lost} % lost");
        let slack = (0.15 * ns2.longest.0).max(0.03);
        assert!(
            within(longest, ns2.longest, slack),
            "{name} {way}: {longest} s at most"
        );
    }
}

/// A cell of the study: a chain with the study's load.
fn cell(hops: usize, sense: f64, queue: u32, flows: Vec<Flow>) -> Cell {
    let profile = Profile {
        sense,
        ..Profile::NS2_B
    };
    let network = network(profile, row(hops, 25.0), NS2, &fifo(queue));
    Cell::new("study", network, flows, Span::from_secs(100))
}

#[test]
fn fifos_over_two_hops_are_late_as_in_ns2_by_load() {
    // Scenarios 1 (1.8 Mbit/s, 400 ms) and 2.
    let nothing = || expect((0.0, 0.0), (0.0, 0.0), (0.01, 0.04));
    let cells = [
        (
            1.0,
            200,
            [nothing(), expect((0.0, 0.4), (0.0, 0.0), (0.01, 0.37))],
        ),
        (1.25, 200, [nothing(), nothing()]),
        (
            1.5,
            200,
            [
                expect((36.2, 36.8), (4.1, 4.4), (2.72, 2.77)),
                expect((53.0, 53.6), (4.9, 5.1), (2.72, 2.77)),
            ],
        ),
        (
            1.75,
            200,
            [
                expect((47.0, 48.8), (7.7, 8.5), (5.30, 5.84)),
                expect((85.8, 86.2), (10.8, 11.2), (6.26, 6.75)),
            ],
        ),
        (
            1.8,
            400,
            [
                expect((47.1, 53.2), (8.3, 8.8), (6.40, 6.55)),
                expect((85.3, 87.0), (13.1, 13.9), (7.34, 7.45)),
            ],
        ),
        (
            2.0,
            200,
            [
                expect((56.2, 56.9), (11.1, 11.7), (7.51, 7.94)),
                expect((91.7, 92.5), (22.1, 22.5), (7.29, 7.74)),
            ],
        ),
    ];
    for (mbps, deadline, expected) in cells {
        let flows = both_ways(2, &[(1000, mbps)], &[(1000, mbps)], deadline);
        hold(
            &format!("{mbps} Mbit/s"),
            &cell(2, 66.0, 1000, flows),
            expected,
        );
    }
}

#[test]
fn fifos_over_two_hops_are_late_as_in_ns2_by_size() {
    // Scenario 3.
    let cells = [
        (
            300,
            [
                expect((54.3, 54.9), (46.2, 46.9), (4.76, 4.76)),
                expect((92.7, 93.6), (61.9, 62.2), (4.74, 4.77)),
            ],
        ),
        (
            600,
            [
                expect((25.7, 26.2), (14.1, 14.3), (6.13, 6.32)),
                expect((76.6, 77.1), (27.4, 27.8), (6.33, 6.50)),
            ],
        ),
        (
            900,
            [
                expect((21.3, 21.8), (7.4, 7.9), (4.34, 4.67)),
                expect((64.6, 69.5), (8.6, 9.5), (4.94, 5.38)),
            ],
        ),
        (
            1200,
            [
                expect((9.0, 9.2), (2.1, 2.3), (3.06, 3.07)),
                expect((8.5, 11.8), (2.6, 2.8), (3.05, 3.07)),
            ],
        ),
        (
            1500,
            [
                expect((0.0, 0.0), (0.0, 0.0), (0.32, 0.41)),
                expect((0.0, 0.0), (0.0, 0.0), (0.32, 0.40)),
            ],
        ),
    ];
    for (size, expected) in cells {
        let flows = both_ways(2, &[(size, 1.6)], &[(size, 1.6)], 3000);
        hold(&format!("{size} B"), &cell(2, 66.0, 1000, flows), expected);
    }
}

#[test]
fn fifos_are_late_as_in_ns2_under_thirteen_flows() {
    // Scenario 4.
    let forth = [200, 200, 600, 600, 1500].map(|size| (size, 0.3));
    let back = [400, 400, 600, 600, 800, 800, 1000, 1000].map(|size| (size, 0.2));
    let cells = [
        (
            50,
            [
                expect((0.0, 0.0), (17.3, 33.2), (0.31, 0.31)),
                expect((0.0, 0.0), (33.7, 60.3), (0.30, 0.88)),
            ],
        ),
        (
            1000,
            [
                expect((91.8, 92.0), (33.4, 35.0), (5.79, 6.01)),
                expect((94.6, 98.0), (31.7, 34.5), (5.78, 5.93)),
            ],
        ),
    ];
    for (queue, expected) in cells {
        let flows = both_ways(2, &forth, &back, 1000);
        hold(
            &format!("queue of {queue}"),
            &cell(2, 66.0, queue, flows),
            expected,
        );
    }
}

#[test]
fn fifos_over_long_chains_are_late_as_in_ns2() {
    // Scenario 5: stations hear 318 m far.
    let quiet = || {
        [
            expect((0.0, 0.0), (0.0, 0.0), (0.02, 0.03)),
            expect((0.0, 0.0), (0.0, 0.0), (0.03, 0.05)),
        ]
    };
    let cells = [
        (3, 50, quiet()),
        (3, 1000, quiet()),
        (
            6,
            50,
            [
                expect((6.5, 14.2), (17.0, 17.8), (1.82, 2.14)),
                expect((10.2, 24.0), (35.8, 36.6), (1.76, 1.90)),
            ],
        ),
        (
            6,
            1000,
            [
                expect((56.4, 57.3), (17.3, 17.9), (26.3, 27.0)),
                expect((96.4, 97.7), (41.3, 42.4), (29.0, 30.2)),
            ],
        ),
        (
            12,
            50,
            [
                expect((42.5, 55.5), (53.2, 58.2), (4.39, 4.90)),
                expect((93.9, 96.2), (70.5, 74.5), (4.47, 4.58)),
            ],
        ),
        (
            12,
            1000,
            [
                expect((95.0, 95.5), (53.9, 57.8), (35.5, 37.4)),
                expect((98.0, 98.3), (70.7, 75.1), (30.2, 31.9)),
            ],
        ),
        (
            15,
            50,
            [
                expect((56.5, 67.8), (49.2, 77.0), (5.85, 6.95)),
                expect((75.2, 95.4), (61.8, 92.7), (5.86, 7.61)),
            ],
        ),
        (
            15,
            1000,
            [
                // Over nine seeds: from one to the next, ns-2's largest delay differs fourfold.
                expect((89.8, 96.3), (54.3, 73.7), (11.0, 45.8)),
                expect((91.3, 99.9), (64.3, 83.3), (9.5, 37.8)),
            ],
        ),
    ];
    for (hops, queue, expected) in cells {
        let flows = both_ways(hops, &[(1000, 0.8)], &[(1000, 0.8)], 1500);
        let name = format!("{hops} hops, queue of {queue}");
        hold(&name, &cell(hops, 318.0, queue, flows), expected);
    }
}

#[test]
fn adth_keeps_every_packet_in_time_over_two_hops() {
    let flows = both_ways(2, &[(1000, 2.0)], &[(1000, 2.0)], 200);
    let network = chain(2, NS2, "adth target 100ms full head");
    let result = run(&Cell::new("adth", network, flows, Span::from_secs(100)));
    for name in ["forth0", "back0"] {
        let flow = flow_of(&result, name);
        assert_eq!(flow.late_ratio, Some(0.0), "{name}: {:?}", flow.delay);
        assert!(flow.data_yield > Some(0.7), "{name}: {:?}", flow.data_yield);
    }
}

/// Scenario 5 of the ADTH study: targets that add up to 1.5 s, over links that break. Of ten seeds
/// together: over 15 hops a direction of one seed may deliver a few packets only, which are late
/// when they have waited for a route.
#[test]
fn adth_is_seldom_late_over_long_chains() {
    for (hops, target) in [(9, "166.667ms"), (12, "125ms"), (15, "100ms")] {
        let (mut late, mut arrived) = (0.0, 0.0);
        for seed in 1..=10 {
            let flows = both_ways(hops, &[(1000, 0.8)], &[(1000, 0.8)], 1500);
            let mut cell = cell(hops, 318.0, 1000, flows);
            let qdisc = format!("adth target {target} full head");
            for interface in &mut cell.network.interfaces {
                interface.qdisc = qdisc.parse().expect("adth");
            }
            cell.seed = seed;
            let result = run(&cell);
            for (_, flow) in &result.flows {
                let count = flow.delay.count as f64;
                late += count * flow.late_ratio.unwrap_or_default();
                arrived += count;
            }
        }
        let share = late / arrived;
        println!("{hops} hops: {late} of {arrived} late");
        assert!(
            share <= if hops < 15 { 0.0 } else { 0.01 },
            "{hops} hops: {share}"
        );
    }
}

/// 25 sessions of 20 packets of 218 bytes a second each way, short preambles, ACKs at 11 Mbit/s:
/// the ends hear each other without understanding, wait longer than the relay and queue too.
#[test]
fn voice_queues_at_both_ends_as_in_ns2() {
    let profile = Profile {
        preamble: Span::from_micros(96),
        basic_rate: Rate::from_bps(11_000_000),
        answer_rate: Rate::from_bps(11_000_000),
        ..Profile::NS2_B
    };
    let session = |index: usize, [from, to]: [usize; 2]| Flow {
        from,
        to,
        start: sojourn_units::Time::ZERO + Span::from_millis(1000 + 2 * index as u64),
        ..Flow::new(
            &format!("{from}.{index}"),
            Transport::Udp,
            Cbr {
                size: 218,
                interval: Span::from_millis(50),
                gaps: Gaps::Even,
            },
        )
    };
    let flows = (0..25).flat_map(|index| [session(index, [0, 2]), session(index, [2, 0])]);
    let network = network(profile, row(2, 25.0), NS2, &fifo(1000));
    let mut cell = Cell::new("voice", network, flows.collect(), Span::from_secs(60));
    cell.warmup = Span::from_secs(5);
    let result = run(&cell);
    let arrived = |of: fn(&FlowResult) -> f64| {
        let flows = result.flows.iter().map(|(_, flow)| flow);
        let (sum, count) = flows.fold((0.0, 0.0), |(sum, count), flow| {
            let packets = flow.delay.count as f64;
            (sum + packets * of(flow), count + packets)
        });
        sum / count
    };
    let mean = arrived(|flow| flow.delay.mean);
    // ns-2: 2.92 s, 31.6 % lost; ranges of ten per cent and 3 points.
    assert!((2630.0..3220.0).contains(&mean), "{mean} ms");
    let lost = 100.0 * arrived(|flow| flow.loss_ratio.expect("it is UDP"));
    println!("voice: {mean:.0} ms, {lost:.1} % lost");
}

#[test]
fn saturated_chains_carry_what_they_do_in_ns2() {
    for (hops, offered, wanted) in [(1, 8.0, 4.925), (2, 3.0, 2.39), (3, 3.0, 1.66)] {
        let flows = vec![steps(
            "flow",
            [0, hops],
            (1000, offered),
            (Span::from_secs(0), None),
        )];
        let network = chain(hops, NS2, "pfifo limit 50");
        let mut cell = Cell::new("chain", network, flows, Span::from_secs(50));
        cell.warmup = Span::from_secs(5);
        let result = run(&cell);
        let got = flow_of(&result, "flow").goodput.as_bps() as f64 / 1e6;
        assert!(
            (got / wanted - 1.0).abs() < 0.04,
            "{hops} hops: {got} Mbit/s"
        );
    }
}

/// ns-2's Newreno over three hops: 1460 bytes, window 20, 60 s. Links break where hidden stations
/// collide, and goodput is what routing makes of that.
#[test]
fn tcp_over_three_hops_carries_what_it_does_in_ns2() {
    // Packets in a queue, whether ACKs wait, and ns-2's Mbit/s over five seeds.
    let cells = [
        (50, false, (0.92, 0.93)),
        (50, true, (1.19, 1.23)),
        (10, false, (1.05, 1.07)),
        (10, true, (1.27, 1.33)),
        (5, false, (1.08, 1.10)),
        (5, true, (1.31, 1.33)),
    ];
    for (queue, waits, (low, high)) in cells {
        let acks = if waits {
            Config::default().delayed_ack
        } else {
            DelayedAck::Off
        };
        let config = Config {
            ns2: Some(Ns2Agent::NewReno),
            mss: 1460,
            timestamps: false,
            delayed_ack: acks,
            ..Config::default()
        };
        let carried = |seed| {
            let flow = Flow {
                from: 0,
                to: 3,
                ..Flow::new("tcp", Transport::Tcp(config), Bulk)
            };
            let network = chain(3, NS2, &format!("pfifo limit {queue}"));
            let mut cell = Cell::new("tcp", network, vec![flow], Span::from_secs(60));
            cell.seed = seed;
            flow_of(&run(&cell), "tcp").goodput.as_bps() as f64 / 1e6
        };
        let got = median([1, 2, 3].map(carried));
        println!("TCP, queue of {queue}, delayed ACKs {waits}: {got:.2} Mbit/s");
        assert!(
            (0.95 * low..=1.05 * high).contains(&got),
            "{queue}, {waits}: {got}"
        );
    }
}

#[test]
fn discovery_takes_as_long_as_in_ns2() {
    // The first packet's delay in ms: ns-2's least, mean and greatest over 200 seeds drawn at
    // random (of seeds 1 to 10 its first jitters are alike), and their standard deviation.
    for (hops, low, mean, high, deviation) in [
        (1, 4.1, 4.96, 6.2, 0.37),
        (2, 9.2, 15.09, 20.9, 2.80),
        (3, 15.5, 25.52, 34.8, 3.89),
        (5, 30.6, 46.86, 60.7, 5.56),
        (10, 69.3, 98.09, 121.6, 9.73),
        (15, 123.0, 149.95, 174.3, 10.38),
    ] {
        let first = |seed| {
            let probe = Cbr {
                size: 512,
                interval: Span::from_millis(50),
                gaps: Gaps::Even,
            };
            let flow = Flow {
                from: 0,
                to: hops,
                ..Flow::new("probe", Transport::Udp, probe)
            };
            let cell = Cell {
                seed,
                ..Cell::new(
                    "find",
                    chain(hops, NS2, "pfifo"),
                    vec![flow],
                    Span::from_millis(40),
                )
            };
            run(&cell).flows[0].1.delay.max
        };
        let all: Vec<f64> = (1..=20).map(first).collect();
        let ours = all.iter().sum::<f64>() / 20.0;
        println!("{hops} hops: {ours:.1} ms, ns-2 {mean}");
        let is_within = all
            .iter()
            .all(|delay| (low - 0.05..=high + 0.05).contains(delay));
        assert!(is_within, "{hops} hops: {all:?} ms");
        let error = deviation * (1.0_f64 / 20.0 + 1.0 / 200.0).sqrt();
        assert!((ours - mean).abs() < 3.0 * error, "{hops} hops: {ours} ms");
    }
}
