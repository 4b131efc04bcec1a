//! Observers and clients leave the bridge alone: readers that stop, clients that say nothing,
//! signals, and what stands where its socket should. Needs root; without it these are passed over,
//! except in CI (`CI=true`), where a machine that cannot run them fails them.

mod common;

use common::process::{Running, bridge, ctl, ground, program, wait_for};
use common::rig::{Link, OURS, PASSES, Raw, available, exchange, frame, passes};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A bridge that has printed more than a pipe holds, 64 KiB, and that nobody has read.
fn unread(link: &Link) -> Running {
    let process = bridge(link, "a1 b1 --up cake --down cake", Path::new("."));
    for _ in 0..200 {
        process.signal("USR1");
        thread::sleep(Duration::from_millis(2));
    }
    process
}

#[test]
fn nobody_need_read_what_the_bridge_prints() {
    if !available() {
        return;
    }
    let link = Link::new();
    let mut process = unread(&link);
    passes(&link, "with nobody who reads");
    process.close_output();
    for _ in 0..3 {
        process.signal("USR1");
        thread::sleep(Duration::from_millis(20));
    }
    passes(&link, "with nobody there");
    process.interrupt();
}

/// Nor does a reader that has stopped keep a bridge that is to end.
#[test]
fn it_ends_though_nobody_reads() {
    if !available() {
        return;
    }
    let link = Link::new();
    let mut process = unread(&link);
    process.signal("INT");
    assert!(process.ends_by_itself());
}

#[test]
fn a_lost_terminal_ends_nothing() {
    if !available() {
        return;
    }
    let link = Link::new();
    let process = bridge(&link, "a1 b1", Path::new("."));
    process.signal("HUP");
    thread::sleep(Duration::from_millis(100));
    passes(&link, "without a terminal");
    process.interrupt();
}

/// The answer to a request.
fn ask(stream: &mut UnixStream, request: &str) -> String {
    writeln!(stream, "{request}").expect("it is sent");
    let mut answer = String::new();
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut answer).expect("an answer");
    answer
}

#[test]
fn silent_clients_lock_nobody_out() {
    let Some((dir, link)) = ground() else { return };
    let path = dir.path().join("control");
    let process = bridge(&link, "a1 b1 --control control", dir.path());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else may");
    let connect = || UnixStream::connect(&path).expect("somebody listens");
    let silent: Vec<_> = (0..40).map(|_| connect()).collect();
    let mut client = connect();
    assert!(ask(&mut client, "stats").contains("\"ok\":true"));
    let changed = ask(&mut client, "change up fq_codel target 7ms");
    assert!(changed.contains("target 7ms"), "{changed}");
    assert!(ask(&mut client, "text").contains("target 7ms"));
    assert!(ask(&mut client, "rate up 0").contains("above zero"));
    passes(&link, "with silent clients");
    drop(silent);
    process.interrupt();
    assert!(!path.exists(), "the socket goes with the bridge");
}

/// Connects without waiting.
fn connect_now(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

#[test]
fn what_is_no_socket_of_ours_stays() {
    let Some((dir, link)) = ground() else { return };
    let path = dir.path().join("control");
    let start = || {
        let mut command = program("bridge a1 b1 --control control", dir.path());
        link.middle.run(|| command.output().expect("it starts"))
    };
    fs::write(&path, "precious").unwrap();
    let refused = start();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(error.contains("the file there is not a socket"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    // Two bridges cannot have one, and a killed one's is replaced.
    let first = bridge(&link, "a1 b1 --no-fail-open --control control", dir.path());
    let error = String::from_utf8_lossy(&start().stderr).into_owned();
    assert!(error.contains("another process listens"), "{error}");
    // Not even when it stands still and nobody else can connect to it.
    first.signal("STOP");
    let waiting: Vec<_> = std::iter::from_fn(|| connect_now(&path).ok()).collect();
    // To wait for it would have no end here.
    let error = String::from_utf8_lossy(&start().stderr).into_owned();
    assert!(error.contains("another process listens"), "{error}");
    drop(waiting);
    Running::kill(first);
    let next = bridge(&link, "a1 b1 --control control", dir.path());
    let mut client = UnixStream::connect(&path).expect("somebody listens");
    assert!(ask(&mut client, "stats").contains("\"ok\":true"));
    next.interrupt();
}

/// A bridge whose capture `full/pcap` has filled its disk, and has said so in the file `errors`.
fn with_a_full_disk(dir: &Path, link: &Link, words: &str) -> Running {
    let path = dir.join("errors");
    // A disk of four pages, in a mount namespace that goes with the process.
    fs::create_dir(dir.join("full")).unwrap();
    let script = format!("mount -t tmpfs -o size=16k none full && exec \"$0\" bridge {words}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_sojourn")]);
    command.current_dir(dir);
    command.stdout(Stdio::null());
    command.stderr(fs::File::create(&path).unwrap());
    let process = link.middle.run(|| Running::start(&mut command));
    let told = || fs::read_to_string(&path).unwrap();
    for _ in 0..20 {
        // Not before the bridge is there.
        if exchange(link) == PASSES && told().contains("pcap: cannot write full/pcap") {
            break;
        }
    }
    let said = told();
    assert!(
        said.contains("the capture ends, the bridge goes on"),
        "{said}"
    );
    process
}

#[test]
fn a_full_disk_is_told_at_once() {
    let Some((dir, link)) = ground() else { return };
    let process = with_a_full_disk(dir.path(), &link, "a1 b1 --pcap full/pcap");
    passes(&link, "with a full disk");
    process.signal("INT");
    assert!(
        process.ended(),
        "it was told, and the bridge has ended well"
    );
}

/// The capture has ended before: the reload that takes it out is carried out, and says so.
#[test]
fn a_full_disk_refuses_no_reload() {
    let Some((dir, link)) = ground() else { return };
    let write = |keys: &str| {
        let head = "version = 1\ncontrol = \"control\"\n[[pair]]\nleft = \"a1\"\n";
        let text = format!("{head}right = \"b1\"\n{keys}\n");
        fs::write(dir.path().join("bridge.toml"), text).unwrap();
    };
    write("pcap = \"full/pcap\"");
    let process = with_a_full_disk(dir.path(), &link, "--config bridge.toml");
    write("qdisc = \"fq_codel\"");
    let (code, said) = ctl(dir.path(), "reload");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("pcap: full/pcap"), "{said}");
    let (_, history) = ctl(dir.path(), "history");
    assert!(history.contains("cannot write full/pcap"), "{history}");
    assert!(!history.contains("refused"), "{history}");
    let (_, said) = ctl(dir.path(), "reload");
    assert_eq!(said, "nothing differs\n");
    process.interrupt();
}

#[test]
fn ctl_asks_and_changes() {
    let Some((dir, link)) = ground() else { return };
    let process = bridge(&link, "a1 b1 --control control", dir.path());
    let ctl = |words: &str| ctl(dir.path(), words);
    let (code, said) = ctl("stats");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("qdisc pfifo 8001: dev b1 root"), "{said}");
    let (code, said) = ctl("change up fq_codel target 7ms");
    assert!(code == Some(0) && said.contains("target 7ms"), "{said}");
    let said = "down before: no limit\ndown after:  20Mbit\n";
    assert_eq!(ctl("rate down 20mbit"), (Some(0), said.into()));
    let (code, said) = ctl("rate down 0");
    assert!(code == Some(2) && said.contains("above zero"), "{said}");
    let (_, said) = ctl("--json stats");
    let stats: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(
        stats["stats"]["a1-b1"]["up"]["qdisc"][0]["kind"],
        "fq_codel"
    );
    process.interrupt();
    assert_eq!(ctl("stats").0, Some(1), "nobody is there any more");
}

/// As tc's `change`: what is not named stays, and a shaper's rate is not lost by the way.
#[test]
fn a_change_is_laid_over_what_runs() {
    let Some((dir, link)) = ground() else { return };
    let process = bridge(&link, "a1 b1 --control control", dir.path());
    let ctl = |words: &str| ctl(dir.path(), words);
    let words = "bandwidth 20mbit overhead 44 atm dual-srchost nat";
    assert_eq!(ctl(&format!("replace up cake {words}")).0, Some(0));
    let shown = |rtt: &str, rate: &str| {
        format!(
            "cake bandwidth {rate} diffserv3 dual-srchost nat nowash no-ack-filter split-gso rtt \
             {rtt} atm overhead 44"
        )
    };
    let both = |before: String, after: String| format!("up before: {before}\nup after:  {after}\n");
    let wanted = both(shown("100ms", "20Mbit"), shown("50ms", "20Mbit"));
    assert_eq!(ctl("change up cake rtt 50ms"), (Some(0), wanted));
    let (_, text) = ctl("stats");
    assert!(
        text.contains("bandwidth 20Mbit diffserv3 dual-srchost nat"),
        "{text}"
    );
    let (code, said) = ctl("change up fq_codel");
    assert!(
        code == Some(2) && said.contains("up shapes to 20Mbit"),
        "{said}"
    );
    let wanted = both(shown("50ms", "20Mbit"), shown("50ms", "unlimited"));
    let note = "up note:   the shaper's rate of 20Mbit is gone\n";
    assert_eq!(ctl("change up cake unlimited"), (Some(0), wanted + note));
    // The words of a log, as tc takes them.
    let (code, said) = ctl("change --tc up cake bandwidth 9000000 besteffort diffserv4");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("bandwidth 9Mbit diffserv4 dual-srchost"),
        "{said}"
    );
    assert!(
        said.contains("up note:   `besteffort` is overridden"),
        "{said}"
    );
    let (_, history) = ctl("history");
    assert!(
        history.contains("rtt 100ms atm overhead 44 -> cake"),
        "{history}"
    );
    // At 9 Mbit/s the hundred frames of a burst would wait long enough for COBALT to drop one.
    assert_eq!(ctl("change up cake unlimited").0, Some(0));
    passes(&link, "through what was changed");
    process.interrupt();
}

/// A queue that is never empty, then one that is, and then no rate at all.
#[test]
fn verify_says_where_the_queue_is() {
    let Some((dir, link)) = ground() else { return };
    // What stands still for a moment and lets the kernel forward is another verdict.
    let words = "a1 b1 --no-fail-open --control control --up-rate 1mbit";
    let process = bridge(&link, words, dir.path());
    let left = Raw::new(&link.client, "a0");
    let verdict = |frames: usize, millis: u64| {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    for _ in 0..frames {
                        left.send(&frame(OURS, &[1; 1000]));
                    }
                    thread::sleep(Duration::from_millis(millis));
                }
            });
            let (_, said) = ctl(dir.path(), "--json verify --duration 1s");
            is_done.store(true, Ordering::Relaxed);
            load.join().expect("it ends");
            let judged: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
            judged["pairs"][0]["up"]["verdict"].clone()
        })
    };
    // A busy machine may hold up the load, the looks or the bridge for a part of a second.
    let becomes = |wanted: &str, frames, millis| {
        let mut found = (0..5).map(|_| verdict(frames, millis));
        assert!(found.any(|found| found == wanted), "{wanted}");
    };
    // Twenty times 1000 bytes in 20 ms are 8 Mbit/s.
    becomes("in_force", 20, 20);
    assert_eq!(ctl(dir.path(), "rate up 4mbit").0, Some(0));
    wait_for("an empty queue", || {
        let (_, said) = ctl(dir.path(), "--json stats");
        let stats: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        stats["stats"]["a1-b1"]["up"]["qdisc"][0]["backlog"] == 0
    });
    // One in 5 ms is 1.6 Mbit/s: each is sent before the next comes.
    becomes("elsewhere", 1, 5);
    assert_eq!(ctl(dir.path(), "rate up unlimited").0, Some(0));
    assert_eq!(verdict(1, 5), "not_set");
    process.interrupt();
}

/// Kilobytes of memory that a process has.
fn resident(process: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let mut words = line.expect("it is there").split_whitespace();
    words
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect("a number")
}

#[test]
fn memory_goes_back_when_a_flood_is_over() {
    let Some((dir, link)) = ground() else { return };
    let words = "a1 b1 --control control --up-rate 8kbit";
    let process = bridge(&link, &format!("{words} --memory 100mb"), dir.path());
    let (code, said) = ctl(dir.path(), "change up pfifo limit 100000");
    assert_eq!(code, Some(0), "{said}");
    let left = Raw::new(&link.client, "a0");
    // 2.2 KiB each.
    for _ in 0..1000 {
        for _ in 0..500 {
            left.send(&frame(OURS, &[1; 100]));
        }
        if resident(&process) > 100_000 {
            break;
        }
    }
    let full = resident(&process);
    assert!(full > 100_000, "{full} kB");
    assert_eq!(ctl(dir.path(), "rate up unlimited").0, Some(0));
    wait_for("half of the memory", || resident(&process) < full / 2);
    process.interrupt();
}

/// `--control` at the usual place makes its folder, and `ctl` looks there by itself. The bridge
/// has a /run of its own: the machine's may have another's socket.
#[test]
fn the_usual_place_is_found_without_a_word() {
    if !available() {
        return;
    }
    let link = Link::new();
    let run = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_sojourn");
    let script = format!(
        "mount --bind {} /run && exec {program} bridge a1 b1 --control /run/sojourn/control",
        run.path().display()
    );
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &script])
        .stdout(Stdio::piped());
    let mut process = link.middle.run(|| Running::start(&mut command));
    assert!(process.first_line().starts_with("ready"));
    // A group that may open the socket gets as far as that.
    let folder = run.path().join("sojourn");
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let mut beside = Command::new("nsenter");
    beside.args(["--mount", "--target", &process.id().to_string()]);
    let output = beside.args([program, "ctl", "stats"]).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("qdisc"), "{said}");
    process.interrupt();
    assert!(!folder.exists(), "the folder goes with the bridge");
}
