//! The basic traffic models.

use crate::beat::{Beat, Numbered};
use crate::{App, Input, Port};
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

/// Messages of constant size at constant intervals, over either transport.
#[derive(Clone, Copy, Debug)]
pub struct Cbr {
    messages: Numbered,
    beat: Beat,
}

impl Cbr {
    /// `size` bytes every `interval` (at least 1 ns).
    pub fn new(size: u16, interval: Span) -> Self {
        Self {
            messages: Numbered::new(size),
            beat: Beat::new(interval),
        }
    }
}

impl App for Cbr {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if self.beat.falls(input, now) {
            self.messages.send(now, port);
            self.beat.wait(now, port);
        }
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
    datagrams: Numbered,
    beat: Beat,
    on: Span,
    off: Span,
    dice: Stream,
    burst_ends: Time,
}

impl OnOff {
    /// Payloads of `size` bytes at `rate` during bursts of mean length `on`, with mean
    /// silences `off`.
    pub fn new(size: u16, rate: Rate, on: Span, off: Span, dice: Stream) -> Self {
        Self {
            datagrams: Numbered::new(size),
            beat: Beat::new(rate.time_for(u64::from(size))),
            on,
            off,
            dice,
            burst_ends: Time::ZERO,
        }
    }
}

impl App for OnOff {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if !self.beat.falls(input, now) {
            return;
        }
        if input == Input::Start {
            self.burst_ends = now + self.dice.exponential(self.on);
        }
        self.datagrams.send(now, port);
        self.beat.advance(now);
        if self.beat.due >= self.burst_ends {
            self.beat.due = self.burst_ends.max(now) + self.dice.exponential(self.off);
            self.burst_ends = self.beat.due + self.dice.exponential(self.on);
        }
        port.wake_at(self.beat.due);
    }
}

#[cfg(test)]
mod tests;
