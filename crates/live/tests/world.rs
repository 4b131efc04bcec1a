//! Short cells on real packets. They need root; without it they are passed over, except in CI
//! (`CI=true`), where a machine that cannot run them fails them.

mod common;

use common::cells::{cell, flow, only, run, tcp};
use common::{available, measured};
use sojourn_apps::{Bulk, Cbr, File, Gaps, Ping};
use sojourn_live::Live;
use sojourn_qdisc::{Spec, Value};
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn};
use sojourn_units::{Ecn as Codepoint, Rate, Span, Time};
use sojourn_world::{
    Cell, Change, Flow, LineChange, LineRate, Network, Place, Profile, Radio, Routing, Taps,
    Transport, World, WorldError,
};
use std::ops::ControlFlow;

#[test]
fn a_bulk_flow_fills_the_link_and_no_more() {
    if !available() {
        return;
    }
    measured(
        || run(&cell(3000, vec![flow("bulk", tcp(), Bulk)])),
        |result| {
            let flow = only(result);
            // At most 1448 of 1514 bytes are payload.
            let mbit = flow.goodput.as_bps() as f64 / 1e6;
            assert!((7.0..9.7).contains(&mbit), "{mbit} Mbit/s");
            assert!(flow.rtt.min >= 20.0, "{:?}", flow.rtt);
            assert!(flow.sent_packets > 500 && flow.loss_ratio.is_none());
            let link = &result.links[0].1;
            assert_eq!(result.links[0].0, "up");
            assert!(link.utilisation.is_some_and(|u| (0.7..1.01).contains(&u)));
            assert_eq!((result.world.as_str(), result.digest), ("live", 0));
            assert!(link.backlog_packets_mean > 1.0);

            assert!(result.cost.events > 1000 && result.cost.cpu_s > 0.0);
        },
    );
}

#[test]
fn datagrams_cross_an_idle_link_without_loss_or_delay() {
    if !available() {
        return;
    }
    let interval = Span::from_millis(10);
    let mut back = flow(
        "back",
        Transport::Udp,
        Cbr {
            size: 200,
            interval,
            gaps: Gaps::Even,
        },
    );
    (back.from, back.to) = (1, 0);
    let ping = Ping { size: 64, interval };
    let mut cell = cell(1500, vec![flow("ping", Transport::Udp, ping), back]);
    cell.spp = true;
    measured(
        || run(&cell),
        |result| {
            let (ping, back) = (&result.flows[0].1, &result.flows[1].1);
            assert_eq!((ping.loss_ratio, back.loss_ratio), (Some(0.0), Some(0.0)));
            // 100 in the second that counts; a busy machine may make a few late, never early.
            assert!((50..=101).contains(&ping.rtt.count), "{}", ping.rtt.count);
            assert!(
                ping.rtt.min >= 20.0 && ping.induced_rtt.p50 < 10.0,
                "{:?}",
                ping.rtt
            );
            assert!(
                back.delay.min >= 10.0 && back.delay.p50 < 20.0,
                "{:?}",
                back.delay
            );
            // From port to port of the bridge: what the hosts take is not in it.
            let pairs = &ping.spp_rtt;
            assert!((50..=101).contains(&pairs.count), "{}", pairs.count);
            assert!(pairs.min >= 20.0 && pairs.p50 < 30.0, "{pairs:?}");
            assert!(pairs.p50 <= ping.rtt.p50, "{pairs:?} {:?}", ping.rtt);
            assert_eq!(back.spp_rtt.count, 0, "nothing comes back");
            // Requests and echoes, each with its own time of sending.
            assert!(ping.delay.count >= 2 * ping.rtt.count - 2 && ping.delay.p50 < 20.0);
        },
    );
}

/// ECN-capable packets go through the L queue, all others through the C queue. What each counts
/// adds up to what the link counts, however the machine does.
#[test]
fn both_queues_of_dualpi2_have_figures() {
    if !available() {
        return;
    }
    let bulk = Transport::Tcp(Config {
        ecn: Ecn::Classic,
        ..Config::default()
    });
    let ping = Ping {
        size: 64,
        interval: Span::from_millis(10),
    };
    let stream = Cbr {
        size: 200,
        interval: Span::from_millis(10),
        gaps: Gaps::Even,
    };
    let l4s = Flow {
        ecn: Codepoint::Ect1,
        ..flow("l4s", Transport::Udp, stream)
    };
    let flows = vec![
        flow("bulk", bulk, Bulk),
        flow("ping", Transport::Udp, ping),
        l4s,
    ];
    let mut cell = cell(1500, flows);
    cell.network.interfaces[0].qdisc = "dualpi2 any_ect".parse::<Spec>().unwrap();
    let mut result = run(&cell);
    // Marks are counted where packets arrive, of datagrams too.
    let flows = result.flows.iter().map(|(_, flow)| flow);
    for (flow, is_capable) in flows.zip([true, false, true]) {
        let came = flow.goodput.as_bps() > 0 || flow.delay.count > 0;
        assert_eq!(flow.ce_ratio.is_some(), came && is_capable, "{flow:?}");
    }
    let link = result.links.swap_remove(0).1;
    let count = |figure: Option<f64>| figure.expect("its queue is a pair") as u64;
    let [classic, low] = [link.c_dequeued_packets, link.l_dequeued_packets].map(count);
    assert_eq!(classic + low, link.dequeued_packets);
    assert_eq!([link.c_sojourn.count, link.l_sojourn.count], [classic, low]);
    let marked = count(link.c_marked_packets) + count(link.l_marked_packets);
    assert_eq!(marked, link.marked_packets);
    assert_eq!(count(link.c_marked_packets), 0);
    assert_eq!(count(link.l_came_marked_packets), 0);
    let dropped = count(link.c_dropped_packets) + count(link.l_dropped_packets);
    assert_eq!(dropped, link.dropped_packets);
}

#[test]
fn a_file_completes_and_a_small_stream_delivers_its_messages() {
    if !available() {
        return;
    }
    let no_wait = Transport::Tcp(Config {
        algorithm: Algorithm::Reno,
        delayed_ack: DelayedAck::Off,
        ..Config::default()
    });
    let file = flow("file", no_wait, File { size: 200_000 });
    let interval = Span::from_millis(20);
    let small = flow(
        "small",
        tcp(),
        Cbr {
            size: 100,
            interval,
            gaps: Gaps::Even,
        },
    );
    let mut cell = cell(2000, vec![file, small]);
    cell.warmup = Span::ZERO;
    measured(
        || run(&cell),
        |result| {
            let done = only(result)
                .completed
                .expect("200 kB take 0.2 s at 10 Mbit/s");
            assert!(done > Span::from_millis(160), "{done:?}");
            assert_eq!(only(result).goodput.as_bps(), 800_000);
            let small = &result.flows[1].1;
            assert!(
                (30_000..=41_000).contains(&small.goodput.as_bps()),
                "{:?}",
                small.goodput
            );
            assert_eq!(small.blocked_messages, 0);
        },
    );
}

#[test]
fn files_begin_again_at_their_interval() {
    if !available() {
        return;
    }
    let mut files = flow("files", tcp(), File { size: 100_000 });
    files.every = Some(Span::from_millis(500));
    let mut cell = cell(3000, vec![files, flow("bulk", tcp(), Bulk)]);
    cell.warmup = Span::ZERO;
    measured(
        || run(&cell),
        |result| {
            let files = only(result);
            assert_eq!(files.started, 6);
            assert!((3..=6).contains(&files.completion.count), "{files:?}");
        },
    );
}

/// Datagrams of 12 Mbit/s don't yield to a full queue, so that the link alone sets what passes.
#[test]
fn a_link_changes_its_queue_and_its_rate() {
    if !available() {
        return;
    }
    let flood = Cbr {
        size: 1472,
        interval: Span::from_millis(1),
        gaps: Gaps::Even,
    };
    let mut cell = cell(3000, vec![flow("flood", Transport::Udp, flood)]);
    cell.warmup = Span::ZERO;
    let change = |millis: u64, rate: Option<u64>, qdisc: Option<&str>| Change {
        at: Time::ZERO + Span::from_millis(millis),
        line: LineChange {
            rate: rate.map(|mbit| LineRate::Fixed(Rate::from_bps(mbit * 1_000_000))),
            ..LineChange::default()
        },
        qdisc: qdisc.map(|spec| spec.parse().unwrap()),
        ..Change::default()
    };
    cell.changes = vec![
        change(1000, None, Some("fq_codel")),
        change(1500, Some(4), None),
    ];
    measured(
        || run(&cell),
        |result| {
            let up = &result.links[0].1;
            assert_eq!(up.qdisc.kind, "fq_codel");
            let utilisation = up.utilisation.expect("the link has a rate");
            assert!((0.9..1.01).contains(&utilisation), "{utilisation}");
            let mean = |from: f64, to: f64| {
                let points = up.series[0].points.iter();
                let within: Vec<f64> = points
                    .filter(|point| point.t > from + 0.05 && point.t < to + 0.05)
                    .map(|point| point.value)
                    .collect();
                within.iter().sum::<f64>() / within.len() as f64
            };
            let (before, after) = (mean(0.5, 1.5), mean(1.7, 3.0));
            assert!((9e6..10.2e6).contains(&before), "{before}");
            assert!((3.6e6..4.1e6).contains(&after), "{after}");
        },
    );
}

#[test]
fn a_line_changes_its_delay_and_its_loss() {
    if !available() {
        return;
    }
    let load = Cbr {
        size: 200,
        interval: Span::from_millis(1),
        gaps: Gaps::Even,
    };
    let mut cell = cell(4000, vec![flow("load", Transport::Udp, load)]);
    cell.warmup = Span::from_millis(2100);
    cell.changes = vec![Change {
        at: Time::ZERO + Span::from_millis(2000),
        line: LineChange {
            delay: Some(Span::from_millis(30)),
            loss: Some(0.2.into()),
            ..LineChange::default()
        },
        ..Change::default()
    }];
    // Half of the round trip, and what the line has got.
    measured(
        || run(&cell),
        |result| {
            let load = only(result);
            assert!((40.0..43.0).contains(&load.delay.p50), "{:?}", load.delay);
            let loss = load.loss_ratio.expect("it is UDP");
            assert!((0.14..0.26).contains(&loss), "{loss}");
        },
    );
}

#[test]
fn a_line_loses_in_bursts_and_copies() {
    if !available() {
        return;
    }
    let load = Cbr {
        size: 200,
        interval: Span::from_millis(1),
        gaps: Gaps::Even,
    };
    let probe = Ping {
        size: 64,
        interval: Span::from_millis(20),
    };
    let flows = vec![
        flow("load", Transport::Udp, load),
        flow("probe", Transport::Udp, probe),
        flow("bulk", tcp(), Bulk),
    ];
    let mut cell = cell(6000, flows);
    cell.warmup = Span::ZERO;
    let line = cell.network.line_mut(0).unwrap();
    line.loss = "gemodel 1% 20%".parse().unwrap();
    line.duplicate = 0.1.into();
    measured(
        || run(&cell),
        |result| {
            let (up, load) = (&result.links[0].1, only(result));
            let copied = up.duplicated_packets.expect("the line copies");
            let lost = up.lost_packets.expect("the line loses");
            let share = |count: f64| count / up.dequeued_packets as f64;
            assert!((0.08..0.12).contains(&share(copied)), "{copied}");
            // Bursts of five, some sixty of them: of a twentieth.
            assert!((0.02..0.09).contains(&share(lost)), "{lost}");
            let again = load.duplicates.expect("copies are counted");
            let arrived = load.delay.count as f64;
            assert!((0.07..0.12).contains(&(again / arrived)), "{again}");
            let loss = load.loss_ratio.expect("it is UDP");
            assert!((0.01..0.1).contains(&loss), "{loss}");
            assert!(result.flows[2].1.goodput.as_bps() > 100_000, "TCP goes on");
        },
    );
}

#[test]
fn an_ecn_flow_is_marked_by_codel_and_loses_little() {
    if !available() {
        return;
    }
    let ecn = Transport::Tcp(Config {
        ecn: Ecn::Classic,
        ..Config::default()
    });
    let mut cell = cell(3000, vec![flow("bulk", ecn, Bulk)]);
    cell.network.interfaces[0].qdisc = "codel ecn".parse().unwrap();
    measured(
        || run(&cell),
        |result| {
            let link = &result.links[0].1;
            assert!(link.marked_packets > 0, "{link:?}");
            assert_eq!(link.dropped_packets, 0, "CoDel marks what can be marked");
            assert!(only(result).goodput.as_bps() > 6_000_000);
        },
    );
}

#[test]
fn flows_with_hosts_of_their_own_start_and_stop_when_told() {
    if !available() {
        return;
    }
    let small_window = Transport::Tcp(Config {
        initial_window: 3,
        ..Config::default()
    });
    let mut early = flow("early", small_window, Bulk);
    early.stop = Some(Time::ZERO + Span::from_millis(700));
    let mut late = flow("late", small_window, Bulk);
    (late.from, late.to) = (1, 0);
    late.start = Time::ZERO + Span::from_millis(1500);
    let mut cell = cell(2500, vec![early, late]);
    cell.warmup = Span::ZERO;
    cell.network.access = Some(Rate::from_bps(1_000_000_000));
    cell.flows[1].hosts = [1; 2];
    measured(
        || run(&cell),
        |result| {
            let goodput = |index: usize, from: f64, to: f64| -> f64 {
                let series = &result.flows[index].1.series[0];
                assert_eq!(series.metric, "goodput");
                let inside = series.points.iter().filter(|p| p.t > from && p.t <= to);
                inside.map(|p| p.value).sum()
            };
            assert!(goodput(0, 0.0, 1.0) > 0.0);
            // What was written is still delivered: at most a send buffer, here far below 1 s of
            // link.
            assert!(goodput(0, 2.2, 2.5) < 1.0 && goodput(1, 0.0, 1.5) < 1.0);
            assert!(goodput(1, 1.5, 2.5) > 0.0);
            let window = &result.flows[1].1.series[2];
            let first = window.points.iter().find(|p| p.value.is_finite()).unwrap();
            assert!(first.value >= 3.0, "{first:?}");
        },
    );
}

#[test]
fn hosts_of_one_side_have_addresses_and_flows_their_dscp() {
    if !available() {
        return;
    }
    // 4.1 Mbit/s each, and 6 to share: half for the host with one flow, half for the other's two.
    let flood = Cbr {
        size: 1000,
        interval: Span::from_millis(2),
        gaps: Gaps::Even,
    };
    let one = |name: &str, host| Flow {
        hosts: [host, 0],
        ..flow(name, Transport::Udp, flood)
    };
    let ping = Ping {
        size: 64,
        interval: Span::from_millis(20),
    };
    let voice = Flow {
        dscp: 46,
        ..flow("voice", Transport::Udp, ping)
    };
    let flows = vec![one("a1", 0), one("a2", 0), one("b", 1), voice];
    let mut cell = cell(3000, flows);
    let cake = "cake bandwidth 6mbit diffserv3 dual-srchost";
    cell.network.interfaces[0].qdisc = cake.parse().unwrap();
    cell.network.interfaces[1].qdisc = cake.parse().unwrap();
    measured(
        || run(&cell),
        |result| {
            let share = |flow: usize| result.flows[flow].1.goodput.as_bps() as f64;
            let (a, b) = (share(0) + share(1), share(2));
            assert!((0.9..1.1).contains(&(b / a)), "{a} {b}");
            assert!((0.8..1.25).contains(&(share(0) / share(1))));
            // Request and echo both went through the tin for voice, tc's third.
            for (name, link) in &result.links {
                let tins = link
                    .qdisc
                    .stats
                    .iter()
                    .find_map(|field| match &field.value {
                        Value::Groups(tins) if field.name == "tins" => Some(tins),
                        _ => None,
                    });
                let packets = |tin: usize| {
                    let tin = tins.and_then(|tins| tins.get(tin)).expect("three tins");
                    let sent = tin.iter().find(|field| field.name == "sent_packets");
                    sent.map(|field| field.value.clone())
                };
                let Some(Value::Int(voice)) = packets(2) else {
                    panic!("{name}: no count of packets");
                };
                assert!((100..=151).contains(&voice), "{name}: {voice}");
            }
        },
    );
}

#[test]
fn several_runs_at_once_do_not_meet() {
    if !available() {
        return;
    }
    let all = || {
        let ping = Ping {
            size: 64,
            interval: Span::from_millis(20),
        };
        let one = || run(&cell(900, vec![flow("ping", Transport::Udp, ping)]));
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
            let results = runs.into_iter().map(|run| run.join().unwrap());
            results.collect::<Vec<_>>()
        })
    };
    measured(all, |results| {
        for result in results {
            let ping = only(result);
            assert!(
                ping.loss_ratio == Some(0.0) && ping.rtt.count <= 31,
                "{ping:?}"
            );
        }
    });
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let refused = |cell: &Cell| {
        Live.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string()
    };
    let mut graph = cell(1000, Vec::new());
    graph.network = Network::new(["a", "b", "c"]);
    assert!(refused(&graph).contains("no link"));
    let routing = Routing::Static { hop: None };
    let radio = Radio::new(Profile::NS2_B, vec![Place::default(); 3], routing);
    graph.network.share(radio, vec![Spec::pfifo(1); 3]);
    assert!(refused(&graph).contains("radios are simulated"));
    let mut bare = cell(1000, Vec::new());
    bare.link_header = 0;
    assert!(refused(&bare).contains("link_header"));
    let interval = Span::from_millis(20);
    let small = flow("small", Transport::Udp, Ping { size: 19, interval });
    let reason = refused(&cell(1000, vec![small]));
    assert!(
        reason.contains("\"small\"") && reason.contains("20 to 1472"),
        "{reason}"
    );
    let threshold = Transport::Tcp(Config {
        initial_ssthresh: Some(10_000),
        ..Config::default()
    });
    assert!(refused(&cell(1000, vec![flow("a", threshold, Bulk)])).contains("ssthresh"));
    // The list is the kernel's own, read here by other means.
    let compound = Transport::Tcp(Config {
        algorithm: Algorithm::Compound,
        ..Config::default()
    });
    let reason = refused(&cell(1000, vec![flow("windows", compound, Bulk)]));
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    assert!(
        reason.contains("\"windows\"") && reason.contains("compound"),
        "{reason}"
    );
    for name in known.expect("Linux has it").split_whitespace() {
        assert!(reason.contains(name), "{reason}");
    }
    let ecn = Transport::Tcp(Config {
        ecn: Ecn::Classic,
        ..Config::default()
    });
    let both = vec![flow("a", tcp(), Bulk), flow("b", ecn, Bulk)];
    assert!(refused(&cell(1000, both)).contains("ecn"));
}

#[test]
fn a_run_that_is_interrupted_says_so() {
    if !available() {
        return;
    }
    let cell = cell(60_000, vec![flow("bulk", tcp(), Bulk)]);
    let error = Live
        .run(&cell, Taps::default(), &mut |_| ControlFlow::Break(()))
        .unwrap_err();
    assert!(matches!(error, WorldError::Interrupted), "{error}");
}

/// A queue of a third of a second stands at the end: it arrives within `drain`, or is lost.
#[test]
fn what_is_under_way_at_the_end_gets_the_scenario_s_time() {
    if !available() {
        return;
    }
    let flood = Cbr {
        size: 1472,
        interval: Span::from_millis(1),
        gaps: Gaps::Even,
    };
    let mut cell = cell(1500, vec![flow("flood", Transport::Udp, flood)]);
    cell.warmup = Span::ZERO;
    cell.network.interfaces[0].qdisc = Spec::pfifo(2000);
    let lost = |drain| {
        let mut cell = cell.clone();
        cell.drain = drain;
        cell
    };
    let (patient, hasty) = (lost(Cell::DRAIN), lost(Span::ZERO));
    measured(
        || [run(&patient), run(&hasty)],
        |results| {
            let [patient, hasty] = [0, 1].map(|n| only(&results[n]).loss_ratio.unwrap());
            assert!(patient < 0.01, "{patient}");
            assert!((0.1..0.3).contains(&hasty), "{hasty}");
        },
    );
}
