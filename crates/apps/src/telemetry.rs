//! A device that reports at fixed intervals over a stream, and the server that listens.
//! The IoT flows of the study "home-broadband" (doi 10.1109/JIOT.2017.2722683): 100 bytes 2.5 or
//! 125 times a second. Nagle's algorithm and delayed ACKs are the transport's business.

use crate::beat::Beat;
use crate::model::ends;
use crate::{App, Ends, Input, Kind, Message, Metric, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A device's reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telemetry {
    /// Bytes of a report, [`Message::LEAST`] to [`Datagram::MOST`](crate::Datagram::MOST).
    pub size: u16,
    /// Time between reports.
    pub interval: Span,
}

impl Telemetry {
    /// Size of a report unless told otherwise, in bytes: that of the study.
    pub const SIZE: u16 = 100;
}

impl Model for Telemetry {
    const KIND: Kind = Kind {
        has_messages: true,
        metrics: &[Metric::AgeMs],
        ..Kind::new("telemetry", "a device's reports", Some(Transport::Tcp))
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(Device::new(self.size.into(), self.interval), Collector)
    }
}

/// The device: a message of a fixed size at fixed intervals, which says when it was written.
#[derive(Clone, Copy, Debug)]
struct Device {
    size: u32,
    beat: Beat,
}

impl Device {
    /// `size` bytes (at least [`Message::LEAST`]) every `interval` (at least 1 ns).
    fn new(size: u32, interval: Span) -> Self {
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

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

/// The server: measures how old each message is when it has arrived.
#[derive(Clone, Copy, Debug)]
struct Collector;

impl App for Collector {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if let Input::Message { message, .. } = input {
            let age = now - Time::from_nanos(message.tag);
            port.observe(Metric::AgeMs, age.as_millis_f64());
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests;
