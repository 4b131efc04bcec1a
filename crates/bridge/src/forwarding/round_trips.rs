//! Round trips of subscribers' TCP connections, from TCP's timestamps: what leaves the bridge at
//! either side has departed, what arrives there has come back.
//!
//! All memory is taken when it begins, on the thread that asks for it.

use super::circuits::Circuits;
use super::frame::Frame;
use super::observer::Point;
use super::side::Side;
use sojourn_autorate::{Passive, Seen};
use sojourn_qdisc::Packet;
use sojourn_units::{Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A part of the last round trip in a mean.
const PART: u32 = 8;

/// What a frame's TCP timestamps are, if it has any. Who does not know the seed cannot make
/// connections that are taken for one.
pub(super) fn seen(frame: &Frame, side: Side, seed: u64) -> Option<Seen> {
    let facts = frame.ack()?;
    let (value, echo) = facts.timestamp?;
    let flow = &frame.parsed().flow;
    let ends = [flow.hash(seed), flow.reversed().hash(seed)].map(u64::from);
    let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
    let source = match side {
        Side::Up => flow.dst_hash(seed),
        Side::Down => flow.src_hash(seed),
    };
    Some(Seen {
        flow: low << 32 | high,
        source: source.into(),
        value,
        echo,
        payload: facts.payload,
    })
}

/// Moving means of circuits' round trips, by number and side; zero: none is known. Written by the
/// forwarding thread alone. What was measured is no part of what was set up, so that all are equal.
#[derive(Debug, Default)]
pub(super) struct Means(Box<[[AtomicU32; 2]]>);

impl Means {
    /// For circuits of numbers up to this one.
    pub(super) fn up_to(number: u32) -> Self {
        Self((0..=number).map(|_| Default::default()).collect())
    }

    fn add(&self, circuit: u32, side: Side, trip: Span) {
        let Some(means) = self.0.get(circuit as usize) else {
            return;
        };
        let micros = u32::try_from(trip.as_nanos() / 1000).unwrap_or(u32::MAX);
        let mean = &means[side as usize];
        let new = match mean.load(Ordering::Relaxed) {
            0 => micros,
            old if micros > old => old + (micros - old) / PART,
            old => old - (old - micros) / PART,
        };
        // Zero says that there is none.
        mean.store(new.max(1), Ordering::Relaxed);
    }

    /// The mean of a circuit beyond the port where a side goes out.
    pub(super) fn of(&self, circuit: u32, side: Side) -> Option<Span> {
        let micros = self.0.get(circuit as usize)?[side as usize].load(Ordering::Relaxed);
        (micros > 0).then(|| Span::from_micros(micros.into()))
    }
}

impl Clone for Means {
    fn clone(&self) -> Self {
        let both = |means: &[AtomicU32; 2]| {
            let copied = means.each_ref();
            copied.map(|mean| AtomicU32::new(mean.load(Ordering::Relaxed)))
        };
        Self(self.0.iter().map(both).collect())
    }
}

impl PartialEq for Means {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Means {}

/// Sees the frames of a bridge's circuits.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    circuits: Option<Arc<Circuits>>,
    seed: u64,
    /// What waits for its echo from beyond the port where each side goes out.
    waiting: [Passive; 2],
}

impl RoundTrips {
    /// Of these circuits, if there are some.
    pub(super) fn of(circuits: Option<&Arc<Circuits>>, seed: u64) -> Self {
        Self {
            circuits: circuits.cloned(),
            seed,
            waiting: Default::default(),
        }
    }

    /// Sees those of these circuits from now on.
    pub(super) fn follow(&mut self, circuits: Option<&Arc<Circuits>>) {
        self.circuits = circuits.cloned();
    }

    /// A frame passes a point.
    pub(super) fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        let Some(circuits) = &self.circuits else {
            return;
        };
        let circuit = frame.circuit();
        if circuit == 0 || !matches!(point, Point::Sent | Point::Offered) {
            return;
        }
        let Some(seen) = seen(frame, side, self.seed) else {
            return;
        };
        if point == Point::Sent {
            self.waiting[side as usize].departs(&seen, now);
            return;
        }
        let beyond = match side {
            Side::Up => Side::Down,
            Side::Down => Side::Up,
        };
        if let Some(trip) = self.waiting[beyond as usize].returns(&seen, now) {
            circuits.means.add(circuit, beyond, trip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Pool;
    use super::*;

    /// A TCP segment between subscriber 10.0.0.1 and server 192.0.2.1, with timestamps.
    fn segment(pool: &mut Pool, side: Side, value: u32, echo: u32, payload: usize) -> Frame {
        let mut bytes = vec![2; 12];
        bytes.extend([8, 0, 0x45, 0]);
        bytes.extend((52 + payload as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        let (client, server) = ([10, 0, 0, 1], [192, 0, 2, 1]);
        let (client_port, server_port) = ([0x90, 0], [0, 80]);
        match side {
            Side::Up => bytes.extend([client, server].concat()),
            Side::Down => bytes.extend([server, client].concat()),
        }
        match side {
            Side::Up => bytes.extend([client_port, server_port].concat()),
            Side::Down => bytes.extend([server_port, client_port].concat()),
        }
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
        bytes.resize(bytes.len() + payload, 7);
        let mut frame = Frame::from_bytes(pool, &bytes, Time::ZERO).expect("there is room");
        frame.set_circuit(3);
        frame
    }

    #[test]
    fn both_ends_of_a_circuit_have_round_trips_of_their_own() {
        let mut pool = Pool::new(100);
        let circuits = Arc::new(Circuits::new([([10, 0, 0, 1].into(), 32, 3)]));
        let mut trips = RoundTrips::of(Some(&circuits), 7);
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(circuits.round_trip(3, Side::Down), None);
        // The server's data go down at 10, the subscriber answers at 14; his own data, with that,
        // go up and are answered 40 ms later.
        let data = segment(&mut pool, Side::Down, 500, 0, 1000);
        trips.frame(Point::Sent, Side::Down, at(10), &data);
        let answer = segment(&mut pool, Side::Up, 900, 500, 1000);
        trips.frame(Point::Offered, Side::Up, at(14), &answer);
        trips.frame(Point::Sent, Side::Up, at(20), &answer);
        let back = segment(&mut pool, Side::Down, 540, 900, 0);
        trips.frame(Point::Offered, Side::Down, at(60), &back);
        let known = Side::BOTH.map(|side| circuits.round_trip(3, side));
        let [up, down] = [40, 4].map(|millis| Some(Span::from_millis(millis)));
        assert_eq!(known, [up, down]);
        // A longer one counts an eighth.
        let data = segment(&mut pool, Side::Down, 600, 0, 1000);
        trips.frame(Point::Sent, Side::Down, at(100), &data);
        let answer = segment(&mut pool, Side::Up, 910, 600, 0);
        trips.frame(Point::Offered, Side::Up, at(112), &answer);
        let mean = circuits.round_trip(3, Side::Down);
        assert_eq!(mean, Some(Span::from_millis(5)));
        // Nobody's frames, and numbers that there are not, are none.
        assert_eq!(circuits.round_trip(9, Side::Down), None);
        trips.follow(None);
        trips.frame(Point::Sent, Side::Down, at(200), &data);
    }
}
