//! What OpenWrt's init script makes of UCI is a bridge's file that means the same, and procd starts
//! or signals the bridge with it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// OpenWrt's functions as far as the script needs them (`functions.sh`, `procd.sh`): options are
/// variables here, valid as `validate_data` has them.
const STUBS: &str = r#"
config_load() { :; }
config_foreach() {
    local section function="$1"
    shift 2
    for section in $pairs; do "$function" "$section" "$@"; done
}
uci_load_validate() {
    local section="$3" function="$4" result=0 option name rest kind default found
    shift 4
    for option in "$@"; do
        name="${option%%:*}" rest="${option#*:}"
        kind="${rest%%:*}" default="${rest#"$kind"}" default="${default#:}"
        eval "local $name; found=\"\${uci_${section}_$name}\""
        case "$kind:$found" in
            *:) found="$default" ;;
            string:*) ;;
            bool:0 | bool:1) ;;
            uinteger:*[!0-9]*) result=1 ;;
            uinteger:*) ;;
            integer:*[!0-9-]*) result=1 ;;
            integer:*) ;;
            "or("*) case "$kind" in *"\"$found\""*) ;; *) result=1 ;; esac ;;
            *) result=1 ;;
        esac
        eval "$name=\$found"
    done
    "$function" "$section" "$result"
}
logger() { shift 2; echo "$*" >&2; }
procd_open_instance() { :; }
procd_close_instance() { :; }
procd_set_param() { echo "$*"; }
procd_running() { [ "$is_running" = yes ]; }
procd_send_signal() { echo "signal $3"; }
start() { start_service; is_running=yes; }
restart() { echo restart; start_service; }
"#;

/// Pairs that are bridged, and some that are not.
const PAIRS: &str = r#"
pairs="wan guest off bare slow word"
uci_global_metrics=127.0.0.1:9817
uci_wan_left=eth0 uci_wan_right=eth1 uci_wan_download=90000 uci_wan_upload=18000
uci_wan_linklayer=atm uci_wan_overhead=44 uci_wan_eqdisc_opts=ack-filter
uci_guest_left=eth2 uci_guest_right=eth3 uci_guest_upload=5000 uci_guest_qdisc=fq_codel
uci_guest_keep_bridge=0
uci_off_enabled=0 uci_off_left=x uci_off_right=y
uci_bare_left=eth9
uci_slow_left=eth4 uci_slow_right=eth5 uci_slow_download=1.5
uci_word_left=eth6 uci_word_right=eth7 uci_word_fail_open=maybe
"#;

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

/// Runs commands after the script, in the shells that are here: OpenWrt's is busybox.
fn run(settings: &str, commands: &str) -> Vec<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("contrib/openwrt/files/sojourn.init");
    let script = file.display();
    let lines = format!("{STUBS}{settings}\n. {script}\n{commands}");
    let shells: [&[&str]; 2] = [&["sh"], &["busybox", "ash"]];
    let outputs: Vec<_> = shells
        .iter()
        .filter_map(|shell| {
            let words = [&shell[1..], &["-c", &lines]].concat();
            Command::new(shell[0]).args(words).output().ok()
        })
        .collect();
    assert!(!outputs.is_empty(), "there is a shell");
    outputs
}

#[test]
fn a_configuration_of_uci_becomes_the_bridges_file() {
    for made in run(PAIRS, "write_file") {
        let complaints = String::from_utf8_lossy(&made.stderr).into_owned();
        for (pair, why) in [
            ("bare", "no left or no right"),
            ("slow", "is not valid"),
            ("word", "is not valid"),
        ] {
            let mut lines = complaints.lines().filter(|line| line.contains(why));
            let named = lines.any(|line| line.contains(&format!("pair {pair} ")));
            assert!(named, "{pair}: {complaints}");
        }
        let made = said(&made);
        assert!(made.contains("metrics = \"127.0.0.1:9817\""), "{made}");
        assert_eq!(made.matches("keep_bridge = true").count(), 1, "{made}");
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("made.toml"), made).expect("it is written");
        let output = Command::new(env!("CARGO_BIN_EXE_sojourn-bridge"))
            .args(["check", "--json", "made.toml"])
            .current_dir(dir.path())
            .output()
            .expect("it starts");
        let checked: serde_json::Value = serde_json::from_str(&said(&output)).expect("it is JSON");
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
}

/// A bridge that runs reads its file again; where there is another one, it starts anew.
#[test]
fn a_reload_starts_the_bridge_anew_where_it_has_another_file() {
    let commands = "
        dir=$(mktemp -d)
        CONFIG=$dir/bridge.toml MADE=$dir/made/sojourn.toml RUNS=$dir/runs
        echo first; reload_service
        echo again; reload_service
        : >$CONFIG
        echo file; reload_service
        echo unchanged; reload_service
        rm $CONFIG
        echo none; reload_service
        rm -r $dir";
    for ran in run(PAIRS, commands) {
        let ran = said(&ran);
        let is_kept = |line: &&str| {
            let mut others = ["respawn", "stdout", "stderr"].into_iter();
            !others.any(|word| line.starts_with(word))
        };
        let lines: Vec<_> = ran.lines().filter(is_kept).collect();
        let shown: Vec<_> = lines
            .iter()
            .map(|line| line.rsplit('/').next().unwrap_or(line))
            .collect();
        let expected = "first sojourn.toml again sojourn.toml signal HUP file restart bridge.toml \
                        unchanged bridge.toml signal HUP none restart sojourn.toml";
        assert_eq!(shown.join(" "), expected, "{ran}");
    }
}
