//! System calls.
//!
//! Calls that ask how TCP behaves are carried out on our connections. Others stop the script: those
//! that need a part of TCP that we do not have are not modelled, those that ask how the socket
//! interface answers a program are about sockets only.

use crate::host::{Host, Role, Socket, SocketOptions, data_in};
use crate::script::{Arg, Call};
use crate::settings::algorithm;
use crate::verdict::Stop;
use sojourn_tcp::State;

/// What a call has done so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It returns this, with the name of an error.
    Returns(i64, Option<&'static str>),
    /// It waits.
    Waits,
}

/// A value that a call gives back through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given(i64);

use Progress::{Returns, Waits};

const fn failed(error: &'static str) -> Progress {
    Returns(-1, Some(error))
}

/// A call on its way.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) call: Call,
    /// Bytes that it has written.
    written: u64,
    begun: bool,
}

impl Running {
    pub(crate) const fn new(call: Call) -> Self {
        Self {
            call,
            written: 0,
            begun: false,
        }
    }

    fn number(&self, index: usize) -> Option<i64> {
        match self.call.args.get(index) {
            Some(&Arg::Number(number)) => Some(number),
            _ => None,
        }
    }

    fn word(&self, index: usize) -> &str {
        match self.call.args.get(index) {
            Some(Arg::Word(word)) => word,
            _ => "",
        }
    }

    /// The value of an option: the number in `[n]`.
    fn value(&self, index: usize) -> Option<i64> {
        match self.call.args.get(index) {
            Some(Arg::List(list)) => match list[..] {
                [Arg::Number(number)] => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    fn socket_only(&self) -> Stop {
        let args: Vec<String> = self.call.args.iter().map(show).collect();
        Stop::SocketOnly(format!("{}({})", self.call.name, args.join(", ")))
    }

    fn not_modelled(&self, what: &str) -> Stop {
        Stop::NotModelled(format!("{what} of {}", self.call.name))
    }

    /// Goes on with the call.
    pub(crate) fn go_on(&mut self, host: &mut Host) -> Result<Progress, Stop> {
        let begins = !std::mem::replace(&mut self.begun, true);
        match self.call.name.as_str() {
            "socket" => Ok(self.socket(host)),
            "bind" => Ok(Returns(0, None)),
            "listen" => Ok(self.with_socket(host, |socket| {
                socket.role = Role::Listens;
                Returns(0, None)
            })),
            "fcntl" => self.fcntl(host),
            "setsockopt" => self.set_option(host),
            "getsockopt" => self.get_option(host),
            "ioctl" => self.ioctl(host),
            "connect" => self.connect(host, begins),
            "accept" => Ok(self.accept(host)),
            "read" | "recv" | "recvfrom" => self.read(host),
            "open" => Ok(Returns(self.call.returns.unwrap_or(3), None)),
            "write" | "send" | "sendto" | "sendmsg" | "sendfile" => self.write(host),
            "shutdown" => self.shutdown(host),
            "close" => Ok(self.close(host)),
            _ => Err(self.socket_only()),
        }
    }

    fn fd(&self) -> i64 {
        self.number(0).unwrap_or(-1)
    }

    fn options(&self, host: &Host) -> SocketOptions {
        let socket = host.sockets.get(&self.fd());
        socket.map_or_else(SocketOptions::default, |socket| socket.options)
    }

    fn with_socket(&self, host: &mut Host, run: impl FnOnce(&mut Socket) -> Progress) -> Progress {
        let socket = host.sockets.get_mut(&self.fd());
        socket.map_or(failed("EBADF"), run)
    }

    fn connection(&self, host: &Host) -> Option<usize> {
        match host.sockets.get(&self.fd())?.role {
            Role::Connection(index) => Some(index),
            Role::Fresh | Role::Listens => None,
        }
    }

    fn socket(&self, host: &mut Host) -> Progress {
        let socket = Socket {
            role: Role::Fresh,
            options: SocketOptions {
                does_not_block: self.word(1).contains("SOCK_NONBLOCK"),
                ..SocketOptions::default()
            },
        };
        // The script's number is a name for it.
        let fd = self.call.returns.unwrap_or(3);
        host.sockets.insert(fd, socket);
        Returns(fd, None)
    }

    fn fcntl(&self, host: &mut Host) -> Result<Progress, Stop> {
        let (command, flags) = (self.word(1), self.word(2));
        match command {
            "F_GETFL" => Ok(self.with_socket(host, |socket| {
                let nonblock = if socket.options.does_not_block {
                    0x800
                } else {
                    0
                };
                Returns(0x2 | nonblock, None)
            })),
            "F_SETFL" => Ok(self.with_socket(host, |socket| {
                socket.options.does_not_block = flags.contains("O_NONBLOCK");
                Returns(0, None)
            })),
            _ => Err(self.socket_only()),
        }
    }

    fn set_option(&self, host: &mut Host) -> Result<Progress, Stop> {
        let value = self.value(3);
        let memory = value.map(|bytes| 2 * bytes.max(0) as u64);
        let index = self.connection(host);
        let mut change = |set: &dyn Fn(&mut SocketOptions)| {
            self.with_socket(host, |socket| {
                set(&mut socket.options);
                Returns(0, None)
            })
        };
        let done = match (self.word(2), value) {
            ("SO_REUSEADDR", Some(_)) => Returns(0, None),
            ("SO_SNDBUF", Some(_)) => change(&|options| options.send = memory),
            ("SO_RCVBUF", Some(_)) if index.is_none() => {
                change(&|options| options.receive = memory)
            }
            ("TCP_NODELAY", Some(on)) => change(&|options| options.no_delay = on != 0),
            ("TCP_CONGESTION", None) if index.is_none() => {
                let Some(Arg::Text(name)) = self.call.args.get(3) else {
                    return Err(self.socket_only());
                };
                let control = algorithm(name)
                    .ok_or_else(|| self.not_modelled(&format!("the congestion control {name}")))?;
                change(&|options| options.algorithm = Some(control))
            }
            (name, _) => return Err(self.unknown_option(name)),
        };
        if let Some(index) = index {
            let options = self.options(host);
            let conn = &mut host.conns[index];
            conn.tcp.set_nagle(!options.no_delay);
            if let Some(memory) = options.send {
                let bytes = data_in(memory, conn.mss);
                conn.tcp.set_send_buffer(bytes, bytes);
            }
            host.flush();
        }
        Ok(done)
    }

    /// An option that is not known: a part of TCP, or of the interface.
    fn unknown_option(&self, name: &str) -> Stop {
        let of_tcp = [
            "TCP_CORK",
            "TCP_FASTOPEN",
            "TCP_FASTOPEN_CONNECT",
            "TCP_FASTOPEN_KEY",
            "TCP_FASTOPEN_NO_COOKIE",
            "TCP_QUICKACK",
            "TCP_MD5SIG",
            "TCP_CONGESTION",
            "TCP_MAXSEG",
            "TCP_DEFER_ACCEPT",
            "TCP_THIN_LINEAR_TIMEOUTS",
            "TCP_RTO_MAX_MS",
            "TCP_WINDOW_CLAMP",
            "SO_RCVBUF",
            "SO_KEEPALIVE",
            "TCP_KEEPIDLE",
            "TCP_KEEPINTVL",
            "TCP_KEEPCNT",
            "SO_LINGER",
        ];
        if of_tcp.contains(&name) {
            self.not_modelled(name)
        } else {
            self.socket_only()
        }
    }

    fn get_option(&self, host: &mut Host) -> Result<Progress, Stop> {
        let options = self.options(host);
        let index = self.connection(host);
        let given = match self.word(2) {
            "SO_ERROR" => {
                let reset = index.is_some_and(|index| std::mem::take(&mut host.conns[index].reset));
                // ECONNRESET, or ECONNREFUSED before it was open.
                let opened = index.is_some_and(|index| host.conns[index].opened);
                Given(match (reset, opened) {
                    (false, _) => 0,
                    (true, true) => 104,
                    (true, false) => 111,
                })
            }
            "SO_SNDBUF" if options.send.is_some() => Given(
                options
                    .send
                    .and_then(|bytes| bytes.try_into().ok())
                    .unwrap_or(0),
            ),
            _ => return Err(self.socket_only()),
        };
        if let Some(expected) = self.value(3)
            && expected != given.0
        {
            return Err(Stop::Ours {
                expected: format!("{} [{expected}]", self.word(2)),
                got: format!("[{}]", given.0),
            });
        }
        Ok(Returns(0, None))
    }

    fn ioctl(&self, host: &Host) -> Result<Progress, Stop> {
        let (Some(index), "SIOCINQ") = (self.connection(host), self.word(1)) else {
            return Err(self.socket_only());
        };
        let unread = host.conns[index].tcp.unread();
        match self.value(2) {
            Some(expected) if u64::try_from(expected) != Ok(unread) => Err(Stop::Ours {
                expected: format!("SIOCINQ [{expected}]"),
                got: format!("[{unread}]"),
            }),
            _ => Ok(Returns(0, None)),
        }
    }

    fn connect(&self, host: &mut Host, begins: bool) -> Result<Progress, Stop> {
        let options = self.options(host);
        if begins {
            if self.connection(host).is_some() {
                return Err(self.socket_only());
            }
            let index = host.open(&options);
            self.with_socket(host, |socket| {
                socket.role = Role::Connection(index);
                Returns(0, None)
            });
            if options.does_not_block {
                return Ok(failed("EINPROGRESS"));
            }
        }
        let Some(index) = self.connection(host) else {
            return Ok(failed("EBADF"));
        };
        let conn = &mut host.conns[index];
        Ok(match conn.tcp.state() {
            State::SynSent | State::SynReceived => Waits,
            State::Closed if std::mem::take(&mut conn.reset) => failed("ECONNREFUSED"),
            _ => Returns(0, None),
        })
    }

    fn accept(&self, host: &mut Host) -> Progress {
        let fd = self.fd();
        let options = self.options(host);
        if host
            .sockets
            .get(&fd)
            .is_none_or(|socket| socket.role != Role::Listens)
        {
            return failed("EINVAL");
        }
        let ready = host
            .conns
            .iter()
            .position(|conn| conn.listener == Some(fd) && conn.opened);
        match ready {
            Some(index) => {
                host.conns[index].listener = None;
                let new = self.call.returns.filter(|&new| new >= 0).unwrap_or(fd + 1);
                let socket = Socket {
                    role: Role::Connection(index),
                    options: SocketOptions {
                        does_not_block: false,
                        ..options
                    },
                };
                host.sockets.insert(new, socket);
                Returns(new, None)
            }
            None if options.does_not_block => failed("EAGAIN"),
            None => Waits,
        }
    }

    /// Flags of a call that no part of TCP or of the interface hangs on.
    fn flags(&self, index: usize) -> Result<bool, Stop> {
        let mut does_not_block = false;
        for flag in self.word(index).split('|').filter(|flag| !flag.is_empty()) {
            match flag {
                "MSG_DONTWAIT" => does_not_block = true,
                "MSG_NOSIGNAL" => {}
                "MSG_MORE" | "MSG_EOR" | "MSG_OOB" | "MSG_FASTOPEN" => {
                    return Err(self.not_modelled(flag));
                }
                _ => return Err(self.socket_only()),
            }
        }
        Ok(does_not_block)
    }

    fn read(&self, host: &mut Host) -> Result<Progress, Stop> {
        let Some(most) = self.number(2).and_then(|most| u64::try_from(most).ok()) else {
            return Err(self.socket_only());
        };
        if self.word(1) == "NULL" {
            return Err(self.socket_only());
        }
        let does_not_block = self.flags(3)? | self.options(host).does_not_block;
        let Some(index) = self.connection(host) else {
            return Ok(failed("ENOTCONN"));
        };
        let now = host.now;
        let conn = &mut host.conns[index];
        let read = conn.tcp.read(most, now);
        let progress = if read > 0 {
            Returns(i64::try_from(read).unwrap_or(i64::MAX), None)
        } else if std::mem::take(&mut conn.reset) {
            failed("ECONNRESET")
        } else if conn.peer_closed || !conn.is_alive() {
            Returns(0, None)
        } else if does_not_block {
            failed("EAGAIN")
        } else {
            Waits
        };
        host.flush();
        Ok(progress)
    }

    /// Bytes of a message: those of its pieces.
    fn message(&self) -> Option<u64> {
        let Some(Arg::Fields(fields)) = self.call.args.get(1) else {
            return None;
        };
        if fields
            .iter()
            .any(|(name, _)| name.as_deref() == Some("msg_control"))
        {
            return None;
        }
        let (_, pieces) = fields
            .iter()
            .find(|(name, _)| name.as_deref() == Some("msg_iov"))?;
        let Arg::List(pieces) = pieces else {
            return None;
        };
        pieces
            .iter()
            .map(|piece| match piece {
                Arg::Fields(piece) => match piece[..] {
                    [_, (None, Arg::Number(len))] => u64::try_from(len).ok(),
                    _ => None,
                },
                _ => None,
            })
            .sum()
    }

    fn write(&mut self, host: &mut Host) -> Result<Progress, Stop> {
        let (len, flags) = match self.call.name.as_str() {
            "sendmsg" => (self.message(), 2),
            "sendfile" => (self.number(3).and_then(|len| u64::try_from(len).ok()), 4),
            _ => (self.number(2).and_then(|len| u64::try_from(len).ok()), 3),
        };
        let does_not_block = self.flags(flags)? | self.options(host).does_not_block;
        let Some(len) = len.filter(|_| self.word(1) != "NULL") else {
            return Err(self.socket_only());
        };
        let Some(index) = self.connection(host) else {
            return Ok(failed("EPIPE"));
        };
        let conn = &mut host.conns[index];
        match conn.tcp.state() {
            State::Established | State::CloseWait => {}
            State::SynSent | State::SynReceived if !does_not_block => return Ok(Waits),
            State::SynSent | State::SynReceived => return Ok(failed("EAGAIN")),
            _ if std::mem::take(&mut conn.reset) => return Ok(failed("ECONNRESET")),
            _ => return Ok(failed("EPIPE")),
        }
        // Only what the buffer holds now counts as written.
        let before = self.written;
        if self.written < len && !conn.tcp.waits_for_room() {
            self.written += conn.tcp.write(len - self.written);
        }
        let waits = conn.tcp.waits_for_room() || self.written < len;
        host.flush();
        let written = i64::try_from(self.written).unwrap_or(i64::MAX);
        Ok(match (waits, does_not_block) {
            (false, _) => Returns(written, None),
            (true, false) => Waits,
            (true, true) if before == self.written => failed("EAGAIN"),
            (true, true) => return Err(self.not_modelled("a short write")),
        })
    }

    fn shutdown(&self, host: &mut Host) -> Result<Progress, Stop> {
        let Some(index) = self.connection(host) else {
            return Ok(failed("ENOTCONN"));
        };
        if self.word(1) != "SHUT_WR" {
            return Err(self.not_modelled(self.word(1)));
        }
        host.conns[index].tcp.close();
        host.flush();
        Ok(Returns(0, None))
    }

    fn close(&self, host: &mut Host) -> Progress {
        let fd = self.fd();
        let Some(socket) = host.sockets.remove(&fd) else {
            return failed("EBADF");
        };
        match socket.role {
            Role::Fresh => {}
            Role::Connection(index) => host.close(index),
            // Connections that nobody has accepted end with it.
            Role::Listens => {
                for conn in &mut host.conns {
                    if conn.listener == Some(fd) && conn.is_alive() {
                        conn.tcp.abort();
                    }
                }
                host.flush();
            }
        }
        Returns(0, None)
    }
}

fn show(arg: &Arg) -> String {
    match arg {
        Arg::Any => "...".to_owned(),
        Arg::Number(number) => number.to_string(),
        Arg::Word(word) => word.clone(),
        Arg::Text(text) => format!("\"{text}\""),
        Arg::List(list) => {
            let list: Vec<String> = list.iter().map(show).collect();
            format!("[{}]", list.join(", "))
        }
        Arg::Fields(_) => "{...}".to_owned(),
    }
}
