//! Programs of other people as hosts of a run: a real server, a real client.
//!
//! Each is started in the network namespace of its host, in a process namespace of its own, and
//! ends with the run. However this process ends, the kernel ends the program and all that it has
//! started: `setpriv` ties it to us, and with the first process of a process namespace go all
//! others (util-linux does both, `prctl(PR_SET_PDEATHSIG)` and `unshare(CLONE_NEWPID)`).

use crate::lab::Host;
use crate::tc::Whose;
use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command};

/// Variables of programs: where the servers' side and the clients' side are.
const SERVER: &str = "SOJOURN_SERVER";
const CLIENT: &str = "SOJOURN_CLIENT";

/// The live world with a program beside its own hosts on either side. Their packets cross the
/// same queues; the delay that they see is that of the links.
#[derive(Clone, Debug, Default)]
pub struct Guests {
    /// Command for the shell on the clients' side, in the working directory of this process.
    pub client: Option<String>,
    /// The same on the servers' side.
    pub server: Option<String>,
    /// Whose queues stand between the hosts.
    pub queues: Queues,
    /// Whether the machine's time is virtual, so that runs repeat: results then carry a digest.
    pub repeats: bool,
}

/// Whose queues a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queues {
    /// Ours, in the bridge.
    #[default]
    Ours,
    /// The kernel's own (tc's), of the same specs. They keep time as well as the kernel does:
    /// exactly in a guest's virtual time.
    Kernel,
    /// Ours inside the kernel, by the module `sch_sojourn`, in the place of the kernel's own.
    Module,
}

impl Queues {
    /// Whose code is in the kernel, where there are queues.
    pub(super) const fn in_kernel(self) -> Option<Whose> {
        match self {
            Self::Ours => None,
            Self::Kernel => Some(Whose::Linux),
            Self::Module => Some(Whose::Ours),
        }
    }
}

/// A program that is running; ends when dropped.
pub(super) struct Guest(Child);

impl Guests {
    /// Whether there are programs beside the hosts: their packets belong to none of its flows.
    pub(super) fn has_programs(&self) -> bool {
        self.client.is_some() || self.server.is_some()
    }

    /// Starts the program of a host from a thread in the host's namespace, with the addresses of
    /// the two sides in [`SERVER`] and [`CLIENT`]. The thread must live as long as the program
    /// shall.
    pub(super) fn start(
        &self,
        host: Host,
        [client, server]: [Ipv4Addr; 2],
    ) -> io::Result<Option<Guest>> {
        let command = match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        };
        let Some(command) = command else {
            return Ok(None);
        };
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .args(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", command])
            .env(CLIENT, client.to_string())
            .env(SERVER, server.to_string())
            .spawn()
            .map_err(|error| {
                let advice = "it needs setpriv and unshare of util-linux";
                io::Error::new(
                    error.kind(),
                    format!("cannot run {command:?}: {error}; {advice}"),
                )
            })?;
        Ok(Some(Guest(child)))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
