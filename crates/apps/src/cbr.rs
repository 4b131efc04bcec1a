//! Messages of one size at a constant rate: evenly spaced, with jitter, or as a Poisson process.

use crate::beat::{Beat, Numbered, Paced};
use crate::model::{Datagrams, ends, one_way};
use crate::sink::Sink;
use crate::{App, Ends, Input, Kind, Model, Port};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// How the times between messages vary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gaps {
    /// Not at all.
    #[default]
    Even,
    /// Each message goes up to this much after its even time, uniformly; at most the interval, so
    /// that they keep their order.
    Jittered(Span),
    /// Exponentially: a Poisson process. The interval is their mean.
    Poisson,
}

/// `size` bytes of payload every `interval`, over either transport. Over TCP a message that does
/// not fit into the send buffer is skipped and counted as blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cbr {
    /// Payload in bytes, 1 to [`Datagram::MOST`](crate::Datagram::MOST).
    pub size: u16,
    /// Time between messages.
    pub interval: Span,
    /// How it varies.
    pub gaps: Gaps,
}

impl Model for Cbr {
    const KIND: Kind = Kind::new("cbr", "messages of one size at a constant rate", None);

    fn build(&self, dice: Stream) -> Ends {
        if self.gaps == Gaps::Even {
            return ends(Paced::new(self.size, self.interval), Sink);
        }
        let source = Uneven {
            gaps: self.gaps,
            mean: self.interval.max(Span::from_nanos(1)),
            messages: Numbered::new(self.size),
            beat: Beat::new(self.interval),
            due: Time::ZERO,
            dice,
        };
        ends(source, Sink)
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        one_way(self.size)
    }
}

/// A source whose gaps vary.
#[derive(Clone, Debug)]
struct Uneven {
    gaps: Gaps,
    mean: Span,
    messages: Numbered,
    /// Even times, of a jittered one.
    beat: Beat,
    /// When the next message goes.
    due: Time,
    dice: Stream,
}

impl Uneven {
    /// The next message of a Poisson process. A late wake-up does not lower the rate, but what was
    /// missed altogether is not made up for in a burst.
    fn after(&mut self, now: Time) -> Time {
        let next = self.due + self.dice.exponential(self.mean);
        if next + self.mean < now { now } else { next }
    }
}

impl App for Uneven {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => {
                self.beat.due = now;
                self.due = match self.gaps {
                    Gaps::Jittered(most) => now + self.dice.span_below(most),
                    Gaps::Poisson => now + self.dice.exponential(self.mean),
                    Gaps::Even => now,
                };
            }
            Input::Timer if now >= self.due => {
                self.messages.send(now, port);
                self.due = match self.gaps {
                    Gaps::Jittered(most) => {
                        self.beat.advance(now);
                        self.beat.due + self.dice.span_below(most)
                    }
                    _ => self.after(now),
                };
            }
            _ => return,
        }
        port.wake_at(self.due);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
