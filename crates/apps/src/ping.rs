//! A latency probe: requests at constant intervals, each echoed by the peer.

use crate::beat::Paced;
use crate::model::{Datagrams, ends};
use crate::{App, Ends, Input, Kind, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A latency probe. By default a common one: 64 bytes, ten times a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ping {
    /// Payload in bytes, 1 to [`Datagram::MOST`](crate::Datagram::MOST).
    pub size: u16,
    /// Time between requests.
    pub interval: Span,
}

impl Default for Ping {
    fn default() -> Self {
        Self {
            size: 64,
            interval: Span::from_millis(100),
        }
    }
}

impl Model for Ping {
    const KIND: Kind = Kind::new("ping", "a latency probe", Some(Transport::Udp));

    fn build(&self, _dice: Stream) -> Ends {
        ends(Asker(Paced::new(self.size, self.interval)), Echo)
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        let echoed = Datagrams {
            size: self.size,
            echo: true,
        };
        [Some(echoed); 2]
    }
}

/// The asking end.
#[derive(Clone, Copy, Debug)]
struct Asker(Paced);

impl App for Asker {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Datagram(echo) => port.round_trip(now - echo.sent),
            _ => self.0.handle(input, now, port),
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

/// The answering end: sends every datagram back.
#[derive(Clone, Copy, Debug)]
struct Echo;

impl App for Echo {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if let Input::Datagram(request) = input {
            port.send(request);
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::{Notes, ms};

    #[test]
    fn it_measures_what_comes_back() {
        let (mut near, mut far) = (Notes::default(), Notes::default());
        let mut ping = Asker(Paced::new(64, Span::from_millis(20)));
        ping.handle(Input::Start, ms(0), &mut near);
        Echo.handle(Input::Datagram(near.datagrams[0]), ms(25), &mut far);
        ping.handle(Input::Datagram(far.datagrams[0]), ms(51), &mut near);
        assert_eq!(near.rtts, [Span::from_millis(51)]);
    }
}
