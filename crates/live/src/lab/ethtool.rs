//! Offloads, by ethtool's old ioctl: the one interface that every kernel with veth has.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketType, socket};

/// Commands of `struct ethtool_value` (linux/ethtool.h) that switch an offload.
const OFFLOADS: [(u32, &str); 5] = [
    (0x17, "tx-checksumming"),              // ETHTOOL_STXCSUM
    (0x19, "scatter-gather"),               // ETHTOOL_SSG
    (0x1f, "tcp-segmentation-offload"),     // ETHTOOL_STSO
    (0x24, "generic-segmentation-offload"), // ETHTOOL_SGSO
    (0x2c, "generic-receive-offload"),      // ETHTOOL_SGRO
];

/// `struct ethtool_value`.
#[repr(C)]
struct Switch {
    command: u32,
    data: u32,
}

/// Turns off all offloads that make an skb differ from the frame on a wire: a checksum left for
/// the hardware would be wrong in a frame that passes an `AF_PACKET` socket, and an aggregate of
/// segments is not a packet.
pub(super) fn offloads_off(device: &str) -> io::Result<()> {
    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    for (command, name) in OFFLOADS {
        switch(&control, device, command, 0).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("turn off {name} of {device}: {error}"),
            )
        })?;
    }
    Ok(())
}

fn switch(control: &OwnedFd, device: &str, command: u32, data: u32) -> io::Result<()> {
    let mut value = Switch { command, data };
    // SAFETY: `ifreq` is plain old data for which all zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: interface names have at most IFNAMSIZ - 1 bytes.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1]
        .iter_mut()
        .zip(device.bytes())
    {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads the name and, for these commands, reads `struct ethtool_value`
    // behind `ifru_data`; both outlive the call.
    let result = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
