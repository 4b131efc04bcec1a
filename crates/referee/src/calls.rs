//! Calls of a script on real sockets.
//!
//! Not here: calls with bad pointers, which only a program that is not safe could make, and
//! `recvmsg` with control messages.

use crate::device::Device;
use crate::options::number;
use crate::worker::Work;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use rustix::pipe::{PipeFlags, SpliceFlags};
use sojourn_bridge::{option, set_option};
use sojourn_packetdrill::{Arg, Call, Stop};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Open files by the numbers that the script has for them.
#[derive(Clone, Default)]
pub(crate) struct Files(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    files: BTreeMap<i64, Arc<OwnedFd>>,
    /// The socket whose connection the script is about: that which was connected or accepted last.
    subject: Weak<OwnedFd>,
}

/// Calls that begin with the number of a file.
const CALLS: [&str; 18] = [
    "bind",
    "listen",
    "shutdown",
    "fcntl",
    "ioctl",
    "setsockopt",
    "getsockopt",
    "connect",
    "accept",
    "read",
    "recv",
    "recvfrom",
    "write",
    "send",
    "sendto",
    "sendmsg",
    "sendfile",
    "splice",
];

/// A call that has begun.
pub(crate) enum Begun {
    /// It is over.
    Done(io::Result<i64>),
    /// It may block.
    Work(Work),
}

use Begun::Done;

impl Files {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket that assertions are about.
    pub(crate) fn subject(&self) -> Option<Arc<OwnedFd>> {
        self.lock().subject.upgrade()
    }

    /// Whether the connection that the script is about has this number.
    pub(crate) fn is_subject(&self, fd: i64) -> bool {
        let table = self.lock();
        let (one, other) = (table.files.get(&fd), table.subject.upgrade());
        one.zip(other)
            .is_some_and(|(one, other)| Arc::ptr_eq(one, &other))
    }

    /// Ends what waits at a socket.
    pub(crate) fn shut(&self) {
        for file in self.lock().files.values() {
            let _ = net::shutdown(file, Shutdown::Both);
        }
    }

    /// Begins a call.
    pub(crate) fn begin(&self, call: &Call, device: &Device) -> Result<Begun, Stop> {
        let reader = &Reader { call };
        let bad = || Ok(Done(Err(io::Error::from_raw_os_error(libc::EBADF))));
        match call.name.as_str() {
            "socket" => return self.socket(reader, device.v6),
            "open" => return self.open(reader),
            "pipe" => return self.pipe(reader),
            "close" => {
                // Not one that a call still waits at: the call holds it.
                let file = self.lock().files.remove(&reader.number(0)?);
                return file.map_or_else(bad, |_| Ok(Done(Ok(0))));
            }
            _ => {}
        }
        if !CALLS.contains(&call.name.as_str()) {
            return Err(reader.lacks());
        }
        let fd = reader.number(0)?;
        let Some(file) = self.lock().files.get(&fd).cloned() else {
            return bad();
        };
        let done =
            |result: rustix::io::Result<()>| Ok(Done(result.map(|()| 0).map_err(io::Error::from)));
        match call.name.as_str() {
            "bind" => done(net::bind(&file, &device.any())),
            "listen" => done(net::listen(&file, reader.number(1)? as i32)),
            "shutdown" => done(net::shutdown(
                &file,
                match reader.word(1)? {
                    "SHUT_RD" => Shutdown::Read,
                    "SHUT_WR" => Shutdown::Write,
                    _ => Shutdown::Both,
                },
            )),
            "fcntl" => reader.fcntl(&file),
            "ioctl" => reader.ioctl(&file),
            "setsockopt" => reader.set_option(&file),
            "getsockopt" => reader.get_option(&file),
            "connect" => Ok(self.connect(reader, file, device)),
            "accept" => Ok(self.accept(reader, file)),
            "read" | "recv" | "recvfrom" => reader.read(file),
            "write" | "send" | "sendto" => reader.write(file, device),
            "sendmsg" => reader.send_message(file),
            "sendfile" => reader.send_file(file, self),
            "splice" => reader.splice(file, self),
            _ => Err(reader.lacks()),
        }
    }

    fn put(&self, fd: i64, file: OwnedFd) {
        self.lock().files.insert(fd, Arc::new(file));
    }

    fn socket(&self, reader: &Reader<'_>, v6: bool) -> Result<Begun, Stop> {
        let family = if v6 {
            AddressFamily::INET6
        } else {
            AddressFamily::INET
        };
        let mut flags = SocketFlags::CLOEXEC;
        if reader.word(1)?.contains("SOCK_NONBLOCK") {
            flags |= SocketFlags::NONBLOCK;
        }
        let fd = reader.call.returns.unwrap_or(3);
        let made = net::socket_with(family, SocketType::STREAM, flags, None);
        Ok(Done(made.map_err(io::Error::from).map(|file| {
            self.put(fd, file);
            fd
        })))
    }

    fn open(&self, reader: &Reader<'_>) -> Result<Begun, Stop> {
        let Some(Arg::Text(path)) = reader.call.args.first() else {
            return Err(reader.lacks());
        };
        let flags = OFlags::from_bits_retain(reader.bits(1)? as u32) | OFlags::CLOEXEC;
        let fd = reader.call.returns.unwrap_or(3);
        let made = rustix::fs::open(path, flags, Mode::empty());
        Ok(Done(made.map_err(io::Error::from).map(|file| {
            self.put(fd, file);
            fd
        })))
    }

    fn pipe(&self, reader: &Reader<'_>) -> Result<Begun, Stop> {
        let Some(Arg::List(ends)) = reader.call.args.first() else {
            return Err(reader.lacks());
        };
        let [Arg::Number(out), Arg::Number(into)] = ends[..] else {
            return Err(reader.lacks());
        };
        let made = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        Ok(Done(made.map_err(io::Error::from).map(|(near, far)| {
            self.put(out, near);
            self.put(into, far);
            0
        })))
    }

    fn connect(&self, reader: &Reader<'_>, file: Arc<OwnedFd>, device: &Device) -> Begun {
        if matches!(reader.word(1), Ok("AF_UNSPEC")) {
            let result = net::connect_unspec(&file);
            return Done(result.map(|()| 0).map_err(io::Error::from));
        }
        self.lock().subject = Arc::downgrade(&file);
        let peer = device.peer();
        Begun::Work(Box::new(move || {
            net::connect(&file, &peer)?;
            Ok(0)
        }))
    }

    fn accept(&self, reader: &Reader<'_>, file: Arc<OwnedFd>) -> Begun {
        let given = reader.call.returns.filter(|&fd| fd >= 0);
        let fd = given.unwrap_or(i64::MAX);
        let table = self.clone();
        Begun::Work(Box::new(move || {
            let new = net::accept_with(&file, SocketFlags::CLOEXEC)?;
            table.put(fd, new);
            let mut table = table.lock();
            table.subject = table.files.get(&fd).map(Arc::downgrade).unwrap_or_default();
            Ok(fd)
        }))
    }
}

/// Reads a call's arguments.
struct Reader<'a> {
    call: &'a Call,
}

impl Reader<'_> {
    /// What the referee does not have.
    fn lacks(&self) -> Stop {
        Stop::NotModelled(format!(
            "the referee cannot make this call of {}",
            self.call.name
        ))
    }

    fn number(&self, index: usize) -> Result<i64, Stop> {
        match self.call.args.get(index) {
            Some(&Arg::Number(number)) => Ok(number),
            _ => Err(self.lacks()),
        }
    }

    fn word(&self, index: usize) -> Result<&str, Stop> {
        match self.call.args.get(index) {
            Some(Arg::Word(word)) => Ok(word),
            _ => Err(self.lacks()),
        }
    }

    /// A number, or names of bits.
    fn bits(&self, index: usize) -> Result<i64, Stop> {
        match self.call.args.get(index) {
            Some(&Arg::Number(number)) => Ok(number),
            Some(Arg::Word(word)) => number(word)
                .ok_or_else(|| Stop::NotModelled(format!("the referee does not know {word}"))),
            _ => Err(self.lacks()),
        }
    }

    /// Bytes of a buffer, which must be one.
    fn len(&self, buffer: usize, len: usize) -> Result<usize, Stop> {
        if matches!(self.call.args.get(buffer), Some(Arg::Any)) {
            return usize::try_from(self.number(len)?).map_err(|_| self.lacks());
        }
        Err(self.lacks())
    }

    /// Flags that may be left out.
    fn flags(&self, index: usize) -> Result<u32, Stop> {
        if self.call.args.len() <= index {
            return Ok(0);
        }
        u32::try_from(self.bits(index)?).map_err(|_| self.lacks())
    }

    fn fcntl(&self, file: &OwnedFd) -> Result<Begun, Stop> {
        let result = match self.word(1)? {
            "F_GETFL" => rustix::fs::fcntl_getfl(file).map(|flags| i64::from(flags.bits())),
            "F_SETFL" => {
                let flags = OFlags::from_bits_retain(self.bits(2)? as u32);
                rustix::fs::fcntl_setfl(file, flags).map(|()| 0)
            }
            _ => return Err(self.lacks()),
        };
        Ok(Done(result.map_err(io::Error::from)))
    }

    fn ioctl(&self, file: &OwnedFd) -> Result<Begun, Stop> {
        if self.word(1)? != "SIOCINQ" {
            return Err(self.lacks());
        }
        let got = match rustix::io::ioctl_fionread(file) {
            Ok(got) => got.cast_signed(),
            Err(error) => return Ok(Done(Err(error.into()))),
        };
        self.given(2, "SIOCINQ", got)
    }

    /// Whether a call has given what it should.
    fn given(&self, index: usize, what: &str, got: i64) -> Result<Begun, Stop> {
        let expected = match self.call.args.get(index) {
            Some(Arg::List(list)) => match list[..] {
                [Arg::Number(number)] => Some(number),
                _ => return Err(self.lacks()),
            },
            _ => None,
        };
        match expected {
            Some(expected) if expected != got => Err(Stop::Ours {
                expected: format!("{what} [{expected}]"),
                got: format!("[{got}]"),
            }),
            _ => Ok(Done(Ok(0))),
        }
    }

    fn set_option(&self, file: &OwnedFd) -> Result<Begun, Stop> {
        let (level, name) = (self.bits(1)? as c_int, self.bits(2)? as c_int);
        let len = usize::try_from(self.number(4)?).map_err(|_| self.lacks())?;
        let bytes = match self.call.args.get(3) {
            Some(Arg::List(list)) => {
                let number = match &list[..] {
                    [Arg::Number(number)] => Some(*number),
                    [Arg::Word(word)] => number(word),
                    _ => None,
                }
                .ok_or_else(|| self.lacks())?;
                (number as i32).to_ne_bytes().to_vec()
            }
            Some(Arg::Text(text)) => unescaped(text).ok_or_else(|| self.lacks())?,
            _ => return Err(self.lacks()),
        };
        let value = bytes.get(..len.min(bytes.len())).unwrap_or_default();
        Ok(Done(set_option(file, level, name, value).map(|()| 0)))
    }

    fn get_option(&self, file: &OwnedFd) -> Result<Begun, Stop> {
        let (level, name) = (self.bits(1)? as c_int, self.bits(2)? as c_int);
        let mut bytes = [0; 4];
        if let Err(error) = option(file, level, name, &mut bytes) {
            return Ok(Done(Err(error)));
        }
        self.given(3, self.word(2)?, i32::from_ne_bytes(bytes).into())
    }

    fn read(&self, file: Arc<OwnedFd>) -> Result<Begun, Stop> {
        let len = self.len(1, 2)?;
        if self.call.name == "read" {
            return Ok(Begun::Work(Box::new(move || {
                let read = rustix::io::read(&file, &mut vec![0; len])?;
                Ok(read.cast_signed() as i64)
            })));
        }
        let flags = RecvFlags::from_bits_retain(self.flags(3)?);
        Ok(Begun::Work(Box::new(move || {
            let (_, read) = net::recv(&file, &mut vec![0; len], flags)?;
            Ok(read.cast_signed() as i64)
        })))
    }

    fn write(&self, file: Arc<OwnedFd>, device: &Device) -> Result<Begun, Stop> {
        let bytes = vec![0; self.len(1, 2)?];
        if self.call.name == "write" {
            return Ok(Begun::Work(Box::new(move || {
                Ok(rustix::io::write(&file, &bytes)?.cast_signed() as i64)
            })));
        }
        let flags = SendFlags::from_bits_retain(self.flags(3)?);
        let to = (self.call.name == "sendto").then(|| device.peer());
        Ok(Begun::Work(Box::new(move || {
            let sent = match to {
                Some(to) => net::sendto(&file, &bytes, flags, &to),
                None => net::send(&file, &bytes, flags),
            };
            Ok(sent?.cast_signed() as i64)
        })))
    }

    fn send_message(&self, file: Arc<OwnedFd>) -> Result<Begun, Stop> {
        let pieces = self.pieces(1)?;
        let flags = SendFlags::from_bits_retain(self.flags(2)?);
        Ok(Begun::Work(Box::new(move || {
            let zeros: Vec<Vec<u8>> = pieces.iter().map(|&len| vec![0; len]).collect();
            let pieces: Vec<IoSlice<'_>> = zeros.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut control = net::SendAncillaryBuffer::default();
            let sent = net::sendmsg(&file, &pieces, &mut control, flags)?;
            Ok(sent.cast_signed() as i64)
        })))
    }

    /// Lengths of the pieces of a message without control messages.
    fn pieces(&self, index: usize) -> Result<Vec<usize>, Stop> {
        let Some(Arg::Fields(fields)) = self.call.args.get(index) else {
            return Err(self.lacks());
        };
        let named = |wanted: &str| {
            let mut all = fields.iter();
            all.find(|(name, _)| name.as_deref() == Some(wanted))
                .map(|(_, value)| value)
        };
        if named("msg_control").is_some() {
            return Err(self.lacks());
        }
        let Some(Arg::List(pieces)) = named("msg_iov") else {
            return Err(self.lacks());
        };
        let lengths = pieces.iter().map(|piece| match piece {
            Arg::Fields(piece) => match piece[..] {
                [(None, Arg::Any), (None, Arg::Number(len))] => usize::try_from(len).ok(),
                _ => None,
            },
            _ => None,
        });
        lengths.collect::<Option<_>>().ok_or_else(|| self.lacks())
    }

    fn send_file(&self, file: Arc<OwnedFd>, files: &Files) -> Result<Begun, Stop> {
        let known = files.lock().files.get(&self.number(1)?).cloned();
        let from = known.ok_or_else(|| self.lacks())?;
        let count = usize::try_from(self.number(3)?).map_err(|_| self.lacks())?;
        Ok(Begun::Work(Box::new(move || {
            let mut offset = 0;
            let sent = rustix::fs::sendfile(&file, &from, Some(&mut offset), count)?;
            Ok(sent.cast_signed() as i64)
        })))
    }

    fn splice(&self, file: Arc<OwnedFd>, files: &Files) -> Result<Begun, Stop> {
        let known = files.lock().files.get(&self.number(2)?).cloned();
        let into = known.ok_or_else(|| self.lacks())?;
        let len = usize::try_from(self.number(4)?).map_err(|_| self.lacks())?;
        let flags = SpliceFlags::from_bits_retain(self.flags(5)?);
        Ok(Begun::Work(Box::new(move || {
            let moved = rustix::pipe::splice(file.as_fd(), None, into.as_fd(), None, len, flags)?;
            Ok(moved.cast_signed() as i64)
        })))
    }
}

/// The bytes of a string of C; none if it has an escape that the scripts do not use.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    let has_other = text.replace("\\x", "").contains('\\');
    (!has_other).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_bytes() {
        assert_eq!(
            unescaped("\\xa1\\x0bcubic"),
            Some(b"\xa1\x0bcubic".to_vec())
        );
        assert_eq!(unescaped(""), Some(Vec::new()));
        assert_eq!(unescaped("\\xa"), None);
        assert_eq!(unescaped("\\xzz"), None);
        assert_eq!(unescaped("\\n"), None);
    }
}
