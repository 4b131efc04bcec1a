//! `sojourn evaluate` measures a queue or a congestion control by the cases of RFCs.

mod common;

use common::sojourn;
use serde_json::Value;
use sojourn_tidy::{generated, root};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The card of these words.
fn card(words: &[&str], dir: &Path) -> Value {
    let words = [&["evaluate", "--json", "--quiet"], words].concat();
    let output = sojourn(&words, dir);
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("the card is JSON")
}

fn mean(cell: &Value, measure: &str) -> f64 {
    let mean = &cell["measures"][measure]["mean"];
    mean.as_f64().unwrap_or_else(|| panic!("{measure}: {cell}"))
}

#[test]
fn a_card_shows_what_a_queue_does() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let short = ["--case", "short", "--case", "start", "--seeds", "2"];
    let of = |queue| card(&[&["--qdisc", queue], &short[..]].concat(), dir);
    let (fifo, fair) = (of("pfifo limit 1000"), of("fq_codel"));
    let cells = |card: &Value| card["cells"].as_array().expect("a list").clone();
    assert_eq!(cells(&fair).len(), 2);
    // 1000 packets at 10 Mbit/s are 1.2 s; a flow queue has its target of 5 ms.
    let delay = "queue delay, mean";
    let (fifo, fair) = (cells(&fifo), cells(&fair));
    assert!(mean(&fifo[0], delay) > 300.0 && mean(&fair[0], delay) < 20.0);
    let completion = "completion of 100 kB, mean";
    assert!(mean(&fifo[0], completion) > 2.0 * mean(&fair[0], completion));
    let share = "the later flow reaches its share after";
    assert!((0.5..10.0).contains(&mean(&fair[1], share)));
    assert!(fair[0]["measures"][delay]["ci95"].is_number());
    // Again the same.
    assert_eq!(of("fq_codel")["cells"], Value::from(fair));
}

#[test]
fn a_control_is_measured_beside_what_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["--cc", "cubic", "--case", "beside", "--seeds", "3"];
    let card = card(&words, dir.path());
    let cells = card["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 4);
    // CUBIC beside CUBIC.
    let cubic = &cells[0];
    assert_eq!(cubic["params"]["flow.old.tcp.cc"], "cubic");
    let ratio = mean(cubic, "new / old");
    assert!((0.6..1.7).contains(&ratio), "{ratio}");
}

/// Bounds that no sender and no queue can pass.
#[test]
fn measures_stay_within_what_the_line_allows() {
    let dir = tempfile::tempdir().unwrap();
    let cases = ["policer", "limited", "startup", "tenfold"];
    let mut words = vec!["--cc", "cubic", "--seeds", "2"];
    words.extend(cases.iter().flat_map(|case| ["--case", case]));
    let card = card(&words, dir.path());
    let cells = card["cells"].as_array().expect("a list");
    let of = |case: &str| cells.iter().find(|cell| cell["case"] == case).expect(case);
    let goodput = "goodput of the control";
    // A bucket of 10 Mbit/s, of which frames of 1514 bytes carry 1448; 60 kB are there at first,
    // before the warm-up's end.
    assert!(mean(of("policer"), goodput) <= 10.0 * 1448.0 / 1514.0);
    // Without losses: what the application gives, 1000 bytes every 4 ms.
    assert!((mean(of("limited"), goodput) - 2.0).abs() < 0.01);
    // Held for a second, so not before one has passed.
    assert!(mean(of("startup"), "the line is full after") >= 1.0);
    assert!(mean(of("tenfold"), "ten times the rate is used after") >= 0.9);
}

#[test]
fn one_of_four_flows_is_the_least_that_reduces() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "--qdisc",
        "codel",
        "--case",
        "congestion",
        "--case",
        "two-way",
        "--seeds",
        "2",
    ];
    let card = card(&words, dir.path());
    let cells = card["cells"].as_array().expect("a list");
    for (cell, flows) in cells.iter().zip([4.0, 16.0, 64.0]) {
        let together = mean(cell, "flows that reduce together");
        assert!((100.0 / flows..=100.0).contains(&together), "{cell}");
    }
    // The queue stands at both ends: neither way waits as in a FIFO of a thousand packets.
    let both_ways = &cells[3];
    assert!(mean(both_ways, "queue delay, p95") < 100.0, "{both_ways}");
    assert!(
        mean(both_ways, "induced RTT of a probe, p95") < 200.0,
        "{both_ways}"
    );
}

#[test]
fn the_folder_has_card_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    card(
        &[
            "--qdisc", "codel", "--case", "ecn", "--seeds", "2", "--out", "out",
        ],
        dir,
    );
    let text = fs::read_to_string(dir.join("out/card.md")).unwrap();
    assert!(
        text.contains("RFC 7567") && text.contains("ecn/report.html"),
        "{text}"
    );
    assert!(dir.join("out/ecn/report.html").is_file());
    assert!(dir.join("out/card.json").is_file());
}

#[test]
fn what_is_wrong_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (words, part) in [
        (
            &["--qdisc", "fq_codle"][..],
            "sojourn: --qdisc: unknown discipline `fq_codle`; did you mean `fq_codel`?",
        ),
        (
            &["--cc", "kubic"],
            "sojourn: --cc: unknown value `kubic`; did you mean `cubic`?",
        ),
        (&["--qdisc", "codel", "--case", "burts"], "burst"),
        (&["--qdisc", "codel", "--world", "live"], "sim"),
        (
            &["--qdisc", "codel", "--seeds", "1"],
            "`1` is not a whole number from 2 to 1000",
        ),
    ] {
        let words = [&["evaluate"], words].concat();
        let output = sojourn(&words, dir.path());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(told.contains(part), "{words:?}: {told}");
    }
}

/// The answer to "does L4S help my game beside uploads, and what does it do to the rest?": means of
/// the seeds, by queue and by what the game and the call send.
#[test]
fn the_how_to_has_the_figures_of_a_game_and_a_call_beside_uploads() {
    let words = ["run", "scenarios/basics/l4s-game.toml", "--json", "--quiet"];
    let output = sojourn(&words, &root());
    assert!(output.status.success(), "{output:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let runs = summary["cells"].as_array().expect("a list");
    let mut text = String::from(
        "| queue | ECN of game and call | lag of the game | frame delay of the call | lost frames in \
         60 s | call, Mbit/s | uploads, Mbit/s |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let same = |a: &Value, b: &Value| a["params"] == b["params"];
    for seeds in runs.chunk_by(same) {
        let mean = |of: &dyn Fn(&Value) -> f64| {
            seeds.iter().map(|run| of(&run["flows"])).sum::<f64>() / seeds.len() as f64
        };
        let figure = |flow: &'static str, key: &'static str, statistic: &'static str| {
            mean(&|flows| {
                let value = &flows[flow][key];
                let value = if statistic.is_empty() {
                    value
                } else {
                    &value[statistic]
                };
                value
                    .as_f64()
                    .unwrap_or_else(|| panic!("{flow} {key}: {flows:#}"))
            })
        };
        let spread = |flow, key| {
            let [p50, p99] = ["p50", "p99"].map(|statistic| figure(flow, key, statistic));
            format!("{p50:.0} / {p99:.0}")
        };
        let mbit = |flow| figure(flow, "goodput_bps", "") / 1e6;
        let params = &seeds[0]["params"];
        let word = |field: &str| params[field].as_str().expect("a text");
        let ecn = match word("flow.game.ecn") {
            "ect1" => "ECT(1)",
            other => other,
        };
        let _ = writeln!(
            text,
            "| `{}` | {ecn} | {} | {} | {:.0} | {:.2} | {:.1} |",
            word("dumbbell.up.qdisc"),
            spread("game", "app.lag_ms"),
            spread("call", "app.frame_ms"),
            figure("call", "app.lost_frames", ""),
            mbit("call"),
            mbit("upload-1") + mbit("upload-2"),
        );
    }
    generated::part("docs/how-to.md", "l4s-game", &text);
}
