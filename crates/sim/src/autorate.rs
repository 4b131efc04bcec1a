//! Links whose rate follows a slower one: what they see, and what becomes of their rates.
//!
//! TCP's timestamps are milliseconds here, as Linux's are, and not the model's nanoseconds.

use crate::interface::Interface;
use crate::packet::{Body, Packet, Way};
use sojourn_autorate::{Monitor, Seen, Setting, Way as Side};
use sojourn_qdisc::Gauge;
use sojourn_units::{Rate, Time, Unit};
use sojourn_world::{Cell, Following, Instance, Transport};

#[derive(Clone)]
pub(crate) struct Autorates {
    pairs: Vec<([usize; 2], Monitor)>,
    /// By interface: its pairs with its side in each.
    sides: Vec<Vec<(usize, Side)>>,
    /// By connection: whether its segments have timestamps.
    stamped: Vec<bool>,
    /// Links with the rates that they get now.
    pub(crate) changed: Vec<(usize, Rate)>,
}

impl Autorates {
    /// Those of a cell; none when no rate follows anything.
    pub(crate) fn of(cell: &Cell, instances: &[Instance]) -> Option<Self> {
        let following = &cell.network.following;
        if following.is_empty() {
            return None;
        }
        let fixed = |link: usize| cell.network.medium(link).rate()?.fixed();
        let pair = |pair: &Following| {
            let way = |side: Side| {
                let link = pair.interfaces[side as usize];
                match pair.params[side as usize] {
                    Some(params) => Setting::Follows(params),
                    None => Setting::Stays(fixed(link)),
                }
            };
            (pair.interfaces, Monitor::new(Side::BOTH.map(way)))
        };
        let mut sides = vec![Vec::new(); cell.network.interfaces.len()];
        for (number, pair) in following.iter().enumerate() {
            for side in Side::BOTH {
                sides[pair.interfaces[side as usize]].push((number, side));
            }
        }
        let stamped = |instance: &Instance| {
            let flow = &instance.spec;
            let stamped = match &flow.transport {
                Transport::Tcp(config) => config.timestamps,
                Transport::Udp => false,
            };
            std::iter::repeat_n(stamped, usize::from(flow.app.connections()))
        };
        Some(Self {
            pairs: following.iter().map(pair).collect(),
            sides,
            stamped: instances.iter().flat_map(stamped).collect(),
            changed: Vec::new(),
        })
    }

    /// A link has sent a packet by `at`.
    pub(crate) fn sent(&mut self, link: usize, packet: &Packet, at: Time) {
        for &(pair, side) in &self.sides[link] {
            let monitor = &mut self.pairs[pair].1;
            monitor.sent(side, packet.len.into());
            if side == Side::Out
                && let Some(seen) = seen(packet, &self.stamped)
            {
                monitor.departs(&seen, at);
            }
        }
    }

    /// A packet comes to a link's queue.
    pub(crate) fn offered(&mut self, link: usize, packet: &Packet, now: Time) {
        for &(pair, side) in &self.sides[link] {
            if side == Side::Back
                && let Some(seen) = seen(packet, &self.stamped)
            {
                self.pairs[pair].1.returns(&seen, now);
            }
        }
    }

    /// All look at their rates. Returns when they do so next.
    pub(crate) fn step(&mut self, now: Time, interfaces: &mut [Interface]) -> Option<Time> {
        for (links, monitor) in &mut self.pairs {
            let decisions = monitor.step(now);
            for (side, decision) in Side::BOTH.into_iter().zip(decisions) {
                let link = links[side as usize];
                if let Some(decision) = decision {
                    self.changed.push((link, decision.to));
                }
                if let Some(control) = monitor.control(side) {
                    let recorder = &mut interfaces[link].recorder;
                    let rate = control.rate().as_bps() as f64;
                    let delay = control.delay().as_millis_f64();
                    for (name, unit, value) in [
                        ("autorate", Unit::Bps, rate),
                        ("path_delay", Unit::Ms, delay),
                    ] {
                        recorder.gauge(now, Gauge { name, unit, value });
                    }
                }
            }
        }
        self.pairs.iter().map(|(_, monitor)| monitor.due()).min()
    }
}

/// What a packet's timestamps are, if it has any.
fn seen(packet: &Packet, stamped: &[bool]) -> Option<Seen> {
    let connection = connection(packet.way)?;
    if !*stamped.get(connection)? {
        return None;
    }
    let Body::Segment(segment) = packet.body() else {
        return None;
    };
    let ms = |time: Time| (time.as_nanos() / 1_000_000) as u32;
    Some(Seen {
        flow: connection as u64,
        source: connection as u64,
        value: ms(segment.ts),
        echo: ms(segment.ts_echo),
        payload: segment.payload > 0,
    })
}

/// The number of a packet's connection; none of what stations tell each other.
fn connection(way: Way) -> Option<usize> {
    (way.0 != u32::MAX).then_some(way.index() / 2)
}
