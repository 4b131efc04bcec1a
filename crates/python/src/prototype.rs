//! The simulated world with queues and congestion controls that are written in Python, or in
//! shared libraries.
//!
//! Each queue, and each end of a connection, has an object of its own. What one raises ends the
//! run, and is raised there with its traceback.

use crate::plugin::Plugin;
use crate::{aqm, control, error};
use pyo3::prelude::*;
use sojourn_loader::Fault;
use sojourn_qdisc::{Qdisc, Setting, Spec};
use sojourn_scenario::StandIns;
use sojourn_scenario::problem::suggestion;
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_tcp::{Algorithm, Config, CongestionControl};
use sojourn_world::{
    Cell, Flow, Interface, Progress, RunResult, ScenarioInfo, Taps, Transport, World, WorldError,
    WorldName,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// A link's or flow's name, the name of what stands there, and what makes one.
pub(crate) type Maker = (String, String, Py<PyAny>);

/// What stands in a scenario for an AQM or a congestion control of Python's: a queue's string, or
/// the name of one that only Linux has; then the name of what it stands for, and what makes one.
pub(crate) type StandIn = (String, String, Py<PyAny>);

/// All that is written in Python: queues of links, congestion controls of flows, and those that
/// are values of fields.
pub(crate) type Written = (Vec<Maker>, Vec<Maker>, Vec<StandIn>, Vec<StandIn>);

/// AQMs and congestion controls that are values of fields.
pub(crate) type Values = (Vec<StandIn>, Vec<StandIn>);

/// Asks Python, and keeps the first exception.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Mutex<Option<PyErr>>>);

impl Asked {
    /// The answer; nothing once something has been raised.
    pub(crate) fn of<T>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        let mut raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if raised.is_some() {
            return None;
        }
        match Python::attach(ask) {
            Ok(answer) => Some(answer),
            Err(error) => {
                *raised = Some(error);
                None
            }
        }
    }

    fn has_raised(&self) -> bool {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.is_some()
    }
}

/// The simulated world with what is written in Python.
#[derive(Default)]
pub(crate) struct Prototypes {
    queues: Vec<Maker>,
    controls: Vec<Maker>,
    /// What stands in cells for something of Python's.
    names: StandIns,
    /// By the queue that stands for it in cells.
    values: Vec<(Spec, Py<PyAny>)>,
    /// By the congestion control of Linux that stands for it in cells.
    control_values: Vec<StandIn>,
    asked: Asked,
    /// What has gone wrong in a library.
    fault: Fault,
}

impl Prototypes {
    /// With AQMs at these links, congestion controls of these flows, and those that are values of
    /// fields. Their names become parameters of the cells. Cells that were different only in what
    /// is replaced are one.
    pub(crate) fn new(
        py: Python<'_>,
        written: Written,
        info: &mut ScenarioInfo,
        cells: &mut Vec<Cell>,
    ) -> PyResult<Self> {
        let (queues, controls, values, control_values) = written;
        let values = Self::of_values(py, values, control_values)?;
        values.name(info, cells);
        settle(cells, "qdisc", &queues, |cell| cell.network.link_names());
        settle(cells, "cc", &controls, |cell| {
            cell.flows.iter().map(|flow| flow.name.as_str()).collect()
        });
        for cell in cells.iter_mut() {
            for (link, name, _) in &queues {
                let known = cell.network.link_names();
                if !known.contains(&link.as_str()) {
                    let help = suggestion(link, &known);
                    let message = format!("no link is named `{link}`; {help}");
                    return Err(error::run(py, &message));
                }
                cell.params.push((format!("{link}.aqm"), name.clone()));
            }
            for (flow, name, _) in &controls {
                takes_control(&cell.flows, flow).map_err(|why| error::run(py, &why))?;
                cell.params.push((format!("{flow}.cc"), name.clone()));
            }
        }
        Ok(Self {
            queues,
            controls,
            ..values
        })
    }

    /// With those that are values of fields.
    pub(crate) fn of_values(
        py: Python<'_>,
        queues: Vec<StandIn>,
        control_values: Vec<StandIn>,
    ) -> PyResult<Self> {
        let (mut names, mut values) = (StandIns::default(), Vec::new());
        for (stand_in, name, maker) in queues {
            let spec = stand_in
                .parse::<Spec>()
                .map_err(|error| error::run(py, &error.to_string()))?;
            names.add(&stand_in, &name);
            values.push((spec, maker));
        }
        for (stand_in, name, _) in &control_values {
            names.add(stand_in, name);
        }
        Ok(Self {
            names,
            values,
            control_values,
            ..Self::default()
        })
    }

    /// Has results say the names of what is written in Python, where something stands for it.
    pub(crate) fn name(&self, info: &mut ScenarioInfo, cells: &mut [Cell]) {
        self.names.put_back(info, cells);
    }

    /// What one of the objects has raised first, or a library has told.
    pub(crate) fn raised(&self) -> PyResult<()> {
        if let Some(why) = self.fault.take() {
            return Err(Python::attach(|py| {
                error::run(py, &format!("plug-in {why}"))
            }));
        }
        let mut raised = self.asked.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.take().map_or(Ok(()), Err)
    }
}

/// A field that is swept says nothing of a place that has something of Python's instead: where it
/// is the field of that place, it has that name as its value; where it is the field of all places
/// (`dumbbell.qdisc`), it keeps its first value for the others. Cells that are then the same
/// are one.
fn settle(cells: &mut Vec<Cell>, end: &str, makers: &[Maker], places: impl Fn(&Cell) -> Vec<&str>) {
    let Some(first) = cells.first().filter(|_| !makers.is_empty()) else {
        return;
    };
    let all: Vec<String> = places(first).into_iter().map(str::to_owned).collect();
    let is_settled = |place: &String| makers.iter().any(|(at, ..)| at == place);
    let of_all: Vec<(String, String)> = { first.params.iter() }
        .filter(|(field, _)| names(field, end, &all).is_none() && field.ends_with(end))
        .cloned()
        .collect();
    cells.retain_mut(|cell| {
        let keeps = |(field, value): &(String, String)| {
            cell.params
                .iter()
                .all(|(own, at)| own != field || at == value)
        };
        if !of_all.iter().all(keeps) {
            return false;
        }
        for (field, value) in &mut cell.params {
            let place = names(field, end, &all).filter(|place| is_settled(place));
            let maker = place.and_then(|place| makers.iter().find(|(at, ..)| at == place));
            if let Some((_, name, _)) = maker {
                value.clone_from(name);
            }
        }
        true
    });
    let mut seen = BTreeSet::new();
    cells.retain(|cell| seen.insert((cell.params.clone(), cell.seed)));
}

/// The place whose field this is: `link.up.qdisc` is that of `up`.
fn names<'a>(field: &str, end: &str, places: &'a [String]) -> Option<&'a String> {
    let mut parts = field
        .ends_with(end)
        .then(|| field.split('.'))
        .into_iter()
        .flatten();
    parts.find_map(|part| places.iter().find(|place| *place == part))
}

/// Whether a flow of this name asks a congestion control; if not, why.
fn takes_control(flows: &[Flow], name: &str) -> Result<(), String> {
    let asks = |flow: &Flow| match flow.transport {
        Transport::Tcp(config) => config.ns2.is_none(),
        Transport::Udp => false,
    };
    match flows.iter().find(|flow| flow.name == name) {
        Some(flow) if asks(flow) => Ok(()),
        Some(Flow {
            transport: Transport::Udp,
            ..
        }) => Err(format!("flow `{name}` is not a TCP connection")),
        Some(_) => Err(format!(
            "flow `{name}` has one of ns-2's senders (`tcp.agent`), which ask no congestion control"
        )),
        None => {
            let known: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
            let help = suggestion(name, &known);
            Err(format!("no flow is named `{name}`; {help}"))
        }
    }
}

fn maker<'a>(makers: &'a [Maker], place: &str) -> Option<&'a Py<PyAny>> {
    let found = makers.iter().find(|(name, ..)| name == place);
    found.map(|(.., maker)| maker)
}

/// What is made for one run.
struct Making<'a> {
    prototypes: &'a Prototypes,
    seed: u64,
    /// Flows whose congestion control is a value of a field, with what makes one.
    controls: Vec<(String, &'a Py<PyAny>)>,
}

impl<'a> Making<'a> {
    /// For a cell, in which nothing stands for congestion controls of Python's any more.
    fn new(prototypes: &'a Prototypes, cell: &mut Cell) -> Self {
        let mut controls = Vec::new();
        for flow in &mut cell.flows {
            let Transport::Tcp(config) = &mut flow.transport else {
                continue;
            };
            let Algorithm::Linux(name) = config.algorithm else {
                continue;
            };
            let mut all = prototypes.control_values.iter();
            if let Some((_, _, maker)) = all.find(|(stand_in, ..)| stand_in == name) {
                config.algorithm = Algorithm::Reno;
                controls.push((flow.name.clone(), maker));
            }
        }
        Self {
            prototypes,
            seed: cell.seed,
            controls,
        }
    }
}

impl Instead for Making<'_> {
    fn queue(&mut self, at: &Interface, setting: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let Prototypes {
            queues,
            values,
            asked,
            fault,
            ..
        } = self.prototypes;
        let value = || values.iter().find(|(spec, _)| *spec == at.qdisc);
        let maker = maker(queues, &at.name).or_else(|| value().map(|(_, maker)| maker))?;
        asked.of(|py| {
            if let Ok(plugin) = maker.cast_bound::<Plugin>(py) {
                return Ok(plugin.get().loaded.queue(setting, fault));
            }
            let object = maker.call1(py, (self.seed, &at.name))?;
            let queue = aqm::queue(py, object, asked.clone())?;
            Ok(Some(Box::new(queue) as Box<dyn Qdisc<Packet>>))
        })?
    }

    fn control(
        &mut self,
        flow: &Flow,
        config: &Config,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        let Prototypes {
            controls,
            asked,
            fault,
            ..
        } = self.prototypes;
        let value = || self.controls.iter().find(|(name, _)| *name == flow.name);
        let maker = maker(controls, &flow.name).or_else(|| value().map(|(_, maker)| *maker))?;
        asked.of(|py| {
            if let Ok(plugin) = maker.cast_bound::<Plugin>(py) {
                return Ok(plugin.get().loaded.control(config, fault));
            }
            let control = control::Written::new(py, maker, config, asked.clone())?;
            Ok(Some(Box::new(control) as Box<dyn CongestionControl + Send>))
        })?
    }
}

impl World for Prototypes {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(&self, cell: &Cell, _: Taps, progress: Progress<'_>) -> Result<RunResult, WorldError> {
        let mut ask = |now| {
            if self.asked.has_raised() || self.fault.has_come() {
                return ControlFlow::Break(());
            }
            progress(now)
        };
        let mut cell = cell.clone();
        let mut making = Making::new(self, &mut cell);
        Sim.run_with(&cell, Taps::default(), &mut ask, &mut making)
    }
}
