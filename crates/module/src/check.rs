//! Equal decisions: a sequence of packets, and what a queue decides on each.
//!
//! The sequence follows from its seed alone: 12 flows of several hosts over a link of 100 Mbit/s,
//! with more traffic than it carries and less in turn, every size, all four ECN codepoints, several
//! DSCPs. Its packets carry no hash, or three of four flows do, as packets of sockets and network
//! cards do in Linux ([`Traffic::hashed`]). [`run`] gets the decisions of any [`Queue`]; two queues
//! that decide equally have the same [`Digest`]. The module does it in the kernel (`check` of its
//! parameters), the tests beside this crate on the host.

use crate::{FRONT, Handle, Instance, Kernel, Link, Offer, Taken};
use alloc::vec::Vec;
use sojourn_qdisc::{DropReason, SpecError, truesize};
use sojourn_random::{Stream, mix};
use sojourn_units::{Span, Time};

/// Nanoseconds that a byte takes on the link.
const BYTE_NS: u64 = 80;
/// Packets of a busy or a quiet time.
const PHASE: u64 = 4000;
const FLOWS: u64 = 12;
/// Of the link below: seed of the dice, largest packet, link-layer header.
pub const LINK: Link = Link {
    seed: 41,
    mtu: 1514,
    link_header: 14,
};

/// A packet of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number, from zero on.
    pub number: u64,
    /// When it comes.
    pub at: Time,
    /// Its length: bytes.
    pub len: u32,
    /// Its flow; the source address follows from it.
    pub flow: u8,
    /// `skb->hash`; zero: it carries none.
    pub hash: u32,
    /// TOS byte.
    pub tos: u8,
}

impl Arrival {
    /// Its first bytes: Ethernet, IPv4 and UDP, and some of the payload.
    pub fn front(&self) -> [u8; 60] {
        let mut bytes = [0; 60];
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[14..16].copy_from_slice(&[0x45, self.tos]);
        bytes[16..18].copy_from_slice(&(self.len.saturating_sub(14) as u16).to_be_bytes());
        bytes[22..24].copy_from_slice(&[64, 17]);
        bytes[26..30].copy_from_slice(&[10, 0, 0, self.flow % 5]);
        bytes[30..34].copy_from_slice(&[10, 0, 1, self.flow % 3]);
        bytes[34..36].copy_from_slice(&(1000 + u16::from(self.flow)).to_be_bytes());
        bytes[36..38].copy_from_slice(&443_u16.to_be_bytes());
        bytes
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It left.
    Sent {
        /// Its number.
        number: u64,
        /// When.
        at: Time,
        /// Whether the queue has set CE.
        ce: bool,
    },
    /// It was dropped.
    Dropped {
        /// Its number.
        number: u64,
        /// Why.
        reason: DropReason,
    },
}

/// What an answer of a [`Queue`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet leaves; whether the queue has set CE.
    Sent(u64, bool),
    /// None may leave before this time.
    NotBefore(Time),
    /// None is held.
    Empty,
}

/// A queue that is checked.
pub trait Queue {
    /// Offers a packet.
    fn offer(&mut self, arrival: &Arrival, dropped: &mut dyn FnMut(u64, DropReason));

    /// Takes the next packet.
    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(u64, DropReason)) -> Next;
}

/// Decisions, folded into a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// How many packets were sent, dropped, and marked CE.
    pub sent: u64,
    /// See `sent`.
    pub dropped: u64,
    /// See `sent`.
    pub marked: u64,
    /// Depends on each decision and on their order.
    pub sum: u64,
}

impl Digest {
    /// Adds a decision.
    pub fn add(&mut self, decision: Decision) {
        let word = match decision {
            Decision::Sent { number, at, ce } => {
                self.sent += 1;
                self.marked += u64::from(ce);
                mix(number << 1 | u64::from(ce)) ^ at.as_nanos()
            }
            Decision::Dropped { number, reason } => {
                self.dropped += 1;
                mix(number << 8 | 0x80 | reason as u64)
            }
        };
        self.sum = mix(self.sum ^ word);
    }
}

/// Which packets a queue decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// All of them follow from it.
    pub seed: u64,
    /// How many there are.
    pub packets: u64,
    /// Whether three of four flows carry a hash.
    pub hashed: bool,
}

/// What is written before a discipline's string for packets that carry a hash.
const HASHED: &str = "hashed ";

/// A line of a check, `[hashed] DISCIPLINE`: whether packets carry a hash, and the discipline.
pub fn read(text: &str) -> (bool, &str) {
    let rest = text.strip_prefix(HASHED);
    (rest.is_some(), rest.unwrap_or(text))
}

/// The hash of a flow's packets, zero for those that carry none. Flows 4 and 5 have the same one,
/// so that a queue that reads their headers instead decides otherwise.
const fn hash_of(flow: u8) -> u32 {
    match flow {
        3 | 7 | 11 => 0,
        5 => hash_of(4),
        _ => mix(flow as u64) as u32 | 1,
    }
}

/// The packets.
struct Sequence {
    dice: Stream,
    hashed: bool,
    next: u64,
    now: u64,
}

impl Iterator for Sequence {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let number = self.next;
        self.next += 1;
        // Mean lengths of 750 bytes take 60 us; gaps have means of 48 and 80 us.
        let busy = (number / PHASE).is_multiple_of(2);
        self.now += self.dice.below(if busy { 96_000 } else { 160_000 });
        let len = match self.dice.below(4) {
            0 => 60 + self.dice.below(60) as u32,
            1 => 1514,
            _ => 60 + self.dice.below(1455) as u32,
        };
        // Some flows send more than others.
        let flow = self.dice.below(FLOWS).min(self.dice.below(FLOWS)) as u8;
        let ecn = [0, 2, 2, 1, 0, 0, 3, 2, 0, 2, 0, 1][usize::from(flow)];
        let dscp = [0, 0, 46, 8, 0, 0, 34, 0, 0, 0, 26, 0][usize::from(flow)];
        Some(Arrival {
            number,
            at: Time::from_nanos(self.now),
            len,
            flow,
            hash: if self.hashed { hash_of(flow) } else { 0 },
            tos: dscp << 2 | ecn,
        })
    }
}

/// Runs a sequence through a queue, and tells each decision. What is held in the end is sent.
pub fn run(queue: &mut dyn Queue, traffic: Traffic, tell: &mut dyn FnMut(Decision)) {
    let sequence = Sequence {
        dice: Stream::named(traffic.seed, "check"),
        hashed: traffic.hashed,
        next: 0,
        now: 0,
    };
    let mut lengths: Vec<u32> = Vec::new();
    let mut free_at = Time::ZERO;
    for arrival in sequence.take(traffic.packets as usize) {
        serve(queue, &lengths, &mut free_at, arrival.at, tell);
        // A ring of lengths: more than any queue holds.
        let slot = arrival.number as usize % HELD;
        if slot == lengths.len() {
            lengths.push(arrival.len);
        } else {
            lengths[slot] = arrival.len;
        }
        queue.offer(&arrival, &mut |number, reason| {
            tell(Decision::Dropped { number, reason });
        });
    }
    serve(
        queue,
        &lengths,
        &mut free_at,
        Time::from_nanos(u64::MAX / 2),
        tell,
    );
}

/// Packets that a queue may hold.
const HELD: usize = 1 << 16;

/// Sends until the link is busy at `until` or nothing is left.
fn serve(
    queue: &mut dyn Queue,
    lengths: &[u32],
    free_at: &mut Time,
    until: Time,
    tell: &mut dyn FnMut(Decision),
) {
    while *free_at < until {
        let now = *free_at;
        let taken = queue.take(now, &mut |number, reason| {
            tell(Decision::Dropped { number, reason });
        });
        match taken {
            Next::Sent(number, ce) => {
                let len = lengths.get(number as usize % HELD).copied().unwrap_or(0);
                *free_at = now + Span::from_nanos(u64::from(len) * BYTE_NS);
                tell(Decision::Sent {
                    number,
                    at: now,
                    ce,
                });
            }
            Next::NotBefore(time) => {
                *free_at = time.max(now + Span::from_nanos(1)).min(until);
            }
            Next::Empty => *free_at = until,
        }
    }
}

/// An [`Instance`] as a [`Queue`]. Packets have odd handles, by which [`Kernel`] knows them.
pub struct Checked<K: Kernel>(Instance<K>);

/// Where in a handle a packet's length, flow and number begin; the TOS byte is at bit 1.
const LEN: u32 = 9;
const FLOW: u32 = 25;
const NUMBER: u32 = 33;

/// The handle of a packet of the sequence: odd, as no address of the kernel's packets is. All that
/// makes its headers is in it; of its number there are 31 bits, of its length 16.
pub const fn handle_of(arrival: &Arrival) -> Option<Handle> {
    let number = arrival.number << NUMBER | (arrival.flow as u64) << FLOW;
    let facts = (arrival.len as u16 as u64) << LEN | (arrival.tos as u64) << 1;
    Handle::new((number | facts | 1) as usize)
}

/// Whether the packet is one of a check.
#[inline]
pub const fn is_checked(handle: Handle) -> bool {
    handle.number() & 1 == 1
}

/// Copies the first bytes of a packet of a check, and returns how many there are.
pub fn front(handle: Handle, room: &mut [u8; FRONT]) -> usize {
    let facts = handle.number() as u64;
    let arrival = Arrival {
        number: number_of(handle),
        at: Time::ZERO,
        len: u32::from((facts >> LEN) as u16),
        flow: (facts >> FLOW) as u8,
        hash: 0,
        tos: (facts >> 1) as u8,
    };
    let bytes = arrival.front();
    room[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

/// A machine without skbs, on which every packet is one of a check: what a host compares with.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Kernel for Nowhere {
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize {
        front(packet, room)
    }

    fn set_ce(packet: Handle) -> bool {
        is_checked(packet)
    }

    fn clear_dscp(_: Handle) {}

    fn free(_: Handle) {}
}

const fn number_of(handle: Handle) -> u64 {
    handle.number() as u64 >> NUMBER
}

impl<K: Kernel> Checked<K> {
    /// A discipline by its string.
    ///
    /// # Errors
    /// When the string names no discipline.
    pub fn new(text: &str) -> Result<Self, SpecError> {
        Instance::new(text, LINK).map(Self)
    }

    /// Follows another string.
    ///
    /// # Errors
    /// When the string names no discipline.
    pub fn change(&mut self, text: &str, now: Time) -> Result<(), SpecError> {
        self.0.change(text, now)
    }
}

impl<K: Kernel> Queue for Checked<K> {
    fn offer(&mut self, arrival: &Arrival, dropped: &mut dyn FnMut(u64, DropReason)) {
        let Some(handle) = handle_of(arrival) else {
            return;
        };
        let front = arrival.front();
        let offer = Offer {
            handle,
            len: arrival.len,
            memory: truesize::of_datagram(arrival.len),
            hash: arrival.hash,
            front: if self.0.reads() { &front } else { &[] },
        };
        let tell = |handle, reason| dropped(number_of(handle), reason);
        self.0.enqueue(&offer, arrival.at, tell);
    }

    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(u64, DropReason)) -> Next {
        let tell = |handle, reason| dropped(number_of(handle), reason);
        match self.0.dequeue(now, tell) {
            Taken::Packet { handle, marked } => Next::Sent(number_of(handle), marked),
            Taken::NotBefore(time) => Next::NotBefore(time),
            Taken::Empty => Next::Empty,
        }
    }
}

/// What a discipline decides on so many packets: `[hashed] DISCIPLINE`, as [`read`] takes it.
///
/// # Errors
/// When the string names no discipline.
pub fn digest<K: Kernel>(text: &str, seed: u64, packets: u64) -> Result<Digest, SpecError> {
    let (hashed, text) = read(text);
    let traffic = Traffic {
        seed,
        packets,
        hashed,
    };
    let mut queue = Checked::<K>::new(text)?;
    let mut digest = Digest::default();
    run(&mut queue, traffic, &mut |decision| digest.add(decision));
    Ok(digest)
}
