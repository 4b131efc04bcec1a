//! Requests about links, one at a time: what is known of one, kernel bridges and their ports.
//!
//! Source: `rtnetlink(7)`; `linux/rtnetlink.h` and `if_link.h`, whose names the numbers bear.

use crate::netlink::{
    ACK, CREATE, ERROR, EXCL, Socket, attribute, connect, find, message, messages, outcome,
    protocols::NETLINK_ROUTE, text, word,
};
use std::io;

/// A new link.
pub const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;

/// A link's name.
pub const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
/// In `IFLA_LINKINFO`; data are those of the kind.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const BRIDGE: &str = "bridge";
const IF_OPER_UP: u8 = 6;

/// What the kernel tells of a link: its attributes.
pub struct Link(Vec<u8>);

impl Link {
    fn text(attributes: &[u8], kind: u16) -> Option<&str> {
        let value = find(attributes, kind)?;
        std::str::from_utf8(value.strip_suffix(&[0])?).ok()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        Self::text(&self.0, IFLA_IFNAME)
    }

    pub(crate) fn alias(&self) -> Option<&str> {
        Self::text(&self.0, IFLA_IFALIAS)
    }

    /// The index of what it is a port of.
    pub(crate) fn master(&self) -> Option<u32> {
        word(find(&self.0, IFLA_MASTER)?, 0)
    }

    pub(crate) fn is_bridge(&self) -> bool {
        let info = find(&self.0, IFLA_LINKINFO).unwrap_or_default();
        Self::text(info, IFLA_INFO_KIND) == Some(BRIDGE)
    }

    /// Whether both ends are up, so that packets pass.
    pub fn is_operational(&self) -> bool {
        find(&self.0, IFLA_OPERSTATE) == Some(&[IF_OPER_UP])
    }
}

/// `struct ifinfomsg`: the link with this index, and the flags that are set.
pub fn header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    // The flags, and which of them change.
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// What a new link is: of this kind, with these attributes of the kind.
pub fn info(kind: &str, data: &[u8]) -> Vec<u8> {
    let parts = [text(IFLA_INFO_KIND, kind), attribute(IFLA_INFO_DATA, data)];
    attribute(IFLA_LINKINFO, &parts.concat())
}

/// A socket to the links of the namespace that it was opened in.
pub struct Links {
    socket: Socket,
}

impl Links {
    /// Opens it.
    ///
    /// # Errors
    /// What `socket(2)` refuses.
    pub fn open() -> io::Result<Self> {
        let socket = connect(NETLINK_ROUTE)?;
        Ok(Self { socket })
    }

    /// Makes a bridge that forwards at once, and neither speaks nor listens itself.
    pub(crate) fn bridge(&mut self, name: &str) -> io::Result<()> {
        let data = [
            attribute(IFLA_BR_FORWARD_DELAY, &0_u32.to_ne_bytes()),
            attribute(IFLA_BR_STP_STATE, &0_u32.to_ne_bytes()),
            attribute(IFLA_BR_MCAST_SNOOPING, &[0]),
        ];
        let attributes = [text(IFLA_IFNAME, name), info(BRIDGE, &data.concat())].concat();
        self.change(RTM_NEWLINK, CREATE | EXCL, &header(0, 0), &attributes)
    }

    /// Brings a link up.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        const IFF_UP: u32 = 1;
        self.change(RTM_SETLINK, 0, &header(index, IFF_UP), &[])
    }

    pub(crate) fn set_alias(&mut self, index: u32, alias: &str) -> io::Result<()> {
        let alias = text(IFLA_IFALIAS, alias);
        self.change(RTM_SETLINK, 0, &header(index, 0), &alias)
    }

    /// Makes a link a port of a bridge.
    pub(crate) fn set_master(&mut self, index: u32, bridge: u32) -> io::Result<()> {
        let master = attribute(IFLA_MASTER, &bridge.to_ne_bytes());
        self.change(RTM_SETLINK, 0, &header(index, 0), &master)
    }

    pub(crate) fn delete(&mut self, index: u32) -> io::Result<()> {
        self.change(RTM_DELLINK, 0, &header(index, 0), &[])
    }

    /// What is known of a link.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn link(&mut self, index: u32) -> io::Result<Link> {
        let answer = self.request(RTM_GETLINK, 0, &header(index, 0), &[])?;
        let attributes = answer
            .as_ref()
            .and_then(|body| body.get(header(0, 0).len()..));
        let attributes = attributes.ok_or_else(|| io::Error::other("netlink tells no link"))?;
        Ok(Link(attributes.to_vec()))
    }

    /// Makes a request that is answered by an acknowledgement alone.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn change(
        &mut self,
        kind: u16,
        flags: u16,
        header: &[u8],
        attributes: &[u8],
    ) -> io::Result<()> {
        self.request(kind, ACK | flags, header, attributes)
            .map(drop)
    }

    /// Sends one request and reads its one answer: nothing in an acknowledgement.
    fn request(
        &mut self,
        kind: u16,
        flags: u16,
        header: &[u8],
        attributes: &[u8],
    ) -> io::Result<Option<Vec<u8>>> {
        let request = message(kind, flags, header, attributes);
        self.socket.send(&request, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        match messages(&answer).next() {
            Some((ERROR, body)) => outcome(body).map(|()| None),
            Some((_, body)) => Ok(Some(body.to_vec())),
            None => Err(io::Error::other("netlink's answer is cut off")),
        }
    }
}
