//! AQMs that are written in Python, at the border that every AQM has.

use crate::prototype::Asked;
use pyo3::prelude::*;
use sojourn_qdisc::{Aqm, Facts, Limit, QueueView, SingleQueue, Verdict};
use sojourn_sim::Packet as Simulated;
use sojourn_units::{Span, Time};

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

/// An AQM whose methods are Python's.
pub(crate) struct Written {
    object: Py<PyAny>,
    asked: Asked,
}

/// The queue that an AQM of Python's stands in.
pub(crate) fn queue(
    py: Python<'_>,
    object: Py<PyAny>,
    asked: Asked,
) -> PyResult<SingleQueue<Simulated, Written>> {
    let limit = object.getattr(py, "limit")?.extract(py)?;
    Ok(SingleQueue::new(
        Limit::Packets(limit),
        Written { object, asked },
    ))
}

impl Written {
    fn verdict(
        &self,
        method: &str,
        queue: QueueView,
        packet: Facts<'_>,
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
                ect: packet.ect(),
                sojourn: wait.as_nanos(),
            };
            let word = self
                .object
                .call_method1(py, method, (queue, seen, now.as_nanos()))?;
            verdict(word.bind(py), packet)
        };
        self.asked.of(ask).unwrap_or(Verdict::Pass)
    }
}

/// A verdict by its word; None passes.
fn verdict(word: &Bound<'_, PyAny>, packet: Facts<'_>) -> PyResult<Verdict> {
    if word.is_none() {
        return Ok(Verdict::Pass);
    }
    match word.extract::<&str>()? {
        "mark" if packet.ect() => Ok(Verdict::Mark),
        // As everywhere: who cannot be told by a mark is told by a drop.
        "drop" | "mark" => Ok(Verdict::Drop),
        "pass" => Ok(Verdict::Pass),
        other => {
            let message = format!("`{other}` is not a verdict: use PASS, MARK or DROP");
            Err(pyo3::exceptions::PyValueError::new_err(message))
        }
    }
}

impl Aqm for Written {
    type State = ();
    type Params = ();

    const JUDGES_DEPARTURES: bool = true;

    fn arrive(&mut self, (): &mut (), queue: QueueView, packet: Facts<'_>, now: Time) -> Verdict {
        self.verdict("enqueue", queue, packet, Span::ZERO, now)
    }

    fn leave(
        &mut self,
        (): &mut (),
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.verdict("dequeue", queue, packet, sojourn, now)
    }

    fn found_empty(&mut self, (): &mut (), now: Time) {
        let told = |py: Python<'_>| self.object.call_method1(py, "empty", (now.as_nanos(),));
        self.asked.of(told);
    }
}
