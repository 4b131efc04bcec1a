//! A copy of a run.

use super::Engine;
use crate::error::NoFork;
use crate::host::Endpoint;
use sojourn_apps::App;
use sojourn_units::Time;
use sojourn_world::Cell;

impl Engine {
    /// A copy without taps: both go on bit for bit as this one alone would have.
    pub(crate) fn fork(&self, cell: &Cell) -> Result<Self, NoFork> {
        let net = self.net.fork().map_err(|index| NoFork::Queue {
            interface: cell.network.interfaces[index].name.clone(),
        })?;
        Ok(Self {
            net,
            endpoints: self.fork_endpoints(cell)?,
            apps: self.fork_apps(cell)?,
            flows: self.flows.clone(),
            recorders: self.recorders.clone(),
            other_ways: self.other_ways.clone(),
            numbers: self.numbers,
            end: self.end,
            drain: self.drain,
            sample_every: self.sample_every,
            sample_at: self.sample_at,
            look_at: self.look_at,
            ahead_before: Time::ZERO,
            sent: self.sent,
            left: self.left,
            pause: self.pause,
            digest: self.digest,
            wishes: self.wishes.clone(),
            datagrams: self.datagrams.clone(),
            link_header: self.link_header,
            sending: self.sending,
            reports: self.reports.clone(),
            bottleneck_packets: self.bottleneck_packets,
            room: self.room,
            large: self.large,
        })
    }

    fn fork_endpoints(&self, cell: &Cell) -> Result<Vec<Endpoint>, NoFork> {
        let endpoints = self.endpoints.iter().enumerate();
        let copies = endpoints.map(|(index, endpoint)| {
            endpoint.fork().ok_or_else(|| {
                let flow = self.flows[index / 2] as usize;
                let flow = cell.flows[flow].name.clone();
                NoFork::Control { flow }
            })
        });
        copies.collect()
    }

    fn fork_apps(&self, cell: &Cell) -> Result<Vec<Box<dyn App>>, NoFork> {
        let apps = self.apps.iter().enumerate();
        let copies = apps.map(|(index, app)| {
            app.fork().ok_or_else(|| {
                let mut endpoints = self
                    .endpoints
                    .iter()
                    .zip(self.flows.iter().flat_map(|f| [f; 2]));
                let at = endpoints.find(|(endpoint, _)| endpoint.app as usize == index);
                let flow = at.map(|(_, flow)| cell.flows[*flow as usize].name.clone());
                NoFork::App {
                    flow: flow.unwrap_or_default(),
                }
            })
        });
        copies.collect()
    }
}
