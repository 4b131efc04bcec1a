//! Pictures in real time whose rate follows the network: a cloud game, a video call. Frames leave
//! at a constant rate; their size is what the congestion control allows. UDP-Prague in a frame's
//! time (`prague`): marks of L4S and losses lower the rate.
//!
//! Each frame is sent as evenly spaced datagrams over the time until the next one, so that a queue
//! sees no bursts. The receiver answers every datagram with its counts, as AccECN does for TCP.
//!
//! Not here: frames of different kinds (intra-coded ones are larger), repairs of lost packets, an
//! encoder that lags behind the rate.

mod prague;

use crate::beat::Beat;
use crate::model::{Datagrams, ends};
use crate::{App, Datagram, Ends, Input, Kind, Metric, Model, Port, Transport};
use alloc::boxed::Box;
use prague::{Heard, Prague};
use sojourn_random::Stream;
use sojourn_units::{Ecn, Rate, Span, Time};

/// Frames that may be incomplete at a time.
const FRAMES: usize = 8;

/// Pictures in real time. By default 50 frames a second of 0.3 to 20 Mbit/s in datagrams of up to
/// 1200 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Realtime {
    /// Largest payload of a datagram in bytes, [`Realtime::LEAST`] to [`Datagram::MOST`].
    pub size: u16,
    /// Time between frames.
    pub interval: Span,
    /// Lowest payload rate, and the first; above zero.
    pub min: Rate,
    /// Highest payload rate, at least the lowest.
    pub max: Rate,
}

impl Realtime {
    /// Smallest `size`: half of it still carries what the ends tell each other.
    pub const LEAST: u16 = 2 * Datagram::WITH_WORDS;
    /// Payload in bytes of the receiver's answers.
    const ANSWER: u16 = 40;
}

impl Default for Realtime {
    fn default() -> Self {
        Self {
            size: 1200,
            interval: Span::from_millis(20),
            min: Rate::from_bps(300_000),
            max: Rate::from_bps(20_000_000),
        }
    }
}

impl Model for Realtime {
    const KIND: Kind = Kind {
        metrics: &[Metric::FrameMs, Metric::EncoderKbps, Metric::LostFrames],
        ..Kind::new(
            "realtime",
            "pictures in real time whose rate follows marks and losses",
            Some(Transport::Udp),
        )
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(Encoder::new(*self), Viewer::default())
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        [(self.size, false), (Self::ANSWER, true)]
            .map(|(size, echo)| Some(Datagrams { size, echo }))
    }
}

/// A frame that is being sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    number: u32,
    begun: Time,
    bytes: u32,
    datagrams: u32,
    sent: u32,
}

/// The end that sends pictures.
#[derive(Clone, Debug)]
struct Encoder {
    size: u16,
    interval: Span,
    frames: Beat,
    frame: Sending,
    /// Number of the next datagram.
    number: u32,
    due: Time,
    control: Prague,
}

impl Encoder {
    fn new(model: Realtime) -> Self {
        Self {
            size: model.size.max(Realtime::LEAST),
            interval: model.interval,
            frames: Beat::new(model.interval),
            frame: Sending::default(),
            number: 0,
            due: Time::ZERO,
            control: Prague::new(model.size, [model.min, model.max]),
        }
    }

    /// Encodes the next frame at the rate that the network allows.
    fn encode(&mut self, now: Time, port: &mut dyn Port) {
        self.control.looked(now);
        let rate = self.control.rate();
        port.observe(Metric::EncoderKbps, rate.as_bps() as f64 * 1e-3);
        let bytes = rate.as_bps() as f64 / 8.0 * self.interval.as_secs_f64();
        let bytes = (bytes as u32).max(Datagram::WITH_WORDS.into());
        self.frame = Sending {
            number: self.frame.number.wrapping_add(1),
            begun: now,
            bytes,
            datagrams: bytes.div_ceil(self.size.into()),
            sent: 0,
        };
    }

    /// Sends the next datagram of the frame, and asks to be woken for the one after it.
    fn send(&mut self, now: Time, port: &mut dyn Port) {
        let frame = &mut self.frame;
        let extra = u32::from(frame.sent < frame.bytes % frame.datagrams);
        port.send(Datagram {
            number: self.number,
            len: (frame.bytes / frame.datagrams + extra) as u16,
            sent: now,
            words: [frame.number, frame.sent, frame.datagrams],
            ..Datagram::default()
        });
        self.number = self.number.wrapping_add(1);
        frame.sent += 1;
        self.due = if frame.sent < frame.datagrams {
            frame.begun + self.interval * u64::from(frame.sent) / u64::from(frame.datagrams)
        } else {
            self.frames.advance(now);
            self.frames.due
        };
        port.wake_at(self.due);
    }
}

impl App for Encoder {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => self.frames.due = now,
            Input::Timer if now >= self.due => {}
            Input::Datagram(answer) => {
                let [highest, received, marked] = answer.words;
                let heard = Heard {
                    highest,
                    received,
                    marked,
                };
                let len = self.frame.bytes / self.frame.datagrams.max(1);
                self.control.heard(heard, len, answer.sent, now);
                return;
            }
            _ => return,
        }
        if self.frame.sent >= self.frame.datagrams {
            self.encode(now, port);
        }
        self.send(now, port);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

/// A frame that is arriving.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    number: u32,
    /// When its first datagram was sent, if that has come.
    begun: Option<Time>,
    /// Datagrams that have come.
    come: u32,
    is_complete: bool,
}

/// The end that shows pictures.
#[derive(Clone, Debug, Default)]
struct Viewer {
    /// By the frame's number, modulo their count. Frames count from 1.
    frames: [Arriving; FRAMES],
    newest: u32,
    heard: Heard,
    answers: u32,
}

impl Viewer {
    /// Makes room for the frames up to this one; those that leave incomplete are lost.
    fn begin(&mut self, number: u32, port: &mut dyn Port) {
        if self.newest == 0 {
            // The first that comes: those before it are of a time without a viewer.
            self.newest = number - 1;
        }
        let mut lost = (number - self.newest).saturating_sub(FRAMES as u32);
        for number in self.newest + 1 + lost..=number {
            let place = &mut self.frames[number as usize % FRAMES];
            lost += u32::from(place.number > 0 && !place.is_complete);
            *place = Arriving {
                number,
                ..Arriving::default()
            };
        }
        self.newest = number;
        if lost > 0 {
            port.observe(Metric::LostFrames, lost.into());
        }
    }

    fn arrived(&mut self, datagram: Datagram, now: Time, port: &mut dyn Port) {
        let [number, place, count] = datagram.words;
        if number == 0 {
            return; // not an encoder's
        }
        if number > self.newest {
            self.begin(number, port);
        }
        let frame = &mut self.frames[number as usize % FRAMES];
        if frame.number != number || frame.is_complete {
            return;
        }
        frame.come += 1;
        if place == 0 {
            frame.begun = Some(datagram.sent);
        }
        frame.is_complete = frame.come >= count;
        if let (true, Some(begun)) = (frame.is_complete, frame.begun) {
            port.observe(Metric::FrameMs, (now - begun).as_millis_f64());
        }
    }
}

impl App for Viewer {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        let Input::Datagram(datagram) = input else {
            return;
        };
        self.arrived(datagram, now, port);
        let heard = &mut self.heard;
        heard.highest = heard.highest.max(datagram.number);
        heard.received += 1;
        heard.marked += u32::from(datagram.ecn == Ecn::Ce);
        port.send(Datagram {
            number: self.answers,
            len: Realtime::ANSWER,
            sent: datagram.sent,
            words: [heard.highest, heard.received, heard.marked],
            ..Datagram::default()
        });
        self.answers = self.answers.wrapping_add(1);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
