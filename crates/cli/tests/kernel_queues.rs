//! The kernel's own queues in guests, and graphs of routers with queues of either kind.
//!
//! Takes the user's guest kernel, as `kernel.rs` does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{run, text};
use sojourn_qdisc::{Field, Report, Value};
use sojourn_world::RunResult;
use std::fs;
use tempfile::TempDir;

#[test]
fn the_kernels_own_queues_take_the_same_strings() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let results = dirs.each_ref().map(|dir| {
        let more = [
            "--queues",
            "kernel",
            "--set",
            "dumbbell.up.qdisc=tbf rate 900kbit burst 5kb over codel",
            "--set",
            "flow.download.tcp.cc=htcp",
            "--set",
            "flow.probe.rtt=60ms",
        ];
        // To look for tc in another order would take another time.
        let path = std::env::var("PATH").unwrap();
        let output = run(dir.path(), 2, &more)
            .env("PATH", format!("{}:{path}", dir.path().display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        merged.whole().unwrap().remove(0)
    });
    let table = |dir: &TempDir| fs::read(dir.path().join("out/results.parquet")).unwrap();
    assert!(table(&dirs[0]) == table(&dirs[1]));
    assert_eq!(results[0].digest, results[1].digest);
    let result = &results[0];
    assert_eq!(result.world.as_str(), "kernel-tc");
    let [(_, up), (_, down)] = &result.links[..] else {
        panic!("{:?}", result.links);
    };
    let codel = up.qdisc.inner.as_ref().map(|inner| inner.kind.as_ref());
    let kinds = (up.qdisc.kind.as_ref(), codel, down.qdisc.kind.as_ref());
    assert_eq!(kinds, ("tbf", Some("codel"), "fq_codel"));
    for link in [up, down] {
        // What stands in the queue at the two ends of the measured time is at most its backlog.
        let gone = link.dequeued_packets + link.dropped_packets;
        assert!(link.offered_packets.abs_diff(gone) < 60, "{link:?}");
        let full = link.utilisation.unwrap();
        assert!(
            (0.8..1.01).contains(&full) && link.sojourn.p95 > 1.0,
            "{link:?}"
        );
    }
    // Half of a round trip of its own, and what the down line takes for 106 bytes.
    let probe = &result.flows[2].1;
    assert!((30.0..30.5).contains(&probe.delay.min), "{:?}", probe.delay);
    assert!(result.flows[1].1.goodput.as_bps() > 3_000_000);
}

/// What the fidelity matrix tells the simulator of a guest: a packet is 0.4 to 1.2 µs late each way.
/// The line takes 106 bytes each way, 4.24 µs at 200 Mbit/s.
#[test]
fn an_idle_line_of_a_guest_is_late_by_a_microsecond() {
    let idle = "format = \"sojourn-scenario/1\"\nname = \"idle\"\nduration = \"4s\"\n\
                [dumbbell]\nrate = \"200mbit\"\nrtt = \"20ms\"\nqdisc = \"codel\"\n\
                [[flow]]\nname = \"probe\"\ndirection = \"up\"\n\
                app = { kind = \"ping\", interval = \"19.3ms\" }\n";
    let dir = tempfile::tempdir().unwrap();
    let sweep = "dumbbell.rtt=[\"5ms\", \"20ms\", \"80ms\"]";
    let more = ["--queues", "kernel", "--sweep", sweep];
    let mut command = run(dir.path(), 4, &more);
    fs::write(dir.path().join("cell.toml"), idle).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    for result in merged.whole().unwrap() {
        let delay = &result.flows[0].1.induced_rtt;
        let late = |milliseconds: f64| 1000.0 * milliseconds - 2.0 * 4.24;
        assert!(late(delay.p5) >= 0.8 && late(delay.p95) <= 2.4, "{delay:?}");
        assert!((late(delay.mean) - 1.6).abs() < 0.8, "{delay:?}");
    }
}

/// What a queue says of its marks, in all its tins.
fn own_marks(queue: &Report) -> i64 {
    let fields = queue.stats.iter().flat_map(|field| match &field.value {
        Value::Groups(groups) => groups.iter().flatten().collect(),
        _ => vec![field],
    });
    let marks = fields
        .filter(|field| matches!(&*field.name, "marked" | "ecn_mark"))
        .filter_map(|field| match field.value {
            Value::Int(marks) => Some(marks),
            _ => None,
        });
    marks.sum()
}

/// They mark packets where they lie, so that who heard one before the queue sees the mark too.
#[test]
fn marks_of_the_kernels_own_queues_are_counted_by_the_queues() {
    let queues = [
        "red limit 400000 min 5000 max 15000 avpkt 1000 burst 9 probability 0.1 bandwidth 4mbit ecn",
        "codel ecn",
        "fq_codel",
        "pie ecn",
        "fq_pie ecn",
        "cake",
    ];
    let dir = tempfile::tempdir().unwrap();
    let sweep = format!("dumbbell.down.qdisc={queues:?}");
    let more = [
        "--queues",
        "kernel",
        "--sweep",
        &sweep,
        "--set",
        "tcp.ecn=true",
        "--set",
        "warmup=0s",
    ];
    let output = run(dir.path(), 4, &more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let results = merged.whole().unwrap();
    assert_eq!(results.len(), queues.len());
    for (result, queue) in results.iter().zip(queues) {
        let (_, down) = &result.links[1];
        let marks = own_marks(&down.qdisc);
        assert!(marks > 0, "{queue}: {down:?}");
        assert_eq!(down.marked_packets, marks as u64, "{queue}");
    }
}

#[test]
fn the_kernels_own_queues_change_in_mid_run_and_packet_pairs_see_the_whole_path() {
    let dir = tempfile::tempdir().unwrap();
    let cell = run(dir.path(), 3, &["--queues", "kernel", "--set", "spp=true"]);
    let path = dir.path().join("cell.toml");
    let change = "[[change]]\nat = \"1500ms\"\nlink = \"down\"\nrate = \"2mbit\"\n\
                  qdisc = \"fq_codel target 9ms\"\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + change).unwrap();
    let output = { cell }.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = &merged.whole().unwrap()[0];
    let down = &result.links[1].1;
    let target = down
        .qdisc
        .options
        .iter()
        .find(|field| field.name == "target");
    // The kernel counts in units of 1024 ns.
    assert_eq!(target.unwrap().value, Value::Int(8999));
    // 1 s with 4 Mbit/s, 1.5 s with 2, and a full link all the time.
    let bits = down.dequeued_bytes as f64 * 8.0 / 7e6;
    assert!((0.9..1.01).contains(&bits), "{bits}");
    assert!((0.9..1.01).contains(&down.utilisation.unwrap()));
    let probe = &result.flows[2].1;
    assert!(
        probe.spp_rtt.count > 10 && probe.spp_rtt.min >= 20.0,
        "{:?}",
        probe.spp_rtt
    );
}

/// The kernel keeps what a change does not name, so that what is off has to be named.
#[test]
fn a_change_switches_off_what_the_new_words_do_not_say() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--queues",
        "kernel",
        "--set",
        "dumbbell.up.qdisc=pie ecn bytemode",
        "--set",
        "dumbbell.down.qdisc=codel ecn",
    ];
    let mut cell = run(dir.path(), 2, &more);
    let path = dir.path().join("cell.toml");
    let change =
        |link, queue| format!("[[change]]\nat = \"1s\"\nlink = \"{link}\"\nqdisc = \"{queue}\"\n");
    // Both links have queues of their own.
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace(", qdisc = \"fq_codel\"", "");
    fs::write(
        &path,
        text + &change("up", "pie") + &change("down", "codel"),
    )
    .unwrap();
    let output = cell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    for (_, link) in &result.links {
        let mut options = link.qdisc.options.iter();
        let on = options.find(|field| field.value == Value::Bool(true));
        assert!(on.is_none(), "{:?}", link.qdisc);
    }
}

#[test]
fn queues_that_the_kernel_lacks_are_refused_by_name_before_a_guest_starts() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |queue: &str| {
        let set = format!("dumbbell.qdisc={queue}");
        let more = ["--queues", "kernel", "--set", &set];
        let output = run(dir.path(), 1000, &more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        text(&output.stderr)
    };
    for (queue, word) in [
        ("fq_gsp", "fq_gsp"),
        ("steer util 99% delay 30ms over codel", "steer"),
        ("fq_codel triple-isolate", "triple-isolate of fq_codel"),
        ("red limit 60000 avpkt 1000 gentle", "gentle of red"),
    ] {
        let said = refused(queue);
        let wanted = format!("the kernel's own queues cannot have {word}; with --queues ours");
        assert!(said.contains(&wanted), "{said}");
    }
}

/// tc need not know it. A kernel without it is named.
#[test]
fn dualpi2_is_the_kernels_where_it_has_one() {
    let dir = tempfile::tempdir().unwrap();
    // At 4 Mbit/s a packet takes 3 ms: the usual step of 1 ms would mark each that finds another.
    let more = [
        "--queues",
        "kernel",
        "--set",
        "dumbbell.down.qdisc=dualpi2 any_ect target 10ms limit 200 step_thresh 10ms",
        "--set",
        "flow.download.tcp={ cc = \"dctcp\", ecn = true }",
        // Flows of one kernel agree about ECN.
        "--set",
        "flow.upload.tcp.ecn=true",
    ];
    let output = run(dir.path(), 3, &more).output().unwrap();
    if !output.status.success() {
        let said = text(&output.stderr);
        let why = "this kernel has no dualpi2: --kernel-version takes another one";
        assert!(said.contains(why), "{said}");
        return;
    }
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let down = &merged.whole().unwrap()[0].links[1].1;
    assert_eq!(down.qdisc.kind, "dualpi2");
    let number = |fields: &[Field], name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        match field.map(|field| &field.value) {
            Some(Value::Int(number)) => *number,
            other => panic!("{name}: {other:?} in {fields:?}"),
        }
    };
    let options = &down.qdisc.options;
    assert_eq!(number(options, "limit"), 200);
    assert_eq!(number(options, "target"), 10_000);
    assert_eq!(number(options, "step-thresh-us"), 10_000);
    // DCTCP's packets go through the L queue, and are marked there.
    let stats = &down.qdisc.stats;
    assert!(number(stats, "pkts-in-l") > 500, "{stats:?}");
    let marks = number(stats, "ecn-mark");
    assert!(marks > 20 && number(stats, "step-mark") > 20, "{stats:?}");
    // Those before the measured time are not among the link's.
    assert!(
        (20..=marks as u64).contains(&down.marked_packets),
        "{down:?}"
    );
    // The dumbbell's only queue has made all marks, those of `any_ect` in the L queue.
    let count = |figure: Option<f64>| figure.expect("it is a pair") as u64;
    let packets = [down.c_dequeued_packets, down.l_dequeued_packets].map(count);
    assert_eq!(packets.iter().sum::<u64>(), down.dequeued_packets);
    assert_eq!([down.c_sojourn.count, down.l_sojourn.count], packets);
    let marked = count(down.l_marked_packets);
    assert!((20..=marks as u64).contains(&marked), "{down:?}");
    assert_eq!(count(down.c_marked_packets), 0);
    assert!(down.base_probability.count > 0, "{down:?}");
}

/// Of a sender whose control reckons with a share of marks, Linux tells it: DCTCP's alpha, which
/// begins with one. Marks are counted where packets arrive.
#[test]
fn alpha_and_ce_of_linux_senders_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--set",
        "dumbbell.down.qdisc=codel ecn target 10ms",
        "--set",
        "flow.download.tcp={ cc = \"dctcp\", ecn = true }",
        "--set",
        "flow.upload.tcp.ecn=true",
    ];
    let output = run(dir.path(), 4, &more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    let flow = |name: &str| &result.flows.iter().find(|(n, _)| n == name).unwrap().1;
    let (dctcp, cubic) = (flow("download"), flow("upload"));
    let alpha = &dctcp.alpha;
    assert!(
        alpha.count > 10 && alpha.min >= 0.0 && alpha.max <= 1.0,
        "{alpha:?}"
    );
    assert!(alpha.mean > 0.0 && alpha.mean < 1.0, "{alpha:?}");
    assert_eq!(cubic.alpha.count, 0, "CUBIC has none");
    let came = dctcp.ce_ratio.expect("it has ECN");
    assert!(came > 0.0 && came < 1.0, "{came}");
}

/// A call beside an upload, with our queue: the call is in the L queue, whose marks lower its rate.
const CALL: &str = r#"format = "sojourn-scenario/1"
name = "cell"
duration = "8s"
warmup = "3s"
[dumbbell]
rtt = "30ms"
up = { rate = "20mbit", qdisc = "dualpi2" }
down = { rate = "20mbit" }
[[flow]]
name = "call"
direction = "up"
app = "realtime"
ecn = "ect1"
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
"#;

#[test]
fn a_call_in_real_time_follows_marks() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = run(dir.path(), 8, &[]);
    fs::write(dir.path().join("cell.toml"), CALL).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    let (call, up) = (&result.flows[0].1, &result.links[0].1);
    let mbit = |flow: usize| result.flows[flow].1.goodput.as_bps() as f64 / 1e6;
    // Neither takes the other's place, and the link is full.
    assert!(mbit(0) > 3.0 && mbit(1) > 3.0, "{} {}", mbit(0), mbit(1));
    assert!(mbit(0) + mbit(1) < 20.0 && up.utilisation > Some(0.9));
    let marked = up.l_marked_packets.unwrap();
    assert!(marked > 0.0 && call.ce_ratio > Some(0.0), "{up:?}");
    // Marks are made by this queue alone; some packets are on their way at either end.
    let came = call.ce_ratio.unwrap() * up.l_dequeued_packets.unwrap();
    assert!((came - marked).abs() < 30.0, "{came} {marked}");
    assert_eq!(up.l_dropped_packets, Some(0.0));
    assert_eq!(call.loss_ratio, Some(0.0), "{call:?}");
    assert!(up.l_sojourn.p99 < 4.0 && up.c_sojourn.p50 > up.l_sojourn.p99);
}

#[test]
fn the_kernel_throws_away_what_waits_in_a_queue_that_becomes_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let set = "dumbbell.down.qdisc=pfifo limit 50";
    let cell = run(dir.path(), 3, &["--queues", "kernel", "--set", set]);
    let path = dir.path().join("cell.toml");
    let change = "[[change]]\nat = \"1500ms\"\nlink = \"down\"\nrate = \"2mbit\"\n\
                  qdisc = \"cake bandwidth 2mbit besteffort\"\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + change).unwrap();
    let output = { cell }.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let down = &merged.whole().unwrap()[0].links[1].1;
    assert_eq!(down.qdisc.kind, "cake");
    // 1 s with 4 Mbit/s, 1.5 s with 2, and a full link all the time.
    let bits = down.dequeued_bytes as f64 * 8.0 / 7e6;
    assert!((0.9..1.01).contains(&bits), "{bits}");
    let gone = down.dequeued_packets + down.dropped_packets;
    assert!(down.offered_packets.abs_diff(gone) < 60, "{down:?}");
    let stat = |name| down.qdisc.stats.iter().find(|field| field.name == name);
    let Some(Value::Int(drops)) = stat("drops").map(|field| field.value.clone()) else {
        panic!("{:?}", down.qdisc);
    };
    // Beside CAKE's own there are those that waited: the queue was full of them.
    assert!(
        down.dropped_packets >= drops as u64 + 20,
        "{drops} {down:?}"
    );
}

/// Two bottlenecks in a row, the second one narrower, and a flow over both beside one over it alone.
const CHAIN: &str = r#"format = "sojourn-scenario/1"
name = "cell"
duration = "4s"
warmup = "1s"
spp = true
node = [{ name = "a" }, { name = "b" }, { name = "c" }]
[[link]]
name = "first"
from = "a"
to = "b"
duplex = true
rate = "8mbit"
delay = "10ms"
qdisc = "fq_codel"
[[link]]
name = "second"
from = "b"
to = "c"
duplex = true
rate = "4mbit"
delay = "5ms"
qdisc = "fq_codel"
[[flow]]
name = "long"
from = "a"
to = "c"
app = "bulk"
[[flow]]
name = "short"
from = "b"
to = "c"
app = "bulk"
rtt = "40ms"
[[flow]]
name = "probe"
from = "a"
to = "c"
app = { kind = "ping", size = 64, interval = "37ms" }
"#;

/// Runs a chain of routers twice.
fn chain(queues: &str) -> RunResult {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let results = dirs.each_ref().map(|dir| {
        let more = ["--queues", queues, "--pcap", "a,b,c"];
        let mut command = run(dir.path(), 4, &more);
        fs::write(dir.path().join("cell.toml"), CHAIN).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        merged.whole().unwrap().remove(0)
    });
    assert_eq!(results[0].digest, results[1].digest);
    let [a, b, c] = ["a", "b", "c"].map(|place| {
        let file = |dir: &TempDir| dir.path().join(format!("out/run-1-{place}.pcapng"));
        let [one, other] = dirs.each_ref().map(|dir| fs::read(file(dir)).unwrap());
        assert!(one == other, "{place}");
        captured(&one)
    });
    // What only passes through `b` is not its hosts': all is either of `a` or of `b`, and to or
    // from `c`, but for what was dropped between.
    assert!(a > 500 && b > 500 && c > 1000, "{a} {b} {c}");
    assert!((a + b).abs_diff(c) < 100, "{a} {b} {c}");
    let [result, _] = results;
    result
}

/// The packets of a capture, whose times must not decrease.
fn captured(bytes: &[u8]) -> usize {
    let mut packets = sojourn_capture::Reader::new(bytes).unwrap();
    let (mut count, mut last) = (0, None);
    while let Some(packet) = packets.next_record().unwrap() {
        assert!(Some(packet.at) >= last);
        (count, last) = (count + 1, Some(packet.at));
    }
    count
}

#[test]
fn packets_cross_a_chain_of_routers() {
    for queues in ["ours", "kernel"] {
        let result = chain(queues);
        let link = |name: &str| &result.links.iter().find(|(n, _)| n == name).unwrap().1;
        let (first, second) = (link("first"), link("second"));
        let full = second.utilisation.unwrap();
        assert!((0.9..1.01).contains(&full), "{full}");
        assert!(second.dropped_packets > 0 && first.dropped_packets == 0);
        let [long, short] = [0, 1].map(|flow| result.flows[flow].1.goodput.as_bps());
        // Fair queueing: half each of 4 Mbit/s.
        assert!(long.abs_diff(short) < long / 10, "{long} {short}");
        // 106 bytes on each link, and its delay.
        let probe = &result.flows[2].1;
        assert!((15.3..15.4).contains(&probe.delay.min), "{:?}", probe.delay);
        assert!((30.6..30.8).contains(&probe.rtt.min), "{:?}", probe.rtt);
        // Packet pairs see the whole of its way.
        assert!(probe.spp_rtt.count > 50, "{:?}", probe.spp_rtt);
        assert!((30.6..31.0).contains(&probe.spp_rtt.min));
        assert!(result.flows[1].1.rtt.min >= 40.0);
    }
}

#[test]
fn programs_know_their_server_and_have_flows_and_the_lines_delay() {
    // A flow's round trip is 20 ms; before a connection stands a packet each way at most, 15 ms.
    let connect = "sleep 1; python3 -c 'import os, socket, time\n\
                   there = (os.environ[\"SOJOURN_SERVER\"], 80)\n\
                   for _ in range(10):\n    \
                   began = time.monotonic()\n    \
                   socket.create_connection(there).close()\n    \
                   print(\"CONNECTED\", time.monotonic() - began)'";
    let dir = tempfile::tempdir().unwrap();
    let server = "python3 -m http.server 80 > /dev/null 2>&1";
    let more = ["--queues", "kernel", "--server-command", server];
    let output = run(dir.path(), 3, &more)
        .args(["--client-command", connect])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout) + &text(&output.stderr);
    let times: Vec<f64> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("CONNECTED "))
        .map(|time| time.parse().unwrap())
        .collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(times.len() == 10 && least < 0.0195, "{said}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    // Ten connections, each with SYN, ACK and FIN at least.
    let found = result
        .flows
        .iter()
        .find(|(name, _)| name == "program-tcp-80-up");
    let (_, up) = found.unwrap_or_else(|| panic!("{:?}", result.flows));
    assert!(up.app == "program" && up.sent_packets >= 30, "{up:?}");
    let names = result.flows.iter().map(|(name, _)| name.as_str());
    assert_eq!(names.filter(|name| name.starts_with("program-")).count(), 2);
}

/// A queue has what a host hands it: a train of segments is one packet, unless the queue cuts it.
#[test]
fn trains_of_a_host_reach_the_queue_whole() {
    for queues in [&[][..], &["--queues", "kernel"]] {
        let dir = tempfile::tempdir().unwrap();
        let more = [
            "--sweep",
            "dumbbell.down.qdisc=[\"pfifo limit 200\", \"cake\"]",
            "--sweep",
            "hosts=[\"linux\", \"linux-gso\"]",
            "--set",
            "dumbbell.down.rate=60mbit",
        ];
        let output = run(dir.path(), 2, &[&more, queues].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        let results = merged.whole().unwrap();
        let mean = |result: &RunResult| {
            let (_, down) = &result.links[1];
            // What was cut is known again behind the queue.
            assert!(down.sojourn.p95 > 0.1, "{down:?}");
            down.dequeued_bytes as f64 / down.dequeued_packets as f64
        };
        let [fifo, fifo_of_trains, cake, cake_of_trains] = &results[..] else {
            panic!("{} results", results.len());
        };
        // With the ACKs of the upload, and a slow start in which most trains have two segments.
        assert!(mean(fifo_of_trains) > 2500.0, "{queues:?}");
        for single in [fifo, cake, cake_of_trains] {
            assert!((1200.0..=1514.0).contains(&mean(single)), "{queues:?}");
        }
    }
}

/// A host with `fq` sends segments at the times of TCP's pacing. With a window of half the path one
/// ACK lets two segments go: the second waits for the first, or leaves later.
#[test]
fn segments_of_hosts_with_fq_leave_spread_out() {
    let limited = "format = \"sojourn-scenario/1\"\nname = \"limited\"\n\
                   duration = \"4s\"\nwarmup = \"2s\"\n\
                   [dumbbell]\nrate = \"20mbit\"\nrtt = \"40ms\"\nqdisc = \"codel\"\n\
                   [[flow]]\nname = \"upload\"\ndirection = \"up\"\napp = \"bulk\"\n\
                   tcp = { receive_window = 30000, receive_window_max = 30000 }\n";
    for queues in [&[][..], &["--queues", "kernel"]] {
        let dir = tempfile::tempdir().unwrap();
        let more = ["--sweep", "hosts=[\"linux\", \"linux-fq\"]"];
        let mut command = run(dir.path(), 4, &[&more, queues].concat());
        fs::write(dir.path().join("cell.toml"), limited).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        let results = merged.whole().unwrap();
        let waits = |result: &RunResult| result.links[0].1.sojourn.p95;
        let [burst, paced] = &results[..] else {
            panic!("{} results", results.len());
        };
        // A packet takes 0.606 ms.
        assert!((0.59..0.62).contains(&waits(burst)), "{queues:?}");
        assert!(waits(paced) < 0.45, "{queues:?}: {}", waits(paced));
    }
}

/// Drops are counted by the queue, and sent packets are seen on the wire. At the end the sockets of
/// all flows close, and a full queue drops their last packets, which are not the run's.
#[test]
fn what_a_full_queue_is_offered_is_sent_or_dropped_or_waits() {
    let full = "format = \"sojourn-scenario/1\"\nname = \"full\"\n\
                duration = \"3s\"\nwarmup = \"1s\"\n\
                [dumbbell]\nrate = \"1mbit\"\nrtt = \"20ms\"\nqdisc = \"pfifo limit 5\"\n\
                [[flow]]\nname = \"upload\"\ndirection = \"up\"\napp = \"bulk\"\ncount = 30\n";
    let dir = tempfile::tempdir().unwrap();
    let mut command = run(dir.path(), 3, &["--queues", "kernel"]);
    fs::write(dir.path().join("cell.toml"), full).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    let up = &result.links[0].1;
    assert!(up.dropped_packets > 50, "{up:?}");
    // What waits at one end of the measured time and not at the other, and one on the line.
    let gone = up.dequeued_packets + up.dropped_packets;
    assert!(up.offered_packets.abs_diff(gone) <= 6, "{up:?}");
}
