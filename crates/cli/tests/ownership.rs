//! A bridge touches nothing that is not its own, and leaves nothing of its own behind. Needs root;
//! without it these are passed over, except in CI (`CI=true`), where a machine that cannot run
//! them fails them.

mod common;

use common::process::{Running, bridge, program};
use common::rig::{Link, PASSES, available, devices, exchange, offload, passes};
use std::fs;
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::Duration;

fn start(link: &Link) -> Running {
    bridge(link, "a1 b1 --require-fail-open", Path::new("."))
}

/// Runs the program to its end.
fn output(link: &Link, words: &str) -> Output {
    let mut command = program(words, Path::new("."));
    link.middle.run(|| command.output().expect("it starts"))
}

/// What it says when it does not start.
fn refused(link: &Link, words: &str) -> String {
    let output = output(link, words);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_interface_has_one_bridge() {
    if !available() {
        return;
    }
    let link = Link::new();
    let before = devices(&link);
    let first = start(&link);
    for words in ["bridge a1 b1", "bridge b1 a1 --no-fail-open"] {
        let error = refused(&link, words);
        let holder = format!("another bridge already: process {}", first.id());
        assert!(error.contains(&holder), "{error}");
    }
    passes(&link, "through the first");
    first.interrupt();
    assert_eq!(devices(&link), before);
    start(&link).interrupt();
}

#[test]
fn a_name_says_nothing_about_who_made_a_bridge() {
    if !available() {
        return;
    }
    let link = Link::new();
    link.middle.ip(
        "link add sojourn0 type bridge forward_delay 0 mcast_snooping 0
         link set a1 master sojourn0
         link set b1 master sojourn0
         link set sojourn0 up",
    );
    let before = devices(&link);
    let process = start(&link);
    passes(&link, "through us");
    process.interrupt();
    assert_eq!(devices(&link), before, "it stays");
    assert_eq!(exchange(&link), PASSES, "through the user's own");
}

/// Whether an address is still there.
fn has(link: &Link, device: &str, address: &str) -> bool {
    link.middle.run(|| {
        let shown = std::process::Command::new("ip")
            .args(["address", "show", "dev", device])
            .output()
            .expect("ip runs");
        String::from_utf8_lossy(&shown.stdout).contains(address)
    })
}

#[test]
fn the_hosts_own_addresses_are_not_cut_off() {
    if !available() {
        return;
    }
    let link = Link::new();
    link.middle.run(|| {
        for place in ["all", "a1"] {
            let file = format!("/proc/sys/net/ipv6/conf/{place}/disable_ipv6");
            fs::write(file, "0").expect("the kernel has IPv6");
        }
    });
    link.middle.ip("-6 address add 2001:db8::1/64 dev a1 nodad");
    let error = refused(&link, "bridge a1 b1 --require-fail-open");
    assert!(error.contains("`a1` has an IP address"), "{error}");
    let process = bridge(&link, "a1 b1", Path::new("."));
    passes(&link, "without a way round");
    process.interrupt();
    assert!(has(&link, "a1", "2001:db8::1"));
    link.middle.ip("-6 address flush dev a1 scope global");

    link.middle
        .ip("link add br9 type bridge forward_delay 0 mcast_snooping 0
         link set a1 master br9
         link set b1 master br9
         link set br9 up
         address add 10.9.0.9/24 dev br9");
    for words in ["bridge a1 b1", "bridge a1 b1 --require-fail-open"] {
        let error = refused(&link, words);
        assert!(error.contains("`br9` has an IP address"), "{error}");
    }
    let error = refused(&link, "bridge a1 b1 --no-fail-open");
    assert!(error.contains("would arrive twice"), "{error}");
    assert!(has(&link, "br9", "10.9.0.9"));
}

#[test]
fn what_a_killed_bridge_changed_is_undone() {
    if !available() {
        return;
    }
    let link = Link::new();
    let before = devices(&link);
    offload(&link.middle, "a1", Some(true));
    let is_on = || offload(&link.middle, "a1", None);
    let first = start(&link);
    assert!(!is_on(), "off while a bridge runs");
    first.kill();
    assert!(!is_on(), "nobody was left to turn it on");
    // The next one knows how it was.
    start(&link).interrupt();
    assert!(is_on());
    assert_eq!(devices(&link), before);
    assert!(
        !link.middle.claims().exists(),
        "nor is an empty folder left"
    );
    // And so does nobody's successor.
    start(&link).kill();
    let told = output(&link, "bridge --restore");
    assert!(told.status.success(), "{told:?}");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("a1: "), "{told}");
    assert!(told.contains("offloads are on again"), "{told}");
    assert!(told.contains("the kernel bridge is removed"), "{told}");
    assert!(is_on());
    assert!(!link.middle.claims().exists());
    assert_eq!(devices(&link), before);
}

/// The deleted cable on the right is there again.
fn again(link: &Link) {
    link.middle.ip(&format!(
        "link add b1 type veth peer name b0 netns {}
         link set b1 up",
        link.server.path()
    ));
    link.server.ip("link set b0 up");
    link.middle.sends(&["b1"]);
    link.server.sends(&["b0"]);
}

#[test]
fn half_a_link_leaves_no_half_bridge() {
    if !available() {
        return;
    }
    let link = Link::new();
    // Deleted while a bridge runs.
    let first = start(&link);
    link.middle.ip("link delete b1");
    assert!(!first.ended(), "the interface is gone");
    assert!(!devices(&link).join("\n").contains("sojourn"));
    // Deleted some time after it went down.
    again(&link);
    let down = start(&link);
    link.middle.ip("link set b1 down");
    thread::sleep(Duration::from_millis(200));
    link.middle.ip("link delete b1");
    assert!(!down.ended(), "the interface is gone");
    // Deleted after one was killed.
    again(&link);
    start(&link).kill();
    link.middle.ip("link delete b1");
    again(&link);
    let next = start(&link);
    passes(&link, "through the next");
    next.interrupt();
    assert!(!devices(&link).join("\n").contains("sojourn"));
}
