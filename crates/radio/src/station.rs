//! One station: what it hears, what it waits for, what it has to send.

use crate::errors::Errors;
use crate::phy::Neighbour;
use crate::profile::Rules;
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

/// How the frame that it hears will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    Clear,
    /// It cannot be received.
    Garbled,
    /// Another frame came in between.
    Collided,
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
pub(crate) struct Station {
    /// The frame that it hears; zero for none. By SINR: the one that it receives.
    pub(crate) frame: u64,
    pub(crate) heard_until: Time,
    pub(crate) power: f64,
    /// The medium is reserved until then.
    pub(crate) reserved: Time,
    /// Until when it sends its frame, or has sent it.
    pub(crate) own_until: Time,
    /// When its backoff ends, if slots count.
    pub(crate) backoff_end: Time,
    /// Slots to go when they began to count.
    pub(crate) slots: u32,
    pub(crate) phase: Phase,
    pub(crate) hearing: Hearing,
    pub(crate) backoff: Backoff,
    /// Whether the last frame heard was in error, so that EIFS takes the place of DIFS.
    pub(crate) erred: bool,
    /// Whether the addressee has had its packet.
    pub(crate) delivered: bool,
    /// Whether it owes an answer.
    pub(crate) owes: bool,
    /// Whether it asks for a packet again at a time that is known.
    asks: bool,
    /// By SINR: whether any frame comes to it.
    pub(crate) is_reached: bool,
}

const _: () = assert!(size_of::<Station>() == sojourn_memory::LINE);

/// What else a station is: what it has to send, and what it has done. In this order, so that what
/// most of it needs comes first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Work<P> {
    /// The frame that it sends.
    pub(crate) own: u64,
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
    heard: Vec<(u64, f64)>,
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
            own: 0,
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
    pub(crate) fn interference(&self, frame: u64) -> f64 {
        let others = self.heard.iter().filter(|(other, _)| *other != frame);
        others.map(|(_, power)| power).sum()
    }
}

impl Station {
    pub(crate) const fn new() -> Self {
        Self {
            frame: 0,
            heard_until: Time::ZERO,
            power: 0.0,
            reserved: Time::ZERO,
            own_until: Time::ZERO,
            backoff_end: Time::ZERO,
            slots: 0,
            phase: Phase::Free,
            hearing: Hearing::Clear,
            backoff: Backoff::None,
            erred: false,
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
    pub(crate) fn is_free(&self) -> bool {
        !self.hears() && self.phase == Phase::Free && !self.owes
    }

    /// Whether any frame comes to it.
    #[inline]
    pub(crate) fn hears(&self) -> bool {
        self.frame != 0 || self.is_reached
    }

    /// By SINR: a frame begins to come to it.
    pub(crate) fn reach<P>(&mut self, work: &mut Work<P>, frame: u64, power: f64) {
        work.heard.push((frame, power));
        self.is_reached = true;
    }

    /// By SINR: a frame comes to it no longer. Returns whether it did.
    pub(crate) fn leave<P>(&mut self, work: &mut Work<P>, frame: u64) -> bool {
        let before = work.heard.len();
        work.heard.retain(|(other, _)| *other != frame);
        self.is_reached = !work.heard.is_empty();
        work.heard.len() < before
    }

    /// By SINR: what comes to it changes now. The frame that it receives was disturbed by the same
    /// others since the last change.
    pub(crate) fn judge<P>(&mut self, work: &mut Work<P>, errors: &[[Errors; 2]; 3], now: Time) {
        if self.frame == 0 || self.hearing != Hearing::Clear {
            return;
        }
        let from = core::mem::replace(&mut work.judged, now);
        let others = work.interference(self.frame);
        if others <= 0.0 || from >= now {
            return;
        }
        let border = work.parts.payload_from.clamp(from, now);
        let [header, payload] = &errors[work.parts.rate];
        let sinr = self.power / others;
        let survival = header.survival(sinr, border - from) * payload.survival(sinr, now - border);
        if survival < 1.0 && !work.dice.chance(survival) {
            self.hearing = Hearing::Collided;
        }
    }

    /// Since when the medium is idle as far as it knows, when it hears and sends nothing.
    #[inline]
    pub(crate) fn idle_since(&self) -> Time {
        self.heard_until.max(self.own_until).max(self.reserved)
    }

    /// Its slots count from then on.
    #[inline]
    pub(crate) fn count_from(&mut self, time: Time, slot: Span) {
        self.backoff_end = time + slot * u64::from(self.slots);
        self.backoff = Backoff::Counting;
    }

    /// When it has to do something next.
    #[inline]
    pub(crate) fn due<P>(&self, work: &Work<P>) -> Time {
        match self.phase {
            Phase::Sending(_) => return self.own_until,
            Phase::Awaiting(_) => return work.patience,
            Phase::Free => {}
        }
        let counted = match self.backoff {
            Backoff::Counting => self.backoff_end,
            Backoff::None | Backoff::Halted => Time::MAX,
        };
        if self.owes || self.asks {
            return counted.min(work.due());
        }
        counted
    }

    /// How long the medium has to be idle before its slots count.
    #[inline]
    pub(crate) fn space(&self, spaces: &Spaces) -> Span {
        if self.erred { spaces.eifs } else { spaces.difs }
    }

    /// Lets a halted backoff count again, if nothing stands in the way. Returns whether it does.
    #[inline]
    pub(crate) fn resume(&mut self, now: Time, spaces: &Spaces) -> bool {
        let resumes = self.backoff == Backoff::Halted && self.is_free();
        if resumes {
            let from = self.idle_since().max(now) + self.space(spaces);
            self.count_from(from, spaces.slot);
        }
        resumes
    }

    /// A frame ends that it cannot receive.
    #[inline]
    pub(crate) fn garbled(
        &mut self,
        neighbour: &Neighbour,
        at: Time,
        rules: Rules,
        spaces: &Spaces,
    ) {
        match rules {
            Rules::Ns2 => self.reserved = self.reserved.max(at + spaces.eifs),
            Rules::Standard => {
                self.erred = neighbour.decodes() || self.hearing == Hearing::Collided;
            }
        }
    }

    /// The medium becomes busy at `at`: slots that are over count no more. Returns whether a
    /// backoff stops for that.
    #[inline]
    pub(crate) fn halt(&mut self, at: Time, slot: Span) -> bool {
        if self.backoff != Backoff::Counting || self.backoff_end <= at {
            return false;
        }
        // Often less than one: an answer, soon after the frame that it is to.
        let left = self.backoff_end - at;
        let passed = slot * u64::from(self.slots) - left;
        if passed >= slot {
            let over = passed.as_nanos() / slot.as_nanos().max(1);
            self.slots -= (over as u32).min(self.slots);
        }
        self.backoff = Backoff::Halted;
        true
    }
}
