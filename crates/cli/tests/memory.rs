//! How much memory runs take that are kept on disk: their figures, and nothing that is written.

mod common;

use common::SMALL;
use common::rig::stay_on_a_processor;
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Most resident memory that any of the children so far has had, in bytes.
fn most() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts it");
    used.max_rss() * 1024
}

/// Threads share one arena, and what is as large as a table goes back as soon as it is free: what the
/// allocator sets aside depends on the threads' schedule, and is no figure of a run.
fn succeed(arguments: &[&str], dir: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(arguments)
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .current_dir(dir)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
}

/// Of a run of two links and two flows, in bytes: it takes 11 300, and 16 000 more where each has a
/// row group of its own.
const EACH: i64 = 14_000;

#[test]
fn a_run_takes_its_figures_alone_whoever_writes_or_reads_it() {
    // As many jobs as processors, and on one alone the runs of a job and the parts of a report follow
    // each other: with more of them, it is the load that says how many are in memory at once.
    stay_on_a_processor();
    let dir = tempfile::tempdir().expect("a folder");
    let text = SMALL.replace("\"bulk\"", "\"bulk\"\nstart_spread = \"500ms\"");
    fs::write(dir.path().join("many.toml"), text).expect("a scenario");
    let run = |seeds: &str, out: &str| {
        let arguments = [
            "run",
            "many.toml",
            "--quiet",
            "--seeds",
            seeds,
            "--out",
            out,
        ];
        succeed(&arguments, dir.path());
        most()
    };
    // The many differ from the few by 22 MB, and one and the same step from itself by 1 MB.
    let (few, more) = (200, 2200);
    let report = |folder: &str| {
        succeed(&["report", folder, "--out", "again"], dir.path());
        most()
    };
    // Of all children so far: each step takes more than those before it.
    let run_few = run("100", "few");
    let report_few = report("few");
    let run_many = run("1100", "many");
    let each = (run_many - run_few) / (more - few);
    assert!(each < EACH, "run: {each} bytes for each run");
    let each = (report("many") - report_few) / (more - few);
    assert!(each < EACH, "report: {each} bytes for each run");
}
