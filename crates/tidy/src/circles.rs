//! Files of a crate that import each other in a circle, so that none of them can be read alone.
//!
//! A file imports what it names, in a `use` or by a path in its code. A name that another file only
//! passes on (`pub use`) is an import of the file that has it.
//!
//! Not here: calls of methods, which name no file; `mod`, which lists; tests.

use crate::{Finding, Source, is_word};
use std::collections::{BTreeMap, BTreeSet};

/// Most files that may import each other.
const MOST: usize = 3;

/// A path, by its segments.
type Path = Vec<String>;

/// What a file of a crate names.
struct File<'a> {
    source: &'a Source,
    /// Each `use`: the path, the name that it has here, and whether it is `pub`.
    uses: Vec<(Path, String, bool)>,
    /// The code without them.
    code: String,
}

/// The files of a crate by their module's path.
type Files<'a> = BTreeMap<Path, File<'a>>;

/// Groups of more than three files that import each other.
pub fn circles(sources: &[Source]) -> Vec<Finding> {
    let mut crates = BTreeMap::<&str, Files<'_>>::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        if let (Some(name), Some(module)) = (source.crate_name(), module(source)) {
            let files = crates.entry(name).or_default();
            files.insert(module, File::of(source));
        }
    }
    crates.values().flat_map(of_crate).collect()
}

/// The module that a file below `src` is; none for tests and whatever else.
fn module(source: &Source) -> Option<Path> {
    let (_, below) = source.path.split_once("/src/")?;
    let mut parts: Path = below
        .strip_suffix(".rs")?
        .split('/')
        .map(String::from)
        .collect();
    if ["lib", "main", "mod"].contains(&parts.last()?.as_str()) {
        parts.pop();
    }
    (!source.is_test_code()).then_some(parts)
}

fn of_crate(files: &Files<'_>) -> Vec<Finding> {
    let imports: BTreeMap<&Path, BTreeSet<Path>> = (files.iter())
        .map(|(module, file)| (module, imports(files, module, file)))
        .collect();
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = (imports.keys())
        .map(|&module| (module, reach(&imports, module)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (&module, ways) in &reached {
        let back = |other: &&&Path| reached[*other].contains(module);
        let circle: Vec<&Path> = ways.iter().filter(back).copied().collect();
        if circle.len() > MOST && seen.insert(circle.clone()) {
            let name = |module: &Path| {
                let path = &files[module].source.path;
                path.rsplit("/src/").next().unwrap_or(path).to_owned()
            };
            let line = |&from: &&Path| {
                let inside = circle.iter().filter(|&&to| imports[from].contains(to));
                let names: Vec<_> = inside.map(|to| name(to)).collect();
                format!("\n    {} imports {}", name(from), names.join(", "))
            };
            let lines: String = circle.iter().map(line).collect();
            let problem = format!("{} files import each other{lines}\n   ", circle.len());
            let instead = "move what several of them need into a file that imports none of them";
            found.push(files[module].source.finding(0, problem, instead));
        }
    }
    found
}

/// The files that a file leads to, over any number of imports.
fn reach<'a>(imports: &'a BTreeMap<&Path, BTreeSet<Path>>, from: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Path> = imports[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&imports[module]);
        }
    }
    reached
}

fn imports(files: &Files<'_>, module: &Path, file: &File<'_>) -> BTreeSet<Path> {
    // A name that is only passed on is no import.
    let passed_on = |name: &str| !words(&file.code).any(|word| word == name);
    let used = file
        .uses
        .iter()
        .filter(|(_, name, is_pub)| !(*is_pub && passed_on(name)))
        .map(|(path, ..)| path.clone());
    let named = used.chain(paths(&file.code));
    let found = named.filter_map(|path| resolve(files, &absolute(files, module, &path)?, 0));
    found.filter(|found| found != module).collect()
}

/// A path from the crate's root; none for one that leads elsewhere.
fn absolute(files: &Files<'_>, module: &[String], path: &[String]) -> Option<Path> {
    let mut base = module.to_vec();
    let mut rest = path;
    while let [first, more @ ..] = rest {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => _ = base.pop(),
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    if rest.len() == path.len() {
        let child = [module, &path[..1]].concat();
        files.contains_key(&child).then_some(())?;
    }
    Some([&base, rest].concat())
}

/// The file that has what a path names, through those that pass it on.
fn resolve(files: &Files<'_>, path: &[String], depth: usize) -> Option<Path> {
    let length = (0..=path.len())
        .rev()
        .find(|&n| files.contains_key(&path[..n]))?;
    let (module, rest) = path.split_at(length);
    let Some((name, below)) = rest.split_first().filter(|_| depth < 8) else {
        return Some(module.to_vec());
    };
    for (used, alias, _) in &files[module].uses {
        if alias == name {
            let to = absolute(files, module, used)?;
            return resolve(files, &[&to, below].concat(), depth + 1);
        }
        if alias == "*"
            && let Some(to) = absolute(files, module, &used[..used.len() - 1])
            && files.get(&to).is_some_and(|file| defines(&file.code, name))
        {
            return Some(to);
        }
    }
    Some(module.to_vec())
}

/// Whether code defines a name.
fn defines(code: &str, name: &str) -> bool {
    let kinds = ["struct", "enum", "trait", "fn", "type", "const", "static"];
    let mut words = words(code).peekable();
    std::iter::from_fn(|| Some((words.next()?, words.peek().copied())))
        .any(|(kind, next)| kinds.contains(&kind) && next == Some(name))
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// The paths with `::` in code.
fn paths(code: &str) -> Vec<Path> {
    let ends = |c: char| !is_word(c) && c != ':';
    let parts = code
        .split(ends)
        .filter(|part| part.contains("::") && !part.starts_with(':'));
    let path = |part: &str| part.split("::").map(str::to_owned).collect::<Path>();
    parts
        .map(path)
        .filter(|path| path.iter().all(|name| !name.contains(':')))
        .collect()
}

impl<'a> File<'a> {
    fn of(source: &'a Source) -> Self {
        let text = bare(&without_tests(&source.text));
        let (mut uses, mut code) = (Vec::new(), String::new());
        let mut lines = text.lines();
        let mut only_tests = false;
        while let Some(line) = lines.next() {
            let begun = line.trim_start();
            let item = begun.strip_prefix("pub").map_or(begun, |item| {
                let item = item
                    .strip_prefix('(')
                    .and_then(|scope| scope.split_once(')'));
                item.map_or(&begun[3..], |(_, item)| item).trim_start()
            });
            let Some(tree) = item.strip_prefix("use ") else {
                only_tests = begun.starts_with("#[cfg(test)]");
                code.extend([line, "\n"]);
                continue;
            };
            let mut tree = tree.to_owned();
            while !tree.contains(';')
                && let Some(more) = lines.next()
            {
                tree += more;
            }
            if !only_tests {
                let tree = tree.split(';').next().unwrap_or_default();
                expand(&[], tree, begun.starts_with("pub"), &mut uses);
            }
            only_tests = false;
        }
        Self { source, uses, code }
    }
}

/// The paths of a `use`, which may be a tree.
fn expand(above: &[String], tree: &str, is_pub: bool, uses: &mut Vec<(Path, String, bool)>) {
    if let Some((head, group)) = tree.split_once('{') {
        let names = head.split("::").map(|name| name.trim().to_owned());
        let above: Path = above
            .iter()
            .cloned()
            .chain(names.filter(|name| !name.is_empty()))
            .collect();
        let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
        let mut depth = 0;
        let parts = group.split(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        for part in parts.filter(|part| !part.trim().is_empty()) {
            expand(&above, part, is_pub, uses);
        }
        return;
    }
    let (path, alias) = tree
        .split_once(" as ")
        .map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let names = path.split("::").map(|name| name.trim().to_owned());
    let mut path: Path = above
        .iter()
        .cloned()
        .chain(names.filter(|name| !name.is_empty()))
        .collect();
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    let alias = alias
        .map(|alias| alias.trim().to_owned())
        .or(path.last().cloned());
    uses.push((path, alias.unwrap_or_default(), is_pub));
}

/// Code without modules that only tests have.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begins = |next: &&str| next.contains("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(begins) {
            lines.by_ref().find(|line| *line == "}");
        } else {
            kept.extend([line, "\n"]);
        }
    }
    kept
}

/// Code without comments and what strings hold.
fn bare(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        loop {
            let comment = rest.find("//").unwrap_or(rest.len());
            match rest.find('"').filter(|&quote| quote < comment) {
                // The character `"` begins no string.
                Some(quote) if rest[..quote].ends_with('\'') => {
                    out += &rest[..quote];
                    rest = &rest[quote + 1..];
                }
                Some(quote) => {
                    out += &rest[..quote];
                    let inside = rest[quote + 1..]
                        .replace("\\\\", "  ")
                        .replace("\\\"", "  ");
                    let end = inside.find('"').map_or(rest.len(), |end| quote + end + 2);
                    rest = &rest[end..];
                }
                None => {
                    out += &rest[..comment];
                    break;
                }
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("crates/a/src/{path}"), text))
            .collect();
        circles(&sources).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn four_files_in_a_circle_are_named() {
        let files = [
            ("lib.rs", "mod b;\npub use b::B;\n"),
            ("b.rs", "pub use c::C;\nmod c;\nstruct B(C);\n"),
            ("b/c.rs", "use crate::d::{self, D as Other};\n"),
            ("d.rs", "fn f() { crate::e::g(); }\n"),
            ("e.rs", "use crate::B;\n"),
        ];
        let circle = "crates/a/src/b.rs: 4 files import each other\n    \
                      b.rs imports b/c.rs\n    b/c.rs imports d.rs\n    d.rs imports e.rs\n    \
                      e.rs imports b.rs\n   : move what several of them need into a file that \
                      imports none of them";
        assert_eq!(found(&files), [circle]);
        // Three may.
        let mut three = files;
        three[3].1 = "use crate::B;\n";
        assert_eq!(found(&three), [""; 0]);
    }

    #[test]
    fn lists_comments_strings_and_tests_are_no_imports() {
        let files = [
            ("lib.rs", "pub use b::B;\n"),
            ("b.rs", "pub use c::C;\nuse crate::B as Own;\n"),
            (
                "b/c.rs",
                "// crate::d::D\nconst S: &str = \"crate::d::D\";\n#[cfg(test)]\nuse crate::d::D;\n",
            ),
            ("d.rs", "use crate::e::E;\n"),
            (
                "e.rs",
                "use crate::b::C;\n#[cfg(test)]\npub mod tests {\n    use crate::b::B;\n}\n",
            ),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
