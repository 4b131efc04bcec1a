//! What the program has the package for Python do, with an interpreter that says what it is asked.

mod common;

use common::SMALL;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// An interpreter: has a package or not, prints the words that it gets, and ends with 7.
fn interpreter(dir: &Path, has_package: bool) {
    let asked = if has_package { "exit 0" } else { "exit 1" };
    interpreter_of(
        dir,
        &format!("[ \"$2\" = -c ] && {asked}\necho \"$@\"\nexit 7\n"),
    );
}

fn interpreter_of(dir: &Path, script: &str) {
    let script = format!("#!/bin/sh\n{script}");
    let path = dir.join("interpreter");
    fs::write(&path, script).expect("it can be written");
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, all).expect("it can be made a program");
}

fn sojourn(words: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(words)
        .env("SOJOURN_PYTHON", dir.join("interpreter"))
        .current_dir(dir)
        .output()
        .expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (status.code(), text(&stdout), text(&stderr))
}

fn folder(has_package: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    interpreter(dir.path(), has_package);
    fs::write(dir.path().join("small.toml"), SMALL).expect("it can be written");
    dir
}

#[test]
fn runs_that_name_a_class_are_the_packages() {
    let dir = folder(true);
    let given = "dumbbell.qdisc=[codel, python:own.py:Own n=5]";
    let words = ["run", "small.toml", "--out", "out", "--sweep", given];
    let (code, said, _) = sojourn(&words, dir.path());
    assert_eq!(code, Some(7), "its status is the program's");
    let start = "-P -m sojourn run --into ";
    let (_, handed) = said.split_once(' ').expect("there are words");
    assert!(said.starts_with(start), "{said}");
    assert!(
        handed.ends_with(&format!(" --sweep={given} -- small.toml")),
        "{said}"
    );
    assert!(!dir.path().join("out").exists());
    let words = [
        "check",
        "small.toml",
        "--set",
        "dumbbell.qdisc=python:own.py:Own",
    ];
    let (code, said, _) = sojourn(&words, dir.path());
    assert_eq!(
        (code, said),
        (Some(7), format!("-P -m sojourn {}", words.join(" ")))
    );
    // One that names none is run here.
    assert_eq!(sojourn(&["run", "small.toml"], dir.path()).0, Some(0));
    let named = format!("{SMALL}# qdisc = \"python:own.py:Own\"\n");
    fs::write(dir.path().join("remark.toml"), named).expect("it can be written");
    assert_eq!(sojourn(&["run", "remark.toml"], dir.path()).0, Some(0));
}

#[test]
fn what_the_package_has_run_is_shown_as_any_other_run() {
    let dir = folder(true);
    let program = env!("CARGO_BIN_EXE_sojourn");
    interpreter_of(
        dir.path(),
        &format!("[ \"$2\" = -c ] || exec {program} run small.toml --quiet --out \"$6\"\n"),
    );
    let class = "dumbbell.qdisc=python:own.py:Own";
    for option in ["--csv", "--quiet", "--seed=1"] {
        let own = sojourn(&["run", "small.toml", option, "--set", class], dir.path());
        assert_eq!(own, sojourn(&["run", "small.toml", option], dir.path()));
    }
    let words = ["run", "small.toml", "--out", "out", "--set", class];
    let (code, said, _) = sojourn(&words, dir.path());
    assert_eq!(code, Some(0));
    assert!(said.ends_with("out/report.html"), "{said}");
    assert!(dir.path().join("out/report.html").is_file());
}

#[test]
fn a_run_of_a_class_refuses_what_the_package_does_not_have() {
    let dir = folder(true);
    let class = "dumbbell.qdisc=python:own.py:Own";
    for (option, part) in [
        ("--resume", "has no --resume"),
        ("--shard=1/2", "has no --shard"),
        ("--pcap=up", "has no --pcap"),
        ("--world=kernel", "in the world `sim` only"),
        ("--verify", "in the world `sim` only"),
    ] {
        let words = ["run", "small.toml", "--out", "out", "--set", class, option];
        let (code, said, told) = sojourn(&words, dir.path());
        assert_eq!((code, &*said), (Some(2), ""), "{option}");
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_class_is_evaluated_and_reproduced_by_the_package() {
    let dir = folder(true);
    let queue = "python:own.py:Own n=5";
    for words in [
        &[
            "evaluate", "--qdisc", queue, "--case", "short", "--seeds", "2",
        ][..],
        &["evaluate", "--cc", "python:own.py:Calm", "--json"],
        &["reproduce", "codel-red", "--queue", queue, "--quick"],
        &["reproduce", "codel-red", "--world=sim", "--queue", queue],
    ] {
        let (code, said, told) = sojourn(words, dir.path());
        assert_eq!((code, &*told), (Some(7), ""), "{words:?}");
        assert_eq!(said, format!("-P -m sojourn {}", words.join(" ")));
    }
}

#[test]
fn other_worlds_have_no_classes_of_python() {
    let dir = folder(true);
    let class = "python:own.py:Own";
    for (words, part) in [
        (
            &["evaluate", "--qdisc", class, "--world", "kernel"][..],
            "--qdisc python:own.py:Own: a Python class runs in the world `sim` only",
        ),
        (
            &[
                "reproduce",
                "codel-red",
                "--queue",
                class,
                "--world",
                "both",
            ],
            "--queue python:own.py:Own: a Python class runs in the world `sim` only",
        ),
    ] {
        let (code, said, told) = sojourn(words, dir.path());
        assert_eq!((code, &*said), (Some(2), ""), "{told}");
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn figures_are_the_packages() {
    let dir = folder(true);
    let words = ["figures", "a", "b", "--svg", "--list", "l.toml"];
    let (code, said, _) = sojourn(&words, dir.path());
    assert_eq!(code, Some(7));
    assert_eq!(said, "-P -m sojourn figures --list l.toml --svg -- a b");
}

#[test]
fn a_missing_package_is_told_with_the_way_to_it() {
    let dir = folder(false);
    let own = ["run", "small.toml", "--set", "dumbbell.qdisc=python:a.py:A"];
    let evaluated = ["evaluate", "--cc", "python:a.py:A"];
    for (words, why, extra) in [
        (&own[..], "`python:a.py:A`", "sojourn"),
        (&evaluated, "`python:a.py:A`", "sojourn"),
        (&["figures", "out"], "`sojourn figures`", "sojourn[plot]"),
    ] {
        let (code, said, told) = sojourn(words, dir.path());
        assert_eq!((code, &*said), (Some(2), ""));
        let start = format!("sojourn: {why} needs the Python package `sojourn`");
        assert!(told.starts_with(&start), "{told}");
        assert!(told.contains(&format!("pip install '{extra}'")), "{told}");
        assert!(!dir.path().join("out").exists());
    }
    fs::remove_file(dir.path().join("interpreter")).expect("it was there");
    let (code, _, told) = sojourn(&["figures", "out"], dir.path());
    assert_eq!(code, Some(2));
    assert!(told.contains("interpreter` cannot be run"), "{told}");
}
