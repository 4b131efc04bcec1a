//! What a queue of the kernel's counts, read at once: one message there and one back.
//!
//! Source: `struct tcmsg` and `struct tc_stats` of `linux/rtnetlink.h` and `linux/pkt_sched.h`,
//! where the queues' own statistics stand too (`tc_red_xstats` and its like,
//! `TCA_CAKE_STATS_TIN_STATS`).
//!
//! Marks are counted here and not seen in packets: a queue marks them where they lie, and a socket
//! that heard a packet before the queue has the same bytes.

use super::{LEAF, RTM_GETQDISC, Whose, module, tcmsg};
use sojourn_bridge::module::Reader;
use sojourn_bridge::netlink::{
    ECHO, HEADER, Socket, attributes, connect, find, message, protocols::NETLINK_ROUTE, word,
};
use sojourn_qdisc::Backlog;
use std::io;

/// The counters of one queue.
pub(crate) enum Counters {
    /// One of Linux's, at a device with this number.
    Linux(Socket, u32),
    /// One of ours.
    Ours(Reader),
}

/// What they say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    /// Packets dropped so far.
    pub(crate) dropped: u32,
    /// Packets marked so far; none by a queue that cannot mark.
    pub(crate) marked: u32,
    /// What is held.
    pub(crate) backlog: Backlog,
    /// The base probability of `dualpi2`, 0 to 1.
    pub(crate) probability: Option<f64>,
}

impl Counters {
    /// Those of the queue [`LEAF`] at a device of the calling thread's namespace.
    pub(crate) fn open(whose: Whose, index: u32) -> io::Result<Self> {
        Ok(match whose {
            Whose::Linux => Self::Linux(connect(NETLINK_ROUTE)?, index),
            Whose::Ours => Self::Ours(Reader::open(index, LEAF)?),
        })
    }

    pub(crate) fn read(&mut self) -> io::Result<Counted> {
        let (socket, index) = match self {
            Self::Linux(socket, index) => (socket, *index),
            Self::Ours(reader) => {
                let queue = reader.read()?;
                return Ok(Counted {
                    dropped: queue.drops(),
                    marked: queue.report().map_or(0, module::marks),
                    backlog: queue.backlog(),
                    probability: queue.report().and_then(module::base_probability),
                });
            }
        };
        // Without ECHO the answer goes to a multicast group alone.
        let asked = message(RTM_GETQDISC, ECHO, &tcmsg(index, LEAF), &[]);
        socket.send(&asked, 0)?;
        let (answer, _) = socket.recv_from_full()?;
        counted(&answer).ok_or_else(|| io::Error::other("the kernel does not count a queue"))
    }
}

/// The counters in an answer.
fn counted(answer: &[u8]) -> Option<Counted> {
    const HEADERS: usize = HEADER + 20;
    const KIND: u16 = 1;
    const STATS: u16 = 3;
    const OWN: u16 = 4;
    const STATS_2: u16 = 7;
    let all = answer.get(HEADERS..)?;
    // Bytes (64 bits), then words: packets, drops, overlimits, two rates, packets and bytes held.
    let stats = find(all, STATS)?;
    let kind = find(all, KIND)?;
    let is_pair = kind.strip_suffix(b"\0").unwrap_or(kind) == super::dualpi2::KIND.as_bytes();
    let marked = if kind.starts_with(b"cake") {
        find(all, STATS_2).and_then(|stats| marked_by_cake(find(stats, OWN)?))
    } else {
        find(all, OWN).map(|own| marked(kind, own))
    };
    Some(Counted {
        dropped: word(stats, 3)?,
        marked: marked.unwrap_or_default(),
        backlog: Backlog {
            packets: word(stats, 7)?.into(),
            bytes: word(stats, 8)?.into(),
        },
        probability: find(all, OWN)
            .filter(|_| is_pair)
            .and_then(super::dualpi2::base_probability),
    })
}

/// Marks in a queue's own statistics: with the probability or the law, and above a threshold.
fn marked(kind: &[u8], own: &[u8]) -> u32 {
    let words: &[usize] = match kind.split(|&byte| byte == 0).next() {
        Some(b"red") => &[3],
        Some(b"codel") => &[6, 8],
        Some(b"fq_codel") => &[3, 7],
        Some(b"pie") => &[9],
        Some(b"fq_pie") => &[4],
        Some(b"dualpi2") => &[6],
        _ => &[],
    };
    words.iter().filter_map(|&number| word(own, number)).sum()
}

fn marked_by_cake(own: &[u8]) -> Option<u32> {
    const TINS: u16 = 10;
    const MARKED: u16 = 8;
    let tins = attributes(find(own, TINS)?);
    Some(
        tins.filter_map(|(_, tin)| word(find(tin, MARKED)?, 0))
            .sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_bridge::netlink::{attribute, text};

    /// An attribute of so many words after its own.
    fn words(kind: u16, words: &[u32]) -> Vec<u8> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        attribute(kind, &bytes)
    }

    fn nested(kind: u16, inner: &[Vec<u8>]) -> Vec<u8> {
        attribute(kind, &inner.concat())
    }

    fn named(kind: &str) -> Vec<u8> {
        text(1, kind)
    }

    /// 7 dropped; 3 packets of 4000 bytes held.
    fn stats() -> Vec<u8> {
        words(3, &[9, 0, 1, 7, 0, 0, 0, 3, 4000])
    }

    fn read(attributes: &[Vec<u8>]) -> Option<Counted> {
        counted(&[vec![0; 36], attributes.concat()].concat())
    }

    #[test]
    fn counters_are_found_among_attributes() {
        let found = read(&[named("pfifo"), stats()]).unwrap();
        assert_eq!((found.dropped, found.marked), (7, 0));
        assert_eq!((found.backlog.packets, found.backlog.bytes), (3, 4000));
        let mut cut = stats();
        cut.pop();
        assert_eq!(read(&[named("pfifo"), cut]), None);
        assert_eq!(counted(&[0; 35]), None);
    }

    /// Where `linux/pkt_sched.h` has each queue's marks, of statistics that count their own words.
    #[test]
    fn marks_stand_where_each_queue_has_them() {
        let own = words(4, &(0..12).collect::<Vec<u32>>());
        for (kind, marked) in [
            ("red", 3),
            ("codel", 6 + 8),
            ("fq_codel", 3 + 7),
            ("pie", 9),
            ("fq_pie", 4),
            ("dualpi2", 6),
            ("pfifo", 0),
        ] {
            let found = read(&[named(kind), stats(), own.clone()]).unwrap();
            assert_eq!(found.marked, marked, "{kind}");
            assert_eq!(found.probability.is_some(), kind == "dualpi2", "{kind}");
        }
        let half = words(4, &[1 << 31, 0, 0, 0, 0, 0, 0]);
        let found = read(&[named("dualpi2"), stats(), half]).unwrap();
        assert!((found.probability.unwrap() - 0.5).abs() < 1e-9);
        let tin = |number: u16, marked: u32| nested(number, &[words(2, &[5]), words(8, &[marked])]);
        let tins = nested(10, &[tin(1, 20), tin(2, 300)]);
        let own = nested(7, &[words(1, &[0, 0]), nested(4, &[words(4, &[9]), tins])]);
        let found = read(&[named("cake"), own, stats()]).unwrap();
        assert_eq!(found.marked, 320);
    }
}
