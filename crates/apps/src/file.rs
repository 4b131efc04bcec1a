//! One file, then the stream closes.

use crate::model::ends;
use crate::sink::Sink;
use crate::{App, Ends, Input, Kind, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::Time;

/// One file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct File {
    /// Bytes, at least one.
    pub size: u64,
}

impl Model for File {
    const KIND: Kind = Kind {
        is_elastic: true,
        ..Kind::new("file", "one file", Some(Transport::Tcp))
    };

    fn build(&self, _dice: Stream) -> Ends {
        ends(Writer { left: self.size }, Sink)
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.size)
    }
}

/// The end that has the file.
#[derive(Clone, Copy, Debug)]
struct Writer {
    left: u64,
}

impl App for Writer {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if !matches!(input, Input::Start | Input::Writable) {
            return;
        }
        self.left -= port.write(self.left).min(self.left);
        if self.left == 0 {
            port.close();
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
    fn it_is_written_once_and_closed() {
        let mut port = Notes {
            room: 700,
            ..Notes::default()
        };
        let mut file = Writer { left: 1000 };
        file.handle(Input::Start, ms(0), &mut port);
        assert!(port.written == 700 && !port.closed);
        port.room = 700;
        file.handle(Input::Writable, ms(1), &mut port);
        assert!(port.written == 1000 && port.closed);
    }
}
