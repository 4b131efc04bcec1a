//! Control of a running bridge: a Unix socket with a request and an answer a line, on a thread of
//! its own.
//!
//! A reload reads and opens files, which may take as long as a disk likes: it has a thread of its
//! own, and everybody else is answered meanwhile.
//!
//! Whoever may open the socket may change the bridge: it is its owner's alone, or a named
//! group's too. Who changes something is logged with the credentials that the kernel knows.

use crate::Fleet;
use crate::request::{Done, parse, refusal};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{Mode, fchmod};
use rustix::net::socket_with;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Most connections at once; one more takes the place of the one that has been silent longest.
const CLIENTS: usize = 16;
/// Most that wait to be accepted; one more waits in `connect`, or is refused if it does not.
const BACKLOG: i32 = 128;
/// Longest request.
const LONGEST_LINE: usize = 64 << 10;
/// Whoever says nothing for this long is hung up on.
const SILENCE: Duration = Duration::from_secs(60);

/// Where `sojourn ctl` and `sojourn top` look for a bridge, and where the service's has its socket.
pub const CONTROL: &str = "/run/sojourn/control";

/// A socket at which nobody answers yet. The file is removed with it.
#[derive(Debug)]
pub struct ControlSocket {
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
    #[error("the file there is not a socket; it was not changed")]
    NotASocket,
    #[error("another process listens there")]
    Busy,
    #[error("a dead socket of another user (uid {0}) is in the way")]
    Foreign(u32),
}

impl ControlSocket {
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
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        };
        let thread = thread::Builder::new()
            .name("control".into())
            .spawn(move || server.run(&stopped))?;
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
    match probe(path) {
        // Or it does not listen yet.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            if is_bound(path) {
                return Err(io::Error::other(Taken::Busy));
            }
        }
        // Or it stands still, and all places to wait for it are taken.
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            return Err(io::Error::other(Taken::Busy));
        }
        Err(error) => return Err(error),
        Ok(()) => return Err(io::Error::other(Taken::Busy)),
    }
    if there.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(Taken::Foreign(there.uid())));
    }
    fs::remove_file(path)
}

/// Connects to a socket without waiting.
fn probe(path: &Path) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(connect(&socket, &SocketAddrUnix::new(path)?)?)
}

/// Whether a socket still has this file, also one of another network namespace. A datagram socket
/// is refused for its type there, and otherwise where nobody is bound.
fn is_bound(path: &Path) -> bool {
    let asked = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    !asked.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
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
    listen(&socket, BACKLOG)?;
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
    /// Rung when an answer is there that another thread has made.
    bell: Arc<OwnedFd>,
}

struct Client {
    stream: UnixStream,
    /// Process and user, for the log and the history.
    who: String,
    line: Vec<u8>,
    /// What it has not read of its answers.
    unread: Vec<u8>,
    /// An answer that another thread makes.
    awaited: Option<Receiver<Value>>,
    /// Whether it says no more.
    is_silent: bool,
    heard: Instant,
}

impl Server {
    fn run(&mut self, stop: &OwnedFd) {
        while !self.wait(stop) {
            let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
            self.accept();
            let Self {
                fleet,
                clients,
                bell,
                ..
            } = self;
            clients.retain_mut(|client| client.serve(fleet, bell));
        }
    }

    /// Waits for somebody to say or to read something; tells whether to stop.
    fn wait(&self, stop: &OwnedFd) -> bool {
        let fds = [stop.as_fd(), self.listener.as_fd(), self.bell.as_fd()]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let clients = self.clients.iter().filter_map(|client| {
            let flags = client.waits_for()?;
            Some(PollFd::from_borrowed_fd(client.stream.as_fd(), flags))
        });
        let mut polled: Vec<_> = fds.into_iter().chain(clients).collect();
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
                unread: Vec::new(),
                awaited: None,
                is_silent: false,
                heard: Instant::now(),
            });
        }
    }
}

impl Client {
    /// What it may do next: read its answers, then ask again. The bell is rung for one whose answer
    /// is awaited; looked at meanwhile, one that has hung up would be ready all the time.
    fn waits_for(&self) -> Option<PollFlags> {
        if !self.unread.is_empty() {
            Some(PollFlags::OUT)
        } else if self.awaited.is_some() {
            None
        } else {
            Some(PollFlags::IN)
        }
    }

    /// Returns whether the connection goes on.
    fn serve(&mut self, fleet: &Arc<Fleet>, bell: &Arc<OwnedFd>) -> bool {
        loop {
            if let Some(awaited) = &self.awaited {
                match awaited.try_recv() {
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => return false,
                    Ok(answer) => self.say(&answer),
                }
                self.awaited = None;
            }
            match self.write() {
                Ok(true) => {}
                Ok(false) => return self.heard.elapsed() < SILENCE,
                Err(_) => return false,
            }
            let Some(line) = self.next_line() else {
                if self.is_silent {
                    return false;
                }
                match self.read() {
                    Ok(true) => continue,
                    Ok(false) => return self.heard.elapsed() < SILENCE,
                    Err(_) => return false,
                }
            };
            if !self.answer(&line, fleet, bell) {
                return false;
            }
        }
    }

    /// The next request, if it is whole.
    fn next_line(&mut self) -> Option<String> {
        loop {
            let end = self.line.iter().position(|&byte| byte == b'\n')?;
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                return Some(text.trim().to_owned());
            }
        }
    }

    /// Reads what has come; nothing: false.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => {
                self.is_silent = true;
                // A last request need not end its line.
                self.line.push(b'\n');
            }
            Ok(len) => {
                self.line.extend(&buffer[..len]);
                self.heard = Instant::now();
                if self.line.len() > LONGEST_LINE {
                    return Err(io::Error::other("a request has an end"));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Writes what there is room for; tells whether that was all.
    fn write(&mut self) -> io::Result<bool> {
        while !self.unread.is_empty() {
            match self.stream.write(&self.unread) {
                Ok(len) => {
                    self.unread.drain(..len);
                    self.heard = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// In one piece: each takes room of its own in the socket, however short it is.
    fn say(&mut self, answer: &Value) {
        self.unread.extend(format!("{answer}\n").bytes());
    }

    /// Has a request done; tells whether the connection goes on.
    fn answer(&mut self, line: &str, fleet: &Arc<Fleet>, bell: &Arc<OwnedFd>) -> bool {
        let request = match parse(line) {
            Ok(request) => request,
            Err(error) => {
                self.say(&refusal(&error));
                return true;
            }
        };
        if !request.takes_files() {
            return match request.answer(&self.who, fleet, &self.stream) {
                Done::Answer(reply) => {
                    self.say(&reply);
                    true
                }
                Done::TakenOver => false,
            };
        }
        let (sender, receiver) = channel();
        let (fleet, bell, who) = (Arc::clone(fleet), Arc::clone(bell), self.who.clone());
        let Ok(stream) = self.stream.try_clone() else {
            return false;
        };
        let thread = thread::Builder::new().name("reload".into()).spawn(move || {
            if let Done::Answer(reply) = request.answer(&who, &fleet, &stream) {
                // It may have left.
                let _ = sender.send(reply);
            }
            let _ = rustix::io::write(&*bell, &1_u64.to_ne_bytes());
        });
        match thread {
            Ok(_) => self.awaited = Some(receiver),
            Err(error) => self.say(&refusal(&error)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTROL, make_way};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, socket};
    use sojourn_bridge::Namespace;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    /// Its process lives: it has bound the socket, and listens in a moment. It may be in another
    /// network namespace.
    #[test]
    fn a_socket_that_does_not_listen_yet_is_not_dead() {
        let path = std::env::temp_dir().join(format!("sojourn-bound-{}", std::process::id()));
        let early = || {
            let early = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
            bind(&early, &SocketAddrUnix::new(&path)?)?;
            Ok(early)
        };
        let near = early().expect("nothing stands there");
        stays_while_it_is_there(&path, near);
        // Without root there is none.
        if let Ok(apart) = Namespace::new() {
            let far = apart.run(early).expect("nothing stands there");
            stays_while_it_is_there(&path, far);
        }
    }

    fn stays_while_it_is_there(path: &Path, early: OwnedFd) {
        let refused = make_way(path).expect_err("somebody has it");
        assert!(refused.to_string().contains("another process"), "{refused}");
        drop(early);
        make_way(path).expect("it is dead now");
        assert!(!path.exists());
    }

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
