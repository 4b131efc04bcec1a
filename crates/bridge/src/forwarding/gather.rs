//! Segments of super-packets that leave at one look, put together again.
//!
//! A queue that is fair gives a segment of each flow in turn, so that those of one super-packet are
//! seldom side by side. All that leaves at one look leaves at once, and a segment may go before
//! those of other super-packets to the one that it follows in its own, as far as the link would
//! have needed [`JOINED`] for what is between. What is no segment is not overtaken: a single packet
//! (of a call, an ACK) leaves behind what left before it, and nothing else. A flow's own packets
//! stay in order, since none of them is between two segments that follow each other.

use super::frame::{Frame, Pool};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

/// Segments of a super-packet become one again if the link takes no longer than this from the first
/// to the last: as long as for 64 KiB at 1 Gbit/s, above which they would not have been cut.
const JOINED: Span = Span::from_micros(500);

/// Flows whose last segment is remembered, by a hash.
const ROWS: usize = 16;

/// What is ready to leave in one direction, as far as segments may still be put to it.
#[derive(Debug)]
pub(super) struct Gather {
    /// The number of the next frame that becomes ready.
    next: u64,
    /// That of the first frame of this look, and when each from there on was due.
    first: u64,
    since: Vec<Time>,
    /// Frames before this one are not joined any more.
    open: u64,
    /// Frames of a flow may have overtaken each other: only neighbours are joined.
    only_neighbours: bool,
    /// Full TCP segments that came alone are joined too.
    with_alone: bool,
    /// The number of the last one of some flows; those of parts of super-packets are noted there.
    rows: [u64; ROWS],
}

impl Default for Gather {
    fn default() -> Self {
        Self {
            // Zero says that a super-packet has no segment here yet.
            next: 1,
            first: 1,
            since: Vec::new(),
            open: 1,
            only_neighbours: false,
            with_alone: false,
            rows: [0; ROWS],
        }
    }
}

impl Gather {
    /// A look begins, with so many frames that are still `ready` from others, of which the last may
    /// be followed.
    pub(super) fn begin(&mut self, ready: usize, only_neighbours: bool, with_alone: bool) {
        let last = self.since.last().copied().filter(|_| ready > 0);
        self.since.clear();
        self.since.extend(last);
        self.first = self.next - self.since.len() as u64;
        self.open = self.first;
        self.only_neighbours = only_neighbours;
        self.with_alone = with_alone;
    }

    /// Puts a frame that was due at a time to those that are ready; hands it back if it has become
    /// part of one of them.
    pub(super) fn add(
        &mut self,
        frame: Frame,
        due: Time,
        ready: &mut VecDeque<Frame>,
        pool: &mut Pool,
    ) -> Option<Frame> {
        let hash = if self.with_alone {
            frame.in_a_row()
        } else {
            None
        };
        if let Some(before) = frame.noted() {
            if self.may_follow(before, due)
                && let Some(place) = ready.len().checked_sub((self.next - before) as usize)
                && ready[place].join(&frame)
            {
                return Some(frame);
            }
            frame.note(self.next);
        } else if let Some(hash) = hash {
            let row = hash as usize % ROWS;
            let before = self.rows[row];
            if self.may_follow(before, due)
                && let Some(place) = ready.len().checked_sub((self.next - before) as usize)
                && ready[place].follow(&frame, pool)
            {
                return Some(frame);
            }
            self.rows[row] = self.next;
        } else {
            self.open = self.next + 1;
        }
        self.next += 1;
        self.since.push(due);
        ready.push_back(frame);
        None
    }

    /// Whether what was due then may be put to the frame of this number.
    fn may_follow(&self, before: u64, due: Time) -> bool {
        let is_open = before >= self.open && !(self.only_neighbours && before + 1 < self.next);
        is_open && due - self.since[(before - self.first) as usize] <= JOINED
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Pool;
    use super::super::frame::tests::{receive, super_packet};
    use super::*;
    use sojourn_random::Stream;
    use sojourn_wire::parse;

    const PAYLOAD: usize = 1400;

    /// Frames of flows that take turns: of each a super-packet of `segments`, in pieces.
    fn segments(pool: &mut Pool, flows: u8, segments: usize) -> Vec<VecDeque<Frame>> {
        (0..flows)
            .map(|flow| {
                let (mut bytes, vnet) = super_packet(segments * PAYLOAD, false);
                bytes[35] = flow;
                let mut whole = receive(pool, &bytes, vnet, None);
                let mut parts: VecDeque<_> = std::iter::from_fn(|| pool.cut(&mut whole)).collect();
                parts.push_back(whole);
                parts
            })
            .collect()
    }

    /// Of each frame its flow, where its payload begins in the flow's, and where it ends.
    fn told(frame: &Frame) -> (u8, usize, usize) {
        let bytes = frame.parts().concat();
        let number = u32::from_be_bytes([bytes[38], bytes[39], bytes[40], bytes[41]]) - 1000;
        let end = number as usize + bytes.len() - usize::from(parse(&bytes).header_len);
        (bytes[35], number as usize, end)
    }

    /// Makes frames ready at one look, each a step after the one before.
    fn gather(frames: Vec<Frame>, step: Span, pool: &mut Pool) -> Vec<(u8, usize, usize)> {
        let (mut gather, mut ready) = (Gather::default(), VecDeque::new());
        gather.begin(0, false, true);
        let mut due = Time::ZERO;
        for frame in frames {
            if let Some(joined) = gather.add(frame, due, &mut ready, pool) {
                pool.give(joined);
            }
            due += step;
        }
        let told = ready.iter().map(told).collect();
        ready.drain(..).for_each(|frame| pool.give(frame));
        told
    }

    fn in_turn(mut flows: Vec<VecDeque<Frame>>) -> Vec<Frame> {
        let mut frames = Vec::new();
        while flows.iter().any(|parts| !parts.is_empty()) {
            frames.extend(flows.iter_mut().filter_map(VecDeque::pop_front));
        }
        frames
    }

    /// A frame that is no segment.
    fn single(pool: &mut Pool, flow: u8) -> Frame {
        let (mut bytes, _) = super_packet(100, false);
        bytes[35] = flow;
        Frame::from_bytes(pool, &bytes, Time::ZERO).expect("the pool is large")
    }

    #[test]
    fn flows_that_take_turns_leave_as_super_packets() {
        let mut pool = Pool::new(1000);
        let frames = in_turn(segments(&mut pool, 16, 20));
        // At 10 Gbit/s.
        let left = gather(frames, Span::from_nanos(1163), &mut pool);
        let whole = (0..16).map(|flow| (flow, 0, 20 * PAYLOAD));
        assert_eq!(left, whole.collect::<Vec<_>>());
        assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
    }

    #[test]
    fn no_segment_goes_further_ahead_than_the_link_takes_500_us() {
        let mut pool = Pool::new(1000);
        let frames = in_turn(segments(&mut pool, 2, 5));
        // At 100 Mbit/s: two of a flow are 232 µs apart.
        let left = gather(frames, Span::from_micros(116), &mut pool);
        let [three, five] = [3, 5].map(|count| count * PAYLOAD);
        let expected = [
            (0, 0, three),
            (1, 0, three),
            (0, three, five),
            (1, three, five),
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn what_is_no_segment_is_not_overtaken() {
        let mut pool = Pool::new(1000);
        let mut frames = in_turn(segments(&mut pool, 2, 5));
        frames.insert(5, single(&mut pool, 9));
        let left = gather(frames, Span::from_nanos(1163), &mut pool);
        let flows: Vec<_> = left.iter().map(|(flow, ..)| *flow).collect();
        assert_eq!(flows, [0, 1, 9, 1, 0]);
        assert_eq!(left[3], (1, 2 * PAYLOAD, 5 * PAYLOAD));
    }

    #[test]
    fn where_flows_overtake_themselves_only_neighbours_are_joined() {
        let mut pool = Pool::new(1000);
        let frames = in_turn(segments(&mut pool, 2, 2));
        let (mut gather, mut ready) = (Gather::default(), VecDeque::new());
        gather.begin(0, true, true);
        for frame in frames {
            assert!(
                gather
                    .add(frame, Time::ZERO, &mut ready, &mut pool)
                    .is_none()
            );
        }
        assert_eq!(ready.len(), 4);
    }

    /// However segments of several flows, losses and single frames come: each flow leaves in order,
    /// and a segment goes before nothing that came more than 500 µs before it.
    #[test]
    fn flows_stay_in_order() {
        for seed in 0..200 {
            let mut dice = Stream::named(seed, "gather");
            let mut pool = Pool::new(1000);
            let mut flows = segments(&mut pool, 4, 15);
            let (step, mut frames) = (1 + dice.below(200), Vec::new());
            for _ in 0..80 {
                let flow = flows.get_mut(dice.below(5) as usize);
                match flow.and_then(VecDeque::pop_front) {
                    Some(lost) if dice.chance(0.1) => pool.give(lost),
                    Some(segment) => frames.push(segment),
                    None => frames.push(single(&mut pool, 9)),
                }
            }
            let unsent = flows.into_iter().flatten();
            unsent.for_each(|frame| pool.give(frame));
            let came: Vec<_> = frames.iter().map(told).collect();
            let left = gather(frames, Span::from_micros(step), &mut pool);
            assert_eq!(pool.lent(), 0);
            let bytes = |frames: &[(u8, usize, usize)]| -> usize {
                frames.iter().map(|(_, from, end)| end - from).sum()
            };
            assert_eq!(bytes(&came), bytes(&left));
            let mut ends = [0; 4];
            for &(flow, from, end) in &left {
                if let Some(before) = ends.get_mut(usize::from(flow)) {
                    assert!(*before <= from, "seed {seed}: flow {flow}");
                    *before = end;
                }
            }
            // Where each of those that came has left; single frames in their order.
            let mut singles = (0..left.len()).filter(|place| left[*place].0 == 9);
            let places = came.iter().map(|&(flow, from, _)| match flow {
                9 => singles.next(),
                _ => (0..left.len()).find(|place| {
                    let (other, first, end) = left[*place];
                    flow == other && (first..end).contains(&from)
                }),
            });
            let places: Vec<_> = places.map(|place| place.expect("it has left")).collect();
            for (at, place) in places.iter().enumerate() {
                let reach = if came[at].0 == 9 {
                    0
                } else {
                    (500 / step) as usize
                };
                let later = places.iter().skip(at + reach + 1);
                assert!(
                    later.min().is_none_or(|later| later >= place),
                    "seed {seed}"
                );
            }
        }
    }
}
