//! Result folders of older programs (`crates/report/tests/results`) make reports.

mod common;

use common::sojourn;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../report/tests/results")
        .join(name)
}

/// Runs `sojourn report` on folders; the folder that it wrote.
fn report(names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out").display().to_string();
    let folders: Vec<String> = names
        .iter()
        .map(|name| kept(name).display().to_string())
        .collect();
    let mut arguments = vec!["report"];
    arguments.extend(folders.iter().map(String::as_str));
    arguments.extend(["--out", &out]);
    let output = sojourn(&arguments, dir.path());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{names:?}: {told}");
    dir
}

#[test]
fn old_folders_make_reports() {
    for names in [&["run"][..], &["live"], &["apps"], &["run", "live"]] {
        let dir = report(names);
        assert!(dir.path().join("out/report.html").is_file(), "{names:?}");
    }
}

/// Every check of the old program holds in as many cells. Its two seeds judge nothing any more, and
/// the verdict says so.
#[test]
fn an_old_study_is_judged_again_as_it_was() {
    let dir = report(&["study"]);
    let statuses = |dir: &Path| -> Vec<String> {
        let text = std::fs::read_to_string(dir.join("claims.json")).expect("claims");
        let claims: Value = serde_json::from_str(&text).expect("JSON");
        let checks = |world: &Value| {
            let checks = world["checks"].as_array().expect("checks").clone();
            checks
                .into_iter()
                .map(|check| format!("{} {}", check["check"], check["held"]))
        };
        let claims = claims["claims"].as_array().expect("claims").iter();
        let worlds = claims.flat_map(|claim| claim["worlds"].as_array().expect("worlds"));
        worlds.flat_map(checks).collect()
    };
    let old = statuses(&kept("study"));
    assert_eq!(old.len(), 28);
    assert_eq!(statuses(&dir.path().join("out")), old);
    let text = std::fs::read_to_string(dir.path().join("out/claims.json")).expect("claims");
    let claims: Value = serde_json::from_str(&text).expect("JSON");
    let claims = claims["claims"].as_array().expect("claims");
    // What is not judged says why; the other has a mark of its own.
    let untold = claims.iter().find(|claim| {
        let why = claim["reason"].as_str().unwrap_or_default();
        let is_told = why.contains("It needs 3 seeds, there ");
        claim["status"] == "published" || claim["status"] == "not judged" && !is_told
    });
    assert_eq!(untold, None, "too few seeds judge nothing");
}
