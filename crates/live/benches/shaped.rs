//! What a bridge that shapes costs, at the rates of homes, beside the kernel's shapers.
//!
//! ```sh
//! cargo bench -p sojourn-live --bench shaped             # as root, about 3 min
//! cargo bench -p sojourn-live --bench shaped -- 100 cake # of rates and shapers those
//! ```
//!
//! `--rounds N` has so many rounds (3), `--whole` lets senders hand over super-packets; otherwise
//! frames come one by one, as through an interface without GRO.
//!
//! `client ═ bridge ═ server` in three network namespaces of this process. Four bulk connections
//! fill the way up, and an echo of 64 bytes goes every 10 ms. `core` is the run time of the bridge's
//! forwarding thread (`/proc/PID/task/TID/schedstat`) as a share of the time that passed, in which
//! is also what its frames cause at the other end of a veth device. `us/1514` is the same for each
//! full segment, `switches` how often the thread went to sleep in a second. The kernel's shapers
//! have no thread: `taken` is what everything took from threads that count on each processor,
//! senders, receivers and interrupts included, as a share of one core, from a second run. It and
//! the round trips (`p50`, `p99`, in ms) tell something where nothing else runs. Rounds are
//! interleaved, medians are printed.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Link, Net, StopOnDrop, plain, taken, undisturbed};
use rustix::thread::gettid;
use sojourn_bridge::{Bridge, BridgeConfig, NoObserver};
use sojourn_units::Rate;
use sojourn_world::LineRate;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long each load lasts, after the time that connections have to find the rate.
const LENGTH: Duration = Duration::from_secs(4);
const START: Duration = Duration::from_secs(1);
const CONNECTIONS: usize = 4;
const ECHO: Duration = Duration::from_millis(10);
/// Mbit/s.
const RATES: [u64; 4] = [20, 100, 500, 1000];

/// What shapes.
#[derive(Clone, Copy, PartialEq)]
enum Shaper {
    /// Ours: a queue behind a link of the rate, or one that has it itself.
    Ours(&'static str),
    /// The same as a test bed has it: each frame leaves alone, at its own time.
    Alone(&'static str),
    /// The kernel's, above a pfifo at the interfaces of its own bridge.
    Kernel(&'static str),
}

const SHAPERS: [(&str, Shaper); 6] = [
    ("cake", Shaper::Ours("cake bandwidth RATE")),
    ("cake, each alone", Shaper::Alone("cake bandwidth RATE")),
    ("fq_codel at the rate", Shaper::Ours("fq_codel")),
    (
        "htb over fq_codel",
        Shaper::Ours("htb rate RATE over fq_codel"),
    ),
    ("kernel tbf", Shaper::Kernel("tbf")),
    ("kernel htb", Shaper::Kernel("htb")),
];

/// What one load came to.
#[derive(Clone, Copy, Default)]
struct Figures {
    mbit: f64,
    core: f64,
    per_segment: f64,
    switches: f64,
    taken: f64,
    p50: f64,
    p99: f64,
}

/// Run time in seconds and switches of a thread of this process.
fn spent(thread: Option<i32>) -> (f64, f64) {
    let Some(thread) = thread else {
        return (f64::NAN, f64::NAN);
    };
    let read = |file| {
        let path = format!("/proc/self/task/{thread}/{file}");
        std::fs::read_to_string(path).expect("the thread runs")
    };
    let (schedstat, status) = (read("schedstat"), read("status"));
    let nanos: f64 = schedstat
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .expect("it begins with the run time");
    let switches: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .and_then(|count| count.trim().parse().ok())
        .expect("Linux counts them");
    (nanos / 1e9, switches)
}

/// Echoes until told to end; yields round trips in ms.
fn echoes(link: &Link, ends: &AtomicBool) -> Vec<f64> {
    let server = link.server.run(|| UdpSocket::bind("10.9.0.2:7"));
    let client = link.client.run(|| UdpSocket::bind("10.9.0.1:0"));
    let (server, client) = (server.expect("a socket"), client.expect("a socket"));
    let patience = Some(Duration::from_millis(200));
    for socket in [&server, &client] {
        socket.set_read_timeout(patience).expect("it has one");
    }
    client.connect("10.9.0.2:7").expect("an address");
    thread::scope(|scope| {
        scope.spawn(|| {
            undisturbed(|| {
                let mut buffer = [0; 64];
                while !ends.load(Ordering::Relaxed) {
                    if let Ok((len, from)) = server.recv_from(&mut buffer) {
                        let _ = server.send_to(&buffer[..len], from);
                    }
                }
            });
        });
        undisturbed(|| {
            let (mut trips, mut number) = (Vec::new(), 0_u64);
            while !ends.load(Ordering::Relaxed) {
                let (start, mut buffer) = (Instant::now(), [0; 64]);
                number += 1;
                buffer[..8].copy_from_slice(&number.to_ne_bytes());
                let sent = buffer;
                if client.send(&sent).is_ok() {
                    while client.recv(&mut buffer).is_ok() {
                        if buffer == sent {
                            trips.push(start.elapsed().as_secs_f64() * 1e3);
                            break;
                        }
                    }
                }
                thread::sleep(ECHO.saturating_sub(start.elapsed()));
            }
            trips
        })
    })
}

/// Fills the way up; what went through, and what the thread took meanwhile.
fn load(link: &Link, thread: Option<i32>) -> Figures {
    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000"))
        .expect("a socket");
    let ends = AtomicBool::new(false);
    let bytes = AtomicU64::new(0);
    thread::scope(|scope| {
        let _ends = StopOnDrop(&ends);
        for _ in 0..CONNECTIONS {
            let mut sender = link
                .client
                .run(|| TcpStream::connect("10.9.0.2:5000"))
                .expect("the way is open");
            let (mut receiver, _) = listener.accept().expect("a connection");
            let (ends, bytes) = (&ends, &bytes);
            scope.spawn(move || {
                let mut buffer = vec![0; 1 << 18];
                while let Ok(more @ 1..) = receiver.read(&mut buffer) {
                    bytes.fetch_add(more as u64, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                let block = vec![0; 1 << 16];
                while !ends.load(Ordering::Relaxed) && sender.write_all(&block).is_ok() {}
            });
        }
        thread::sleep(START);
        let echoed = scope.spawn(|| echoes(link, &ends));
        let look = || (Instant::now(), spent(thread), bytes.load(Ordering::Relaxed));
        let (start, before, sent) = look();
        thread::sleep(LENGTH);
        let (end, after, arrived) = look();
        ends.store(true, Ordering::Relaxed);
        let mut trips = echoed.join().expect("echoes end");
        trips.sort_by(f64::total_cmp);
        let share = |part: usize| {
            let place = trips.len() * part / 100;
            trips.get(place).copied().unwrap_or(f64::NAN)
        };
        let seconds = (end - start).as_secs_f64();
        let (run, carried) = (after.0 - before.0, (arrived - sent) as f64);
        Figures {
            mbit: carried * 8.0 / seconds / 1e6,
            core: run / seconds,
            per_segment: run * 1e6 / (carried / 1448.0),
            switches: (after.1 - before.1) / seconds,
            taken: f64::NAN,
            p50: share(50),
            p99: share(99),
        }
    })
}

/// The load once, and once more beside threads that count.
fn both(link: &Link, thread: Option<i32>) -> Figures {
    let figures = load(link, thread);
    let start = Instant::now();
    let (_, seconds) = taken(|| load(link, thread));
    // What it takes to start and end is not much beside the load.
    let lasted = (START + LENGTH)
        .as_secs_f64()
        .min(start.elapsed().as_secs_f64());
    Figures {
        taken: seconds / lasted,
        ..figures
    }
}

fn tc(net: &Net, words: &str) {
    net.run(|| {
        let done = Command::new("tc")
            .args(words.split_whitespace())
            .output()
            .expect("this bench needs iproute2");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "tc {words}: {error}");
    });
}

fn kernel(link: &Link, shaper: &str, mbit: u64) -> Figures {
    link.middle
        .ip("link add br9 type bridge forward_delay 0 mcast_snooping 0
         link set a1 master br9
         link set b1 master br9
         link set br9 up");
    for device in ["a1", "b1"] {
        if shaper == "tbf" {
            let words = format!("rate {mbit}mbit burst 16kb limit 150kb");
            tc(
                &link.middle,
                &format!("qdisc add dev {device} root tbf {words}"),
            );
        } else {
            let root = format!("qdisc add dev {device} root handle 1: htb default 1");
            tc(&link.middle, &root);
            let class = format!("class add dev {device} parent 1: classid 1:1 htb rate {mbit}mbit");
            tc(&link.middle, &class);
            let leaf = format!("qdisc add dev {device} parent 1:1 pfifo limit 100");
            tc(&link.middle, &leaf);
        }
    }
    both(link, None)
}

fn ours(link: &Link, queue: &str, mbit: u64, saves_wakeups: bool) -> Figures {
    let mut config: BridgeConfig = plain();
    config.saves_wakeups = saves_wakeups;
    for side in [&mut config.up, &mut config.down] {
        let words = queue.replace("RATE", &format!("{mbit}mbit"));
        side.qdisc = words.parse().expect("a qdisc");
        if words == queue {
            side.line.rate = LineRate::Fixed(Rate::from_bps(mbit * 1_000_000));
        }
    }
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = mpsc::channel();
    thread::scope(|scope| {
        let (stop, middle) = (&stop, &link.middle);
        scope.spawn(move || {
            middle.enter();
            let mut bridge = Bridge::open(config).expect("the bridge opens");
            let thread = gettid().as_raw_nonzero().get();
            ready.send(thread).expect("the bench waits");
            bridge.run(stop, &mut NoObserver).expect("the bridge runs");
        });
        let _stop = StopOnDrop(stop);
        let thread = is_ready.recv().expect("the bridge is open");
        both(link, Some(thread))
    })
}

fn round(shaper: Shaper, mbit: u64, whole: bool) -> Figures {
    let link = Link::new();
    if !whole {
        link.client.ip("link set a0 gso_max_segs 1");
        link.server.ip("link set b0 gso_max_segs 1");
    }
    match shaper {
        Shaper::Ours(queue) => ours(&link, queue, mbit, true),
        Shaper::Alone(queue) => ours(&link, queue, mbit, false),
        Shaper::Kernel(name) => kernel(&link, name, mbit),
    }
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
    let words: Vec<String> = std::env::args().skip(1).collect();
    let whole = words.iter().any(|word| word == "--whole");
    let place = words.iter().position(|word| word == "--rounds");
    let rounds = place.map_or(3, |place| words[place + 1].parse().expect("a number"));
    let named = |name: &str| words.iter().any(|word| name.contains(word.as_str()));
    let mut shapers = SHAPERS.to_vec();
    if SHAPERS.iter().any(|(name, _)| named(name)) {
        shapers.retain(|(name, _)| named(name));
    }
    let of_rates = place.map_or(&words[..], |place| &words[..place]);
    let mut rates = RATES.to_vec();
    let is_wanted = |rate: &u64| of_rates.iter().any(|word| *word == rate.to_string());
    if RATES.iter().any(is_wanted) {
        rates.retain(is_wanted);
    }
    let cases: Vec<_> = rates
        .iter()
        .flat_map(|rate| shapers.iter().map(move |shaper| (*rate, *shaper)))
        .collect();
    let mut all: Vec<Vec<Figures>> = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (&(rate, (_, shaper)), all) in cases.iter().zip(&mut all) {
            all.push(round(shaper, rate, whole));
        }
    }
    print_table(&cases, &all);
}

fn print_table(cases: &[(u64, (&str, Shaper))], all: &[Vec<Figures>]) {
    let headings = [
        "Mbit/s", "core", "us/1514", "switches", "taken", "p50", "p99",
    ];
    print!("{:>5} {:22}", "rate", "shaper");
    for heading in headings {
        print!(" {heading:>9}");
    }
    println!();
    for ((rate, (name, _)), rounds) in cases.iter().zip(all) {
        let figure = |of: fn(&Figures) -> f64| median(rounds.iter().map(of).collect());
        println!(
            "{rate:5} {name:22} {:9.1} {:9.3} {:9.1} {:9.0} {:9.3} {:9.3} {:9.3}",
            figure(|it| it.mbit),
            figure(|it| it.core),
            figure(|it| it.per_segment),
            figure(|it| it.switches),
            figure(|it| it.taken),
            figure(|it| it.p50),
            figure(|it| it.p99),
        );
    }
}
