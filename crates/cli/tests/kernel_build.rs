//! `sojourn kernel build`, with programs that stand for the real ones, and what it makes of a build
//! that was interrupted.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{guests, program, run, text, until};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A folder of programs by which a build goes as far as the source: those that are not looked for
/// by what they do are empty. `source` is the text for the shell of those that bring it: apt, or
/// tar where the package is installed.
fn tools(dir: &Path, source: &str) -> PathBuf {
    let tools = dir.join("tools");
    fs::create_dir_all(&tools).unwrap();
    let programs = ["gcc", "ld", "make", "flex", "bison", "bc", "xz", "dpkg-deb"];
    let all = programs.map(|name| (name, "")).into_iter();
    for (name, text) in all.chain([("apt-get", source), ("tar", source)]) {
        let path = tools.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    tools
}

#[test]
fn an_interrupted_build_is_cleared_away_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let leftover = cache.join("sojourn/build-6.1");
    let build = |source: &str| {
        let path = std::env::var("PATH").unwrap();
        let tools = tools(dir.path(), source);
        let mut command = program(dir.path(), &["kernel", "build"]);
        command
            .env("XDG_CACHE_HOME", &cache)
            .env("PATH", format!("{}:{path}", tools.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let mut first = build("echo half > half; sleep 1000").spawn().unwrap();
    until("it has begun", || leftover.join("half").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!guests(&leftover).is_empty(), "its programs go on");
    // No half of a kernel is taken for one.
    let output = run(dir.path(), 1, &[])
        .env("XDG_CACHE_HOME", &cache)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("`sojourn kernel build`"), "{said}");
    let output = build("echo 'it cannot be had' >&2; exit 100")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    for part in [
        "removing what an interrupted build has left",
        "the source: ",
        "it cannot be had",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!leftover.exists() && guests(&leftover).is_empty());
}
