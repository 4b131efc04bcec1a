//! Datagrams at a rate that changes in steps, of one size or of random ones.

use crate::model::{Datagrams, ends, one_way};
use crate::sink::Sink;
use crate::{App, Datagram, Ends, Input, Kind, Model, Port, Transport};
use alloc::boxed::Box;
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};

/// Datagrams at a constant rate that changes at given times of the run, as ns-2's CBR whose rate is
/// set anew: a change counts from the next datagram on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// Least and largest payload in bytes, 1 to [`Datagram::MOST`]: uniform between them.
    pub size: [u16; 2],
    /// Payload rate in the beginning.
    pub rate: Rate,
    /// When the rate changes, and to what share of `rate`; none ends the list.
    pub then: [Option<(Span, f64)>; Self::MOST],
}

impl Steps {
    /// Most changes.
    pub const MOST: usize = 8;

    /// The payload rate at a time of the run.
    fn rate_at(&self, now: Time) -> Rate {
        let mut latest = self.then.iter().flatten().rev();
        let last = latest.find(|(at, _)| Time::ZERO + *at <= now);
        last.map_or(self.rate, |(_, share)| {
            Rate::from_bps_f64(self.rate.as_bps() as f64 * share)
        })
    }
}

impl Model for Steps {
    const KIND: Kind = Kind::new(
        "steps",
        "datagrams at a rate that changes in steps, of random sizes if wanted",
        Some(Transport::Udp),
    );

    fn build(&self, dice: Stream) -> Ends {
        let source = Source {
            model: *self,
            dice,
            due: Time::ZERO,
            number: 0,
        };
        ends(source, Sink)
    }

    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        one_way(self.size[1])
    }
}

#[derive(Clone, Debug)]
struct Source {
    model: Steps,
    dice: Stream,
    due: Time,
    number: u32,
}

impl App for Source {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => self.due = now,
            Input::Timer if now >= self.due => {}
            _ => return,
        }
        let rate = self.model.rate_at(self.due);
        if rate.is_zero() {
            // Until the rate rises again.
            let mut later = self.model.then.iter().flatten();
            let next = later.find(|(at, _)| Time::ZERO + *at > now);
            if let Some((at, _)) = next {
                self.due = Time::ZERO + *at;
                port.wake_at(self.due);
            }
            return;
        }
        let [least, most] = self.model.size;
        let extra = u64::from(most.saturating_sub(least));
        let len = match extra {
            0 => least,
            _ => least + self.dice.below(extra + 1) as u16,
        };
        port.send(Datagram {
            number: self.number,
            len,
            sent: now,
            ..Datagram::default()
        });
        self.number = self.number.wrapping_add(1);
        let gap = rate.time_for(len.into()).max(Span::from_nanos(1));
        self.due = if self.due + gap * 2 < now {
            now
        } else {
            self.due + gap
        };
        port.wake_at(self.due);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wishes;
    use alloc::vec::Vec;

    #[derive(Default)]
    struct Log {
        sent: Vec<(Time, u16)>,
        wishes: Wishes,
        now: Time,
    }

    impl Port for Log {
        fn write(&mut self, _: u64) -> u64 {
            0
        }
        fn write_forever(&mut self) {}
        fn send(&mut self, datagram: Datagram) {
            self.sent.push((self.now, datagram.len));
        }
        fn wishes(&mut self) -> &mut Wishes {
            &mut self.wishes
        }
        fn close(&mut self) {}
        fn round_trip(&mut self, _: Span) {}
        fn observe(&mut self, _: crate::Metric, _: f64) {}
    }

    fn run(model: Steps, seconds: u64) -> Log {
        let (mut source, _) = model.build(Stream::named(1, "steps"));
        let mut log = Log::default();
        source.handle(Input::Start, log.now, &mut log);
        while let Some(wake) = log.wishes.wake.take()
            && wake < Time::ZERO + Span::from_secs(seconds)
        {
            log.now = wake;
            source.handle(Input::Timer, wake, &mut log);
        }
        log
    }

    #[test]
    fn the_rate_is_halved_stopped_and_full_again() {
        let at = Span::from_secs;
        let mut then = [None; Steps::MOST];
        (then[0], then[1], then[2]) = (Some((at(2), 0.5)), Some((at(3), 0.0)), Some((at(4), 1.0)));
        let model = Steps {
            size: [1000; 2],
            rate: Rate::from_bps(800_000),
            then,
        };
        let log = run(model, 5);
        let within = |from: u64, to: u64| {
            let (from, to) = (Time::ZERO + at(from), Time::ZERO + at(to));
            log.sent
                .iter()
                .filter(|(t, _)| *t >= from && *t < to)
                .count()
        };
        let counts = [within(0, 2), within(2, 3), within(3, 4), within(4, 5)];
        assert_eq!(counts, [200, 50, 0, 100]);
    }

    #[test]
    fn sizes_are_uniform_and_the_rate_is_kept() {
        let model = Steps {
            size: [128, 1518],
            rate: Rate::from_bps(1_000_000),
            then: [None; Steps::MOST],
        };
        let log = run(model, 100);
        let bytes: u64 = log.sent.iter().map(|(_, len)| u64::from(*len)).sum();
        assert!((bytes as f64 * 8.0 / 1e8 - 1.0).abs() < 1e-3);
        let mean = bytes as f64 / log.sent.len() as f64;
        assert!((mean - 823.0).abs() < 10.0, "{mean}");
        let lens = log.sent.iter().map(|(_, len)| *len);
        assert_eq!((lens.clone().min(), lens.max()), (Some(128), Some(1518)));
    }
}
