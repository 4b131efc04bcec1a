//! PSH in the middle of a write.
//!
//! Linux hands several segments to an interface as one packet, and gives it PSH
//! (`__tcp_transmit_skb`). Where the interface does not take it, the last of its segments has that
//! flag. Our TCP sends segments one by one.
//! Source: Linux `tcp_tso_autosize`, `tcp_update_pacing_rate`.

use crate::script::{Packet, flag};
use sojourn_tcp::Info;

/// Fewest segments of such a packet (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// Most bytes of one.
const MOST: u64 = 65_536;
/// A packet takes the time of one part of so many of a second (`sk_pacing_shift`).
const SHARE: u64 = 1 << 10;
/// On short paths it is longer: by a half of [`MOST`] for each so many microseconds
/// (`tcp_tso_rtt_log`).
const STEP: u64 = 1 << 9;

/// How many segments go into one packet.
pub(crate) fn segments(info: &Info, mss: u16) -> u64 {
    let mss = u64::from(mss.max(1));
    let window = u64::from(info.window_segments);
    let threshold = info.ssthresh_segments.unwrap_or(u32::MAX);
    let percent = if window < u64::from(threshold / 2) {
        200
    } else {
        120
    };
    let flight = window.max(info.outstanding.into()) * mss;
    let rate = flight * percent * 10_000_000 / info.srtt.as_nanos().max(1);
    let steps = info.min_rtt.map_or(u64::MAX, |rtt| rtt.as_nanos() / 1000) / STEP;
    let extra = MOST
        .checked_shr(u32::try_from(steps).unwrap_or(u32::MAX))
        .unwrap_or(0);
    ((rate / SHARE + extra).min(MOST) / mss).max(LEAST)
}

/// Gives PSH to the last of each `most` segments of new data, and of those at the end.
pub(crate) fn mark<'a>(sent: impl Iterator<Item = &'a mut Packet>, most: u64, highest: &mut u32) {
    let mut together = 0;
    let mut last: Option<&mut Packet> = None;
    for packet in sent {
        let is_new = packet.len > 0 && packet.seq.wrapping_sub(*highest).cast_signed() >= 0;
        let follows = is_new
            && together > 0
            && last.as_ref().is_some_and(|last| {
                last.flags & flag::PSH == 0 && last.seq.wrapping_add(last.len) == packet.seq
            });
        if !follows || together == most {
            end(last.take(), together);
            together = 0;
        }
        if is_new {
            *highest = packet.seq.wrapping_add(packet.len);
            together += 1;
        }
        last = Some(packet);
    }
    end(last, together);
}

/// A packet of so many segments ends with this one.
fn end(last: Option<&mut Packet>, together: u64) {
    if let Some(packet) = last
        && together > 1
    {
        packet.flags |= flag::PSH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(most: u64, mut highest: u32, segments: &[(u32, u32)]) -> Vec<bool> {
        let packet = |&(seq, len): &(u32, u32)| Packet {
            flags: flag::ACK,
            seq,
            len,
            ..Packet::default()
        };
        let mut packets: Vec<Packet> = segments.iter().map(packet).collect();
        mark(packets.iter_mut(), most, &mut highest);
        let is_pushed = |packet: &Packet| packet.flags & flag::PSH != 0;
        packets.iter().map(is_pushed).collect()
    }

    #[test]
    fn the_last_of_two_is_pushed() {
        let three = [(1, 1000), (1001, 1000), (2001, 1000)];
        assert_eq!(pushed(2, 0, &three), [false, true, false]);
        assert_eq!(pushed(3, 0, &three), [false, false, true]);
        assert_eq!(pushed(44, 0, &three), [false, false, true]);
        // Alone, without data, again, and beyond a gap.
        assert_eq!(pushed(2, 0, &[(1, 1000)]), [false]);
        assert_eq!(pushed(2, 0, &[(1, 0), (1, 0)]), [false; 2]);
        assert_eq!(pushed(2, 2001, &[(1, 1000), (1001, 1000)]), [false; 2]);
        assert_eq!(pushed(2, 0, &[(1, 1000), (3001, 1000)]), [false; 2]);
    }
}
