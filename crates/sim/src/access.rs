//! The hosts' own access links: transmitters with endless queues, all of one rate.
//!
//! With thousands of hosts a packet finds nothing of its own host's in the cache. So a direction
//! keeps half a cache line here, and packets on uplinks lie in one pool, whose places are used
//! again at once and stay in the cache: few hosts send at the same moment.

use crate::packet::{Packet, Way};
use sojourn_memory::fetch;
use sojourn_units::{Rate, Time, TxPace};

const NONE: u32 = u32::MAX;

/// The access links of all hosts.
#[derive(Clone)]
pub(crate) struct AccessLinks {
    pace: TxPace,
    /// By direction.
    lanes: Vec<Lane>,
    pool: Vec<UplinkPacket>,
    /// The first free place.
    free: u32,
}

/// The sender's uplink and the receiver's downlink of one direction.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct Lane {
    /// When each has sent what it was given.
    free_at: [Time; 2],
    fraction: [u32; 2],
    /// Packets on the uplink, in order.
    first: u32,
    last: u32,
}

const _: () = assert!(size_of::<Lane>() == 32);

const UP: usize = 0;
const DOWN: usize = 1;

/// A packet on an uplink.
#[derive(Clone)]
struct UplinkPacket {
    arrival: Time,
    next: u32,
    packet: Packet,
}

impl Lane {
    #[inline]
    fn send(&mut self, link: usize, pace: &TxPace, now: Time, len: u16) -> Time {
        let (fraction, free_at) = (&mut self.fraction[link], &mut self.free_at[link]);
        let start = now.max(*free_at);
        pace.finish(fraction, free_at, start, u32::from(len))
    }
}

impl AccessLinks {
    /// Links of `rate` for `ways` directions.
    pub(crate) fn new(rate: Rate, ways: usize) -> Self {
        let lane = Lane {
            free_at: [Time::ZERO; 2],
            fraction: [0; 2],
            first: NONE,
            last: NONE,
        };
        Self {
            pace: TxPace::new(rate),
            lanes: vec![lane; ways],
            pool: Vec::new(),
            free: NONE,
        }
    }

    /// Most packets that were on uplinks at one time.
    pub(crate) fn most(&self) -> usize {
        self.pool.len()
    }

    /// The packets on uplinks.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let next =
            |place: &UplinkPacket| (place.next != NONE).then(|| &self.pool[place.next as usize]);
        let firsts = self.lanes.iter().filter(|lane| lane.first != NONE);
        firsts.flat_map(move |lane| {
            std::iter::successors(Some(&self.pool[lane.first as usize]), move |place| {
                next(place)
            })
            .map(|place| &place.packet)
        })
    }

    /// Puts a packet on its uplink at `now`. Tells when it arrives if no other is before it.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn send_up(&mut self, packet: &Packet, now: Time) -> Option<Time> {
        let (arrival, _) = self.start_up(packet, now);
        self.hold(packet, arrival)
    }

    /// Starts a packet on its uplink at `now`: when it arrives, and whether no other is before it.
    /// It is to be [held](Self::hold) until then.
    #[expect(clippy::inline_always, reason = "as `send_up`")]
    #[inline(always)]
    pub(crate) fn start_up(&mut self, packet: &Packet, now: Time) -> (Time, bool) {
        let lane = &mut self.lanes[packet.way.index()];
        let arrival = lane.send(UP, &self.pace, now, packet.len);
        (arrival, lane.last == NONE)
    }

    /// Holds a packet that has been started. Tells when it arrives if no other is before it.
    #[expect(clippy::inline_always, reason = "as `send_up`")]
    #[inline(always)]
    pub(crate) fn hold(&mut self, packet: &Packet, arrival: Time) -> Option<Time> {
        let index = self.free;
        let index = if let Some(place) = self.pool.get_mut(index as usize) {
            self.free = place.next;
            place.arrival = arrival;
            place.next = NONE;
            place.packet = *packet;
            index
        } else {
            self.add_place(packet, arrival)
        };
        let lane = &mut self.lanes[packet.way.index()];
        let before = std::mem::replace(&mut lane.last, index);
        if before == NONE {
            lane.first = index;
            return Some(arrival);
        }
        self.pool[before as usize].next = index;
        None
    }

    /// Holds a packet where none was before.
    #[inline(never)]
    fn add_place(&mut self, packet: &Packet, arrival: Time) -> u32 {
        self.pool.push(UplinkPacket {
            arrival,
            next: NONE,
            packet: *packet,
        });
        self.pool.len() as u32 - 1
    }

    /// The first packet on the uplink of `way`.
    #[cfg(test)]
    pub(crate) fn head(&self, way: Way) -> Option<&Packet> {
        let place = self.pool.get(self.lanes[way.index()].first as usize);
        place.map(|place| &place.packet)
    }

    /// A packet that has just arrived, where it lies until another one is sent.
    #[inline]
    pub(crate) fn arrived(&self, place: u32) -> Option<&Packet> {
        self.pool.get(place as usize).map(|place| &place.packet)
    }

    /// The first packet on the uplink of `way` arrives: tells where it lies, and when the next one
    /// does.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most packets take"
    )]
    #[inline(always)]
    pub(crate) fn arrive(&mut self, way: Way) -> Option<(u32, Option<Time>)> {
        let lane = &mut self.lanes[way.index()];
        let index = lane.first;
        let place = self.pool.get_mut(index as usize)?;
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = index;
        lane.first = next;
        if next == NONE {
            lane.last = NONE;
            return Some((index, None));
        }
        Some((index, Some(self.pool[next as usize].arrival)))
    }

    /// Asks for the memory of a direction.
    #[inline]
    pub(crate) fn fetch(&self, way: Way) {
        fetch(&self.lanes[way.index()]);
    }

    /// When a packet of `len` bytes that comes to its receiver's downlink at `now` has passed
    /// it. That link is fed by one pipe only, so its times are known when a packet enters that
    /// pipe, and it needs no event of its own.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most packets take"
    )]
    #[inline(always)]
    pub(crate) fn pass_down(&mut self, way: Way, now: Time, len: u16) -> Time {
        self.lanes[way.index()].send(DOWN, &self.pace, now, len)
    }
}
