//! Short cells on real packets. They need root; without it they are passed over, except in CI
//! (`CI=true`), where a machine that cannot run them fails them.

mod common;

use common::cells::{cell, flow, none_below, only, run, tcp};
use common::{available, measured};
use sojourn_apps::{Bulk, Cbr, File, Gaps, Metric, Ping, Realtime};
use sojourn_live::Live;
use sojourn_qdisc::{Spec, Value};
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn};
use sojourn_units::{Ecn as Codepoint, Rate, Span, Time};
use sojourn_world::{
    Amount, Cell, Change, Flow, FlowResult, LineChange, LineRate, LinkResult, Network, Place,
    Profile, Radio, Routing, RunResult, Taps, Transport, World, WorldError,
};
use std::ops::ControlFlow;

#[test]
fn a_bulk_flow_fills_the_link_and_no_more() {
    if !available() {
        return;
    }
    measured(
        || {
            let result = run(&cell(3000, vec![flow("bulk", tcp(), Bulk)]));
            assert_eq!((result.world.as_str(), result.digest), ("live", 0));
            let names = result.links.iter().map(|(name, _)| name.as_str());
            assert_eq!(names.collect::<Vec<_>>(), ["up", "down"]);
            let flow = only(&result);
            assert!(flow.loss_ratio.is_none(), "a connection loses nothing");
            none_below(&flow.rtt, 20.0);
            assert!(result.cost.cpu_s > 0.0);
            result
        },
        |result| {
            let flow = only(result);
            // At most 1448 of 1514 bytes are payload.
            let mbit = flow.goodput.as_bps() as f64 / 1e6;
            assert!((7.0..9.7).contains(&mbit), "{mbit} Mbit/s");
            assert!(flow.sent_packets > 500, "{}", flow.sent_packets);
            let link = &result.links[0].1;
            assert!(link.utilisation.is_some_and(|u| (0.7..1.01).contains(&u)));
            assert!(link.backlog_packets_mean > 1.0);
            assert!(result.cost.events > 1000, "{}", result.cost.events);
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
        || {
            let result = run(&cell);
            let (ping, back) = (&result.flows[0].1, &result.flows[1].1);
            // `None` where a machine stood still for the whole second that counts.
            for flow in [ping, back] {
                assert!(flow.loss_ratio.is_none_or(|lost| lost <= 0.0), "{flow:?}");
            }
            none_below(&ping.rtt, 20.0);
            none_below(&ping.spp_rtt, 20.0);
            none_below(&back.delay, 10.0);
            assert_eq!(back.spp_rtt.count, 0, "nothing comes back");
            result
        },
        |result| {
            let (ping, back) = (&result.flows[0].1, &result.flows[1].1);
            // 100 in the second that counts; a busy machine may make a few late.
            assert!((50..=101).contains(&ping.rtt.count), "{}", ping.rtt.count);
            assert!(ping.induced_rtt.p50 < 10.0, "{:?}", ping.rtt);
            assert!(back.delay.p50 < 20.0, "{:?}", back.delay);
            // From port to port of the bridge: what the hosts take is not in it.
            let pairs = &ping.spp_rtt;
            assert!((50..=101).contains(&pairs.count), "{}", pairs.count);
            assert!(pairs.p50 < 30.0, "{pairs:?}");
            assert!(pairs.p50 <= ping.rtt.p50, "{pairs:?} {:?}", ping.rtt);
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

/// A call with ECT(1) goes through the L queue. Marks are made there alone, and lower its rate: it
/// may send 20 Mbit/s, on a link of 10.
#[test]
fn a_call_in_real_time_follows_marks() {
    if !available() {
        return;
    }
    let call = Flow {
        ecn: Codepoint::Ect1,
        ..flow("call", Transport::Udp, Realtime::default())
    };
    let mut cell = cell(3000, vec![call]);
    cell.warmup = Span::ZERO;
    cell.network.interfaces[0].qdisc = "dualpi2".parse::<Spec>().unwrap();
    let spread = |flow: &FlowResult, metric| {
        let mut measured = flow.measured.iter();
        let found = measured.find(|measured| measured.metric == metric);
        match found.map(|measured| measured.amount.clone()) {
            Some(Amount::Spread(spread)) => spread,
            other => panic!("{metric:?}: {other:?}"),
        }
    };
    measured(
        || {
            let result = run(&cell);
            let (call, link) = (only(&result), &result.links[0].1);
            let rate = spread(call, Metric::EncoderKbps);
            assert!(rate.min >= 300.0 && rate.max <= 20_000.0, "{rate:?}");
            none_below(&spread(call, Metric::FrameMs), 10.0);
            assert!(call.goodput.as_bps() <= 10_000_000, "{call:?}");
            let count = |figure: Option<f64>| figure.expect("its queue is a pair") as u64;
            let marked = count(link.l_marked_packets);
            assert!(marked <= count(link.l_dequeued_packets));
            assert_eq!(count(link.c_marked_packets), 0);
            let came = call.ce_ratio.unwrap_or(0.0);
            assert!((0.0..=1.0).contains(&came), "{came}");
            assert!(
                marked > 0 || came <= 0.0,
                "{came} of packets that nobody marked"
            );
            result
        },
        |result| {
            let (call, link) = (only(result), &result.links[0].1);
            assert!(link.l_marked_packets > Some(0.0), "{link:?}");
            assert!(call.ce_ratio > Some(0.0), "{call:?}");
            // It has begun with the lowest rate, and stands below the link's.
            let rate = spread(call, Metric::EncoderKbps);
            assert!((1000.0..12_000.0).contains(&rate.p50), "{rate:?}");
        },
    );
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
        || {
            let result = run(&cell);
            let file = only(&result);
            if let Some(done) = file.completed {
                // 0.16 s at 10 Mbit/s, and all of its bytes in two seconds.
                assert!(done > Span::from_millis(160), "{done:?}");
                assert_eq!(file.goodput.as_bps(), 800_000);
            }
            let small = &result.flows[1].1;
            // All its messages together are a tenth of what a socket holds.
            assert_eq!(small.blocked_messages, 0);
            // One more than 100 of them, as one is due at the end too.
            assert!(small.goodput.as_bps() <= 40_400, "{:?}", small.goodput);
            result
        },
        |result| {
            let done = only(result).completed;
            assert!(done.is_some(), "200 kB take 0.2 s at 10 Mbit/s");
            let small = result.flows[1].1.goodput;
            assert!(small.as_bps() >= 30_000, "{small:?}");
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
        || {
            let result = run(&cell);
            let files = only(&result);
            assert!(files.started <= 6, "never early: {}", files.started);
            assert!(files.completion.count <= files.started, "{files:?}");
            result
        },
        |result| {
            let files = only(result);
            assert!(
                files.started == 6 && files.completion.count >= 3,
                "{files:?}"
            );
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
        || {
            let result = run(&cell);
            assert_eq!(result.links[0].1.qdisc.kind, "fq_codel");
            result
        },
        |result| {
            let up = &result.links[0].1;
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
        || {
            let result = run(&cell);
            // What leaves before the change takes a third of this.
            none_below(&only(&result).delay, 10.0);
            result
        },
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
        || {
            let result = run(&cell);
            let (up, load) = (&result.links[0].1, only(&result));
            let copied = up.duplicated_packets.expect("the line copies");
            let lost = up.lost_packets.expect("the line loses");
            assert!(lost <= up.dequeued_packets as f64, "{lost}");
            let again = load.duplicates.expect("copies are counted");
            assert!(
                again <= copied,
                "the load's are some of all: {again} of {copied}"
            );
            assert!(load.loss_ratio.is_some(), "it is UDP");
            (result, copied, lost, again)
        },
        |(result, copied, lost, again)| {
            let (up, load) = (&result.links[0].1, only(result));
            let share = |count: f64| count / up.dequeued_packets as f64;
            assert!((0.08..0.12).contains(&share(*copied)), "{copied}");
            // Bursts of five, some sixty of them: of a twentieth.
            assert!((0.02..0.09).contains(&share(*lost)), "{lost}");
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
        || {
            let result = run(&cell);
            // It marks what can be marked. Retransmissions cannot (RFC 3168, section 6.1.5): where
            // a machine that stands still makes the sender time out, CoDel may drop one.
            let (dropped, flow) = (result.links[0].1.dropped_packets, only(&result));
            assert!(dropped <= flow.retransmitted_packets, "{dropped}: {flow:?}");
            result
        },
        |result| {
            let link = &result.links[0].1;
            assert!(link.marked_packets > 0, "{link:?}");
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
    let goodput = |result: &RunResult, index: usize, from: f64, to: f64| -> f64 {
        let points = result.flows[index].1.series[0].points.iter();
        let inside = points.filter(|p| p.t > from && p.t <= to);
        inside.map(|p| p.value).sum()
    };
    measured(
        || {
            let result = run(&cell);
            for (_, flow) in &result.flows {
                assert_eq!(flow.series[0].metric, "goodput");
            }
            assert!(goodput(&result, 1, 0.0, 1.5) < 1.0, "never early");
            let mut window = result.flows[1].1.series[2].points.iter();
            if let Some(first) = window.find(|p| p.value.is_finite()) {
                assert!(first.value >= 3.0, "{first:?}");
            }
            result
        },
        |result| {
            assert!(goodput(result, 0, 0.0, 1.0) > 0.0);
            // What was written is still delivered: at most a send buffer, here far below 1 s of
            // link.
            assert!(goodput(result, 0, 2.2, 2.5) < 1.0);
            assert!(goodput(result, 1, 1.5, 2.5) > 0.0);
        },
    );
}

/// Packets that went through the tin for voice, tc's third.
fn through_voice(link: &LinkResult) -> i64 {
    let tins = link.qdisc.stats.iter().find(|field| field.name == "tins");
    let Some(Value::Groups(tins)) = tins.map(|field| &field.value) else {
        panic!("it has tins: {:?}", link.qdisc);
    };
    let sent = tins[2].iter().find(|field| field.name == "sent_packets");
    match sent.map(|field| &field.value) {
        Some(&Value::Int(packets)) => packets,
        other => panic!("a tin counts its packets: {other:?}"),
    }
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
        || {
            let result = run(&cell);
            let voice = [0, 1].map(|link| through_voice(&result.links[link].1));
            // One is due at the end too.
            assert!(voice.iter().all(|&packets| packets <= 151), "{voice:?}");
            assert!(voice[1] <= voice[0], "an echo has a request: {voice:?}");
            (result, voice)
        },
        |(result, voice)| {
            let share = |flow: usize| result.flows[flow].1.goodput.as_bps() as f64;
            let (a, b) = (share(0) + share(1), share(2));
            assert!((0.9..1.1).contains(&(b / a)), "{a} {b}");
            assert!((0.8..1.25).contains(&(share(0) / share(1))));
            assert!(voice.iter().all(|&packets| packets >= 100), "{voice:?}");
        },
    );
}

#[test]
fn several_runs_at_once_do_not_meet() {
    if !available() {
        return;
    }
    let ping = Ping {
        size: 64,
        interval: Span::from_millis(20),
    };
    let mut cell = cell(900, vec![flow("ping", Transport::Udp, ping)]);
    cell.warmup = Span::ZERO;
    let results = std::thread::scope(|scope| {
        let runs = [(); 3].map(|()| scope.spawn(|| run(&cell)));
        runs.map(|run| run.join().unwrap())
    });
    for result in &results {
        let ping = only(result);
        assert_eq!(ping.loss_ratio, Some(0.0), "{ping:?}");
        // One is due at the end too.
        assert!(ping.rtt.count <= 46, "{ping:?}");
        none_below(&ping.rtt, 20.0);
    }
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
            let [patient, hasty] = [0, 1].map(|n| only(&results[n]).loss_ratio.expect("it is UDP"));
            assert!(patient < 0.01, "{patient}");
            assert!((0.1..0.3).contains(&hasty), "{hasty}");
        },
    );
}
