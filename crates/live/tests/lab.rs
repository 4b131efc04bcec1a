//! The test bed on a real kernel. Needs root.

use sojourn_live::{Host, Lab, Plan};
use std::fs;

#[test]
fn a_lab_has_its_devices_and_settings_and_shows_nowhere() {
    let lab = Lab::new(&Plan {
        hosts: 3,
        sysctls: vec![("ipv4/tcp_ecn", "1".into())],
        initial_window: Some(3),
        ..Plan::default()
    })
    .unwrap();
    let inside = lab
        .client
        .run(|| {
            Ok((
                fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn")?,
                fs::read_to_string("/proc/thread-self/net/fib_trie")?,
                fs::read_to_string("/proc/thread-self/net/arp")?,
            ))
        })
        .unwrap();
    assert_eq!(inside.0.trim(), "1");
    assert!(inside.1.contains("198.18.0.3") && !inside.1.contains("198.18.0.4"));
    // Permanent entries have the flags ATF_COM | ATF_PERM.
    assert!(
        inside
            .2
            .contains("198.19.0.3       0x1         0x6         02:00:00:00:00:02")
    );
    let ports = lab
        .bridge
        .run(|| fs::read_to_string("/proc/thread-self/net/dev"))
        .unwrap();
    assert!(ports.contains("left:") && ports.contains("right:"));
    assert_eq!(Host::Server.address(2).to_string(), "198.19.0.3");
}
