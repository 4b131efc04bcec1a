//! Which frames are in a hurry, so that they leave at their own time where others share wake-ups.
//!
//! In no hurry are full frames, which are parts of something large, and TCP segments that only
//! acknowledge. [`alarm`](crate::alarm) has the same as a filter of the kernel.

use sojourn_wire::{Parsed, protocol};

/// Bytes of a frame from which on it is in no hurry.
pub(crate) const FULL: u32 = 1000;

/// FIN, SYN and RST.
pub(crate) const ENDS: u8 = 0x07;

/// Whether a frame of so many bytes is in a hurry, by what is known of its headers, and these.
pub(crate) fn is_in_a_hurry(size: u32, parsed: &Parsed, headers: &[u8]) -> bool {
    if size >= FULL {
        return false;
    }
    let flags = headers.get(usize::from(parsed.transport_offset) + 13);
    let only_acknowledges = parsed.flow.protocol == protocol::TCP
        && parsed.header_len > 0
        && !parsed.fragment
        && flags.is_some_and(|flags| flags & ENDS == 0)
        && !parsed.has_payload(headers);
    !only_acknowledges
}
