//! A fast game: the player's commands go to the server at a constant rate, and the server sends
//! pictures of the world at the same rate. Rates of 30 to 60 Hz and packets of some 40 to 300
//! bytes are those of first-person shooters (Armitage, Claypool and Branch 2006, chapter 10).
//! Lag: from a command to the first picture that shows it, waits for the server's beat included.

use crate::beat::{Beat, Numbered, Paced};
use crate::media::Jitter;
use crate::model::{Datagrams, ends};
use crate::{App, Ends, Input, Kind, Metric, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A fast game. By default 50 times a second commands of 60 and pictures of 200 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Game {
    /// Payload of a command in bytes, 1 to [`Datagram::MOST`](crate::Datagram::MOST).
    pub command: u16,
    /// Payload of a picture in bytes, within the same bounds.
    pub picture: u16,
    /// Time between two of either.
    pub interval: Span,
}

impl Default for Game {
    fn default() -> Self {
        Self {
            command: 60,
            picture: 200,
            interval: Span::from_millis(20),
        }
    }
}

impl Model for Game {
    const KIND: Kind = Kind {
        metrics: &[Metric::JitterMs, Metric::LagMs],
        ..Kind::new("game", "commands up, pictures down", Some(Transport::Udp))
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(
            Gamer::new(self.command, self.interval),
            GameServer::new(self.picture, self.interval),
        )
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        // A picture carries the time of a command beside its own.
        [(self.command, false), (self.picture, true)]
            .map(|(size, echo)| Some(Datagrams { size, echo }))
    }
}

/// The player's end.
#[derive(Clone, Debug)]
struct Gamer {
    commands: Paced,
    interval: Span,
    jitter: Jitter,
    /// The newest command seen in a picture.
    seen: Option<Time>,
}

impl Gamer {
    /// A command of `size` bytes every `interval`.
    fn new(size: u16, interval: Span) -> Self {
        Self {
            commands: Paced::new(size, interval),
            interval,
            jitter: Jitter::default(),
            seen: None,
        }
    }
}

impl App for Gamer {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        let Input::Datagram(picture) = input else {
            self.commands.handle(input, now, port);
            return;
        };
        self.jitter.arrived(picture.number, self.interval, now);
        port.observe(Metric::JitterMs, self.jitter.ms);
        // `None` is before every time.
        if Some(picture.sent) > self.seen {
            self.seen = Some(picture.sent);
            port.observe(Metric::LagMs, (now - picture.sent).as_millis_f64());
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

/// The server's end: from the first command on, a picture at every beat, which carries the time
/// of the newest command.
#[derive(Clone, Debug)]
struct GameServer {
    pictures: Numbered,
    beat: Beat,
    newest: Option<Time>,
}

impl GameServer {
    /// A picture of `size` bytes every `interval` (at least 1 ns).
    fn new(size: u16, interval: Span) -> Self {
        Self {
            pictures: Numbered::new(size),
            beat: Beat::new(interval),
            newest: None,
        }
    }
}

impl App for GameServer {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        if let Input::Datagram(command) = input {
            self.newest = self.newest.max(Some(command.sent));
        }
        if self.beat.falls(input, now) {
            if let Some(sent) = self.newest {
                self.pictures.send(sent, port);
            }
            self.beat.wait(now, port);
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
