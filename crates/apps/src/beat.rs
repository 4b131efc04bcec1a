//! What all that send by the clock share.

use crate::{App, Datagram, Input, Port};
use alloc::boxed::Box;
use sojourn_units::{Span, Time};

/// A row of evenly spaced events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    interval: Span,
    /// When the next one is due.
    pub(crate) due: Time,
}

impl Beat {
    /// One every `interval` (at least 1 ns).
    pub(crate) fn new(interval: Span) -> Self {
        Self {
            interval: interval.max(Span::from_nanos(1)),
            due: Time::ZERO,
        }
    }

    /// Whether this input is one of the row: the start, and whatever timer is not early.
    pub(crate) fn falls(&mut self, input: Input, now: Time) -> bool {
        match input {
            Input::Start => {
                self.due = now;
                true
            }
            Input::Timer => now >= self.due,
            _ => false,
        }
    }

    /// To the next one: the row keeps its phase even when a wake-up comes late, but events missed
    /// altogether are not made up for in a burst.
    pub(crate) fn advance(&mut self, now: Time) {
        let next = self.due + self.interval;
        self.due = if next + self.interval < now {
            now
        } else {
            next
        };
    }

    /// The same, and asks to be woken for it.
    pub(crate) fn wait(&mut self, now: Time, port: &mut dyn Port) {
        self.advance(now);
        port.wake_at(self.due);
    }
}

/// Datagrams of one size with consecutive numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    size: u16,
    number: u32,
}

impl Numbered {
    pub(crate) const fn new(size: u16) -> Self {
        Self { size, number: 0 }
    }

    /// The next one, which says that it was sent at `sent`.
    pub(crate) fn send(&mut self, sent: Time, port: &mut dyn Port) {
        port.send(Datagram {
            number: self.number,
            len: self.size,
            sent,
            ..Datagram::default()
        });
        self.number = self.number.wrapping_add(1);
    }
}

/// Messages of one size at constant intervals, over either transport.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced {
    messages: Numbered,
    beat: Beat,
}

impl Paced {
    /// `size` bytes every `interval` (at least 1 ns).
    pub(crate) fn new(size: u16, interval: Span) -> Self {
        Self {
            messages: Numbered::new(size),
            beat: Beat::new(interval),
        }
    }
}

impl App for Paced {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if self.beat.falls(input, now) {
            self.messages.send(now, port);
            self.beat.wait(now, port);
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests;
