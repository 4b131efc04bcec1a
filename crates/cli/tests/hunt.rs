//! `sojourn hunt` finds the smallest scenario in which a property breaks.

mod common;

use common::sojourn;
use std::fs;
use std::path::Path;
use std::process::Output;

const SPACE: &str = r#"
format = "sojourn-scenario/1"
name = "space"
duration = "3s"
warmup = "1s"

[dumbbell]
rtt = "20ms"
up = { rate = "2mbit", qdisc = "pfifo limit 20" }
down = { rate = "100mbit" }

[sweep]
flow.bulk.count = "0 .. 4"
dumbbell.up.rate = "1mbit .. 4mbit"

[[flow]]
name = "bulk"
direction = "up"
app = "bulk"

[[flow]]
name = "probe"
direction = "up"
app = { kind = "ping", interval = "20ms" }
"#;

const INDUCED: &str = "flow.induced_rtt_ms.p95[flow=probe] <= 30";

fn hunt(words: &[&str], dir: &Path) -> (Output, String) {
    fs::write(dir.join("space.toml"), SPACE).unwrap();
    let words = [&["hunt", "space.toml", "--quiet"], words].concat();
    let output = sojourn(&words, dir);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[test]
fn what_is_found_is_a_scenario_that_breaks_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let words = ["--property", INDUCED, "--runs", "100"];
    let (output, text) = hunt(&words, dir);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // A bulk flow fills the queue of 20 packets, and no fewer flows do.
    for part in [
        "# It breaks: flow.induced",
        "count = 1",
        "seeds = [1]",
        "sojourn run",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // On one thread the same.
    let (_, again) = hunt(&[&words[..], &["--jobs", "1"]].concat(), dir);
    assert_eq!(again, text);
    // By itself it breaks too, and it runs.
    fs::write(dir.join("broken.toml"), &text).unwrap();
    let words = ["hunt", "broken.toml", "--property", INDUCED, "--runs", "1"];
    assert_eq!(sojourn(&words, dir).status.code(), Some(1));
    let run = sojourn(&["run", "broken.toml"], dir);
    assert!(run.status.success(), "{run:?}");
}

#[test]
fn nothing_found_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["--property", "link.utilisation < 110%", "--cpu", "10ms"];
    let (output, text) = hunt(&words, dir.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        text.starts_with("Nothing found: ") && text.contains(" runs, "),
        "{text}"
    );
}

#[test]
fn two_queues_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let check = "flow.induced_rtt_ms.p95[codel, flow=probe] \
                 <= 120% * flow.induced_rtt_ms.p95[fq_codel, flow=probe]";
    let words = [
        "--sweep",
        "dumbbell.up.qdisc=[fq_codel, codel]",
        "--compare",
        "dumbbell.up.qdisc",
        "--property",
        check,
        "--runs",
        "200",
        "--out",
        "worse.toml",
    ];
    let (output, story) = hunt(&words, dir.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        story.contains("Replay it: sojourn run worse.toml"),
        "{story}"
    );
    let file = fs::read_to_string(dir.path().join("worse.toml")).unwrap();
    assert!(file.contains("[\"fq_codel\", \"codel\"]"), "{file}");
}

#[test]
fn what_is_wrong_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (words, part) in [
        (
            &["--property", "link.utilisation"][..],
            "expected a comparison",
        ),
        (
            &["--property", "link.utilization < 1"],
            "did you mean `link.utilisation`",
        ),
        (
            &[
                "--property",
                INDUCED,
                "--sweep",
                "dumbbell.rtt=1ms .. 5mbit",
            ],
            "not an interval",
        ),
        (
            &["--property", INDUCED, "--compare", "dumbbell.rtt"],
            "not swept as a list",
        ),
        (
            &["--property", INDUCED, "--link", "upp"],
            "did you mean `up`",
        ),
        (&["--property", INDUCED, "--world", "live"], "sim"),
        (
            &["--property", INDUCED, "--out", "no/folder.toml"],
            "its folder is not there",
        ),
        // The line of the file, not of a scenario that was made of it.
        (
            &["--property", INDUCED, "--sweep", "dumbbell.qdisc=[pye]"],
            "--sweep: dumbbell.qdisc: ",
        ),
        (&[], "--property"),
    ] {
        let (output, _) = hunt(words, dir.path());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(told.contains(part), "{words:?}: {told}");
    }
}
