//! CAKE's host isolation with other hosts and flows than the study `cake` has; that study holds
//! CAKE to what Linux does.

mod common;
use common::*;
use sojourn_qdisc::Value;
use sojourn_units::Time;
use sojourn_world::{Change, Flow, Label, LinkResult};

fn cake_hop(name: &str, rate: f64, qdisc: &str) -> Hop {
    Hop {
        qdisc: qdisc.parse().expect("a test's own spec"),
        ..hop(name, mbit(rate))
    }
}

/// Shares of hosts with so many floods each of 8 Mbit/s, under a mode of isolation by source.
fn by_source(mode: &str, flows_of: &[u32], nat: bool) -> Vec<f64> {
    let qdisc = format!("cake bandwidth 10mbit besteffort {mode}");
    shares(1000.0, &qdisc, flows_of, nat)
}

/// The same under any queue before a link of a rate in Mbit/s.
fn shares(rate: f64, qdisc: &str, flows_of: &[u32], nat: bool) -> Vec<f64> {
    let mut flows = Vec::new();
    for (host, &count) in (0_u32..).zip(flows_of) {
        for number in 0..count {
            // Each to a destination of its own, so that only the sources count.
            flows.push(Flow {
                hosts: [host, flows.len() as u32],
                ..cbr(&format!("{host}-{number}"), 1000, ms(1), ms(0))
            });
        }
    }
    let (up, down) = (cake_hop("up", rate, qdisc), hop("down", mbit(1000.0)));
    let mut cell = dumbbell(up, down, ms(8000), flows);
    cell.warmup = ms(2000);
    cell.network.nodes[0].nat = nat;
    let result = run(&cell);
    let rates = result.flows.iter().map(|(name, flow)| {
        let host: usize = name
            .split('-')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number");
        (host, flow.goodput.as_bps() as f64)
    });
    let mut shares = vec![0.0; flows_of.len()];
    for (host, rate) in rates {
        shares[host] += rate;
    }
    let all: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / all).collect()
}

#[test]
fn other_matrices_of_hosts_and_flows_share_by_host() {
    for flows_of in [&[1, 2, 5][..], &[3, 3, 1, 9], &[1, 20], &[4; 6]] {
        let fair = 1.0 / flows_of.len() as f64;
        for mode in ["srchost", "dual-srchost", "triple-isolate"] {
            for share in by_source(mode, flows_of, false) {
                assert!(
                    near(share, fair, 0.06),
                    "{mode} {flows_of:?}: {share} not {fair}"
                );
            }
        }
        // Without host isolation a host has what its flows have.
        let all: u32 = flows_of.iter().sum();
        for (share, &count) in by_source("flows", flows_of, false).iter().zip(flows_of) {
            let wanted = f64::from(count) / f64::from(all);
            assert!(
                near(*share, wanted, 0.06),
                "flows {flows_of:?}: {share} not {wanted}"
            );
        }
    }
}

/// Without drops, of which unresponsive floods get unlike shares.
#[test]
fn hundreds_of_hosts_share_equally() {
    let queue =
        "fq_codel limit 2000000 memory_limit 4gb target 100s interval 1000s set-associative";
    for hosts in [130, 300] {
        let mut flows_of = vec![1; hosts];
        (flows_of[0], flows_of[hosts - 1]) = (3, 2);
        let fair = 1.0 / hosts as f64;
        for (mode, nat) in [("dual-srchost", false), ("triple-isolate nat", true)] {
            let shares = shares(
                6.0 * hosts as f64,
                &format!("{queue} {mode}"),
                &flows_of,
                nat,
            );
            for (host, share) in shares.into_iter().enumerate() {
                assert!(
                    near(share, fair, 0.02),
                    "{mode} {hosts}: host {host} has {share}, not {fair}"
                );
            }
        }
    }
}

#[test]
fn hosts_behind_a_translation_are_told_apart_by_nat_only() {
    for mode in ["srchost", "dual-srchost", "triple-isolate"] {
        for (nat, wanted) in [("nat", [0.5, 0.5]), ("nonat", [0.25, 0.75])] {
            let shares = by_source(&format!("{mode} {nat}"), &[1, 3], true);
            // Outside all flows come from one host, so that each has a fourth.
            for (share, wanted) in shares.into_iter().zip(wanted) {
                assert!(
                    near(share, wanted, 0.06),
                    "{mode} {nat}: {share} not {wanted}"
                );
            }
        }
    }
}

/// Packets that the tins of a link have taken in, in tc's order.
fn tins(link: &LinkResult) -> Vec<i64> {
    let mut stats = link.qdisc.stats.iter();
    let Some(Value::Groups(tins)) = stats.find(|f| f.name == "tins").map(|f| &f.value) else {
        panic!("no tins")
    };
    let sent = tins.iter().map(|tin| {
        let sent = tin.iter().find(|field| field.name == "sent_packets");
        match sent.map(|field| &field.value) {
            Some(&Value::Int(packets)) => packets,
            other => panic!("{other:?}"),
        }
    });
    sent.collect()
}

#[test]
fn marks_and_classes_choose_tins_both_ways_and_outlive_the_queue() {
    let probe = |name: &str, dscp, mark, class| Flow {
        dscp,
        label: Label { mark, class },
        ..ping(name, ms(10), ms(4))
    };
    let flows = vec![
        probe("plain", 0, 0, 0),
        // Below the mask is 1, the first tin that tc shows: Bulk.
        probe("marked", 46, 0x1f, 3),
        // Beyond the tins: the class counts, Voice.
        probe("wild", 0, 0xf0, 3),
        probe("class", 46, 0, 2),
    ];
    let cake = "cake bandwidth 10mbit diffserv3 fwmark 0xf0";
    let (up, down) = (cake_hop("up", 100.0, cake), cake_hop("down", 100.0, cake));
    let mut cell = dumbbell(up, down, ms(1000), flows);
    let result = run(&cell);
    for name in ["up", "down"] {
        // Bulk; best effort for what is plain and who asks for the second; voice.
        let seen = tins(link(&result, name));
        assert_eq!((seen[0], seen[1], seen[2]), (100, 200, 100), "{name}");
    }
    // The queue is replaced twice; its successor is told the same.
    let change = |at, qdisc: &str| Change {
        at: Time::ZERO + ms(at),
        qdisc: Some(qdisc.parse().expect("a test's own spec")),
        ..Change::default()
    };
    cell.changes = vec![change(300, "fq_codel"), change(502, cake)];
    let result = run(&cell);
    let seen = tins(link(&result, "up"));
    assert!(
        (48..=50).contains(&seen[0]) && seen[1] == 2 * seen[0] && seen[2] == seen[0],
        "{seen:?}"
    );
    for (name, flow) in &result.flows {
        assert_eq!(flow.loss_ratio, Some(0.0), "{name}");
    }
}
