//! Links that send at the opportunities of a trace, before the kernel's own queues in guests.
//!
//! Takes the user's guest kernel, as `kernel.rs` does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::program;
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
app = {{ kind = "cbr", rate = "5mbit", size = 1400 }}
[[flow]]
name = "small"
direction = "down"
start = "7ms"
app = {{ kind = "cbr", rate = "700kbit", size = 333 }}
{more}"#
    )
}

/// Runs a scenario's one cell; `world` with its words.
fn cell(dir: &Path, scenario: &str, world: &[&str]) -> RunResult {
    let file = dir.join("cell.toml");
    fs::write(&file, scenario).unwrap();
    fs::write(dir.join("down.trace"), trace()).unwrap();
    let out = dir.join("out");
    let mut command = program(dir, &["run", "--overwrite", "--world"]);
    let output = command.args(world).arg(&file).arg("--out").arg(&out);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[out]).unwrap();
    merged.whole().unwrap().remove(0)
}

const KERNEL: [&str; 3] = ["kernel", "--queues", "kernel"];

fn down(result: &RunResult) -> &LinkResult {
    &result.links[1].1
}

/// Sets the simulator's results beside those of the kernel's own queues: counts and bytes of a
/// thousand and more, and times in milliseconds, may part by this share.
fn agree(simulated: &RunResult, real: &RunResult, share: f64) {
    let (a, b) = (down(simulated), down(real));
    assert!(
        a.dequeued_packets > 1500 && a.dropped_packets > 300,
        "{a:?}"
    );
    // A packet that comes at the very time of an opportunity may wait for it or find it gone. And
    // timers come up to a microsecond late, once at the queue and once behind it.
    let near = |a: f64, b: f64, least: f64| (a - b).abs() <= least + share * a;
    for (a, b) in [
        (a.dequeued_packets, b.dequeued_packets),
        (a.dropped_packets, b.dropped_packets),
        (a.dequeued_bytes / 1442, b.dequeued_bytes / 1442),
    ] {
        assert!(near(a as f64, b as f64, 2.0), "{a} {b}");
    }
    // A quantile is the middle of its bucket, a 128th of it wide at most; the longest is exact.
    let alike = |a: f64, b: f64| near(a, b, 0.005 + a / 128.0);
    for ((_, a), (_, b)) in simulated.flows.iter().zip(&real.flows) {
        let delays = [&a.delay, &b.delay];
        let [first, second] = delays.map(|delay| [delay.p50, delay.p95]);
        for (a, b) in first.into_iter().zip(second) {
            assert!(alike(a, b), "{first:?} {second:?}");
        }
        let [first, second] = delays.map(|delay| delay.max);
        assert!(near(first, second, 0.005), "{first} {second}");
    }
    let [first, second] = [a, b].map(|link| [link.sojourn.p50, link.sojourn.p95]);
    for (a, b) in first.into_iter().zip(second) {
        assert!(alike(a, b), "{first:?} {second:?}");
    }
}

#[test]
fn the_kernels_own_queues_are_asked_at_the_opportunities_of_a_trace() {
    for (queue, share) in [
        ("pfifo limit 60", 0.0),
        ("codel", 0.0),
        ("htb rate 3mbit over codel", 0.03),
    ] {
        let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let text = scenario(queue, "");
        let simulated = cell(dirs[0].path(), &text, &["sim"]);
        let more = [&KERNEL[..], &["--pcap", "down:in,down,client"]].concat();
        let real = dirs[1..].iter().map(|dir| cell(dir.path(), &text, &more));
        let real: Vec<RunResult> = real.collect();
        agree(&simulated, &real[0], share);
        assert_eq!(real[0].digest, real[1].digest);
        for point in ["down:in", "down", "client"] {
            let file = |dir: &tempfile::TempDir| {
                let name = format!("out/run-1-{}.pcapng", point.replace(':', "-"));
                fs::read(dir.path().join(name)).unwrap()
            };
            assert!(file(&dirs[1]) == file(&dirs[2]), "{point}");
        }
    }
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
    agree(&simulated, &real, 0.1);
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
