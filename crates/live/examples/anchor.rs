//! Runs a cell of the kernel anchors (R1 or R5) live and prints its figures.
//!
//! `cargo run --release -p sojourn-live --example anchor -- R5 "pfifo limit 490" [SECONDS]`

use sojourn_apps::Spec as App;
use sojourn_live::Live;
use sojourn_qdisc::Spec as Qdisc;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Dumbbell, Flow, Hop, HopRate, Taps, Topology, Transport, World};
use std::ops::ControlFlow;

fn hop(name: &str, mbit: f64, qdisc: &Qdisc) -> Hop {
    let rate = HopRate::Fixed(Rate::from_bps_f64(mbit * 1e6));
    Hop::new(name, rate, qdisc.clone())
}

fn flow(name: &str, up: bool, rtt: u64, transport: Transport, app: App) -> Flow {
    Flow {
        from: usize::from(!up),
        to: usize::from(up),
        base_rtt: Span::from_millis(rtt),
        ..Flow::new(name, transport, app)
    }
}

fn cell(which: &str, qdisc: &Qdisc, seconds: u64) -> Cell {
    let cubic = Transport::Tcp(Config::default());
    let ms = Span::from_millis;
    let (up, down, flows) = if which == "R1" {
        let mut flows = vec![flow(
            "probe",
            true,
            50,
            Transport::Udp,
            App::Ping {
                size: 64,
                interval: ms(20),
            },
        )];
        for i in 0..4 {
            let mut one = flow(&format!("up{i}"), true, 50, cubic, App::Bulk);
            one.start = Time::ZERO + ms(100 * i);
            flows.push(one);
            let mut one = flow(&format!("down{i}"), false, 50, cubic, App::Bulk);
            one.start = Time::ZERO + ms(100 * i + 50);
            flows.push(one);
        }
        (10.0, 10.0, flows)
    } else {
        let call = App::Cbr {
            size: 700,
            interval: ms(20),
        };
        let mut flows = vec![
            flow(
                "probe",
                true,
                40,
                Transport::Udp,
                App::Ping {
                    size: 64,
                    interval: ms(100),
                },
            ),
            flow("up", true, 40, cubic, App::Bulk),
            flow("down", false, 40, cubic, App::Bulk),
            flow("call-up", true, 40, Transport::Udp, call.clone()),
            flow("call-down", false, 40, Transport::Udp, call),
            flow(
                "small",
                true,
                40,
                cubic,
                App::Cbr {
                    size: 100,
                    interval: ms(8),
                },
            ),
        ];
        flows[1].start += ms(250);
        flows[2].start += ms(300);
        flows[5].start += ms(1000);
        (1.0, 12.0, flows)
    };
    let links = Dumbbell::new(hop("up", up, qdisc), hop("down", down, qdisc));
    Cell {
        warmup: Span::from_secs(seconds.min(60) / 6),
        ..Cell::new(
            which,
            Topology::Dumbbell(links),
            flows,
            Span::from_secs(seconds),
        )
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let which = args.next().unwrap_or_else(|| "R5".into());
    let qdisc = args.next().unwrap_or_else(|| "pfifo limit 490".into());
    let seconds = args.next().map_or(60, |s| s.parse().expect("seconds"));
    let spec: Qdisc = qdisc.parse().expect("a qdisc");
    let cell = cell(&which, &spec, seconds);
    let run = Live.run(&cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    let result = match run {
        Ok(result) => result,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    println!("{which} {qdisc}");
    for (name, link) in &result.links {
        println!(
            "  {name:10} util {:.4} sent {} dropped {} sojourn p50 {:.2} p95 {:.2} backlog {:.1}",
            link.utilisation.unwrap_or(0.0),
            link.dequeued_packets,
            link.dropped_packets,
            link.sojourn.p50,
            link.sojourn.p95,
            link.backlog_packets_mean
        );
    }
    for (name, flow) in &result.flows {
        let (d, r) = (&flow.delay, &flow.induced_rtt);
        println!(
            "  {name:10} {:9.1} kbit/s  sent {} retx {}  induced mean {:.1} p50 {:.1} p95 {:.1}  \
             one-way p50 {:.1} p95 {:.1}  loss {:?} blocked {}",
            flow.goodput.as_bps() as f64 / 1e3,
            flow.sent_packets,
            flow.retransmitted_packets,
            r.mean,
            r.p50,
            r.p95,
            d.p50,
            d.p95,
            flow.loss_ratio,
            flow.blocked_messages
        );
    }
    println!("  {:?} {:?}", result.aggregate, result.cost);
}
