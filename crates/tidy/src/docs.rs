//! Documents point only at what is there.

use std::path::Path;

use crate::text::numbered;
use crate::{Finding, Source, extension};

/// Relative links in documents whose target is missing.
pub fn links(source: &Source, root: &Path) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (number, line) in outside_blocks(source) {
        for target in link_targets(line) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !file.is_empty() && !root.join(folder).join(file).exists() {
                findings.push(Finding::new(
                    &source.path,
                    number,
                    format!("the link to {target} leads nowhere"),
                    "mend the path, which is relative to this document",
                ));
            }
        }
    }
    findings
}

/// Scenario files named in documents, scripts and the Makefile that are missing.
pub fn scenarios(source: &Source, root: &Path) -> Vec<Finding> {
    let kind = extension(&source.path);
    if !["md", "py", "sh", ""].contains(&kind) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in numbered(source) {
        for name in scenario_names(line) {
            if !root.join(&name).exists() {
                findings.push(Finding::new(
                    &source.path,
                    number,
                    format!("names {name}, which does not exist"),
                    "name a file of scenarios/, or add it",
                ));
            }
        }
    }
    findings
}

/// Crates that a document does not mention as `crates/NAME`.
pub fn code_map(architecture: &Source, crates: &[String]) -> Vec<Finding> {
    crates
        .iter()
        .filter(|name| !crate::code::has_word(&architecture.text, &format!("crates/{name}")))
        .map(|name| {
            Finding::new(
                &architecture.path,
                0,
                format!("crates/{name} is not on the code map"),
                "say what it is for and where to start reading",
            )
        })
        .collect()
}

/// Lines that are not inside a fenced block.
fn outside_blocks(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    numbered(source).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// The targets of `[text](target)` in a line.
fn link_targets(line: &str) -> Vec<&str> {
    line.match_indices("](")
        .filter_map(|(at, mark)| line[at + mark.len()..].split(')').next())
        .collect()
}

/// Names of the form `scenarios/….toml` in a line.
fn scenario_names(line: &str) -> Vec<String> {
    const FOLDER: &str = "scenarios/";
    line.match_indices(FOLDER)
        .filter_map(|(at, _)| {
            let rest: String = line[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "/-_.".contains(*c))
                .collect();
            let end = rest.find(".toml")? + ".toml".len();
            Some(rest[..end].to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> std::path::PathBuf {
        crate::root()
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "[a](Cargo.toml) [b](https://x.y) [c](#here)\n```\n[d](no)\n```\n[e](no.md#x)\n";
        let findings = links(&Source::new("README.md", text), &repository());
        assert_eq!(findings.iter().map(|f| f.line).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let text = "[a](../Cargo.toml) [b](Cargo.toml)\n";
        assert_eq!(
            links(&Source::new("docs/x.md", text), &repository()).len(),
            1
        );
    }

    #[test]
    fn missing_scenarios_are_found() {
        let name = ["scenarios", "no-such-file.toml"].join("/");
        let source = Source::new("README.md", &format!("run `{name}` now\n"));
        assert_eq!(scenarios(&source, &repository()).len(), 1);
        assert_eq!(scenario_names(&format!("`{name}`, x")), [name]);
    }

    #[test]
    fn a_crate_missing_on_the_map_is_found() {
        let map = Source::new("A.md", "crates/qdisc is …");
        let crates = ["qdisc".to_owned(), "tcp".to_owned()];
        assert_eq!(code_map(&map, &crates).len(), 1);
    }
}
