//! Two ends on a wire of constant rate and delay, without packets: for the tests of the apps.

use crate::{App, Datagram, Input, Message, Metric, Port, Wish, Wishes};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sojourn_units::{Rate, Span, Time};

/// What happens to an end.
#[derive(Clone, Copy, Debug)]
enum Event {
    Input(Input),
    /// The timer that was set for this time, unless it was set anew.
    Timer(Time),
}

/// Both ends, and the wire between them.
pub(crate) struct Wire {
    apps: [Box<dyn App>; 2],
    rate: Rate,
    delay: Span,
    /// When each end's transmitter is free.
    free_at: [Time; 2],
    wake: [Time; 2],
    events: BTreeMap<(Time, u64), (usize, Event)>,
    count: u64,
    /// Datagrams that are lost, by the number of all datagrams sent so far.
    pub(crate) lose: fn(u64) -> bool,
    datagrams: u64,
    pub(crate) observed: Vec<(Time, Metric, f64)>,
    /// Messages by their sender.
    pub(crate) messages: Vec<(Time, usize, u8, Message)>,
    /// Connections that were broken off.
    pub(crate) aborted: Vec<(Time, u8)>,
}

/// A point in time by its milliseconds.
pub(crate) fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Wakes the app whenever it asks, until `end`.
pub(crate) fn run(app: &mut dyn App, port: &mut Notes, end: Time) {
    app.handle(Input::Start, Time::ZERO, port);
    while let Some(at) = port.wishes.wake.take().filter(|&at| at < end) {
        app.handle(Input::Timer, at, port);
    }
}

impl Wire {
    /// Both ends begin at once, the connections from 1 on a round trip later.
    pub(crate) fn new(
        ends: (Box<dyn App>, Box<dyn App>),
        connections: u8,
        rate: Rate,
        delay: Span,
    ) -> Self {
        let mut wire = Self {
            apps: [ends.0, ends.1],
            rate,
            delay,
            free_at: [Time::ZERO; 2],
            wake: [Time::MAX; 2],
            events: BTreeMap::new(),
            count: 0,
            lose: |_| false,
            datagrams: 0,
            observed: Vec::new(),
            messages: Vec::new(),
            aborted: Vec::new(),
        };
        for end in 0..2 {
            wire.at(Time::ZERO, end, Event::Input(Input::Start));
            for connection in 1..connections {
                let up = Event::Input(Input::Open(connection));
                wire.at(Time::ZERO + delay * 2, end, up);
            }
        }
        wire
    }

    fn at(&mut self, time: Time, end: usize, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), (end, event));
    }

    /// Runs until `end`.
    pub(crate) fn run(&mut self, until: Time) {
        while let Some((&(now, _), _)) = self.events.first_key_value()
            && now <= until
        {
            let (_, (end, event)) = self.events.pop_first().expect("it was just seen");
            let input = match event {
                Event::Timer(at) if self.wake[end] == at => {
                    self.wake[end] = Time::MAX;
                    Input::Timer
                }
                Event::Timer(_) => continue,
                Event::Input(input) => input,
            };
            let mut port = Notes::default();
            self.apps[end].handle(input, now, &mut port);
            self.act(end, now, port);
        }
    }

    /// Values of a metric so far.
    pub(crate) fn values(&self, metric: Metric) -> Vec<f64> {
        let of = self.observed.iter().filter(|(_, m, _)| *m == metric);
        of.map(|(_, _, value)| *value).collect()
    }

    fn act(&mut self, end: usize, now: Time, port: Notes) {
        if let Some(wake) = port.wishes.wake {
            self.wake[end] = wake;
            self.at(wake.max(now), end, Event::Timer(wake));
        }
        let observed = port.observed.into_iter();
        self.observed
            .extend(observed.map(|(metric, value)| (now, metric, value)));
        for datagram in port.datagrams {
            self.datagrams += 1;
            if !(self.lose)(self.datagrams - 1) {
                let input = Input::Datagram(datagram);
                self.at(now + self.delay, 1 - end, Event::Input(input));
            }
        }
        for (connection, wish) in port.wishes.connections {
            match wish {
                Wish::Message(message) => self.post(end, now, connection, message),
                Wish::Open => {
                    let up = Event::Input(Input::Open(connection));
                    self.at(now + self.delay * 2, end, up);
                }
                Wish::Abort => self.break_off(now, connection),
            }
        }
    }

    /// What the peer had yet to send stays there; one connection is in use at a time.
    fn break_off(&mut self, now: Time, connection: u8) {
        self.aborted.push((now, connection));
        self.events.retain(|_, (_, event)| {
            !matches!(
                event,
                Event::Input(Input::Delivered(_) | Input::Message { .. })
            )
        });
        self.free_at = [now; 2];
    }

    fn post(&mut self, end: usize, now: Time, connection: u8, message: Message) {
        self.messages.push((now, end, connection, message));
        let begins = now.max(self.free_at[end]);
        let sent = begins + self.rate.time_for(message.len.into());
        self.free_at[end] = sent;
        let first = begins + self.rate.time_for(1);
        let rest = Input::Delivered(u64::from(message.len) - 1);
        let whole = Input::Message {
            connection,
            message,
        };
        let one = Event::Input(Input::Delivered(1));
        self.at(first + self.delay, 1 - end, one);
        self.at(sent + self.delay, 1 - end, Event::Input(rest));
        self.at(sent + self.delay, 1 - end, Event::Input(whole));
    }
}

/// A port that writes down what it is asked.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) room: u64,
    pub(crate) written: u64,
    pub(crate) forever: bool,
    pub(crate) datagrams: Vec<Datagram>,
    pub(crate) wishes: Wishes,
    pub(crate) closed: bool,
    pub(crate) rtts: Vec<Span>,
    pub(crate) observed: Vec<(Metric, f64)>,
}

impl Port for Notes {
    fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.room);
        self.room -= taken;
        self.written += taken;
        taken
    }
    fn write_forever(&mut self) {
        self.forever = true;
    }
    fn send(&mut self, datagram: Datagram) {
        self.datagrams.push(datagram);
    }
    fn wishes(&mut self) -> &mut Wishes {
        &mut self.wishes
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn round_trip(&mut self, rtt: Span) {
        self.rtts.push(rtt);
    }
    fn observe(&mut self, metric: Metric, value: f64) {
        self.observed.push((metric, value));
    }
}
