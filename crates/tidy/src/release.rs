//! Addresses, people and the version are the same in every file that names them.
//!
//! `release.toml` says the addresses and people, `Cargo.toml` the version.

use crate::Finding;
use std::fs;
use std::path::Path;

/// A file and the text that it must hold, where `{KEY}` is what is said of the release.
const SAID: [(&str, &str); 6] = [
    ("Cargo.toml", "repository = \"{repository}\"\n"),
    ("SECURITY.md", "by mail to {security},"),
    ("contrib/systemd/sojourn.service", "Documentation={site}/"),
    ("CITATION.cff", "\nversion: {version}\n"),
    ("CHANGELOG.md", "\n## [{version}]"),
    ("docs/release.md", "git tag -s v{version}"),
];

/// What is said of a release: the values of `release.toml`, and the version of `Cargo.toml`.
fn said(root: &Path) -> Vec<(String, String)> {
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let (release, cargo) = (read("release.toml"), read("Cargo.toml"));
    let values = |text: &str| -> Vec<(String, String)> {
        text.lines()
            .filter_map(|line| line.split_once(" = \""))
            .filter_map(|(key, rest)| Some((key.to_owned(), rest.strip_suffix('"')?.to_owned())))
            .collect()
    };
    let mut found = values(&release);
    found.extend(values(&cargo).into_iter().find(|(key, _)| key == "version"));
    found
}

/// Files that say something else of a release.
pub fn differing(root: &Path) -> Vec<Finding> {
    let said = said(root);
    let mut findings = Vec::new();
    for (path, pattern) in SAID {
        let mut wanted = pattern.to_owned();
        for (key, value) in &said {
            wanted = wanted.replace(&format!("{{{key}}}"), value);
        }
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        if !text.contains(&wanted) {
            let problem = format!("does not say `{}`", wanted.trim());
            let instead = "release.toml and Cargo.toml say what holds; change the one or the other";
            findings.push(Finding::new(path, 0, problem, instead));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_say_something_else_are_found() {
        let folder = std::env::temp_dir().join(format!("tidy-release-{}", std::process::id()));
        fs::create_dir_all(folder.join("contrib/systemd")).expect("a folder");
        fs::create_dir_all(folder.join("docs")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
        write(
            "release.toml",
            "repository = \"https://a.b\"\nsite = \"https://a.b/docs\"\nsecurity = \"s@a.b\"\n",
        );
        write(
            "Cargo.toml",
            "version = \"0.2.0\"\nrepository = \"https://a.b\"\n",
        );
        write("SECURITY.md", "Report by mail to s@a.b, soon.\n");
        let unit = "contrib/systemd/sojourn.service";
        write(unit, "Documentation=https://a.b/docs/bridge.md\n");
        write("CITATION.cff", "cff-version: 1.2.0\nversion: 0.2.0\n");
        write("CHANGELOG.md", "# Changelog\n\n## [0.2.0]\n");
        write("docs/release.md", "git tag -s v0.2.0\n");
        assert_eq!(differing(&folder), []);
        write("CITATION.cff", "cff-version: 1.2.0\nversion: 0.1.0\n");
        write("SECURITY.md", "Report by mail to t@a.b, soon.\n");
        let paths: Vec<String> = differing(&folder).into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["SECURITY.md", "CITATION.cff"]);
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
