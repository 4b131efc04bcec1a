//! Lines, and addresses that are translated, around the kernel's own queues in guests.
//!
//! Takes the user's guest kernel, as `kernel.rs` does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::run;
use sojourn_world::RunResult;
use std::fs;
use std::path::Path;

/// Runs a scenario's one cell.
fn cell(dir: &Path, scenario: &str, more: &[&str]) -> RunResult {
    let mut command = run(dir, 1, &[]);
    let head = "format = \"sojourn-scenario/1\"\nname = \"cell\"\n";
    fs::write(dir.join("cell.toml"), format!("{head}{scenario}")).unwrap();
    let output = command.args(more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.join("out")]).unwrap();
    merged.whole().unwrap().remove(0)
}

/// The numbers that a flow's datagrams of 500 bytes begin with, in the order of a capture.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    // Ethernet, IPv4 and UDP before it.
    const AT: usize = 14 + 20 + 8;
    let mut packets = sojourn_capture::Reader::new(bytes).unwrap();
    let mut numbers = Vec::new();
    while let Some(packet) = packets.next_record().unwrap() {
        if packet.len as usize == AT + 500 {
            numbers.push(u32::from_be_bytes(
                packet.bytes[AT..AT + 4].try_into().unwrap(),
            ));
        }
    }
    numbers
}

#[test]
fn packets_overtake_each_other_behind_a_rate() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"
duration = "2s"
dumbbell = { rtt = "20ms", up = { rate = "8mbit", jitter = "2ms", reorder = true }, down.rate = "8mbit" }
flow = [{ name = "up", direction = "up", app = { kind = "cbr", rate = "4mbit", size = 500 } }]
"#;
    let result = cell(
        dir.path(),
        scenario,
        &["--queues", "kernel", "--pcap", "server"],
    );
    // Half of the round trip, 542 bytes at 8 Mbit/s, and up to 2 ms.
    let delay = &result.flows[0].1.delay;
    assert!((10.54..10.56).contains(&delay.min), "{delay:?}");
    assert!((12.5..12.55).contains(&delay.max), "{delay:?}");
    let numbers = numbers(&fs::read(dir.path().join("out/run-1-server.pcapng")).unwrap());
    let late = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    // A millisecond apart and up to two late: one in eight overtakes the one before it.
    let share = late as f64 / numbers.len() as f64;
    assert!(
        numbers.len() > 1900 && (0.1..0.15).contains(&share),
        "{share}"
    );
}

/// The delay of the up link goes from 40 to 5 ms and then to 20, where packets may overtake others
/// and a tenth is lost; with our queues and with the kernel's.
#[test]
fn lines_change() {
    let scenario = r#"
duration = "6s"
warmup = "1s"
dumbbell = { rtt = "60ms", up = { rate = "8mbit", delay = "40ms" }, down.rate = "8mbit" }
flow = [{ name = "up", direction = "up", app = { kind = "cbr", rate = "4mbit", size = 500 } }]
[[change]]
at = "2s"
link = "up"
delay = "5ms"
[[change]]
at = "4s"
link = "up"
delay = "20ms"
jitter = "2ms"
reorder = true
loss = "10%"
"#;
    for queues in ["ours", "kernel"] {
        let dir = tempfile::tempdir().unwrap();
        let more = ["--queues", queues, "--pcap", "server"];
        let result = cell(dir.path(), scenario, &more);
        let flow = &result.flows[0].1;
        // Ten milliseconds of the path, and 542 bytes at 8 Mbit/s.
        let delay = &flow.delay;
        assert!((15.54..15.56).contains(&delay.min), "{queues}: {delay:?}");
        assert!((50.54..50.57).contains(&delay.max), "{queues}: {delay:?}");
        // A tenth of two of five seconds.
        let loss = flow.loss_ratio.expect("it is UDP");
        assert!((0.03..0.05).contains(&loss), "{queues}: {loss}");
        let bytes = fs::read(dir.path().join("out/run-1-server.pcapng")).unwrap();
        let numbers = numbers(&bytes);
        let late = numbers.windows(2).position(|pair| pair[1] < pair[0]);
        // One a millisecond: none overtakes before the second change.
        assert!(late.is_some_and(|late| late > 3950), "{queues}: {late:?}");
    }
}

/// Losses in bursts of four, and every tenth packet passes a delay of 20 ms by, but not the rest of
/// its path; with our queues and with the kernel's.
#[test]
fn lines_have_the_words_of_netem() {
    let scenario = r#"
duration = "20s"
flow = [{ name = "up", direction = "up", app = { kind = "cbr", rate = "4mbit", size = 500 } }]
[dumbbell]
rtt = "30ms"
down.rate = "8mbit"
up = { rate = "8mbit", delay = "20ms", reorder = "100% gap 10", loss = "gemodel 2% 25%" }
"#;
    for queues in ["ours", "kernel"] {
        let dir = tempfile::tempdir().unwrap();
        let more = ["--queues", queues, "--pcap", "server"];
        let flow = &cell(dir.path(), scenario, &more).flows[0].1;
        let delay = &flow.delay;
        assert!((5.54..5.57).contains(&delay.min), "{queues}: {delay:?}");
        assert!((25.54..25.57).contains(&delay.max), "{queues}: {delay:?}");
        // A tenth of the delays is shorter by 20 ms.
        assert!((23.4..23.7).contains(&delay.mean), "{queues}: {delay:?}");
        // 2 / (2 + 25) = 7.4 %.
        let loss = flow.loss_ratio.expect("it is UDP");
        assert!((0.055..0.095).contains(&loss), "{queues}: {loss}");
        let bytes = fs::read(dir.path().join("out/run-1-server.pcapng")).unwrap();
        let mut numbers = numbers(&bytes);
        numbers.sort_unstable();
        let gaps = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1);
        let (lost, bursts) = gaps
            .filter(|&gap| gap > 0)
            .fold((0, 0), |(lost, bursts), gap| (lost + gap, bursts + 1));
        let length = f64::from(lost) / f64::from(bursts);
        assert!((3.2..4.8).contains(&length), "{queues}: {length}");
    }
}

#[test]
fn copies_are_ours_alone() {
    let scenario = r#"
duration = "4s"
dumbbell = { rtt = "20ms", up = { rate = "8mbit", duplicate = "10%" }, down.rate = "8mbit" }
flow = [{ name = "up", direction = "up", app = { kind = "cbr", rate = "4mbit", size = 500 } }]
"#;
    let dir = tempfile::tempdir().unwrap();
    let result = cell(dir.path(), scenario, &[]);
    let (up, flow) = (&result.links[0].1, &result.flows[0].1);
    let copied = up.duplicated_packets.expect("the line copies");
    let share = copied / up.dequeued_packets as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
    // The last may still be under way.
    assert!(flow.duplicates.is_some_and(|again| copied - again < 5.0));
    assert_eq!(flow.loss_ratio, Some(0.0));
    let mut command = run(dir.path(), 1, &["--queues", "kernel"]);
    let head = "format = \"sojourn-scenario/1\"\nname = \"cell\"\n";
    fs::write(dir.path().join("cell.toml"), format!("{head}{scenario}")).unwrap();
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("cannot have duplicate"),
        "{said}"
    );
}

#[test]
fn queues_tell_hosts_behind_a_translation_apart() {
    let flow = |name: &str, host: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\ndirection = \"up\"\napp = \"bulk\"\nsrc_host = \"{host}\"\n"
        )
    };
    let flows = flow("one", "h1") + &flow("two", "h2") + &flow("three", "h2");
    let shares = ["nat", "nonat"].map(|word| {
        let scenario = format!(
            r#"
duration = "8s"
warmup = "2s"
spp = true
[dumbbell]
nat = true
rtt = "20ms"
up = {{ rate = "10mbit", qdisc = "cake bandwidth 4mbit besteffort dual-srchost {word}" }}
down = {{ rate = "10mbit", qdisc = "cake bandwidth 4mbit besteffort dual-dsthost {word}" }}
{flows}
[[flow]]
name = "probe"
direction = "up"
app = {{ kind = "ping", size = 64, interval = "37ms" }}
"#
        );
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [one, other] = dirs
            .each_ref()
            .map(|dir| cell(dir.path(), &scenario, &["--queues", "kernel"]));
        assert_eq!(one.digest, other.digest);
        // Packets are told from each other on both sides of the translation.
        let probe = &one.flows[3].1;
        assert!(probe.spp_rtt.count > 100 && probe.spp_rtt.min >= 20.0);
        assert!(one.links[0].1.sojourn.p95 > 5.0, "{:?}", one.links[0].1);
        let [first, second, third] =
            [0, 1, 2].map(|flow| one.flows[flow].1.goodput.as_bps() as f64);
        first / (first + second + third)
    });
    // The link is shared by hosts, or by flows.
    assert!((0.47..0.53).contains(&shares[0]), "{shares:?}");
    assert!((0.30..0.37).contains(&shares[1]), "{shares:?}");
}

/// A triangle: there over one link, back over two, none of which has one the other way.
#[test]
fn the_first_packet_takes_its_time_as_all_others_do() {
    let dir = tempfile::tempdir().unwrap();
    // Frames of 1500 bytes that fill the link: what one of them has too much all later ones have.
    let scenario = r#"
duration = "2s"
dumbbell = { rtt = "20ms", up.rate = "1.2mbit", down.rate = "8mbit", qdisc = "pfifo limit 50" }
flow = [{ name = "up", direction = "up", app = { kind = "cbr", rate = "1166400bit", size = 1458 } }]
"#;
    let result = cell(dir.path(), scenario, &["--queues", "kernel"]);
    let delay = &result.flows[0].1.delay;
    // Half of the round trip, and 10 ms on the link.
    assert!(
        (20.0..20.01).contains(&delay.min) && delay.max < 20.01,
        "{delay:?}"
    );
}

#[test]
fn links_may_lead_one_way() {
    let scenario = r#"
duration = "4s"
warmup = "1s"
node = [{ name = "a" }, { name = "b" }, { name = "c" }]
link = [
    { name = "there", from = "a", to = "b", rate = "4mbit", delay = "30ms", qdisc = "fq_codel" },
    { name = "on", from = "b", to = "c", rate = "20mbit", delay = "2ms", qdisc = "fq_codel" },
    { name = "back", from = "c", to = "a", rate = "1mbit", delay = "5ms", qdisc = "fq_codel" },
]
flow = [
    { name = "bulk", from = "a", to = "b", app = "bulk" },
    { name = "probe", from = "b", to = "a", app = { kind = "ping", size = 64, interval = "37ms" } },
]
"#;
    for queues in ["kernel", "ours"] {
        let dir = tempfile::tempdir().unwrap();
        let result = cell(dir.path(), scenario, &["--queues", queues]);
        let links: Vec<&str> = result.links.iter().map(|(name, _)| &**name).collect();
        assert_eq!(links, ["there", "on", "back"]);
        let [there, on, back] = [0, 1, 2].map(|link| &result.links[link].1);
        assert!((0.9..1.01).contains(&there.utilisation.unwrap()));
        // Acknowledgements and the probe take both links back.
        let passed = on.dequeued_packets.abs_diff(back.dequeued_packets);
        assert!(on.dequeued_packets > 500 && passed < 5, "{on:?} {back:?}");
        // 106 bytes at 20 and at 1 Mbit/s, 2 and 5 ms; and at 4 Mbit/s, 30 ms.
        let probe = &result.flows[1].1;
        assert!((7.89..7.92).contains(&probe.delay.min), "{:?}", probe.delay);
        assert!((38.0..38.2).contains(&probe.rtt.min), "{:?}", probe.rtt);
    }
}
