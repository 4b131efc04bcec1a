//! Logs of mahimahi's, read by a parser that knows nothing but the format, say what the run's
//! figures say.

mod common;

use common::sojourn;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "logged"
duration = "12s"
warmup = "2s"
[dumbbell]
rtt = "30ms"
up = { rate = "2mbit" }
down = { rate = "10mbit" }
qdisc = "codel"
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[change]]
at = "6s"
link = "down"
rate = "5mbit"
[sweep]
"dumbbell.qdisc" = ["codel", "pfifo limit 30p"]
"#;

/// What a log says.
#[derive(Default)]
struct Log {
    queue: String,
    arrived: Vec<(u64, u64)>,
    left: Vec<(u64, u64, u64)>,
    opportunities: Vec<(u64, u64)>,
}

fn read(path: &Path) -> Log {
    let text = fs::read_to_string(path).expect("it was written");
    let mut log = Log::default();
    let (mut base, mut last) = (None, 0);
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("# ") {
            if let Some(at) = header.strip_prefix("base timestamp: ") {
                assert!(base.is_none(), "it is there once");
                base = Some(at.parse::<u64>().expect("a number"));
            }
            if let Some(queue) = header.strip_prefix("queue: ") {
                queue.clone_into(&mut log.queue);
            }
            continue;
        }
        let base = base.expect("the base is told before the first event");
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<u64>().expect(line);
        let at = number(0) - base;
        assert!(at >= last, "{line}");
        last = at;
        match (words[1], words.len()) {
            ("+", 3) => log.arrived.push((at, number(2))),
            ("-", 4) => log.left.push((at, number(2), number(3))),
            ("#", 3) => log.opportunities.push((at, number(2))),
            _ => panic!("{line}"),
        }
    }
    log
}

fn figures(summary: &Value, run: usize, link: &str) -> Value {
    summary["cells"][run]["links"][link].clone()
}

#[test]
fn logs_say_what_the_figures_say() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("scenario.toml"), SCENARIO).expect("it can be written");
    let points = "up,up:in,down,down:in";
    let arguments = [
        "run",
        "scenario.toml",
        "--out",
        "out",
        "--pcap",
        points,
        "--quiet",
    ];
    assert!(sojourn(&arguments, dir.path()).status.success());
    let export = ["export", "--mahimahi", "out", "--out", "logs"];
    let exported = sojourn(&export, dir.path());
    assert!(exported.status.success(), "{exported:?}");
    let listed = String::from_utf8(exported.stdout).expect("text");
    let names =
        ["run-1-down", "run-1-up", "run-2-down", "run-2-up"].map(|name| format!("logs/{name}.log"));
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).expect("it is there");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    for (run, link) in [(0, "up"), (0, "down"), (1, "up"), (1, "down")] {
        let log = read(&dir.path().join(format!("logs/run-{}-{link}.log", run + 1)));
        let figures = figures(&summary, run, link);
        assert!(
            log.queue.starts_with(["codel", "pfifo"][run]),
            "{}",
            log.queue
        );
        // Figures count from the end of the warm-up.
        let left: Vec<_> = log.left.iter().filter(|(at, ..)| *at >= 2000).collect();
        let bytes: u64 = left.iter().map(|(_, bytes, _)| bytes).sum();
        assert_eq!(figures["dequeued_bytes"], bytes, "{run} {link}");
        let arrived = log.arrived.iter().filter(|(at, _)| *at >= 2000);
        assert_eq!(
            figures["offered_bytes"],
            arrived.map(|(_, bytes)| bytes).sum::<u64>()
        );
        let mut delays: Vec<u64> = left.iter().map(|(.., delay)| *delay).collect();
        delays.sort_unstable();
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        let told = |key: &str| figures["sojourn_ms"][key].as_f64().expect("a number");
        assert!((mean - told("mean")).abs() < 0.1, "{mean} {}", told("mean"));
        let p95 = delays[delays.len() * 95 / 100] as f64;
        assert!((p95 - told("p95")).abs() <= 1.5, "{p95} {}", told("p95"));
        // What could have been sent: 10 Mbit/s and from 6 s on 5 Mbit/s, or 2 Mbit/s.
        let wanted = if link == "up" { 24e6 } else { 90e6 };
        let bits = log
            .opportunities
            .iter()
            .map(|(_, bytes)| 8 * bytes)
            .sum::<u64>() as f64;
        assert!((bits - wanted).abs() <= 24_000.0, "{bits}");
    }
}

#[test]
fn what_was_not_captured_is_asked_for() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("scenario.toml"), SCENARIO).expect("it can be written");
    let arguments = [
        "run",
        "scenario.toml",
        "--out",
        "out",
        "--set",
        "duration=7s",
        "--quiet",
    ];
    assert!(
        sojourn(&[&arguments[..], &["--pcap", "up"]].concat(), dir.path())
            .status
            .success()
    );
    let refused = sojourn(
        &["export", "--mahimahi", "out", "--out", "logs"],
        dir.path(),
    );
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(said.contains("--pcap LINK,LINK:in"), "{said}");
    let both = ["export", "--mahimahi", "--flent", "out", "--out", "logs"];
    assert_eq!(sojourn(&both, dir.path()).status.code(), Some(2));
}
