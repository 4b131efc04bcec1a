//! The process between a run and its guest. It makes the guest's folder, starts the guest, and
//! removes both when the run lets go of it: by closing a pipe, which also happens when the run's
//! process is killed.
//!
//! A guard that is itself killed takes the guest with it (`PR_SET_PDEATHSIG`); the folder is then
//! removed by the next guard, which finds that nobody holds its lock.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use nix::sys::personality::{self, Persona};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid,
    kill_process, set_child_subreaper, set_parent_process_death_signal, setrlimit, wait, waitid,
};

use crate::guest::Roles;
use crate::processor::Processor;

/// How the names of guests' folders begin.
const PREFIX: &str = "sojourn-guest-";
/// A folder this young may belong to a guard that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(60);
/// Said on standard output before the processor time that the guest took (microseconds), the most
/// memory of one of its processes (KiB), and how it ended.
pub(crate) const ENDED: &str = "ended: ";

/// What makes a guard do its work.
enum Event {
    /// The guest has ended and waits to be reaped.
    Ended,
    /// The run has let go.
    Released,
}

/// The guard's whole life, in a process of its own, for a guest of `kernel` with `arguments`.
///
/// Standard output tells the folder, and later how the guest ended; standard error is the guest's
/// console. A line on standard input starts the guest, its end lets go of it.
///
/// # Errors
/// When the folder or the guest's process cannot be made.
pub fn guard(roles: &Roles, kernel: &Path, arguments: &[String]) -> io::Result<()> {
    sweep();
    let dir = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
    let held = File::open(dir.path())?;
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    say(&dir.path().display().to_string());
    let mut input = io::stdin().lock();
    let mut line = String::new();
    if input.read_line(&mut line)? > 0 {
        drop(input);
        // What the kernel's process leaves behind becomes this process's, not init's.
        set_child_subreaper(Some(getpid()))?;
        let _processor = Processor::take();
        let mut guest = start(roles, kernel, arguments, dir.path())?;
        let ended = attend(&mut guest)?;
        end_orphans();
        let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let cpu = used.user_time() + used.system_time();
        let (micros, kib) = (cpu.num_microseconds(), used.max_rss());
        say(&format!("{ENDED}{micros} {kib} {ended}"));
        // The folder stays until the run has read it.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    }
    dir.close()
}

/// Ends the processes that the guest's kernel was about to take in hand when it died: such a one
/// finds another parent, waits for it as its tracer, and would do so for ever.
fn end_orphans() {
    let own = std::process::id();
    let place = format!("/proc/{own}/task/{own}/children");
    loop {
        let children = fs::read_to_string(&place).unwrap_or_default();
        for child in children.split_whitespace() {
            if let Some(child) = child.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(child, Signal::KILL);
            }
        }
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// The run may be gone; then nobody needs to be told.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
    let _ = io::stdout().flush();
}

fn start(roles: &Roles, kernel: &Path, arguments: &[String], dir: &Path) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(roles.become_guest)
        .arg(std::process::id().to_string())
        .arg(kernel)
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        // User-Mode Linux keeps files of its own below.
        .env("HOME", dir)
        // glibc registers restartable sequences, a page that its processes do not have.
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .stderr(Stdio::inherit())
        .spawn()
}

/// Waits for the guest's end, or brings it about when the run lets go.
fn attend(guest: &mut Child) -> io::Result<std::process::ExitStatus> {
    let (sender, events) = mpsc::channel();
    let pid = Pid::from_child(guest);
    let ended = sender.clone();
    thread::spawn(move || {
        // Not reaped here, so that the number stays the guest's until the main thread is done.
        while let Err(rustix::io::Errno::INTR) = waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {}
        let _ = ended.send(Event::Ended);
    });
    thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = sender.send(Event::Released);
    });
    if let Ok(Event::Released) = events.recv() {
        let _ = kill_process(pid, Signal::KILL);
    }
    guest.wait()
}

/// Becomes the guest's kernel: ends with the guard, leaves no core dump. Returns only the reason
/// why it could not.
pub fn become_guest(guard: u32, kernel: &Path, arguments: &[String]) -> io::Error {
    let prepared = || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let parent = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
        if parent != Some(guard) {
            return Err(io::Error::other("its guard is gone"));
        }
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        setrlimit(Resource::Core, none)?;
        // Where the host lays out the process decides how much memory the guest counts, and that
        // how large its hash tables are.
        personality::set(Persona::ADDR_NO_RANDOMIZE)?;
        Ok(())
    };
    match prepared() {
        Ok(()) => Command::new(kernel).args(arguments).exec(),
        Err(error) => error,
    }
}

/// Removes folders of guards that were killed.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && is_abandoned(&entry.path()) {
            // Another user's cannot be removed, and need not be.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(dir: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(dir) else {
        return false;
    };
    let age = metadata
        .modified()
        .ok()
        .and_then(|then| SystemTime::now().duration_since(then).ok());
    metadata.is_dir()
        && age.is_some_and(|age| age > YOUNG)
        && File::open(dir)
            .is_ok_and(|held| flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok())
}
