//! What a bridge with two workers does beside one with one: how much it carries, and how exactly
//! the two share a rate.
//!
//! ```sh
//! cargo bench -p sojourn-live --bench workers        # as root, about 70 s
//! ```
//!
//! Sixteen flows through `client ═ bridge ═ server` in three network namespaces of this process.
//! Sender and receiver take processors too: on a machine with two, a second worker has none of its
//! own. Rounds are interleaved, medians are printed.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::flood::{flood, jain};
use common::{Link, plain};
use rustix::time::{ClockId, clock_gettime};
use sojourn_bridge::BridgeConfig;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
const FLOWS: u16 = 16;
/// How long TCP sends.
const LENGTH: Duration = Duration::from_secs(2);

fn bridge(workers: u32, qdisc: &str) -> BridgeConfig {
    let mut config = plain();
    config.workers = workers;
    config.up.qdisc = qdisc.parse().expect("a qdisc");
    config.down.qdisc = config.up.qdisc.clone();
    config
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Sixteen bulk connections upwards: Gbit/s of payload, and processor time of this process in ns
/// for 1514 bytes.
fn bulk(link: &Link) -> (f64, f64) {
    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000"))
        .expect("a socket");
    let connect = |_| {
        let stream = link.client.run(|| TcpStream::connect("10.9.0.2:5000"));
        stream.expect("the way is open")
    };
    let bytes = AtomicU64::new(0);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    thread::scope(|scope| {
        for mut sender in (0..FLOWS).map(connect) {
            let (mut receiver, _) = listener.accept().expect("a connection");
            let bytes = &bytes;
            scope.spawn(move || {
                let mut buffer = vec![0; 1 << 18];
                while let Ok(more @ 1..) = receiver.read(&mut buffer) {
                    bytes.fetch_add(more as u64, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                let block = vec![0; 1 << 16];
                while start.elapsed() < LENGTH && sender.write_all(&block).is_ok() {}
            });
        }
    });
    let bits = bytes.load(Ordering::Relaxed) as f64 * 8.0;
    let frames = bits / 8.0 / 1448.0;
    let rate = bits / start.elapsed().as_secs_f64() / 1e9;
    (rate, (cpu_seconds() - cpu) / frames * 1e9)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // `cargo bench -- --test` and `cargo test --benches` only ask whether it starts.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>9}",
        "TCP", "Gbit/s", "to one", "ns/1514 B", "to one"
    );
    for qdisc in ["pfifo", "cake unlimited", "cake bandwidth 10gbit"] {
        let mut rounds = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (workers, rounds) in (1..).zip(&mut rounds) {
                let link = Link::new();
                rounds.push(link.bridged(bridge(workers, qdisc), || bulk(&link)).0);
            }
        }
        let figure = |workers: usize, of: fn(&(f64, f64)) -> f64| {
            median(rounds[workers].iter().map(of).collect())
        };
        let one = (figure(0, |it| it.0), figure(0, |it| it.1));
        for workers in 0..2 {
            let (rate, cpu) = (figure(workers, |it| it.0), figure(workers, |it| it.1));
            let name = format!("{qdisc}, workers {}", workers + 1);
            let ratios = (rate / one.0, cpu / one.1);
            println!(
                "{name:34} {rate:9.2} {:9.2} {cpu:9.0} {:9.2}",
                ratios.0, ratios.1
            );
        }
    }
    println!("\n{:34} {:>9} {:>9}", "datagrams", "to rate", "Jain");
    for mbit in [20, 50, 100] {
        for (workers, flows) in [(1, FLOWS), (2, 1), (2, FLOWS)] {
            let rate = mbit * 1_000_000;
            let config = bridge(workers, &format!("cake bandwidth {mbit}mbit besteffort"));
            let link = Link::new();
            let length = Duration::from_secs(4);
            let ((came, carried), _) = link.bridged(config, || flood(&link, flows, rate, length));
            let name = format!("{mbit}mbit, workers {workers}, flows {flows}");
            println!(
                "{name:34} {:9.4} {:9.4}",
                carried / rate as f64,
                jain(&came)
            );
        }
    }
}
