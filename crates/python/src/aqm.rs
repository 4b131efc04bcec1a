//! AQMs that are written in Python, at the border that every AQM has.
//!
//! Each queue has an object of its own. What it raises ends the run, and is raised there.

use crate::error;
use pyo3::prelude::*;
use sojourn_qdisc::{Aqm, Facts, Limit, QueueView, SingleQueue, Verdict};
use sojourn_sim::Sim;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Progress, RunResult, Taps, World, WorldError, WorldName};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// What an AQM may know of its queue; the packet in question is not in it.
#[pyclass(frozen, get_all, module = "sojourn._native")]
struct Queue {
    packets: u32,
    bytes: u64,
    head_wait: u64,
}

/// What an AQM may know of the packet in question.
#[pyclass(frozen, get_all, module = "sojourn._native")]
struct Packet {
    length: u32,
    ect: bool,
    sojourn: u64,
}

/// Where the first exception of a run is kept.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// An AQM whose methods are Python's.
struct Written {
    object: Py<PyAny>,
    raised: Raised,
}

impl Written {
    fn verdict(
        &self,
        method: &str,
        queue: QueueView,
        packet: Facts,
        wait: Span,
        now: Time,
    ) -> Verdict {
        let ask = |py: Python<'_>| -> PyResult<Verdict> {
            let queue = Queue {
                packets: queue.packets,
                bytes: queue.bytes,
                head_wait: queue.head_wait.as_nanos(),
            };
            let seen = Packet {
                length: packet.len,
                ect: packet.ect,
                sojourn: wait.as_nanos(),
            };
            let word = self
                .object
                .call_method1(py, method, (queue, seen, now.as_nanos()))?;
            verdict(word.bind(py), packet)
        };
        self.asked(ask).unwrap_or(Verdict::Pass)
    }

    /// Nothing once something has been raised.
    fn asked<T>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
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
}

/// A verdict by its word; None passes.
fn verdict(word: &Bound<'_, PyAny>, packet: Facts) -> PyResult<Verdict> {
    if word.is_none() {
        return Ok(Verdict::Pass);
    }
    match word.extract::<&str>()? {
        "mark" if packet.ect => Ok(Verdict::Mark),
        // As everywhere: who cannot be told by a mark is told by a drop.
        "drop" | "mark" => Ok(Verdict::Drop),
        "pass" => Ok(Verdict::Pass),
        other => {
            let message = format!("`{other}` is no verdict: PASS, MARK or DROP");
            Err(pyo3::exceptions::PyValueError::new_err(message))
        }
    }
}

impl Aqm for Written {
    type State = ();

    const JUDGES_DEPARTURES: bool = true;

    fn arrive(&mut self, (): &mut (), queue: QueueView, packet: Facts, now: Time) -> Verdict {
        self.verdict("enqueue", queue, packet, Span::ZERO, now)
    }

    fn leave(
        &mut self,
        (): &mut (),
        queue: QueueView,
        packet: Facts,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.verdict("dequeue", queue, packet, sojourn, now)
    }

    fn found_empty(&mut self, (): &mut (), now: Time) {
        let told = |py: Python<'_>| self.object.call_method1(py, "empty", (now.as_nanos(),));
        self.asked(told);
    }
}

/// The simulated world with queues of Python's.
pub(crate) struct Prototypes {
    /// Links, with what makes an AQM from a run's seed and the link's name.
    makers: Vec<(String, Py<PyAny>)>,
    raised: Raised,
}

impl Prototypes {
    /// With an AQM at each of these links, whose name becomes a parameter of the cells.
    pub(crate) fn new(
        py: Python<'_>,
        queues: Vec<(String, String, Py<PyAny>)>,
        cells: &mut [Cell],
    ) -> PyResult<Self> {
        let mut makers = Vec::new();
        for (link, name, maker) in queues {
            for cell in &mut *cells {
                let known = cell.network.link_names();
                if !known.contains(&link.as_str()) {
                    let known = known.join(", ");
                    return Err(error::run(
                        py,
                        &format!("no link is named `{link}`: {known}"),
                    ));
                }
                cell.params.push((format!("{link}.aqm"), name.clone()));
            }
            makers.push((link, maker));
        }
        Ok(Self {
            makers,
            raised: Raised::default(),
        })
    }

    /// What one of the AQMs has raised first.
    pub(crate) fn raised(&self) -> PyResult<()> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.take().map_or(Ok(()), Err)
    }

    fn queue(&self, link: &str, seed: u64) -> Option<SingleQueue<sojourn_sim::Packet, Written>> {
        let (_, maker) = self.makers.iter().find(|(name, _)| name == link)?;
        let make = |py: Python<'_>| -> PyResult<(Py<PyAny>, u64)> {
            let object = maker.call1(py, (seed, link))?;
            let limit = object.getattr(py, "limit")?.extract(py)?;
            Ok((object, limit))
        };
        match Python::attach(make) {
            Ok((object, limit)) => {
                let raised = Arc::clone(&self.raised);
                let written = Written { object, raised };
                Some(SingleQueue::new(Limit::Packets(limit), written))
            }
            Err(error) => {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                raised.get_or_insert(error);
                None
            }
        }
    }
}

impl World for Prototypes {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(&self, cell: &Cell, _: Taps, progress: Progress<'_>) -> Result<RunResult, WorldError> {
        let mut ask = |now| {
            let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
            if raised.is_some() {
                return ControlFlow::Break(());
            }
            drop(raised);
            progress(now)
        };
        Sim.run_with(cell, &mut ask, |interface, _| {
            let queue = self.queue(&interface.name, cell.seed)?;
            Some(Box::new(queue) as _)
        })
    }
}
