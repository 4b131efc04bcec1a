//! What the bridge carries on this machine, beside the kernel's own bridge on the same link.
//!
//! ```sh
//! cargo bench -p sojourn-live --bench bridge                 # as root, about 3 min
//! cargo bench -p sojourn-live --bench bridge -- cake pfifo   # beside the kernel's, those
//! cargo bench -p sojourn-live --bench bridge -- 1514 cake    # of the loads tcp, 100 and 1514 one
//! ```
//!
//! `--alone` leaves the kernel's bridge out, unless it is named, `--once` has one round, and
//! `--halting` leaves `taken` out.
//!
//! `client ═ bridge ═ server` in three network namespaces of this process. Sender, bridge and
//! receiver share the machine's processors, so a figure is of all three; the kernel's bridge
//! under the same load is what it compares with. Processor time is this process's, interrupts that
//! come in its time included. `taken` is of a second run, with a thread on each processor that
//! counts whenever nobody else wants it: the time that these lack, whoever had it, which tells
//! something where nothing else runs. Rounds are interleaved, medians are printed.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Link, plain, taken, undisturbed};
use rustix::time::{ClockId, clock_gettime};
use sojourn_bridge::{BridgeConfig, PortChoice};
use sojourn_units::Rate;
use sojourn_world::LineRate;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// How long each load lasts.
const LENGTH: Duration = Duration::from_secs(1);
/// Payloads of datagrams: frames of 100 and of 1514 bytes.
const PAYLOADS: [usize; 2] = [58, 1472];

/// What one load came to.
#[derive(Clone, Copy)]
struct Carried {
    /// Bits a second of TCP payload, or datagrams a second.
    per_second: f64,
    /// Frames of 1514 bytes or datagrams that were carried.
    frames: f64,
    /// Processor time of this process for each frame of 1514 bytes or datagram carried, in ns.
    cpu_ns: f64,
    /// The same of everything that took time from a thread that counts, on processors that never
    /// halt.
    taken_ns: f64,
    /// Of datagrams that were sent, those in a hundred that did not arrive.
    lost: f64,
}

/// Of a load that is left out.
const UNKNOWN: Carried = Carried {
    per_second: f64::NAN,
    frames: f64::NAN,
    cpu_ns: f64::NAN,
    taken_ns: f64::NAN,
    lost: f64::NAN,
};

/// Names of the loads.
const LOADS: [&str; 3] = ["tcp", "100", "1514"];

fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// One bulk connection with the kernel's defaults, offloads and all.
fn bulk(link: &Link) -> Carried {
    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000").expect("a socket"));
    let mut sender = link
        .client
        .run(|| TcpStream::connect("10.9.0.2:5000").expect("the way is open"));
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut buffer, mut bytes, start) = (vec![0; 1 << 18], 0, Instant::now());
            loop {
                match stream.read(&mut buffer).expect("bytes") {
                    0 => return bytes as f64 / start.elapsed().as_secs_f64(),
                    more => bytes += more,
                }
            }
        });
        let (start, cpu, block) = (Instant::now(), cpu_ns(), vec![0; 1 << 16]);
        let mut sent = 0;
        while start.elapsed() < LENGTH {
            sender.write_all(&block).expect("bytes are taken");
            sent += block.len();
        }
        drop(sender);
        let rate = receiver.join().expect("the receiver ends");
        let frames = sent as f64 / 1448.0;
        Carried {
            per_second: rate * 8.0,
            frames,
            cpu_ns: (cpu_ns() - cpu) / frames,
            taken_ns: f64::NAN,
            lost: 0.0,
        }
    })
}

/// Datagrams of this payload as fast as one thread sends them.
fn flood(link: &Link, payload: usize) -> Carried {
    let arrived = || {
        let table = link
            .server
            .run(|| std::fs::read_to_string("/proc/thread-self/net/dev").expect("Linux has it"));
        let line = table.lines().find(|line| line.trim().starts_with("b0:"));
        let packets = line.and_then(|line| line.split_whitespace().nth(2)?.parse::<f64>().ok());
        packets.expect("b0 counts its packets")
    };
    let sink = link
        .server
        .run(|| UdpSocket::bind("10.9.0.2:5001").expect("a socket"));
    let socket = link
        .client
        .run(|| UdpSocket::bind("10.9.0.1:0").expect("a socket"));
    socket.connect("10.9.0.2:5001").expect("an address");
    let datagram = [0; PAYLOADS[1]];
    socket
        .send(&datagram[..payload])
        .expect("ARP finds the way");
    thread::sleep(Duration::from_millis(100));
    let (before, start, cpu) = (arrived(), Instant::now(), cpu_ns());
    let sent = undisturbed(|| {
        let mut sent = 0;
        while start.elapsed() < LENGTH {
            // What finds no room in the sender's own socket is none.
            sent += (0..64)
                .filter(|_| socket.send(&datagram[..payload]).is_ok())
                .count();
        }
        sent as f64
    });
    let lasted = start.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(100));
    let (carried, cpu) = (arrived() - before, cpu_ns() - cpu);
    drop(sink);
    Carried {
        per_second: carried / lasted,
        frames: carried,
        cpu_ns: cpu / carried,
        taken_ns: f64::NAN,
        lost: 100.0 * (1.0 - carried / sent),
    }
}

/// All loads through a bridge of ours, or without one through the kernel's.
fn round(config: Option<BridgeConfig>, loads: [bool; 3]) -> [Carried; 3] {
    let link = Link::new();
    let [small, large] = PAYLOADS;
    let [tcp, of_small, of_large] = loads;
    let is_halting = given().any(|word| word == "--halting");
    let both = |is_wanted: bool, load: &dyn Fn() -> Carried| {
        if !is_wanted {
            return UNKNOWN;
        }
        let carried = load();
        if is_halting {
            return carried;
        }
        let (again, seconds) = taken(load);
        Carried {
            taken_ns: seconds * 1e9 / again.frames,
            ..carried
        }
    };
    let all = || {
        [
            both(tcp, &|| bulk(&link)),
            both(of_small, &|| flood(&link, small)),
            both(of_large, &|| flood(&link, large)),
        ]
    };
    let Some(config) = config else {
        link.middle
            .ip("link add br9 type bridge forward_delay 0 mcast_snooping 0
             link set a1 master br9
             link set b1 master br9
             link set br9 up");
        return all();
    };
    link.bridged(config, all).0
}

/// A bridge of ours with this queue both ways, and a link's rate if the queue has none itself.
fn ours(qdisc: &str, rate: &LineRate) -> BridgeConfig {
    let mut config = plain();
    for side in [&mut config.up, &mut config.down] {
        side.qdisc = qdisc.parse().expect("a qdisc");
        side.line.rate = rate.clone();
    }
    config
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What is compared: the kernel's bridge, and those of ours whose names have one of the words that
/// the program was given, if there are any.
fn cases() -> Vec<(&'static str, Option<BridgeConfig>)> {
    let fixed = LineRate::Fixed(Rate::from_bps(10_000_000_000));
    let xdp = |config| {
        Some(BridgeConfig {
            port: PortChoice::Xdp,
            ..config
        })
    };
    let mut cases = vec![
        ("kernel bridge", None),
        ("pfifo", Some(ours("pfifo", &LineRate::Infinite))),
        ("fq_codel", Some(ours("fq_codel", &LineRate::Infinite))),
        ("cake", Some(ours("cake", &LineRate::Infinite))),
        ("pfifo, AF_XDP", xdp(ours("pfifo", &LineRate::Infinite))),
        ("fq_codel at 10 Gbit/s", Some(ours("fq_codel", &fixed))),
        ("the same, AF_XDP", xdp(ours("fq_codel", &fixed))),
        ("dualpi2 at 10 Gbit/s", Some(ours("dualpi2", &fixed))),
        ("dualpi2, AF_XDP", xdp(ours("dualpi2", &fixed))),
        (
            "cake bandwidth 10gbit",
            Some(ours("cake bandwidth 10gbit", &LineRate::Infinite)),
        ),
    ];
    let words: Vec<String> = given()
        .filter(|word| !word.starts_with('-') && !LOADS.contains(&word.as_str()))
        .collect();
    let is_alone = given().any(|word| word == "--alone");
    cases.retain(|(name, config)| {
        let is_always = config.is_none() && !is_alone;
        is_always || words.is_empty() || words.iter().any(|word| name.contains(word))
    });
    cases
}

/// What the program was given.
fn given() -> impl Iterator<Item = String> {
    std::env::args().skip(1)
}

/// The loads that the program was given, or all.
fn loads() -> [bool; 3] {
    let named = LOADS.map(|load| given().any(|word| word == load));
    if named == [false; 3] {
        [true; 3]
    } else {
        named
    }
}

fn main() {
    // `cargo bench -- --test` and `cargo test --benches` only ask whether it starts.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let (cases, loads) = (cases(), loads());
    let mut rounds: Vec<Vec<[Carried; 3]>> = vec![Vec::new(); cases.len()];
    let is_once = given().any(|word| word == "--once");
    for _ in 0..if is_once { 1 } else { ROUNDS } {
        for (case, rounds) in cases.iter().zip(&mut rounds) {
            rounds.push(round(case.1.clone(), loads));
        }
    }
    print_table(&cases, &rounds);
}

/// Medians, and processor time to that of the kernel's bridge.
fn print_table(cases: &[(&str, Option<BridgeConfig>)], rounds: &[Vec<[Carried; 3]>]) {
    let cpu = |unit| [["CPU", unit], ["to the", "kernel"], ["taken", unit]];
    let mut headings = vec![["TCP", "Gbit/s"]];
    headings.extend(cpu("ns/1514 B"));
    for size in ["100-byte", "1514-byte"] {
        headings.push([size, "kframes/s"]);
        headings.extend(cpu("ns/frame"));
        headings.push(["lost", "%"]);
    }
    for line in 0..2 {
        print!("{:23}", "");
        for heading in &headings {
            print!(" {:>9}", heading[line]);
        }
        println!();
    }
    for (case, (name, _)) in cases.iter().enumerate() {
        let figure = |case: usize, load: usize, of: fn(&Carried) -> f64| {
            median(rounds[case].iter().map(|round| of(&round[load])).collect())
        };
        print!("{name:23}");
        for (load, unit, digits) in [(0, 1e9, 2), (1, 1e3, 0), (2, 1e3, 0)] {
            let cpu = figure(case, load, |carried| carried.cpu_ns);
            let kernel = figure(0, load, |carried| carried.cpu_ns);
            let taken = figure(case, load, |carried| carried.taken_ns);
            let rate = figure(case, load, |carried| carried.per_second) / unit;
            print!(
                " {rate:9.digits$} {cpu:9.0} {:9.2} {taken:9.0}",
                cpu / kernel
            );
            if load > 0 {
                print!(" {:9.2}", figure(case, load, |carried| carried.lost));
            }
        }
        println!();
    }
}
