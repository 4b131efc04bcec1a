//! Trains: segments of TCP that follow each other, as one packet (Linux: a GSO packet).
//!
//! A train is its first segment with the payload, the length and the last flags of all. All its
//! segments but the last have the same payload.

use super::{Packet, SEGMENT};
use sojourn_tcp::{Flags, SackBlock, Segment};

/// In the number of a segment's SACK blocks, where it is not in use: this is a train. Then the
/// first block has the number of its segments and the payload of each but the last. So trains have
/// no SACK blocks.
const TRAIN: u8 = 0x80;
/// Flags that end a train.
const LAST: Flags = Flags::PSH.with(Flags::FIN);

/// What all segments of a train have in common.
fn common(segment: &Segment) -> Segment {
    let mut sack = segment.sack;
    sack[0] = SackBlock::default();
    Segment {
        seq: 0,
        payload: 0,
        sack,
        sack_count: segment.sack_count & !TRAIN,
        flags: segment.flags.without(LAST),
        ..*segment
    }
}

impl Packet {
    /// Whether it is one.
    #[inline]
    pub(crate) const fn is_train(&self) -> bool {
        self.fields.sack_count & TRAIN != 0
    }

    /// Of a train, the number of its segments and the length of each but the last.
    pub(super) fn count_segments(&self) -> (u32, u32) {
        let SackBlock { start, end } = self.fields.sack[0];
        let headers = (u32::from(self.len) - u32::from(self.fields.payload)) / start;
        (start, headers + end)
    }

    /// Takes a segment along, if it goes on where this one ends, has the same headers, and is not
    /// too long.
    pub(crate) fn join(&mut self, next: &Self) -> bool {
        let (ours, theirs) = (&self.fields, &next.fields);
        let SackBlock {
            start: count,
            end: each,
        } = if self.is_train() {
            ours.sack[0]
        } else {
            SackBlock {
                start: 1,
                end: ours.payload.into(),
            }
        };
        let payload = u32::from(ours.payload);
        let alike = (self.kind(), next.kind()) == (SEGMENT, SEGMENT)
            && (self.way, self.tos) == (next.way, next.tos)
            && theirs.sack_blocks().is_empty()
            && common(ours) == common(theirs);
        let follows = theirs.seq == ours.seq.wrapping_add(payload)
            && payload == count * each
            && ours.flags.without(LAST) == ours.flags
            && (1..=each).contains(&theirs.payload.into());
        let Some(len) = self.len.checked_add(next.len).filter(|_| alike && follows) else {
            return false;
        };
        self.len = len;
        self.fields.payload += next.fields.payload;
        self.fields.flags = next.fields.flags;
        self.fields.sack_count |= TRAIN;
        self.fields.sack[0] = SackBlock {
            start: count + 1,
            end: each,
        };
        true
    }

    /// Sets PSH, which the last segment of a train has (Linux `__tcp_transmit_skb`): a receiver
    /// answers that at once, where a queue has cut the train.
    pub(crate) fn push(&mut self) {
        self.fields.flags = self.fields.flags.with(Flags::PSH);
    }

    /// Cuts the first segment off a train, which keeps the rest; none of other packets.
    pub(crate) fn cut(&mut self) -> Option<Self> {
        if !self.is_train() {
            return None;
        }
        let (count, each) = self.count_segments();
        let payload = self.fields.sack[0].end as u16;
        let mut first = *self;
        first.len = each as u16;
        first.fields.payload = payload;
        first.fields.flags = self.fields.flags.without(LAST);
        first.become_single();
        self.len -= first.len;
        self.fields.seq = self.fields.seq.wrapping_add(payload.into());
        self.fields.payload -= payload;
        self.fields.sack[0].start = count - 1;
        if count == 2 {
            self.become_single();
        }
        Some(first)
    }

    fn become_single(&mut self) {
        self.fields.sack_count &= !TRAIN;
        self.fields.sack[0] = SackBlock::default();
    }

    /// Its segments; of any other packet itself.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Self> + use<> {
        let mut rest = Some(*self);
        std::iter::from_fn(move || {
            let mut left = rest.take()?;
            let first = left.cut();
            rest = first.map(|_| left);
            first.or(Some(left))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::*;
    use proptest::prelude::*;
    use sojourn_qdisc::Packet as QdiscPacket;

    const HEADERS: u16 = 66;

    fn segment(seq: u32, payload: u16, flags: Flags) -> Packet {
        let segment = Segment {
            seq,
            payload,
            flags,
            ack: 7,
            ..Segment::default()
        };
        Packet::segment(segment, Way::forth(3), payload + HEADERS, 2)
    }

    #[test]
    fn a_train_counts_the_headers_of_each_segment() {
        let mut train = segment(1000, 1448, Flags::ACK);
        assert!(train.join(&segment(2448, 1448, Flags::ACK)));
        assert!(train.join(&segment(3896, 100, Flags::ACK.with(Flags::PSH))));
        assert_eq!(
            (train.len(), train.segments()),
            (2 * 1514 + 166, Some((3, 1514)))
        );
        assert_eq!(train.memory(), 2996 + 768);
        // The end of a write ends it.
        assert!(!train.join(&segment(3996, 100, Flags::ACK)));
    }

    #[test]
    fn a_train_is_pushed_at_its_end() {
        let mut train = segment(1000, 1448, Flags::ACK);
        assert!(train.join(&segment(2448, 1448, Flags::ACK)));
        train.push();
        let pushed = train.parts().map(|part| part.fields.flags.has(Flags::PSH));
        assert_eq!(pushed.collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_is_not_alike_does_not_join() {
        let train = segment(1000, 1448, Flags::ACK);
        let next = segment(2448, 1448, Flags::ACK);
        let changed = |change: fn(&mut Packet)| {
            let mut next = next;
            change(&mut next);
            { train }.join(&next)
        };
        assert!(changed(|_| {}));
        assert!(!changed(|next| next.fields.seq += 1));
        assert!(!changed(|next| next.fields.ack += 1));
        assert!(!changed(|next| next.fields.sack_count = 1));
        assert!(!changed(
            |next| next.fields.flags = next.fields.flags.with(Flags::ECE)
        ));
        assert!(!changed(|next| next.fields.payload += 1));
        assert!(!changed(|next| next.tos = 0));
        assert!(!changed(|next| next.way = next.way.back()));
        assert!(!changed(|next| next.len = 65_535 - 1513));
    }

    proptest! {
        #[test]
        fn what_is_cut_is_what_was_joined(
            count in 1_u32..43, last in 1_u16..=1448, seq: u32, push: bool,
        ) {
            let all: Vec<Packet> = (0..count)
                .map(|number| {
                    let is_last = number + 1 == count;
                    let payload = if is_last { last } else { 1448 };
                    let end = if push && is_last { LAST } else { Flags::default() };
                    segment(seq.wrapping_add(number * 1448), payload, Flags::ACK.with(end))
                })
                .collect();
            let mut train = all[0];
            for next in &all[1..] {
                prop_assert!(train.join(next));
            }
            let len: u32 = all.iter().map(QdiscPacket::len).sum();
            prop_assert_eq!(train.len(), len);
            let shown = |packets: &[Packet]| format!("{packets:?}");
            let parts: Vec<Packet> = train.parts().collect();
            prop_assert_eq!(shown(&parts), shown(&all));
            prop_assert_eq!(train.segments().map_or(1, |(count, _)| count), count);
        }
    }
}
