//! The device between the kernel under test and the script: a TUN device in a namespace of its own.
//! Source: `rtnetlink(7)` and the kernel's `linux/rtnetlink.h`, `if_addr.h` and `pkt_sched.h` for
//! addresses, routes and queues, `linux/virtio_net.h` for the header of packets.

use crate::packet::{Ends, build, parse};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::time::{ClockId, clock_gettime};
use sojourn_bridge::links::{Links, header};
use sojourn_bridge::netlink::{CREATE, EXCL, REPLACE, attribute, text};
use sojourn_bridge::{Namespace, tun};
use sojourn_packetdrill::Packet;
use sojourn_units::Time;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;

/// The device's name, by which scripts know it.
pub(crate) const NAME: &str = "tun0";
/// Ports of sockets that listen, and of the peer that is connected to.
pub(crate) const PORT: u16 = 8080;
/// Addresses of the kernel and of the peer, as Linux's runner of the scripts has them: cookies of
/// Fast Open depend on them.
const LOCAL: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(192, 168, 0, 1),
    Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1),
);
const PEER: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(192, 0, 2, 1),
    Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1),
);

/// The device's MTU over IPv6, as in Linux's runner of the scripts: the MSS is 1460 then too.
const MTU_V6: u32 = 1520;
/// Scripts begin at multiples of this time of the kernel's clock, at least one after their device
/// is there. So they do not depend on the time that those before them took: its timers go by
/// ticks. And the kernel adds the route of an IPv6 address later than it answers the request.
const BEAT: u64 = 100_000_000;

const RTM_SETLINK: u16 = 19;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWQDISC: u16 = 36;
const IFLA_MTU: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 2;
const RTA_OIF: u16 = 4;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RTN_UNICAST: u8 = 1;
const TCA_KIND: u16 = 1;
const TC_H_ROOT: u32 = 0xffff_ffff;

/// `struct virtio_net_hdr`, of which the kernel leaves out the last field here.
const HEADER: usize = 10;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
/// More than a packet of several segments.
const LONGEST: usize = HEADER + (1 << 17);

/// The device, its other end in our hands.
pub(crate) struct Device {
    pub(crate) file: File,
    index: u32,
    pub(crate) v6: bool,
    buffer: Vec<u8>,
}

impl Device {
    /// Moves the calling thread to a new namespace, with the device in it.
    pub(crate) fn new(v6: bool) -> io::Result<Self> {
        Namespace::new()?.enter()?;
        let file = tun(NAME)?;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let index = name_to_index(&socket, NAME)?;
        let device = Self {
            file,
            index,
            v6,
            buffer: vec![0; LONGEST],
        };
        let mut links = Links::open()?;
        if v6 {
            let mtu = attribute(IFLA_MTU, &MTU_V6.to_ne_bytes());
            links.change(RTM_SETLINK, 0, &header(index, 0), &mtu)?;
        }
        links.up(index)?;
        device.address(&mut links)?;
        let since_beat = clock().as_nanos() % BEAT;
        thread::sleep(Duration::from_nanos(2 * BEAT - since_beat));
        Ok(device)
    }

    fn address(&self, links: &mut Links) -> io::Result<()> {
        let (family, prefix, octets) = if self.v6 {
            (libc::AF_INET6, 64, LOCAL.1.octets().to_vec())
        } else {
            (libc::AF_INET, 16, LOCAL.0.octets().to_vec())
        };
        let family = family as u8;
        // `struct ifaddrmsg`: family, prefix, flags, scope, index.
        let header = [[family, prefix, IFA_F_NODAD, 0], self.index.to_ne_bytes()];
        let attributes = [
            attribute(IFA_LOCAL, &octets),
            attribute(IFA_ADDRESS, &octets),
        ];
        let flags = CREATE | REPLACE;
        links.change(
            RTM_NEWADDR,
            flags,
            header.as_flattened(),
            &attributes.concat(),
        )?;
        // `struct rtmsg`: a default route.
        let header = [
            [family, 0, 0, 0],
            [RT_TABLE_MAIN, RTPROT_STATIC, 0, RTN_UNICAST],
            [0; 4],
        ];
        let out = attribute(RTA_OIF, &self.index.to_ne_bytes());
        links.change(RTM_NEWROUTE, flags, header.as_flattened(), &out)
    }

    /// Gives the device a queue of this kind, with its default parameters.
    pub(crate) fn queue(&self, kind: &str, replace: bool) -> io::Result<()> {
        // `struct tcmsg`: index, handle, parent.
        let header = [0, self.index, 0, TC_H_ROOT, 0].map(u32::to_ne_bytes);
        let flags = CREATE | if replace { REPLACE } else { EXCL };
        let kind = text(TCA_KIND, kind);
        Links::open()?.change(RTM_NEWQDISC, flags, header.as_flattened(), &kind)
    }

    /// Addresses of the kernel and of the peer.
    pub(crate) fn addresses(&self) -> [IpAddr; 2] {
        if self.v6 {
            [LOCAL.1.into(), PEER.1.into()]
        } else {
            [LOCAL.0.into(), PEER.0.into()]
        }
    }

    /// Where sockets listen: at all addresses.
    pub(crate) fn any(&self) -> SocketAddr {
        let any: IpAddr = if self.v6 {
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        SocketAddr::new(any, PORT)
    }

    /// Where sockets connect to.
    pub(crate) fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.addresses()[1], PORT)
    }

    /// A packet of the peer arrives at the kernel, put together of segments of `mss` if it is
    /// longer. Whether it could be made.
    pub(crate) fn arrive(
        &mut self,
        packet: &Packet,
        ends: Ends,
        mss: Option<u16>,
    ) -> io::Result<bool> {
        let Some(bytes) = build(packet, ends) else {
            return Ok(false);
        };
        let mut header = [0; HEADER];
        if let Some(mss) = mss.filter(|&mss| packet.len > mss.into()) {
            // As packetdrill, without the length of the headers and with a whole checksum: how much
            // memory the kernel takes for the packet, and so its window, depends on that length.
            header[1] = if self.v6 { GSO_TCP6 } else { GSO_TCP4 };
            header[4..6].copy_from_slice(&mss.to_ne_bytes());
        }
        let written = self.file.write(&[&header, &bytes[..]].concat())?;
        Ok(written > HEADER)
    }

    /// The next packet of TCP that the kernel has sent.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Packet, Ends)>> {
        loop {
            let len = match self.file.read(&mut self.buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            if let Some(found) = self.buffer.get(HEADER..len).and_then(parse) {
                return Ok(Some(found));
            }
        }
    }
}

/// The kernel's clock.
pub(crate) fn clock() -> Time {
    let time = clock_gettime(ClockId::Monotonic);
    Time::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
