//! Network interfaces by name, and the offloads of theirs that would spoil latency.

use crate::forwarding::BridgeError;
use crate::links::Links;
use crate::sys::{self, Request};
use std::io;

/// An interface of the namespace that it was looked up in.
#[derive(Clone, Debug)]
pub struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
    /// Its Ethernet address, as `ip link` shows it.
    pub(crate) address: String,
}

const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const FLAG_RX_VLAN: u32 = 1 << 8;
const FLAG_LRO: u32 = 1 << 15;

impl Interface {
    /// The index of the interface with this name.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn index_of(name: &str) -> io::Result<u32> {
        Request::about(name)?.index()
    }

    /// The name that the interface with this index has now.
    pub(crate) fn name_of(index: u32) -> io::Result<String> {
        let link = Links::open()?.link(index)?;
        let name = link.name().map(str::to_owned);
        name.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Looks it up in the calling thread's namespace, in whatever state it is.
    pub(crate) fn look_up(name: &str) -> io::Result<Self> {
        let mut asked = Request::about(name)?;
        let address = asked.address()?.map(|byte| format!("{byte:02x}"));
        Ok(Self {
            name: name.to_owned(),
            index: asked.index()?,
            mtu: asked.mtu()?,
            address: address.join(":"),
        })
    }

    /// Looks up one that can be bridged in the calling thread's namespace.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn find(name: &str) -> Result<Self, BridgeError> {
        let find = || {
            let mut asked = Request::about(name)?;
            Ok((Self::look_up(name)?, asked.kind()?, asked.is_up()?))
        };
        let (found, kind, is_up) =
            find().map_err(|error: io::Error| match error.raw_os_error() {
                Some(libc::ENODEV) => BridgeError::NoSuchInterface {
                    name: name.to_owned(),
                    known: sys::names(),
                },
                _ => BridgeError::io(&format!("look up interface `{name}`"), error),
            })?;
        if kind != libc::ARPHRD_ETHER {
            return Err(BridgeError::NotEthernet(name.to_owned()));
        }
        if !is_up {
            return Err(BridgeError::Down(name.to_owned()));
        }
        Ok(found)
    }
}

/// The first of these interfaces, and of the VLAN interfaces on them, by whose address the host can
/// be reached.
pub(crate) fn addressed(links: &mut Links, interfaces: &[u32]) -> Option<String> {
    let vlans = links.vlans().unwrap_or_default();
    let mut indexes = interfaces.to_vec();
    let mut names = Vec::new();
    let mut at = 0;
    // A VLAN may be on another one.
    while let Some(&index) = indexes.get(at) {
        let link = links.link(index);
        names.extend(link.ok().and_then(|link| link.name().map(str::to_owned)));
        let on = vlans.iter().filter(|(_, vlan)| vlan.below() == Some(index));
        indexes.extend(on.map(|(vlan, _)| *vlan));
        at += 1;
    }
    names.into_iter().find(|name| has_address(name))
}

/// Whether the host can be reached by an address of the interface: any of IPv4, and those of IPv6
/// beyond the link.
fn has_address(name: &str) -> bool {
    /// Scopes of `/proc/net/if_inet6`: on this host, on this link.
    const NEAR: [&str; 2] = ["10", "20"];
    if Request::about(name).is_ok_and(|mut asked| asked.has_ipv4_address()) {
        return true;
    }
    // Address, index, prefix, scope, flags, name; no such file without IPv6.
    let list = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    list.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [_, _, _, scope, _, device] if device == name && !NEAR.contains(&scope))
    })
}

/// The offloads of an interface that are on and gather packets before a queue sees them, by
/// `ethtool`'s short names: `gro`, `lro`.
///
/// # Errors
/// When there is no such interface.
pub fn gathering(name: &str) -> io::Result<Vec<&'static str>> {
    Offloads::on(name).map(Offloads::gathering)
}

/// Offloads that gather packets into bursts before a queue sees them, and the one that takes VLAN
/// tags out of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offloads {
    pub(crate) gro: bool,
    pub(crate) lro: bool,
    pub(crate) rx_vlan: bool,
}

impl Offloads {
    /// Those of an interface that are on. What a driver does not know it does not have either.
    pub(crate) fn on(name: &str) -> io::Result<Self> {
        let mut asked = Request::about(name)?;
        let flags = asked.ethtool(GET_FLAGS, 0).unwrap_or(0);
        Ok(Self {
            gro: asked.ethtool(GET_GRO, 0).unwrap_or(0) != 0,
            lro: flags & FLAG_LRO != 0,
            rx_vlan: flags & FLAG_RX_VLAN != 0,
        })
    }

    /// Names of those that gather packets.
    fn gathering(self) -> Vec<&'static str> {
        let both = [(self.gro, "gro"), (self.lro, "lro")];
        both.into_iter()
            .filter_map(|(is_on, name)| is_on.then_some(name))
            .collect()
    }

    /// Turns these on.
    pub(crate) fn turn_on(self, name: &str) -> io::Result<()> {
        self.set(name, true)
    }

    fn set(self, name: &str, on: bool) -> io::Result<()> {
        let mut asked = Request::about(name)?;
        if self.gro {
            asked.ethtool(SET_GRO, on.into())?;
        }
        let mut these = 0;
        for (is_meant, flag) in [(self.lro, FLAG_LRO), (self.rx_vlan, FLAG_RX_VLAN)] {
            these |= if is_meant { flag } else { 0 };
        }
        if these != 0 {
            let flags = asked.ethtool(GET_FLAGS, 0)? & !these;
            asked.ethtool(SET_FLAGS, flags | if on { these } else { 0 })?;
        }
        Ok(())
    }
}

/// Offloads of an interface that are off as long as this lives.
#[derive(Debug)]
pub(crate) struct OffloadsOff {
    /// It may get another name meanwhile.
    interface: u32,
    offloads: Offloads,
}

impl OffloadsOff {
    /// Turns these off.
    pub(crate) fn new(interface: &Interface, offloads: Offloads) -> io::Result<Self> {
        offloads.set(&interface.name, false)?;
        Ok(Self {
            interface: interface.index,
            offloads,
        })
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // The interface may be gone by now, and its settings with it.
        let _ = Interface::name_of(self.interface).and_then(|name| self.offloads.turn_on(&name));
    }
}
