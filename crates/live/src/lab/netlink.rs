//! The few rtnetlink requests that the lab needs, one at a time.

use std::io;
use std::net::Ipv4Addr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// An Ethernet address.
pub(super) type Mac = [u8; 6];

/// One end of a veth pair.
pub(super) struct VethEnd {
    pub(super) name: String,
    pub(super) mac: Mac,
}

impl VethEnd {
    fn attributes(&self) -> Vec<LinkAttribute> {
        vec![
            LinkAttribute::IfName(self.name.clone()),
            LinkAttribute::Address(self.mac.to_vec()),
            LinkAttribute::Mtu(super::MTU),
            // One segment per skb, as on a wire: the queues under test must see packets of at
            // most one MTU, not TSO aggregates.
            LinkAttribute::GsoMaxSegs(1),
        ]
    }
}

/// A socket to the routing tables of the namespace that it was opened in.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Makes a veth pair: `near` here, `far` in the namespace with the handle `namespace`.
    pub(super) fn veth(&mut self, near: &VethEnd, far: &VethEnd, namespace: i32) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes = far.attributes();
        peer.attributes.push(LinkAttribute::NetNsFd(namespace));
        let mut link = LinkMessage::default();
        link.attributes = near.attributes();
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(
            RouteNetlinkMessage::NewLink(link),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    pub(crate) fn up(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Whether both ends are up, so that packets pass.
    pub(super) fn is_operational(&mut self, index: u32) -> io::Result<bool> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        let reply = self.request(RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST)?;
        let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = reply else {
            return Ok(false);
        };
        Ok(link
            .attributes
            .contains(&LinkAttribute::OperState(State::Up)))
    }

    pub(super) fn address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(address.into()),
            AddressAttribute::Address(address.into()),
        ];
        self.change(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// A permanent neighbour entry.
    pub(super) fn neighbour(&mut self, index: u32, address: Ipv4Addr, mac: Mac) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.header.kind = RouteType::Unspec;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.change(
            RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
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
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(network)),
            RouteAttribute::Oif(index),
            RouteAttribute::Metrics(vec![RouteMetric::InitCwnd(initial_window)]),
        ];
        self.change(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, NLM_F_REQUEST | NLM_F_ACK | flags)
            .map(drop)
    }

    /// Sends one request and reads its one answer.
    pub(crate) fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(|error| io::Error::other(format!("netlink answer: {error}")))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            payload => Ok(payload),
        }
    }
}
