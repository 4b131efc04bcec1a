//! The README shows what the program prints: each of its console blocks is run, and each scenario
//! that it quotes is the file's.

use sojourn_tidy::{generated, root};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// What `sojourn ARGUMENTS` prints in `folder`, results before messages.
fn printed(folder: &Path, arguments: &str) -> String {
    let Output { stdout, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("the program has been built");
    let text = [stdout, stderr].concat();
    let text = String::from_utf8(text).expect("output is text");
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The median induced RTT and the goodput of each queue of the demo, as `make demo` prints them.
fn demo() -> Vec<(String, String)> {
    let printed = printed(&root(), "run scenarios/demo.toml --json");
    let summary: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let cells = summary["cells"].as_array().expect("a list");
    cells
        .iter()
        .map(|cell| {
            let queue = cell["params"]["dumbbell.qdisc"].as_str().expect("a text");
            let ms = cell["flows"]["probe"]["induced_rtt_ms"]["p50"].as_f64();
            let waited = match ms.expect("a number") {
                ms @ 1000.0.. => format!("{:.2} s", ms / 1000.0),
                ms => format!("{ms:.1} ms"),
            };
            let goodput = cell["aggregate"]["goodput_bps"].as_f64().expect("a number");
            let said = format!("{waited:>8} simulated, goodput {:.2} Mbit/s", goodput / 1e6);
            (queue.to_owned(), said)
        })
        .collect()
}

/// A block of the demo with the simulated figures of today. The live ones are one run's.
fn with_demo(block: &str) -> String {
    let queues = demo();
    let line = |line: &str| {
        let queue = line.split("  adds ").next().unwrap_or(line).trim();
        let found = queues.iter().find(|(name, _)| name == queue);
        match (found, line.split_once("  adds "), line.split_once(";  ")) {
            (Some((_, said)), Some((before, _)), Some((_, live))) => {
                format!("{before}  adds {said};  {live}")
            }
            _ => line.to_owned(),
        }
    };
    assert_eq!(
        queues
            .iter()
            .filter(|(name, _)| block.contains(name))
            .count(),
        queues.len()
    );
    block.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The block as it must be: a console's with what its command prints.
fn right(kind: &str, block: &str, folder: &Path) -> String {
    let (first, _) = block.split_once('\n').unwrap_or((block, ""));
    match (kind, first.strip_prefix("$ sojourn "), first) {
        ("console", Some(arguments), _) => format!("{first}\n{}", printed(folder, arguments)),
        ("console", None, "$ make demo") => with_demo(block),
        ("console", ..) => panic!("nobody knows how to run `{first}`"),
        _ => block.to_owned(),
    }
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the repository has it");
    let folder = tempfile::tempdir().expect("a folder");
    symlink(root().join("scenarios"), folder.path().join("scenarios")).expect("a link");
    let mut wanted = String::new();
    // Outside and inside of fences in turn.
    for (index, part) in readme.split("```").enumerate() {
        if index % 2 == 0 {
            wanted += part;
            continue;
        }
        let (kind, block) = part.split_once('\n').expect("a fence ends its line");
        let block = block.trim_end_matches('\n');
        if kind == "toml" && block.contains("[dumbell]") {
            fs::write(folder.path().join("bad.toml"), block).expect("a file");
        }
        let block = match kind {
            "toml"
                if wanted
                    .trim_end()
                    .ends_with("(scenarios/basics/one-flow.toml):") =>
            {
                let quoted = root().join("scenarios/basics/one-flow.toml");
                let quoted = fs::read_to_string(quoted).expect("it is there");
                // What is for editors alone is not quoted.
                let lines = quoted.lines().filter(|line| !line.starts_with("#:schema"));
                lines.collect::<Vec<_>>().join("\n")
            }
            _ => right(kind, block, folder.path()),
        };
        wanted.extend(["```", kind, "\n", &block, "\n```"]);
    }
    generated::file("README.md", &wanted);
}
