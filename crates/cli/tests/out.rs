//! What `--out` keeps and refuses, and what goes to standard output. The live world takes root; its
//! test is passed over without, except in CI (`CI=true`).

mod common;

use common::rig::available;
use common::{SMALL, good, run};
use std::fs;
use std::path::Path;

/// A folder with `small.toml`, and `other.toml`, which is a scenario of another name.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    let small = SMALL.replace("2s", "1s");
    fs::write(dir.path().join("small.toml"), &small).expect("it can be written");
    let other = small.replace("\"small\"", "\"other\"");
    fs::write(dir.path().join("other.toml"), other).expect("it can be written");
    dir
}

/// What a command that is refused says.
fn refused(words: &str, dir: &Path) -> String {
    let output = run(words, dir);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(output.stdout.is_empty(), "{words}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the folder is there");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry.expect("readable")))
        .collect();
    names.sort();
    names
}

const RESULTS: [&str; 3] = ["report.html", "results.parquet", "summary.json"];

#[test]
fn results_of_another_scenario_are_not_written_over() {
    let folder = folder();
    let dir = folder.path();
    good("run small.toml --out out", dir);
    let before = fs::read(dir.join("out/summary.json")).expect("it was written");
    let said = refused("run other.toml --out out", dir);
    assert!(
        said.contains("--out out: holds results of scenario `small`")
            && said.contains("--overwrite"),
        "{said}"
    );
    good("run other.toml --out elsewhere", dir);
    let said = refused("report elsewhere --out out", dir);
    assert!(said.contains("holds results of scenario `small`"), "{said}");
    let after = fs::read(dir.join("out/summary.json")).expect("it is there");
    assert!(before == after, "what was refused has changed something");
    // The same scenario may run again, and who says so may replace another.
    good("run small.toml --out out --seed 2", dir);
    good("run other.toml --out out --overwrite", dir);
    assert_eq!(names(&dir.join("out")), RESULTS);
    // What is no summary of ours is not replaced either.
    fs::write(dir.join("out/summary.json"), "{}").expect("it can be written");
    let said = refused("run other.toml --out out", dir);
    assert!(said.contains("summary.json is damaged"), "{said}");
}

#[test]
fn a_study_and_a_scenario_keep_apart() {
    let folder = folder();
    let dir = folder.path();
    let study = "format = \"sojourn-study/1\"\nname = \"small\"\ntitle = \"t\"\nsource = \"s\"\n\
        [[setting]]\nname = \"A\"\nscenario = \"small.toml\"\n[axes.aqm]\n\
        fifo.\"dumbbell.qdisc\" = \"pfifo limit 20\"\n[[claim]]\nid = \"T1\"\nsetting = \"A\"\n\
        statement = \"s\"\npublished = \"p\"\ncheck = [\"for aqm: link.utilisation[link=up] > 1%\"]\n";
    fs::write(dir.join("study.toml"), study).expect("it can be written");
    let (told, _) = good("reproduce . --out out --quiet", dir);
    assert_eq!(told, "");
    let said = refused("run small.toml --out out", dir);
    assert!(said.contains("holds results of study `small`"), "{said}");
    good("run small.toml --out out --overwrite", dir);
    assert_eq!(
        names(&dir.join("out")),
        RESULTS,
        "no claims beside another's results"
    );
    let said = refused("reproduce . --out out", dir);
    assert!(said.contains("holds results of scenario `small`"), "{said}");
}

#[test]
fn captures_are_of_the_results_beside_them() {
    let folder = folder();
    let dir = folder.path();
    good("run small.toml --out out --pcap up", dir);
    let out = dir.join("out");
    let captures = ["run-1-up.pcapng", "run-2-up.pcapng"];
    assert_eq!(
        names(&out),
        [&RESULTS[..1], &RESULTS[1..2], &captures, &RESULTS[2..]].concat()
    );
    fs::write(out.join("notes.txt"), "mine").expect("it can be written");
    good(
        "run small.toml --out out --set dumbbell.qdisc=pie --pcap down",
        dir,
    );
    let found = names(&out);
    assert_eq!(found[0], "notes.txt", "what is not ours stays");
    assert_eq!(found[3], "run-1-down.pcapng");
    assert_eq!(found.len(), 5, "{found:?}");
    good("run small.toml --out out", dir);
    assert_eq!(names(&out)[1..], RESULTS);
}

#[test]
fn standard_output_has_what_was_asked_for() {
    let folder = folder();
    let dir = folder.path();
    let (table, _) = good("run small.toml --out out", dir);
    assert!(
        table.contains("pfifo limit 20") && table.ends_with("out/report.html\n"),
        "{table}"
    );
    assert_eq!(
        good("run small.toml --out out --quiet --seeds 2", dir),
        Default::default()
    );
    let (csv, _) = good("run small.toml --csv", dir);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0][..5],
        [
            "dumbbell.qdisc",
            "seed",
            "goodput_bps",
            "jain",
            "induced_rtt_ms.p50"
        ]
    );
    assert_eq!(lines[1][..2], ["pfifo limit 20", "1"]);
    let goodput: f64 = lines[1][2].parse().expect("a number");
    assert!((1e5..2e6).contains(&goodput), "{csv}");
}

#[test]
fn seeds_that_change_nothing_are_said_and_not_counted() {
    let folder = folder();
    let dir = folder.path();
    let (_, told) = good("run small.toml --seeds 3 --out out", dir);
    assert!(
        told.contains("Another seed changed nothing in 2 of 2 cells: 4 of 6 runs"),
        "{told}"
    );
    let read = |name: &str| fs::read_to_string(dir.join("out").join(name)).expect("it was written");
    assert!(read("report.html").contains("Another seed changed nothing"));
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).expect("JSON");
    assert_eq!(
        summary["cells"].as_array().map(Vec::len),
        Some(6),
        "all runs are kept"
    );
    assert_eq!(
        summary["over_seeds"][0]["distinct"], 1,
        "of which one tells"
    );
    let random = "run small.toml --seeds 3 --set flow.upload.start_spread=100ms";
    assert_eq!(good(random, dir).1, "");
}

#[test]
fn a_check_can_be_read_by_a_program() {
    let folder = folder();
    let dir = folder.path();
    let (json, _) = good("check small.toml --json", dir);
    let read: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(read["format"], "sojourn-check/1");
    let queue = read["cells"][1]["links"][0]["qdisc"].as_str();
    assert!(
        queue.is_some_and(|queue| queue.starts_with("fq_codel limit 10240")),
        "{json}"
    );
    assert_eq!(read["cells"][1]["links"][0]["rate_bps"], 2_000_000);
    assert_eq!(read["cells"][0]["flows"][1]["app"], "ping");
    let output = run("check small.toml --json --set dumbbell.qdisc=pye", dir);
    assert_eq!(output.status.code(), Some(2));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let problem = &read["problems"][0];
    assert_eq!(problem["file"], "--set");
    assert_eq!(problem["field"], "dumbbell.qdisc");
    assert_eq!(problem["help"], "did you mean `pie`?");
}

#[test]
fn completions_and_manual_pages_are_made() {
    let folder = folder();
    let dir = folder.path();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (script, _) = good(&format!("completions {shell}"), dir);
        assert!(
            script.contains("reproduce") && script.contains("overwrite"),
            "{shell}"
        );
    }
    good("man pages/man1", dir);
    let pages = names(&dir.join("pages/man1"));
    for page in ["sojourn.1", "sojourn-run.1", "sojourn-qdisc-explain.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} of {pages:?}");
    }
    let page = fs::read_to_string(dir.join("pages/man1/sojourn-run.1")).expect("it was written");
    assert!(
        page.contains(".SH OPTIONS") && page.contains("overwrite"),
        "{page}"
    );
}

#[test]
fn worlds_stand_side_by_side_in_one_run() {
    if !available() {
        return;
    }
    let folder = folder();
    let dir = folder.path();
    let (table, _) = good(
        "run small.toml --world both --set dumbbell.qdisc=pie --out out --pcap up",
        dir,
    );
    assert!(table.starts_with("world  dumbbell.qdisc"), "{table}");
    let captures = names(&dir.join("out"));
    assert_eq!(captures[0], "live-run-1-up.pcapng");
    assert!(
        captures.iter().any(|name| name == "sim-run-1-up.pcapng"),
        "{captures:?}"
    );
    let text = fs::read_to_string(dir.join("out/summary.json")).expect("it was written");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let worlds: Vec<_> = (0..2)
        .map(|n| summary["cells"][n]["world"].clone())
        .collect();
    assert_eq!(worlds, ["sim", "live"]);
}
