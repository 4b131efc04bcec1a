//! The program as a process that goes on beside the test.

pub use super::rig::wait_for;
use super::rig::{Link, available};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// What a test of the bridge stands on: an empty folder, and a link through three namespaces. None
/// where there may be no namespaces.
pub fn ground() -> Option<(TempDir, Link)> {
    let dir = tempfile::tempdir().expect("there is room for a folder");
    available().then(|| (dir, Link::new()))
}

/// The program with these arguments, in a folder.
pub fn program(words: &str, dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.args(words.split_whitespace()).current_dir(dir);
    command
}

/// A process that ends with the test, however that ends.
pub struct Running {
    child: Child,
    /// Held open: the process still writes to it.
    output: Option<BufReader<ChildStdout>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("it starts");
        let output = child.stdout.take().map(BufReader::new);
        Self { child, output }
    }

    /// The first line that it prints.
    pub fn first_line(&mut self) -> String {
        let output = self.output.as_mut().expect("it is piped");
        let mut line = String::new();
        output.read_line(&mut line).expect("it writes text");
        line
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }

    /// Waits for it to end by itself; tells whether that went well.
    pub fn ended(mut self) -> bool {
        self.child.wait().expect("it ends").success()
    }

    /// Waits for it to end before long; tells whether that went well.
    pub fn ends_by_itself(&mut self) -> bool {
        let mut status = None;
        wait_for("its end", || {
            status = self.child.try_wait().expect("it can be asked");
            status.is_some()
        });
        status.is_some_and(|status| status.success())
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("a shell is there").success());
    }

    /// Stops it; it stands still when this returns.
    pub fn stop(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.id());
        wait_for("a standstill", || {
            let tasks = fs::read_dir(&tasks).expect("it lives");
            let mut stats = tasks
                .map(|task| fs::read_to_string(task?.path().join("stat")))
                .map(|stat| stat.expect("its threads stay"));
            stats.all(|stat| stat.contains(") T "))
        });
    }

    /// Nobody reads its output any more.
    pub fn close_output(&mut self) {
        self.output = None;
    }

    /// As Ctrl-C, and waits for a clean end; returns what it printed and nobody has read.
    pub fn interrupt(mut self) -> String {
        self.signal("INT");
        let mut rest = String::new();
        if let Some(mut output) = self.output.take() {
            output.read_to_string(&mut rest).expect("it writes text");
        }
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended:?}");
        rest
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `sojourn bridge` in the middle of a link, ready.
pub fn bridge(link: &Link, words: &str, dir: &Path) -> Running {
    let mut command = program(&format!("bridge {words}"), dir);
    command.stdout(Stdio::piped());
    let mut running = link.middle.run(|| Running::start(&mut command));
    let ready = running.first_line();
    assert!(ready.starts_with("ready: a1 <-> b1"), "{ready:?}");
    running
}

/// Asks the bridge at the socket `control` in a folder: the exit status, and what it said.
pub fn ctl(dir: &Path, words: &str) -> (Option<i32>, String) {
    let output = program(&format!("ctl --socket control {words}"), dir)
        .output()
        .expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("output is text");
    (output.status.code(), text)
}

/// Asks, and is answered.
pub fn told(dir: &Path, words: &str) -> String {
    let (code, said) = ctl(dir, words);
    assert_eq!(code, Some(0), "{words}: {said}");
    said
}
