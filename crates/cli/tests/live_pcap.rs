//! Captures of real packets, read by tshark and by `sojourn rtt`. They need root; without it they
//! are passed over, except in CI (`CI=true`), where a machine that cannot run them fails them.
//!
//! Nothing here looks at how long something took.

mod common;

use common::process::{Running, bridge, ctl, ground, program, wait_for};
use common::rig::{OURS, PASSES, Raw, available, exchange, exchange_expecting, frame, measured};
use common::{sojourn, tshark, tshark_with};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Packets that fit into what a live capture keeps, so that every checksum can be verified; a
/// queue of few, so that SACK has something to say.
const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "captured"
duration = "4s"
spp = true
[dumbbell]
rtt = "30ms"
rate = "1mbit"
qdisc = "pfifo limit 20"
[tcp]
mss = 170
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[flow]]
name = "reports"
direction = "up"
app = { kind = "telemetry", size = 100, interval = "20ms" }
[[flow]]
name = "probe"
direction = "up"
app = "ping"
"#;

/// What tshark may not find in any capture. Where a TCP checksum comes to zero, Linux sends its
/// other representation, 0xffff (`skb_checksum_help`), which RFC 1071's sum cannot tell from zero
/// and tshark calls bad: one packet of 65 536.
const WRONG: &str = "(_ws.malformed or _ws.expert.severity == error or ip.checksum.status == 0 \
                     or tcp.checksum.status == 0 or udp.checksum.status == 0) \
                     and not tcp.checksum == 0xffff";

/// A figure by the results and by the captures, and how far they may be from each other.
struct Compared {
    what: String,
    own: f64,
    here: f64,
    tolerance: f64,
}

#[test]
fn a_live_run_s_captures_are_whole_and_give_its_round_trips() {
    if !available() {
        return;
    }
    measured(captured_run, |(fewest, dropped, compared)| {
        assert!(*fewest > 300 && *dropped > 0, "{fewest} {dropped}");
        for Compared {
            what,
            own,
            here,
            tolerance,
        } in compared
        {
            // The files go on after the measured time, until nothing is under way.
            assert!(
                (own / here - 1.0).abs() < *tolerance,
                "{what}: {own} {here}"
            );
        }
    });
}

/// Linux senders of this machine's own kernel with AccECN (`tcp_ecn` 3) cross our `dualpi2`: the SYN
/// asks with AE, CWR and ECE, the SYN-ACK says that it came without ECN, and data is ECN-capable.
#[test]
fn this_kernels_accecn_crosses_dualpi2() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let major = release
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    // `tcp_ecn` takes 3 from Linux 7.0 on.
    if !available() || major.is_none_or(|major| major < 7) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"
format = "sojourn-scenario/1"
name = "accecn"
duration = "2s"
[dumbbell]
rtt = "20ms"
rate = "5mbit"
qdisc = "dualpi2"
[tcp]
ecn = "accecn"
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
"#;
    fs::write(dir.path().join("scenario.toml"), scenario).unwrap();
    let line = "run scenario.toml --world live --out out --snap-len 128 --pcap server";
    let words: Vec<_> = line.split(' ').collect();
    let output = sojourn(&words, dir.path());
    assert!(output.status.success(), "{output:?}");
    let file = dir.path().join("out/run-1-server.pcapng");
    let count = |filter: &str| tshark(&file, filter).len();
    let flags = |ack: u8, [ae, cwr, ece]: [u8; 3]| {
        count(&format!(
            "tcp.flags.syn == 1 and tcp.flags.ack == {ack} and tcp.flags.ae == {ae} \
             and tcp.flags.cwr == {cwr} and tcp.flags.ece == {ece}"
        ))
    };
    assert!(flags(0, [1, 1, 1]) >= 1, "the SYN asks for AccECN");
    assert!(flags(1, [0, 1, 0]) >= 1, "the SYN-ACK agrees");
    let data = count("tcp.len > 0");
    assert!(
        data > 0 && count("tcp.len > 0 and ip.dsfield.ecn == 0") == 0,
        "{data}"
    );
    // With no mark the counter stands at 5 (RFC 9768 section 3.2.2).
    assert!(count("tcp.flags.syn == 0 and tcp.flags.ace == 5") > 0);
}

/// A run of the scenario, captured: the fewest packets in a file, how many the queue dropped, and
/// what the results and the files say of the round trips.
fn captured_run() -> (usize, usize, Vec<Compared>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("scenario.toml"), SCENARIO).unwrap();
    let points = "client,server,down,down:in";
    let run = [
        "run",
        "scenario.toml",
        "--world",
        "live",
        "--out",
        "out",
        "--snap-len",
        "256",
        "--pcap",
        points,
    ];
    let output = sojourn(&run, dir.path());
    assert!(output.status.success(), "{output:?}");
    let file = |point: &str| dir.path().join(format!("out/run-1-{point}.pcapng"));
    let good = "ip.checksum.status == 1 and (tcp.checksum.status == 1 \
                or tcp.checksum == 0xffff or udp.checksum.status == 1)";
    let mut fewest = usize::MAX;
    for point in ["client", "server", "down", "down-in"] {
        assert_eq!(tshark(&file(point), WRONG), Vec::<String>::new(), "{point}");
        let (good, all) = (tshark(&file(point), good), tshark(&file(point), "frame"));
        assert_eq!(
            good.len(),
            all.len(),
            "{point}: not all checksums are right"
        );
        fewest = fewest.min(all.len());
    }
    // The kernel's own options, and what they are for.
    let syn = tshark(
        &file("client"),
        "tcp.flags.syn == 1 and tcp.srcport == 30002",
    );
    assert!(syn[0].contains("SACK_PERM TSval="), "{syn:?}");
    assert!(!tshark(&file("client"), "tcp.options.sack_le").is_empty());
    let dropped = tshark(&file("down-in"), "frame").len() - tshark(&file("down"), "frame").len();

    let files = ["out/run-1-client.pcapng", "out/run-1-server.pcapng"];
    let output = sojourn(&["rtt", files[0], files[1], "--json"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let mut compared = Vec::new();
    // Seen from the flow's first end in both.
    for (flow, end) in [
        ("reports", "198.18.0.1:30002"),
        ("probe", "198.18.0.1:30003"),
    ] {
        let flows = found["flows"].as_array().unwrap();
        let here = flows.iter().find(|f| f["a"] == end).expect("it is listed");
        let own = &summary["cells"][0]["flows"][flow]["spp_rtt_ms"];
        for (statistic, tolerance) in [("min", 0.01), ("p50", 0.05), ("count", 0.1)] {
            let [own, here] = [own, &here["rtt_ms"]].map(|d| d[statistic].as_f64());
            compared.push(Compared {
                what: format!("{flow} {statistic}"),
                own: own.expect("a figure"),
                here: here.expect("a figure"),
                tolerance,
            });
        }
    }
    (fewest, dropped, compared)
}

#[test]
fn a_bridge_s_capture_has_its_ports_as_interfaces() {
    let Some((dir, link)) = ground() else { return };
    let words = "a1 b1 --no-fail-open --up-delay 5ms --down-delay 5ms --pcap two.pcapng";
    let bridge = bridge(&link, words, dir.path());

    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000"))
        .unwrap();
    let echo = thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut bytes = [0; 100];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut stream = link
        .client
        .run(|| TcpStream::connect("10.9.0.2:5000"))
        .unwrap();
    for number in 0..20 {
        stream.write_all(&[number; 100]).unwrap();
        let mut bytes = [0; 100];
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [number; 100]);
    }
    drop(stream);
    echo.join().expect("it does not panic").unwrap();
    bridge.interrupt();

    let file = dir.path().join("two.pcapng");
    // The hosts leave their checksums to a device that there is not, so only IP's are verified.
    let wrong = "_ws.malformed or ip.checksum.status == 0";
    assert_eq!(tshark(&file, wrong), Vec::<String>::new());
    for interface in ["a1", "b1"] {
        let filter = format!("frame.interface_name == {interface} and tcp.len == 100");
        // What a busy machine has kept for long the hosts send again.
        let place = ["-T", "fields", "-e", "tcp.srcport", "-e", "tcp.seq"];
        let seen: BTreeSet<_> = tshark_with(&file, &filter, &place).into_iter().collect();
        assert_eq!(seen.len(), 40, "{interface}: {seen:?}");
    }
    // The time of day: after this was written.
    let day = tshark(&file, "frame.time < \"2025-01-01 00:00:00\"");
    assert_eq!(day, Vec::<String>::new());
    let output = sojourn(&["rtt", "two.pcapng", "--json"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &found["flows"][0];
    assert_eq!(flow["b"], "10.9.0.2:5000", "{flow}");
    let rtt = &flow["rtt_ms"];
    assert!(rtt["count"].as_u64() >= Some(20), "{rtt}");
    // Both delays lie between the two ports. At its end the bridge lets go of what it still delays.
    assert!(rtt["p50"].as_f64() >= Some(10.0), "{rtt}");
}

/// `sojourn ctl capture` of the bridge at `control`, once it has begun.
fn capture(dir: &Path, words: &str) -> Running {
    let before = history(dir, "begins");
    let mut command = program(&format!("ctl --socket control capture {words}"), dir);
    let capture = Running::start(command.stdout(Stdio::null()));
    wait_for("the capture's beginning", || {
        history(dir, "begins") > before
    });
    capture
}

/// How many captures of the bridge have begun, or ended.
fn history(dir: &Path, what: &str) -> usize {
    let (code, said) = ctl(dir, "history");
    assert_eq!(code, Some(0), "{said}");
    said.matches(&format!("a capture {what}")).count()
}

#[test]
fn a_running_bridge_is_captured_on_demand() {
    let Some((dir, link)) = ground() else { return };
    let words = "a1 b1 --no-fail-open --stale 60s --control control --up-rate 1mbit --up";
    let mut command = program(&format!("bridge {words}"), dir.path());
    command.arg("pfifo limit 10").stdout(Stdio::piped());
    let mut bridge = link.middle.run(|| Running::start(&mut command));
    assert!(bridge.first_line().starts_with("ready"));

    // Until it is told to end; around the queue, which drops some.
    let around = capture(
        dir.path(),
        "--at up:in,up,left -w around.pcapng --snap-len 60",
    );
    // As many as were asked for.
    let few = capture(dir.path(), "--packets 5 -w few.pcapng");
    // Of the hundred up the queue holds ten.
    exchange_expecting(&link, [10, 0, 100, 0]);
    assert!(few.ended());
    around.interrupt();
    let file = dir.path().join("around.pcapng");
    let seen = |interface: &str| {
        let ours = format!("frame.interface_name == \"{interface}\" and eth.type == {OURS:#x}");
        tshark(&file, &ours).len()
    };
    assert_eq!(seen("up:in"), 100);
    let left = seen("up");
    assert!((10..100).contains(&left), "{left}");
    // A hundred that the hosts there send, and a hundred that they get.
    assert_eq!(seen("a1"), 200);
    assert_eq!(tshark(&file, "frame.cap_len > 60").len(), 0);
    assert_eq!(tshark(&dir.path().join("few.pcapng"), "frame").len(), 5);
    // The time of day: after this was written.
    let day = tshark(&file, "frame.time < \"2025-01-01 00:00:00\"");
    assert_eq!(day, Vec::<String>::new());
    // For so long, also when nothing comes by; and through a pipe.
    let short = capture(dir.path(), "--duration 300ms -w short.pcapng");
    assert!(short.ended());
    let program = env!("CARGO_BIN_EXE_sojourn");
    let line =
        format!("{program} ctl --socket control capture --at down --packets 3 | tshark -r -");
    let pipe = Command::new("sh")
        .args(["-c", &line])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell is there");
    wait_for("the beginnings", || history(dir.path(), "begins") == 4);
    exchange_expecting(&link, [10, 0, 100, 0]);
    let printed = pipe.wait_with_output().unwrap().stdout;
    assert_eq!(String::from_utf8(printed).unwrap().lines().count(), 3);
    // With the bridge they end too.
    let last = capture(dir.path(), "-w last.pcapng");
    bridge.interrupt();
    assert!(last.ended());
    assert_eq!(tshark(&dir.path().join("last.pcapng"), "frame").len(), 0);
}

#[test]
fn so_many_captures_at_once_and_whoever_goes_makes_room() {
    let Some((dir, link)) = ground() else { return };
    let bridge = bridge(&link, "a1 b1 --control control", dir.path());
    let mut some: Vec<_> = (0..4)
        .map(|number| capture(dir.path(), &format!("-w {number}.pcapng")))
        .collect();
    let (code, said) = ctl(dir.path(), "capture -w more.pcapng --duration 1s");
    assert_eq!(code, Some(2));
    assert!(said.contains("4 captures are under way already"), "{said}");
    assert!(!dir.path().join("more.pcapng").exists());
    // However it goes.
    some.pop().expect("there is one").kill();
    wait_for("the end", || history(dir.path(), "ends") == 1);
    let (_, said) = ctl(dir.path(), "history");
    assert!(said.contains("its reader has gone"), "{said}");
    // A full disk is told at once, by whoever has it.
    let full = program("ctl --socket control capture -w /dev/full", dir.path())
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{error}");
    assert!(
        error.contains("cannot write /dev/full: No space left"),
        "{error}"
    );
    wait_for("the end", || history(dir.path(), "ends") == 2);
    let (code, said) = ctl(dir.path(), "capture --at in");
    assert!(code == Some(2) && said.contains("up:in"), "{said}");
    bridge.interrupt();
    assert!(some.into_iter().all(Running::ended));
}

#[test]
fn a_reader_that_does_not_read_holds_nothing_up() {
    let Some((dir, link)) = ground() else { return };
    let words = "a1 b1 --no-fail-open --stale 60s --control control";
    let bridge = bridge(&link, words, dir.path());
    let mut client = UnixStream::connect(dir.path().join("control")).unwrap();
    writeln!(client, r#"{{"command":"capture","places":["left"]}}"#).unwrap();
    // 16 384 frames wait at most, and what fits into the socket.
    let left = Raw::new(&link.client, "a0");
    for number in 1..=40_000 {
        left.send(&frame(OURS, &[1; 100]));
        if number % 500 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(exchange(&link), PASSES);
    assert_eq!(history(dir.path(), "ends"), 0);
    // Now it reads: what waited is there, and how much does not wait is told.
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut answer = String::new();
    reader.read_line(&mut answer).unwrap();
    assert!(answer.contains("\"ok\":true"), "{answer}");
    writeln!(client, "enough").unwrap();
    let mut file = File::create(dir.path().join("late.pcapng")).unwrap();
    std::io::copy(&mut reader, &mut file).unwrap();
    wait_for("the end", || history(dir.path(), "ends") == 1);
    let (_, said) = ctl(dir.path(), "history");
    let ended = said.lines().find(|line| line.contains("a capture ends"));
    let mut words = ended.expect("it has ended").split_whitespace().rev();
    let left_out = words
        .find_map(|word| word.parse::<u64>().ok())
        .expect("it says how many were left out");
    let kept = tshark(&dir.path().join("late.pcapng"), "frame").len() as u64;
    assert!(left_out > 0 && kept > 16_384, "{kept} {left_out}");
    bridge.interrupt();
}

/// The file begins a capture, another one ends it, and a path that cannot be written changes
/// nothing.
#[test]
fn a_bridge_s_file_begins_and_ends_captures() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let write = |keys: &str| {
        let head = "version = 1\ncontrol = \"control\"\n[[pair]]\nname = \"wan\"\nleft = \"a1\"\n";
        let calm = "fail_open = \"off\"\nstale = \"60s\"";
        let text = format!("{head}right = \"b1\"\n{calm}\n{keys}\n");
        fs::write(dir.join("bridge.toml"), text).unwrap();
    };
    let frames = |file: &str| tshark(&dir.join(file), "frame").len();
    write("pcap = \"one.pcapng\"\nsnap_len = 60");
    let process = bridge(&link, "--config bridge.toml", dir);
    assert_eq!(exchange(&link), PASSES);
    write("pcap = \"no/where.pcapng\"");
    let (code, said) = ctl(dir, "reload");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("pair wan: pcap: no/where.pcapng: "), "{said}");
    write("pcap = \"two.pcapng\"");
    let (code, said) = ctl(dir, "reload");
    assert_eq!(code, Some(0), "{said}");
    let changed = "pcap: one.pcapng (60 bytes of a frame) -> two.pcapng (192 bytes of a frame)";
    assert!(said.contains(changed), "{said}");
    // What goes out of one port comes in at the other, and both see it.
    assert!(frames("one.pcapng") >= 400);
    let first = frames("one.pcapng");
    assert_eq!(exchange(&link), PASSES);
    // The same file anew, with what comes from now on.
    write("pcap = \"one.pcapng\"");
    assert_eq!(ctl(dir, "reload").0, Some(0));
    assert!(frames("two.pcapng") >= 400);
    write("");
    let (code, said) = ctl(dir, "reload");
    assert_eq!((code, said.contains("-> none")), (Some(0), true), "{said}");
    assert!(frames("one.pcapng") < first);
    assert_eq!(ctl(dir, "reload").1, "nothing differs\n");
    process.interrupt();
}
