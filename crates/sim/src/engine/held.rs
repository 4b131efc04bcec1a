//! What a program does to a run that it holds.

use super::{Advance, Engine, Stop, Watch};
use crate::calendar::{Owner, OwnerKey};
use crate::host::Transport;
use crate::outside::{Datagram as FromOutside, End};
use sojourn_apps::Datagram;
use sojourn_tcp::Connection;
use sojourn_units::Time;
use std::ops::ControlFlow;

impl Engine {
    /// The next event, if there is one.
    pub(crate) fn forward_by_one(&mut self) -> Result<(), Stop> {
        let go_on = &mut |_| ControlFlow::Continue(());
        self.advance(Time::MAX, Watch::Single, go_on).map(drop)
    }

    /// Events until `until`, or until something comes to an end that is outside, if that is
    /// earlier.
    pub(crate) fn forward(&mut self, until: Time) -> Result<Advance, Stop> {
        let watch = match self.net.passage.outside {
            Some(_) => Watch::News,
            None => Watch::Seldom,
        };
        self.advance(until, watch, &mut |_| ControlFlow::Continue(()))
    }

    /// TCP at the first ends of connections, each with the index of its flow.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (usize, &Connection)> {
        let firsts = self.endpoints.iter().step_by(2).zip(&self.flows);
        firsts.filter_map(|(endpoint, flow)| match &endpoint.transport {
            Transport::Tcp { connection, .. } => Some((*flow as usize, connection)),
            Transport::Udp { .. } => None,
        })
    }

    /// TCP at both ends of a flow's connections.
    pub(crate) fn both_ends(&self, flow: usize) -> impl Iterator<Item = &Connection> {
        let endpoints = self.endpoints.iter().enumerate();
        endpoints.filter_map(move |(index, endpoint)| match &endpoint.transport {
            Transport::Tcp { connection, .. } if self.flows[index / 2] as usize == flow => {
                Some(connection)
            }
            _ => None,
        })
    }

    /// The same, to be changed.
    pub(crate) fn both_ends_mut(&mut self, flow: usize) -> impl Iterator<Item = &mut Connection> {
        let flows = &self.flows;
        let endpoints = self.endpoints.iter_mut().enumerate();
        endpoints.filter_map(move |(index, endpoint)| match &mut endpoint.transport {
            Transport::Tcp { connection, .. } if flows[index / 2] as usize == flow => {
                Some(connection)
            }
            _ => None,
        })
    }

    /// Lets the ends of a flow send what they may send now, unless the run is over.
    pub(crate) fn nudge(&mut self, flow: usize, now: Time) {
        if now >= self.end {
            return;
        }
        for index in 0..self.endpoints.len() {
            if self.flows[index / 2] as usize == flow {
                self.flush(index, now);
            }
        }
    }

    /// Sends a datagram from an end that is outside, unless the run is over.
    pub(crate) fn send_from_outside(&mut self, end: End, datagram: FromOutside, now: Time) {
        let (way, index) = (end.0, end.0.index());
        let Some(outside) = &mut self.net.passage.outside else {
            return;
        };
        if now >= self.end {
            return;
        }
        let FromOutside { payload, ecn, ttl } = datagram;
        let model = Datagram {
            number: outside.number(way),
            len: payload.len() as u16,
            sent: now,
            ..Datagram::default()
        };
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        if way.is_forth() {
            recorder.sent(now, 1, 0);
        }
        recorder.datagram_sent(now);
        let mut packet = self.endpoints[index].datagram(model, now);
        packet.tos |= ecn as u8;
        // Its size and ECN field too: two programs that part differ here first.
        self.fold(now, OwnerKey::of(Owner::Endpoint(index)));
        self.fold_word(u64::from(packet.len) << 8 | u64::from(packet.tos));
        self.net.emit_from_outside(packet, payload, ttl, now);
    }
}
