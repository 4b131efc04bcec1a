//! The delay stage: frames on their way after transmission. It never drops for want of room.

use super::frame::Frame;
use sojourn_units::Time;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Frames under way, in order of their due times; equal times leave in order of arrival.
///
/// Frames of one class arrive in order of their due times (see [`DelayStage::hold`]) and sit in
/// one ring; a heap holds the head of each ring. With reordering every frame stands alone.
#[derive(Debug)]
pub(crate) struct DelayStage {
    rings: Vec<Ring>,
    heads: BinaryHeap<Reverse<(Time, u64, usize)>>,
    reorder: bool,
    /// Frames that others may overtake.
    loose: BTreeMap<(Time, u64), Frame>,
    sequence: u64,
    held: usize,
    /// Those in a hurry.
    hurried: usize,
}

#[derive(Debug, Default)]
struct Ring {
    frames: VecDeque<(Time, u64, Frame)>,
    last_due: Time,
}

impl DelayStage {
    pub(crate) fn new(classes: usize, reorder: bool) -> Self {
        Self {
            rings: (0..classes).map(|_| Ring::default()).collect(),
            heads: BinaryHeap::with_capacity(classes),
            reorder,
            loose: BTreeMap::new(),
            sequence: 0,
            held: 0,
            hurried: 0,
        }
    }

    /// Whether frames that come from now on may overtake each other. Those that are there leave
    /// as they would have.
    pub(crate) fn set_reorder(&mut self, reorder: bool) {
        self.reorder = reorder;
    }

    /// Holds a frame until `due`, or, without reordering, until the frame of its class before it
    /// has left, if that is later.
    pub(crate) fn hold(&mut self, frame: Frame, due: Time, class: usize) {
        self.held += 1;
        self.hurried += usize::from(frame.hurries());
        self.sequence += 1;
        let sequence = self.sequence;
        if self.reorder {
            self.loose.insert((due, sequence), frame);
            return;
        }
        let ring = &mut self.rings[class];
        let due = due.max(ring.last_due);
        ring.last_due = due;
        if ring.frames.is_empty() {
            self.heads.push(Reverse((due, sequence, class)));
        }
        ring.frames.push_back((due, sequence, frame));
    }

    /// When the last frame of a class is due that came so far.
    pub(crate) fn last_due(&self, class: usize) -> Time {
        self.rings[class].last_due
    }

    /// When the next frame is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        let loose = self.next_loose().map(|(due, _)| due);
        let held = self.next_held().map(|(due, _)| due);
        loose.into_iter().chain(held).min()
    }

    fn next_loose(&self) -> Option<(Time, u64)> {
        self.loose.first_key_value().map(|(key, _)| *key)
    }

    fn next_held(&self) -> Option<(Time, u64)> {
        let head = self.heads.peek();
        head.map(|Reverse((due, sequence, _))| (*due, *sequence))
    }

    /// The next frame that is due at `now`, and when it was.
    pub(crate) fn release(&mut self, now: Time) -> Option<(Time, Frame)> {
        let due = self.next_due().filter(|due| *due <= now)?;
        let frame = self.take_next()?;
        self.held -= 1;
        self.hurried -= usize::from(frame.hurries());
        Some((due, frame))
    }

    fn take_next(&mut self) -> Option<Frame> {
        let (loose, held) = (self.next_loose(), self.next_held());
        if loose.is_some_and(|loose| held.is_none_or(|held| loose < held)) {
            return self.loose.pop_first().map(|(_, frame)| frame);
        }
        let mut head = self.heads.peek_mut()?;
        let Reverse((.., class)) = *head;
        let frames = &mut self.rings[class].frames;
        let (.., frame) = frames.pop_front()?;
        // In the place of the one that leaves: with one class, as usual, nothing moves.
        match frames.front() {
            Some(&(due, sequence, _)) => *head = Reverse((due, sequence, class)),
            None => drop(PeekMut::pop(head)),
        }
        Some(frame)
    }

    /// Whether a frame is held that is in a hurry.
    pub(crate) fn hurries(&self) -> bool {
        self.hurried > 0
    }

    /// Frames held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Pool;
    use super::*;
    use sojourn_units::Span;

    /// 10 Gbit/s times 50 ms are 41 284 frames of 1514 bytes: each comes out where it went in.
    #[test]
    fn frames_are_held_and_never_copied() {
        const FRAMES: usize = 41_284;
        let mut pool = Pool::new(FRAMES);
        let mut stage = DelayStage::new(1, false);
        let mut places = Vec::new();
        for number in 0..FRAMES as u64 {
            let at = Time::from_nanos(number * 1211);
            let mut bytes = [0; 1514];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            let frame = Frame::from_bytes(&mut pool, &bytes, at).expect("the pool is large");
            places.push(frame.parts()[0].as_ptr());
            stage.hold(frame, at + Span::from_millis(50), 0);
        }
        assert_eq!(stage.held(), FRAMES);
        assert_eq!(size_of::<(Time, u64, Frame)>(), 24);
        for (number, place) in places.into_iter().enumerate() {
            let due = stage.next_due().expect("it is held");
            assert_eq!(due.as_nanos(), number as u64 * 1211 + 50_000_000);
            let (_, frame) = stage.release(due).expect("it is due");
            assert_eq!(frame.parts()[0].as_ptr(), place);
            assert_eq!(frame.parts()[0][..8], (number as u64).to_be_bytes());
            pool.give(frame);
        }
        assert_eq!(pool.lent(), 0);
    }

    #[test]
    fn frames_leave_as_they_came_whatever_may_overtake_from_now_on() {
        let mut pool = Pool::new(4);
        let mut stage = DelayStage::new(1, false);
        let mut hold = |stage: &mut DelayStage, due| {
            let bytes = [due as u8; 60];
            let frame = Frame::from_bytes(&mut pool, &bytes, Time::ZERO).expect("there is room");
            stage.hold(frame, Time::from_nanos(due), 0);
        };
        hold(&mut stage, 50);
        stage.set_reorder(true);
        hold(&mut stage, 20);
        stage.set_reorder(false);
        // Behind the one that may not be overtaken.
        hold(&mut stage, 10);
        let mut left = Vec::new();
        while let Some(due) = stage.next_due() {
            let (_, frame) = stage.release(due).expect("it is due");
            left.push((due.as_nanos(), frame.parts()[0][0]));
        }
        assert_eq!(left, [(20, 20), (50, 50), (50, 10)]);
        assert_eq!(stage.held(), 0);
    }
}
