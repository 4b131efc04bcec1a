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
