//! Captures of real packets, read by tshark and by `sojourn rtt`. They need root; without it they
//! are passed over, except in CI (`CI=true`), where a machine that cannot run them fails them.
//!
//! Nothing here looks at how long something took.

mod common;

use common::process::bridge;
use common::rig::{Link, available};
use common::{sojourn, tshark};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

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

#[test]
fn a_live_run_s_captures_are_whole_and_give_its_round_trips() {
    if !available() {
        return;
    }
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
    for point in ["client", "server", "down", "down-in"] {
        assert_eq!(tshark(&file(point), WRONG), Vec::<String>::new(), "{point}");
        let (good, all) = (tshark(&file(point), good), tshark(&file(point), "frame"));
        assert_eq!(
            good.len(),
            all.len(),
            "{point}: not all checksums are right"
        );
        assert!(all.len() > 300, "{point}: {}", all.len());
    }
    // The kernel's own options, and what they are for.
    let syn = tshark(
        &file("client"),
        "tcp.flags.syn == 1 and tcp.srcport == 30002",
    );
    assert!(syn[0].contains("SACK_PERM TSval="), "{syn:?}");
    assert!(!tshark(&file("client"), "tcp.options.sack_le").is_empty());
    let dropped = tshark(&file("down-in"), "frame").len() - tshark(&file("down"), "frame").len();
    assert!(dropped > 0);

    let files = ["out/run-1-client.pcapng", "out/run-1-server.pcapng"];
    let output = sojourn(&["rtt", files[0], files[1], "--json"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
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
            let (own, here) = (own.expect("a figure"), here.expect("a figure"));
            // The files go on after the measured time, until nothing is under way.
            assert!(
                (own / here - 1.0).abs() < tolerance,
                "{flow} {statistic}: {own} {here}"
            );
        }
    }
}

#[test]
fn a_bridge_s_capture_has_its_ports_as_interfaces() {
    if !available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let link = Link::new();
    let words = "a1 b1 --no-fail-open --up-delay 5ms --down-delay 5ms --pcap two.pcapng";
    let bridge = bridge(&link, words, dir.path());

    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000"))
        .unwrap();
    let echo = std::thread::spawn(move || -> std::io::Result<()> {
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
        assert_eq!(tshark(&file, &filter).len(), 40, "{interface}");
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
