//! Every congestion control and recovery on bad paths: losses of data and of ACKs, reordering,
//! buffers down to one packet. None gives up, none starves where there is room for both, none
//! delivers more than the link carries, and the accounts balance.

mod common;
use common::*;
use proptest::prelude::*;
use sojourn_apps::Bulk;
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn, RtoRule, SlowStart};
use sojourn_units::Time;
use sojourn_world::{Cell, Reorder};

const MBIT: [f64; 3] = [0.5, 3.0, 20.0];
const SECONDS: u64 = 60;

prop_compose! {
    /// Recoveries as a scenario can ask for them.
    fn configs()(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        recovery in 0..3_u8,
        timestamps in any::<bool>(),
        timed_segment in any::<bool>(),
        rfc_rto in any::<bool>(),
        plain in any::<bool>(),
        delayed in any::<bool>(),
        ecn in prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Accurate]),
    ) -> Config {
        Config {
            algorithm,
            sack: recovery > 0,
            rack: recovery > 1,
            timestamps,
            timed_segment,
            rto_rule: if rfc_rto { RtoRule::Rfc6298 } else { RtoRule::Linux },
            slow_start: if plain { SlowStart::Standard } else { SlowStart::HyStart },
            delayed_ack: if delayed { Config::default().delayed_ack } else { DelayedAck::Off },
            ecn,
            // The default of 120 s would outlast the run.
            max_rto: ms(4000),
            ..Config::default()
        }
    }
}

/// Two flows from `a` to `b` over a path that does what is asked of it.
fn cell(config: Config, rate: f64, queue: &str, loss: [f64; 2], jitter: u64, seed: u64) -> Cell {
    let flows = (0..2).map(|i| {
        let mut flow = tcp(&format!("bulk-{i}"), Bulk, ms(40), config);
        flow.start = Time::ZERO + ms(137 * i);
        flow
    });
    let mut up = hop("up", mbit(rate));
    up.qdisc = queue.parse().expect("a test's own spec");
    let down = hop("down", mbit(rate));
    let mut cell = dumbbell(up, down, ms(SECONDS * 1000), flows.collect());
    for (link, loss) in loss.into_iter().enumerate() {
        let line = cell.network.line_mut(link).expect("a wire");
        line.loss = loss.into();
        line.jitter = ms(jitter);
        line.reorder = if jitter > 0 {
            Reorder::Allowed
        } else {
            Reorder::Never
        };
    }
    cell.seed = seed;
    cell
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn bad_paths_slow_down_but_stop_nobody(
        config in configs(),
        rate in prop::sample::select(MBIT.to_vec()),
        queue in prop::sample::select(vec![
            "pfifo limit 1",
            "pfifo limit 2",
            "pfifo limit 30",
            "codel limit 100 ecn",
            "red limit 100p min 5p max 15p gentle wait spare probability 0.1 weight 0.002 ecn",
        ]),
        data_loss in prop::sample::select(vec![0.0, 0.01, 0.05, 0.1]),
        ack_loss in prop::sample::select(vec![0.0, 0.1, 0.5]),
        jitter in prop::sample::select(vec![0_u64, 5, 30]),
        seed in any::<u64>(),
    ) {
        let result = run(&cell(config, rate, queue, [data_loss, ack_loss], jitter, seed));
        let up = link(&result, "up");
        prop_assert!(up.dequeued_packets + up.dropped_packets <= up.offered_packets);
        let used = up.utilisation.expect("a fixed rate");
        prop_assert!(used <= 1.0 + 1e-9, "{used}");
        // One flow may keep the other from all but a few segments a minute in a buffer of a packet
        // or two, where every other ACK is lost, and where BBR ignores marks, so that CoDel drops
        // whatever cannot be marked, all SYNs too. Else both must go on trying.
        let room = !["pfifo limit 1", "pfifo limit 2"].contains(&queue);
        let deaf = config.ecn != Ecn::Off && config.algorithm == Algorithm::Bbr && queue.ends_with("ecn");
        let calm = room && !deaf && data_loss < 0.1 && ack_loss < 0.5;
        let mut goodput = 0;
        for (name, flow) in &result.flows {
            let bps = flow.goodput.as_bps();
            // A segment in the longest timeout, 4 s, is 2.9 kbit/s: who has stalled is below that.
            prop_assert!(!calm || bps > 2_000, "{name} {bps}: {config:?}");
            let sent = flow.sent_packets;
            prop_assert!(deaf || sent >= SECONDS / 5, "{name} {sent}: {config:?}");
            prop_assert!(flow.retransmitted_packets <= flow.sent_packets);
            goodput += bps;
        }
        prop_assert!(goodput > 4_000 && (goodput as f64) < rate * 1e6, "{goodput}");
    }
}
