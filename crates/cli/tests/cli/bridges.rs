//! `sojourn check` of a bridge's files.

use super::{Folder, sojourn, text};
use std::path::Path;

#[test]
fn the_examples_of_a_bridge_are_right() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/bridge");
    let check = |file: &str, more: &[&str]| {
        let file = dir.join(file).display().to_string();
        let output = sojourn(&[&["check", &file], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert!(check("bridge.toml", &[]).starts_with("a bridge: 2 pairs\n"));
    let pairs: serde_json::Value =
        serde_json::from_str(&check("bridge.toml", &["--json"])).expect("JSON");
    assert_eq!(pairs["pairs"][1]["down"]["rate_bps"], 90_000_000, "{pairs}");
    let shown = check("subscribers.toml", &[]);
    assert!(
        shown.starts_with("subscribers: 2 circuits with 3 address ranges below 2 sites\n"),
        "{shown}"
    );
    let row: Vec<&str> = shown
        .lines()
        .find(|line| line.starts_with("east"))
        .expect("a site")
        .split_whitespace()
        .collect();
    assert_eq!(
        row,
        ["east", "hill", "100Mbit", "200Mbit", "1", "2Mbit", "5Mbit"]
    );
    let subscribers: serde_json::Value =
        serde_json::from_str(&check("subscribers.toml", &["--json"])).expect("JSON");
    let circuit = &subscribers["circuits"][0];
    assert_eq!(circuit["most_bps"][1], 155_000_000, "{circuit}");
    assert_eq!(circuit["addresses"][1], "2001:db8:1::/56", "{circuit}");
    assert_eq!(circuit["qdisc"][0], serde_json::Value::Null);
}

/// Whatever changes a scenario, or chooses from it, is refused for another file, not passed over.
#[test]
fn options_of_scenarios_are_refused_for_other_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in [
        "contrib/bridge/bridge.toml",
        "contrib/bridge/subscribers.toml",
        "studies/codel-red/study.toml",
    ] {
        let file = root.join(file).display().to_string();
        for option in [
            ["--set", "duration=1s"],
            ["--sweep", "dumbbell.rtt=[\"10ms\"]"],
            ["--seed", "2"],
            ["--seeds", "2"],
            ["--cell", "1"],
        ] {
            let output = sojourn(&[&["check", &file], &option[..]].concat());
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{option:?}: {told}");
            assert!(told.contains(option[0]), "{told}");
        }
    }
}

#[test]
fn wrong_subscribers_are_told_with_their_places() {
    let right = include_str!("../../../../contrib/bridge/subscribers.toml");
    for (from, to, place, message) in [
        (
            "\"hill\"\nup",
            "\"\"\nup",
            "6:8: site[1].name: ",
            "is empty",
        ),
        (
            "\"1139\"",
            "\"11\\u001b[2J39\"",
            "26:8: circuit.11\u{241b}[2J39.name: ",
            "the control character \\u{1b} in a name",
        ),
        (
            "100.64.1.0/24",
            "100.64.1.0/33",
            "27:14: circuit.1139.addresses: ",
            "`100.64.1.0/33`",
        ),
        (
            "[\"100.64.1.0/24\"]",
            "[]",
            "27:13: circuit.1139.addresses: ",
            "has no address",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let folder = Folder::new(&right.replacen(from, to, 1));
        let file = folder.scenario();
        let output = sojourn(&["check", &file]);
        assert_eq!(output.status.code(), Some(2), "{to}");
        let told = text(&output.stderr);
        assert!(told.contains(&format!("{file}:{place}{message}")), "{told}");
        let output = sojourn(&["check", &file, "--json"]);
        assert_eq!(output.status.code(), Some(2), "{to}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(json["problems"][0]["line"].is_u64(), "{json}");
    }
}
