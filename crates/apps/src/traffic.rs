//! The basic traffic models.

use crate::{App, Datagram, Input, Port};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};

/// Takes whatever comes and says nothing: the far end of one-way traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sink;

impl App for Sink {
    fn handle(&mut self, _input: Input, _now: Time, _port: &mut dyn Port) {}
}

/// A stream that always has data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bulk;

impl App for Bulk {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if input == Input::Start {
            port.write_forever();
        }
    }
}

/// One file, then the stream closes.
#[derive(Clone, Copy, Debug)]
pub struct File {
    left: u64,
}

impl File {
    /// A file of `size` bytes.
    pub const fn new(size: u64) -> Self {
        Self { left: size }
    }
}

impl App for File {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if !matches!(input, Input::Start | Input::Writable) {
            return;
        }
        self.left -= port.write(self.left).min(self.left);
        if self.left == 0 {
            port.close();
        }
    }
}

/// When the next of a row of evenly spaced events is due: the row keeps its phase even when a
/// wake-up comes late, but events missed altogether are not made up for in a burst.
pub(crate) fn next_due(due: Time, now: Time, interval: Span) -> Time {
    let next = due + interval;
    if next + interval < now { now } else { next }
}

/// Messages of constant size at constant intervals, over either transport.
#[derive(Clone, Copy, Debug)]
pub struct Cbr {
    size: u16,
    interval: Span,
    due: Time,
    number: u32,
}

impl Cbr {
    /// `size` bytes every `interval` (at least 1 ns).
    pub fn new(size: u16, interval: Span) -> Self {
        Self {
            size,
            interval: interval.max(Span::from_nanos(1)),
            due: Time::ZERO,
            number: 0,
        }
    }

    fn message(&mut self, now: Time, port: &mut dyn Port) {
        port.send(Datagram {
            number: self.number,
            len: self.size,
            sent: now,
        });
        self.number = self.number.wrapping_add(1);
    }
}

impl App for Cbr {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => self.due = now,
            Input::Timer if now >= self.due => {}
            _ => return,
        }
        self.message(now, port);
        self.due = next_due(self.due, now, self.interval);
        port.wake_at(self.due);
    }
}

/// The asking end of a latency probe.
#[derive(Clone, Copy, Debug)]
pub struct Ping {
    requests: Cbr,
}

impl Ping {
    /// A request of `size` bytes every `interval`.
    pub fn new(size: u16, interval: Span) -> Self {
        Self {
            requests: Cbr::new(size, interval),
        }
    }
}

impl App for Ping {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Datagram(echo) => port.round_trip(now - echo.sent),
            _ => self.requests.handle(input, now, port),
        }
    }
}

/// The answering end of a latency probe: sends every datagram back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl App for Echo {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if let Input::Datagram(request) = input {
            port.send(request);
        }
    }
}

/// Bursts of datagrams with exponential on and off times.
#[derive(Clone, Debug)]
pub struct OnOff {
    size: u16,
    interval: Span,
    on: Span,
    off: Span,
    dice: Stream,
    due: Time,
    burst_ends: Time,
    number: u32,
}

impl OnOff {
    /// Payloads of `size` bytes at `rate` during bursts of mean length `on`, with mean
    /// silences `off`.
    pub fn new(size: u16, rate: Rate, on: Span, off: Span, dice: Stream) -> Self {
        let interval = rate.time_for(u64::from(size)).max(Span::from_nanos(1));
        Self {
            size,
            interval,
            on,
            off,
            dice,
            due: Time::ZERO,
            burst_ends: Time::ZERO,
            number: 0,
        }
    }
}

impl App for OnOff {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => {
                self.due = now;
                self.burst_ends = now + self.dice.exponential(self.on);
            }
            Input::Timer if now >= self.due => {}
            _ => return,
        }
        port.send(Datagram {
            number: self.number,
            len: self.size,
            sent: now,
        });
        self.number = self.number.wrapping_add(1);
        self.due = next_due(self.due, now, self.interval);
        if self.due >= self.burst_ends {
            self.due = self.burst_ends.max(now) + self.dice.exponential(self.off);
            self.burst_ends = self.due + self.dice.exponential(self.on);
        }
        port.wake_at(self.due);
    }
}

#[cfg(test)]
mod tests;
