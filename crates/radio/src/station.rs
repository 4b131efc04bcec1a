//! One station: what it hears, what it waits for, what it has to send.

use crate::ear::Ear;
use crate::upper::{Frame, FrameKind, Outgoing};
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// What a station has done and met with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data frames sent, repetitions included.
    pub sent: u64,
    /// Those of them that were repetitions.
    pub repeated: u64,
    /// Packets given up after the last attempt.
    pub given_up: u64,
    /// Frames to one station that were lost there: another frame came in between.
    pub collided: u64,
    /// Packets received that had been received before: their ACK was lost.
    pub duplicates: u64,
    /// Time spent sending, answers included.
    pub airtime: Span,
}

/// What a station is doing on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing, or counting its backoff.
    Free,
    Sending(FrameKind),
    /// For an answer.
    Awaiting(FrameKind),
}

/// An answer that is due a SIFS after the frame that it is to, or the data after a CTS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) kind: FrameKind,
    pub(crate) to: u32,
    pub(crate) due: Time,
    /// How long the medium stays reserved after it.
    pub(crate) reserves: Span,
}

/// How long a station lets the medium be idle before slots count, and how long these are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaces {
    pub(crate) difs: Span,
    pub(crate) eifs: Span,
    /// Length of a slot.
    pub(crate) slot: Span,
}

/// What of a frame is sent at which rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    /// Index of its errors.
    pub(crate) rate: usize,
    /// When preamble and PLCP header are over.
    pub(crate) payload_from: Time,
}

/// What its backoff does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backoff {
    /// There is none.
    None,
    /// Slots count.
    Counting,
    /// Slots do not count now.
    Halted,
}

/// What a frame asks and changes of each station that hears it: one cache line, apart from what
/// else the station is. Of thousands of stations hardly any is in the cache, and a frame is heard
/// by dozens.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Near {
    pub(crate) ear: Ear,
    pub(crate) station: Station,
}

const _: () = assert!(size_of::<Near>() == sojourn_memory::LINE);

impl Near {
    pub(crate) const fn new() -> Self {
        let (ear, station) = (Ear::new(), Station::new());
        Self { ear, station }
    }
}

/// What a station does with a medium that it finds busy or idle.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    /// Until when it sends its frame, or has sent it.
    pub(crate) own_until: Time,
    /// When its backoff ends, if slots count.
    pub(crate) backoff_end: Time,
    /// Slots to go when they began to count.
    pub(crate) slots: u32,
    pub(crate) phase: Phase,
    /// Whether the addressee has had its packet.
    pub(crate) delivered: bool,
    /// Whether it owes an answer.
    pub(crate) owes: bool,
    /// Whether it asks for a packet again at a time that is known.
    asks: bool,
    /// By SINR: whether any frame comes to it.
    pub(crate) is_reached: bool,
}

/// What else a station is: what it has to send, and what it has done. In this order, so that what
/// most of it needs comes first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Work<P> {
    /// When it stops waiting for an answer.
    pub(crate) patience: Time,
    /// When it asks for a packet again; `Time::MAX` for never.
    asks: Time,
    /// How long its frame reserves the medium after its end.
    pub(crate) reserves: Span,
    /// Addressee of its frame; none for all.
    pub(crate) to: Option<u32>,
    pub(crate) short: u32,
    pub(crate) long: u32,
    pub(crate) window: u32,
    /// The answer that it owes.
    answer: Option<Answer>,
    pub(crate) packet: Option<Outgoing<P>>,
    pub(crate) dice: Stream,
    pub(crate) counts: Counts,
    /// By SINR: all that come to it, also the one that it receives, with their power.
    heard: Vec<(u32, f64)>,
    /// The parts of the frame that it receives.
    pub(crate) parts: Parts,
    /// Until when that frame has been judged.
    pub(crate) judged: Time,
}

impl<P> Work<P> {
    pub(crate) fn new(window: u32, dice: Stream) -> Self {
        Self {
            answer: None,
            asks: Time::MAX,
            patience: Time::MAX,
            window,
            reserves: Span::ZERO,
            to: None,
            short: 0,
            long: 0,
            packet: None,
            dice,
            counts: Counts::default(),
            heard: Vec::new(),
            parts: Parts::default(),
            judged: Time::ZERO,
        }
    }

    /// The frame that it has begun to send at `start`.
    pub(crate) fn sent(
        &self,
        from: u32,
        kind: FrameKind,
        start: Time,
        airtime: Span,
    ) -> Frame<'_, P> {
        let packet = self.packet.as_ref().filter(|_| kind == FrameKind::Data);
        Frame {
            kind,
            from,
            to: self.to,
            start,
            airtime,
            reserves: self.reserves,
            packet: packet.map(|packet| &packet.packet),
            repeated: self.short + self.long > 0,
        }
    }

    /// Has nothing to send any more, and the window of the beginning.
    #[inline]
    pub(crate) fn forget(&mut self, window: u32) {
        (self.packet, self.short, self.long) = (None, 0, 0);
        self.window = window;
    }

    /// When it has to send its answer or asks for a packet again.
    #[inline(never)]
    fn due(&self) -> Time {
        let answer = self.answer.as_ref().map_or(Time::MAX, |answer| answer.due);
        answer.min(self.asks)
    }

    /// Whether it is time to ask for a packet again.
    #[inline]
    pub(crate) fn asks_at(&self, now: Time) -> bool {
        self.asks <= now
    }

    /// Power of all that come to it, without this one.
    pub(crate) fn interference(&self, frame: u32) -> f64 {
        let others = self.heard.iter().filter(|(other, _)| *other != frame);
        others.map(|(_, power)| power).sum()
    }
}

impl Station {
    pub(crate) const fn new() -> Self {
        Self {
            own_until: Time::ZERO,
            backoff_end: Time::ZERO,
            slots: 0,
            phase: Phase::Free,
            delivered: false,
            owes: false,
            asks: false,
            is_reached: false,
        }
    }

    /// Asks for a packet again then; `Time::MAX` for never.
    #[inline]
    pub(crate) fn ask_at<P>(&mut self, work: &mut Work<P>, time: Time) {
        (work.asks, self.asks) = (time, time < Time::MAX);
    }

    /// Owes an answer, and no other one.
    #[inline]
    pub(crate) fn owe<P>(&mut self, work: &mut Work<P>, answer: Answer) {
        (work.answer, self.owes) = (Some(answer), true);
    }

    /// The answer that it owes.
    #[inline]
    pub(crate) fn owed<'a, P>(&self, work: &'a mut Work<P>) -> Option<&'a mut Answer> {
        debug_assert!(self.owes == work.answer.is_some());
        work.answer.as_mut().filter(|_| self.owes)
    }

    /// The answer that is due, which it owes no longer.
    #[inline]
    pub(crate) fn answer<P>(&mut self, work: &mut Work<P>, now: Time) -> Option<Answer> {
        let answer = work.answer.take_if(|answer| answer.due <= now)?;
        self.owes = false;
        Some(answer)
    }

    /// Whether it is sending then, or at least was to send until after it.
    #[inline]
    pub(crate) fn is_sending_at(&self, time: Time) -> bool {
        self.own_until > time
    }

    /// Whether it hears nothing, does nothing and owes no answer.
    #[inline]
    pub(crate) fn is_free(&self, ear: &Ear) -> bool {
        !self.hears(ear) && self.phase == Phase::Free && !self.owes
    }

    /// Whether any frame comes to it.
    #[inline]
    pub(crate) fn hears(&self, ear: &Ear) -> bool {
        ear.frame != 0 || self.is_reached
    }

    /// By SINR: a frame begins to come to it.
    pub(crate) fn reach<P>(&mut self, work: &mut Work<P>, frame: u32, power: f64) {
        work.heard.push((frame, power));
        self.is_reached = true;
    }

    /// By SINR: a frame comes to it no longer. Returns whether it did.
    pub(crate) fn leave<P>(&mut self, work: &mut Work<P>, frame: u32) -> bool {
        let before = work.heard.len();
        work.heard.retain(|(other, _)| *other != frame);
        self.is_reached = !work.heard.is_empty();
        work.heard.len() < before
    }

    /// Since when the medium is idle as far as it knows, when it hears and sends nothing.
    #[inline]
    pub(crate) fn idle_since(&self, ear: &Ear) -> Time {
        ear.heard_until.max(self.own_until).max(ear.reserved)
    }

    /// Its slots count from then on.
    #[inline]
    pub(crate) fn count_from(&mut self, ear: &mut Ear, time: Time, slot: Span) {
        self.backoff_end = time + slot * u64::from(self.slots);
        ear.backoff = Backoff::Counting;
    }

    /// When it has to do something next.
    #[inline]
    pub(crate) fn due<P>(&self, ear: &Ear, work: &Work<P>) -> Time {
        match self.phase {
            Phase::Sending(_) => return self.own_until,
            Phase::Awaiting(_) => return work.patience,
            Phase::Free => {}
        }
        let counted = match ear.backoff {
            Backoff::Counting => self.backoff_end,
            Backoff::None | Backoff::Halted => Time::MAX,
        };
        if self.owes || self.asks {
            return counted.min(work.due());
        }
        counted
    }

    /// Lets a halted backoff count again, if nothing stands in the way. Returns whether it does.
    #[inline]
    pub(crate) fn resume(&mut self, ear: &mut Ear, now: Time, spaces: &Spaces) -> bool {
        let resumes = ear.backoff == Backoff::Halted && self.is_free(ear);
        if resumes {
            let from = self.idle_since(ear).max(now) + ear.space(spaces);
            self.count_from(ear, from, spaces.slot);
        }
        resumes
    }

    /// The medium becomes busy at `at`: slots that are over count no more. Returns whether a
    /// backoff stops for that.
    #[inline]
    pub(crate) fn halt(&mut self, ear: &mut Ear, at: Time, slot: Span) -> bool {
        if ear.backoff != Backoff::Counting || self.backoff_end <= at {
            return false;
        }
        // Often less than one: an answer, soon after the frame that it is to.
        let left = self.backoff_end - at;
        let passed = slot * u64::from(self.slots) - left;
        if passed >= slot {
            let over = passed.as_nanos() / slot.as_nanos().max(1);
            self.slots -= (over as u32).min(self.slots);
        }
        ear.backoff = Backoff::Halted;
        true
    }
}
