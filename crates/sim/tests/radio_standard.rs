//! 802.11b by the standard's rules against ns-3.37 on the same chains: ConstantRateWifiManager at
//! 11 Mbit/s, ACKs at 11 Mbit/s, long preambles, static routes, 25 m from one to the next, frames
//! received over 30 m and sensed over 66 m, queues of 50 packets.

mod common;

use common::radio::{network, row, steps};
use common::run;
use sojourn_units::{Rate, Span};
use sojourn_world::{Cell, Profile, Routing};

/// Saturated with 1000 bytes of payload; what has come in from 10 to 30 s.
fn goodput(hops: usize, seed: u64) -> f64 {
    let profile = Profile {
        basic_rate: Rate::from_bps(11_000_000),
        answer_rate: Rate::from_bps(11_000_000),
        ..Profile::STANDARD_B
    };
    let routing = Routing::Static { hop: None };
    let network = network(profile, row(hops, 25.0), routing, "pfifo limit 50");
    let offered = if hops == 1 { 8.0 } else { 3.0 };
    let flow = steps("f", [0, hops], (1000, offered), (Span::ZERO, None));
    let mut cell = Cell::new("chain", network, vec![flow], Span::from_secs(30));
    cell.warmup = Span::from_secs(10);
    cell.seed = seed;
    run(&cell).flows[0].1.goodput.as_bps() as f64 / 1e6
}

/// Mbit/s: static routes where ns-3's were run with them (2, 3, 6 and 15 hops), else with AODV.
#[test]
fn chains_carry_what_ns3_s_carry() {
    let table = [
        (1, 5.18),
        (2, 2.78),
        (3, 1.70),
        (5, 1.27),
        (6, 1.13),
        (10, 1.09),
        (15, 1.08),
    ];
    let mut worst = 0.0_f64;
    for (hops, wanted) in table {
        let mut got = [1, 2, 3].map(|seed| goodput(hops, seed));
        got.sort_by(f64::total_cmp);
        println!("{hops} hops: {got:.3?} for {wanted} Mbit/s");
        let off: f64 = got[1] / wanted - 1.0;
        worst = worst.max(off.abs());
    }
    assert!(worst < 0.05, "{worst}");
}
