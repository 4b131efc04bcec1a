//! `sojourn-bridge` as its users start it: what it knows, and how it refuses what is wrong.

use sojourn_bridge::BridgeError;
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

/// Messages begin with this program's name, and name none of the full program's commands.
#[test]
fn messages_are_this_programs() {
    let dir = tempfile::tempdir().unwrap();
    for (words, status) in [
        (&["bridge", "no-left", "no-right"][..], 2),
        (&["bridge", "no-left", "no-right", "--up", "pye"], 2),
        (&["ctl", "--socket", "none", "stats"], 1),
        (&["ctl", "stats", "--socket", "none"], 1),
        (&["top"], 2),
        (&["qdisc", "add", "no-such", "pie"], 2),
        (&["qdisc", "add", "lo", "pye"], 2),
        (&["qdisc", "del", "lo"], 2),
        (&["man", "/dev/null/man"], 2),
    ] {
        let output = sojourn_bridge(dir.path(), words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.starts_with("sojourn-bridge: "), "{words:?}: {said}");
        assert!(!said.contains("`sojourn "), "{words:?}: {said}");
    }
    // What queues are taken for is said before anything is opened.
    let words = ["bridge", "no-left", "no-right", "--tc", "--up", "pie"];
    let said = text(&sojourn_bridge(dir.path(), &words).stderr);
    let lines: Vec<_> = said.lines().collect();
    let are_named = lines
        .iter()
        .all(|line| line.starts_with("sojourn-bridge: "));
    assert!(lines.len() > 1 && are_named, "{said}");
    for schema in ["bridge", "subscribers"] {
        let output = sojourn_bridge(dir.path(), &["check", &format!("--schema={schema}")]);
        let said = text(&output.stdout);
        assert!(said.contains("docs/disciplines.md"), "{said}");
        assert!(!said.contains("`sojourn "), "{said}");
    }
}

/// The crates below do not know which of the two programs runs, and name the command alone.
#[test]
fn the_claim_of_another_user_names_the_command_that_undoes_it() {
    let error = BridgeError::ClaimOfOther {
        interface: "a1".into(),
        claim: "/run/sojourn/a1".into(),
        user: 7,
    };
    let expected = "`a1` bears the claim /run/sojourn/a1 of user 7; `bridge --restore` as that \
                    user undoes what was left there";
    assert_eq!(error.to_string(), expected);
}

/// A message that names the full program, or a command of its, stands nowhere that both programs share.
#[test]
fn no_shared_message_names_the_full_program() {
    const SHARED: [&str; 6] = ["bridge", "capture", "gateway", "line", "service", "text"];
    let mut looked = 0;
    for source in sojourn_tidy::sources(&sojourn_tidy::root()) {
        let is_shared = source.crate_name().is_some_and(|it| SHARED.contains(&it));
        if !is_shared || !source.is_rust() || source.is_test_code() {
            continue;
        }
        looked += 1;
        for line in source
            .text
            .lines()
            .filter(|line| !line.trim().starts_with("//"))
        {
            let names = ["\"sojourn: ", "`sojourn "]
                .iter()
                .any(|name| line.contains(name));
            assert!(!names, "{}: {line}", source.path);
        }
    }
    assert!(looked > 50, "{looked}");
}
