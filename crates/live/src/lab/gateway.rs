//! Translation of the clients' addresses, and a router with one in the place of the bridge.
//!
//! Both hosts believe each other to be on the same wire, so that the router has the addresses of
//! the other host's Ethernet on either side. What comes from the server is handed, by whoever
//! has the queues, to [`Lab::INWARD`]; at that device's other end the router takes it in.

use std::io;

use sojourn_bridge::Namespace;

use super::netlink::{Mac, Netlink, VethEnd};
use super::{CLIENT_MAC, Host, Lab, PREFIX, SERVER_MAC, USUAL_WINDOW};
use super::{ethtool, index, netfilter, said, sysctl, wait_until_operational};

/// Of the port towards the client.
pub(super) const LEFT_MAC: Mac = SERVER_MAC;
/// The other end of [`Lab::INWARD`].
const TAKEN: &str = "taken";

/// Makes the calling thread's namespace translate what leaves it.
pub(super) fn translate() -> io::Result<()> {
    netfilter::translate_to(Host::Client.address(0)).map_err(|error| {
        let what = "translate addresses (the kernel needs CONFIG_NF_TABLES and CONFIG_NFT_NAT)";
        said(what, error)
    })?;
    // A segment beyond what was acknowledged, as after a loss, must be translated too.
    sysctl("netfilter/nf_conntrack_tcp_be_liberal", "1")
}

/// Makes a bridge's namespace a router that translates, between so many hosts a side,
/// which hand on trains or not.
pub(super) fn set_up(bridge: &Namespace, hosts: u32, trains: bool) -> io::Result<()> {
    let handle = bridge.raw_fd();
    bridge.run(|| {
        let mut netlink = Netlink::open()?;
        let end = |name: &str, mac| VethEnd {
            name: name.to_owned(),
            mac,
            trains,
        };
        let (near, far) = (end(Lab::INWARD, [2, 3, 0, 0, 0, 1]), end(TAKEN, CLIENT_MAC));
        netlink
            .veth(&near, &far, handle)
            .map_err(|error| said("make a veth pair", error))?;
        for device in [Lab::INWARD, TAKEN] {
            ethtool::set_offloads(device, trains)?;
            netlink.up(index(device)?)?;
        }
        sysctl("ipv4/ip_forward", "1")?;
        // What comes in at one device is answered at another.
        for device in ["all", Lab::LEFT, Lab::RIGHT, TAKEN] {
            sysctl(&format!("ipv4/conf/{device}/rp_filter"), "0")?;
        }
        for (device, host, mac) in [
            (Lab::LEFT, Host::Client, CLIENT_MAC),
            (Lab::RIGHT, Host::Server, SERVER_MAC),
        ] {
            let device = index(device)?;
            netlink.route(device, host.network(), PREFIX + 1, USUAL_WINDOW)?;
            for number in 0..hosts {
                netlink.neighbour(device, host.address(number), mac)?;
            }
        }
        translate()?;
        [Lab::INWARD, TAKEN]
            .into_iter()
            .try_for_each(|device| wait_until_operational(&mut netlink, index(device)?))
    })
}
