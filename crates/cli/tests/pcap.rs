//! Captures of runs, read by tshark and by `sojourn rtt`.
//!
//! Needs tshark (Debian package `tshark`; `scripts/setup test` installs it).

mod common;

use common::{good, sojourn, tshark};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A lossy path with every kind of flow: greedy, with a size, small messages with ECN, datagrams.
const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "captured"
duration = "5s"
spp = true
[dumbbell]
rtt = "30ms"
up = { rate = "2mbit" }
down = { rate = "10mbit" }
qdisc = "fq_codel limit 60"
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[flow]]
name = "small"
direction = "up"
app = { kind = "cbr", size = 100, interval = "20ms" }
transport = "tcp"
tcp = { ecn = true }
[[flow]]
name = "file"
direction = "up"
app = { kind = "file", size = 300000 }
tcp = { timestamps = false, mss = 1460 }
[[flow]]
name = "probe"
direction = "up"
app = "ping"
"#;

fn capture(more: &[&str]) -> (tempfile::TempDir, Value) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("scenario.toml"), SCENARIO).unwrap();
    let points = "client,server,down,down:in";
    let arguments = ["run", "scenario.toml", "--out", "out", "--pcap", points];
    let output = sojourn(&[&arguments, more].concat(), dir.path());
    assert!(output.status.success(), "{output:?}");
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    (dir, serde_json::from_str(&summary).unwrap())
}

/// The whole packets of one point of the first run of a scenario.
fn captured(dir: &Path, scenario: &str, point: &str) -> PathBuf {
    fs::write(dir.join("scenario.toml"), scenario).unwrap();
    let words = format!("run scenario.toml --out out --pcap {point} --snap-len 65535");
    good(&words, dir);
    dir.join(format!("out/run-1-{}.pcapng", point.replace(':', "-")))
}

#[test]
fn tshark_has_no_complaint() {
    let (dir, summary) = capture(&["--snap-len", "65535"]);
    let file = |point: &str| dir.path().join(format!("out/run-1-{point}.pcapng"));
    let wrong = "_ws.malformed or _ws.expert.severity == error or ip.checksum.status == 0 \
                 or tcp.checksum.status == 0 or udp.checksum.status == 0";
    let good = "ip.checksum.status == 1 and (tcp.checksum.status == 1 or udp.checksum.status == 1)";
    for point in ["client", "server", "down", "down-in"] {
        assert_eq!(tshark(&file(point), wrong), Vec::<String>::new(), "{point}");
        let (good, all) = (tshark(&file(point), good), tshark(&file(point), "frame"));
        assert_eq!(
            good.len(),
            all.len(),
            "{point}: checksums that were not verified"
        );
        assert!(all.len() > 500, "{point}: {}", all.len());
    }
    // What tshark takes for a second copy at the sender is what the sender counted.
    let again = "tcp.len > 0 and (tcp.analysis.retransmission or \
                 tcp.analysis.fast_retransmission or tcp.analysis.spurious_retransmission \
                 or tcp.analysis.out_of_order)";
    let mut most = 0;
    for (flow, at, port) in [
        ("download", "server", 30_001),
        ("small", "client", 30_002),
        ("file", "client", 30_003),
    ] {
        let filter = format!("tcp.srcport == {port} and {again}");
        let counted = &summary["cells"][0]["flows"][flow]["retransmitted_packets"];
        let seen = tshark(&file(at), &filter).len() as u64;
        assert_eq!(Some(seen), counted.as_u64(), "{flow}");
        most = most.max(seen);
    }
    assert!(most > 10, "a path without losses shows nothing: {most}");
    // The queue's accounts: what went in and did not come out was dropped, or waits at the end.
    let link = &summary["cells"][0]["links"]["down"];
    let count = |point| tshark(&file(point), "frame.time_relative <= 5.0").len() as u64;
    assert!(count("down-in") - count("down") >= link["dropped_packets"].as_u64().unwrap());
    let syn = tshark(
        &file("client"),
        "tcp.flags.syn == 1 and tcp.srcport == 30002",
    );
    assert!(
        syn[0].contains("MSS=1460 SACK_PERM TSval=0 TSecr=0 WS=128"),
        "{syn:?}"
    );
}

/// AccECN in the words of tshark: the handshake's flags, a counter that begins at 5 and counts each
/// mark of the queue, and the option's bytes.
#[test]
fn tshark_reads_accurate_ecn() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"
format = "sojourn-scenario/1"
name = "accurate"
duration = "5s"
[dumbbell]
rtt = "30ms"
rate = "10mbit"
qdisc = "codel ecn"
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
tcp = { ecn = "accecn" }
"#;
    let file = captured(dir.path(), scenario, "server");
    let count = |filter: &str| tshark(&file, filter).len();
    let wrong = "_ws.malformed or _ws.expert.severity == error or tcp.checksum.status == 0";
    assert_eq!(tshark(&file, wrong), Vec::<String>::new());
    // Of SYNs tshark shows the flags one by one, and of what follows the number of all three.
    let flags = |ack: u8, set: [u8; 3]| {
        let [ae, cwr, ece] = set;
        count(&format!(
            "tcp.flags.syn == 1 and tcp.flags.ack == {ack} and tcp.flags.ae == {ae} \
             and tcp.flags.cwr == {cwr} and tcp.flags.ece == {ece}"
        ))
    };
    assert_eq!(flags(0, [1, 1, 1]), 1);
    assert_eq!(flags(1, [0, 1, 0]), 1);
    // SYN-ACK, its ACK and the first data try the option with all three fields.
    assert_eq!(count("tcp.options.acc_ecn.ee1b"), 3);
    let marked = count("ip.dsfield.ecn == 3 and tcp.len > 0");
    assert!(marked > 5, "{marked}");
    let acks = "tcp.srcport == 5001 and tcp.flags.syn == 0";
    let last = format!("{acks} and tcp.flags.ace == {}", (5 + marked) % 8);
    assert!(count(&last) > 5, "the counter follows");
    let bytes = format!("tcp.options.acc_ecn.eceb == {}", 1448 * marked);
    assert!(count(&bytes) > 0, "and so do its bytes");
}

#[test]
fn two_captures_give_the_round_trips_of_the_run() {
    let (dir, summary) = capture(&[]);
    let files = ["out/run-1-client.pcapng", "out/run-1-server.pcapng"];
    let output = sojourn(&["rtt", files[0], files[1], "--json"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flows = found["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 4);
    // Seen from the flow's first end in both: the flows that begin at the client.
    for (flow, end) in [("small", 30_002), ("file", 30_003), ("probe", 30_004)] {
        let own = &summary["cells"][0]["flows"][flow]["spp_rtt_ms"];
        let end = format!("198.18.0.1:{end}");
        let here = &flows
            .iter()
            .find(|f| f["a"] == end.as_str())
            .expect("it is listed")["rtt_ms"];
        for statistic in ["min", "p50", "p95", "mean"] {
            let [own, here] = [own, here].map(|d| d[statistic].as_f64().unwrap());
            // The run's quantiles are those of a histogram, and it ends at 5 s sharp.
            assert!(
                (own / here - 1.0).abs() < 0.02,
                "{flow} {statistic}: {own} {here}"
            );
        }
    }
    let csv = sojourn(&["rtt", files[0], files[1], "--csv"], dir.path());
    assert_eq!(String::from_utf8_lossy(&csv.stdout).lines().count(), 5);
    let text = sojourn(&["rtt", files[0], files[1]], dir.path());
    assert!(String::from_utf8_lossy(&text.stdout).contains("198.18.0.1:30003"));
}

#[test]
fn what_cannot_be_used_is_named() {
    let (dir, _) = capture(&[]);
    let whole = dir.path().join("out/run-1-client.pcapng");
    let bytes = fs::read(&whole).unwrap();
    fs::write(dir.path().join("cut.pcapng"), &bytes[..bytes.len() - 10]).unwrap();
    let fails = |arguments: &[&str], status, words: &str| {
        let output = sojourn(arguments, dir.path());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(text.contains(words), "{text}");
    };
    let whole = "out/run-1-client.pcapng";
    fails(
        &["rtt", whole, "cut.pcapng"],
        2,
        "cut.pcapng: the file ends within a block",
    );
    fails(
        &["rtt", whole, "scenario.toml"],
        2,
        "scenario.toml: not a capture",
    );
    fails(&["rtt", whole, "missing"], 2, "missing: No such file");
    fails(&["rtt", whole], 2, "1 interfaces");
    let run = ["run", "scenario.toml", "--out", "more", "--pcap"];
    fails(
        &[&run[..], &["upp"]].concat(),
        2,
        "`upp` is neither a link (up, down)",
    );
    fails(&["run", "scenario.toml", "--pcap", "up"], 2, "--out");
    let command = ["run", "scenario.toml", "--client-command", "true"];
    fails(&command, 2, "need --world live");
}

#[test]
fn tshark_reads_what_a_radio_sends_and_receives() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"
format = "sojourn-scenario/1"
name = "air"
duration = "9s"
[radio]
chain = { hops = 2, spacing = "25m" }
routing = "aodv"
arp = true
rts_above = 800
[[flow]]
name = "datagrams"
from = "first"
to = "last"
stop = "2s"
app = { kind = "cbr", size = 400, interval = "20ms" }
[[flow]]
name = "stream"
from = "first"
to = "last"
app = { kind = "file", size = 50000 }
[[flow]]
name = "later"
from = "first"
to = "last"
start = "8s"
app = { kind = "cbr", size = 300, interval = "20ms" }
"#;
    let file = captured(dir.path(), scenario, "n1:air");
    let count = |filter: &str| tshark(&file, filter).len();
    let wrong = "_ws.malformed or _ws.expert.severity == error or ip.checksum.status == 0 \
                 or udp.checksum.status == 0 or tcp.checksum.status == 0";
    assert_eq!(tshark(&file, wrong), Vec::<String>::new());
    // n1 hears the questions of n0 and passes them on; the answer comes from n2.
    assert!(count("aodv.type == 1 and wlan.da == ff:ff:ff:ff:ff:ff") >= 2);
    assert!(count("aodv.type == 2 and aodv.dest_ip == 198.18.2.1") >= 2);
    // The first question goes one hop, the second three. The U flag says that no number is known of
    // what is sought; when a route has only become old it is known.
    assert!(count("aodv.type == 1 and ip.ttl == 1 and wlan.ta == 02:00:00:00:00:01") >= 1);
    assert!(count("aodv.type == 1 and ip.ttl == 2 and aodv.hopcount == 1") >= 1);
    let asked = |more: &str| count(&format!("aodv.type == 1 and {more}"));
    let unknown = asked("aodv.flags.rreq_unknown == 1");
    let known = asked("aodv.flags.rreq_unknown == 0");
    assert!(unknown >= 3 && known >= 2, "{unknown} and {known}");
    assert_eq!(asked("aodv.dest_seqno == 0"), unknown);
    assert!(count("arp.opcode == 1") >= 2 && count("arp.opcode == 2") >= 2);
    // 100 datagrams come and go; frames of a stream's segments follow an RTS.
    assert!((190..=210).contains(&count("udp.length == 408")));
    let [rts, cts] = [
        "wlan.fc.type_subtype == 0x1b",
        "wlan.fc.type_subtype == 0x1c",
    ]
    .map(count);
    assert!(rts >= 70 && cts >= 70, "{rts} RTS, {cts} CTS");
    assert!(count("wlan.fc.type_subtype == 0x1d and radiotap.datarate == 1") > 300);
    assert!(count("tcp.len == 1448") >= 60);
    assert_eq!(count("wlan_radio.channel == 1"), count("frame"));
    // A frame that comes again says so, be it data or an RTS; an answer never.
    let [again, answers] = ["", " and wlan.fc.type == 1 and wlan.fc.subtype != 11"]
        .map(|more| count(&format!("wlan.fc.retry == 1{more}")));
    assert!(again > 5 && answers == 0, "{again} and {answers}");
    // What it has received has a strength: 30 m would be -54.6 dBm.
    assert!(count("radiotap.dbm_antsignal == -53") > 300);
}
