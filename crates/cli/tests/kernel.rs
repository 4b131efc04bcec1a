//! `sojourn kernel`: guests of the real kernel in virtual time, as any user, and what is left of
//! them when things go wrong: nothing.
//!
//! Takes the user's guest kernel; `make test` builds it, `sojourn kernel build` does too.
#![cfg(target_arch = "x86_64")]

mod common;

use common::guest::{guests, left, program, run, scenario, text, until};
use sojourn_kernel::{Store, Wanted};
use std::fs;
use std::hint::spin_loop;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

fn exec(command: &str) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let output = program(temporary.path(), &["kernel", "exec", command])
        .output()
        .unwrap();
    assert_eq!(left(temporary.path()), Vec::<PathBuf>::new());
    output
}

fn signal(name: &str, process: u32) {
    let kill = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
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
    // Not the repository: it may stand in /tmp, and a guest has a /tmp of its own.
    let new = "/usr/bin/sojourn-test-new";
    let output = exec(&format!(
        "test -f /usr/bin/env && ! touch {new} && echo x > /run/sojourn/here"
    ));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!Path::new(new).exists());
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
    assert!(left(temporary.path()).is_empty());
    until("its processes end", || guests(temporary.path()).is_empty());
}

#[test]
fn a_guest_that_crashes_is_told_of() {
    let temporary = tempfile::tempdir().unwrap();
    let run = endless(temporary.path());
    // The kernel is the guard's child; the guard has the program's name.
    let kernel = Store::of_user()
        .unwrap()
        .find(Wanted::default())
        .unwrap()
        .path;
    let is_kernel =
        |process: &PathBuf| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == kernel);
    let number = |process: &Path| -> u32 {
        let name = process.file_name().unwrap().to_str().unwrap();
        name.parse().unwrap()
    };
    let mut kernels = Vec::new();
    until("a kernel runs", || {
        kernels = guests(temporary.path());
        kernels.retain(is_kernel);
        !kernels.is_empty()
    });
    let first = kernels.iter().map(|process| number(process)).min();
    signal("KILL", first.unwrap());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("the guest ended without a result"), "{said}");
    until("its processes end", || guests(temporary.path()).is_empty());
    assert!(left(temporary.path()).is_empty());
}

#[test]
fn nothing_is_left_when_the_guard_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let run = endless(temporary.path());
    // The run's one child.
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let guard = fs::read_to_string(children).unwrap();
    signal("KILL", guard.trim().parse().unwrap());
    let output = run.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("it was killed"), "{said}");
    assert!(left(temporary.path()).is_empty());
    until("its processes end", || guests(temporary.path()).is_empty());
}

#[test]
fn without_a_kernel_the_one_command_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let exec = program(empty.path(), &["kernel", "exec", "true"]);
    for mut command in [exec, run(empty.path(), 1, &[])] {
        let output = command
            .env("XDG_CACHE_HOME", empty.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("`sojourn kernel build`"), "{said}");
    }
    // The plain kernel has none of our queues in it.
    let exec = program(empty.path(), &["kernel", "exec", "--module", "true"]);
    let card = [
        "evaluate", "--qdisc", "codel", "--world", "kernel", "--queues", "module",
    ];
    let card = program(empty.path(), &card);
    for mut command in [exec, run(empty.path(), 1, &["--queues", "module"]), card] {
        let output = command
            .env("XDG_CACHE_HOME", empty.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(
            said.contains("with our queues in it")
                && said.contains("`sojourn kernel build --module target/module/dkms`")
                && said.contains("`make module`"),
            "{said}"
        );
    }
    let build = ["kernel", "build", "--module", "nowhere"];
    let output = program(empty.path(), &build).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("cannot read nowhere/qdisc.c"), "{said}");
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
    let kernel = Store::of_user().unwrap().find(Wanted::default()).unwrap();
    let cache = dir.path().join("cache/sojourn");
    fs::create_dir_all(&cache).unwrap();
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).unwrap();
        open(&to);
    };
    copy(&kernel.path, Store::at(&cache).place(kernel.kernel));
    copy(
        env!("CARGO_BIN_EXE_sojourn").as_ref(),
        dir.path().join("sojourn"),
    );
    let temporary = dir.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).unwrap();
    let cell = scenario(dir.path(), 1);
    open(&cell);
    let user = |arguments: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(dir.path().join("sojourn"))
            .args(arguments)
            .current_dir("/")
            .env("XDG_CACHE_HOME", dir.path().join("cache"))
            .env("TMPDIR", &temporary)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let inside = "id -u; unshare --net true && echo networks";
    assert_eq!(user(&["kernel", "exec", inside]), "0\nnetworks\n");
    let file = cell.to_str().unwrap();
    let table = user(&["run", file, "--world", "kernel"]);
    assert!(table.contains("download  bulk"), "{table}");
    assert!(left(&temporary).is_empty());
}

#[test]
fn two_runs_of_one_seed_are_the_same_on_a_busy_machine() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let captured = ["--pcap", "down,down:in", "--seed", "3"];
    let first = run(dirs[0].path(), 2, &captured).output().unwrap();
    assert!(first.status.success(), "{first:?}");
    let busy = AtomicBool::new(true);
    let second = scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let second = run(dirs[1].path(), 2, &captured).output().unwrap();
        busy.store(false, Ordering::Relaxed);
        second
    });
    assert!(second.status.success(), "{second:?}");
    for file in [
        "results.parquet",
        "run-1-down.pcapng",
        "run-1-down-in.pcapng",
    ] {
        let [one, other] = dirs
            .each_ref()
            .map(|dir| fs::read(dir.path().join("out").join(file)).unwrap());
        assert!(one == other && one.len() > 10_000, "{file}");
    }
    let results = dirs.each_ref().map(|dir| {
        assert_eq!(left(&dir.path().join("tmp")), Vec::<PathBuf>::new());
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        merged.whole().unwrap().remove(0)
    });
    assert_eq!(results[0].digest, results[1].digest);
    assert_ne!(results[0].digest, 0);
    assert_eq!(results[0].world.as_str(), "kernel");
    for (name, flow) in &results[0].flows {
        let measured = flow.goodput.as_bps() > 0 && flow.rtt.count > 10;
        assert!(measured, "{name}: {flow:?}");
    }
    // The path itself is exact: nothing is faster than it.
    assert!(results[0].flows[2].1.rtt.min >= 20.0);
}

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let temporary = dir.path().join("tmp");
    let mut run = run(dir.path(), 1000, &["--jobs", "2", "--seeds", "2"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("two guests start", || guests(&temporary).len() > 3);
    run.kill().unwrap();
    run.wait().unwrap();
    until("the guests' processes end", || {
        guests(&temporary).is_empty()
    });
    until("their folders go", || left(&temporary).is_empty());
    assert!(!dir.path().join("out").exists());
}

#[test]
fn a_run_without_room_on_the_disk_fails_with_a_reason_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let temporary = dir.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=32k", "none"])
        .arg(&temporary)
        .output()
        .unwrap();
    if !mount.status.success() {
        // Only root can make a disk this small.
        return;
    }
    let ran = run(dir.path(), 1, &["--pcap", "down"]).output();
    let left = left(&temporary);
    let unmount = Command::new("umount").arg(&temporary).status().unwrap();
    assert!(unmount.success());
    let output = ran.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn worlds_are_set_side_by_side_as_the_fidelity_matrix_has_them() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let out = |number: usize| dirs[number].path().join("out");
    let mut simulated = program(dirs[2].path(), &["run"]);
    let file = scenario(dirs[2].path(), 2);
    simulated.arg(file).arg("--out").arg(out(2));
    let ours = run(dirs[0].path(), 2, &[]);
    let kernels = run(dirs[1].path(), 2, &["--queues", "kernel"]);
    for mut command in [ours, kernels, simulated] {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let both = dirs[0].path().join("both");
    let mut report = program(dirs[0].path(), &["report"]);
    report.args([0, 1, 2].map(out)).arg("--out").arg(&both);
    let output = report.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    for pair in [
        "sim and kernel-tc (another TCP and queue code): cells equal/different/undecided",
        "sim and kernel (another TCP): ",
        "kernel and kernel-tc (another queue code): ",
    ] {
        assert!(said.contains(pair), "{pair}: {said}");
    }
    let page = fs::read_to_string(both.join("fidelity.html")).unwrap();
    assert!(page.contains("kernel and kernel-tc: another queue code"));
    assert!(both.join("fidelity.csv").is_file(), "the page names it");
}
