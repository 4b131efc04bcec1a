//! A connection of the kernel and what the script calls its numbers.
//!
//! In a script, numbers of packets with SYN are those of the script itself. All others count from
//! the first SYN of the side whose bytes they number, as in packetdrill and tcpdump. Our first
//! timestamp that it names is the script's too.

use crate::packet::Ends;
use sojourn_packetdrill::{Packet, TcpOption, flag};
use std::collections::BTreeMap;

/// A connection, from its first packet on.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Of packets to the kernel.
    pub(crate) ends: Ends,
    /// Our first sequence number, once it is known.
    start: Option<u32>,
    /// What the script calls it in packets with SYN.
    named: u32,
    /// The peer's first sequence number, once it is known.
    peer_start: Option<u32>,
    /// Our timestamps by what the script calls them.
    stamps: BTreeMap<u32, u32>,
    /// The timestamp that the script calls zero.
    stamp_zero: Option<u32>,
    /// Its program has closed it.
    pub(crate) gone: bool,
}

impl Flow {
    /// The connection of packets between these ends, from the peer's view.
    pub(crate) const fn new(ends: Ends) -> Self {
        Self {
            ends,
            start: None,
            named: 0,
            peer_start: None,
            stamps: BTreeMap::new(),
            stamp_zero: None,
            gone: false,
        }
    }

    /// Whether a packet that the kernel sends belongs to it.
    pub(crate) fn has(&self, ends: Ends) -> bool {
        back(ends) == self.ends
    }

    /// What the script would call a packet that the kernel has sent.
    pub(crate) fn sent(&mut self, mut packet: Packet) -> Packet {
        let opens = packet.flags & flag::SYN != 0;
        if opens && self.start != Some(packet.seq) {
            self.start = Some(packet.seq);
            self.named = 0;
            self.stamps.clear();
            self.stamp_zero = None;
        }
        packet.seq = packet.seq.wrapping_sub(self.start.unwrap_or(0));
        if opens {
            packet.seq = packet.seq.wrapping_add(self.named);
            return packet;
        }
        let start = self.peer_start.unwrap_or(0);
        packet.ack = packet.ack.map(|ack| ack.wrapping_sub(start));
        move_blocks(&mut packet, start.wrapping_neg());
        packet
    }

    /// The script calls our first sequence number `value`, which was zero so far.
    pub(crate) const fn rename_start(&mut self, value: u32) {
        self.named = value;
    }

    /// A packet of the script as the kernel shall get it.
    pub(crate) fn arriving(&mut self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        let opens = packet.flags & flag::SYN != 0;
        let start = self.start.unwrap_or(0);
        if opens {
            self.peer_start.get_or_insert(packet.seq);
        } else {
            packet.seq = packet.seq.wrapping_add(self.peer_start.unwrap_or(0));
        }
        let from = start.wrapping_sub(if opens { self.named } else { 0 });
        packet.ack = packet.ack.map(|ack| ack.wrapping_add(from));
        move_blocks(&mut packet, start);
        for option in packet.options.iter_mut().flatten() {
            if let TcpOption::Timestamps(_, echo) = option
                && *echo != 0
            {
                let known = self.stamps.get(echo).copied();
                let zero = self.stamp_zero.unwrap_or(0);
                *echo = known.unwrap_or_else(|| zero.wrapping_add(*echo));
            }
        }
        packet
    }

    /// The script calls our timestamp `live` `value`.
    pub(crate) fn note_stamp(&mut self, value: u32, live: u32) {
        self.stamps.insert(value, live);
        self.stamp_zero.get_or_insert(live.wrapping_sub(value));
    }

    /// What the script would call our timestamp.
    pub(crate) fn stamp_in_script(&self, live: u32) -> u32 {
        live.wrapping_sub(self.stamp_zero.unwrap_or(0))
    }
}

/// Adds to the numbers of a packet's SACK blocks.
fn move_blocks(packet: &mut Packet, by: u32) {
    for option in packet.options.iter_mut().flatten() {
        if let TcpOption::Sack(blocks) = option {
            for (from, to) in blocks {
                *from = from.wrapping_add(by);
                *to = to.wrapping_add(by);
            }
        }
    }
}

/// The other direction.
pub(crate) const fn back(ends: Ends) -> Ends {
    Ends {
        from: ends.to,
        to: ends.from,
        from_port: ends.to_port,
        to_port: ends.from_port,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn packet(flags: u16, seq: u32, ack: Option<u32>) -> Packet {
        Packet {
            flags,
            seq,
            ack,
            ..Packet::default()
        }
    }

    fn flow() -> Flow {
        Flow::new(Ends {
            from: Ipv4Addr::new(192, 0, 2, 1).into(),
            to: Ipv4Addr::new(192, 168, 0, 1).into(),
            from_port: 40_000,
            to_port: 8080,
        })
    }

    const SYN_ACK: u16 = flag::SYN | flag::ACK;

    /// packetdrill's rule: numbers of packets with SYN are absolute, others count from the SYN.
    #[test]
    fn numbers_count_from_the_syn() {
        let mut passive = flow();
        let syn = passive.arriving(&packet(flag::SYN, 999_000, None));
        assert_eq!(syn.seq, 999_000);
        let answer = passive.sent(packet(SYN_ACK, 7_000_000, Some(999_001)));
        assert_eq!((answer.seq, answer.ack), (0, Some(999_001)));
        passive.rename_start(1234);
        let again = passive.sent(packet(SYN_ACK, 7_000_000, Some(999_001)));
        assert_eq!((again.seq, again.ack), (1234, Some(999_001)));
        let mut data = packet(flag::ACK, 1, Some(1));
        data.options = Some(vec![TcpOption::Sack(vec![(101, 201)])]);
        let live = passive.arriving(&data);
        assert_eq!((live.seq, live.ack), (999_001, Some(7_000_001)));
        assert_eq!(
            live.options,
            Some(vec![TcpOption::Sack(vec![(7_000_101, 7_000_201)])])
        );
        let mut ours = packet(flag::ACK, 7_000_001, Some(999_011));
        ours.options = Some(vec![TcpOption::Sack(vec![(999_021, 999_031)])]);
        let ours = passive.sent(ours);
        assert_eq!((ours.seq, ours.ack), (1, Some(11)));
        assert_eq!(ours.options, Some(vec![TcpOption::Sack(vec![(21, 31)])]));

        let mut active = flow();
        assert_eq!(active.sent(packet(flag::SYN, 50, None)).seq, 0);
        let answer = active.arriving(&packet(SYN_ACK, 123, Some(1)));
        assert_eq!((answer.seq, answer.ack), (123, Some(51)));
        let ours = active.sent(packet(flag::ACK, 51, Some(124)));
        assert_eq!((ours.seq, ours.ack), (1, Some(1)));
    }
}
