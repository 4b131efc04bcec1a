//! What a bridge with several workers cannot do, since no worker sees all of its packets.

use sojourn_line::{Line, LineRate};
use sojourn_qdisc::Spec;

/// Something that takes one worker which sees every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeyondWorkers {
    /// A port through AF_XDP: an interface's queues do not spread flows so that both directions
    /// meet.
    #[error("frames come through AF_PACKET: `port` cannot be `xdp`")]
    Xdp,
    /// Changes at times that are known before.
    #[error("there are no changes at times that are known before")]
    Changes,
    /// A rate of the link.
    #[error("a rate is cake's: give it as its `bandwidth`, not to the link")]
    Rate,
    /// A trace as the link's rate.
    #[error("a rate is cake's: the link cannot have a `trace`")]
    Trace,
    /// A rate that follows its link.
    #[error("no `autorate` is possible: no worker sees all packets")]
    Autorate,
    /// The same of CAKE.
    #[error("cake takes no `autorate-ingress`: no worker sees all packets")]
    AutorateIngress,
    /// Queues that one thread drives.
    #[error("each has a queue of `cake_mq`: write `cake`")]
    CakeMq,
    /// Token buckets.
    #[error("a rate is cake's: htb and tbf cannot share theirs")]
    Shaper,
    /// A tree of rates.
    #[error("no `subscribers` are possible: a tree cannot be shared")]
    Tree,
}

impl BeyondWorkers {
    /// What of a direction it is: its line, its queue, and whether its rate follows a slower link.
    pub fn of(line: &Line, queue: &Spec, has_autorate: bool) -> Option<Self> {
        if has_autorate {
            return Some(Self::Autorate);
        }
        match line.rate {
            LineRate::Infinite => {}
            LineRate::Fixed(_) => return Some(Self::Rate),
            LineRate::Trace(_) => return Some(Self::Trace),
        }
        match queue {
            Spec::Cake(cake) if cake.autorate => Some(Self::AutorateIngress),
            Spec::CakeMq { .. } => Some(Self::CakeMq),
            Spec::Htb { .. } | Spec::Tbf { .. } => Some(Self::Shaper),
            Spec::Tree(_) => Some(Self::Tree),
            Spec::Cake(_)
            | Spec::DualPi2(_)
            | Spec::Fifo(_)
            | Spec::Single { .. }
            | Spec::Flows { .. } => None,
        }
    }
}
