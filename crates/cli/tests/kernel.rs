//! `sojourn kernel`: guests of the real kernel in virtual time, as any user, and what is left of
//! them when things go wrong: nothing.
//!
//! Takes the user's guest kernel; `make test` builds it, `sojourn kernel build` does too.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::disallowed_methods, reason = "patience is in real time")]

use sojourn_kernel::Store;
use std::fs;
use std::hint::spin_loop;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
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

/// A short cell: both directions full, and a probe. `length` in seconds.
fn scenario(dir: &Path, length: u32) -> PathBuf {
    let path = dir.join("cell.toml");
    let text = format!(
        r#"format = "sojourn-scenario/1"
name = "cell"
duration = "{length}s"
warmup = "500ms"
dumbbell = {{ rtt = "20ms", up.rate = "1mbit", down.rate = "4mbit", qdisc = "fq_codel" }}
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
start_spread = "100ms"
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[flow]]
name = "probe"
direction = "up"
app = {{ kind = "ping", size = 64, interval = "37ms" }}
"#
    );
    fs::write(&path, text).unwrap();
    path
}

/// Runs a cell in the kernel world; what it has written stands in `out` below `dir`.
fn run(dir: &Path, length: u32, more: &[&str]) -> Command {
    let file = scenario(dir, length);
    let temporary = dir.join("tmp");
    let _ = fs::create_dir(&temporary);
    let mut command = program(&temporary, &["run", "--world", "kernel"]);
    command.arg(file).arg("--out").arg(dir.join("out"));
    command.args(more);
    command
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
        merged.results.into_iter().next().unwrap()
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
    let output = run(dir.path(), 1, &["--pcap", "down"]).output();
    let left = left(&temporary);
    let unmount = Command::new("umount").arg(&temporary).status().unwrap();
    assert!(unmount.success());
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn the_kernels_own_queues_take_the_same_strings() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let results = dirs.each_ref().map(|dir| {
        let more = [
            "--queues",
            "kernel",
            "--set",
            "dumbbell.up.qdisc=tbf rate 900kbit burst 5kb over codel",
            "--set",
            "flow.download.tcp.cc=htcp",
            "--set",
            "flow.probe.rtt=60ms",
        ];
        // To look for tc in another order would take another time.
        let path = std::env::var("PATH").unwrap();
        let output = run(dir.path(), 2, &more)
            .env("PATH", format!("{}:{path}", dir.path().display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        merged.results.into_iter().next().unwrap()
    });
    let table = |dir: &tempfile::TempDir| fs::read(dir.path().join("out/results.parquet")).unwrap();
    assert!(table(&dirs[0]) == table(&dirs[1]));
    assert_eq!(results[0].digest, results[1].digest);
    let result = &results[0];
    assert_eq!(result.world.as_str(), "kernel-tc");
    let [(_, up), (_, down)] = &result.links[..] else {
        panic!("{:?}", result.links);
    };
    let codel = up.qdisc.inner.as_ref().map(|inner| inner.kind.as_ref());
    let kinds = (up.qdisc.kind.as_ref(), codel, down.qdisc.kind.as_ref());
    assert_eq!(kinds, ("tbf", Some("codel"), "fq_codel"));
    for link in [up, down] {
        // What stands in the queue at the two ends of the measured time is at most its backlog.
        let gone = link.dequeued_packets + link.dropped_packets;
        assert!(link.offered_packets.abs_diff(gone) < 60, "{link:?}");
        let full = link.utilisation.unwrap();
        assert!(
            (0.8..1.01).contains(&full) && link.sojourn.p95 > 1.0,
            "{link:?}"
        );
    }
    // Half of a round trip of its own, and what the down line takes for 106 bytes.
    let probe = &result.flows[2].1;
    assert!((30.0..30.5).contains(&probe.delay.min), "{:?}", probe.delay);
    assert!(result.flows[1].1.goodput.as_bps() > 3_000_000);
}

#[test]
fn the_kernels_own_queues_change_in_mid_run_and_packet_pairs_see_the_whole_path() {
    let dir = tempfile::tempdir().unwrap();
    let cell = run(dir.path(), 3, &["--queues", "kernel", "--set", "spp=true"]);
    let path = dir.path().join("cell.toml");
    let change = "[[change]]\nat = \"1500ms\"\nlink = \"down\"\nrate = \"2mbit\"\n\
                  qdisc = \"fq_codel target 9ms\"\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + change).unwrap();
    let output = { cell }.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
    let result = &merged.results[0];
    let down = &result.links[1].1;
    let target = down
        .qdisc
        .options
        .iter()
        .find(|field| field.name == "target");
    // The kernel counts in units of 1024 ns.
    assert_eq!(target.unwrap().value, sojourn_qdisc::Value::Int(8999));
    // 1 s with 4 Mbit/s, 1.5 s with 2, and a full link all the time.
    let bits = down.dequeued_bytes as f64 * 8.0 / 7e6;
    assert!((0.9..1.01).contains(&bits), "{bits}");
    assert!((0.9..1.01).contains(&down.utilisation.unwrap()));
    let probe = &result.flows[2].1;
    assert!(
        probe.spp_rtt.count > 10 && probe.spp_rtt.min >= 20.0,
        "{:?}",
        probe.spp_rtt
    );
}

#[test]
fn queues_that_the_kernel_lacks_are_refused_by_name_before_a_guest_starts() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |queue: &str| {
        let set = format!("dumbbell.qdisc={queue}");
        let more = ["--queues", "kernel", "--set", &set];
        let output = run(dir.path(), 1000, &more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        text(&output.stderr)
    };
    for (queue, word) in [
        ("fq_gsp", "gsp"),
        ("steer util 99% delay 30ms over codel", "steer"),
        ("fq_codel triple-isolate", "triple-isolate"),
        ("red limit 60000 avpkt 1000 gentle", "red's gentle"),
    ] {
        let said = refused(queue);
        let wanted = format!("the kernel's own queues have no {word}; with --queues ours");
        assert!(said.contains(&wanted), "{said}");
    }
}

/// A folder of programs by which a build goes as far as fetching: those that are not looked for by
/// what they do are empty, and `fetch` is apt's text for the shell.
fn tools(dir: &Path, fetch: &str) -> PathBuf {
    let tools = dir.join("tools");
    fs::create_dir_all(&tools).unwrap();
    let programs = [
        "gcc", "ld", "make", "flex", "bison", "bc", "xz", "tar", "dpkg-deb",
    ];
    let all = programs.map(|name| (name, "")).into_iter();
    for (name, text) in all.chain([("apt-get", fetch)]) {
        let path = tools.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    tools
}

#[test]
fn an_interrupted_build_is_cleared_away_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let leftover = cache.join("sojourn/build-6.1");
    let build = |fetch: &str| {
        let path = std::env::var("PATH").unwrap();
        let tools = tools(dir.path(), fetch);
        let mut command = program(dir.path(), &["kernel", "build"]);
        command
            .env("XDG_CACHE_HOME", &cache)
            .env("PATH", format!("{}:{path}", tools.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let mut first = build("echo half > package.deb; sleep 1000")
        .spawn()
        .unwrap();
    until("it fetches", || leftover.join("package.deb").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!guests(&leftover).is_empty(), "its programs go on");
    // No half of a kernel is taken for one.
    let output = run(dir.path(), 1, &[])
        .env("XDG_CACHE_HOME", &cache)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("`sojourn kernel build`"), "{said}");
    let output = build("echo 'E: Unable to locate package' >&2; exit 100")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    for part in [
        "removing what an interrupted build has left",
        "cannot fetch the source",
        "Unable to locate package",
        "it is in bookworm (Debian 12)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!leftover.exists() && guests(&leftover).is_empty());
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
        "sim and kernel-tc (another TCP and queue code): cells within the tolerance",
        "sim and kernel (another TCP): ",
        "kernel and kernel-tc (another queue code): ",
    ] {
        assert!(said.contains(pair), "{pair}: {said}");
    }
    let page = fs::read_to_string(both.join("fidelity.html")).unwrap();
    assert!(page.contains("kernel and kernel-tc: another queue code"));
}

/// Two bottlenecks in a row, the second one narrower, and a flow over both beside one over it alone.
#[test]
fn packets_cross_a_chain_of_routers() {
    let chain = r#"format = "sojourn-scenario/1"
name = "cell"
duration = "4s"
warmup = "1s"
node = [{ name = "a" }, { name = "b" }, { name = "c" }]
[[link]]
name = "first"
from = "a"
to = "b"
duplex = true
rate = "8mbit"
delay = "10ms"
qdisc = "fq_codel"
[[link]]
name = "second"
from = "b"
to = "c"
duplex = true
rate = "4mbit"
delay = "5ms"
qdisc = "fq_codel"
[[flow]]
name = "long"
from = "a"
to = "c"
app = "bulk"
[[flow]]
name = "short"
from = "b"
to = "c"
app = "bulk"
rtt = "40ms"
[[flow]]
name = "probe"
from = "a"
to = "c"
app = { kind = "ping", size = 64, interval = "37ms" }
"#;
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let results = dirs.each_ref().map(|dir| {
        let mut command = run(dir.path(), 4, &[]);
        fs::write(dir.path().join("cell.toml"), chain).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let merged = sojourn_report::merge(&[dir.path().join("out")]).unwrap();
        merged.results.into_iter().next().unwrap()
    });
    assert_eq!(results[0].digest, results[1].digest);
    let result = &results[0];
    let link = |name: &str| &result.links.iter().find(|(n, _)| n == name).unwrap().1;
    let (first, second) = (link("first"), link("second"));
    let full = second.utilisation.unwrap();
    assert!((0.9..1.01).contains(&full), "{full}");
    assert!(second.dropped_packets > 0 && first.dropped_packets == 0);
    let [long, short] = [0, 1].map(|flow| result.flows[flow].1.goodput.as_bps());
    // Fair queueing: half each of 4 Mbit/s.
    assert!(long.abs_diff(short) < long / 10, "{long} {short}");
    // 106 bytes on each link, and its delay.
    let probe = &result.flows[2].1;
    assert!((15.3..15.4).contains(&probe.delay.min), "{:?}", probe.delay);
    assert!((30.6..30.8).contains(&probe.rtt.min), "{:?}", probe.rtt);
    assert!(result.flows[1].1.rtt.min >= 40.0);
    let refused = run(dirs[0].path(), 4, &["--queues", "kernel"]);
    fs::write(dirs[0].path().join("cell.toml"), chain).unwrap();
    let output = { refused }.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("no queues of the kernel's own"), "{said}");
}
