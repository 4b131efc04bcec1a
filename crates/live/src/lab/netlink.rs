//! Requests about veth pairs, addresses and routes, one at a time.
//!
//! Source: `rtnetlink(7)`; `linux/rtnetlink.h`, `if_link.h`, `if_addr.h`, `neighbour.h` and
//! `veth.h`, whose names the numbers bear.

use sojourn_bridge::links::{IFLA_IFNAME, Links, RTM_NEWLINK, header, info};
use sojourn_bridge::netlink::{CREATE, EXCL, REPLACE, attribute, text};
use std::io;
use std::net::Ipv4Addr;

const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;

const IFLA_ADDRESS: u16 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const VETH_INFO_PEER: u16 = 1;

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
    /// Whether it hands on trains of segments, as one packet each.
    pub(super) trains: bool,
}

impl VethEnd {
    fn attributes(&self) -> Vec<u8> {
        let mut attributes = vec![
            text(IFLA_IFNAME, &self.name),
            attribute(IFLA_ADDRESS, &self.mac),
            attribute(IFLA_MTU, &super::MTU.to_ne_bytes()),
        ];
        if !self.trains {
            // One segment per skb, as on a wire: the queues under test must see packets of at
            // most one MTU, not TSO aggregates.
            attributes.push(attribute(IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes()));
        }
        attributes.concat()
    }
}

/// A socket to the routing tables of the namespace that it was opened in.
pub(super) struct Netlink {
    links: Links,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let links = Links::open()?;
        Ok(Self { links })
    }

    pub(super) fn up(&mut self, index: u32) -> io::Result<()> {
        self.links.up(index)
    }

    /// Whether both ends are up, so that packets pass.
    pub(super) fn is_operational(&mut self, index: u32) -> io::Result<bool> {
        Ok(self.links.link(index)?.is_operational())
    }

    /// Makes a veth pair: `near` here, `far` in the namespace with the handle `namespace`.
    pub(super) fn veth(&mut self, near: &VethEnd, far: &VethEnd, namespace: i32) -> io::Result<()> {
        let peer = [
            header(0, 0).to_vec(),
            far.attributes(),
            attribute(IFLA_NET_NS_FD, &namespace.to_ne_bytes()),
        ];
        let data = attribute(VETH_INFO_PEER, &peer.concat());
        let attributes = [near.attributes(), info("veth", &data)].concat();
        self.links
            .change(RTM_NEWLINK, CREATE | EXCL, &header(0, 0), &attributes)
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
        self.links.change(
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
        self.links.change(
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
        self.links.change(
            RTM_NEWROUTE,
            flags,
            header.as_flattened(),
            &attributes.concat(),
        )
    }
}
