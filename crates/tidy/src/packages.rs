//! Every crate has what its registry asks for, so that it can be published as it is.
//!
//! Not here: whether cargo packs it, which takes the registry's index (`make registries`).

use std::path::Path;

use serde_json::Value;

use crate::{Finding, Source};

/// Most keywords that crates.io takes.
const KEYWORDS: usize = 5;

/// What crates lack, from the JSON of `cargo metadata` and the folder of the repository.
pub fn lacking(metadata: &Value, root: &Path) -> Vec<Finding> {
    let packages = metadata["packages"]
        .as_array()
        .expect("cargo metadata has a list");
    let public = packages.iter().filter(|package| is_public(package));
    let findings = public.flat_map(|package| {
        let mut problems = fields(package);
        problems.extend(dependencies(package, packages));
        let path = package["manifest_path"].as_str().unwrap_or_default();
        let folder = Path::new(path).parent().unwrap_or(root);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if !folder.join(licence).is_file() {
                let instead = "link to the repository's: ln -s ../../LICENSE-… there";
                problems.push((format!("no {licence}"), instead));
            }
        }
        let path = Path::new(path)
            .strip_prefix(root)
            .unwrap_or(Path::new(path))
            .to_string_lossy()
            .into_owned();
        let finding = move |(problem, instead)| Finding::new(&path, 0, problem, instead);
        problems.into_iter().map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

/// An empty list of registries is what `publish = false` says.
fn is_public(package: &Value) -> bool {
    package["publish"]
        .as_array()
        .is_none_or(|list| !list.is_empty())
}

type Problem = (String, &'static str);

fn fields(package: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for field in [
        "description",
        "license",
        "repository",
        "readme",
        "rust_version",
    ] {
        if package[field].as_str().is_none_or(str::is_empty) {
            let problem = format!("no `{}`", field.replace('_', "-"));
            problems.push((problem, "take it from the workspace: `….workspace = true`"));
        }
    }
    for (field, most) in [("keywords", KEYWORDS), ("categories", KEYWORDS)] {
        let count = package[field].as_array().map_or(0, Vec::len);
        if count == 0 || count > most {
            let problem = format!("{count} `{field}`");
            problems.push((problem, "crates.io takes one to five"));
        }
    }
    if package["metadata"]["docs"]["rs"]["targets"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        let instead = "docs.rs builds for what `[package.metadata.docs.rs]` names in `targets`";
        problems.push(("no targets for docs.rs".into(), instead));
    }
    problems
}

/// Dependencies of the workspace's own that a registry could not follow.
fn dependencies(package: &Value, all: &[Value]) -> Vec<Problem> {
    let list = package["dependencies"].as_array();
    let own = list
        .into_iter()
        .flatten()
        .filter(|one| !one["path"].is_null() && one["kind"] != "dev");
    let problem = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        let of_name = |package: &&Value| package["name"] == name;
        if !all.iter().find(of_name).is_some_and(is_public) {
            let instead = "a published crate takes published ones only";
            return Some((format!("needs {name}, which is not published"), instead));
        }
        let version = format!("^{}", package["version"].as_str().unwrap_or_default());
        (one["req"] != version.as_str()).then(|| {
            let instead = "name it beside `path` in the workspace's dependencies";
            (
                format!("needs {name} without its version {version}"),
                instead,
            )
        })
    };
    own.filter_map(problem).collect()
}

/// Files outside a crate's folder that its code includes: a package has none of them.
pub fn included(source: &Source) -> Vec<Finding> {
    if !source.is_rust() || source.is_test_code() {
        return Vec::new();
    }
    let Some(inside) = source.path.splitn(3, '/').nth(2) else {
        return Vec::new();
    };
    let depth = inside.matches('/').count();
    let text: Vec<&str> = source
        .text
        .lines()
        .take(source.lines_before_tests())
        .collect();
    let mut findings = Vec::new();
    for (number, window) in (1..).zip((0..text.len()).map(|n| &text[n..(n + 2).min(text.len())])) {
        let macros = ["include_str!(", "include_bytes!("];
        let Some(name) = macros.iter().find(|name| window[0].contains(**name)) else {
            continue;
        };
        let lines = window.join("\n");
        let rest = lines.split(name).nth(1).unwrap_or_default();
        let path = rest.split('"').nth(1).unwrap_or_default();
        if path.split('/').take_while(|part| *part == "..").count() > depth {
            let problem = format!("includes `{path}`, which is outside its crate");
            let instead = "link to the file from the crate's folder, and include the link";
            findings.push(source.finding(number, problem, instead));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole() -> Value {
        json!({
            "name": "sojourn-a", "version": "0.1.0", "publish": null,
            "manifest_path": "/nowhere/crates/a/Cargo.toml",
            "description": "A", "license": "MIT", "repository": "https://a.invalid",
            "readme": "README.md", "rust_version": "1.88",
            "keywords": ["a"], "categories": ["b"],
            "metadata": {"docs": {"rs": {"targets": ["x"]}}},
            "dependencies": [
                {"name": "sojourn-b", "path": "/b", "kind": null, "req": "^0.1.0"},
                {"name": "sojourn-tidy", "path": "/t", "kind": "dev", "req": "*"},
                {"name": "libm", "kind": null, "req": "^0.2"},
            ],
        })
    }

    /// The problems of [`whole`] with a field of another value, licences aside.
    fn problems(field: &str, value: Value) -> Vec<String> {
        let mut package = whole();
        package[field] = value;
        let mut other = whole();
        other["name"] = "sojourn-b".into();
        let all = json!({"packages": [package, other]});
        let findings = lacking(&all, Path::new("/nowhere"));
        let about = findings
            .into_iter()
            .filter(|f| !f.problem.starts_with("no LICENSE"));
        about.map(|finding| finding.problem).collect()
    }

    #[test]
    fn what_is_whole_is_no_finding_and_what_is_missing_is() {
        assert_eq!(problems("publish", Value::Null), [""; 0]);
        assert_eq!(problems("publish", json!([])), [""; 0]);
        // The other one has it.
        for field in [
            "description",
            "license",
            "repository",
            "readme",
            "rust_version",
        ] {
            assert_eq!(problems(field, Value::Null).len(), 1, "{field}");
        }
        assert_eq!(problems("keywords", json!([])), ["0 `keywords`"]);
        assert_eq!(problems("categories", json!([1, 2, 3, 4, 5, 6])).len(), 1);
        assert_eq!(
            problems("metadata", Value::Null),
            ["no targets for docs.rs"]
        );
    }

    #[test]
    fn licences_lie_in_the_crate() {
        let all = json!({"packages": [whole()]});
        let findings = lacking(&all, Path::new("/nowhere"));
        assert_eq!(findings[0].path, "crates/a/Cargo.toml");
        let lack = findings
            .iter()
            .filter(|f| f.problem.starts_with("no LICENSE"));
        assert_eq!(lack.count(), 2);
    }

    #[test]
    fn dependencies_are_published_and_have_versions() {
        let one =
            |req: &str, name: &str| json!([{"name": name, "path": "/b", "kind": null, "req": req}]);
        assert_eq!(
            problems("dependencies", one("^0.1.0", "sojourn-b")),
            [""; 0]
        );
        let found = problems("dependencies", one("*", "sojourn-b"));
        assert_eq!(found, ["needs sojourn-b without its version ^0.1.0"]);
        assert_eq!(
            problems("dependencies", one("^0.1.0", "sojourn-c")).len(),
            1
        );
    }

    #[test]
    fn what_is_included_lies_in_the_crate() {
        let at = |path: &str, text: &str| included(&Source::new(path, text));
        let outside = "x\nconst A: &str = include_str!(\n    \"../../../studies/a.toml\"\n);\n";
        assert_eq!(at("crates/a/src/b.rs", outside)[0].line, 2);
        assert_eq!(at("crates/a/src/b/c/d.rs", outside), []);
        assert_eq!(at("crates/a/tests/b.rs", outside), []);
        let inside = "include_str!(concat!(\"../studies/\", $name))";
        assert_eq!(at("crates/a/src/b.rs", inside), []);
    }
}
