//! What OpenWrt's init script makes of UCI is a bridge's file that means the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// OpenWrt's functions as far as the script needs them, with a configuration of two pairs.
const STUBS: &str = r#"
config_load() { :; }
config_foreach() { for section in wan guest off bare; do "$1" "$section"; done; }
config_get() {
    local found
    eval "found=\"\${uci_$2_$3}\""
    eval "$1=\"\${found:-\$4}\""
}
config_get_bool() { config_get "$@"; }
logger() { shift 2; echo "$*" >&2; }
uci_global_metrics=127.0.0.1:9817
uci_wan_left=eth0 uci_wan_right=eth1 uci_wan_download=90000 uci_wan_upload=18000
uci_wan_linklayer=atm uci_wan_overhead=44 uci_wan_eqdisc_opts=ack-filter
uci_guest_left=eth2 uci_guest_right=eth3 uci_guest_upload=5000 uci_guest_qdisc=fq_codel
uci_guest_keep_bridge=0
uci_off_enabled=0 uci_off_left=x uci_off_right=y
uci_bare_left=eth9
"#;

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

#[test]
fn a_configuration_of_uci_becomes_the_bridges_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("contrib/openwrt/files/sojourn.init");
    let make = format!("{STUBS}. {}\nwrite_file", script.display());
    let made = Command::new("sh")
        .args(["-c", &make])
        .output()
        .expect("a shell is there");
    let complaint = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(complaint.contains("pair bare"), "{complaint}");
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("made.toml"), said(&made)).expect("it is written");
    let mut check = Command::new(env!("CARGO_BIN_EXE_sojourn-bridge"));
    let check = check.args(["check", "--json", "made.toml"]);
    let checked = check.current_dir(dir.path()).output();
    let checked = said(&checked.expect("it starts"));
    let checked: serde_json::Value = serde_json::from_str(&checked).expect("it is JSON");
    let pairs = checked["pairs"].as_array().expect("a list");
    assert_eq!(pairs.len(), 2, "{checked}");
    let queue = |pair: usize, way: &str| pairs[pair][way]["qdisc"].as_str().unwrap_or_default();
    let up = queue(0, "up");
    let words = ["cake bandwidth 18Mbit", "ack-filter", " atm", "overhead 44"];
    assert!(words.iter().all(|word| up.contains(word)), "{up}");
    let down = queue(0, "down");
    assert!(down.starts_with("cake bandwidth 90Mbit"), "{down}");
    assert!(queue(1, "up").starts_with("fq_codel"), "{checked}");
    assert_eq!(pairs[1]["up"]["rate_bps"], 5_000_000);
    assert_eq!(pairs[1]["down"]["rate_bps"], "unlimited");
}
