//! Our queues inside the kernel of a guest: runs, and decisions on a million packets.
//!
//! Takes the guest's kernel with the module in it (`make module-test` builds it and runs this).
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{program, run, scenario, text};
use sojourn_module::check::{Nowhere, digest};
use sojourn_qdisc::Value;
use sojourn_world::RunResult;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Strings of disciplines, each behind which stands what the module's own tests hold.
const DISCIPLINES: &str = include_str!("../../module/tests/decisions.txt");
const PACKETS: u64 = 1_000_000;

fn result(dir: &Path, more: &[&str]) -> RunResult {
    let more = [&["--queues", "module"], more].concat();
    let output = run(dir, 2, &more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.join("out")]).unwrap();
    merged.whole().unwrap().remove(0)
}

/// Figures of a queue in the kernel are seen as those of the kernel's own are.
#[test]
fn a_run_has_our_queues_in_the_kernel_and_repeats() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let more = [
        "--set",
        "dumbbell.up.qdisc=steer util 99% delay 20ms over gsp",
        "--set",
        "dumbbell.qdisc=adth target 20ms",
    ];
    let results = dirs.each_ref().map(|dir| result(dir.path(), &more));
    assert_eq!(results[0].digest, results[1].digest);
    assert_ne!(results[0].digest, 0);
    let result = &results[0];
    assert_eq!(result.world.as_str(), "kernel-module");
    let [(_, up), (_, down)] = &result.links[..] else {
        panic!("{:?}", result.links);
    };
    let inner = up.qdisc.inner.as_ref().map(|inner| inner.kind.as_ref());
    assert_eq!((up.qdisc.kind.as_ref(), inner), ("steer", Some("gsp")));
    assert_eq!(down.qdisc.kind.as_ref(), "adth");
    for link in [up, down] {
        let field = |name: &str| {
            let mut stats = link.qdisc.stats.iter();
            stats
                .find(|field| field.name == name)
                .map(|field| &field.value)
        };
        let Some(Value::Int(sent)) = field("packets") else {
            panic!("{:?}", link.qdisc);
        };
        assert!(*sent as u64 >= link.dequeued_packets, "{link:?}");
        assert_eq!(field("overlimits"), Some(&Value::Int(0)));
        // What stands in the queue at the two ends of the measured time is at most its backlog.
        let gone = link.dequeued_packets + link.dropped_packets;
        assert!(link.offered_packets.abs_diff(gone) < 60, "{link:?}");
    }
    assert!(up.utilisation.unwrap() > 0.9, "{up:?}");
    // ADTH purges what its queue holds beyond what leaves within the target.
    let purged = down.qdisc.stats.iter().find(|field| field.name == "purged");
    let Some(Value::Int(purged)) = purged.map(|field| &field.value) else {
        panic!("{:?}", down.qdisc);
    };
    assert!(
        *purged > 0 && *purged as u64 >= down.dropped_packets,
        "{down:?}"
    );
}

/// Linux's own queues are thrown away with what they hold where they become another one.
#[test]
fn a_change_to_another_kind_keeps_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = scenario(dir.path(), 3);
    let change = "\n[[change]]\nat = \"1500ms\"\nlink = \"up\"\nqdisc = \"pie\"\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + change).unwrap();
    let file = path.to_str().unwrap();
    let out = dir.path().join("out");
    let words = [
        "run", file, "--world", "kernel", "--queues", "module", "--out",
    ];
    let output = program(dir.path(), &words).arg(&out).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[out]).unwrap();
    let result = merged.whole().unwrap().remove(0);
    let [(_, up), (_, down)] = &result.links[..] else {
        panic!("{:?}", result.links);
    };
    let kinds = (up.qdisc.kind.as_ref(), down.qdisc.kind.as_ref());
    assert_eq!(kinds, ("pie", "fq_codel"));
    assert!(up.utilisation.unwrap() > 0.9, "{up:?}");
}

/// With the same TCP and the same line, our FQ-CoDel and CAKE are Linux's but for the dice.
#[test]
fn a_cell_of_the_fidelity_matrix_is_as_with_linuxs_own_queue() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "fidelity",
        "--world",
        "kernel-module,kernel-tc",
        "--cell",
        "steady/10mbit/50ms/fq_codel/cubic/4",
        "--seeds",
        "3",
    ];
    let output = program(dir.path(), &words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    // A kernel of another version than the usual one is named in both: `kernel-module-7-3`.
    let is_pair = |line: &&str| {
        line.starts_with("kernel-module") && line.contains("(another queue code): cells")
    };
    let title = said
        .lines()
        .find(is_pair)
        .unwrap_or_else(|| panic!("{said}"));
    let (_, pair) = said.split_once(title).unwrap();
    let row = pair.lines().find(|line| line.starts_with("steady"));
    let tallies: Vec<&str> = row.unwrap().split_whitespace().skip(1).collect();
    let told = tallies.iter().filter(|tally| **tally != "–");
    let different: Vec<Option<&str>> = told.map(|tally| tally.split('/').nth(1)).collect();
    assert!(different.len() > 4, "{said}");
    assert!(different.iter().all(|count| *count == Some("0")), "{said}");
}

/// A study with one cell for the kernel world, in which the line is used. How much of it depends on
/// the kernel's version.
const STUDY: &str = r#"format = "sojourn-study/1"
name = "small"
title = "GSP on a line of 1 Mbit/s"
description = "One cell."
source = "This test"
link = "up"

[[setting]]
name = "cell"
scenario = "cell.toml"
kernel = "cell.toml"

[define]
used = "link.utilisation"

[axes.queue]
gsp."dumbbell.qdisc" = "gsp"

[[claim]]
id = "A1"
statement = "The line is used"
published = "70 %"
setting = "cell"
check = [{ holds = "used[gsp] > 70%" }]
"#;

#[test]
fn a_study_is_reproduced_and_a_queue_evaluated_with_our_queues_in_the_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let cell = fs::read_to_string(scenario(dir.path(), 3)).unwrap();
    let swept =
        cell.replace(", qdisc = \"fq_codel\"", "") + "[sweep]\ndumbbell.qdisc = [\"gsp\"]\n";
    fs::write(dir.path().join("cell.toml"), swept).unwrap();
    fs::write(dir.path().join("study.toml"), STUDY).unwrap();
    let said = |words: &[&str]| {
        let words = [words, &["--world", "kernel", "--queues", "module"]].concat();
        let output = program(dir.path(), &words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let study = said(&["reproduce", dir.path().to_str().unwrap()]);
    assert!(
        study.contains("kernel-module: 1 claim: 1 as published"),
        "{study}"
    );
    let words = [
        "evaluate", "--qdisc", "gsp", "--case", "burst", "--seeds", "2",
    ];
    let card = said(&words);
    assert!(
        card.contains("in the world kernel-module, 2 seeds"),
        "{card}"
    );
    assert!(card.contains("completion of 30 kB"), "{card}");
}

#[test]
fn a_million_packets_are_decided_on_as_on_the_host() {
    let lines = DISCIPLINES.lines().filter(|line| !line.starts_with('#'));
    let texts: Vec<&str> = lines
        .filter_map(|line| Some(line.split_once(" | ")?.0))
        .collect();
    assert!(texts.len() > 20);
    let mut script = String::from("cd /sys/module/sch_sojourn/parameters\n");
    for text in &texts {
        let _ = writeln!(script, "echo '{PACKETS} {text}' > check && cat check");
    }
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path(), &["kernel", "exec", "--module", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout).replace('\r', "");
    let mut expected = String::new();
    for text in &texts {
        let all = digest::<Nowhere>(text, 1, PACKETS).unwrap();
        let _ = writeln!(
            expected,
            "{} {} {} {:016x}",
            all.sent, all.dropped, all.marked, all.sum
        );
    }
    for ((text, said), expected) in texts.iter().zip(said.lines()).zip(expected.lines()) {
        assert_eq!(said, expected, "{text}");
    }
    assert_eq!(said.lines().count(), texts.len(), "{said}");
}

/// Super-packets are cut, and their segments counted; CAKE, CoDel and flow queues see packets of a
/// device without Ethernet as Linux's own do.
#[test]
fn super_packets_and_packets_without_ethernet_are_as_others() {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/kernel_module/packets.py"
    );
    let sojourn = env!("CARGO_BIN_EXE_sojourn");
    let line = format!("python3 '{script}' '{sojourn}'");
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path(), &["kernel", "exec", "--module", &line])
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(
        output.status.success() && said.contains("ok      CAKE's lengths and tins are Linux's"),
        "{said}{}",
        text(&output.stderr)
    );
}

/// The queue is on the router that translates: its connection tracking knows the hosts.
#[test]
fn hosts_behind_a_translation_are_told_apart() {
    let flow = |name: &str, host: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\ndirection = \"up\"\napp = \"bulk\"\nsrc_host = \"{host}\"\n"
        )
    };
    let flows = flow("one", "h1") + &flow("two", "h2") + &flow("three", "h2");
    let shares = ["nat", "nonat"].map(|word| {
        let dir = tempfile::tempdir().unwrap();
        let scenario = format!(
            r#"format = "sojourn-scenario/1"
name = "cell"
duration = "8s"
warmup = "2s"
[dumbbell]
nat = true
rtt = "20ms"
up = {{ rate = "10mbit", qdisc = "cake bandwidth 4mbit besteffort dual-srchost {word}" }}
down = {{ rate = "10mbit", qdisc = "cake bandwidth 4mbit besteffort dual-dsthost {word}" }}
{flows}"#
        );
        let mut command = run(dir.path(), 1, &["--queues", "module"]);
        fs::write(dir.path().join("cell.toml"), scenario).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        let result = merged.whole().unwrap().remove(0);
        let [first, second, third] =
            [0, 1, 2].map(|flow| result.flows[flow].1.goodput.as_bps() as f64);
        first / (first + second + third)
    });
    // The link is shared by hosts, or by flows.
    assert!((0.47..0.53).contains(&shares[0]), "{shares:?}");
    assert!((0.30..0.37).contains(&shares[1]), "{shares:?}");
}
