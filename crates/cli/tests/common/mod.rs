//! What tests of the program share.
#![allow(dead_code, unreachable_pub)]

pub mod guest;
pub mod pages;
pub mod process;
#[path = "../../../live/tests/common/rig.rs"]
pub mod rig;

use std::path::Path;
use std::process::{Command, Output};

/// A small scenario: two queues, of two seconds each.
pub const SMALL: &str = include_str!("small.toml");

/// A study of it, which compares its queues.
pub const STUDY: &str = include_str!("study.toml");

/// Runs the program in a folder.
pub fn sojourn(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(arguments)
        .current_dir(dir)
        .output()
        .expect("it starts")
}

/// Runs the program with these words in a folder.
pub fn run(words: &str, dir: &Path) -> Output {
    let words: Vec<&str> = words.split(' ').collect();
    sojourn(&words, dir)
}

/// The same, which goes well: what it printed, and what it told.
pub fn good(words: &str, dir: &Path) -> (String, String) {
    let output = run(words, dir);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}: {told}");
    (text(&output.stdout), told)
}

/// The lines that tshark prints for the packets of a display filter, with all checksums verified.
pub fn tshark(file: &Path, filter: &str) -> Vec<String> {
    tshark_with(file, filter, &[])
}

/// The same with more options of tshark's.
pub fn tshark_with(file: &Path, filter: &str, options: &[&str]) -> Vec<String> {
    let output = Command::new("tshark")
        .args(options)
        .args([
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ])
        .args(["-o", "ip.check_checksum:TRUE", "-Y", filter, "-r"])
        .arg(file)
        .output()
        .expect("tshark is installed: apt-get install tshark");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::to_owned).collect()
}
