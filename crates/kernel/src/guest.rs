//! A guest: a kernel that runs as a process of this user, in virtual time.
//!
//! Its root file system is the host's, which it can only read; one folder is shared both ways. Its
//! first process is this program ([`init`](crate::init())), which runs one [`Job`] and powers off.
//! No root is needed on the host; inside, everything runs as root of the guest.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, thread};

use crate::KernelError;
use crate::guard::ENDED;
use crate::job::{AT, FINISHED, JOB, Job, LOG, Output, STARTED, STATUS};
use crate::recipe::SEED;
use crate::store::Image;

/// What guests have by default, in MiB. Only what a guest touches is taken from the host.
const MEMORY_MIB: u64 = 512;
/// How often who waits for a guest is asked whether to go on.
const TICK: Duration = Duration::from_millis(100);
/// How much of a console is kept, in bytes.
const CONSOLE: usize = 16 << 10;
/// Lines of a console that are shown when a guest has failed.
const SHOWN: usize = 12;
/// The guest's clock starts here, in nanoseconds since 1970: 2025-01-01.
const EPOCH: u64 = 1_735_689_600_000_000_000;

/// How guests are made.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What runs in them.
    pub kernel: Image,
    /// This program: guard, first process and more, by the arguments below.
    pub program: PathBuf,
    /// Arguments that lead to [`guard`](crate::guard()), [`become_guest`](crate::become_guest())
    /// and [`init`](crate::init()).
    pub roles: Roles,
    /// All chance in the guest comes from here.
    pub seed: u64,
}

/// Arguments of the program for its hidden roles.
#[derive(Clone, Copy, Debug)]
pub struct Roles {
    /// Followed by the kernel and its arguments.
    pub guard: &'static [&'static str],
    /// Followed by the guard's process number, the kernel and its arguments.
    pub become_guest: &'static [&'static str],
    /// Followed by nothing.
    pub init: &'static [&'static str],
    /// Followed by nothing; leads to [`run_task`](crate::run_task()).
    pub task: &'static [&'static str],
}

/// A guest that was started. Dropping it ends it and removes everything.
#[derive(Debug)]
pub struct Guest {
    guard: Child,
    /// Closed to let go of the guest.
    line: Option<ChildStdin>,
    dir: PathBuf,
    ended: Receiver<Ended>,
    console: Arc<Mutex<Console>>,
    readers: Vec<JoinHandle<()>>,
}

/// How a guest ended, and what it took of the host.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    how: String,
    /// Processor time.
    pub cpu: Duration,
    /// Most resident memory of one of its processes, in bytes.
    pub peak_rss_bytes: u64,
}

impl Ended {
    /// From the guard's last line; without one the guard itself was killed.
    fn read(line: &str) -> Self {
        let mut fields = line
            .trim()
            .strip_prefix(ENDED)
            .unwrap_or("0 0 it was killed")
            .splitn(3, ' ');
        let mut number = || {
            fields
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
        };
        Self {
            cpu: Duration::from_micros(number()),
            peak_rss_bytes: number() * 1024,
            how: fields.next().unwrap_or_default().to_owned(),
        }
    }
}

/// What a guest's console has shown.
#[derive(Debug, Default)]
struct Console {
    /// Its last lines.
    kept: Vec<String>,
    /// Whether the job runs: what it writes is passed on.
    started: bool,
    /// Whether anything is passed on.
    echo: bool,
    /// How far the job says to be.
    at: u64,
}

impl Machine {
    /// Starts the guard of a guest; the guest itself starts with [`Guest::go`]. Its job must have
    /// the same `output`.
    ///
    /// # Errors
    /// When the guard cannot be started or cannot make its folder.
    pub fn prepare(&self, output: Output) -> Result<Guest, KernelError> {
        let mut guard = Command::new(&self.program)
            .args(self.roles.guard)
            .arg(&self.kernel.path)
            .args(self.line(output))
            // Ctrl-C is for the run, which then lets go.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(KernelError::io("start the guard of a guest"))?;
        let line = guard.stdin.take();
        let mut output = BufReader::new(guard.stdout.take().expect("it is piped"));
        let errors = guard.stderr.take().expect("it is piped");
        let console = Arc::new(Mutex::new(Console::default()));
        let screen = Arc::clone(&console);
        let mut readers = vec![thread::spawn(move || watch(errors, &screen))];
        let mut dir = String::new();
        let said = output.read_line(&mut dir);
        if said.is_err() || dir.trim().is_empty() {
            drop(line);
            let _ = guard.wait();
            for reader in readers {
                let _ = reader.join();
            }
            let reason = locked(&console).kept.concat().trim().to_owned();
            let what = "make a folder for a guest".to_owned();
            return Err(KernelError::io(what)(io::Error::other(reason)));
        }
        let (sender, ended) = mpsc::channel();
        readers.push(thread::spawn(move || {
            let mut text = String::new();
            let _ = output.read_line(&mut text);
            let _ = sender.send(Ended::read(&text));
        }));
        Ok(Guest {
            guard,
            line,
            dir: PathBuf::from(dir.trim()),
            ended,
            console,
            readers,
        })
    }

    /// The kernel's command line. Nothing in it but the seed has a part in the guest's chance.
    fn line(&self, output: Output) -> Vec<String> {
        let mut line: Vec<String> = [
            "root=hostfs",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "time-travel=inf-cpu",
            "noreboot",
            "quiet",
            "loglevel=4",
            "con=null",
            match output {
                Output::Console => "con0=null,fd:1",
                Output::Log => "con0=null",
            },
            "con1=null",
            // The seed below is all that the kernel's chance is made from.
            "random.trust_bootloader=on",
            "random.trust_cpu=off",
        ]
        .map(str::to_owned)
        .to_vec();
        let parameters = self.kernel.kernel.version.parameters().iter();
        line.extend(parameters.map(|&parameter| parameter.to_owned()));
        line.push(format!("mem={MEMORY_MIB}M"));
        line.push(format!("time-travel-start={EPOCH}"));
        line.push(format!("{SEED}={}", self.seed));
        line.push(format!("init={}", self.program.display()));
        line.push("--".to_owned());
        line.extend(self.roles.init.iter().map(|&word| word.to_owned()));
        line
    }
}

impl Guest {
    /// The folder that it shares with the host, [`SHARED`](crate::job::SHARED) inside.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Passes on what the job writes on its standard output and error.
    pub fn echo(&self) {
        locked(&self.console).echo = true;
    }

    /// Boots it and has it run `job`.
    ///
    /// # Errors
    /// When the folder cannot be written to, or the guard is gone.
    pub fn go(&mut self, job: &Job) -> Result<(), KernelError> {
        fs::write(self.dir.join(JOB), job.to_bytes())
            .map_err(KernelError::io("write a guest's job"))?;
        let line = self.line.as_mut().expect("it is closed only when dropped");
        line.write_all(b"go\n")
            .map_err(KernelError::io("start a guest"))
    }

    /// Waits until it has powered off and tells the job's exit status and what the guest took.
    /// `going` is asked ten times a second whether to go on, and told how far the job says to be.
    ///
    /// # Errors
    /// When the guest ended without the job's status, or `going` wanted no more.
    pub fn wait(
        &self,
        going: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(i32, Ended), KernelError> {
        let ended = loop {
            match self.ended.recv_timeout(TICK) {
                Ok(ended) => break ended,
                Err(RecvTimeoutError::Disconnected) => break Ended::read(""),
                Err(RecvTimeoutError::Timeout) => {
                    let at = locked(&self.console).at.max(last_at(&self.log()));
                    if going(at).is_break() {
                        return Err(KernelError::Interrupted);
                    }
                }
            }
        };
        let status = fs::read_to_string(self.dir.join(STATUS)).ok();
        match status.and_then(|text| text.trim().parse().ok()) {
            Some(status) => Ok((status, ended)),
            None => Err(self.failed(&ended.how)),
        }
    }

    /// The error of a guest that has left no result.
    pub fn failed(&self, how: &str) -> KernelError {
        KernelError::Ended {
            how: how.to_owned(),
            console: self.console(),
        }
    }

    /// What a job without console has said so far.
    fn log(&self) -> String {
        let log = fs::read(self.dir.join(LOG)).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The last lines of its console, or of what stands in its place.
    fn console(&self) -> String {
        let log = self.log();
        let console = locked(&self.console);
        let lines: Vec<_> = (console.kept.iter())
            .flat_map(|line| line.lines())
            .chain(log.lines())
            .map(str::trim_end)
            .filter(|line| !line.is_empty() && ![STARTED, FINISHED].contains(line))
            .filter(|line| !line.starts_with(AT))
            .collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        drop(self.line.take());
        // The guard ends when the guest has; both readers end with them.
        let _ = self.guard.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        // The guard has removed it, unless it was killed.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// How far a job says to be in the last line that says so.
fn last_at(log: &str) -> u64 {
    let mut lines = log.lines().rev();
    let at = lines.find_map(|line| line.strip_prefix(AT)?.parse().ok());
    at.unwrap_or(0)
}

fn locked(console: &Mutex<Console>) -> std::sync::MutexGuard<'_, Console> {
    console.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a guest's console line by line.
fn watch(console: impl Read, screen: &Mutex<Console>) {
    let mut reader = BufReader::new(console);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        let line = String::from_utf8_lossy(&bytes).replace('\r', "");
        bytes.clear();
        let mut screen = locked(screen);
        if let Some(at) = line.trim().strip_prefix(AT).and_then(|at| at.parse().ok()) {
            screen.at = at;
            continue;
        }
        screen.started &= line.trim() != FINISHED;
        if screen.started && screen.echo {
            // Whoever reads us may have gone; the guest goes on.
            let _ = io::stdout().write_all(line.as_bytes());
        }
        screen.started |= line.trim() == STARTED;
        screen.kept.push(line);
        while screen.kept.iter().map(String::len).sum::<usize>() > CONSOLE {
            screen.kept.remove(0);
        }
    }
}
