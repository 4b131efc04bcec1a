//! A running bridge answers and ends, whatever its files do. Each test has a network namespace of
//! its own, which goes with the bridge. Needs root; without it these are passed over, except in CI
//! (`CI=true`).

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sojourn-bridge");
const FILE: &str = "version = 1\ncontrol = \"control\"\n[[pair]]\nleft = \"a1\"\nright = \"b1\"\n\
                    fail_open = \"off\"\n";

/// A bridge that forwards; it ends with the test.
struct Running {
    child: Child,
    /// Held open: the process still writes to it.
    _output: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// In a folder with its file, unless this machine cannot.
    fn start(dir: &Path) -> Option<Self> {
        fs::write(dir.join("bridge.toml"), FILE).expect("it is written");
        let script = "ip link add a1 type veth peer name a0 && ip link set dev a1 up && \
                      ip link add b1 type veth peer name b0 && ip link set dev b1 up && \
                      exec \"$0\" bridge --config bridge.toml";
        let mut command = Command::new("unshare");
        command.args(["-n", "sh", "-c", script, PROGRAM]);
        command.current_dir(dir).stdout(Stdio::piped());
        let mut child = command.spawn().expect("util-linux is there");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it writes text");
        if line.starts_with("ready") {
            return Some(Self {
                child,
                _output: output,
            });
        }
        let ended = child.wait().expect("it could not start");
        let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!is_ci, "these tests need root and iproute2: {ended}");
        eprintln!("passed over: it takes root and iproute2");
        None
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("a shell is there").success());
    }

    /// Whether it ends before long: within minutes, however busy the machine is.
    fn ends(&mut self) -> bool {
        (0..15_000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            self.child.try_wait().expect("it can be asked").is_some()
        })
    }
}

fn ctl(dir: &Path, words: &str) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(["ctl", "--socket", "control"]);
    let output = command
        .args(words.split(' '))
        .current_dir(dir)
        .output()
        .expect("it starts");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("it says text")
}

fn pipe(dir: &Path) {
    let made = Command::new("mkfifo").arg("pipe").current_dir(dir).status();
    assert!(made.expect("coreutils are there").success());
}

#[test]
fn captures_go_to_regular_files_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    let Some(mut running) = Running::start(dir) else {
        return;
    };
    pipe(dir);
    std::os::unix::fs::symlink("elsewhere", dir.join("link")).expect("it is made");
    for name in [
        "pipe",
        "link",
        "/dev/null",
        "/proc/self/mem",
        "/sys/kernel/profiling",
    ] {
        fs::write(
            dir.join("bridge.toml"),
            format!("{FILE}pcap = \"{name}\"\n"),
        )
        .expect("written");
        let said = ctl(dir, "reload");
        assert!(said.contains("not a regular file"), "{name}: {said}");
        assert!(ctl(dir, "stats").contains("fail open: off"), "{name}");
    }
    assert!(!dir.join("elsewhere").exists());
    running.signal("TERM");
    assert!(running.ends());
}

/// A file that is read for ever, as on a disk that hangs: a pipe whose writer says nothing.
#[test]
fn a_reload_that_hangs_keeps_nobody() {
    for stops in ["TERM", "INT"] {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path();
        let Some(mut running) = Running::start(dir) else {
            return;
        };
        pipe(dir);
        let mut options = fs::File::options();
        let _writer = options.read(true).write(true).open(dir.join("pipe"));
        let hangs = format!("{FILE}subscribers = \"pipe\"\n");
        fs::write(dir.join("bridge.toml"), hangs).expect("it is written");
        let mut client = UnixStream::connect(dir.join("control")).expect("it listens");
        client.write_all(b"reload\n").expect("it is sent");
        running.signal("HUP");
        // Both have begun by the time of the last.
        for _ in 0..5 {
            assert!(ctl(dir, "stats").contains("fail open: off"));
            thread::sleep(Duration::from_millis(100));
        }
        running.signal(stops);
        assert!(running.ends(), "SIG{stops}");
    }
}

/// More than a socket holds, for a client that asks first and reads later.
#[test]
fn answers_are_of_any_length() {
    const COUNT: usize = 3000;
    let dir = tempfile::tempdir().expect("a folder");
    let Some(running) = Running::start(dir.path()) else {
        return;
    };
    let client = UnixStream::connect(dir.path().join("control")).expect("it listens");
    let mut asks = client.try_clone().expect("one more descriptor");
    let asking = thread::spawn(move || asks.write_all(&b"stats\n".repeat(COUNT)));
    thread::sleep(Duration::from_millis(500));
    let mut lines = BufReader::new(client).lines();
    for number in 0..COUNT {
        let line = lines.next().expect("an answer each").expect("it is text");
        let is_whole = serde_json::from_str::<serde_json::Value>(&line).is_ok();
        assert!(is_whole, "answer {number} is cut off");
    }
    asking.join().expect("it ends").expect("all were taken");
    drop(running);
}
