//! `rust:FILE.so:TYPE` at the command line.

mod common;

use common::{SMALL, STUDY, sojourn};
use std::fs;
use std::path::Path;

/// The name of a type of an example, which cargo builds beside the tests.
fn example(name: &str, type_name: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_sojourn"));
    let library = program.with_file_name(format!("examples/lib{name}.so"));
    assert!(
        library.exists(),
        "cargo build -p sojourn-plugin --example {name}"
    );
    format!("rust:{}:{type_name}", library.display())
}

fn slope() -> String {
    example("slope", "Slope")
}

fn calm() -> String {
    example("calm", "Calm")
}

fn told(words: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    let output = sojourn(words, dir);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_plug_in_runs_wherever_a_queue_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    fs::write(dir.join("small.toml"), SMALL).expect("a scenario");
    let given = format!("dumbbell.qdisc=[codel, {} low=1ms]", slope());
    let words = ["run", "small.toml", "--sweep", &given, "--json", "--quiet"];
    let digests = || {
        let (code, said, error) = told(&words, dir);
        assert_eq!(code, Some(0), "{error}");
        assert!(said.contains(&format!("{} low=1ms", slope())));
        let summary: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        [0, 1].map(|cell| summary["cells"][cell]["digest"].clone())
    };
    let first = digests();
    assert_ne!(first[0], first[1]);
    assert_eq!(digests(), first, "the same seed, the same result");
    let (code, said, error) = told(&["check", "small.toml", "--sweep", &given], dir);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("Slope low=1ms"), "{said}");
    let measured = ["--case", "short", "--seeds", "2", "--quiet"];
    let own = slope();
    let words = [&["evaluate", "--qdisc", &own][..], &measured].concat();
    let (code, said, error) = told(&words, dir);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("Slope"), "{said}");
}

#[test]
fn a_plug_in_runs_wherever_a_congestion_control_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    fs::write(dir.join("small.toml"), SMALL).expect("a scenario");
    let own = format!("{} beta=0.9", calm());
    let given = format!("tcp.cc=[reno, {own}]");
    let words = ["run", "small.toml", "--sweep", &given, "--json", "--quiet"];
    let (code, said, error) = told(&words, dir);
    assert_eq!(code, Some(0), "{error}");
    let summary: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    let digest = |cell: usize| &summary["cells"][cell]["digest"];
    assert_ne!(digest(0), digest(1));
    assert!(said.contains(&own), "{said}");
    let (code, said, error) = told(&["check", "small.toml", "--sweep", &given], dir);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("Calm beta=0.9"), "{said}");
    let measured = ["--case", "outage", "--seeds", "2", "--quiet"];
    let words = [&["evaluate", "--cc", &own][..], &measured].concat();
    let (code, said, error) = told(&words, dir);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("Calm beta=0.9"), "{said}");
}

#[test]
fn a_plug_in_runs_beside_the_queues_of_a_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    for (name, text) in [("study.toml", STUDY), ("small.toml", SMALL)] {
        fs::write(dir.join(name), text).expect("it can be written");
    }
    let own = format!("{} low=1ms", slope());
    let words = [
        "reproduce",
        ".",
        "--seeds",
        "2",
        "--queue",
        &own,
        "--out",
        "out",
    ];
    let (code, said, error) = told(&words, dir);
    assert_eq!(code, Some(0), "{said}{error}");
    let claims = fs::read_to_string(dir.join("out/claims.json")).expect("its claims");
    assert!(claims.contains(&own), "{claims}");
    let page = fs::read_to_string(dir.join("out/report.html")).expect("its page");
    assert!(page.contains("yours"));
    let (code, said, error) = told(&["report", "out", "--out", "again"], dir);
    assert_eq!(code, Some(0), "{said}{error}");
    let again = fs::read_to_string(dir.join("again/claims.json")).expect("its claims");
    assert!(again.contains(&own), "{again}");
}

#[test]
fn what_a_plug_in_cannot_do_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    fs::write(dir.join("small.toml"), SMALL).expect("a scenario");
    let wrong = format!("dumbbell.qdisc={} low=60ms", slope());
    let given = format!("dumbbell.qdisc={}", slope());
    let slope = slope();
    for (words, part) in [
        (
            &["run", "small.toml", "--set", &wrong][..],
            "Slope: `low` must be below `high`",
        ),
        (
            &["run", "small.toml", "--set", &given, "--world", "kernel"],
            "a plug-in runs in the world `sim` only, not in `kernel`",
        ),
        (
            &[
                "run",
                "small.toml",
                "--set",
                &given,
                "--out",
                "out",
                "--resume",
            ],
            "small: --resume cannot know whether the plug-in has changed",
        ),
        (
            &["evaluate", "--cc", &slope],
            "--cc: `Slope` is an AQM, and a congestion control belongs here",
        ),
        (
            &["evaluate", "--qdisc", &calm()],
            "--qdisc: `Calm` is a congestion control, and an AQM belongs here",
        ),
        (
            &["evaluate", "--cc", &calm(), "--world", "kernel"],
            "--cc: a plug-in runs in the world `sim` only, not in `kernel`",
        ),
        (
            &["reproduce", "codel-red", "--queue", &calm()],
            "--queue: `Calm` is a congestion control, and an AQM belongs here",
        ),
        (
            &[
                "reproduce",
                "codel-red",
                "--queue",
                &wrong["dumbbell.qdisc=".len()..],
            ],
            "--queue: Slope: `low` must be below `high`",
        ),
        (
            &["reproduce", "cake", "--queue", &slope, "--world", "both"],
            "--queue: a plug-in runs in the world `sim` only, not in `live`",
        ),
    ] {
        let (code, said, error) = told(words, dir);
        assert_eq!((code, &*said), (Some(2), ""), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
