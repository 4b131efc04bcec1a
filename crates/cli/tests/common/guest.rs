//! Runs in guests of the real kernel, with folders of their own.
#![allow(clippy::disallowed_methods, reason = "patience is in real time")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program with a folder of its own for the guest's folders.
pub fn program(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.args(arguments).env("TMPDIR", temporary);
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A short cell: both directions full, and a probe. `length` in seconds.
pub fn scenario(dir: &Path, length: u32) -> PathBuf {
    let path = dir.join("cell.toml");
    let text = format!(
        r#"format = "sojourn-scenario/1"
name = "cell"
duration = "{length}s"
warmup = "500ms"
dumbbell = {{ rtt = "20ms", up.rate = "1mbit", down.rate = "4mbit", qdisc = "fq_codel" }}
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
start_spread = "100ms"
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[flow]]
name = "probe"
direction = "up"
app = {{ kind = "ping", size = 64, interval = "37ms" }}
"#
    );
    fs::write(&path, text).unwrap();
    path
}

/// Runs a cell in the kernel world; what it has written stands in `out` below `dir`.
pub fn run(dir: &Path, length: u32, more: &[&str]) -> Command {
    let file = scenario(dir, length);
    let temporary = dir.join("tmp");
    let _ = fs::create_dir(&temporary);
    let mut command = program(&temporary, &["run", "--world", "kernel"]);
    command.arg(file).arg("--out").arg(dir.join("out"));
    command.args(more);
    command
}

/// What stands in a folder.
pub fn left(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Processes of guests whose folders are in `temporary`.
pub fn guests(temporary: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .map(|entry| entry.path())
        .filter(|process| {
            fs::read_link(process.join("cwd")).is_ok_and(|dir| dir.starts_with(temporary))
        })
        .collect()
}

/// Waits until `done`, for as long as a busy machine may take.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(300);
    while !done() {
        assert!(Instant::now() < patience, "not within 300 s: {what}");
        sleep(Duration::from_millis(20));
    }
}
