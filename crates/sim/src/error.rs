//! What the simulator cannot run.

use crate::calendar::MAX_OWNERS;
use crate::engine::{MOST_PACKETS, Stop};
use sojourn_tcp::Algorithm;
use sojourn_units::Time;
use sojourn_world::{Cell, WorldError};

/// Why the simulator cannot run a cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A flow joins nodes that nothing joins.
    #[error("flow `{flow}`: no path from node {from} to node {to}")]
    NoPath {
        /// Its name.
        flow: String,
        /// Index of the node where it begins.
        from: usize,
        /// Index of the node where it ends.
        to: usize,
    },
    /// A flow's congestion control is only in Linux.
    #[error(
        "flow `{flow}`: the simulator has no congestion control {name}; it has {}. Run this \
         scenario with --world kernel",
        Algorithm::ALL.map(Algorithm::name).join(", ")
    )]
    Algorithm {
        /// The flow.
        flow: String,
        /// What it wants.
        name: &'static str,
    },
    /// Stations of a radio send trains of segments.
    #[error(
        "`hosts = \"linux-gso\"` and `\"linux-gso-fq\"` are for links: the stations of a radio \
         send one segment at a time; `hosts = \"linux\"` and `\"linux-fq\"` do that"
    )]
    Trains,
    /// Nobody is there to do what the ends of a flow do.
    #[error(
        "flow `{flow}` is of the kind `outside`, whose ends are in a program around the \
         simulator: see docs/net.md"
    )]
    Outside {
        /// The flow.
        flow: String,
    },
    /// A flow's stack is not in the program.
    #[error(
        "flow `{flow}` has the stack `{stack}`, which is not in this program. It is a feature of \
         Cargo: build `sojourn` with `cargo build --release -p sojourn-cli --features {stack}`"
    )]
    Stack {
        /// The flow.
        flow: String,
        /// The stack.
        stack: &'static str,
    },
    /// A flow from outside goes over a radio.
    #[error(
        "flow `{flow}` has its ends outside of the simulator, which needs a network without radios"
    )]
    OutsideRadio {
        /// The flow.
        flow: String,
    },
    /// There is too much of something.
    #[error(
        "the simulator holds up to {MAX_OWNERS} links, delays and endpoints; this cell has {flows} \
         flows over {links} links"
    )]
    TooLarge {
        /// Beginnings of flows.
        flows: usize,
        /// Links.
        links: usize,
    },
    /// Packets fill the memory.
    #[error(
        "{:.3} s into the run there are {packets} packets, {waiting} of them in the queue of \
         `{link}`; the simulator holds up to {MOST_PACKETS}. Give that queue a lower limit, or \
         send less",
        at.as_secs_f64()
    )]
    Crowded {
        /// When.
        at: Time,
        /// How many there are, in queues and under way.
        packets: usize,
        /// The link with the longest queue.
        link: String,
        /// How many wait there.
        waiting: usize,
    },
}

/// What of a run cannot be copied, so that [`Run::fork`](crate::Run::fork) yields none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFork {
    /// The queue of an interface, from outside: its `Qdisc::fork` yields none.
    #[error("the queue of `{interface}` cannot be copied: its AQM lacks `fork`")]
    Queue {
        /// The interface.
        interface: String,
    },
    /// A flow's congestion control, from outside: its `CongestionControl::fork` yields none.
    #[error("the congestion control of flow `{flow}` cannot be copied: it lacks `fork`")]
    Control {
        /// The flow.
        flow: String,
    },
    /// A flow's application.
    #[error("the application of flow `{flow}` cannot be copied: it lacks `fork`")]
    App {
        /// The flow.
        flow: String,
    },
}

impl Stop {
    /// In words, with the names of a cell.
    pub(crate) fn told(self, cell: &Cell) -> WorldError {
        let crowd = match self {
            Self::Interrupted => return WorldError::Interrupted,
            Self::Crowded(crowd) => crowd,
        };
        let interface = cell.network.interfaces.get(crowd.interface);
        WorldError::unfit(Unfit::Crowded {
            at: crowd.at,
            packets: crowd.packets,
            link: interface.map_or_else(String::new, |it| it.name.clone()),
            waiting: crowd.waiting,
        })
    }
}
