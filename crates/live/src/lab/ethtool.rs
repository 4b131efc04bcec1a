//! Offloads, by ethtool's old ioctl: the one interface that every kernel with veth has.

use sojourn_bridge::Request;
use std::io;

/// Commands of `struct ethtool_value` (linux/ethtool.h) that switch an offload.
const OFFLOADS: [(u32, &str); 4] = [
    (0x17, "tx-checksumming"),              // ETHTOOL_STXCSUM
    (0x1f, "tcp-segmentation-offload"),     // ETHTOOL_STSO
    (0x24, "generic-segmentation-offload"), // ETHTOOL_SGSO
    RECEIVE,
];
/// ETHTOOL_SGRO.
const RECEIVE: (u32, &str) = (0x2c, "generic-receive-offload");

/// Sets the offloads of a device, by whether it hands on trains of segments.
pub(super) fn set_offloads(device: &str, trains: bool) -> io::Result<()> {
    if trains {
        // A train arrives whole. What a queue has cut comes at the link's rate, and a receiver
        // would not join segments with gaps between them.
        turn_off(device, &[RECEIVE])
    } else {
        offloads_off(device)
    }
}

/// Turns off all offloads that make an skb differ from the frame on a wire: a checksum left for
/// the hardware would be wrong in a frame that passes an `AF_PACKET` socket, and an aggregate of
/// segments is not a packet. Scatter-gather stays on, as machines have it: without it Linux puts a
/// segment into one piece of 4 KiB and counts that where it waits behind a gap (`skb_condense`),
/// which makes the receiver's window smaller.
fn offloads_off(device: &str) -> io::Result<()> {
    turn_off(device, &OFFLOADS)
}

fn turn_off(device: &str, offloads: &[(u32, &str)]) -> io::Result<()> {
    let mut asked = Request::about(device)?;
    for &(command, name) in offloads {
        asked.ethtool(command, 0).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("turn off {name} of {device}: {error}"),
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_bridge::Namespace;
    use std::process::Command;

    /// ETHTOOL_GTXCSUM, GTSO, GGSO, GGRO and GSG.
    const ASKED: [u32; 5] = [0x16, 0x1e, 0x23, 0x2b, 0x18];

    #[test]
    fn packets_stay_whole_and_in_pieces() {
        let inside = || {
            let words = "link add a0 type veth peer name a1".split(' ');
            let ran = Command::new("ip").args(words).status();
            assert!(ran.expect("iproute2 is there").success(), "a pair");
            let mut asked = Request::about("a0").expect("it is there");
            let mut told = || ASKED.map(|what| asked.ethtool(what, 0).expect("veth tells it") != 0);
            set_offloads("a0", true).expect("veth has all of them");
            assert_eq!(told(), [true, true, true, false, true]);
            set_offloads("a0", false).expect("veth has all of them");
            assert_eq!(told(), [false, false, false, false, true]);
            Ok(())
        };
        let Ok(namespace) = Namespace::new() else {
            assert!(std::env::var_os("CI").is_none(), "this takes root");
            return;
        };
        namespace.run(inside).expect("it is entered");
    }
}
