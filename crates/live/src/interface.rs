//! Network interfaces by name, and the offloads of theirs that would spoil latency.

use crate::bridge::BridgeError;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An interface of the namespace that it was looked up in.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
}

/// `struct ethtool_value` (linux/ethtool.h).
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const FLAG_LRO: u32 = 1 << 15;

/// A socket to ask about interfaces, and the request that names one.
struct Asker {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl Asker {
    fn new(name: &str) -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just made this descriptor, and nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: plain old data for which all zeros is valid.
        let mut request: libc::ifreq = unsafe { zeroed() };
        if name.is_empty() || name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        Ok(Self { socket, request })
    }

    fn ask(&mut self, command: libc::c_ulong) -> io::Result<&libc::ifreq> {
        // SAFETY: the request is a whole `ifreq` with a terminated name. For SIOCETHTOOL its
        // pointer leads to a live `ethtool_value` (see `ethtool`).
        let result =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), command as _, &raw mut self.request) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(&self.request)
    }

    fn ethtool(&mut self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = EthtoolValue { command, data };
        self.request.ifr_ifru.ifru_data = (&raw mut value).cast();
        let result = self.ask(libc::SIOCETHTOOL as libc::c_ulong).map(drop);
        self.request.ifr_ifru.ifru_data = std::ptr::null_mut();
        result.map(|()| value.data)
    }
}

impl Interface {
    /// The index of the interface with this name.
    pub(crate) fn index_of(name: &str) -> io::Result<u32> {
        let mut asker = Asker::new(name)?;
        // SAFETY: the kernel has filled the member that belongs to the command.
        Ok(unsafe { asker.ask(libc::SIOCGIFINDEX)?.ifr_ifru.ifru_ifindex } as u32)
    }

    /// Looks it up in the calling thread's namespace.
    pub(crate) fn find(name: &str) -> Result<Self, BridgeError> {
        let find = || {
            let mut asker = Asker::new(name)?;
            // SAFETY: the kernel has filled the member that belongs to the command.
            let index = unsafe { asker.ask(libc::SIOCGIFINDEX)?.ifr_ifru.ifru_ifindex };
            // SAFETY: as above.
            let mtu = unsafe { asker.ask(libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu };
            // SAFETY: as above.
            let kind = unsafe {
                asker
                    .ask(libc::SIOCGIFHWADDR)?
                    .ifr_ifru
                    .ifru_hwaddr
                    .sa_family
            };
            // SAFETY: as above.
            let flags = unsafe { asker.ask(libc::SIOCGIFFLAGS)?.ifr_ifru.ifru_flags };
            Ok((index as u32, mtu as u32, kind, libc::c_int::from(flags)))
        };
        let (index, mtu, kind, flags) =
            find().map_err(|error: io::Error| match error.raw_os_error() {
                Some(libc::ENODEV) => BridgeError::NoSuchInterface {
                    name: name.to_owned(),
                    known: known_interfaces(),
                },
                _ => BridgeError::io(&format!("look up interface `{name}`"), error),
            })?;
        if kind != libc::ARPHRD_ETHER {
            return Err(BridgeError::NotEthernet(name.to_owned()));
        }
        if flags & libc::IFF_UP == 0 {
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
    Asker::new(name).is_ok_and(|mut asker| asker.ask(libc::SIOCGIFADDR).is_ok())
}

/// The interfaces there are, for an error message.
fn known_interfaces() -> Vec<String> {
    // SAFETY: returns an array that ends with index zero and null, or null.
    let list = unsafe { libc::if_nameindex() };
    let mut names = Vec::new();
    if list.is_null() {
        return names;
    }
    let mut entry = list;
    // SAFETY: `entry` stays within the array, which ends as said above; names are C strings.
    unsafe {
        while (*entry).if_index != 0 {
            let name = std::ffi::CStr::from_ptr((*entry).if_name);
            names.push(name.to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        libc::if_freenameindex(list);
    }
    names
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
        let mut asker = Asker::new(name)?;
        let gro = asker.ethtool(GET_GRO, 0).unwrap_or(0) != 0;
        let flags = asker.ethtool(GET_FLAGS, 0).unwrap_or(0);
        let lro = flags & FLAG_LRO != 0;
        if gro {
            asker.ethtool(SET_GRO, 0)?;
        }
        if lro {
            asker.ethtool(SET_FLAGS, flags & !FLAG_LRO)?;
        }
        Ok(Self {
            name: name.to_owned(),
            gro,
            lro,
        })
    }

    fn restore(&self) -> io::Result<()> {
        let mut asker = Asker::new(&self.name)?;
        if self.gro {
            asker.ethtool(SET_GRO, 1)?;
        }
        if self.lro {
            let flags = asker.ethtool(GET_FLAGS, 0)?;
            asker.ethtool(SET_FLAGS, flags | FLAG_LRO)?;
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
