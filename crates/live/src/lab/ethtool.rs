//! Offloads, by ethtool's old ioctl: the one interface that every kernel with veth has.

use crate::sys::Request;
use std::io;

/// Commands of `struct ethtool_value` (linux/ethtool.h) that switch an offload.
const OFFLOADS: [(u32, &str); 5] = [
    (0x17, "tx-checksumming"),              // ETHTOOL_STXCSUM
    (0x19, "scatter-gather"),               // ETHTOOL_SSG
    (0x1f, "tcp-segmentation-offload"),     // ETHTOOL_STSO
    (0x24, "generic-segmentation-offload"), // ETHTOOL_SGSO
    (0x2c, "generic-receive-offload"),      // ETHTOOL_SGRO
];

/// Turns off all offloads that make an skb differ from the frame on a wire: a checksum left for
/// the hardware would be wrong in a frame that passes an `AF_PACKET` socket, and an aggregate of
/// segments is not a packet.
pub(super) fn offloads_off(device: &str) -> io::Result<()> {
    let mut asked = Request::about(device)?;
    for (command, name) in OFFLOADS {
        asked.ethtool(command, 0).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("turn off {name} of {device}: {error}"),
            )
        })?;
    }
    Ok(())
}
