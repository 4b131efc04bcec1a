//! A line for tc about a queue that tc does not know, carried out by rtnetlink.

use sojourn_bridge::Interface;
use sojourn_bridge::netlink::{
    ACK, CREATE, EXCL, connect, message, messages, outcome, protocols::NETLINK_ROUTE, text,
};
use std::io;

/// The request of rtnetlink to make or change a queue.
pub(crate) const RTM_NEWQDISC: u16 = 36;
/// Attributes of a message about a queue.
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
/// The parent of a device's own queue.
const ROOT: u32 = u32::MAX;

/// What a line asks for.
pub(super) struct Asked<'a> {
    /// Whether the queue is there already.
    changes: bool,
    device: &'a str,
    /// The class that it belongs to, by major and minor number.
    parent: u32,
    handle: u32,
    /// The words of the queue itself.
    pub(super) queue: &'a str,
}

impl<'a> Asked<'a> {
    /// From `qdisc add dev d parent 1:1 handle 10: dualpi2 …`.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        let rest = line.strip_prefix("qdisc ")?;
        let (verb, rest) = rest.split_once(" dev ")?;
        let (device, rest) = rest.split_once(' ')?;
        let (parent, rest) = rest.split_once(" handle ")?;
        let (handle, queue) = rest.split_once(": ")?;
        let parent = match parent.strip_prefix("parent ") {
            Some(class) => {
                let (major, minor) = class.split_once(':')?;
                number(major)? << 16 | number(minor)?
            }
            None => ROOT,
        };
        Some(Self {
            changes: verb == "change",
            device,
            parent,
            handle: number(handle)? << 16,
            queue,
        })
    }

    /// The message for a device with this number; `options` is an attribute.
    pub(super) fn message(&self, index: u32, kind: &str, options: Vec<u8>) -> Vec<u8> {
        let mut header = [0; 20];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        header[8..12].copy_from_slice(&self.handle.to_ne_bytes());
        header[12..16].copy_from_slice(&self.parent.to_ne_bytes());
        let flags = if self.changes {
            ACK
        } else {
            ACK | CREATE | EXCL
        };
        let attributes = [text(TCA_KIND, kind), options].concat();
        message(RTM_NEWQDISC, flags, &header, &attributes)
    }

    /// Has the kernel do it, in the calling thread's namespace.
    pub(super) fn carry_out(&self, kind: &str, options: Vec<u8>) -> io::Result<()> {
        let socket = connect(NETLINK_ROUTE)?;
        let index = Interface::index_of(self.device)?;
        socket.send(&self.message(index, kind, options), 0)?;
        let (answer, _) = socket.recv_from_full()?;
        let (_, body) = messages(&answer).next().unwrap_or_default();
        outcome(body)
    }
}

/// The error of a line that the kernel refuses.
pub(super) fn refused(line: &str, why: &str) -> io::Error {
    io::Error::other(format!("the kernel refuses {line}: {why}"))
}
