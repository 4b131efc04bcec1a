//! Wrong and huge input ends with a message that names the file, the line and the field, in a
//! gigabyte of memory at most, and without a panic.
#![allow(
    clippy::too_many_lines,
    clippy::format_collect,
    reason = "tables of cases"
)]

#[path = "limits/case.rs"]
mod case;
#[path = "limits/queues.rs"]
mod queues;
#[path = "limits/scenarios.rs"]
mod scenarios;
#[path = "limits/studies.rs"]
mod studies;

use case::Case;
use std::process::{Command, Output};
use std::sync::Mutex;

/// Runs the program on a case, in a folder with its files and with a gigabyte of memory.
fn run(case: &Case) -> Output {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    for (name, bytes) in &case.files {
        std::fs::write(folder.path().join(name), bytes).expect("it can be written");
    }
    // A pipe without a writer must not be waited for; `timeout` ends a program that does with 124.
    let limited = "mkfifo pipe && ulimit -v 1048576 && exec timeout 300 \"$0\" \"$@\"";
    Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_sojourn")])
        .args(&case.arguments)
        .current_dir(folder.path())
        .output()
        .expect("a shell is there")
}

/// What is not as it must be with the answer to a case.
fn judge(case: &Case) -> Result<(), String> {
    let output = run(case);
    let told = String::from_utf8_lossy(&output.stderr);
    let shown: String = told.chars().take(2000).collect();
    let wrong = |what: &str| {
        let wanted = &case.says;
        Err(format!(
            "{}: {what}\n  wanted: {wanted}\n{shown}",
            case.name
        ))
    };
    match output.status.code() {
        Some(2) => {}
        code => return wrong(&format!("exit status {code:?}")),
    }
    if told.contains("panicked") || told.contains("RUST_BACKTRACE") {
        return wrong("a panic");
    }
    if told.len() > 40_000 || told.lines().any(|line| line.chars().count() > 2600) {
        return wrong("nobody reads so much");
    }
    if !told.contains(&case.says) {
        return wrong("says something else");
    }
    Ok(())
}

#[test]
fn what_is_wrong_or_huge_is_refused_in_words() {
    let cases = [scenarios::cases(), queues::cases(), studies::cases()].concat();
    assert!(cases.len() >= 150, "{} cases", cases.len());
    let next = Mutex::new(cases.iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let case = next.lock().expect("nobody panics").next();
            let Some(case) = case else { return };
            if let Err(what) = judge(case) {
                wrong.lock().expect("nobody panics").push(what);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let wrong = wrong.into_inner().expect("nobody panics");
    assert!(
        wrong.is_empty(),
        "{}\n{} cases",
        wrong.join("\n"),
        wrong.len()
    );
}

#[test]
fn what_fits_is_accepted() {
    for case in scenarios::that_fit() {
        let output = run(&case);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {told}", case.name);
    }
}
