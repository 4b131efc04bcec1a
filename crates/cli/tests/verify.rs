//! `sojourn run --verify` sets the simulator beside Linux.
//!
//! Takes the user's guest kernel; `make test` builds it, `sojourn kernel build` does too.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{program, scenario, text};

#[test]
fn linux_is_asked_in_the_same_cells() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario(dir.path(), 8);
    let mut command = program(dir.path(), &["run", "--verify", "--seed", "1"]);
    let queues = "dumbbell.qdisc=['fq_codel', 'pie']";
    command.arg(&file).args(["--sweep", queues]);
    let output = command
        .arg("--out")
        .arg(dir.path().join("out"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = text(&output.stdout);
    let last = shown.trim_end().lines().last().unwrap();
    assert!(
        last.starts_with("Linux agrees in ") && last.contains(" of 2 cells; "),
        "{shown}"
    );
    assert!(
        last.contains(" against ") && last.ends_with(" simulated."),
        "{shown}"
    );
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let results = merged.whole().unwrap();
    let worlds: Vec<&str> = results.iter().map(|run| run.world.as_str()).collect();
    assert_eq!(worlds, ["sim", "sim", "kernel-tc", "kernel-tc"]);
}

#[test]
fn what_is_asked_for_is_all_that_standard_output_has() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario(dir.path(), 2);
    let mut command = program(dir.path(), &["run", "--verify", "--csv", "--seed", "1"]);
    let output = command.arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!text(&output.stdout).contains("Linux"), "{output:?}");
    assert!(
        text(&output.stderr).contains("sojourn: Linux "),
        "{output:?}"
    );
}

#[test]
fn other_worlds_are_not_verified() {
    let dir = tempfile::tempdir().unwrap();
    let file = scenario(dir.path(), 2);
    for (more, part) in [
        (
            &["--world", "kernel"][..],
            "--verify sets the simulator beside Linux",
        ),
        (
            &["--world", "sim,kernel"],
            "--verify sets the simulator beside Linux",
        ),
        (&["--queues", "ours"], "cannot be used with"),
    ] {
        let mut command = program(dir.path(), &["run", "--verify"]);
        let output = command.arg(&file).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
}

/// A queue that never fills is the same with every seed, so that three decide. What was run is not
/// run again: the table comes back as it was.
#[test]
fn seeds_are_added_until_they_decide() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = include_str!("../../../scenarios/fidelity/matrix.csv");
    let head = recorded.lines().next().unwrap();
    let empty = dir.path().join("empty.csv");
    std::fs::write(&empty, format!("{head}\n")).unwrap();
    let (out, again) = (dir.path().join("out"), dir.path().join("again"));
    let decide = |record: &std::path::Path, out: &std::path::Path| {
        let cell = "start-up/6mbit/50ms/pfifo/cubic";
        let words = [
            "fidelity",
            "--world",
            "sim,kernel-tc",
            "--decide",
            "6",
            "--cell",
            cell,
        ];
        let mut command = program(dir.path(), &words);
        command.arg("--record").arg(record).arg("--out").arg(out);
        command
    };
    let output = decide(&empty, &out).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = out.join("fidelity.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let seeds: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(',').skip(6).take(2).collect())
        .collect();
    assert_eq!(
        seeds,
        [["world", "seeds"], ["sim", "3"], ["kernel-tc", "3"]],
        "{text}"
    );
    let output = decide(&table, &again).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        std::fs::read_to_string(again.join("fidelity.csv")).unwrap(),
        text
    );
}
