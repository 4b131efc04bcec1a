//! A device that reports at fixed intervals over a stream, and the server that listens.
//! The IoT flows of the study "home-broadband" (doi 10.1109/JIOT.2017.2722683): 100 bytes 2.5 or
//! 125 times a second. Nagle's algorithm and delayed ACKs are the transport's business.

use crate::beat::Beat;
use crate::{App, Input, Message, Metric, Port};
use sojourn_units::{Span, Time};

/// The device: a message of a fixed size at fixed intervals, which says when it was written.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    size: u32,
    beat: Beat,
}

impl Device {
    /// `size` bytes (at least [`Message::LEAST`]) every `interval` (at least 1 ns).
    pub fn new(size: u32, interval: Span) -> Self {
        Self {
            size,
            beat: Beat::new(interval),
        }
    }
}

impl App for Device {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if self.beat.falls(input, now) {
            port.message(0, Message::new(now.as_nanos(), self.size));
            self.beat.wait(now, port);
        }
    }
}

/// The server: measures how old each message is when it has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collector;

impl App for Collector {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if let Input::Message { message, .. } = input {
            let age = now - Time::from_nanos(message.tag);
            port.observe(Metric::AgeMs, age.as_millis_f64());
        }
    }
}

#[cfg(test)]
mod tests;
