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
const RTM_DELNEIGH: u16 = 29;
const RTM_GETNEIGH: u16 = 30;

const IFLA_ADDRESS: u16 = 1;
/// A link's name.
pub const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
/// The link below a VLAN, by index, and its namespace if that is another one.
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_LINK_NETNSID: u16 = 37;
/// In `IFLA_LINKINFO`; data are those of the kind, and those of a port those of its master's kind.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BR_NF_CALL_IPTABLES: u16 = 36;
const IFLA_BR_NF_CALL_IP6TABLES: u16 = 37;
const IFLA_BR_NF_CALL_ARPTABLES: u16 = 38;
const IFLA_BRPORT_STATE: u16 = 1;
/// Whether it sends frames back where they came from.
const IFLA_BRPORT_MODE: u16 = 4;
const IFLA_BRPORT_LEARNING: u16 = 8;
const IFLA_BRPORT_UNICAST_FLOOD: u16 = 9;
const IFLA_BRPORT_PROXYARP: u16 = 10;
const IFLA_BRPORT_PROXYARP_WIFI: u16 = 12;
const IFLA_BRPORT_FLUSH: u16 = 24;
const IFLA_BRPORT_MCAST_FLOOD: u16 = 27;
const IFLA_BRPORT_BCAST_FLOOD: u16 = 30;
const IFLA_BRPORT_GROUP_FWD_MASK: u16 = 31;
const IFLA_BRPORT_NEIGH_SUPPRESS: u16 = 32;
const IFLA_BRPORT_ISOLATED: u16 = 33;
/// Whether it passes on only what comes from known addresses (802.1X), and lets those wait.
const IFLA_BRPORT_LOCKED: u16 = 39;
const IFLA_BRPORT_MAB: u16 = 40;
const NDA_LLADDR: u16 = 2;
const NDA_MASTER: u16 = 9;
/// `struct ndmsg`: its length, and the flag of an entry in a bridge's table.
const NEIGHBOUR: usize = 12;
const NTF_MASTER: u8 = 4;
const AF_BRIDGE: u8 = libc::AF_BRIDGE as u8;
const BRIDGE: &str = "bridge";
const VLAN: &str = "vlan";
/// What a bridge of ours does not do, as values of zero. Kernels ignore kinds that they do not
/// know.
const BRIDGE_OFF: [(u16, &[u8]); 6] = [
    (IFLA_BR_STP_STATE, &[0; 4]),
    (IFLA_BR_VLAN_FILTERING, &[0]),
    (IFLA_BR_MCAST_SNOOPING, &[0]),
    (IFLA_BR_NF_CALL_IPTABLES, &[0]),
    (IFLA_BR_NF_CALL_IP6TABLES, &[0]),
    (IFLA_BR_NF_CALL_ARPTABLES, &[0]),
];
/// Settings of a port of ours: it passes on what the other one gets, and nothing else.
const PORT: [(u16, u8); 11] = [
    (IFLA_BRPORT_MODE, 0),
    (IFLA_BRPORT_LEARNING, 0),
    (IFLA_BRPORT_UNICAST_FLOOD, 1),
    (IFLA_BRPORT_MCAST_FLOOD, 1),
    (IFLA_BRPORT_BCAST_FLOOD, 1),
    (IFLA_BRPORT_PROXYARP, 0),
    (IFLA_BRPORT_PROXYARP_WIFI, 0),
    (IFLA_BRPORT_NEIGH_SUPPRESS, 0),
    (IFLA_BRPORT_ISOLATED, 0),
    (IFLA_BRPORT_LOCKED, 0),
    (IFLA_BRPORT_MAB, 0),
];
const IF_OPER_UP: u8 = 6;
const IFF_UP: u32 = 1;
const BR_STATE_FORWARDING: u8 = 3;
/// The groups 01:80:c2:00:00:00 to 0f that a port of ours passes on: all but 01 (pause frames),
/// which the kernel takes for none (`BR_GROUPFWD_MACPAUSE`).
const GROUPS: u16 = 0xfffd;

/// What the kernel tells of a link: its flags and its attributes.
pub struct Link(u32, Vec<u8>);

impl Link {
    /// From an answer without its header, `struct ifinfomsg` and attributes.
    fn read(body: &[u8]) -> Option<Self> {
        let attributes = body.get(header(0, 0).len()..)?;
        Some(Self(word(body, 2)?, attributes.to_vec()))
    }

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
        self.is(BRIDGE)
    }

    fn is(&self, kind: &str) -> bool {
        let info = find(&self.1, IFLA_LINKINFO).unwrap_or_default();
        Self::text(info, IFLA_INFO_KIND) == Some(kind)
    }

    /// The index of the link below a VLAN, if that is in the same namespace.
    pub(crate) fn below(&self) -> Option<u32> {
        let is_far = find(&self.1, IFLA_LINK_NETNSID).is_some();
        word(find(&self.1, IFLA_LINK)?, 0).filter(|_| !is_far)
    }

    /// Whether it is to be up.
    pub(crate) fn is_up(&self) -> bool {
        self.0 & IFF_UP != 0
    }

    /// Its hardware address.
    fn address(&self) -> Option<&[u8]> {
        find(&self.1, IFLA_ADDRESS)
    }

    /// Whether this bridge calls iptables, ip6tables and arptables, whatever the sysctls say.
    pub(crate) fn calls_netfilter(&self) -> [bool; 3] {
        let info = find(&self.1, IFLA_LINKINFO).unwrap_or_default();
        let data = find(info, IFLA_INFO_DATA).unwrap_or_default();
        [
            IFLA_BR_NF_CALL_IPTABLES,
            IFLA_BR_NF_CALL_IP6TABLES,
            IFLA_BR_NF_CALL_ARPTABLES,
        ]
        .map(|kind| find(data, kind).is_some_and(|it| it != [0]))
    }

    /// Whether it is a bridge that only forwards, as [`Links::make_plain`] leaves it.
    pub(crate) fn is_plain_bridge(&self) -> bool {
        let info = find(&self.1, IFLA_LINKINFO).unwrap_or_default();
        let data = find(info, IFLA_INFO_DATA).unwrap_or_default();
        let is_off = |(kind, off)| find(data, kind).is_none_or(|it| it == off);
        BRIDGE_OFF.into_iter().all(is_off)
    }

    /// Whether it forwards as a port of its bridge.
    pub(crate) fn forwards(&self) -> bool {
        self.of_port(IFLA_BRPORT_STATE) == Some(&[BR_STATE_FORWARDING])
    }

    /// Whether it is a port as ours are: see [`Links::set_port`].
    pub(crate) fn is_plain_port(&self) -> bool {
        let as_ours = |(kind, value)| self.of_port(kind).is_none_or(|it| it == [value]);
        self.of_port(IFLA_BRPORT_GROUP_FWD_MASK) == Some(&GROUPS.to_ne_bytes())
            && PORT.into_iter().all(as_ours)
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

/// An entry of a bridge's address table, as the kernel tells it.
pub(crate) struct Entry(Vec<u8>);

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

    /// Has a bridge only forward, as [`Self::bridge`] makes it: no spanning tree, no VLANs, no
    /// groups that somebody joins, no rules of netfilter for it alone.
    pub(crate) fn make_plain(&mut self, index: u32) -> io::Result<()> {
        for (kind, off) in BRIDGE_OFF {
            let data = attribute(kind, off);
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
        let mut data = PORT.map(|(kind, value)| attribute(kind, &[value])).concat();
        let groups = GROUPS.to_ne_bytes();
        data.extend(attribute(IFLA_BRPORT_GROUP_FWD_MASK, &groups));
        data.extend(attribute(IFLA_BRPORT_FLUSH, &[]));
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

    /// Entries of the address table of a bridge of ours that are not its own and its ports'
    /// addresses: frames for such an address leave by one port alone, or not at all.
    pub(crate) fn entries(&mut self, bridge: u32) -> io::Result<Vec<Entry>> {
        let mut links = self.ports(bridge)?;
        links.push((bridge, self.link(bridge)?));
        let own: Vec<_> = links.iter().filter_map(|(_, it)| it.address()).collect();
        // The header of a link, which the kernel takes here to send one bridge's alone.
        let mut of_bridge = header(0, 0).to_vec();
        of_bridge[0] = AF_BRIDGE;
        of_bridge.extend(attribute(IFLA_MASTER, &bridge.to_ne_bytes()));
        let mut entries = self.list(RTM_GETNEIGH, &of_bridge)?;
        entries.retain(|entry| {
            let attributes = entry.get(NEIGHBOUR..).unwrap_or_default();
            let master = find(attributes, NDA_MASTER).and_then(|it| word(it, 0));
            let address = find(attributes, NDA_LLADDR);
            master == Some(bridge) && address.is_some_and(|it| !own.contains(&it))
        });
        Ok(entries.into_iter().map(Entry).collect())
    }

    /// Removes an entry of a bridge's address table.
    pub(crate) fn remove_entry(&mut self, Entry(entry): &Entry) -> io::Result<()> {
        let port = word(entry, 1).ok_or_else(cut_off)?;
        let address = find(&entry[NEIGHBOUR..], NDA_LLADDR).ok_or_else(cut_off)?;
        let mut header = [0; NEIGHBOUR];
        header[0] = AF_BRIDGE;
        header[4..8].copy_from_slice(&port.to_ne_bytes());
        header[10] = NTF_MASTER;
        self.change(RTM_DELNEIGH, 0, &header, &attribute(NDA_LLADDR, address))
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
        Link::read(&body).ok_or_else(cut_off)
    }

    /// The VLAN interfaces on an interface of this namespace: index and link.
    pub(crate) fn vlans(&self) -> io::Result<Vec<(u32, Link)>> {
        let of_kind = info(VLAN, &[]);
        let answers = self.list(RTM_GETLINK, &[&header(0, 0)[..], &of_kind].concat())?;
        let vlans = answers
            .iter()
            .filter_map(|body| Some((word(body, 1)?, Link::read(body)?)));
        Ok(vlans.filter(|(_, link)| link.is(VLAN)).collect())
    }

    /// The ports of a bridge of this namespace: index and link.
    pub(crate) fn ports(&self, bridge: u32) -> io::Result<Vec<(u32, Link)>> {
        let of_bridge = attribute(IFLA_MASTER, &bridge.to_ne_bytes());
        let answers = self.list(RTM_GETLINK, &[&header(0, 0)[..], &of_bridge].concat())?;
        let links = answers
            .iter()
            .filter_map(|body| Some((word(body, 1)?, Link::read(body)?)));
        // A kernel may send all.
        let ports = links.filter(|(_, link)| link.master() == Some(bridge));
        Ok(ports.collect())
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
