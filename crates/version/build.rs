//! Tells the crate which commit it is built from.

use std::process::Command;

/// What `git` answers, when there is a git and a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The commit that cargo has written into a package; whatever repository lies around that is
/// another's.
fn packed() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let from = text.split("\"sha1\": \"").nth(1)?;
    from.get(..12).map(str::to_owned)
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD grows with every commit and every checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = packed().or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let version = match commit {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    };
    println!("cargo::rustc-env=SOJOURN_VERSION={version}");
}
