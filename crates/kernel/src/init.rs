//! The guest's first process: mounts what programs expect, runs the job, powers off.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

use rustix::fs::Mode;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

use crate::job::{FINISHED, HOST, JOB, Job, LOG, Output, SHARED, STARTED, STATUS};

/// The exit status of a job that could not be started, as shells count it.
const NOT_RUN: i32 = 126;

/// What is mounted, in this order: the type, where, and whether the guest cannot do without.
const MOUNTS: [(&str, &str, bool); 6] = [
    ("proc", "/proc", true),
    ("sysfs", "/sys", true),
    ("tmpfs", "/run", true),
    ("tmpfs", "/tmp", false),
    ("devpts", "/dev/pts", false),
    ("tmpfs", "/dev/shm", false),
];

/// The first process's whole life. Returns only when the guest could not be powered off, and then
/// the kernel stops with a panic.
pub fn init() -> io::Error {
    let status = run().unwrap_or_else(|error| {
        say(&format!("sojourn: the guest: {error}"));
        NOT_RUN
    });
    if let Err(error) = fs::write(Path::new(SHARED).join(STATUS), status.to_string()) {
        say(&format!(
            "sojourn: the guest cannot write its result: {error}"
        ));
    }
    match reboot(RebootCommand::PowerOff) {
        Err(error) => error.into(),
        Ok(()) => io::Error::other("the guest goes on after its end"),
    }
}

fn run() -> io::Result<i32> {
    for (kind, place, needed) in MOUNTS {
        // Not every host has a place for all of them, and the root cannot be written to.
        let _ = rustix::fs::mkdir(place, Mode::from_raw_mode(0o755));
        let mounted = mount(kind, place, kind, MountFlags::empty(), None);
        if needed {
            mounted.map_err(|error| said(&format!("mount {place}"), error))?;
        }
    }
    fs::create_dir(HOST)?;
    // Once more, whole: what was mounted hides the host's own.
    mount("host", HOST, "hostfs", MountFlags::RDONLY, Some(c"/"))
        .map_err(|error| said("mount the host's files", error))?;
    fs::create_dir(SHARED)?;
    // The guest's process runs in that folder: its name has no part in what the guest is.
    let data = c"/proc/self/cwd/.";
    mount("sojourn", SHARED, "hostfs", MountFlags::empty(), Some(data))
        .map_err(|error| said("mount the shared folder", error))?;
    let job = fs::read(Path::new(SHARED).join(JOB))?;
    let job = Job::from_bytes(&job)
        .ok_or_else(|| io::Error::other("its job is not this program's: is it another build?"))?;
    println!("{STARTED}");
    let status = start(&job);
    println!("{FINISHED}");
    Ok(code(status?))
}

fn start(job: &Job) -> io::Result<ExitStatus> {
    let dir = if job.dir.is_dir() {
        &job.dir
    } else {
        Path::new(SHARED)
    };
    let environment = job.environment.iter().map(|(name, value)| (name, value));
    let mut command = Command::new(&job.program);
    if job.output == Output::Log {
        let log = log()?;
        command.stdout(log.try_clone()?).stderr(log);
    }
    command
        .args(&job.arguments)
        .env_clear()
        .envs(environment)
        .current_dir(dir)
        .status()
        .map_err(|error| {
            let text = format!("cannot run {}: {error}", job.program.display());
            io::Error::new(error.kind(), text)
        })
}

/// An exit status as shells count it.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(signal).unwrap_or(NOT_RUN)
}

/// The file in which the host looks for words of its guest.
fn log() -> io::Result<fs::File> {
    let place = Path::new(SHARED).join(LOG);
    fs::OpenOptions::new().create(true).append(true).open(place)
}

/// A line for the host: in the file, and on the console, if there is one.
fn say(line: &str) {
    println!("{line}");
    // There is nobody else to tell.
    let _ = log().and_then(|mut log| writeln!(log, "{line}"));
}

fn said(what: &str, error: rustix::io::Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}
