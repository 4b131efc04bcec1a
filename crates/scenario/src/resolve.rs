//! From a read scenario file to a cell: names become indices, defaults are filled in, and what
//! fits no world is refused.

mod autorate;
pub(crate) mod buffers;
mod changes;
mod flows;
mod hosts;
mod network;
mod places;
mod radio;
mod starts;
mod traps;

use self::buffers::Pending;
pub(crate) use self::starts::Template;
use crate::format::{Framing, HostsWord, ScenarioFile};
use crate::videos::Videos;
use sojourn_units::{Span, show_span};
use sojourn_world::{Cell, Hosts, Source};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Default interval of the series.
const SAMPLE: Span = Span::from_millis(100);
/// Up to so many flows keep series unless the scenario says otherwise.
const FLOWS_WITH_SERIES: usize = 256;

/// What resolving needs beside the file.
pub(crate) struct Resolver<'a> {
    pub(crate) file: sojourn_text::Resolver<'a>,
    pub(crate) videos: &'a mut Videos,
    /// Queues whose limits follow from what is not known yet.
    pub(crate) pending: Vec<Pending>,
    /// Where each link of a graph is written.
    pub(crate) link_paths: Vec<String>,
}

impl<'a> Deref for Resolver<'a> {
    type Target = sojourn_text::Resolver<'a>;

    fn deref(&self) -> &Self::Target {
        &self.file
    }
}

impl DerefMut for Resolver<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.file
    }
}

impl Resolver<'_> {
    /// The cells of one combination; nothing when there are problems.
    pub(crate) fn template(
        &mut self,
        file: &ScenarioFile,
        params: Vec<(String, String)>,
        source: &Arc<Source>,
    ) -> Option<Template> {
        let before = self.problems.len();
        let duration = file.duration.0;
        let warmup = file.warmup.map_or(Span::ZERO, |warmup| warmup.0);
        let sample_every = file.sample.map_or(SAMPLE, |sample| sample.0);
        if duration.is_zero() {
            self.complain("duration", "must be above zero");
        } else if warmup >= duration {
            let message = format!(
                "{} leaves nothing of the duration of {} to measure",
                show_span(warmup),
                show_span(duration)
            );
            self.complain("warmup", message);
        }
        if sample_every.is_zero() {
            self.complain("sample", "must be above zero");
        }
        let network = self.network(file);
        let flows = network.as_ref().map(|network| self.flows(file, network));
        let (mut network, (mut flows, starts)) = (network?, flows?);
        self.buffers(file, &mut network, &flows);
        let changes = self.changes(file, &network, &flows);
        self.traps(file, &network, &flows);
        // There may be a hundred thousand cells.
        network.interfaces.shrink_to_fit();
        flows.shrink_to_fit();
        let cell = Cell {
            scenario: file.name.0.clone(),
            params,
            seed: 0,
            duration,
            warmup,
            drain: file.drain.map_or(Cell::DRAIN, |drain| drain.0),
            sample_every,
            link_header: file.framing.unwrap_or(Framing::Ethernet).value(),
            host_delay: Span::ZERO,
            one_machine: file.one_machine.unwrap_or(false),
            hosts: file.hosts.map_or(Hosts::default(), HostsWord::value),
            spp: file.spp.unwrap_or(false),
            flow_series: file.flow_series.unwrap_or(flows.len() <= FLOWS_WITH_SERIES),
            network,
            flows,
            changes,
            source: Some(Arc::clone(source)),
        };
        (self.problems.len() == before).then_some(Template { cell, starts })
    }
}
