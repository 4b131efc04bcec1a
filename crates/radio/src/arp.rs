//! ARP: a neighbour's address is asked for before the first packet to it.
//!
//! Source: RFC 826, by what ns-2.35's `arp.cc` does. One packet waits for each neighbour, and a
//! newer one takes its place; each of them asks again. When three questions had no answer, the
//! next packet says that the neighbour is gone. Whoever receives a question or an answer learns
//! the address of its sender; what is known is not forgotten.

use crate::by_node::ByNode;
use alloc::vec::Vec;

/// Questions without an answer after which a neighbour counts as gone.
const MOST_QUESTIONS: u8 = 3;

/// A question for an address, or the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpMessage {
    /// Who sends it.
    pub sender: u32,
    /// Whose address is asked for, or who has asked.
    pub target: u32,
    /// Whether it is an answer.
    pub is_answer: bool,
}

impl ArpMessage {
    /// Its bytes (RFC 826, with addresses of Ethernet and IPv4).
    pub const BYTES: u32 = 28;
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution<D> {
    /// It can be sent.
    Known,
    /// It waits while the address is asked for; the packet that had waited so far is lost.
    Ask {
        /// That packet.
        lost: Option<D>,
    },
    /// The neighbour is gone, and both are lost.
    Gone {
        /// They.
        lost: [Option<D>; 2],
    },
}

#[derive(Clone, Copy, Debug)]
struct Entry<D> {
    is_known: bool,
    asked: u8,
    held: Option<D>,
}

impl<D> Default for Entry<D> {
    fn default() -> Self {
        Self {
            is_known: false,
            asked: 0,
            held: None,
        }
    }
}

/// All stations' addresses of their neighbours.
#[derive(Clone, Debug)]
pub struct Arp<D> {
    stations: Vec<ByNode<Entry<D>>>,
}

impl<D: Copy> Arp<D> {
    /// Of so many stations, which know nobody.
    pub fn new(stations: usize) -> Self {
        Self {
            stations: (0..stations).map(|_| ByNode::new()).collect(),
        }
    }

    /// The packets that wait for an address.
    pub fn held(&self) -> impl Iterator<Item = &D> {
        let entries = self.stations.iter().flat_map(ByNode::entries);
        entries.filter_map(|entry| entry.held.as_ref())
    }

    /// A station wants to send a packet to a neighbour.
    pub fn resolve(&mut self, station: u32, to: u32, packet: &D) -> Resolution<D> {
        let entry = self.stations[station as usize].get_or_insert_with(to, Entry::default);
        if entry.is_known {
            return Resolution::Known;
        }
        let before = entry.held.take();
        if entry.asked >= MOST_QUESTIONS {
            entry.asked = 0;
            let lost = [before, Some(*packet)];
            return Resolution::Gone { lost };
        }
        entry.asked += 1;
        entry.held = Some(*packet);
        Resolution::Ask { lost: before }
    }

    /// A station has heard a question or an answer. Returns the answer that it owes, and the
    /// packet that has waited for this.
    pub fn receive(
        &mut self,
        station: u32,
        message: ArpMessage,
    ) -> (Option<ArpMessage>, Option<D>) {
        let entries = &mut self.stations[station as usize];
        let entry = entries.get_or_insert_with(message.sender, Entry::default);
        entry.is_known = true;
        let released = entry.held.take();
        let is_asked = !message.is_answer && message.target == station;
        let answer = is_asked.then_some(ArpMessage {
            sender: station,
            target: message.sender,
            is_answer: true,
        });
        (answer, released)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_for_the_answer_and_an_older_one_goes() {
        let mut arp = Arp::new(3);
        assert_eq!(arp.resolve(0, 1, &'a'), Resolution::Ask { lost: None });
        let lost = Some('a');
        assert_eq!(arp.resolve(0, 1, &'b'), Resolution::Ask { lost });
        let question = ArpMessage {
            sender: 0,
            target: 1,
            is_answer: false,
        };
        // Node 2 hears the question and learns, but does not answer.
        assert_eq!(arp.receive(2, question), (None, None));
        assert_eq!(arp.resolve(2, 0, &'c'), Resolution::Known);
        let (answer, _) = arp.receive(1, question);
        let answer = answer.expect("it was asked");
        assert_eq!(arp.receive(0, answer), (None, Some('b')));
        assert_eq!(arp.resolve(0, 1, &'d'), Resolution::Known);
        assert_eq!(arp.resolve(1, 0, &'e'), Resolution::Known);
    }

    #[test]
    fn the_fourth_packet_finds_the_neighbour_gone() {
        let mut arp = Arp::new(2);
        for packet in 1..=3 {
            assert!(matches!(arp.resolve(0, 1, &packet), Resolution::Ask { .. }));
        }
        let lost = [Some(3), Some(4)];
        assert_eq!(arp.resolve(0, 1, &4), Resolution::Gone { lost });
        assert_eq!(arp.resolve(0, 1, &5), Resolution::Ask { lost: None });
    }
}
