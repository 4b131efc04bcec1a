//! What the service manager hears, and that the unit asks for no more than is needed. Needs root;
//! without it these are passed over, except in CI (`CI=true`), where a machine that cannot run them
//! fails them.

mod common;

use common::process::{Running, ctl, ground, program};
use common::rig::{Link, PATIENCE, passes};
use sojourn_bridge::STATE;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const FILE: &str = "version = 1\ncontrol = \"control\"\n[[pair]]\nleft = \"a1\"\nright = \"b1\"\n";

/// A socket in a folder, in the manager's place.
fn manager(dir: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(dir.join("notify")).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// The next that is told, signs of life aside.
fn news(manager: &UnixDatagram) -> String {
    let all = std::iter::from_fn(|| told(manager)).take(100);
    let mut news = all.into_iter().filter(|text| !text.starts_with("WATCHDOG"));
    news.next().expect("there is news")
}

fn told(manager: &UnixDatagram) -> Option<String> {
    let mut buffer = [0; 4096];
    loop {
        match manager.recv(&mut buffer) {
            Ok(len) => return Some(String::from_utf8_lossy(&buffer[..len]).into_owned()),
            // A process that was stopped and goes on is told so (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                return None;
            }
        }
    }
}

/// `sojourn bridge` with the file, told of the manager.
fn start(link: &Link, dir: &Path) -> Running {
    fs::write(dir.join("bridge.toml"), FILE).unwrap();
    let mut command = program("bridge --config bridge.toml", dir);
    command.env("NOTIFY_SOCKET", dir.join("notify"));
    command.env("WATCHDOG_USEC", "300000").stdout(Stdio::null());
    link.middle.run(|| Running::start(&mut command))
}

#[test]
fn the_manager_hears_what_happens() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let manager = manager(dir);
    let process = start(&link, dir);
    let ready = news(&manager);
    assert!(ready.starts_with("READY=1\nSTATUS=a1 <-> b1"), "{ready}");
    passes(&link, "through a bridge that the manager watches");
    // A reload is told, also one that is refused, and what is as it was need not be.
    fs::write(
        dir.join("bridge.toml"),
        format!("{FILE}rate = \"50mbit\"\n"),
    )
    .unwrap();
    process.signal("HUP");
    let reloading = news(&manager);
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert!(news(&manager).contains("at 50Mbit"));
    fs::write(dir.join("bridge.toml"), "version = 9").unwrap();
    assert_eq!(ctl(dir, "reload").0, Some(2));
    assert!(news(&manager).starts_with("RELOADING=1"));
    assert!(news(&manager).contains("at 50Mbit"));
    assert_eq!(ctl(dir, "reload --dry-run").0, Some(2));
    // Signs of life come while the forwarding thread answers.
    let signs = std::iter::from_fn(|| told(&manager)).take(5);
    assert!(signs.into_iter().all(|sign| sign == "WATCHDOG=1\n"));
    process.signal("INT");
    assert_eq!(news(&manager), "STOPPING=1\n");
    assert!(process.ended());
}

#[test]
fn a_bridge_that_stands_still_gives_no_sign_of_life() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let manager = manager(dir);
    let process = start(&link, dir);
    news(&manager);
    process.signal("STOP");
    manager
        .set_read_timeout(Some(Duration::from_millis(600)))
        .unwrap();
    // What was on its way.
    while told(&manager).is_some() {}
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    process.signal("CONT");
    assert_eq!(told(&manager).as_deref(), Some("WATCHDOG=1\n"));
    process.interrupt();
}

fn unit() -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/systemd/sojourn.service");
    let text = fs::read_to_string(&path).expect("the unit is in the tree");
    (path, text)
}

#[test]
fn the_unit_exposes_little() {
    let (path, _) = unit();
    let mut command = Command::new("systemd-analyze");
    let analysed = command
        .args(["security", "--offline=true"])
        .arg(path)
        .output();
    let Ok(analysed) = analysed else {
        let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!required, "systemd-analyze is missing: scripts/setup test");
        return;
    };
    let text = String::from_utf8_lossy(&analysed.stdout).into_owned();
    let (_, level) = text.rsplit_once("sojourn.service: ").expect(&text);
    let level = level
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    assert!(level.is_some_and(|level: f64| level < 3.0), "{text}");
}

/// The program with the unit's capabilities, for a user that has nothing else.
fn as_nobody(dir: &Path, link: &Link) -> Command {
    const NOBODY: u32 = 65534;
    let (_, unit) = unit();
    let ambient = unit
        .lines()
        .find_map(|line| line.strip_prefix("AmbientCapabilities="));
    let caps = ambient
        .expect("the unit names them")
        .split_whitespace()
        .map(|cap| format!("+{}", cap.trim_start_matches("CAP_").to_lowercase()))
        .collect::<Vec<_>>()
        .join(",");
    chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    // As RuntimeDirectory= makes it; here it is shared with root's bridges of other namespaces,
    // the last of which may remove the folder around it in between.
    let state = link.middle.claims();
    while let Err(error) = fs::create_dir_all(state) {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    chown(state, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(STATE, Permissions::from_mode(0o755)).unwrap();
    // The program itself may stand where nobody may look.
    let copy = dir.join("sojourn");
    fs::copy(env!("CARGO_BIN_EXE_sojourn"), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
    ]);
    command.arg(format!("--inh-caps=-all,{caps}"));
    command.arg(format!("--ambient-caps=-all,{caps}"));
    command.arg(format!("--bounding-set=-all,{caps}"));
    command.arg(copy).current_dir(dir);
    command
}

#[test]
fn root_is_not_needed() {
    let Some((dir, link)) = ground() else { return };
    let dir = dir.path();
    let file = format!("{FILE}fail_open = \"require\"\n");
    fs::write(dir.join("bridge.toml"), file).unwrap();
    let mut command = as_nobody(dir, &link);
    command.args(["bridge", "--config", "bridge.toml"]);
    command.stdout(Stdio::piped());
    let mut process = link.middle.run(|| Running::start(&mut command));
    let ready = process.first_line();
    assert!(
        ready.contains("kernel bridge `sojourn0` takes over"),
        "{ready}"
    );
    passes(&link, "through nobody's");
    process.interrupt();
}

#[test]
fn what_root_has_left_is_not_nobodys() {
    let Some((dir, link)) = ground() else { return };
    let mut command = as_nobody(dir.path(), &link);
    let claim = link.middle.claims().join("a1");
    fs::write(&claim, "{}").unwrap();
    fs::set_permissions(&claim, Permissions::from_mode(0o600)).unwrap();
    command.args(["bridge", "a1", "b1"]);
    let output = link.middle.run(|| command.output()).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "sojourn: `a1` bears the claim {} of user 0; `bridge --restore` as that user undoes \
         what was left there\n",
        claim.display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}
