//! A bridge with subscribers follows their file. Needs root; without it these are passed over,
//! except in CI (`CI=true`), where a machine that cannot run them fails them.

mod common;

use common::process::{bridge, ctl, ground, told};
use common::rig::{Link, Net, PASSES, PATIENCE, exchange, lost_but_not_doubled, numbered};
use common::sojourn;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::thread;
use std::time::Duration;

const BRIDGE: &str = "\
version = 1
control = \"control\"
[[pair]]
name = \"wan\"
left = \"a1\"
right = \"b1\"
fail_open = \"off\"
stale = \"20s\"
";

const SITE: &str = "\
version = 1
[[site]]
name = \"hill\"
up = \"50mbit\"
down = \"100mbit\"
";

fn circuit(name: &str, address: &str, up: &str) -> String {
    format!(
        "[[circuit]]\nname = \"{name}\"\naddresses = [\"{address}\"]\nparent = \"hill\"\n\
         up = \"{up}\"\ndown = \"90mbit\"\n"
    )
}

/// Thirty datagrams go up, and for the first twenty one comes back.
fn talk(link: &Link) {
    let socket = |net: &Net, address: &str| net.run(|| UdpSocket::bind(address).unwrap());
    let server = socket(&link.server, "10.9.0.2:5001");
    let client = socket(&link.client, "10.9.0.1:5001");
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for number in 0..30 {
        client.send_to(&[7; 100], "10.9.0.2:5001").unwrap();
        let (_, from) = server.recv_from(&mut [0; 200]).expect("it comes");
        if number < 20 {
            server.send_to(&[7; 100], from).unwrap();
            client.recv_from(&mut [0; 200]).expect("it comes back");
        }
    }
}

/// What `one`, the only circuit that is left, has sent and got.
fn counts_of_circuits(dir: &Path, link: &Link) {
    talk(link);
    let said = told(dir, "circuits --order sent --count 1");
    let rows = said.lines().filter(|line| line.starts_with("circuit "));
    assert_eq!(rows.count(), 2, "a row for each direction: {said}");
    let circuits = told(dir, "--json circuits one");
    let circuits: serde_json::Value = serde_json::from_str(&circuits).expect("it is JSON");
    let one = &circuits["circuits"][0];
    assert_eq!(
        (&one["kind"], &one["parent"]),
        (&"circuit".into(), &"hill".into())
    );
    assert_eq!(one["up"]["ceil_bps"], 30_000_000);
    let count = |way: &str| one[way]["sent_packets"].as_u64();
    assert_eq!([count("up"), count("down")], [Some(30), Some(20)], "{one}");
    assert_eq!(one["up"]["backlog_packets"], 0);
    let (code, said) = ctl(dir, "circuits nobody");
    assert_eq!(code, Some(2));
    assert!(said.contains("no circuit or site `nobody`"), "{said}");
}

#[test]
fn circuits_come_and_go_and_nothing_is_lost() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let write = |name: &str, text: &[&str]| fs::write(dir.join(name), text.concat()).unwrap();
    let told = |words: &str| told(dir, words);
    write("bridge.toml", &[BRIDGE, "subscribers = \"who.toml\"\n"]);
    let one = circuit("one", "10.9.0.1", "20mbit");
    write("who.toml", &[SITE, &one]);
    let checked = sojourn(&["check", "bridge.toml"], dir);
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(
        shown.contains("tree of 1 classes and 1 leaves over fq_codel"),
        "{shown}"
    );
    let checked = sojourn(&["check", "who.toml"], dir);
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(
        shown.starts_with("subscribers: 1 circuit with 1 address"),
        "{shown}"
    );
    let process = bridge(&link, "--config bridge.toml", dir);
    let (sent, received) = numbered(&link, |_| {
        write(
            "who.toml",
            &[SITE, &one, &circuit("two", "10.9.0.0/24", "5mbit")],
        );
        let differs = told("reload --dry-run");
        assert!(differs.contains(", 1 new (two)"), "{differs}");
        assert!(differs.contains("up.addresses: 1 -> 2"), "{differs}");
        assert_eq!(told("reload"), differs);
        thread::sleep(Duration::from_millis(60));
        write("who.toml", &[SITE, &circuit("one", "10.9.0.1", "30mbit")]);
        let differs = told("reload");
        assert!(
            differs.contains(", 1 gone (two), 1 other (one)"),
            "{differs}"
        );
        // A wrong one is refused, with its place, and what ran goes on.
        write("who.toml", &[SITE, &circuit("one", "10.9.0.300", "30mbit")]);
        let (code, said) = ctl(dir, "reload");
        assert_eq!(code, Some(2));
        assert!(
            said.contains("who.toml:8:14: circuit.one.addresses"),
            "{said}"
        );
        thread::sleep(Duration::from_millis(60));
    });
    assert_eq!(lost_but_not_doubled(sent, &received), 0, "of {sent}");
    assert!(received.is_sorted());
    assert_eq!(exchange(&link), PASSES);
    assert!(told("stats").starts_with("qdisc tree"));
    counts_of_circuits(dir, &link);
    process.interrupt();
}

#[test]
fn files_of_libreqos_will_do() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let files = "subscribers = { devices = \"d.csv\", network = \"n.json\" }\nqdisc = \"cake\"\n";
    fs::write(dir.join("bridge.toml"), [BRIDGE, files].concat()).unwrap();
    let network = r#"{"Hill": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 50}}"#;
    fs::write(dir.join("n.json"), network).unwrap();
    let devices = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,\
                   Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n\
                   1,\"Mill Lane, 1\",1,A,Hill,,10.9.0.1,,1,1,50,2.5,\n";
    fs::write(dir.join("d.csv"), devices).unwrap();
    let process = bridge(&link, "--config bridge.toml", dir);
    assert_eq!(exchange(&link), PASSES);
    process.interrupt();
    fs::write(dir.join("n.json"), "{}").unwrap();
    let checked = sojourn(&["check", "bridge.toml"], dir);
    let said = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(checked.status.code(), Some(2));
    assert!(
        said.contains("d.csv:2:1: circuit 1: there is no site `Hill`"),
        "{said}"
    );
}

/// Bytes that a process has for itself in memory.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        * 1024
}

/// In the whole process, both ways together; what reading the file takes is given back, also after
/// reloads.
#[test]
fn ten_thousand_idle_circuits_take_little() {
    const CIRCUITS: u64 = 10_000;
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let file = |circuits: u64, up: u64| {
        let all = (0..circuits).map(|n| {
            let addresses = format!("100.64.{}.{}", n / 250, n % 250);
            circuit(&format!("circuit {n}"), &addresses, &format!("{up}mbit"))
        });
        fs::write(
            dir.join("who.toml"),
            SITE.to_owned() + &all.collect::<String>(),
        )
        .unwrap();
    };
    let files = "qdisc = \"cake\"\nsubscribers = \"who.toml\"\n";
    fs::write(dir.join("bridge.toml"), [BRIDGE, files].concat()).unwrap();
    let mut each = Vec::new();
    for reloads in [0, 5] {
        let taken = [1, CIRCUITS].map(|circuits| {
            file(circuits, 20);
            let process = bridge(&link, "--config bridge.toml", dir);
            for n in 0..reloads {
                file(circuits, 21 + n);
                told(dir, "reload");
            }
            let taken = resident(process.id());
            process.interrupt();
            taken
        });
        each.push(taken[1].saturating_sub(taken[0]) / CIRCUITS);
    }
    println!("a circuit takes {each:?} bytes");
    assert!(each[0] < 1024 && each[1] < 1536, "{each:?}");
}
