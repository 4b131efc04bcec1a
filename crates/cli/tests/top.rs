//! `sojourn top` on a running bridge: what it records of real flows, what it leaves of a terminal,
//! and whom it does not believe. Needs root; without it these are passed over, except in CI
//! (`CI=true`), where a machine that cannot run them fails them.

mod common;

use common::process::{Running, bridge, ctl, ground, program, wait_for};
use common::rig::{Link, StopOnDrop, measured};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Exit status, and what was said.
fn said(words: &str, dir: &Path) -> (Option<i32>, String) {
    let output = program(words, dir).output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("output is text");
    (output.status.code(), text)
}

/// Twice as many packets as the queue lets pass, from one port, and a few from another, while
/// `work` runs.
fn flooded<T>(link: &Link, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let flood = || {
        let sockets = [40_001, 40_002].map(|port| {
            let socket = UdpSocket::bind(("10.9.0.1", port)).expect("the port is free");
            socket.connect("10.9.0.2:5001").expect("there is a route");
            socket
        });
        let mut number = 0;
        while !done.load(Ordering::Relaxed) {
            // Refused by the other host, which has no such port.
            let _ = sockets[usize::from(number % 100 == 0)].send(&[0; 1000]);
            number += 1;
            thread::sleep(Duration::from_micros(50));
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| link.client.run(flood));
        let _done = StopOnDrop(&done);
        work()
    })
}

/// The rows of a table.
fn rows(path: &Path) -> Vec<Row> {
    let file =
        SerializedFileReader::new(File::open(path).expect("it is there")).expect("it is Parquet");
    let rows = file.get_row_iter(None).expect("it has rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    let mut fields = row.get_column_iter();
    let found = fields.find(|(column, _)| *column == name);
    found.expect("the column is there").1
}

fn text(row: &Row, name: &str) -> String {
    match field(row, name) {
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => panic!("{name}: {other}"),
    }
}

fn number(row: &Row, name: &str) -> f64 {
    match field(row, name) {
        Field::Long(number) | Field::TimestampMicros(number) => *number as f64,
        Field::Double(number) => *number,
        other => panic!("{name}: {other}"),
    }
}

#[test]
fn a_recording_tells_what_flows_did() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let run = || {
        let process = bridge(&link, "a1 b1 --control control", dir);
        assert_eq!(ctl(dir, "change up cake bandwidth 10mbit").0, Some(0));
        let (code, text_out) = flooded(&link, || {
            said("top --socket control --record top.parquet --seconds 3", dir)
        });
        process.interrupt();
        assert_eq!(code, Some(0), "{text_out}");
        assert!(text_out.starts_with("top.parquet: "), "{text_out}");
        let rows = rows(&dir.join("top.parquet"));
        assert!(
            text_out.ends_with(&format!(" samples, {} rows\n", rows.len())),
            "{text_out}"
        );
        adds_up(&rows);
        rows
    };
    measured(run, |rows| judge(rows));
}

/// The rows of one thing of the pair.
fn of<'a>(rows: &'a [Row], direction: &str, kind: &str, name: &str) -> Vec<&'a Row> {
    let rows = rows.iter().filter(|row| {
        text(row, "pair") == "a1-b1"
            && text(row, "direction") == direction
            && text(row, "kind") == kind
            && text(row, "name").starts_with(name)
    });
    rows.collect()
}

const QUEUE: [&str; 3] = ["up", "queue", "cake bandwidth 10Mbit"];
const FLOOD: [&str; 3] = ["up", "flow", "udp 10.9.0.1:40001 > 10.9.0.2:5001"];
const FEW: [&str; 3] = ["up", "flow", "udp 10.9.0.1:40002 > 10.9.0.2:5001"];

/// What is recorded of a flood and of a few packets beside it adds up, however slow the machine is.
fn adds_up(rows: &[Row]) {
    let of = |[direction, kind, name]: [&str; 3]| of(rows, direction, kind, name);
    let (queue, flood, few) = (of(QUEUE), of(FLOOD), of(FEW));
    let never_falls = |rows: &[&Row], name: &str| {
        let numbers: Vec<f64> = rows.iter().map(|row| number(row, name)).collect();
        assert!(numbers.is_sorted(), "{name}: {numbers:?}");
    };
    never_falls(&queue, "time");
    never_falls(&queue, "bytes");
    never_falls(&flood, "packets");
    let others = [
        ["down", "queue", "pfifo"],
        ["up", "tin", "Best Effort"],
        ["up", "tin", "Voice"],
    ];
    for other in others {
        assert_eq!(of(other).len(), queue.len(), "{other:?}");
    }
    for row in &flood {
        assert_eq!(text(row, "tin"), "Best Effort");
    }
    // What a queue has counted may be ten milliseconds old, and samples that were late may follow
    // each other at once.
    let last = queue.last().expect("there is a sample");
    let then = number(last, "time") - 100_000.0;
    for name in ["packets", "dropped_packets"] {
        let [flood, few] = [&flood, &few].map(|rows| {
            let mut earlier = rows.iter().rev().filter(|row| number(row, "time") <= then);
            earlier.next().map_or(0.0, |row| number(row, name))
        });
        let all = number(last, name);
        assert!(
            flood + few <= all,
            "flows are part of all: {name}: {flood} {few} {all}"
        );
    }
}

/// What is recorded of a flood twice as fast as the queue, and of a few packets beside it.
fn judge(rows: &[Row]) {
    let of = |[direction, kind, name]: [&str; 3]| of(rows, direction, kind, name);
    let (queue, flood, few) = (of(QUEUE), of(FLOOD), of(FEW));
    assert!(queue.len() > 3, "{}", queue.len());
    let last = |rows: &[&Row], name: &str| number(rows.last().expect("it was seen"), name);
    assert!(
        last(&flood, "dropped_packets") > 0.0,
        "COBALT drops a flood"
    );
    assert!(last(&flood, "bytes") > 10.0 * last(&few, "bytes"));
    // Nine tenths of the rate at least, once it has settled; headers are cake's business.
    let rate = last(&flood, "rate_bps");
    assert!((5e6..11e6).contains(&rate), "{rate}");
    let [flooded, sparse] = [&flood, &few].map(|rows| last(rows, "delay_ms"));
    assert!(
        flooded > sparse,
        "a sparse flow goes first: {flooded} {sparse}"
    );
    assert!(last(&queue, "delay_ms") > 0.0 && last(&queue, "rate_bps") > 5e6);
}

#[test]
fn who_is_no_bridge_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let top = |words: &str| said(&format!("top --socket socket {words}"), dir);
    let (code, error) = top("");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("no terminal to draw on"), "{error}");
    let no_bridge = || {
        let (code, error) = top("--record top.parquet");
        assert_eq!(code, Some(1), "{error}");
        let why = "no bridge answers at socket";
        assert!(error.contains(why), "{error}");
    };
    no_bridge();
    fs::write(dir.join("socket"), "a file").unwrap();
    no_bridge();
    fs::remove_file(dir.join("socket")).unwrap();
    let listener = UnixListener::bind(dir.join("socket")).unwrap();
    let strangers = [
        (
            "220 mail.example ESMTP\n",
            "socket is not the socket of a bridge",
        ),
        ("{\"ok\":true}\n", "it is of another version"),
        (
            "{\"ok\":false,\"error\":\"`top` is not a command\"}\n",
            "`top` is not a command",
        ),
        ("", "socket has hung up"),
    ];
    for (answer, complaint) in strangers {
        let error = thread::scope(|scope| {
            let asked = scope.spawn(|| top("--record top.parquet"));
            let (mut stream, _) = listener.accept().expect("it connects");
            let mut request = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("one more"));
            reader.read_line(&mut request).expect("it asks");
            assert!(request.contains("\"command\":\"top\""), "{request}");
            stream.write_all(answer.as_bytes()).expect("it listens");
            drop((stream, reader));
            asked.join().expect("it ends")
        });
        assert_ne!(error.0, Some(0));
        assert!(error.1.contains(complaint), "{error:?}");
    }
    assert!(!dir.join("top.parquet").exists(), "nothing was recorded");
}

/// `sojourn top` on a terminal of its own, with its process number in the file `pid`.
fn on_a_terminal(dir: &Path, words: &str) -> (Child, BufReader<ChildStdout>) {
    let program = env!("CARGO_BIN_EXE_sojourn");
    // Under nohup, which tests may be run with, a hangup would be none.
    let command = format!(
        "stty rows 24 cols 80; echo $$ > pid; exec env --default-signal=HUP {program} top \
         --socket control {words}"
    );
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &command, "/dev/null"]);
    script.current_dir(dir).env("TERM", "xterm");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().expect("util-linux has it");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    (child, output)
}

/// Reads what the terminal shows until this text has come.
fn until(output: &mut BufReader<ChildStdout>, wanted: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(wanted.as_bytes()) {
        let read = output.read(&mut byte).expect("it can be read");
        let shown = String::from_utf8_lossy(&seen);
        assert_eq!(read, 1, "`{wanted}` did not come: {shown}");
        seen.push(byte[0]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

/// To the other screen, and back.
const TAKEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let process = bridge(&link, "a1 b1 --control control", dir);
    let mut process = Some(process);
    for end in ["q", "TERM", "HUP", "bridge"] {
        let (mut child, mut output) = on_a_terminal(dir, "--record top.parquet");
        until(&mut output, TAKEN);
        // Blanks are moves of the cursor.
        until(&mut output, "pfifo");
        match end {
            "q" => {
                let mut keys = child.stdin.take().expect("it is piped");
                keys.write_all(b"psdq").expect("it reads");
            }
            "bridge" => drop(process.take().map(Running::interrupt)),
            signal => {
                let pid = fs::read_to_string(dir.join("pid")).unwrap();
                // A terminal that goes says so twice: the kernel, and the shell.
                let kill = format!("kill -{signal} {}", pid.trim());
                let kill = match signal {
                    "HUP" => format!("{kill}; sleep 0.01; {kill}; true"),
                    _ => kill,
                };
                let killed = Command::new("sh").args(["-c", &kill]).status();
                assert!(killed.expect("a shell is there").success());
            }
        }
        until(&mut output, GIVEN_BACK);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("it is text");
        assert!(rest.contains("\x1b[?25h"), "the cursor is shown: {rest:?}");
        let code = child.wait().expect("it ends").code();
        if end == "bridge" {
            assert_eq!(code, Some(1), "{rest}");
            assert!(rest.contains("the bridge answers no more"), "{rest}");
        } else {
            assert_eq!(code, Some(0), "{end}: {rest}");
        }
        assert!(rest.contains("top.parquet: "), "{rest}");
        assert!(!rows(&dir.join("top.parquet")).is_empty());
    }
}

/// As when a connection breaks, or a window is closed. What it has recorded is whole.
#[test]
fn it_ends_when_its_terminal_goes() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let process = bridge(&link, "a1 b1 --control control", dir);
    let (mut child, mut output) = on_a_terminal(dir, "--record gone.parquet");
    until(&mut output, TAKEN);
    until(&mut output, "pfifo");
    let pid = fs::read_to_string(dir.join("pid")).unwrap();
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    let lives = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    wait_for("its end", || !lives());
    assert!(!rows(&dir.join("gone.parquet")).is_empty());
    process.interrupt();
}

#[test]
fn a_pair_can_be_named() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let _other = link.beside();
    let file = "version = 1\ncontrol = \"control\"\n\
                [[pair]]\nname = \"wan\"\nleft = \"a1\"\nright = \"b1\"\n\
                [[pair]]\nname = \"dsl\"\nleft = \"a2\"\nright = \"b2\"\n";
    fs::write(dir.join("bridge.toml"), file).unwrap();
    let process = bridge(&link, "--config bridge.toml", dir);
    let top = |words: &str| {
        let words = format!("top --socket control --record top.parquet --seconds 1 {words}");
        said(&words, dir)
    };
    let (code, error) = top("--pair lan");
    assert_eq!(code, Some(2), "{error}");
    assert!(
        error.contains("there is no pair `lan`; there are wan, dsl"),
        "{error}"
    );
    let pairs = |words: &str| {
        let (code, text_out) = top(words);
        assert_eq!(code, Some(0), "{text_out}");
        let rows = rows(&dir.join("top.parquet"));
        let mut pairs: Vec<String> = rows.iter().map(|row| text(row, "pair")).collect();
        pairs.sort();
        pairs.dedup();
        pairs
    };
    assert_eq!(pairs(""), ["dsl", "wan"]);
    assert_eq!(pairs("--pair dsl"), ["dsl"]);
    process.interrupt();
}
