//! Documents point only at what is there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Finding, Source, extension, has_word};

/// The list of the pictures that `make site` makes, and where documents see them.
const PICTURES: (&str, &str) = ("docs/pictures.toml", "docs/pictures/");

/// Relative links in documents whose target is missing: a file, a heading of one, or a picture that
/// nothing makes.
pub fn links(source: &Source, root: &Path) -> Vec<Finding> {
    if extension(&source.path) != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in outside_blocks(source) {
        for target in link_targets(line) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let found = if file.is_empty() {
                Some(source.text.clone())
            } else {
                read(root, &below(&source.path, file))
            };
            let (problem, instead) = match found {
                None => (
                    format!("the link to {target} leads nowhere"),
                    "mend the path, which is relative to this document",
                ),
                Some(text) if !heading.is_empty() && !has_heading(&text, heading) => (
                    format!("the link to {target} leads to no heading"),
                    "mend the part behind the #: the heading in small letters, with - for spaces",
                ),
                Some(_) => continue,
            };
            findings.push(source.finding(number, problem, instead));
        }
    }
    findings
}

/// The path that `link` means in the document `path`, from the root.
fn below(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The text of what a link leads to, empty for what is no document; none if there is nothing.
fn read(root: &Path, path: &str) -> Option<String> {
    let (list, folder) = PICTURES;
    if let Some(name) = path.strip_prefix(folder) {
        let pictures = std::fs::read_to_string(root.join(list)).ok()?;
        let declared = format!("name = \"{name}\"\n");
        return pictures.contains(&declared).then(String::new);
    }
    let whole = root.join(path);
    if extension(path) == "md" {
        return std::fs::read_to_string(whole).ok();
    }
    whole.exists().then(String::new)
}

/// Whether a document has a heading whose address is `wanted`.
fn has_heading(text: &str, wanted: &str) -> bool {
    let source = Source::new("", text);
    outside_blocks(&source).any(|(_, line)| {
        let title = line.trim_start_matches('#');
        title.len() < line.len() && slug(title) == wanted
    })
}

/// The address of a heading within its page, as GitHub and the site make it.
fn slug(title: &str) -> String {
    let mut plain = String::new();
    let mut rest = title.trim();
    // Of links the text alone.
    while let Some((before, link)) = rest.split_once("](") {
        plain += before;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    plain += rest;
    let letters = plain.chars().flat_map(char::to_lowercase);
    letters
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Scenario files named in documents, scripts and the Makefile that are missing.
pub fn scenarios(source: &Source, root: &Path) -> Vec<Finding> {
    let kind = extension(&source.path);
    if !["md", "py", "sh", ""].contains(&kind) {
        return Vec::new();
    }
    let named = |(number, line)| scenario_names(line).map(move |name| (number, name));
    let missing = source
        .numbered()
        .flat_map(named)
        .filter(|(_, name)| !root.join(name).exists());
    let finding = |(number, name)| {
        let problem = format!("names {name}, which does not exist");
        source.finding(number, problem, "name a file of scenarios/, or add it")
    };
    missing.map(finding).collect()
}

/// Test programs named to cargo (`--test NAME`) that no crate has. A Makefile may go on after such
/// a failure, which then nobody sees.
pub fn tests(source: &Source, programs: &BTreeSet<String>) -> Vec<Finding> {
    let named = |(number, line)| test_names(line).map(move |name| (number, name));
    let missing = source
        .numbered()
        .flat_map(named)
        .filter(|(_, name)| !programs.contains(*name));
    let finding = |(number, name)| {
        let problem = format!("names the test program `{name}`, which no crate has");
        let remedy =
            "name one of `cargo test --test`, or a filter of the program that has its tests";
        source.finding(number, problem, remedy)
    };
    missing.map(finding).collect()
}

/// Crates that a document does not mention as `crates/NAME`.
pub fn code_map(architecture: &Source, crates: &[String]) -> Vec<Finding> {
    let finding = |name: &String| {
        let problem = format!("crates/{name} is not on the code map");
        architecture.finding(0, problem, "say what it is for and where to start reading")
    };
    let is_missing = |name: &&String| !has_word(&architecture.text, &format!("crates/{name}"));
    crates.iter().filter(is_missing).map(finding).collect()
}

/// Lines that are not inside a fenced block.
pub(crate) fn outside_blocks(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    source.numbered().filter(move |(_, line)| {
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
fn scenario_names(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("scenarios/").filter_map(|(at, _)| {
        let outside = |c: char| !c.is_ascii_alphanumeric() && !"/-_.".contains(c);
        let name = line[at..].split(outside).next()?;
        Some(&name[..name.find(".toml")? + ".toml".len()])
    })
}

/// The names after `--test` in a line; not placeholders.
fn test_names(line: &str) -> impl Iterator<Item = &str> {
    const OPTION: &str = "--test ";
    line.match_indices(OPTION).filter_map(|(at, option)| {
        let outside = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let name = line[at + option.len()..].split(outside).next()?;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
        is_name.then_some(name)
    })
}

/// The first line of a scenario, a study or a bridge's file leads editors to its schema.
pub fn schema_line(source: &Source) -> Vec<Finding> {
    let path = Path::new(&source.path);
    let folders: Vec<_> = path.parent().into_iter().flat_map(Path::iter).collect();
    let ours = ["scenarios", "studies", "contrib"].map(std::ffi::OsStr::new);
    if path.extension() != Some("toml".as_ref())
        || path.ends_with("Cargo.toml")
        || !folders.first().is_some_and(|f| ours.contains(f))
    {
        return Vec::new();
    }
    let stem = path.file_stem().and_then(std::ffi::OsStr::to_str);
    let mut others = ["study", "bridge", "subscribers"].into_iter();
    let format = others
        .find(|name| stem == Some(*name))
        .unwrap_or("scenario");
    let up = "../".repeat(folders.len());
    let wanted = format!("#:schema {up}docs/{format}.schema.json");
    if source.text.lines().next() == Some(&wanted) {
        return Vec::new();
    }
    let instead = format!("let it begin with `{wanted}`");
    vec![source.finding(1, "editors do not find its schema", &instead)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "# Here\n[a](Cargo.toml) [b](https://x.y) [c](#here)\n```\n[d](no)\n```\n[e](no.md#x)\n";
        let findings = links(&Source::new("README.md", text), &crate::root());
        assert_eq!(findings.iter().map(|f| f.line).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn links_lead_to_headings_that_are_there() {
        let text = "# A `b`: c, [d](e.md)\n```\n# no\n```\n[x](#a-b-c-d) [y](#no) [z](docs/apps.md#here)\n";
        let findings = links(&Source::new("x.md", text), &crate::root());
        let problems: Vec<&str> = findings.iter().map(|f| &*f.problem).collect();
        let wanted = [
            "e.md leads nowhere",
            "#no leads to no heading",
            "docs/apps.md#here leads to no heading",
        ];
        assert_eq!(problems.len(), wanted.len());
        assert!(
            problems
                .iter()
                .zip(wanted)
                .all(|(is, end)| is.ends_with(end)),
            "{problems:?}"
        );
    }

    #[test]
    fn pictures_are_declared() {
        let of = |name: &str| {
            let source = Source::new("docs/x.md", &format!("![a picture](pictures/{name})\n"));
            links(&source, &crate::root()).len()
        };
        assert_eq!((of("report-first.png"), of("no-such.png")), (0, 1));
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let text = "[a](../Cargo.toml) [b](Cargo.toml)\n";
        let findings = links(&Source::new("docs/x.md", text), &crate::root());
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn missing_scenarios_are_found() {
        let name = ["scenarios", "no-such-file.toml"].join("/");
        let source = Source::new("README.md", &format!("run `{name}` now\n"));
        assert_eq!(scenarios(&source, &crate::root()).len(), 1);
        assert!(scenario_names(&format!("`{name}`, x")).eq([&name]));
    }

    #[test]
    fn test_programs_that_are_missing_are_found() {
        let programs = BTreeSet::from(["pages".to_owned()]);
        let found = |name: &str| {
            let line = format!("cargo test --workspace {} {name} --no-run\n", "--test");
            tests(&Source::new("Makefile", &line), &programs).len()
        };
        assert_eq!((found("pages"), found("page"), found("NAME")), (0, 1, 0));
    }

    #[test]
    fn scenarios_without_their_schema_are_found() {
        let found = |path, text| schema_line(&Source::new(path, text)).len();
        let right = "#:schema ../docs/scenario.schema.json\n";
        assert_eq!(found("scenarios/a.toml", right), 0);
        assert_eq!(found("scenarios/a/b.toml", right), 1);
        assert_eq!(found("scenarios/a.toml", "format = 1\n"), 1);
        let study = "#:schema ../../docs/study.schema.json\n";
        assert_eq!(found("studies/a/study.toml", study), 0);
        assert_eq!(found("studies/a/b.toml", study), 1);
        let bridge = "#:schema ../../docs/bridge.schema.json\n";
        assert_eq!(found("contrib/bridge/bridge.toml", bridge), 0);
        assert_eq!(found("contrib/bridge/subscribers.toml", bridge), 1);
        assert_eq!(found("crates/a/Cargo.toml", ""), 0);
        assert_eq!(found("contrib/a/Cargo.toml", ""), 0);
    }

    #[test]
    fn a_crate_missing_on_the_map_is_found() {
        let map = Source::new("A.md", "crates/qdisc is …");
        let crates = ["qdisc".to_owned(), "tcp".to_owned()];
        assert_eq!(code_map(&map, &crates).len(), 1);
    }
}
