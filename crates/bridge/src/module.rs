//! Queues of the kernel module `sch_sojourn`, by rtnetlink: no `tc` that knows the kind is needed.
//!
//! A qdisc of the kind `sojourn` has one option, the discipline's string
//! (`contrib/module/qdisc.c`).
//!
//! Source: `rtnetlink(7)`; `linux/rtnetlink.h`, `pkt_sched.h`, `gen_stats.h` and `netlink.h`, whose
//! names the numbers bear.

mod error;
mod installed;

pub use error::ModuleError;
pub use installed::Installed;

use crate::interface::Interface;
use crate::netlink::{
    ACK, CREATE, DONE, DUMP, ERROR, EXCL, Socket, connect, find, message, messages, outcome,
    protocols::NETLINK_ROUTE, text,
};
use crate::sys;
use std::fmt;
use std::io;
use std::str::FromStr;

/// Kind of the module's qdiscs.
pub(crate) const KIND: &str = "sojourn";
/// Longest string of a discipline that the module takes: bytes.
pub const TEXT_MAX: usize = 1024;

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;
/// Length of `struct tcmsg`.
const HEADER: usize = 20;
/// In an answer that says why not, behind the code and the header of the request.
const NLMSGERR_ATTR_MSG: u16 = 1;
const REFUSED: usize = 20;
/// What one answer may fill. The kernel makes its messages as large as a reader has shown that it
/// takes (`max_recvmsg_len`): reports are left out of smaller ones.
const ANSWER: usize = 32 << 10;

/// Where a qdisc is at its interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// It is the interface's own.
    #[default]
    Root,
    /// It is that of a class, by major and minor number.
    Class(u16, u16),
}

impl Parent {
    fn number(self) -> u32 {
        match self {
            Self::Root => ROOT,
            Self::Class(major, minor) => u32::from(major) << 16 | u32::from(minor),
        }
    }

    fn of(number: u32) -> Self {
        match number {
            ROOT => Self::Root,
            class => Self::Class((class >> 16) as u16, class as u16),
        }
    }
}

/// As tc has it.
impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("root"),
            Self::Class(major, minor) => write!(f, "parent {major:x}:{minor:x}"),
        }
    }
}

/// From `root`, or a class such as `1:10` in hexadecimal digits.
impl FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "root" {
            return Ok(Self::Root);
        }
        let number = |text: &str| u16::from_str_radix(text, 16).ok();
        let class = text.split_once(':').and_then(|(major, minor)| {
            let minor = if minor.is_empty() { "0" } else { minor };
            Some(Self::Class(number(major)?, number(minor)?))
        });
        class.ok_or_else(|| {
            format!("`{text}` is not a class: use `root`, or hexadecimal numbers as in tc, `1:10`")
        })
    }
}

/// Reads one of the module's queues repeatedly.
pub struct Reader {
    kernel: Kernel,
    index: u32,
    handle: u16,
    /// Whether the kernel knows how much is read at once.
    known: bool,
}

impl Reader {
    /// Of the queue with this major number at an interface of the calling thread's namespace, by
    /// the interface's number.
    ///
    /// # Errors
    /// When the kernel is not reached.
    pub fn open(index: u32, handle: u16) -> io::Result<Self> {
        Ok(Self {
            kernel: Kernel::open()?,
            index,
            handle,
            known: false,
        })
    }

    /// The queue as it is now.
    ///
    /// # Errors
    /// When it is not there, or the kernel does not tell.
    pub fn read(&mut self) -> io::Result<Installed> {
        let all = if self.known {
            self.kernel.dump()?
        } else {
            self.kernel.qdiscs()?
        };
        self.known = true;
        let here = |it: &Installed| it.index == self.index && it.handle == self.handle;
        let found = all.into_iter().find(|it| it.is_ours() && here(it));
        found.ok_or_else(|| {
            let what = format!("the interface has no queue `{KIND}` {:x}:", self.handle);
            io::Error::new(io::ErrorKind::NotFound, what)
        })
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Add,
    Change,
    Delete,
}

/// The request, as the kernel reads it.
fn request(verb: Verb, index: u32, parent: Parent, discipline: &str) -> Vec<u8> {
    let (kind, flags) = match verb {
        Verb::Add => (RTM_NEWQDISC, CREATE | EXCL),
        Verb::Change => (RTM_NEWQDISC, 0),
        Verb::Delete => (RTM_DELQDISC, 0),
    };
    let mut attributes = text(TCA_KIND, KIND);
    if verb != Verb::Delete {
        attributes.extend(text(TCA_OPTIONS, discipline));
    }
    message(kind, ACK | flags, &header(index, parent), &attributes)
}

/// `struct tcmsg`; the kernel chooses the handle.
fn header(index: u32, parent: Parent) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.number().to_ne_bytes());
    header
}

/// Gives an interface, or a class of it, a queue of the module's.
///
/// # Errors
/// What the kernel refuses, in words.
pub fn add(name: &str, parent: Parent, discipline: &str) -> Result<(), ModuleError> {
    Kernel::open()?.change(Verb::Add, name, parent, discipline)
}

/// Has such a queue follow another string; the packets that it holds stay.
///
/// # Errors
/// What the kernel refuses, in words.
pub fn change(name: &str, parent: Parent, discipline: &str) -> Result<(), ModuleError> {
    Kernel::open()?.change(Verb::Change, name, parent, discipline)
}

/// Removes such a queue: the interface has the kernel's default again.
///
/// # Errors
/// What the kernel refuses, in words.
pub fn delete(name: &str, parent: Parent) -> Result<(), ModuleError> {
    Kernel::open()?.change(Verb::Delete, name, parent, "")
}

/// The module's queues at an interface, or at all of this namespace.
///
/// # Errors
/// When there is no such interface, or the kernel does not tell.
pub fn installed(name: Option<&str>) -> Result<Vec<Installed>, ModuleError> {
    let index = name.map(index_of).transpose()?;
    let mut all = Kernel::open()?.qdiscs()?;
    all.retain(|qdisc| qdisc.is_ours() && index.is_none_or(|index| qdisc.index == index));
    let names = sys::names();
    for qdisc in &mut all {
        let has = |name: &&String| Interface::index_of(name).is_ok_and(|it| it == qdisc.index);
        let name = names.iter().find(has).cloned();
        qdisc.device = name.unwrap_or_else(|| format!("if{}", qdisc.index));
    }
    Ok(all)
}

fn index_of(name: &str) -> Result<u32, ModuleError> {
    Interface::index_of(name).map_err(|_| ModuleError::NoSuchInterface {
        name: name.to_owned(),
        known: sys::names(),
    })
}

/// The kernel's qdiscs in the calling thread's namespace.
struct Kernel {
    socket: Socket,
}

impl Kernel {
    fn open() -> io::Result<Self> {
        let socket = connect(NETLINK_ROUTE)?;
        // So that a refusal has words. Older kernels give its number alone.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket })
    }

    fn change(
        &mut self,
        verb: Verb,
        name: &str,
        parent: Parent,
        discipline: &str,
    ) -> Result<(), ModuleError> {
        let index = index_of(name)?;
        let there = self
            .qdiscs()?
            .into_iter()
            .find(|qdisc| qdisc.index == index && qdisc.parent == parent)
            .filter(|qdisc| qdisc.handle != 0);
        let place = || format!("`{name}` ({parent})");
        match (verb, there) {
            (Verb::Add, Some(there)) => {
                return Err(ModuleError::Occupied {
                    place: place(),
                    name: name.to_owned(),
                    kind: there.kind,
                });
            }
            (Verb::Change | Verb::Delete, there)
                if !there.as_ref().is_some_and(Installed::is_ours) =>
            {
                return Err(ModuleError::NotThere {
                    place: place(),
                    name: name.to_owned(),
                    kind: there.map(|there| there.kind),
                });
            }
            _ => {}
        }
        self.socket
            .send(&request(verb, index, parent, discipline), 0)?;
        let answer = self.receive()?;
        let (_, body) = messages(&answer).next().unwrap_or_default();
        outcome(body).map_err(|error| ModuleError::refused(&place(), &error, why(body)))
    }

    /// All qdiscs of the namespace.
    fn qdiscs(&mut self) -> io::Result<Vec<Installed>> {
        self.dump()?;
        // Now the kernel knows how much is read at once.
        self.dump()
    }

    fn dump(&mut self) -> io::Result<Vec<Installed>> {
        let all = message(RTM_GETQDISC, DUMP, &[0; HEADER], &[]);
        self.socket.send(&all, 0)?;
        let mut found = Vec::new();
        loop {
            let answer = self.receive()?;
            for (kind, body) in messages(&answer) {
                match kind {
                    DONE => return Ok(found),
                    ERROR => outcome(body)?,
                    RTM_NEWQDISC => found.extend(Installed::read(body)),
                    _ => {}
                }
            }
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut answer = Vec::with_capacity(ANSWER);
        self.socket.recv(&mut answer, 0)?;
        Ok(answer)
    }
}

/// The kernel's words for why a request was refused.
fn why(body: &[u8]) -> Option<&str> {
    let words = find(body.get(REFUSED..)?, NLMSGERR_ATTR_MSG)?;
    std::str::from_utf8(words.strip_suffix(&[0])?).ok()
}

#[cfg(test)]
mod tests;
