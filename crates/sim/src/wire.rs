//! A wire: a transmitter behind one interface, and pipes to where its packets go.
//!
//! A wire knows when a transmission ends as soon as it begins. So a packet goes into its pipe right
//! then, and only the beginning of the next one needs an event, if a packet waits for it.

use crate::calendar::{Owner, OwnerKey};
use crate::forwarding::{Leg, Table};
use crate::packet::Packet;
use crate::passage::Passage;
use crate::pipe::Pipe;
use sojourn_qdisc::Dequeue;
use sojourn_units::Time;
use sojourn_world::{Cell, Change, Fate, Impairment, Line, LineChange, Transmitter};

#[derive(Clone)]
pub(crate) struct Wire {
    ends: Ends,
    transmitter: Transmitter,
    link_header: u16,
    /// When the transmitter has sent what it was given.
    free_at: Time,
    /// Time of the event that the calendar holds for this wire; `Time::MAX` for none.
    armed: Time,
    /// Where all its packets go; none where that differs between directions.
    leg: Option<Leg>,
    /// None for the usual wire that only delays.
    impairment: Option<Box<Impairment>>,
    /// What it does to packets; seldom looked at.
    line: Box<Line>,
}

/// Where a wire is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// Its index among the media.
    pub(crate) medium: u32,
    /// Index of its interface.
    pub(crate) interface: u32,
}

impl Wire {
    /// `dice` names its random stream.
    pub(crate) fn new(cell: &Cell, line: &Line, ends: Ends, dice: &str) -> Self {
        let link = ends.interface as usize;
        // Where a delay changes packets must be kept from overtaking others.
        let changes = |change: &Change| change.link == link && change.line.is_behind();
        let impairment = if cell.changes.iter().any(changes) {
            Some(Impairment::new(line, cell.seed, dice))
        } else {
            Impairment::of(line, cell.seed, dice)
        };
        Self {
            ends,
            transmitter: Transmitter::new(&line.rate, cell.link_header),
            link_header: cell.link_header,
            free_at: Time::ZERO,
            armed: Time::MAX,
            leg: None,
            impairment: impairment.map(Box::new),
            line: Box::new(line.clone()),
        }
    }

    /// Learns where its packets go.
    pub(crate) fn lead(&mut self, table: &Table) {
        self.leg = table.only_leg(self.ends.interface as usize);
    }

    /// Starts a packet that waits, or sets an event for when it may start.
    #[expect(clippy::inline_always, reason = "mostly that event is there")]
    #[inline(always)]
    pub(crate) fn waited_for(&mut self, passage: &mut Passage, now: Time) {
        let again = if now >= self.free_at {
            self.serve_first(passage, now)
        } else {
            Some(self.free_at)
        };
        if let Some(time) = again
            && time < self.armed
        {
            self.armed = time;
            let source = OwnerKey::of(Owner::Wire(self.ends.medium as usize));
            passage.calendar.push(time, source);
        }
    }

    /// The transmitter may be free, or a shaper's time may have come.
    #[inline]
    pub(crate) fn event(&mut self, passage: &mut Passage, now: Time) -> Option<Time> {
        if self.armed != now {
            return None; // stale
        }
        let again = self.serve(passage, now);
        self.armed = again.unwrap_or(Time::MAX);
        again
    }

    /// [`serve`](Self::serve) for a packet that has come to a queue that was empty.
    #[inline(never)]
    fn serve_first(&mut self, passage: &mut Passage, now: Time) -> Option<Time> {
        self.serve(passage, now)
    }

    /// Sends what may be sent now; returns when to go on.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    fn serve(&mut self, passage: &mut Passage, now: Time) -> Option<Time> {
        let index = self.ends.interface as usize;
        loop {
            let interface = &mut passage.interfaces[index];
            if !interface.waits() {
                return None;
            }
            if !self.is_free(now) {
                let start = self.transmitter.start(now.max(self.free_at));
                if start > now {
                    // A link that is down asks for no event: its change will.
                    return (start < Time::MAX).then_some(start);
                }
            }
            match interface.take_queued(now) {
                Dequeue::Empty => return None,
                Dequeue::NotBefore(time) => return Some(time),
                Dequeue::Packet { packet, .. } => {
                    self.launch(&packet, passage, now);
                    if self.free_at > now {
                        let waits = passage.interfaces[index].waits();
                        return waits.then_some(self.free_at);
                    }
                }
            }
        }
    }

    /// Whether a packet that comes now may start at once, whatever it is.
    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        now >= self.free_at && self.transmitter.is_steady()
    }

    /// Starts a packet now, and puts it into its pipe.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn launch(&mut self, packet: &Packet, passage: &mut Passage, now: Time) {
        let index = self.ends.interface as usize;
        self.free_at = self.transmitter.finish(now, packet.len.into());
        if passage.is_watched() {
            passage.tell_sent(index, packet, now, self.free_at);
        }
        let forwarding = &passage.forwarding;
        let leg = self.leg.unwrap_or_else(|| forwarding.leg(index, packet));
        let pipe = &passage.pipes[leg.pipe as usize];
        let due = self.free_at + pipe.delay;
        match &mut self.impairment {
            None => passage.fly(leg, due, packet),
            Some(impairment) => {
                let fate = impairment.fate(due, pipe.last());
                launch_again(&fate, index, leg, packet, passage, now);
            }
        }
    }

    /// The line is another one from now on. A packet that is being sent is sent as it began.
    pub(crate) fn change(&mut self, change: &LineChange, pipes: &mut [Pipe]) {
        let before = self.line.delay;
        change.apply(&mut self.line);
        if let Some(rate) = &change.rate {
            self.transmitter = Transmitter::new(rate, self.link_header);
        }
        let interface = self.ends.interface;
        for pipe in pipes.iter_mut().filter(|pipe| pipe.interface == interface) {
            pipe.delay = pipe.delay - before + self.line.delay;
        }
        if let Some(impairment) = &mut self.impairment {
            impairment.follow(&self.line);
        }
    }
}

/// Puts a packet into its pipe as its line has it: never, once, or twice.
#[inline(never)]
fn launch_again(
    fate: &Fate,
    index: usize,
    leg: Leg,
    packet: &Packet,
    passage: &mut Passage,
    now: Time,
) {
    let interface = &mut passage.interfaces[index];
    interface.recorder.launched(now, fate);
    if fate.arrivals.iter().flatten().next().is_none() {
        interface.lost.note_segments(packet);
    }
    if let (Some(token), Some(outside)) = (packet.token(), &mut passage.outside) {
        match fate.arrivals.iter().flatten().count() {
            0 => outside.lost(token),
            1 => {}
            _ => outside.copied(token),
        }
    }
    for arrival in fate.arrivals.into_iter().flatten() {
        passage.fly(leg, arrival, packet);
    }
}
