//! The few requests about links, addresses and routes that we need, one at a time.
//!
//! Source: `rtnetlink(7)`; `linux/rtnetlink.h`, `if_link.h`, `if_addr.h`, `neighbour.h` and
//! `veth.h`, whose names the numbers bear.

use std::io;
use std::net::Ipv4Addr;

use crate::netlink::{
    ACK, CREATE, ERROR, EXCL, REPLACE, Socket, attribute, connect, find, message, messages,
    outcome, protocols::NETLINK_ROUTE, text, word,
};

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
/// In `IFLA_LINKINFO`; data are those of the kind.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const BRIDGE: &str = "bridge";
const IF_OPER_UP: u8 = 6;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_PERMANENT: u8 = 0x80;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;

const AF_INET: u8 = 2;

/// An Ethernet address.
pub(super) type Mac = [u8; 6];

/// One end of a veth pair.
pub(super) struct VethEnd {
    pub(super) name: String,
    pub(super) mac: Mac,
}

impl VethEnd {
    fn attributes(&self) -> Vec<u8> {
        let attributes = [
            text(IFLA_IFNAME, &self.name),
            attribute(IFLA_ADDRESS, &self.mac),
            attribute(IFLA_MTU, &super::MTU.to_ne_bytes()),
            // One segment per skb, as on a wire: the queues under test must see packets of at
            // most one MTU, not TSO aggregates.
            attribute(IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes()),
        ];
        attributes.concat()
    }
}

/// What the kernel tells of a link: its attributes.
pub(crate) struct Link(Vec<u8>);

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
}

/// `struct ifinfomsg`: the link with this index, and the flags that are set.
fn link(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    // The flags, and which of them change.
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// What a new link is: of this kind, with these attributes of the kind.
fn info(kind: &str, data: &[u8]) -> Vec<u8> {
    let parts = [text(IFLA_INFO_KIND, kind), attribute(IFLA_INFO_DATA, data)];
    attribute(IFLA_LINKINFO, &parts.concat())
}

/// A socket to the routing tables of the namespace that it was opened in.
pub(crate) struct Netlink {
    socket: Socket,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = connect(NETLINK_ROUTE)?;
        Ok(Self { socket })
    }

    /// Makes a veth pair: `near` here, `far` in the namespace with the handle `namespace`.
    pub(super) fn veth(&mut self, near: &VethEnd, far: &VethEnd, namespace: i32) -> io::Result<()> {
        let peer = [
            link(0, 0).to_vec(),
            far.attributes(),
            attribute(IFLA_NET_NS_FD, &namespace.to_ne_bytes()),
        ];
        let data = attribute(VETH_INFO_PEER, &peer.concat());
        let attributes = [near.attributes(), info("veth", &data)].concat();
        self.change(RTM_NEWLINK, CREATE | EXCL, &link(0, 0), &attributes)
    }

    /// Makes a bridge that forwards at once, and neither speaks nor listens itself.
    pub(crate) fn bridge(&mut self, name: &str) -> io::Result<()> {
        let data = [
            attribute(IFLA_BR_FORWARD_DELAY, &0_u32.to_ne_bytes()),
            attribute(IFLA_BR_STP_STATE, &0_u32.to_ne_bytes()),
            attribute(IFLA_BR_MCAST_SNOOPING, &[0]),
        ];
        let attributes = [text(IFLA_IFNAME, name), info(BRIDGE, &data.concat())].concat();
        self.change(RTM_NEWLINK, CREATE | EXCL, &link(0, 0), &attributes)
    }

    pub(crate) fn up(&mut self, index: u32) -> io::Result<()> {
        const IFF_UP: u32 = 1;
        self.change(RTM_SETLINK, 0, &link(index, IFF_UP), &[])
    }

    pub(crate) fn set_alias(&mut self, index: u32, alias: &str) -> io::Result<()> {
        let alias = text(IFLA_IFALIAS, alias);
        self.change(RTM_SETLINK, 0, &link(index, 0), &alias)
    }

    /// Makes a link a port of a bridge.
    pub(crate) fn set_master(&mut self, index: u32, bridge: u32) -> io::Result<()> {
        let master = attribute(IFLA_MASTER, &bridge.to_ne_bytes());
        self.change(RTM_SETLINK, 0, &link(index, 0), &master)
    }

    pub(crate) fn delete(&mut self, index: u32) -> io::Result<()> {
        self.change(RTM_DELLINK, 0, &link(index, 0), &[])
    }

    pub(crate) fn link(&mut self, index: u32) -> io::Result<Link> {
        let answer = self.request(RTM_GETLINK, 0, &link(index, 0), &[])?;
        let attributes = answer
            .as_ref()
            .and_then(|body| body.get(link(0, 0).len()..));
        let attributes = attributes.ok_or_else(|| io::Error::other("netlink tells no link"))?;
        Ok(Link(attributes.to_vec()))
    }

    /// Whether both ends are up, so that packets pass.
    pub(super) fn is_operational(&mut self, index: u32) -> io::Result<bool> {
        let Link(attributes) = self.link(index)?;
        Ok(find(&attributes, IFLA_OPERSTATE) == Some(&[IF_OPER_UP]))
    }

    pub(super) fn address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        // `struct ifaddrmsg`: neither flags nor scope.
        let header = [[AF_INET, prefix, 0, 0], index.to_ne_bytes()];
        let address = address.octets();
        let attributes = [
            attribute(IFA_LOCAL, &address),
            attribute(IFA_ADDRESS, &address),
        ];
        let flags = CREATE | REPLACE;
        self.change(
            RTM_NEWADDR,
            flags,
            header.as_flattened(),
            &attributes.concat(),
        )
    }

    /// A permanent neighbour entry.
    pub(super) fn neighbour(&mut self, index: u32, address: Ipv4Addr, mac: Mac) -> io::Result<()> {
        // `struct ndmsg`: the state has two bytes; neither flags nor a type.
        let [low, high] = u16::from(NUD_PERMANENT).to_ne_bytes();
        let header = [[AF_INET, 0, 0, 0], index.to_ne_bytes(), [low, high, 0, 0]];
        let attributes = [
            attribute(NDA_DST, &address.octets()),
            attribute(NDA_LLADDR, &mac),
        ];
        let flags = CREATE | REPLACE;
        self.change(
            RTM_NEWNEIGH,
            flags,
            header.as_flattened(),
            &attributes.concat(),
        )
    }

    /// A route to `network`/`prefix` over a device, on which connections begin with a window of
    /// this many segments.
    pub(super) fn route(
        &mut self,
        index: u32,
        network: Ipv4Addr,
        prefix: u8,
        initial_window: u32,
    ) -> io::Result<()> {
        // `struct rtmsg`: no source, service or flags.
        let header = [
            [AF_INET, prefix, 0, 0],
            [RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST],
            [0; 4],
        ];
        let window = attribute(RTAX_INITCWND, &initial_window.to_ne_bytes());
        let attributes = [
            attribute(RTA_DST, &network.octets()),
            attribute(RTA_OIF, &index.to_ne_bytes()),
            attribute(RTA_METRICS, &window),
        ];
        let flags = CREATE | REPLACE;
        self.change(
            RTM_NEWROUTE,
            flags,
            header.as_flattened(),
            &attributes.concat(),
        )
    }

    fn change(
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
