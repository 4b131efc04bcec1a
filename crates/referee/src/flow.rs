//! A connection of the kernel and what the script calls its numbers.
//!
//! In a script our first sequence number is zero, and so is the first timestamp that it names. The
//! peer's numbers are those of the script.

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
        if packet.flags & flag::SYN != 0 && self.start != Some(packet.seq) {
            self.start = Some(packet.seq);
            self.stamps.clear();
            self.stamp_zero = None;
        }
        packet.seq = packet.seq.wrapping_sub(self.start.unwrap_or(0));
        packet
    }

    /// The script calls our first sequence number `value`, which was zero so far.
    pub(crate) fn rename_start(&mut self, value: u32) {
        self.start = self.start.map(|start| start.wrapping_sub(value));
    }

    /// A packet of the script as the kernel shall get it.
    pub(crate) fn arriving(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        let start = self.start.unwrap_or(0);
        packet.ack = packet.ack.map(|ack| ack.wrapping_add(start));
        for option in packet.options.iter_mut().flatten() {
            match option {
                TcpOption::Sack(blocks) => {
                    for (from, to) in blocks {
                        *from = from.wrapping_add(start);
                        *to = to.wrapping_add(start);
                    }
                }
                TcpOption::Timestamps(_, echo) if *echo != 0 => {
                    let known = self.stamps.get(echo).copied();
                    let zero = self.stamp_zero.unwrap_or(0);
                    *echo = known.unwrap_or_else(|| zero.wrapping_add(*echo));
                }
                _ => {}
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

/// The other direction.
pub(crate) const fn back(ends: Ends) -> Ends {
    Ends {
        from: ends.to,
        to: ends.from,
        from_port: ends.to_port,
        to_port: ends.from_port,
    }
}
