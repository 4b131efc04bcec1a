//! What a run has found.

use super::{Engine, WORLD};
use crate::host::{Endpoint, Transport};
use crate::packet::Body;
use sojourn_world::{Cell, Cost, FlowRecorder, RunResult};

impl Engine {
    /// Records what is left when nothing more happens.
    pub(crate) fn end(&mut self) {
        self.sample(self.end);
        let is_udp = |endpoint: &Endpoint| matches!(endpoint.transport, Transport::Udp { .. });
        if self.endpoints.iter().any(is_udp) {
            self.count_in_flight();
        }
    }

    /// Counts the datagrams that are queued or on the way when nothing more happens.
    #[cold]
    fn count_in_flight(&mut self) {
        if self.reports.is_empty() {
            self.take_reports();
        }
        self.recorders
            .iter_mut()
            .for_each(FlowRecorder::count_in_flight);
        for packet in self.net.empty(self.end + self.drain) {
            let index = packet.way.back().index();
            let flow = self.flows.get(index / 2).copied();
            if let (Body::Datagram { datagram, sent }, Some(flow)) = (packet.body(), flow)
                && !self.endpoints[index].transport.has_come(datagram)
            {
                self.recorders[flow as usize].datagram_in_flight(sent);
            }
        }
    }

    #[cold]
    pub(super) fn take_reports(&mut self) {
        let interfaces = &self.net.passage.interfaces;
        let reports = interfaces.iter().map(|i| i.qdisc.report(self.end));
        self.reports = reports.collect();
        let sent = interfaces
            .iter()
            .map(|i| i.qdisc.counters().dequeued.packets);
        self.bottleneck_packets = sent.max().unwrap_or(0);
        for (endpoint, &flow) in self.endpoints.iter().step_by(2).zip(&self.flows) {
            if let Transport::Tcp { connection, .. } = &endpoint.transport {
                self.recorders[flow as usize].limited(&connection.limits(self.end));
            }
        }
    }

    /// The results as if nothing more happened.
    pub(crate) fn so_far(&self, cell: &Cell) -> RunResult {
        let interfaces = self.net.passage.interfaces.iter();
        let links = interfaces.map(|i| (i.recorder.clone(), i.qdisc.report(self.end)));
        let recorders = self.recorders.iter().cloned();
        RunResult {
            digest: self.digest,
            ..RunResult::of(WORLD, cell, links, recorders)
        }
    }

    /// The results.
    pub(crate) fn finish(mut self, cell: &Cell) -> RunResult {
        if self.reports.is_empty() {
            self.take_reports();
        }
        let events = self.events();
        let mut media = self.net.media.iter().zip(&cell.network.media);
        let radio = media.find_map(|(medium, spec)| medium.stations(spec));
        let interfaces = self.net.passage.interfaces.into_iter();
        let links = interfaces
            .map(|interface| interface.recorder)
            .zip(self.reports);
        RunResult {
            cost: Cost {
                events,
                bottleneck_packets: self.bottleneck_packets,
                ..Cost::default()
            },
            digest: self.digest,
            radio,
            ..RunResult::of(WORLD, cell, links, self.recorders)
        }
    }
}
