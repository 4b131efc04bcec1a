//! Network interfaces by name, and the offloads of theirs that would spoil latency.

use crate::bridge::BridgeError;
use crate::sys::{self, Request};
use std::io;

/// An interface of the namespace that it was looked up in.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
}

const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const FLAG_LRO: u32 = 1 << 15;

impl Interface {
    /// The index of the interface with this name.
    pub(crate) fn index_of(name: &str) -> io::Result<u32> {
        Request::about(name)?.index()
    }

    /// Looks it up in the calling thread's namespace.
    pub(crate) fn find(name: &str) -> Result<Self, BridgeError> {
        let find = || {
            let mut asked = Request::about(name)?;
            Ok((asked.index()?, asked.mtu()?, asked.kind()?, asked.is_up()?))
        };
        let (index, mtu, kind, is_up) =
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
        Ok(Self {
            name: name.to_owned(),
            index,
            mtu,
        })
    }
}

/// Whether the interface has an IPv4 address.
pub(crate) fn has_ipv4_address(name: &str) -> bool {
    Request::about(name).is_ok_and(|mut asked| asked.has_ipv4_address())
}

/// GRO and LRO of an interface, off as long as this lives.
#[derive(Debug)]
pub(crate) struct OffloadsOff {
    name: String,
    gro: bool,
    lro: bool,
}

impl OffloadsOff {
    /// Turns off what is on. Drivers that do not know an offload do not have it either.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let mut asked = Request::about(name)?;
        let gro = asked.ethtool(GET_GRO, 0).unwrap_or(0) != 0;
        let flags = asked.ethtool(GET_FLAGS, 0).unwrap_or(0);
        let lro = flags & FLAG_LRO != 0;
        if gro {
            asked.ethtool(SET_GRO, 0)?;
        }
        if lro {
            asked.ethtool(SET_FLAGS, flags & !FLAG_LRO)?;
        }
        Ok(Self {
            name: name.to_owned(),
            gro,
            lro,
        })
    }

    fn restore(&self) -> io::Result<()> {
        let mut asked = Request::about(&self.name)?;
        if self.gro {
            asked.ethtool(SET_GRO, 1)?;
        }
        if self.lro {
            let flags = asked.ethtool(GET_FLAGS, 0)?;
            asked.ethtool(SET_FLAGS, flags | FLAG_LRO)?;
        }
        Ok(())
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // The interface may be gone by now, and its settings with it.
        let _ = self.restore();
    }
}
