//! Every page of `docs` shows what the program prints, and names commands and options that exist.

mod common;

use common::pages::{self, Part};
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn pages_show_what_the_program_prints() {
    for page in pages::all() {
        pages::hold(&page, false);
    }
}

/// What `sojourn COMMAND --help` prints; none without such a command.
fn help(words: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .arg("help")
        .args(words)
        .output()
        .expect("the program has been built");
    let text = String::from_utf8(output.stdout).expect("output is text");
    output.status.success().then_some(text)
}

/// The words of all `sojourn ...` commands in a line of a shell.
fn commands(line: &str) -> Vec<Vec<&str>> {
    let line = line.split(" #").next().unwrap_or(line);
    line.split(['|', ';', '&', '('])
        .map(|part| part.split_whitespace().collect::<Vec<_>>())
        .filter_map(|words| {
            let first = words.iter().position(|word| *word == "sojourn")?;
            let before = words[..first].iter();
            let may =
                |word: &&str| ["$", "sudo", "time", "nice"].contains(word) || word.contains('=');
            before.clone().all(may).then(|| words[first + 1..].to_vec())
        })
        .collect()
}

/// What is wrong with a command: no such command, or no such option.
fn wrong(words: &[&str], known: &mut BTreeMap<String, Option<String>>) -> Option<String> {
    let name = words.first().filter(|word| !word.starts_with('-'))?;
    let mut ask = |path: &[&str]| {
        let key = path.join(" ");
        known.entry(key).or_insert_with(|| help(path)).clone()
    };
    let Some(mut text) = ask(&[name]) else {
        return Some(format!("there is no command `sojourn {name}`"));
    };
    if text.contains("\nCommands:\n") {
        let below = words.get(1)?;
        if below.starts_with('-') {
            return None;
        }
        match ask(&[name, below]) {
            Some(more) => text = more,
            None => return Some(format!("there is no command `sojourn {name} {below}`")),
        }
    }
    let options = words
        .iter()
        .take_while(|word| **word != "--")
        .filter_map(|word| word.strip_prefix("--"))
        .filter_map(|word| word.split(['=', '`', '…', '.']).next());
    options
        .filter(|option| !text.contains(&format!("--{option}")))
        .map(|option| format!("`sojourn {name}` has no option --{option}"))
        .next()
}

#[test]
fn commands_and_options_that_pages_name_exist() {
    let mut known = BTreeMap::new();
    let mut found = Vec::new();
    let mut seen = 0;
    for page in pages::all() {
        for part in pages::parts(&pages::text(&page)) {
            let Part::Block { info, lines } = part else {
                continue;
            };
            let kind = info.split(' ').next().unwrap_or_default();
            if !["sh", "console"].contains(&kind) {
                continue;
            }
            let joined = lines.replace("\\\n", " ");
            let is_command = |line: &&str| kind == "sh" || line.starts_with("$ ");
            for words in joined.lines().filter(is_command).flat_map(commands) {
                seen += 1;
                let problem = wrong(&words, &mut known);
                found.extend(problem.map(|problem| format!("{page}: {problem}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(seen > 60, "only {seen} commands were found");
}

#[test]
fn whole_files_that_pages_show_are_right() {
    let mut seen = 0;
    for page in pages::all() {
        for part in pages::parts(&pages::text(&page)) {
            let Part::Block {
                info: "toml",
                lines,
            } = part
            else {
                continue;
            };
            // A file's first line; other blocks are parts of one. A study stands on its scenarios.
            let is_whole = ["format = \"sojourn-scenario", "version = 1"];
            if !is_whole.iter().any(|first| lines.starts_with(first)) {
                continue;
            }
            let folder = tempfile::tempdir().expect("a folder");
            // Traces and subscribers' files that a page speaks of are not there: a missing file
            // is no mistake of the page.
            std::fs::write(folder.path().join("file.toml"), lines).expect("a file");
            // A sweep of intervals is a space, which a hunt searches.
            let command = if lines.contains(" .. ") {
                "hunt file.toml --runs 1 --property 1<2"
            } else {
                "check file.toml"
            };
            let output = common::run(command, folder.path());
            let said = String::from_utf8_lossy(&output.stderr);
            let missing = said.contains("No such f");
            assert!(
                output.status.success() || missing,
                "{page}: {said}\n{lines}"
            );
            seen += usize::from(!missing);
        }
    }
    assert!(seen > 8, "only {seen} files were checked");
}

#[test]
fn code_that_pages_quote_is_the_file_s() {
    let mut seen = 0;
    for page in pages::all() {
        let text = pages::text(&page);
        let mut before = "";
        for part in pages::parts(&text) {
            let (info, lines) = match part {
                Part::Text(text) => {
                    before = text.trim_end();
                    continue;
                }
                Part::Block { info, lines } => (info, lines),
            };
            let quoted = before.strip_suffix("):").filter(|_| info == "rust");
            let Some((_, path)) = quoted.and_then(|text| text.rsplit_once("](")) else {
                continue;
            };
            let folder = sojourn_tidy::root().join(&page);
            let file = folder.parent().expect("a page has a folder").join(path);
            let file = std::fs::read_to_string(&file).expect("links lead somewhere");
            assert!(file.contains(lines), "{page}: {path} says something else");
            seen += 1;
        }
    }
    assert!(seen > 0, "a page quotes code");
}

#[test]
fn a_command_or_option_that_is_not_there_is_found() {
    let mut known = BTreeMap::new();
    let mut of = |line: &'static str| {
        let words = commands(line);
        wrong(&words[0], &mut known)
    };
    assert_eq!(of("$ sojourn run a.toml --seeds 5 # --nothing"), None);
    assert_eq!(of("sudo sojourn kernel build --hz=250"), None);
    let problem = of("sojourn rum a.toml").expect("there is no such command");
    assert!(problem.contains("`sojourn rum`"));
    let problem = of("sojourn run a.toml --sed 5").expect("there is no such option");
    assert!(problem.contains("--sed"));
    let problem = of("sojourn kernel bild").expect("there is no such command");
    assert!(problem.contains("kernel bild"));
}
