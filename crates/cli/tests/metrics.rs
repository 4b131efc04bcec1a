//! Metrics over HTTP: what Prometheus makes of them, and clients that do not behave. Needs root and
//! Debian's `prometheus`; without them these are passed over, except in CI (`CI=true`), where a
//! machine that cannot run them fails them.

mod common;

use common::process::{Running, bridge};
use common::rig::{
    Link, OURS, PASSES, PATIENCE, Raw, available, exchange, frame, passes, wait_for,
};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// A link whose middle can talk to itself.
fn link() -> Link {
    let link = Link::new();
    link.middle.ip("link set lo up");
    link
}

/// What the middle's own server at this port says, without the head; none if it hangs up.
fn get(link: &Link, port: u16, path: &str, accept: &str) -> Option<String> {
    link.middle.run(|| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut answer = String::new();
        // The end of the connection is the end of the answer.
        let _ = stream.read_to_string(&mut answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some(format!("{}\n{body}", head.lines().next()?))
    })
}

/// Whether Debian's `prometheus` is there.
fn has_prometheus() -> bool {
    let found = Command::new("promtool").arg("--version").output();
    let there = found.is_ok_and(|output| output.status.success());
    let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(
        there || !required,
        "prometheus is missing: scripts/setup test"
    );
    there
}

/// Asks until `wanted` holds of the answer.
fn until(what: &str, ask: impl Fn() -> Option<String>, wanted: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    wait_for(what, || {
        let Some(answer) = ask() else { return false };
        let is_wanted = wanted(&answer);
        if !is_wanted && answer != last {
            println!("{answer}");
        }
        last = answer;
        is_wanted
    });
    last
}

#[test]
fn prometheus_scrapes_what_is_counted() {
    if !available() || !has_prometheus() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let link = link();
    let words = "a1 b1 --up cake --down fq_codel --metrics 127.0.0.1:9817";
    let process = bridge(&link, words, dir.path());
    passes(&link, "with metrics");
    let answer = get(&link, 9817, "/metrics", "text/plain").expect("it answers");
    let page = answer.strip_prefix("HTTP/1.1 200 OK\n").expect(&answer);
    let mut lint = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = lint.stdin.take().expect("it is piped");
    input.write_all(page.as_bytes()).expect("it reads");
    drop(input);
    let lint = lint.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&lint.stderr).into_owned();
    assert!(lint.status.success() && said.is_empty(), "{said}");

    let config = "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n- job_name: sojourn\n  static_configs:\n  - targets: ['127.0.0.1:9817']\n";
    fs::write(dir.path().join("prometheus.yml"), config).unwrap();
    let mut command = Command::new("prometheus");
    command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
    command.args(["--web.listen-address=127.0.0.1:9090", "--log.level=error"]);
    command.current_dir(dir.path());
    let _prometheus = link.middle.run(|| Running::start(&mut command));
    let query = |expression: &str| {
        let path = format!("/api/v1/query?query={expression}");
        get(&link, 9090, &path, "application/json")
    };
    let offered = "sum(sojourn_offered_packets_total%7Bdirection=%22up%22%7D)";
    let has_result = |text: &str| text.contains("\"result\":[{");
    let answer = until("what is offered", || query(offered), has_result);
    // The test's hundreds, and what the kernels at both ends have said of themselves.
    let (_, value) = answer.rsplit_once(",\"").expect("a time and a value");
    let value = value
        .split('"')
        .next()
        .and_then(|number| number.parse::<f64>().ok());
    assert!(
        value.is_some_and(|value| (100.0..1000.0).contains(&value)),
        "{answer}"
    );
    // A distribution that Prometheus understands.
    let quantile = "histogram_quantile(0.5,sum%20by(le)(sojourn_delay_seconds_bucket))";
    until("a quantile", || query(quantile), has_result);
    process.interrupt();
}

#[test]
fn clients_that_do_not_behave_are_in_nobodys_way() {
    if !available() {
        return;
    }
    let link = link();
    // So that each frame passes it, however busy the machine is.
    let calm = "a1 b1 --no-fail-open --stale 60s";
    let words = format!("{calm} --metrics 127.0.0.1:9817");
    let process = bridge(&link, &words, Path::new("."));
    let first = |path: &str| {
        let answer = get(&link, 9817, path, "*/*");
        answer.and_then(|text| text.lines().next().map(str::to_owned))
    };
    assert_eq!(first("/metrics").as_deref(), Some("HTTP/1.1 200 OK"));
    assert_eq!(first("/").as_deref(), Some("HTTP/1.1 404 Not Found"));
    assert_eq!(first("/a b").as_deref(), Some("HTTP/1.1 400 Bad Request"));
    // Clients that say nothing, half of something, and too much.
    let rude: Vec<TcpStream> = (0..30)
        .map(|number| {
            link.middle.run(|| {
                let mut stream = TcpStream::connect("127.0.0.1:9817").expect("it listens");
                let texts = [String::new(), "GET /metrics HT".into(), "x".repeat(50_000)];
                let text: &String = &texts[number % 3];
                // It may have been hung up on.
                let _ = stream.write_all(text.as_bytes());
                stream
            })
        })
        .collect();
    assert_eq!(exchange(&link), PASSES);
    let open = until(
        "an answer",
        || get(&link, 9817, "/metrics", "application/openmetrics-text"),
        |text| text.starts_with("HTTP/1.1 200"),
    );
    assert!(open.ends_with("# EOF\n"), "{open}");
    drop(rude);
    // The page says what has passed.
    let left = Raw::new(&link.client, "a0");
    for _ in 0..50 {
        left.send(&frame(OURS, &[1; 100]));
    }
    until(
        "all packets",
        || get(&link, 9817, "/metrics", "*/*"),
        |text| text.contains("dequeued_packets_total{pair=\"a1-b1\",direction=\"up\"} 150"),
    );
    process.interrupt();
}
