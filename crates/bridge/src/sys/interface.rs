//! Questions about network interfaces, by the requests of `netdevice(7)`.

use super::check;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

/// `struct ethtool_value` (linux/ethtool.h).
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels` (linux/ethtool.h): the command, the most that there may be of four
/// kinds, and how many there are: of queues that receive, that send, that do neither, that do both.
type EthtoolChannels = [u32; 9];
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// What can be asked about one interface of the namespace that this was made in.
pub struct Request {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl Request {
    /// About the interface with this name.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn about(name: &str) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
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

    fn ask(&mut self, command: libc::c_ulong) -> io::Result<libc::__c_anonymous_ifr_ifru> {
        // SAFETY: the request is a whole `ifreq` with a terminated name. For SIOCETHTOOL its
        // pointer leads to a live structure of the command (`ethtool`, `receive_queues`).
        let result =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), command as _, &raw mut self.request) };
        check(result).map(|_| self.request.ifr_ifru)
    }

    /// Its index.
    pub(crate) fn index(&mut self) -> io::Result<u32> {
        // SAFETY: the kernel has filled the member that belongs to the command.
        Ok(unsafe { self.ask(libc::SIOCGIFINDEX)?.ifru_ifindex } as u32)
    }

    /// Its largest packet in bytes.
    pub(crate) fn mtu(&mut self) -> io::Result<u32> {
        // SAFETY: as above.
        Ok(unsafe { self.ask(libc::SIOCGIFMTU)?.ifru_mtu } as u32)
    }

    /// Its kind (`ARPHRD_ETHER` and others).
    pub(crate) fn kind(&mut self) -> io::Result<u16> {
        // SAFETY: as above.
        Ok(unsafe { self.ask(libc::SIOCGIFHWADDR)?.ifru_hwaddr.sa_family })
    }

    /// Its Ethernet address.
    pub(crate) fn address(&mut self) -> io::Result<[u8; 6]> {
        // SAFETY: as above.
        let data = unsafe { self.ask(libc::SIOCGIFHWADDR)?.ifru_hwaddr.sa_data };
        Ok(std::array::from_fn(|place| data[place].cast_unsigned()))
    }

    /// Whether it is up.
    pub(crate) fn is_up(&mut self) -> io::Result<bool> {
        // SAFETY: as above.
        let flags = unsafe { self.ask(libc::SIOCGIFFLAGS)?.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    /// Whether it has an IPv4 address.
    pub(crate) fn has_ipv4_address(&mut self) -> bool {
        self.ask(libc::SIOCGIFADDR).is_ok()
    }

    /// Queues that it receives from: one if it cannot tell.
    pub(crate) fn receive_queues(&mut self) -> u32 {
        let mut channels: EthtoolChannels = [ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
        self.request.ifr_ifru.ifru_data = (&raw mut channels).cast();
        let result = self.ask(libc::SIOCETHTOOL as libc::c_ulong);
        self.request.ifr_ifru.ifru_data = std::ptr::null_mut();
        let [.., receive, _, _, both] = channels;
        result.map_or(1, |_| (receive + both).max(1))
    }

    /// One of ethtool's commands with a number, and the number in its answer.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn ethtool(&mut self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = EthtoolValue { command, data };
        self.request.ifr_ifru.ifru_data = (&raw mut value).cast();
        let result = self.ask(libc::SIOCETHTOOL as libc::c_ulong).map(drop);
        self.request.ifr_ifru.ifru_data = std::ptr::null_mut();
        result.map(|()| value.data)
    }
}

/// The names of all interfaces of the calling thread's namespace.
pub(crate) fn names() -> Vec<String> {
    let list = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    // Two lines of headings, then a name and a colon each.
    let lines = list.lines().skip(2);
    let names = lines.filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}
