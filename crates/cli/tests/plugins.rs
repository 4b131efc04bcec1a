//! `rust:FILE.so:AQM` at the command line.

mod common;

use common::{SMALL, sojourn};
use std::fs;
use std::path::Path;

/// The name of the AQM of the example `slope`, which cargo builds beside the tests.
fn slope() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_sojourn"));
    let library = program.with_file_name("examples/libslope.so");
    assert!(
        library.exists(),
        "cargo build -p sojourn-plugin --example slope"
    );
    format!("rust:{}:Slope", library.display())
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
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
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
    let words = [
        "evaluate",
        "--qdisc",
        &slope(),
        "--case",
        "short",
        "--seeds",
        "2",
        "--quiet",
    ];
    let (code, said, error) = told(&words, dir);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("Slope"), "{said}");
}

#[test]
fn what_a_plug_in_cannot_do_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
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
            &["evaluate", "--cc", &slope],
            "a plug-in is a queue's: use --qdisc",
        ),
    ] {
        let (code, said, error) = told(words, dir);
        assert_eq!((code, &*said), (Some(2), ""), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
