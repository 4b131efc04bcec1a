//! `sojourn-bridge` as its users start it: what it knows, and how it refuses what is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn sojourn_bridge(dir: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sojourn-bridge"))
        .args(words)
        .current_dir(dir)
        .output()
        .expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is UTF-8")
}

/// The example that the package installs is right.
#[test]
fn the_example_is_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/bridge");
    let output = sojourn_bridge(&root, &["check", "bridge.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("tower") && said.contains("office"), "{said}");
}

/// A typo, an empty file, a wrong unit, and options of the full program.
#[test]
fn what_is_wrong_is_named_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bridge.toml");
    let pair = "version = 1\n[[pair]]\nname = \"wan\"\nleft = \"a\"\nright = \"b\"\n";
    for (content, parts) in [
        (
            format!("{pair}qdisk = \"pie\"\n"),
            ["bridge.toml:6:1", "`qdisc`"],
        ),
        (
            format!("{pair}qdisc = \"pye\"\n"),
            ["bridge.toml:6", "`pie`"],
        ),
        (
            format!("{pair}up = {{ rate = \"20\" }}\n"),
            ["bridge.toml:6", "unit"],
        ),
        (String::new(), ["bridge.toml:1:1", "`version`"]),
    ] {
        fs::write(&file, content).unwrap();
        let output = sojourn_bridge(dir.path(), &["check", "bridge.toml"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
    let output = sojourn_bridge(dir.path(), &["check", "bridge.toml", "--sweep", "a=b"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
