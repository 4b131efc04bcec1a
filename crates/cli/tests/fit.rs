//! `sojourn fit` finds the line that a measurement was made on: runs of a known line are given to
//! it as Flent's data files and as captures.

mod common;

use common::sojourn;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// A line with `up` and `down`, each a table of the dumbbell, and TCP streams that way.
fn scenario(dir: &Path, up: &str, down: &str, ways: &[&str]) -> PathBuf {
    let mut text = format!(
        r#"format = "sojourn-scenario/1"
name = "known"
duration = "30s"
warmup = "10s"
sample = "200ms"

[dumbbell]
rtt = "30ms"
up = {{ {up} }}
down = {{ {down} }}

[[flow]]
name = "ping"
direction = "up"
app = {{ kind = "ping", size = 64, interval = "200ms" }}
"#
    );
    for way in ways {
        let _ = write!(
            text,
            r#"
[[flow]]
name = "{way}load"
direction = "{way}"
count = 2
app = "bulk"
start = "4s"
"#
        );
    }
    let path = dir.join("known.toml");
    std::fs::write(&path, text).expect("the folder is the test's own");
    path
}

/// Runs it, and gives the data file of Flent's, or the client's capture.
fn measured(dir: &Path, scenario: &Path, name: &str, as_capture: bool) -> PathBuf {
    let out = dir.join(name);
    let [scenario, to] = [scenario, &out].map(|path| path.to_str().expect("plain names"));
    let run = ["run", scenario, "--quiet", "--out", to, "--pcap", "client"];
    assert!(sojourn(&run, dir).status.success());
    if as_capture {
        return out.join("run-1-client.pcapng");
    }
    let files = dir.join(format!("{name}-flent"));
    let export = [
        "export",
        "--flent",
        to,
        "--out",
        files.to_str().expect("plain"),
    ];
    assert!(sojourn(&export, dir).status.success());
    let mut files = std::fs::read_dir(files).expect("it was written");
    files
        .next()
        .expect("one run")
        .expect("it can be read")
        .path()
}

/// The scenario that is found.
fn found(dir: &Path, files: &[&Path], more: &[&str]) -> DocumentMut {
    let mut arguments = vec!["fit"];
    arguments.extend(files.iter().map(|file| file.to_str().expect("plain names")));
    arguments.extend(more);
    let output = sojourn(&arguments, dir);
    let error = String::from_utf8_lossy(&output.stderr);
    // Good, or fair.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{error}");
    assert_eq!(error, "", "nothing but the scenario is printed");
    let text = String::from_utf8(output.stdout).expect("a scenario is text");
    // With `--nocapture`: the figures that `docs/fit.md` quotes.
    println!("{text}");
    std::fs::write(dir.join("found.toml"), &text).expect("the folder is the test's own");
    let check = sojourn(&["check", "found.toml"], dir);
    assert!(check.status.success(), "{text}");
    text.parse().expect("a scenario is TOML")
}

fn rate(line: &DocumentMut, way: &str) -> f64 {
    let rate = line["dumbbell"][way]["rate"].as_str().expect("a rate");
    rate.strip_suffix("mbit")
        .expect("in Mbit/s")
        .parse()
        .expect("a number")
}

fn buffer(line: &DocumentMut, way: &str) -> f64 {
    let qdisc = line["dumbbell"][way]["qdisc"].as_str().expect("a queue");
    let limit = qdisc.strip_prefix("bfifo limit ");
    limit.expect("a FIFO").parse().expect("a number")
}

fn rtt(line: &DocumentMut) -> f64 {
    let rtt = line["dumbbell"]["rtt"].as_str().expect("a time");
    rtt.strip_suffix("ms")
        .expect("in ms")
        .parse()
        .expect("a number")
}

#[track_caller]
fn near(value: f64, wanted: f64, within: f64) {
    let off = value / wanted - 1.0;
    assert!(
        off.abs() <= within,
        "{value} is {:.1} % off {wanted}",
        off * 100.0
    );
}

const UP: &str = r#"rate = "4mbit", qdisc = "bfifo limit 80000""#;
const DOWN: &str = r#"rate = "16mbit", qdisc = "bfifo limit 160000""#;

#[test]
fn both_directions_are_found_from_a_test_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let up = measured(dir, &scenario(dir, UP, DOWN, &["up"]), "up", false);
    let down = measured(dir, &scenario(dir, UP, DOWN, &["down"]), "down", false);
    let line = found(dir, &[&up, &down], &[]);
    near(rtt(&line), 30.0, 0.01);
    near(rate(&line, "up"), 4.0, 0.01);
    near(rate(&line, "down"), 16.0, 0.01);
    near(buffer(&line, "up"), 80_000.0, 0.03);
    near(buffer(&line, "down"), 160_000.0, 0.03);
}

/// A data file of Flent's: an upload of 10 Mbit/s, with these round trips under load.
fn upload(dir: &Path, name: &str, seconds: usize, trip: impl Fn(usize) -> f64) -> PathBuf {
    let steps = 50 + 5 * seconds;
    let all = |value: &dyn Fn(usize) -> serde_json::Value| (0..steps).map(value).collect();
    let times: Vec<serde_json::Value> = all(&|step| (step as f64 / 5.0).into());
    let trips: Vec<serde_json::Value> = all(&|step| match step {
        ..50 => 20.0.into(),
        step => trip(step).into(),
    });
    let rates: Vec<serde_json::Value> = all(&|step| match step {
        ..50 => serde_json::Value::Null,
        _ => 10.0.into(),
    });
    let file = serde_json::json!({
        "version": 4, "x_values": times, "metadata": { "NAME": "tcp_upload" },
        "results": { "TCP upload": rates, "Ping (ms) ICMP": trips },
    });
    let path = dir.join(name);
    std::fs::write(&path, file.to_string()).expect("the folder is the test's own");
    path
}

#[test]
fn no_line_is_given_where_none_gives_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let fit = |file: &Path| {
        let file = file.to_str().expect("plain names");
        sojourn(&["fit", file, "--out", "found.toml", "--quiet"], dir)
    };
    // No queue adds 5 ms for most of the time and half a second else, over and over.
    let odd = upload(dir, "odd.flent", 20, |step| match step % 5 {
        0 => 520.0,
        _ => 25.0,
    });
    let output = fit(&odd);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(error.contains("no line gives these figures") && output.stdout.is_empty());
    assert!(!dir.join("found.toml").exists(), "nothing was written");
    let report = ["report", odd.to_str().unwrap(), "--out", "page"];
    assert_eq!(sojourn(&report, dir).status.code(), Some(1));
    assert!(!dir.join("page/report.html").exists());
    // A load that is too short is refused before anything is simulated.
    let short = fit(&upload(dir, "short.flent", 2, |_| 60.0));
    let error = String::from_utf8_lossy(&short.stderr);
    assert_eq!(short.status.code(), Some(2), "{error}");
    assert!(
        error.contains("short.flent: has a load of 1.8 s"),
        "{error}"
    );
    // A FIFO explains a load of one height.
    let good = fit(&upload(dir, "good.flent", 20, |_| 60.0));
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    let shown = String::from_utf8_lossy(&good.stdout);
    assert!(shown.contains("Grade: good"), "{shown}");
    let scenario = std::fs::read_to_string(dir.join("found.toml")).unwrap();
    assert!(scenario.contains("# Grade: good"), "{scenario}");
}

#[test]
fn one_test_of_both_directions_tells_the_rates() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let both = measured(
        dir,
        &scenario(dir, UP, DOWN, &["up", "down"]),
        "both",
        false,
    );
    let line = found(dir, &[&both], &[]);
    near(rtt(&line), 30.0, 0.02);
    near(rate(&line, "up"), 4.0, 0.05);
    near(rate(&line, "down"), 16.0, 0.1);
    // Whose the delay is does not show: both buffers get the same time.
    let delay = |way| buffer(&line, way) / rate(&line, way);
    near(delay("up"), delay("down"), 0.1);
}

#[test]
fn a_capture_at_the_client_tells_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let up = measured(dir, &scenario(dir, UP, DOWN, &["up"]), "up", true);
    let line = found(dir, &[&up], &[]);
    near(rtt(&line), 30.0, 0.12);
    near(rate(&line, "up"), 4.0, 0.01);
    near(buffer(&line, "up"), 80_000.0, 0.05);
    assert_eq!(line["dumbbell"]["down"]["rate"].as_str(), Some("unlimited"));
    // Who is the client can be said, and must be there.
    let file = up.to_str().unwrap();
    let output = sojourn(&["fit", file, "--client", "192.0.2.77"], dir);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("has no TCP packets of 192.0.2.77"),
        "{error}"
    );
}

#[test]
fn a_line_that_no_fifo_explains_has_flow_queues() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let managed = r#"rate = "4mbit", qdisc = "fq_codel""#;
    let up = measured(dir, &scenario(dir, managed, DOWN, &["up"]), "up", false);
    let line = found(dir, &[&up], &[]);
    near(rate(&line, "up"), 4.0, 0.03);
    assert_eq!(line["dumbbell"]["up"]["qdisc"].as_str(), Some("fq_codel"));
}

#[test]
fn what_cannot_be_used_is_said_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("a.flent.gz"), "plain").unwrap();
    std::fs::write(dir.join("a.pcapng"), "plain text, and no capture").unwrap();
    let idle = measured(dir, &scenario(dir, UP, DOWN, &[]), "idle", false);
    for (file, part) in [
        ("missing.flent.gz", "missing.flent.gz: No such file"),
        ("a.flent.gz", "a.flent.gz: is not a .flent.gz file"),
        ("a.pcapng", "a.pcapng: not a capture"),
        (
            idle.to_str().unwrap(),
            "has no TCP stream that carries anything",
        ),
    ] {
        let output = sojourn(&["fit", file], dir);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part), "{file}: {error}");
    }
}

#[test]
fn a_report_sets_the_measurement_beside_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let up = measured(dir, &scenario(dir, UP, DOWN, &["up"]), "up", false);
    let file = up.to_str().unwrap();
    let output = sojourn(&["report", file, "--out", "page"], dir);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    for name in ["report.html", "results.parquet", "line.toml"] {
        assert!(dir.join("page").join(name).exists(), "{name}");
    }
    let summary = std::fs::read_to_string(dir.join("page/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let median = |world: &str| {
        let mut runs = summary["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|run| run["world"] == world);
        let run = runs.next().expect("there is one");
        run["flows"]["ping"]["induced_rtt_ms"]["p50"]
            .as_f64()
            .unwrap()
    };
    near(median("measured"), median("sim"), 0.1);
    // Several files, or none to write to, make no such report.
    for arguments in [
        &["report", file][..],
        &["report", file, "page", "--out", "b"],
    ] {
        let output = sojourn(arguments, dir);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    std::fs::write(dir.join("up.pcapng"), "").unwrap();
    let output = sojourn(&["report", "up.pcapng", "--out", "b"], dir);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("up.pcapng: is a file"), "{error}");
}
