//! Result folders make reports: those of older programs (`crates/report/tests/results`), and a
//! study's with a queue beside its own.

mod common;

use common::{SMALL, STUDY, good, sojourn};
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
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let claims = all["claims"].as_array().expect("claims");
    // What is not judged says why; the other has a mark of its own.
    let untold = claims.iter().find(|claim| {
        let why = claim["reason"].as_str().unwrap_or_default();
        let is_told = why.contains("It needs 3 seeds, there ");
        claim["status"] == "published" || claim["status"] == "not judged" && !is_told
    });
    assert_eq!(untold, None, "too few seeds judge nothing");
}

/// Another queue has runs and bars of its own; claims have the cells and seeds that they had, also
/// when the page is made again.
#[test]
fn a_study_takes_another_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    for (name, text) in [("study.toml", STUDY), ("small.toml", SMALL)] {
        std::fs::write(dir.join(name), text).expect("it can be written");
    }
    let claims = |out: &str| -> Value {
        let text = std::fs::read_to_string(dir.join(out).join("claims.json")).expect("claims");
        serde_json::from_str(&text).expect("JSON")
    };
    good("reproduce . --seeds 2 --out own", dir);
    good("reproduce . --seeds 2 --out more --queue codel", dir);
    good("report more --out again", dir);
    assert_eq!(claims("more")["claims"], claims("own")["claims"]);
    assert_eq!(claims("again")["claims"], claims("own")["claims"]);
    assert_eq!(claims("own")["queue"], Value::Null);
    assert_eq!(claims("more")["cost"]["runs"], 6);
    for out in ["more", "again"] {
        let queue = claims(out)["queue"].clone();
        assert!(
            queue.as_str().expect("a queue").starts_with("codel "),
            "{queue}"
        );
        let page = std::fs::read_to_string(dir.join(out).join("report.html")).expect("a page");
        assert!(page.contains("<b>yours</b> codel "), "{out}");
    }
    // One seed judges nothing, on the page that is made again too.
    good("reproduce . --quick --out quick", dir);
    good("report quick --out quick-again", dir);
    for out in ["quick", "quick-again"] {
        assert_eq!(claims(out)["claims"][0]["status"], "not judged", "{out}");
    }
    let refused = sojourn(&["reproduce", ".", "--queue", "pfifo limit 20p"], dir);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        told.contains("has the queue `pfifo limit 20` already, as `fifo`"),
        "{told}"
    );
}

/// A field that is set is a parameter of every run; a page that is made again has it too, a run
/// without it is none of the same, and what the study compares cannot be set.
#[test]
fn a_study_takes_another_condition() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    for (name, text) in [("study.toml", STUDY), ("small.toml", SMALL)] {
        std::fs::write(dir.join(name), text).expect("it can be written");
    }
    let claims = |out: &str| -> Value {
        let text = std::fs::read_to_string(dir.join(out).join("claims.json")).expect("claims");
        serde_json::from_str(&text).expect("JSON")
    };
    let set = "--set duration=4s --seeds 2";
    let told = good(&format!("reproduce . {set} --out set"), dir).0;
    assert!(told.contains("set: duration=4s (in A)"), "{told}");
    good("report set --out again", dir);
    good("reproduce . --seeds 2 --out own", dir);
    assert_eq!(claims("own")["set"], Value::Null);
    assert_ne!(claims("set")["claims"], claims("own")["claims"]);
    assert_eq!(claims("again")["claims"], claims("set")["claims"]);
    let expected = serde_json::json!({ "fields": ["duration=4s"], "settings": ["A"] });
    for out in ["set", "again"] {
        assert_eq!(claims(out)["set"], expected, "{out}");
        let page = std::fs::read_to_string(dir.join(out).join("report.html")).expect("a page");
        assert!(page.contains("<b>set</b> duration=4s (in A)"), "{out}");
    }
    // The same runs are there, others are not.
    let (told, _) = good(&format!("reproduce . {set} --out set --resume"), dir);
    assert!(told.contains("\n4 runs in "), "{told}");
    good("reproduce . --seeds 2 --out set --resume", dir);
    assert_eq!(claims("set")["claims"], claims("own")["claims"]);
    // With another queue too.
    good(&format!("reproduce . {set} --out both --queue codel"), dir);
    assert_eq!(claims("both")["claims"], claims("again")["claims"]);
    let refused = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = sojourn(&words, dir);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (words, says) in [
        (
            "--set dumbbell.qdisc=pie",
            "setting `A` of mine compares values of `dumbbell.qdisc`",
        ),
        ("--set durration=4s", "did you mean `duration`?"),
        ("--set duration=4", "--set: duration: `4` needs a unit"),
        ("--set duration", "has no `=`"),
        (
            "--set duration=4s --queue python:a.py:A",
            "does not go with a queue in Python",
        ),
    ] {
        let told = refused(&format!("reproduce . {words}"));
        assert!(told.contains(says), "{words}: {told}");
    }
    let told = refused("report again own --out none");
    assert!(
        told.contains("one folder was run with `--set duration=4s`"),
        "{told}"
    );
}
