//! Scenarios that name plug-ins, and the world that runs them.

use crate::fault::Fault;
use crate::library::{LoadError, PREFIX, Plugin, Sort};
use crate::names::Named;
use sojourn_qdisc::{Qdisc, Setting};
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_tcp::{Algorithm, Config, CongestionControl};
use sojourn_world::{
    Cell, Flow, Interface, Progress, RunResult, Taps, Transport, World, WorldError, WorldName,
};
use std::ops::ControlFlow;
use std::path::Path;
use thiserror::Error;

/// The simulated world with plug-ins, each of which a queue or a congestion control stands for in
/// cells.
#[derive(Debug, Default)]
pub struct Plugins(Named);

/// A plug-in has failed in the middle of a run.
#[derive(Debug, Error)]
#[error("plug-in {0}")]
struct Failed(String);

/// A flow cannot have the congestion control of a plug-in.
#[derive(Debug, Error)]
#[error("flow `{flow}`: ns-2's senders (`tcp.agent`) ask no congestion control, so not {name}")]
struct Unasked {
    flow: String,
    name: String,
}

impl Plugins {
    /// Whether a text names a plug-in.
    pub fn is_named(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// A scenario and its world, if the text or one of the options names a plug-in. Files in the
    /// text are seen from `base`, those in options from the working directory.
    ///
    /// # Errors
    /// When a plug-in cannot be loaded, or the scenario is wrong.
    pub fn scenario(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
    ) -> Result<Option<(Scenario, Self)>, Problems> {
        let mut named = Named::default();
        let (text, options) = named.replaced(name, text, base, options)?;
        if named.is_empty() {
            return Ok(None);
        }
        let read = Scenario::parse(name, &text, base, &options);
        let mut scenario = read.map_err(|mut problems| {
            named.names.put_back_in(&mut problems);
            problems
        })?;
        let plugins = Self(named);
        plugins.name(&mut scenario);
        Ok(Some((scenario, plugins)))
    }

    /// The plug-in that a name means, alone, and what stands for it. Its file is seen from the
    /// working directory.
    ///
    /// # Errors
    /// When it cannot be loaded, or is not of this sort.
    pub fn one(name: &str, wanted: Sort) -> Result<(Self, String), LoadError> {
        let mut named = Named::default();
        let stand_in = named.stand_in(name, Path::new(""), Some(wanted))?;
        Ok((Self(named), stand_in))
    }

    /// Has a scenario with stand-ins say the plug-ins' names.
    pub fn name(&self, scenario: &mut Scenario) {
        let names = &self.0.names;
        names.put_back(&mut scenario.info, &mut scenario.cells);
    }
}

/// What a run has in the place of stand-ins.
struct Making<'a> {
    plugins: &'a Named,
    /// Flows whose congestion control is a plug-in's.
    controls: Vec<(String, &'a Plugin)>,
    fault: Fault,
}

impl<'a> Making<'a> {
    /// For a cell, in which nothing stands for congestion controls any more.
    fn new(plugins: &'a Named, fault: Fault, cell: &mut Cell) -> Result<Self, Unasked> {
        let mut controls = Vec::new();
        for flow in &mut cell.flows {
            let Transport::Tcp(config) = &mut flow.transport else {
                continue;
            };
            let Algorithm::Linux(stands) = config.algorithm else {
                continue;
            };
            let mut all = plugins.controls.iter();
            let Some((_, plugin)) = all.find(|(stand_in, _)| *stand_in == stands) else {
                continue;
            };
            if config.ns2.is_some() {
                let (flow, name) = (flow.name.clone(), plugin.name().to_owned());
                return Err(Unasked { flow, name });
            }
            config.algorithm = Algorithm::Reno;
            controls.push((flow.name.clone(), plugin));
        }
        Ok(Self {
            plugins,
            controls,
            fault,
        })
    }
}

impl Instead for Making<'_> {
    fn queue(&mut self, at: &Interface, setting: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let mut all = self.plugins.queues.iter();
        let (_, plugin) = all.find(|(spec, _)| *spec == at.qdisc)?;
        plugin.queue(setting, &self.fault)
    }

    fn control(
        &mut self,
        flow: &Flow,
        config: &Config,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        let mut all = self.controls.iter();
        let (_, plugin) = all.find(|(name, _)| *name == flow.name)?;
        plugin.control(config, &self.fault)
    }
}

impl World for Plugins {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let fault = Fault::default();
        let mut cell = cell.clone();
        let mut making =
            Making::new(&self.0, fault.clone(), &mut cell).map_err(WorldError::unfit)?;
        let mut ask = |now| {
            if fault.has_come() {
                return ControlFlow::Break(());
            }
            progress(now)
        };
        let result = Sim.run_with(&cell, taps, &mut ask, &mut making);
        match fault.take() {
            Some(why) => Err(WorldError::machine(Failed(why))),
            None => result,
        }
    }
}
