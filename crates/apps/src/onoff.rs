//! Bursts of datagrams with exponential on and off times.

use crate::beat::{Beat, Numbered};
use crate::model::{Datagrams, ends, one_way};
use crate::sink::Sink;
use crate::{App, Ends, Input, Kind, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};

/// Bursts of datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Payload in bytes, 1 to [`Datagram::MOST`](crate::Datagram::MOST).
    pub size: u16,
    /// Payload rate during a burst.
    pub rate: Rate,
    /// Mean length of a burst.
    pub on: Span,
    /// Mean silence between bursts.
    pub off: Span,
}

impl Model for OnOff {
    const KIND: Kind = Kind::new(
        "onoff",
        "bursts with exponential times",
        Some(Transport::Udp),
    );

    fn build(&self, dice: Stream) -> Ends {
        let bursts = Bursts {
            datagrams: Numbered::new(self.size),
            beat: Beat::new(self.rate.time_for(u64::from(self.size))),
            plan: *self,
            dice,
            burst_ends: Time::ZERO,
        };
        ends(bursts, Sink)
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        one_way(self.size)
    }
}

/// The sending end.
#[derive(Clone, Debug)]
struct Bursts {
    datagrams: Numbered,
    beat: Beat,
    plan: OnOff,
    dice: Stream,
    burst_ends: Time,
}

impl App for Bursts {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if !self.beat.falls(input, now) {
            return;
        }
        if input == Input::Start {
            self.burst_ends = now + self.dice.exponential(self.plan.on);
        }
        self.datagrams.send(now, port);
        self.beat.advance(now);
        if self.beat.due >= self.burst_ends {
            self.beat.due = self.burst_ends.max(now) + self.dice.exponential(self.plan.off);
            self.burst_ends = self.beat.due + self.dice.exponential(self.plan.on);
        }
        port.wake_at(self.beat.due);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::{Notes, ms, run};

    #[test]
    fn it_has_the_rate_its_times_imply() {
        let spec = OnOff {
            size: 125,
            rate: Rate::from_bps(1_000_000),
            on: Span::from_millis(100),
            off: Span::from_millis(300),
        };
        let mut port = Notes::default();
        run(
            &mut *spec.build(Stream::named(3, "app")).0,
            &mut port,
            ms(400_000),
        );
        // 1000 datagrams a second, a quarter of the time; the last one of a burst is whole.
        let rate = port.datagrams.len() as f64 / 400.0;
        assert!((rate - 250.0).abs() < 12.0, "{rate}");
    }
}
