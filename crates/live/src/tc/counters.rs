//! What a queue of the kernel's counts, read at once: one message there and one back.
//!
//! Source: `struct tcmsg` and `struct tc_stats` of `linux/rtnetlink.h` and `linux/pkt_sched.h`,
//! where the queues' own statistics stand too (`tc_red_xstats` and its like,
//! `TCA_CAKE_STATS_TIN_STATS`).
//!
//! Marks are counted here and not seen in packets: a queue marks them where they lie, and a socket
//! that heard a packet before the queue has the same bytes.

use super::LEAF;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use sojourn_qdisc::Backlog;
use std::io;

/// The counters of one queue.
pub(crate) struct Counters {
    socket: Socket,
    index: u32,
}

/// What they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Packets dropped so far.
    pub(crate) dropped: u32,
    /// Packets marked so far; none by a queue that cannot mark.
    pub(crate) marked: u32,
    /// What is held.
    pub(crate) backlog: Backlog,
}

impl Counters {
    /// Those of the queue [`LEAF`] at a device of the calling thread's namespace.
    pub(crate) fn open(index: u32) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, index })
    }

    pub(crate) fn read(&self) -> io::Result<Counted> {
        const GET: u16 = 38; // RTM_GETQDISC
        // Without NLM_F_ECHO the answer goes to a multicast group alone.
        const REQUEST_ECHO: u16 = 1 | 8;
        // `struct nlmsghdr`, `struct tcmsg`.
        let mut message = Vec::with_capacity(36);
        message.extend(36_u32.to_ne_bytes());
        message.extend(GET.to_ne_bytes());
        message.extend(REQUEST_ECHO.to_ne_bytes());
        message.extend([0; 12]);
        message.extend(self.index.to_ne_bytes());
        message.extend((u32::from(LEAF) << 16).to_ne_bytes());
        message.extend([0; 8]);
        self.socket.send(&message, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        counted(&answer).ok_or_else(|| io::Error::other("the kernel does not count a queue"))
    }
}

/// The counters in an answer.
fn counted(answer: &[u8]) -> Option<Counted> {
    const HEADERS: usize = 36;
    const KIND: u16 = 1;
    const STATS: u16 = 3;
    const OWN: u16 = 4;
    const STATS_2: u16 = 7;
    let all = answer.get(HEADERS..)?;
    // Bytes (64 bits), then words: packets, drops, overlimits, two rates, packets and bytes held.
    let stats = attribute(all, STATS)?;
    let kind = attribute(all, KIND)?;
    let marked = if kind.starts_with(b"cake") {
        attribute(all, STATS_2).and_then(|stats| marked_by_cake(attribute(stats, OWN)?))
    } else {
        attribute(all, OWN).map(|own| marked(kind, own))
    };
    Some(Counted {
        dropped: word(stats, 3)?,
        marked: marked.unwrap_or_default(),
        backlog: Backlog {
            packets: word(stats, 7)?.into(),
            bytes: word(stats, 8)?.into(),
        },
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
        _ => &[],
    };
    words.iter().filter_map(|&number| word(own, number)).sum()
}

fn marked_by_cake(own: &[u8]) -> Option<u32> {
    const TINS: u16 = 10;
    const MARKED: u16 = 8;
    let tins = attributes(attribute(own, TINS)?);
    Some(
        tins.filter_map(|(_, tin)| word(attribute(tin, MARKED)?, 0))
            .sum(),
    )
}

/// The word of this number, counted from zero.
fn word(bytes: &[u8], number: usize) -> Option<u32> {
    let at = 4 * number;
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let found = attributes(bytes).find(|(kind, _)| *kind == wanted);
    found.map(|(_, value)| value)
}

/// `struct rtattr` after `struct rtattr`, up to one that is not whole.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const NESTED: u16 = 1 << 15;
    std::iter::from_fn(move || {
        let (head, _) = rest.split_at_checked(4)?;
        let len = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & !NESTED;
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attribute of so many words after its own.
    fn words(kind: u16, words: &[u32]) -> Vec<u8> {
        nested(
            kind,
            &[words.iter().flat_map(|word| word.to_ne_bytes()).collect()],
        )
    }

    fn nested(kind: u16, inner: &[Vec<u8>]) -> Vec<u8> {
        let inner = inner.concat();
        let len = (inner.len() as u16 + 4).to_ne_bytes();
        [len.to_vec(), kind.to_ne_bytes().to_vec(), inner].concat()
    }

    fn named(kind: &str) -> Vec<u8> {
        let mut text = kind.as_bytes().to_vec();
        text.push(0);
        let len = text.len() as u16 + 4;
        text.resize(text.len().next_multiple_of(4), 0);
        [
            len.to_ne_bytes().to_vec(),
            1_u16.to_ne_bytes().to_vec(),
            text,
        ]
        .concat()
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
            ("pfifo", 0),
        ] {
            let found = read(&[named(kind), stats(), own.clone()]).unwrap();
            assert_eq!(found.marked, marked, "{kind}");
        }
        let tin = |number: u16, marked: u32| nested(number, &[words(2, &[5]), words(8, &[marked])]);
        let tins = nested(10, &[tin(1, 20), tin(2, 300)]);
        let own = nested(7, &[words(1, &[0, 0]), nested(4, &[words(4, &[9]), tins])]);
        let found = read(&[named("cake"), own, stats()]).unwrap();
        assert_eq!(found.marked, 320);
    }
}
