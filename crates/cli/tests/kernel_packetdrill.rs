//! `sojourn packetdrill --linux`: scripts of our own against our TCP and against the kernel of a
//! guest, which says of each whether the script is right.
//!
//! Takes the user's guest kernel, as `kernel.rs` does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{left, program};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Both sides must have the same window scale, and no timestamps.
const SETTINGS: &str = "`sysctl -q net.ipv4.tcp_rmem=\"4096 540000 15728640\"
sysctl -q net.ipv4.tcp_timestamps=0
sysctl -q net.ipv4.tcp_ecn=0`
";

const LISTENS: &str = "0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
";

/// A server writes five segments, the first of which is lost.
const RECOVERS: &str = "+0  < S 0:0(0) win 32000 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0  > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
+.1 < . 1:1(0) ack 1 win 257
+0  accept(3, ..., ...) = 4
+0  write(4, ..., 5000) = 5000
+0  > P. 1:5001(5000) ack 1
+.1 < . 1:1(0) ack 1 win 257 <sack 1001:4001,nop,nop>
+0  > . 1:1001(1000) ack 1
+0  %{ assert tcpi_sacked == 3 }%
+.1 < . 1:1(0) ack 5001 win 257
+0  %{ assert tcpi_unacked == 0 }%
+0  close(4) = 0
+0  > F. 5001:5001(0) ack 1
+.1 < F. 1:1(0) ack 5002 win 257
+0  > . 5002:5002(0) ack 2
";

/// A client whose data is not acknowledged: the retransmission timeout doubles (RFC 6298, 5.5). The
/// kernel's timers of such lengths have steps of up to 8 and 64 ms at 1000 ticks a second.
const BACKS_OFF: &str = "0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0  connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0  > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 8>
+.1 < S. 0:0(0) ack 1 win 32000 <mss 1000,nop,wscale 7>
+0  > . 1:1(0) ack 1
+0  write(3, ..., 1000) = 1000
+0  > P. 1:1001(1000) ack 1
+.3~+.31 > P. 1:1001(1000) ack 1
+.6~+.68 > P. 1:1001(1000) ack 1
+1.2~+1.4 > P. 1:1001(1000) ack 1
";

/// Nobody listens.
const REFUSED: &str = "0 < S 0:0(0) win 1000\n+0 > R. 0:0(0) ack 1 win 0\n";

/// It acknowledges what was not sent, which no TCP does.
const WRONG: &str = "+0  < S 0:0(0) win 32000 <mss 1000>\n+0  > S. 0:0(0) ack 2 <mss 1460>\n";

/// What the referee has no call for.
const EPOLL: &str = "0 epoll_create(1) = 3\n";

fn scripts(dir: &Path) {
    for (name, text) in [
        ("backs-off.pkt", format!("{SETTINGS}{BACKS_OFF}")),
        ("epoll.pkt", EPOLL.to_owned()),
        ("recovers.pkt", format!("{SETTINGS}{LISTENS}{RECOVERS}")),
        ("refused.pkt", REFUSED.to_owned()),
        ("wrong.pkt", format!("{SETTINGS}{LISTENS}{WRONG}")),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
}

/// Exit status and output of the program, which leaves nothing behind.
fn packetdrill(dir: &Path, more: &[&str]) -> (Option<i32>, Vec<u8>) {
    let temporary = tempfile::tempdir().unwrap();
    let words = [&["packetdrill", ".", "--linux"], more].concat();
    let mut command = program(temporary.path(), &words);
    let output = command.current_dir(dir).output().unwrap();
    assert_eq!(left(temporary.path()), Vec::<PathBuf>::new());
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.code(), output.stdout)
}

#[test]
fn the_kernel_agrees_with_scripts_that_are_right() {
    let dir = tempfile::tempdir().unwrap();
    scripts(dir.path());
    let (status, text) = packetdrill(dir.path(), &["--json"]);
    assert_eq!(status, Some(1));
    let all: Value = serde_json::from_slice(&text).unwrap();
    let verdicts: Vec<[String; 3]> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|script| {
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            let linux = &script["linux"]["verdict"];
            [&script["file"], &script["verdict"], linux].map(word)
        })
        .collect();
    let expected = [
        ["./backs-off.pkt", "passes", "agrees"],
        ["./epoll.pkt", "socket only", "not run"],
        ["./recovers.pkt", "passes", "agrees"],
        ["./refused.pkt", "passes", "agrees"],
        ["./wrong.pkt", "ours", "differs"],
    ];
    assert_eq!(verdicts, expected, "{all:#}");
    let linux = &all[4]["linux"];
    assert_eq!(linux["line"], 8, "{linux}");
    let why = linux["why"].as_str().unwrap();
    assert!(why.contains("got [noecn] S. 0:0(0) ack 1 win "), "{why}");
    // The guest is one in virtual time: what it says is the same each time.
    assert_eq!(packetdrill(dir.path(), &["--json"]), (status, text));
}
