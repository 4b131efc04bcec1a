//! A bridge follows its file: several pairs in one process, and a reload that loses nothing and
//! refuses what is wrong. Needs root; without it these are passed over, except in CI (`CI=true`),
//! where a machine that cannot run them fails them.

mod common;

use common::process::{bridge, ctl, ground, program, told, wait_for};
use common::rig::{lost_but_not_doubled, numbered, passes};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The file with these tables.
fn write(dir: &Path, pairs: &str) {
    let text = format!("version = 1\ncontrol = \"control\"\n{pairs}");
    fs::write(dir.join("bridge.toml"), text).unwrap();
}

/// The pair of the first link, with these keys.
fn wan(keys: &str) -> String {
    format!("[[pair]]\nname = \"wan\"\nleft = \"a1\"\nright = \"b1\"\n{keys}\n")
}

/// The pair of the second.
const DSL: &str = "[[pair]]\nname = \"dsl\"\nleft = \"a2\"\nright = \"b2\"\n";

/// Asks, and is refused.
fn refused(dir: &Path, words: &str) -> String {
    let (code, said) = ctl(dir, words);
    assert_eq!(code, Some(2), "{words}: {said}");
    said
}

#[test]
fn several_pairs_are_one_process() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let other = link.beside();
    write(
        dir,
        &[&wan("down = { qdisc = \"fq_codel\" }"), DSL].concat(),
    );
    let process = bridge(&link, "--config bridge.toml", dir);
    passes(&link, "the first pair");
    passes(&other, "the second pair");
    let said = told(dir, "stats");
    assert!(
        said.contains("pair wan\n") && said.contains("pair dsl\n"),
        "{said}"
    );
    assert!(refused(dir, "rate up 1mbit").contains("which pair? There are wan, dsl"));
    assert!(refused(dir, "--pair lan stats").contains("there is no pair `lan`"));
    assert!(refused(dir, "--pair dsl circuits").contains("pair dsl has no `subscribers`"));
    assert_eq!(
        told(dir, "--pair dsl rate up 5mbit"),
        "up before: no limit\nup after:  5Mbit\n"
    );
    let stats = told(dir, "--json --pair dsl stats");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    assert!(stats["stats"]["dsl"]["up"].is_object(), "{stats}");
    assert!(stats["stats"]["wan"].is_null(), "{stats}");
    // An interface that goes takes its own pair with it, and a reload brings that back.
    other.middle.ip("link delete b2");
    wait_for("the end of the pair", || {
        told(dir, "stats").contains("pair dsl\nthe bridge has ended\n")
    });
    passes(&link, "the pair that stays");
    let said = told(dir, "stats");
    assert!(said.contains("pair wan\nqdisc"), "{said}");
    let error = refused(dir, "reload");
    assert!(
        error.contains("pair.dsl.right: there is no interface `b2` here"),
        "{error}"
    );
    other.middle.ip(&format!(
        "link add b2 type veth peer name b0 netns {}
         link set b2 up",
        other.server.path()
    ));
    other.server.ip("link set b0 up");
    other.middle.sends(&["b2"]);
    other.server.sends(&["b0"]);
    let said = told(dir, "reload");
    assert!(said.starts_with("pair dsl starts: a2 <-> b2"), "{said}");
    passes(&link, "the pair that stayed");
    passes(&other, "the pair that is back");
    process.interrupt();
}

#[test]
fn a_reload_loses_nothing() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    // A machine that gives the bridge no processor for a while loses nothing either.
    let calm = "fail_open = \"off\"\nstale = \"20s\"";
    let mut files = [
        "qdisc = \"fq_codel\"\nrate = \"200mbit\"",
        "qdisc = \"cake\"\nup = { delay = \"3ms\" }\nmemory = \"32mb\"",
        "qdisc = \"pfifo limit 5000\"\nrate = \"50mbit\"\nwatchdog = \"300ms\"",
        "qdisc = \"pie\"",
    ]
    .map(|keys| wan(&format!("{calm}\n{keys}")));
    files[3] = files[3].replace("\"wan\"", "\"renamed\"");
    write(dir, &files[0]);
    let process = bridge(&link, "--config bridge.toml", dir);
    let (sent, received) = numbered(&link, |_| {
        for round in 0..3 {
            for file in &files {
                write(dir, file);
                if round == 1 {
                    process.signal("HUP");
                } else {
                    told(dir, "reload");
                }
                thread::sleep(Duration::from_millis(60));
            }
        }
    });
    assert_eq!(lost_but_not_doubled(sent, &received), 0, "of {sent}");
    assert!(received.is_sorted());
    assert!(told(dir, "stats").starts_with("qdisc pie"));
    assert!(told(dir, "--pair renamed stats").starts_with("qdisc pie"));
    process.interrupt();
}

/// All that `a_wrong_file_changes_nothing` does is remembered: what was changed, refused and found
/// as it was.
fn remembered(dir: &Path) {
    let history = told(dir, "history");
    let entries: Vec<&str> = history.lines().collect();
    assert!(
        entries[0].contains("Z  start: pair wan: a1 <-> b1; up: fq_codel"),
        "{history}"
    );
    let [.., limit, back] = &entries[..] else {
        panic!("{history}");
    };
    assert!(
        limit.contains(" of user 0: pair wan: up.rate: 20Mbit -> 5Mbit"),
        "{history}"
    );
    assert!(
        back.ends_with(": pair wan: up.rate: 5Mbit -> 20Mbit"),
        "{history}"
    );
    assert!(
        history.contains("SIGHUP: reload refused: bridge.toml: cannot be read"),
        "{history}"
    );
    assert!(
        history.contains("user 0: reload: nothing differs"),
        "{history}"
    );
    let history = told(dir, "--json history");
    let history: serde_json::Value = serde_json::from_str(&history).expect("it is JSON");
    let first = &history["history"][0];
    assert!(
        first["time"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z')),
        "{first}"
    );
}

#[test]
fn a_wrong_file_changes_nothing() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let good = wan("qdisc = \"fq_codel\"\nrate = \"20mbit\"");
    write(dir, &good);
    let process = bridge(&link, "--config bridge.toml", dir);
    assert_eq!(told(dir, "reload"), "nothing differs\n");
    // What it would do, and does not.
    write(dir, &wan("qdisc = \"cake\"\nrate = \"30mbit\""));
    let said = told(dir, "reload --dry-run");
    assert!(said.starts_with("pair wan: up.qdisc: fq_codel"), "{said}");
    assert!(
        said.contains("up.rate: 20Mbit -> 30Mbit; down.qdisc"),
        "{said}"
    );
    let wrong = [
        (
            wan("rate = \"20\""),
            "bridge.toml:7:8: pair.wan.rate: `20` needs a unit",
        ),
        (wan("qdisc = \"cake\"\nseed = 7"), "pair wan: seed: "),
        (
            wan("qdisc = \"cake\"\nfail_open = \"off\""),
            "pair wan: fail_open: prefer -> off",
        ),
        (
            format!("{}{DSL}", wan("rate = \"1gbit\"")),
            "bridge.toml:10:8: pair.dsl.left: there is no interface `a2`",
        ),
        (
            "[[pair]]\nleft = \"b1\"\nright = \"a1\"\n".into(),
            "is still in the pair wan",
        ),
    ];
    for (file, error) in wrong {
        write(dir, &file);
        let said = refused(dir, "reload");
        assert!(said.contains(error), "{said}");
        assert!(told(dir, "stats").starts_with("qdisc fq_codel"));
    }
    fs::remove_file(dir.join("bridge.toml")).unwrap();
    assert!(refused(dir, "reload").contains("cannot be read"));
    process.signal("HUP");
    wait_for("the refusal", || {
        told(dir, "history").contains("SIGHUP: reload refused")
    });
    passes(&link, "after what was refused");
    // What `ctl` has changed differs from the file too.
    write(dir, &good);
    told(dir, "rate up 5mbit");
    assert_eq!(told(dir, "reload"), "pair wan: up.rate: 5Mbit -> 20Mbit\n");
    remembered(dir);
    process.interrupt();
}

#[test]
fn a_file_is_checked_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let run = |words: &str| {
        let output = program(words, dir).output().expect("it starts");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8(text).expect("output is text"),
        )
    };
    write(dir, &wan("down = { qdisc = \"cake\", rate = \"100mbit\" }"));
    let (code, said) = run("check bridge.toml");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("a bridge: 1 pair") && said.contains("100Mbit"),
        "{said}"
    );
    for words in [
        "bridge --config bridge.toml --dry-run",
        "bridge --config bridge.toml",
    ] {
        let (code, said) = run(words);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("bridge.toml:5:8: pair.wan.left: there is no interface `a1` here"),
            "{said}"
        );
    }
    let (code, said) = run("bridge --config bridge.toml a1 b1");
    assert!(
        code == Some(2) && said.contains("cannot be used with"),
        "{said}"
    );
    write(dir, &wan("rate = 5"));
    for words in ["check bridge.toml", "bridge --config bridge.toml"] {
        let (code, said) = run(words);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("bridge.toml:7:8: pair.wan.rate: `5` needs a unit"),
            "{said}"
        );
    }
    let (_, schema) = run("check --schema=bridge");
    assert!(schema.contains("\"Sojourn bridge\""), "{schema}");
}
