//! Speech and pictures in real time: the listening end of a one-way stream of datagrams. A call
//! is two such flows, one each way.
//!
//! Sources: interarrival jitter, RFC 3550 section 6.4.1 and A.8; playout delay, Ramjee, Kurose,
//! Towsley and Schulzrinne 1994, algorithm 1 (delay d and its variation v, both smoothed with
//! 0.998002, playout at d + 4v), set anew every second instead of at every talkspurt, and at least
//! one packet's time above d; rating, see [`crate::emodel`].
//!
//! The rating is that of speech. For `video` it says what speech would be worth that travels
//! in the same packets; of the picture it says nothing.

use crate::beat::Paced;
use crate::emodel::{Codec, G711, opinion, rating};
use crate::model::{Datagrams, ends, one_way};
use crate::{App, Datagram, Ends, Input, Kind, Metric, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// How often the connection is rated and the playout delay set.
const RATED_EVERY: Span = Span::from_secs(1);
/// Ramjee et al.: weight of the past.
const PAST: f64 = 0.998_002;

/// Declares a kind of call: its type, name and meaning, and the payload by default.
macro_rules! call {
    ($(#[$about:meta])* $Call:ident, $name:literal, $what:literal, $size:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $Call {
            /// Payload in bytes, 1 to [`Datagram::MOST`].
            pub size: u16,
            /// Time between packets.
            pub interval: Span,
        }

        impl Default for $Call {
            fn default() -> Self {
                let interval = Span::from_millis(20);
                Self { size: $size, interval }
            }
        }

        impl Model for $Call {
            const KIND: Kind = Kind {
                is_call: true,
                metrics: &[Metric::JitterMs, Metric::MissingRatio, Metric::RFactor, Metric::Mos],
                ..Kind::new($name, $what, Some(Transport::Udp))
            };

            fn build(&self, _dice: Stream) -> Ends {
                let listener = Listener::new(self.interval);
                ends(Paced::new(self.size, self.interval), listener)
            }

            fn datagrams(&self) -> [Option<Datagrams>; 2] {
                one_way(self.size)
            }
        }
    };
}

call! {
    /// One direction of a call in speech. By default G.711 (RFC 3551): 64 kbit/s in packets of
    /// 20 ms, and RTP's header.
    Voip, "voip", "one direction of a voice call", 172
}

call! {
    /// One direction of a call in pictures. By default that of the study "home-broadband".
    Video, "video", "one direction of a video call", 700
}

/// Interarrival jitter (RFC 3550 A.8), in milliseconds. Datagrams that leave at a constant
/// interval need no time stamp: their number says when they left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    last: Option<(Time, u32)>,
    pub(crate) ms: f64,
}

impl Jitter {
    /// The datagram with this number has arrived; `interval` lies between two of them.
    pub(crate) fn arrived(&mut self, number: u32, interval: Span, now: Time) {
        if let Some((before, last)) = self.last {
            let sent_apart = f64::from(number.wrapping_sub(last).cast_signed());
            let apart = now.as_nanos() as f64 - before.as_nanos() as f64;
            let difference = (apart * 1e-6 - sent_apart * interval.as_millis_f64()).abs();
            self.ms += (difference - self.ms) / 16.0;
        }
        self.last = Some((now, number));
    }
}

/// The end that listens.
#[derive(Clone, Debug)]
struct Listener {
    interval: Span,
    codec: Codec,
    jitter: Jitter,
    /// Smoothed delay and its variation, in milliseconds.
    delay: Option<(f64, f64)>,
    /// A datagram that has been longer under way comes too late, in milliseconds.
    playout_ms: f64,
    /// Datagrams in time since the last rating.
    played: u32,
    /// One more than the highest number seen, now and at the last rating.
    next: u32,
    rated: u32,
    due: Time,
}

impl Listener {
    /// For datagrams that leave every `interval`.
    fn new(interval: Span) -> Self {
        Self {
            interval,
            codec: G711,
            jitter: Jitter::default(),
            delay: None,
            playout_ms: f64::INFINITY,
            played: 0,
            next: 0,
            rated: 0,
            due: Time::ZERO,
        }
    }

    fn arrived(&mut self, datagram: Datagram, now: Time) {
        self.jitter.arrived(datagram.number, self.interval, now);
        let ms = (now - datagram.sent).as_millis_f64();
        let (delay, variation) = self.delay.unwrap_or((ms, 0.0));
        let delay = PAST * delay + (1.0 - PAST) * ms;
        let variation = PAST * variation + (1.0 - PAST) * (delay - ms).abs();
        if self.delay.replace((delay, variation)).is_none() {
            self.rated = datagram.number;
            self.set_playout();
        }
        self.next = self.next.max(datagram.number.saturating_add(1));
        if ms <= self.playout_ms {
            self.played += 1;
        }
    }

    fn set_playout(&mut self) {
        if let Some((delay, variation)) = self.delay {
            self.playout_ms = delay + (4.0 * variation).max(self.interval.as_millis_f64());
        }
    }

    /// Rates the last second. Before the first datagram there is nothing to rate.
    fn rate(&mut self, port: &mut dyn Port) {
        if self.delay.is_none() {
            return;
        }
        let expected = self.next - self.rated;
        let missing = match expected {
            0 => 1.0,
            _ => (1.0 - f64::from(self.played) / f64::from(expected)).max(0.0),
        };
        // A packet is first filled, then sent and held until it is played.
        let delay_ms = self.interval.as_millis_f64() + self.playout_ms;
        let r = rating(self.codec, delay_ms, missing);
        port.observe(Metric::JitterMs, self.jitter.ms);
        port.observe(Metric::MissingRatio, missing);
        port.observe(Metric::RFactor, r);
        port.observe(Metric::Mos, opinion(r));
        (self.played, self.rated) = (0, self.next);
        self.set_playout();
    }
}

impl App for Listener {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => self.due = now + RATED_EVERY,
            Input::Datagram(datagram) => {
                self.arrived(datagram, now);
                return;
            }
            Input::Timer if now >= self.due => {
                self.rate(port);
                self.due = now + RATED_EVERY;
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
