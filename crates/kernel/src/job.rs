//! What a guest does: one program, and the files by which host and guest tell each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the guest has the folder that it shares with the host.
pub const SHARED: &str = "/run/sojourn";
/// Where the guest has all of the host's files, those too that [`SHARED`], `/run` and `/tmp` hide.
pub(crate) const HOST: &str = "/run/host";
/// The job, for the guest.
pub(crate) const JOB: &str = "job";
/// Its exit status, from the guest.
pub(crate) const STATUS: &str = "status";
/// What a job without console says, from the guest.
pub(crate) const LOG: &str = "log";
/// A line on the console: from here on it is the job's.
pub(crate) const STARTED: &str = "sojourn: the job starts";
/// How a line begins by which the job says how far it is, with a number of its own.
pub(crate) const AT: &str = "sojourn: at ";
/// A line on the console: up to here it was the job's.
pub(crate) const FINISHED: &str = "sojourn: the job has ended";

/// One program, which a guest runs as its root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program, and its arguments.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, the whole of it.
    pub environment: Vec<(String, String)>,
    /// Where it runs; [`SHARED`] when the guest does not have this folder.
    pub dir: PathBuf,
    /// Where its standard output and error go.
    pub output: Output,
}

/// Where what a job writes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// To the guest's console, which can be passed on. The host tells the guest when the console
    /// takes more, at a time of its own, and that has a part in the guest's chance.
    Console,
    /// Into a file in the shared folder: nothing comes back from the host.
    Log,
}

impl Job {
    /// A shell command, with this process's environment, in this process's folder.
    pub fn shell(command: &str) -> Self {
        Self::new("/bin/sh", ["-c", command].map(str::to_owned).to_vec())
    }

    /// A program, with this process's environment, in this process's folder.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            program: program.into(),
            arguments,
            environment: std::env::vars_os().filter_map(text).collect(),
            dir: std::env::current_dir().unwrap_or_else(|_| SHARED.into()),
            output: Output::Console,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("text and paths can be written")
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_arrives_as_it_was() {
        let job = Job::shell("echo 'a  b' \u{1f600}");
        assert_eq!(Job::from_bytes(&job.to_bytes()), Some(job));
    }
}
