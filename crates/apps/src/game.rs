//! A fast game: the player's commands go to the server at a constant rate, and the server sends
//! pictures of the world at the same rate. Rates of 30 to 60 Hz and packets of some 40 to 300
//! bytes are those of first-person shooters (Armitage, Claypool and Branch 2006, chapter 10).
//! Lag: from a command to the first picture that shows it, waits for the server's beat included.

use crate::beat::{Beat, Numbered};
use crate::media::Jitter;
use crate::{App, Cbr, Input, Metric, Port};
use sojourn_units::{Span, Time};

/// The player's end.
#[derive(Clone, Debug)]
pub struct Gamer {
    commands: Cbr,
    interval: Span,
    jitter: Jitter,
    /// The newest command seen in a picture.
    seen: Option<Time>,
}

impl Gamer {
    /// A command of `size` bytes every `interval`.
    pub fn new(size: u16, interval: Span) -> Self {
        Self {
            commands: Cbr::new(size, interval),
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
}

/// The server's end: from the first command on, a picture at every beat, which carries the time
/// of the newest command.
#[derive(Clone, Debug)]
pub struct GameServer {
    pictures: Numbered,
    beat: Beat,
    newest: Option<Time>,
}

impl GameServer {
    /// A picture of `size` bytes every `interval` (at least 1 ns).
    pub fn new(size: u16, interval: Span) -> Self {
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
}

#[cfg(test)]
mod tests;
