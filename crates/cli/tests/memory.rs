//! How much memory runs take that are kept on disk: their figures, and nothing that is written.

mod common;

use common::{SMALL, sojourn};
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::path::Path;

/// Most resident memory that any of the children so far has had, in bytes.
fn most() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts it");
    used.max_rss() * 1024
}

fn succeed(arguments: &[&str], dir: &Path) {
    let output = sojourn(arguments, dir);
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
    let before = run("100", "few");
    let after = run("600", "many");
    let each = (after - before) / (more - few);
    assert!(each < EACH, "run: {each} bytes for each run");
    succeed(&["report", "many", "--out", "again"], dir.path());
    let each = (most() - before) / (more - few);
    assert!(each < EACH, "report: {each} bytes for each run");
}
