//! CAKE's host isolation with other hosts and flows than the study `cake` has; that study holds
//! CAKE to what Linux does.

mod common;
use common::*;
use sojourn_world::{Flow, Hop};

fn cake_hop(name: &str, rate: f64, qdisc: &str) -> Hop {
    Hop {
        qdisc: qdisc.parse().expect("a test's own spec"),
        ..hop(name, mbit(rate))
    }
}

/// Shares of hosts with so many floods each of 8 Mbit/s, under a mode of isolation by source.
fn by_source(mode: &str, flows_of: &[u16]) -> Vec<f64> {
    let mut flows = Vec::new();
    for (host, &count) in (0_u16..).zip(flows_of) {
        for number in 0..count {
            // Each to a destination of its own, so that only the sources count.
            flows.push(Flow {
                hosts: [host, flows.len() as u16],
                ..cbr(&format!("{host}-{number}"), 1000, ms(1), ms(0))
            });
        }
    }
    let qdisc = format!("cake bandwidth 10mbit besteffort {mode}");
    let (up, down) = (cake_hop("up", 1000.0, &qdisc), hop("down", mbit(1000.0)));
    let mut cell = dumbbell(up, down, ms(8000), flows);
    cell.warmup = ms(2000);
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
            for share in by_source(mode, flows_of) {
                assert!(
                    near(share, fair, 0.06),
                    "{mode} {flows_of:?}: {share} not {fair}"
                );
            }
        }
        // Without host isolation a host has what its flows have.
        let all: u16 = flows_of.iter().sum();
        for (share, &count) in by_source("flows", flows_of).iter().zip(flows_of) {
            let wanted = f64::from(count) / f64::from(all);
            assert!(
                near(*share, wanted, 0.06),
                "flows {flows_of:?}: {share} not {wanted}"
            );
        }
    }
}
