//! How much memory runs take that are kept on disk: their figures, and nothing that is written.

mod common;

use common::SMALL;
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Most resident memory that any of the children so far has had, in bytes.
fn most() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts it");
    used.max_rss() * 1024
}

/// Threads share one arena: what the allocator sets aside for each depends on their schedule, and is
/// no figure of a run.
fn succeed(arguments: &[&str], dir: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(arguments)
        .env("MALLOC_ARENA_MAX", "1")
        .current_dir(dir)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
}

/// Of a run of two links and two flows, in bytes: it takes 9000, and 16 000 more where each has a row
/// group of its own.
const EACH: i64 = 14_000;

#[test]
fn a_run_takes_its_figures_alone_whoever_writes_or_reads_it() {
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
    let (few, more) = (200, 1200);
    let report = |folder: &str| {
        succeed(&["report", folder, "--out", "again"], dir.path());
        most()
    };
    // Of all children so far: each step takes more than those before it.
    let run_few = run("100", "few");
    let report_few = report("few");
    let run_many = run("600", "many");
    let each = (run_many - run_few) / (more - few);
    assert!(each < EACH, "run: {each} bytes for each run");
    let each = (report("many") - report_few) / (more - few);
    assert!(each < EACH, "report: {each} bytes for each run");
}
