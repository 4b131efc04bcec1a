//! What an agent does, and whether a cell has a place for it.

use crate::field::{CONTROL, Field, SIGNAL, TARGET};
use sojourn_qdisc::{Aimed, Policy, Spec};
use sojourn_units::Span;
use sojourn_world::{Cell, Flow, Transport, WorldError, link_rate};

/// What an agent decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the congestion control of a flow, at both ends of all its connections. Two numbers
    /// from -1 to 1 are powers of two: the factor of the window, and windows that are sent in a
    /// smoothed round trip.
    Control {
        /// The flow.
        flow: String,
    },
    /// It is the AQM of a link's only queue. A number from 0 to 1 is the root of the probability by
    /// which arriving packets are marked (CE) or, if they are not ECN-capable, dropped.
    Signal {
        /// The link.
        link: String,
        /// Most packets in the queue.
        limit: u32,
    },
    /// It sets the delay target of the AQM that a link has. A number from 0 to 1 is on the scale
    /// from 1 ms to 100 ms, whose steps are factors: 0.5 is 10 ms.
    Target {
        /// The link.
        link: String,
    },
}

impl Role {
    /// Numbers of one decision, from the lowest to the highest.
    pub const fn actions(&self) -> &'static [[f32; 2]] {
        match self {
            Self::Control { .. } => &[[-1.0, 1.0]; 2],
            Self::Signal { .. } | Self::Target { .. } => &[[0.0, 1.0]],
        }
    }

    /// What it sees, in this order.
    pub const fn fields(&self) -> &'static [Field] {
        match self {
            Self::Control { .. } => &CONTROL,
            Self::Signal { .. } => &SIGNAL,
            Self::Target { .. } => &TARGET,
        }
    }
}

/// Why there is no such task, or no such decision.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// It would decide all the time.
    #[error("decisions are taken every {0} ns; they must be 100 us apart at least")]
    TooOften(u64),
    /// There is no flow or link of that name.
    #[error("no {what} is named `{name}`; there are {known}")]
    Unknown {
        /// Flow or link.
        what: &'static str,
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The flow has no congestion control that could be replaced.
    #[error("flow `{0}` asks no congestion control: it is not TCP, or has one of ns-2's senders")]
    NoControl(String),
    /// The queue has no delay target.
    #[error(
        "the queue of `{link}` is `{queue}`, which has no delay target to set; codel, pie, \
         fq_codel and fq_pie have one, without `steer`"
    )]
    NoTarget {
        /// The link.
        link: String,
        /// What it has.
        queue: String,
    },
    /// A change puts another queue there.
    #[error("a [[change]] of the scenario replaces the queue of `{0}`, which is the agent's")]
    Replaced(String),
    /// There is nothing that the reward could be measured by.
    #[error("{0} has no link with a rate, so that no share of a rate can be the reward")]
    NoRate(String),
    /// Nothing crosses the link.
    #[error("no flow crosses `{0}`")]
    NoFlow(String),
    /// Nobody does what the ends of a flow do.
    #[error(
        "flow `{0}` has its ends outside of the simulator: it has `app = \"outside\"` or a `stack`"
    )]
    Outside(String),
    /// The flow never gets an ACK.
    #[error("flow `{0}` had no ACK before the end of the run, so that there is nothing to decide")]
    Silent(String),
    /// It is no number.
    #[error("a decision is {0:?}; it has {1} finite numbers")]
    Action(Vec<f32>, usize),
}

impl From<Unfit> for WorldError {
    fn from(unfit: Unfit) -> Self {
        Self::unfit(unfit)
    }
}

/// What the reward of a cell is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    /// The rate of the narrowest link of the flow, or of the queue's.
    pub(crate) bps: f64,
    /// The base RTT of the flow, or the lowest of those that cross the link.
    pub(crate) base_rtt: Span,
}

/// What an agent does, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    role: Role,
    every: Span,
}

impl Task {
    /// An agent with this role that decides at these intervals.
    ///
    /// # Errors
    /// When it would decide more often than every 100 µs.
    pub fn new(role: Role, every: Span) -> Result<Self, Unfit> {
        if every < Span::from_micros(100) {
            return Err(Unfit::TooOften(every.as_nanos()));
        }
        Ok(Self { role, every })
    }

    /// What the agent decides.
    pub const fn role(&self) -> &Role {
        &self.role
    }

    /// How often.
    pub const fn every(&self) -> Span {
        self.every
    }

    /// Whether a cell has a place for the agent.
    ///
    /// # Errors
    /// When it has none, or when the reward could not be measured.
    pub fn check(&self, cell: &Cell) -> Result<(), Unfit> {
        self.measure(cell).map(drop)
    }

    /// Checks a cell, and finds what its reward is measured by.
    pub(crate) fn measure(&self, cell: &Cell) -> Result<Measure, Unfit> {
        if let Some(flow) = { cell.flows.iter() }.find(|flow| flow.is_outside()) {
            return Err(Unfit::Outside(flow.name.clone()));
        }
        match &self.role {
            Role::Control { flow } => measure_flow(cell, flow),
            Role::Signal { link, .. } => measure_link(cell, link, false),
            Role::Target { link } => measure_link(cell, link, true),
        }
    }
}

/// The delay target of a queue, to be set; none where it has none, or where it moves by itself.
pub(crate) fn target_mut(spec: &mut Spec) -> Option<&mut Span> {
    match spec {
        Spec::Single {
            policy: Policy::Aimed(aimed),
            ..
        }
        | Spec::Flows { policy: aimed, .. } => {
            let Aimed { aim, steer } = aimed;
            steer.is_none().then(|| aim.target_mut())
        }
        _ => None,
    }
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Unfit {
    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    Unfit::Unknown {
        what,
        name: name.to_owned(),
        known: known.join(", "),
    }
}

fn measure_flow(cell: &Cell, name: &str) -> Result<Measure, Unfit> {
    let names = cell.flows.iter().map(|flow| flow.name.as_str());
    let flow = { cell.flows.iter() }
        .find(|flow| flow.name == name)
        .ok_or_else(|| unknown("flow", name, names))?;
    match flow.transport {
        Transport::Tcp(config) if config.ns2.is_none() => {}
        _ => return Err(Unfit::NoControl(name.to_owned())),
    }
    let path = cell.network.path(flow.from, flow.to).unwrap_or_default();
    let links = path.into_iter().map(|index| link_rate(cell, index));
    let access = cell.network.access.map(|rate| rate.as_bps() as f64);
    let bps = links.chain(access).fold(f64::INFINITY, f64::min);
    measured(bps, flow.base_rtt, || format!("the path of flow `{name}`"))
}

fn measure_link(cell: &Cell, name: &str, needs_target: bool) -> Result<Measure, Unfit> {
    let known = cell.network.link_names();
    let index = known
        .iter()
        .position(|link| *link == name)
        .ok_or_else(|| unknown("link", name, known.iter().copied()))?;
    let mut changes = cell.changes.iter();
    if changes.any(|change| change.link == index && change.qdisc.is_some()) {
        return Err(Unfit::Replaced(name.to_owned()));
    }
    let queue = &cell.network.interfaces[index].qdisc;
    if needs_target && target_mut(&mut queue.clone()).is_none() {
        return Err(Unfit::NoTarget {
            link: name.to_owned(),
            queue: queue.to_string(),
        });
    }
    let crosses = |flow: &&Flow| {
        let path = cell.network.path(flow.from, flow.to);
        path.is_some_and(|path| path.contains(&index))
    };
    let rtts = { cell.flows.iter() }
        .filter(crosses)
        .map(|flow| flow.base_rtt);
    let base_rtt = rtts.min().ok_or_else(|| Unfit::NoFlow(name.to_owned()))?;
    measured(link_rate(cell, index), base_rtt, || format!("`{name}`"))
}

fn measured(bps: f64, base_rtt: Span, what: impl Fn() -> String) -> Result<Measure, Unfit> {
    if !bps.is_finite() || bps <= 0.0 {
        return Err(Unfit::NoRate(what()));
    }
    // A base RTT of zero would make all delay the whole of it.
    let base_rtt = base_rtt.max(Span::from_millis(1));
    Ok(Measure { bps, base_rtt })
}
