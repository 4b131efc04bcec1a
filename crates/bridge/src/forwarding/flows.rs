//! What flows do at a queue: a table of fixed size, which counts only while somebody wants to know.
//!
//! Whoever asks hands over an empty table and takes the one that was counted in, so that the
//! forwarding thread copies nothing. A flow stands in one of four places by its hash; when all four
//! are taken, that of the flow with the fewest bytes goes to [`FlowTable::rest`]: flows that matter
//! stay, however many of a packet each there are.

use super::frame::Frame;
use sojourn_qdisc::{Packet, Tally};
use sojourn_units::{Span, Time};
use sojourn_wire::FlowKey;

/// Places for flows; 112 KiB.
const PLACES: usize = 1024;
/// Places in which a flow may stand.
const WAYS: usize = 4;

/// For how long flows are counted when nobody asks again.
pub(super) const COUNTED: Span = Span::from_secs(2);

/// What has happened to packets of a flow at the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// That left the queue.
    pub sent: Tally,
    /// That the queue dropped.
    pub dropped: Tally,
    /// That the queue marked CE.
    pub marked: Tally,
    /// What those that left have waited, all together.
    pub sojourn: Span,
    /// What one of them has waited at most.
    pub longest: Span,
    /// The tin that the last one left, in tc's order; none without tins.
    pub tin: Option<u8>,
}

impl FlowCounts {
    /// Adds what happened later.
    pub fn add(&mut self, later: &Self) {
        let pairs = [
            (&mut self.sent, later.sent),
            (&mut self.dropped, later.dropped),
            (&mut self.marked, later.marked),
        ];
        for (sum, more) in pairs {
            sum.packets += more.packets;
            sum.bytes += more.bytes;
        }
        self.sojourn += later.sojourn;
        self.longest = self.longest.max(later.longest);
        self.tin = later.tin.or(self.tin);
    }

    fn bytes(&self) -> u64 {
        self.sent.bytes + self.dropped.bytes
    }

    fn is_none(&self) -> bool {
        self.sent.packets + self.dropped.packets + self.marked.packets == 0
    }
}

/// The flows of one direction since the table was empty.
#[derive(Clone, Debug)]
pub struct FlowTable {
    flows: Box<[(FlowKey, FlowCounts)]>,
    rest: FlowCounts,
    seed: u64,
    /// Counts nothing from then on.
    until: Time,
}

impl FlowTable {
    /// An empty one. Who does not know `seed` cannot choose flows that share places.
    pub fn new(seed: u64) -> Self {
        Self {
            flows: vec![Default::default(); PLACES].into(),
            rest: FlowCounts::default(),
            seed,
            until: Time::ZERO,
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.flows.fill(Default::default());
        self.rest = FlowCounts::default();
    }

    /// Its flows, in no promised order.
    pub fn flows(&self) -> impl Iterator<Item = (&FlowKey, &FlowCounts)> {
        let flows = self.flows.iter().filter(|(_, counts)| !counts.is_none());
        flows.map(|(key, counts)| (key, counts))
    }

    /// All that happened to flows for which there was no room.
    pub const fn rest(&self) -> &FlowCounts {
        &self.rest
    }

    /// Counts from `now` on, for a while.
    pub(super) fn begin(&mut self, now: Time) {
        self.until = now + COUNTED;
    }

    /// A frame leaves the queue.
    pub(super) fn sent(
        &mut self,
        now: Time,
        frame: &Frame,
        sojourn: Span,
        tin: impl FnOnce() -> Option<usize>,
    ) {
        let Some(counts) = self.of(now, frame) else {
            return;
        };
        counts.sent.add(frame.len());
        counts.sojourn += sojourn;
        counts.longest = counts.longest.max(sojourn);
        counts.tin = tin().map(|tin| tin as u8);
    }

    /// The queue drops a frame.
    pub(super) fn dropped(&mut self, now: Time, frame: &Frame) {
        if let Some(counts) = self.of(now, frame) {
            counts.dropped.add(frame.len());
        }
    }

    /// The queue marks a frame.
    pub(super) fn marked(&mut self, now: Time, frame: &Frame) {
        if let Some(counts) = self.of(now, frame) {
            counts.marked.add(frame.len());
        }
    }

    /// The counts of a frame's flow, unless it is too late.
    fn of(&mut self, now: Time, frame: &Frame) -> Option<&mut FlowCounts> {
        if now >= self.until {
            return None;
        }
        Some(self.place(frame.parsed().flow))
    }

    /// The counts of a flow, which may take the place of another's.
    fn place(&mut self, key: FlowKey) -> &mut FlowCounts {
        let set = key.hash(self.seed) as usize % (PLACES / WAYS);
        let places = &mut self.flows[set * WAYS..][..WAYS];
        let known = |(there, counts): &(FlowKey, FlowCounts)| *there == key && !counts.is_none();
        let place = places.iter().position(known).unwrap_or_else(|| {
            let place = (0..WAYS)
                .min_by_key(|&place| places[place].1.bytes())
                .expect("there is more than one");
            self.rest.add(&places[place].1);
            places[place] = (key, FlowCounts::default());
            place
        });
        &mut places[place].1
    }

    /// Adds what another table has counted.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (key, counts) in other.flows() {
            self.place(*key).add(counts);
        }
        self.rest.add(&other.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forwarding::Pool;

    /// A UDP packet of the flow with this source port.
    fn frame(pool: &mut Pool, port: u16, len: usize) -> Frame {
        let mut bytes = vec![0; len];
        bytes[12..14].copy_from_slice(&[8, 0]);
        let total = (len - 14) as u16;
        let header = [
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        bytes[14..34].copy_from_slice(&header);
        bytes[16..18].copy_from_slice(&total.to_be_bytes());
        bytes[34..36].copy_from_slice(&port.to_be_bytes());
        bytes[36..38].copy_from_slice(&[0, 53]);
        bytes[38..40].copy_from_slice(&(total - 20).to_be_bytes());
        Frame::from_bytes(pool, &bytes, Time::ZERO).unwrap()
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_flow_s_packets_are_counted_for_two_seconds() {
        let mut pool = Pool::new(2);
        let (one, two) = (frame(&mut pool, 1, 100), frame(&mut pool, 2, 200));
        let mut table = FlowTable::new(7);
        table.sent(at(0), &one, Span::from_millis(1), || None);
        assert_eq!(table.flows().count(), 0, "nobody has asked");
        table.begin(at(0));
        table.sent(at(1), &one, Span::from_millis(3), || None);
        table.sent(at(1), &one, Span::from_millis(5), || Some(2));
        table.marked(at(1), &one);
        table.dropped(at(1999), &two);
        table.sent(at(2000), &two, Span::ZERO, || None);
        let mut flows: Vec<_> = table.flows().collect();
        flows.sort_by_key(|(key, _)| **key);
        let [(first, sent), (second, dropped)] = flows[..] else {
            panic!("{flows:?}");
        };
        assert_eq!(
            (first.src_port, second.src_port, first.dst_port),
            (1, 2, 53)
        );
        assert_eq!((sent.sent.packets, sent.sent.bytes), (2, 200));
        assert_eq!((sent.marked.packets, sent.tin), (1, Some(2)));
        assert_eq!(sent.sojourn, Span::from_millis(8));
        assert_eq!(sent.longest, Span::from_millis(5));
        assert_eq!((dropped.sent.packets, dropped.dropped.bytes), (0, 200));
        table.clear();
        assert_eq!(table.flows().count(), 0);
        pool.give(one);
        pool.give(two);
    }

    #[test]
    fn a_flood_of_flows_keeps_the_large_ones() {
        let mut pool = Pool::new(2);
        let mut table = FlowTable::new(7);
        table.begin(at(0));
        let large = frame(&mut pool, 9, 1500);
        for port in 10..60_000 {
            if port % 100 == 10 {
                table.sent(at(0), &large, Span::ZERO, || None);
            }
            let small = frame(&mut pool, port, 60);
            table.sent(at(0), &small, Span::ZERO, || None);
            pool.give(small);
        }
        pool.give(large);
        let found = table.flows().find(|(key, _)| key.src_port == 9);
        assert_eq!(found.map(|(_, counts)| counts.sent.packets), Some(600));
        let kept: u64 = table.flows().map(|(_, counts)| counts.sent.packets).sum();
        assert_eq!(table.flows().count(), PLACES);
        assert_eq!(kept + table.rest().sent.packets, 59_990 + 600);
    }
}
