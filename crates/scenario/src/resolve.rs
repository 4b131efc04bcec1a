//! From a read scenario file to a cell: names become indices, defaults are filled in, and what
//! fits no world is refused.

mod autorate;
mod changes;
mod flows;
mod hosts;
mod network;
mod places;
mod radio;

use crate::files::Files;
use crate::format::{Framing, ScenarioFile};
use crate::problem::{Problem, Problems};
use crate::quantity::Name;
use crate::tree::Node;
use sojourn_units::{Span, show_span};
use sojourn_world::Cell;
use std::collections::BTreeSet;

/// Default interval of the series.
const SAMPLE: Span = Span::from_millis(100);
/// Up to so many flows keep series unless the scenario says otherwise.
const FLOWS_WITH_SERIES: usize = 256;

/// What resolving needs beside the file.
pub(crate) struct Resolver<'a> {
    /// The tree that the file was read from, to find places.
    pub(crate) tree: &'a Node,
    pub(crate) problems: &'a mut Problems,
    pub(crate) files: &'a mut Files,
}

impl Resolver<'_> {
    /// A problem with the field at `path`.
    pub(crate) fn complain(&mut self, path: &str, message: impl Into<String>) {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.add(problem);
    }

    /// The same, of a field that has no meaning then.
    pub(crate) fn refuse<T>(&mut self, path: &str, message: impl Into<String>) -> Option<T> {
        self.complain(path, message);
        None
    }

    /// The same, with what would be right.
    pub(crate) fn advise<T>(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.refuse(problem.help(help))
    }

    /// Whether no name of the list `list` occurs twice; complains about those that do. There is a
    /// name for each item that has one.
    pub(crate) fn check_unique<'n>(
        &mut self,
        list: &str,
        names: impl Iterator<Item = Option<&'n Name>>,
    ) -> bool {
        let before = self.problems.len();
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            let Some(name) = name else { continue };
            if !seen.insert(&name.0) {
                let at = self.tree.locate(&format!("{list}[{}].name", index + 1));
                let message = format!("another {list} has the name `{}` already", name.0);
                self.problems.add(Problem::new(at, list, message));
            }
        }
        self.problems.len() == before
    }

    /// The cell of one combination and one seed; nothing when there are problems.
    pub(crate) fn cell(
        &mut self,
        file: &ScenarioFile,
        params: &[(String, String)],
        seed: u64,
    ) -> Option<Cell> {
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
        let flows = network
            .as_ref()
            .map(|network| self.flows(file, network, seed));
        let changes = network.as_ref().map(|network| self.changes(file, network));
        let (mut network, mut flows, changes) = (network?, flows?, changes?);
        // There may be a hundred thousand cells.
        network.interfaces.shrink_to_fit();
        flows.shrink_to_fit();
        (self.problems.len() == before).then(|| Cell {
            scenario: file.name.0.clone(),
            params: params.to_vec(),
            seed,
            duration,
            warmup,
            sample_every,
            link_header: file.framing.unwrap_or(Framing::Ethernet).value(),
            spp: file.spp.unwrap_or(false),
            flow_series: file.flow_series.unwrap_or(flows.len() <= FLOWS_WITH_SERIES),
            network,
            flows,
            changes,
            source: None,
        })
    }
}
