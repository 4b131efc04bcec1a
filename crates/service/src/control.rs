//! Control of a running bridge: a Unix socket with a request and an answer a line, on a thread of
//! its own.
//!
//! Whoever may open the socket may change the bridge: it is its owner's alone, or a named
//! group's too. Who changes something is logged with the credentials that the kernel knows.

use crate::Fleet;
use crate::request::{Done, parse, refusal};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{Mode, fchmod};
use rustix::net::socket_with;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Most connections at once; one more takes the place of the one that has been silent longest.
const CLIENTS: usize = 16;
/// Longest request.
const LONGEST_LINE: usize = 64 << 10;
/// Whoever says nothing for this long is hung up on.
const SILENCE: Duration = Duration::from_secs(60);

/// Where `sojourn ctl` and `sojourn top` look for a bridge, and where the service's has its socket.
pub const CONTROL: &str = "/run/sojourn/control";

/// A socket at which nobody answers yet. The file is removed with it.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    file: SocketFile,
}

/// A socket's place in the file system, and its identity: it may have been replaced.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Answers requests until it is dropped.
#[derive(Debug)]
pub struct ControlThread {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
    _file: SocketFile,
}

/// Why no socket could be made.
#[derive(Debug, thiserror::Error)]
#[error("listen at `{}`", .path.display())]
pub struct ControlError {
    path: PathBuf,
    source: io::Error,
}

/// What stands at a path.
#[derive(Debug, thiserror::Error)]
enum Taken {
    #[error("there is a file that is no socket; it stays as it is")]
    NotASocket,
    #[error("another process listens there")]
    Busy,
    #[error("a dead socket of another user (uid {0}) is in the way")]
    Foreign(u32),
}

impl Control {
    /// A socket at `path` that its owner may open, and `group` if one is given. A dead socket of
    /// our own user's is replaced; anything else that stands there stays. The folder of
    /// [`CONTROL`] is made if it is missing.
    ///
    /// # Errors
    /// When something else stands there, or the socket cannot be made.
    pub fn listen(path: &Path, group: Option<u32>) -> Result<Self, ControlError> {
        let listener = make_way(path).and_then(|()| open_in_folder(path, group));
        let (listener, file) = listener.map_err(|source| ControlError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { listener, file })
    }

    /// Answers for `fleet` from now on.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn serve(self, fleet: Arc<Fleet>) -> io::Result<ControlThread> {
        let Self { listener, file } = self;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let stopped = stop.try_clone()?;
        let mut server = Server {
            listener,
            fleet,
            clients: Vec::new(),
        };
        let thread = thread::Builder::new().name("control".into());
        let thread = thread.spawn(move || server.run(&stopped))?;
        Ok(ControlThread {
            stop,
            thread: Some(thread),
            _file: file,
        })
    }
}

/// Removes a dead socket of ours.
fn make_way(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    if !there.file_type().is_socket() {
        return Err(io::Error::other(Taken::NotASocket));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
        Err(error) => return Err(error),
        Ok(_) => return Err(io::Error::other(Taken::Busy)),
    }
    if there.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(Taken::Foreign(there.uid())));
    }
    fs::remove_file(path)
}

fn is_usual(path: &Path) -> bool {
    path == Path::new(CONTROL)
}

/// As `open`. Whoever ends last may remove the usual folder before the socket is in it.
fn open_in_folder(path: &Path, group: Option<u32>) -> io::Result<(UnixListener, SocketFile)> {
    loop {
        if let (true, Some(folder)) = (is_usual(path), path.parent()) {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o755).create(folder)?;
        }
        match open(path, group) {
            Err(error) if is_usual(path) && error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
}

fn open(path: &Path, group: Option<u32>) -> io::Result<(UnixListener, SocketFile)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file gets the socket's mode, less the umask: there is no moment at which others may.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    let made = fs::symlink_metadata(path)?;
    let file = SocketFile {
        path: path.to_owned(),
        device: made.dev(),
        inode: made.ino(),
    };
    if group.is_some() {
        chown(path, None, group)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    }
    listen(&socket, 16)?;
    Ok((UnixListener::from(socket), file))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|it| (it.dev(), it.ino()) == (self.device, self.inode)) {
            let _ = fs::remove_file(&self.path);
            if let (true, Some(folder)) = (is_usual(&self.path), self.path.parent()) {
                // Claims of interfaces may be in it, or a service manager has it.
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        // One number is always taken.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, control is over anyway.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Server {
    listener: UnixListener,
    fleet: Arc<Fleet>,
    clients: Vec<Client>,
}

struct Client {
    stream: UnixStream,
    /// Process and user, for the log and the history.
    who: String,
    line: Vec<u8>,
    heard: Instant,
}

impl Server {
    fn run(&mut self, stop: &OwnedFd) {
        while !self.wait(stop) {
            self.accept();
            let Self { fleet, clients, .. } = self;
            clients.retain_mut(|client| client.serve(fleet));
        }
    }

    /// Waits for somebody to say something; tells whether to stop.
    fn wait(&self, stop: &OwnedFd) -> bool {
        let clients = self.clients.iter().map(|client| client.stream.as_fd());
        let fds = [stop.as_fd(), self.listener.as_fd()];
        let fds = fds.into_iter().chain(clients);
        let mut polled: Vec<_> = fds
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let timeout = Timespec {
            tv_sec: SILENCE.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        // An interruption is looked at as if somebody had spoken.
        let _ = poll(&mut polled, Some(&timeout));
        !polled[0].revents().is_empty()
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == CLIENTS {
                let silent = self.clients.iter().enumerate();
                if let Some((silent, _)) = silent.min_by_key(|(_, client)| client.heard) {
                    self.clients.swap_remove(silent);
                }
            }
            let who = match socket_peercred(&stream) {
                Ok(peer) => format!(
                    "process {} of user {}",
                    peer.pid.as_raw_nonzero(),
                    peer.uid.as_raw()
                ),
                Err(error) => format!("somebody unknown ({error})"),
            };
            self.clients.push(Client {
                stream,
                who,
                line: Vec::new(),
                heard: Instant::now(),
            });
        }
    }
}

impl Client {
    /// Returns whether the connection goes on.
    fn serve(&mut self, fleet: &Arc<Fleet>) -> bool {
        let mut buffer = [0; 4096];
        let open = match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(len) => {
                self.line.extend(&buffer[..len]);
                self.heard = Instant::now();
                true
            }
            Err(error) => {
                return error.kind() == ErrorKind::WouldBlock && self.heard.elapsed() < SILENCE;
            }
        };
        if !open && !self.line.is_empty() {
            self.line.push(b'\n');
        }
        while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            let done = match parse(text.trim()) {
                Ok(request) => request.answer(&self.who, fleet, &self.stream),
                Err(error) => Done::Answer(refusal(&error)),
            };
            let Done::Answer(reply) = done else {
                return false;
            };
            // Who does not read is hung up on: the others must not wait for anybody.
            // In one piece: each takes room of its own in the socket, however short it is.
            let answer = format!("{reply}\n");
            if self.stream.write_all(answer.as_bytes()).is_err() {
                return false;
            }
        }
        open && self.line.len() <= LONGEST_LINE
    }
}

#[cfg(test)]
mod tests {
    use super::CONTROL;
    use std::path::Path;

    /// Claims, the unit and the example of a bridge's file say the same place.
    #[test]
    fn all_know_the_usual_place() {
        let folder = Path::new(CONTROL).parent();
        assert_eq!(folder, Some(Path::new(sojourn_bridge::STATE)));
        let unit = include_str!("../../../contrib/systemd/sojourn.service");
        assert!(unit.contains(&format!("--socket {CONTROL} reload")));
        let file = include_str!("../../../contrib/bridge/bridge.toml");
        assert!(file.contains(&format!("control = \"{CONTROL}\"")));
    }
}
