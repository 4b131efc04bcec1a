//! `sojourn kernel`: guests of the real kernel in virtual time, as any user, and what is left of
//! them when things go wrong: nothing.
//!
//! Takes the user's guest kernel; `make test` builds it, `sojourn kernel build` does too.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::disallowed_methods, reason = "patience is in real time")]

use sojourn_kernel::Store;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program with a folder of its own for the guest's folders.
fn program(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.args(arguments).env("TMPDIR", temporary);
    command
}

fn exec(command: &str) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let output = program(temporary.path(), &["kernel", "exec", command])
        .output()
        .unwrap();
    assert_eq!(left(temporary.path()), Vec::<PathBuf>::new());
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What stands in a folder.
fn left(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Processes of guests whose folders are in `temporary`.
fn guests(temporary: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .map(|entry| entry.path())
        .filter(|process| {
            fs::read_link(process.join("cwd")).is_ok_and(|dir| dir.starts_with(temporary))
        })
        .collect()
}

fn signal(name: &str, process: u32) {
    let kill = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
}

/// Waits until `done`, for as long as a busy machine may take.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < patience, "not within 60 s: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// A guest that would go on for a thousand years of its time in steps of a second.
fn endless(temporary: &Path) -> Child {
    let command = "while sleep 1; do :; done";
    let child = program(temporary, &["kernel", "exec", command])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("a guest starts", || guests(temporary).len() > 1);
    child
}

#[test]
fn an_hour_passes_in_a_moment_and_the_status_comes_back() {
    let output = exec("date +%s; sleep 3600; date +%s; exit 7");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let out = text(&output.stdout);
    let times: Vec<u64> = out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times[1] - times[0], 3600, "{out}");
}

#[test]
fn the_host_can_only_be_read() {
    let place = env!("CARGO_MANIFEST_DIR");
    let output = exec(&format!(
        "test -f {place}/Cargo.toml && ! touch {place}/new && echo x > /run/sojourn/here"
    ));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!Path::new(place).join("new").exists());
}

#[test]
fn chance_comes_from_the_seed_alone() {
    let dice = |seed: &str| {
        let temporary = tempfile::tempdir().unwrap();
        // The kernel's own, and where a program's stack lies.
        let command = "head -c 16 /dev/urandom | od -An -tx8; tail -1 /proc/self/maps; \
                       cat /proc/sys/kernel/random/uuid; grep MemTotal /proc/meminfo; \
                       date +%N";
        let arguments = ["kernel", "exec", "--seed", seed, command];
        let output = program(temporary.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let first = dice("1");
    assert_eq!(first, dice("1"));
    let other = dice("2");
    assert_ne!(first.lines().next(), other.lines().next());
}

#[test]
fn nothing_is_left_when_the_run_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let mut run = endless(temporary.path());
    run.kill().unwrap();
    run.wait().unwrap();
    until("the guest's processes end", || {
        guests(temporary.path()).is_empty()
    });
    until("its folder goes", || left(temporary.path()).is_empty());
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    let temporary = tempfile::tempdir().unwrap();
    let run = endless(temporary.path());
    signal("INT", run.id());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(left(temporary.path()).is_empty() && guests(temporary.path()).is_empty());
}

#[test]
fn a_guest_that_crashes_is_told_of() {
    let temporary = tempfile::tempdir().unwrap();
    let run = endless(temporary.path());
    // The kernel is the guard's child; the guard has the program's name.
    let kernel = Store::of_user().unwrap().find(None).unwrap().path;
    let is_kernel =
        |process: &PathBuf| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == kernel);
    let processes: Vec<u32> = guests(temporary.path())
        .iter()
        .filter(|process| is_kernel(process))
        .map(|process| {
            process
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    signal("KILL", *processes.iter().min().unwrap());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("the guest ended without a result"), "{said}");
    until("its processes end", || guests(temporary.path()).is_empty());
    assert!(left(temporary.path()).is_empty());
}

#[test]
fn without_a_kernel_the_one_command_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let output = program(empty.path(), &["kernel", "exec", "true"])
        .env("XDG_CACHE_HOME", empty.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("`sojourn kernel build`"), "{said}");
}

#[test]
fn an_ordinary_user_can_run_guests() {
    let whoami = Command::new("id").arg("-u").output().unwrap();
    if whoami.stdout != b"0\n" {
        // The other tests have shown it.
        return;
    }
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    open(dir.path());
    let kernel = Store::of_user().unwrap().find(None).unwrap();
    let cache = dir.path().join("cache/sojourn");
    fs::create_dir_all(&cache).unwrap();
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).unwrap();
        open(&to);
    };
    copy(&kernel.path, Store::at(&cache).place(kernel.version));
    copy(
        env!("CARGO_BIN_EXE_sojourn").as_ref(),
        dir.path().join("sojourn"),
    );
    let temporary = dir.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(dir.path().join("sojourn"))
        .args([
            "kernel",
            "exec",
            "id -u; unshare --net true && echo networks",
        ])
        .current_dir("/")
        .env("XDG_CACHE_HOME", dir.path().join("cache"))
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "0\nnetworks\n");
    assert!(left(&temporary).is_empty());
}
