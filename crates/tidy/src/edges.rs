//! The crates may depend on each other exactly as `ARCHITECTURE.md` says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{Finding, Source};

/// The comment above the block of `ARCHITECTURE.md` that lists the dependencies.
const MARK: &str = "<!-- tidy: dependencies -->";

/// The name prefix of the workspace's crates.
const PREFIX: &str = "sojourn-";

/// What one crate uses.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Uses {
    /// Crates of this workspace, without their prefix.
    pub own: BTreeSet<String>,
    /// Crates from elsewhere.
    pub foreign: BTreeSet<String>,
}

/// What each crate uses outside its tests, by the crate's name without prefix.
pub type Edges = BTreeMap<String, Uses>;

/// The edges that `ARCHITECTURE.md` allows, one line a crate: `name → own crates + foreign crates`.
/// Foreign crates are listed for pure crates only.
///
/// # Errors
/// Names what is missing if the block or an arrow is.
pub fn documented(architecture: &Source) -> Result<Edges, Finding> {
    let wrong = |problem| move || architecture.finding(0, problem, "see crates/tidy");
    let below = architecture
        .text
        .split(MARK)
        .nth(1)
        .ok_or_else(wrong("no mark"))?;
    let block = below
        .split("```")
        .nth(1)
        .ok_or_else(wrong("no block below the mark"))?;
    let lines = block.lines().skip(1).filter(|line| !line.trim().is_empty());
    let edge = |line: &str| {
        let (name, uses) = line.split_once('→').ok_or_else(wrong("a line without →"))?;
        let (own, foreign) = uses.split_once('+').unwrap_or((uses, ""));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let (own, foreign) = (words(own), words(foreign));
        Ok((name.trim().to_owned(), Uses { own, foreign }))
    };
    lines.map(edge).collect()
}

/// The edges that cargo sees, from the JSON of `cargo metadata`. Dependencies of tests and benches
/// are left out: no program has them.
///
/// # Panics
/// If the JSON is not that of `cargo metadata`.
pub fn actual(metadata: &Value) -> Edges {
    let name = |value: &Value| {
        let name = value["name"].as_str();
        name.expect("cargo metadata gives a name").to_owned()
    };
    let list = |value: &Value| value.as_array().expect("cargo metadata has a list").clone();
    let mut edges = Edges::new();
    for package in list(&metadata["packages"]) {
        let package_name = name(&package).replace(PREFIX, "");
        let uses: &mut Uses = edges.entry(package_name).or_default();
        for dependency in list(&package["dependencies"]) {
            let name = name(&dependency);
            match name.strip_prefix(PREFIX) {
                _ if dependency["kind"] == "dev" => false,
                Some(own) => uses.own.insert(own.to_owned()),
                None => uses.foreign.insert(name),
            };
        }
    }
    edges
}

/// Edges that only one of the two has. Foreign crates count in the crates named in `pure`.
pub fn compare(documented: &Edges, actual: &Edges, pure: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names: BTreeSet<&String> = documented.keys().chain(actual.keys()).collect();
    for name in names {
        let mut found = |problem: String, instead| findings.push(about(name, problem, instead));
        let (said, done) = match (documented.get(name), actual.get(name)) {
            (Some(said), Some(done)) => (said, done),
            (_, None) => {
                let problem = format!("ARCHITECTURE.md lists a crate `{name}` that is not there");
                found(problem, "remove its line");
                continue;
            }
            (None, _) => {
                let problem = "the crate is not in ARCHITECTURE.md's list of dependencies";
                found(problem.into(), "add its line, and why it exists");
                continue;
            }
        };
        for used in done.own.difference(&said.own) {
            let problem = format!("`{name}` uses `{used}`, ARCHITECTURE.md has no such edge");
            let instead = "move the code to where it belongs; edges point down only";
            found(problem, instead);
        }
        for used in said.own.difference(&done.own) {
            let problem = format!("`{name}` does not use `{used}`, ARCHITECTURE.md says it does");
            found(problem, "remove the edge from the list");
        }
        if pure.contains(&name.as_str()) && said.foreign != done.foreign {
            let (is, said) = (&done.foreign, &said.foreign);
            let problem = format!("outside crates are {is:?}, listed are {said:?}");
            let instead = "a pure crate takes `no_std` crates without I/O only; then list it";
            found(problem, instead);
        }
    }
    findings
}

/// Crates, ours and others, that a crate has through any number of dependencies between ours and
/// is not to have. Foreign ones are those that a crate of ours declares.
pub fn unwanted(edges: &Edges, name: &str, unwanted: &[&str]) -> Vec<Finding> {
    let mut reached = BTreeSet::from([name]);
    let mut open = vec![name];
    let mut findings = Vec::new();
    while let Some(from) = open.pop() {
        let Some(uses) = edges.get(from) else {
            let problem = format!("no crate `{from}`");
            findings.push(about(from, problem, "name one of the workspace"));
            continue;
        };
        for used in uses.own.iter().chain(&uses.foreign) {
            if unwanted.contains(&used.as_str()) {
                let problem = format!("`{from}` uses `{used}`, which `{name}` is not to have");
                findings.push(about(from, problem, "keep it out of this crate"));
            }
        }
        open.extend((uses.own.iter().map(String::as_str)).filter(|own| reached.insert(own)));
    }
    findings
}

/// Dependencies that the manifest declares and no source names.
pub fn unused(edges: &Edges, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, uses) in edges {
        let of_crate = |s: &&Source| s.is_rust() && s.crate_name() == Some(name);
        for used in &uses.own {
            let path = format!("sojourn_{used}");
            let mut sources = sources.iter().filter(of_crate);
            if !sources.any(|source| source.text.contains(&path)) {
                let problem = format!("declares sojourn-{used}, and no source names it");
                findings.push(about(
                    name,
                    problem,
                    "remove it here and from ARCHITECTURE.md",
                ));
            }
        }
    }
    findings
}

/// A finding in the manifest of a crate.
fn about(name: &str, problem: String, instead: &str) -> Finding {
    Finding::new(&format!("crates/{name}/Cargo.toml"), 0, problem, instead)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DOCUMENT: &str = "text\n<!-- tidy: dependencies -->\n```text\n\
        low  →\nmid  → low + libm\nhigh → low mid\n```\n";

    fn metadata(low_uses: &[&str]) -> Value {
        let one = |name: &&str| json!({"name": name, "kind": null});
        let list = |names: &[&str]| -> Vec<Value> { names.iter().map(one).collect() };
        let test_only = json!({"name": "proptest", "kind": "dev"});
        json!({"packages": [
            {"name": "sojourn-low", "dependencies": list(low_uses)},
            {"name": "sojourn-mid", "dependencies": [
                {"name": "sojourn-low", "kind": null}, {"name": "libm", "kind": null}, test_only]},
            {"name": "sojourn-high", "dependencies": list(&["sojourn-low", "sojourn-mid", "clap"])},
        ]})
    }

    #[test]
    fn the_same_edges_are_no_finding() {
        let documented = documented(&Source::new("A.md", DOCUMENT)).expect("well-formed");
        let actual = actual(&metadata(&[]));
        assert_eq!(compare(&documented, &actual, &["low", "mid"]), []);
    }

    #[test]
    fn an_edge_upwards_and_an_outside_crate_are_found() {
        let documented = documented(&Source::new("A.md", DOCUMENT)).expect("well-formed");
        let upwards = actual(&metadata(&["sojourn-high"]));
        assert_eq!(compare(&documented, &upwards, &["low"]).len(), 1);
        let foreign = actual(&metadata(&["tokio"]));
        assert_eq!(compare(&documented, &foreign, &["low"]).len(), 1);
        assert_eq!(compare(&documented, &foreign, &[]), []);
    }

    #[test]
    fn crates_on_one_side_only_are_found() {
        let documented = documented(&Source::new("A.md", DOCUMENT)).expect("well-formed");
        let mut more = actual(&metadata(&[]));
        more.insert("new".into(), Uses::default());
        more.remove("high");
        assert_eq!(compare(&documented, &more, &[]).len(), 2);
    }

    #[test]
    fn a_document_without_the_block_is_an_error() {
        assert!(documented(&Source::new("A.md", "nothing")).is_err());
    }

    #[test]
    fn what_a_crate_has_through_another_is_found() {
        let edges = actual(&metadata(&["parquet"]));
        assert_eq!(unwanted(&edges, "mid", &["clap", "high"]), []);
        let findings = unwanted(&edges, "high", &["parquet"]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].problem.contains("`low` uses `parquet`"));
        assert_eq!(unwanted(&edges, "absent", &["parquet"]).len(), 1);
    }

    #[test]
    fn a_declared_dependency_must_be_named() {
        let edges = actual(&metadata(&[]));
        let named = Source::new("crates/mid/src/lib.rs", "use sojourn_low::X;\n");
        let high = Source::new("crates/high/src/lib.rs", "use sojourn_low::X;\n");
        let findings = unused(&edges, &[named, high]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].problem.contains("sojourn-mid"));
    }
}
