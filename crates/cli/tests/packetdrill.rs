//! `sojourn packetdrill` runs scripts and says what stops them.

mod common;

use common::sojourn;
use std::fs;
use std::path::Path;
use std::process::Output;

const PASSES: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 close(3) = 0\n";
const OURS: &str = "0 < S 0:0(0) win 1\n+0 > . 0:0(0) ack 1\n";
const SOCKET_ONLY: &str = "0 epoll_create(1) = 3\n";
const NOT_MODELLED: &str = "`sysctl -q net.ipv4.tcp_syncookies=2`\n";

fn run(words: &[&str], dir: &Path) -> (Output, String) {
    let output = sojourn(&[&["packetdrill"], words].concat(), dir);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[test]
fn a_folder_of_scripts_has_a_table_of_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::create_dir(dir.join("more")).unwrap();
    for (name, text) in [
        ("a.pkt", PASSES),
        ("b.pkt", OURS),
        ("more/c.pkt", SOCKET_ONLY),
        ("more/d.pkt", NOT_MODELLED),
        ("e.txt", "not a script"),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
    let (output, text) = run(&["."], dir);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let expected = "\
./b.pkt:2: ours
    expected . 0:0(0) ack 1 at 0.000000 s
         got [noecn] R. 0:0(0) ack 1 win 0 at 0.000000 s
./more/c.pkt:1: socket only
    epoll_create(1)
./more/d.pkt:1: not modelled
    sysctl net.ipv4.tcp_syncookies=2

verdict       scripts
------------  -------
passes              1
ours                1
not modelled        1
socket only         1
all                 4
";
    assert_eq!(text, expected);
    let (_, text) = run(&[".", "--only", "passes", "--only", "socket only"], dir);
    assert!(
        text.starts_with("./a.pkt: passes\n./more/c.pkt:1: socket only\n"),
        "{text}"
    );
    let (output, text) = run(&["a.pkt", "more", "--json"], dir);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json[0]["verdict"], "passes");
    assert_eq!(json[1]["file"], "more/c.pkt");
    assert_eq!(
        (&json[1]["line"], &json[1]["why"]),
        (&1.into(), &"epoll_create(1)".into())
    );
}

#[test]
fn what_is_no_script_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::write(dir.join("bad.pkt"), "0 < X\n").unwrap();
    fs::write(dir.join("worse.pkt"), "\n\nnever\n").unwrap();
    fs::create_dir(dir.join("empty")).unwrap();
    for (words, expected) in [
        (
            &["bad.pkt", "worse.pkt"][..],
            "bad.pkt:1:5: `X` where flags belong",
        ),
        (
            &["bad.pkt", "worse.pkt"],
            "worse.pkt:3:1: `never` where a time belongs",
        ),
        (&["empty"], "empty: no file below it ends in .pkt"),
        (&["nowhere.pkt"], "cannot read nowhere.pkt"),
        (
            &["bad.pkt", "--only", "fine"],
            "--only: unknown verdict `fine`; available: passes, ours, not modelled, socket only",
        ),
    ] {
        let (output, _) = run(words, dir);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Linux's own scripts, where their source is (`SOJOURN_PACKETDRILL`, a folder).
#[test]
fn scripts_of_linux_can_all_be_read_and_most_pass() {
    let Some(folder) = std::env::var_os("SOJOURN_PACKETDRILL") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let folder = folder.to_str().unwrap();
    let (output, text) = run(&[folder, "--json"], dir.path());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count = |verdict: &str| {
        let all = json.as_array().unwrap().iter();
        all.filter(|script| script["verdict"] == verdict).count()
    };
    let asks = count("passes") + count("ours") + count("not modelled");
    assert!(
        count("passes") * 100 >= asks * 60,
        "{} of {asks}",
        count("passes")
    );
}
