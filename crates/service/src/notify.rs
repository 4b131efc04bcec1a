//! Reports the bridge's status to the service manager: the protocol of sd_notify(3), a datagram of
//! `NAME=value` lines to the socket that it has named. Without one nobody is told.

use rustix::time::{ClockId, clock_gettime};
use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How long the manager may take to read what it was told before.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whoever manages the service, if somebody does.
#[derive(Debug, Default)]
pub struct Notify {
    manager: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear that all is well.
    watchdog: Option<Duration>,
}

impl Notify {
    /// As the environment says: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`.
    ///
    /// # Errors
    /// When there can be no socket, or the name of theirs is none.
    pub fn from_environment() -> io::Result<Self> {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else {
            return Ok(Self::default());
        };
        let address = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
            _ => SocketAddr::from_pathname(&name)?,
        };
        let socket = UnixDatagram::unbound()?;
        // It need not read at once, but who has news does not wait for long.
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            manager: Some((socket, address)),
            watchdog: watchdog(
                env::var("WATCHDOG_USEC").ok().as_deref(),
                env::var("WATCHDOG_PID").ok().as_deref(),
            ),
        })
    }

    fn tell(&self, text: &str) {
        if let Some((socket, address)) = &self.manager {
            // A manager that is gone needs no news.
            let _ = socket.send_to_addr(text.as_bytes(), address);
        }
    }

    /// Frames are forwarded.
    pub(crate) fn ready(&self, status: &str) {
        let status = status.replace('\n', "; ");
        self.tell(&format!("READY=1\nSTATUS={status}\n"));
    }

    /// Something of the status has changed.
    pub(crate) fn status(&self, status: &str) {
        let status = status.replace('\n', "; ");
        self.tell(&format!("STATUS={status}\n"));
    }

    /// The file is being read anew; `ready` follows.
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// It was asked to end.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\n");
    }

    /// How often it wants to hear that all is well, if it does.
    pub(crate) const fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// All is well.
    pub(crate) fn well(&self) {
        self.tell("WATCHDOG=1\n");
    }
}

/// The time that the manager gives, if it means this process.
fn watchdog(micros: Option<&str>, process: Option<&str>) -> Option<Duration> {
    let is_ours = |process: &str| process.parse() == Ok(std::process::id());
    let micros = micros?.parse().ok().filter(|micros| *micros > 0)?;
    process
        .is_none_or(is_ours)
        .then(|| Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_for_the_process_that_is_meant() {
        let own = std::process::id().to_string();
        let second = Some(Duration::from_secs(1));
        assert_eq!(watchdog(Some("1000000"), None), second);
        assert_eq!(watchdog(Some("1000000"), Some(&own)), second);
        assert_eq!(watchdog(Some("1000000"), Some("1")), None);
        for none in [None, Some("0"), Some("soon")] {
            assert_eq!(watchdog(none, None), None);
        }
    }
}
