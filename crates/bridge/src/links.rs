//! Requests about links, one at a time: what is known of one, kernel bridges and their ports.
//!
//! Source: `rtnetlink(7)`; `linux/rtnetlink.h` and `if_link.h`, whose names the numbers bear.

use crate::netlink::{
    ACK, CREATE, ERROR, EXCL, Socket, attribute, connect, cut_off, find, list, message, messages,
    outcome, protocols::NETLINK_ROUTE, text, word,
};
use std::io;

/// A new link.
pub const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;

/// A link's name.
pub const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
/// In `IFLA_LINKINFO`; data are those of the kind, and those of a port those of its master's kind.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BRPORT_STATE: u16 = 1;
const IFLA_BRPORT_LEARNING: u16 = 8;
const IFLA_BRPORT_UNICAST_FLOOD: u16 = 9;
const IFLA_BRPORT_FLUSH: u16 = 24;
const IFLA_BRPORT_MCAST_FLOOD: u16 = 27;
const IFLA_BRPORT_BCAST_FLOOD: u16 = 30;
const IFLA_BRPORT_GROUP_FWD_MASK: u16 = 31;
const IFLA_BRPORT_ISOLATED: u16 = 33;
const BRIDGE: &str = "bridge";
const IF_OPER_UP: u8 = 6;
const IFF_UP: u32 = 1;
const BR_STATE_FORWARDING: u8 = 3;
/// The groups 01:80:c2:00:00:00 to 0f that a port of ours passes on: all but 01 (pause frames),
/// which the kernel takes for none (`BR_GROUPFWD_MACPAUSE`).
const GROUPS: u16 = 0xfffd;

/// What the kernel tells of a link: its flags and its attributes.
pub struct Link(u32, Vec<u8>);

impl Link {
    fn text(attributes: &[u8], kind: u16) -> Option<&str> {
        let value = find(attributes, kind)?;
        std::str::from_utf8(value.strip_suffix(&[0])?).ok()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        Self::text(&self.1, IFLA_IFNAME)
    }

    pub(crate) fn alias(&self) -> Option<&str> {
        Self::text(&self.1, IFLA_IFALIAS)
    }

    /// The index of what it is a port of.
    pub(crate) fn master(&self) -> Option<u32> {
        word(find(&self.1, IFLA_MASTER)?, 0)
    }

    /// Its largest packet in bytes.
    pub(crate) fn mtu(&self) -> Option<u32> {
        word(find(&self.1, IFLA_MTU)?, 0)
    }

    pub(crate) fn is_bridge(&self) -> bool {
        let info = find(&self.1, IFLA_LINKINFO).unwrap_or_default();
        Self::text(info, IFLA_INFO_KIND) == Some(BRIDGE)
    }

    /// Whether it is to be up.
    pub(crate) fn is_up(&self) -> bool {
        self.0 & IFF_UP != 0
    }

    /// Whether it is a bridge that looks at neither VLANs nor a spanning tree.
    pub(crate) fn is_plain_bridge(&self) -> bool {
        let info = find(&self.1, IFLA_LINKINFO).unwrap_or_default();
        let data = find(info, IFLA_INFO_DATA).unwrap_or_default();
        let is_zero = |kind| find(data, kind).is_none_or(|it| it.iter().all(|byte| *byte == 0));
        is_zero(IFLA_BR_STP_STATE) && is_zero(IFLA_BR_VLAN_FILTERING)
    }

    /// Whether it forwards as a port of its bridge.
    pub(crate) fn forwards(&self) -> bool {
        self.of_port(IFLA_BRPORT_STATE) == Some(&[BR_STATE_FORWARDING])
    }

    /// Whether it is a port as ours are: see [`Links::set_port`].
    pub(crate) fn is_plain_port(&self) -> bool {
        self.of_port(IFLA_BRPORT_LEARNING) == Some(&[0])
            && self.of_port(IFLA_BRPORT_UNICAST_FLOOD) == Some(&[1])
            && self.of_port(IFLA_BRPORT_GROUP_FWD_MASK) == Some(&GROUPS.to_ne_bytes())
            && self.of_port(IFLA_BRPORT_ISOLATED) != Some(&[1])
    }

    fn of_port(&self, kind: u16) -> Option<&[u8]> {
        let info = find(&self.1, IFLA_LINKINFO)?;
        find(find(info, IFLA_INFO_SLAVE_DATA)?, kind)
    }

    /// Whether both ends are up, so that packets pass.
    pub fn is_operational(&self) -> bool {
        find(&self.1, IFLA_OPERSTATE) == Some(&[IF_OPER_UP])
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

    /// Has a bridge look at neither VLANs nor a spanning tree, as [`Self::bridge`] makes it.
    pub(crate) fn make_plain(&mut self, index: u32) -> io::Result<()> {
        for data in [
            attribute(IFLA_BR_STP_STATE, &0_u32.to_ne_bytes()),
            attribute(IFLA_BR_VLAN_FILTERING, &[0]),
        ] {
            let changed = self.change(RTM_NEWLINK, 0, &header(index, 0), &info(BRIDGE, &data));
            match changed {
                // Nor does a kernel that cannot.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                changed => changed?,
            }
        }
        Ok(())
    }

    /// Has a port of a bridge pass on what the other one gets, whoever it is for: it learns
    /// nothing, since a host that sends with another's address would take its frames, and forgets
    /// what it has learned; the groups of LLDP, EAPOL, LACP and others pass. `forwards` has it
    /// forward too, which is refused while it is down.
    pub(crate) fn set_port(&mut self, index: u32, forwards: bool) -> io::Result<()> {
        let mut data = [
            attribute(IFLA_BRPORT_LEARNING, &[0]),
            attribute(IFLA_BRPORT_UNICAST_FLOOD, &[1]),
            attribute(IFLA_BRPORT_MCAST_FLOOD, &[1]),
            attribute(IFLA_BRPORT_BCAST_FLOOD, &[1]),
            attribute(IFLA_BRPORT_GROUP_FWD_MASK, &GROUPS.to_ne_bytes()),
            attribute(IFLA_BRPORT_ISOLATED, &[0]),
            attribute(IFLA_BRPORT_FLUSH, &[]),
        ]
        .concat();
        if forwards {
            data.extend(attribute(IFLA_BRPORT_STATE, &[BR_STATE_FORWARDING]));
        }
        let parts = [
            text(IFLA_INFO_SLAVE_KIND, BRIDGE),
            attribute(IFLA_INFO_SLAVE_DATA, &data),
        ];
        let attributes = attribute(IFLA_LINKINFO, &parts.concat());
        self.change(RTM_NEWLINK, 0, &header(index, 0), &attributes)
    }

    /// Brings a link up.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
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
        let body = self.ask(RTM_GETLINK, &header(index, 0), &[])?;
        let flags = word(&body, 2);
        let attributes = body.get(header(0, 0).len()..);
        let link = flags
            .zip(attributes)
            .map(|(flags, attributes)| Link(flags, attributes.to_vec()));
        link.ok_or_else(cut_off)
    }

    /// Makes a request that is answered by what was asked for: the answer without its header.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        header: &[u8],
        attributes: &[u8],
    ) -> io::Result<Vec<u8>> {
        let answer = self.request(kind, 0, header, attributes)?;
        answer.ok_or_else(|| io::Error::other("netlink tells nothing"))
    }

    /// All that there is of a kind, without the headers of the answers.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub(crate) fn list(&self, kind: u16, header: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        list(&self.socket, kind, header)
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
            None => Err(cut_off()),
        }
    }
}
