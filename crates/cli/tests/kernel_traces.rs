//! Links before the kernel's own queues in guests: those that send at the opportunities of a trace,
//! and those with a rate.
//!
//! Takes the user's guest kernel, as `kernel.rs` does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::program;
use sojourn_capture::Reader;
use sojourn_world::{LinkResult, RunResult};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// What the link could send in a millisecond, of 1500 bytes each: it swings between nothing at all,
/// two at once, and one in a while. 1.7 s long.
fn trace() -> String {
    let mut text = String::new();
    for ms in 1..=1700_u64 {
        let count = match ms {
            300..400 => 0,
            600..1000 => 2 * u64::from(ms % 3 == 0),
            1000..1300 => u64::from(ms % 7 == 0),
            _ => u64::from(ms % 2 == 0),
        };
        for _ in 0..count {
            writeln!(text, "{ms}").unwrap();
        }
    }
    text
}

/// Datagrams of two sizes, neither of which fills whole opportunities, that nothing holds back.
/// Every 2240 µs from 20 µs on and every 3700 from 7050 on: never at a whole millisecond, where the
/// opportunities are. A packet that comes at the very time of one waits for it in the simulator; in
/// the kernel, where apps' timers are 1 to 4 µs late, it finds it gone.
fn scenario(queue: &str, more: &str) -> String {
    format!(
        r#"format = "sojourn-scenario/1"
name = "cell"
duration = "5003ms"
[dumbbell]
up = {{ rate = "10mbit", delay = "20ms" }}
down = {{ trace = "down.trace", delay = "15ms", qdisc = "{queue}" }}
[[flow]]
name = "large"
direction = "down"
start = "20us"
app = {{ kind = "cbr", rate = "5mbit", size = 1400 }}
[[flow]]
name = "small"
direction = "down"
start = "7050us"
app = {{ kind = "cbr", rate = "720kbit", size = 333 }}
{more}"#
    )
}

/// Where frames are captured: before the queue, behind it, and at the hosts.
const POINTS: [&str; 3] = ["down:in", "down", "client"];

/// Runs a scenario's one cell; `world` with its words.
fn cell(dir: &Path, scenario: &str, world: &[&str]) -> RunResult {
    let file = dir.join("cell.toml");
    fs::write(&file, scenario).unwrap();
    fs::write(dir.join("down.trace"), trace()).unwrap();
    let out = dir.join("out");
    let mut command = program(dir, &["run", "--overwrite", "--world"]);
    let output = command
        .args(world)
        .arg(&file)
        .arg("--out")
        .arg(&out)
        .args(["--pcap", &POINTS.join(",")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[out]).unwrap();
    merged.whole().unwrap().remove(0)
}

/// The file of a point.
fn captured(dir: &Path, point: &str) -> Vec<u8> {
    let name = format!("out/run-1-{}.pcapng", point.replace(':', "-"));
    fs::read(dir.join(name)).unwrap()
}

/// When frames passed a point, in nanoseconds, and their lengths.
fn passed(dir: &Path, point: &str) -> Vec<(u64, u32)> {
    let file = captured(dir, point);
    let mut reader = Reader::new(&file[..]).unwrap();
    let records = std::iter::from_fn(|| reader.next_record().unwrap());
    records
        .map(|frame| (frame.at.unwrap().as_nanos(), frame.len))
        .collect()
}

const KERNEL: [&str; 3] = ["kernel", "--queues", "kernel"];

fn down(result: &RunResult) -> &LinkResult {
    &result.links[1].1
}

/// The same frames pass every point in both worlds, one by one, up to the microseconds by which an
/// app's timer and the link's two come late.
fn agree(simulated: &Path, real: &Path) {
    for point in POINTS {
        let (a, b) = (passed(simulated, point), passed(real, point));
        assert_eq!(a.len(), b.len(), "{point}");
        assert!(a.len() > 1500, "{point}: {}", a.len());
        for (number, (a, b)) in a.iter().zip(&b).enumerate() {
            let near = a.0.abs_diff(b.0) <= 5_000 && a.1 == b.1;
            assert!(near, "frame {number} at {point}: {a:?} {b:?}");
        }
    }
}

/// Counts, bytes, and times in milliseconds of the two worlds part by this share at most, where a
/// drop more or less in the middle of a run moves all that follow.
fn agree_roughly(simulated: &RunResult, real: &RunResult, share: f64) {
    let (a, b) = (down(simulated), down(real));
    assert!(
        a.dequeued_packets > 1400 && a.dropped_packets > 300,
        "{a:?}"
    );
    let near = |a: f64, b: f64, least: f64| (a - b).abs() <= least + share * a;
    for (a, b) in [
        (a.dequeued_packets, b.dequeued_packets),
        (a.dropped_packets, b.dropped_packets),
        (a.dequeued_bytes / 1442, b.dequeued_bytes / 1442),
    ] {
        assert!(near(a as f64, b as f64, 2.0), "{a} {b}");
    }
    let mut pairs = vec![
        (a.sojourn.p50, b.sojourn.p50),
        (a.sojourn.p95, b.sojourn.p95),
    ];
    for ((_, a), (_, b)) in simulated.flows.iter().zip(&real.flows) {
        let (a, b) = (&a.delay, &b.delay);
        pairs.extend([(a.p50, b.p50), (a.p95, b.p95), (a.max, b.max)]);
    }
    for (a, b) in pairs {
        assert!(near(a, b, 0.005), "{a} {b}");
    }
}

#[test]
fn the_kernels_own_queues_are_asked_at_the_opportunities_of_a_trace() {
    // Nor do CoDel's times end at an opportunity.
    for (queue, share) in [
        ("pfifo limit 60", None),
        ("codel target 4711us interval 98317us", None),
        ("htb rate 3mbit over codel", Some(0.03)),
    ] {
        let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let [simulated, one, other] = dirs.each_ref().map(tempfile::TempDir::path);
        let text = scenario(queue, "");
        let result = cell(simulated, &text, &["sim"]);
        let real = [one, other].map(|dir| cell(dir, &text, &KERNEL));
        match share {
            None => agree(simulated, one),
            Some(share) => agree_roughly(&result, &real[0], share),
        }
        assert_eq!(real[0].digest, real[1].digest);
        for point in POINTS {
            assert!(captured(one, point) == captured(other, point), "{point}");
        }
    }
}

/// Not a microsecond earlier, as a token bucket with a burst would; and no later by what its timers
/// are late. Nothing is dropped, so that a packet that comes when another leaves changes nothing.
#[test]
fn a_link_with_a_rate_takes_each_packet_when_the_last_one_has_left() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [simulated, real] = dirs.each_ref().map(tempfile::TempDir::path);
    let text =
        scenario("pfifo limit 5000", "").replace("trace = \"down.trace\"", "rate = \"3917kbit\"");
    let result = cell(simulated, &text, &["sim"]);
    cell(real, &text, &KERNEL);
    let down = down(&result);
    assert_eq!(down.dropped_packets, 0);
    assert!(down.utilisation.unwrap() > 0.99 && down.dequeued_packets > 2000);
    agree(simulated, real);
}

#[test]
fn a_traced_link_keeps_what_waits_when_its_rate_changes() {
    let more = r#"
[[change]]
at = "1100ms"
link = "down"
rate = "4mbit"
[[change]]
at = "2200ms"
link = "down"
qdisc = "pfifo limit 40"
[[change]]
at = "3300ms"
link = "down"
rate = "2mbit"
"#;
    let dir = tempfile::tempdir().unwrap();
    let text = scenario("pfifo limit 60", more);
    let simulated = cell(dir.path(), &text, &["sim"]);
    let real = cell(dir.path(), &text, &KERNEL);
    agree_roughly(&simulated, &real, 0.1);
}

#[test]
fn a_traced_link_gets_a_shaper_in_mid_run_and_loses_what_waits() {
    let more = r#"
[[change]]
at = "2500ms"
link = "down"
qdisc = "cake bandwidth 1mbit besteffort"
"#;
    let dir = tempfile::tempdir().unwrap();
    let result = cell(dir.path(), &scenario("pfifo limit 60", more), &KERNEL);
    let down = down(&result);
    assert_eq!(down.qdisc.kind, "cake");
    // 2.5 s at the trace, then 2.5 s with 1 Mbit/s.
    let text = trace();
    let times = text.lines().map(|line| line.parse::<u32>().unwrap());
    let opportunities: usize = times.map(|ms| if ms <= 800 { 2 } else { 1 }).sum();
    let most = opportunities as f64 * 1500.0 * 8.0 / 1e6 + 2.5;
    let bits = down.dequeued_bytes as f64 * 8.0 / 1e6;
    assert!((0.9 * most..1.02 * most).contains(&bits), "{bits} {most}");
}

/// While its link is down a queue holds what it can and drops the rest; with a loss of all packets
/// leave the queue and none arrives.
#[test]
fn an_outage_is_the_same_with_our_queues_and_the_kernels() {
    let more = r#"
[[change]]
at = "1100ms"
link = "down"
rate = "down"
[[change]]
at = "2200ms"
link = "down"
rate = "up"
[[change]]
at = "3300ms"
link = "down"
loss = "100%"
[[change]]
at = "3900ms"
link = "down"
loss = "0%"
"#;
    let text =
        scenario("pfifo limit 60", more).replace("trace = \"down.trace\"", "rate = \"8mbit\"");
    let dir = tempfile::tempdir().unwrap();
    let simulated = cell(dir.path(), &text, &["sim"]);
    // 1.1 s without a link, 0.6 s of losses: 60 packets wait, so that 28 to 35 % do not arrive.
    let lost = |run: &RunResult| run.flows[0].1.loss_ratio.unwrap();
    assert!((0.28..0.35).contains(&lost(&simulated)), "{simulated:?}");
    for world in [&["kernel"][..], &KERNEL] {
        let real = cell(dir.path(), &text, world);
        agree_roughly(&simulated, &real, 0.03);
        let (ours, theirs) = (lost(&simulated), lost(&real));
        assert!((ours - theirs).abs() < 0.01, "{ours} {theirs}");
    }
}
