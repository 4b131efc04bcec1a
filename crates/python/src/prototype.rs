//! The simulated world with queues and congestion controls that are written in Python.
//!
//! Each queue, and each end of a connection, has an object of its own. What one raises ends the
//! run, and is raised there with its traceback.

use crate::{aqm, control, error};
use pyo3::prelude::*;
use sojourn_qdisc::{Qdisc, Setting};
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_tcp::{Config, CongestionControl};
use sojourn_world::{
    Cell, Flow, Interface, Progress, RunResult, Taps, Transport, World, WorldError, WorldName,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// A link's or flow's name, the name of what stands there, and what makes one.
pub(crate) type Maker = (String, String, Py<PyAny>);

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
    asked: Asked,
}

impl Prototypes {
    /// With AQMs at these links and congestion controls of these flows, whose names become
    /// parameters of the cells.
    pub(crate) fn new(
        py: Python<'_>,
        queues: Vec<Maker>,
        controls: Vec<Maker>,
        cells: &mut [Cell],
    ) -> PyResult<Self> {
        for cell in cells {
            for (link, name, _) in &queues {
                let known = cell.network.link_names();
                if !known.contains(&link.as_str()) {
                    let known = known.join(", ");
                    let message = format!("no link is named `{link}`: {known}");
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
            asked: Asked::default(),
        })
    }

    /// What one of the objects has raised first.
    pub(crate) fn raised(&self) -> PyResult<()> {
        let mut raised = self.asked.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.take().map_or(Ok(()), Err)
    }
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
        }) => Err(format!("flow `{name}` is no TCP connection")),
        Some(_) => Err(format!(
            "flow `{name}` has one of ns-2's senders (`tcp.agent`), which ask no congestion control"
        )),
        None => {
            let known: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
            let known = known.join(", ");
            Err(format!("no flow is named `{name}`: {known}"))
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
}

impl Instead for Making<'_> {
    fn queue(&mut self, at: &Interface, _: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let Prototypes { queues, asked, .. } = self.prototypes;
        let maker = maker(queues, &at.name)?;
        let queue = asked.of(|py| {
            let object = maker.call1(py, (self.seed, &at.name))?;
            aqm::queue(py, object, asked.clone())
        })?;
        Some(Box::new(queue))
    }

    fn control(
        &mut self,
        flow: &Flow,
        config: &Config,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        let Prototypes {
            controls, asked, ..
        } = self.prototypes;
        let maker = maker(controls, &flow.name)?;
        let control = asked.of(|py| control::Written::new(py, maker, config, asked.clone()))?;
        Some(Box::new(control))
    }
}

impl World for Prototypes {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(&self, cell: &Cell, _: Taps, progress: Progress<'_>) -> Result<RunResult, WorldError> {
        let mut ask = |now| {
            if self.asked.has_raised() {
                return ControlFlow::Break(());
            }
            progress(now)
        };
        let mut making = Making {
            prototypes: self,
            seed: cell.seed,
        };
        Sim.run_with(cell, &mut ask, &mut making)
    }
}
