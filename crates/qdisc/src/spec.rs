//! A discipline by its parameters: a container and the policy in it.
//!
//! A policy (CoDel, PIE, …) works in any container that takes it: alone in one queue, or in every
//! flow of a flow queue; where it has a delay target, [`SteerParams`] may move that. What is built
//! from a spec is in `build`, its words are in `tc`.

use crate::params::{
    AdthParams, CakeMqParams, CakeParams, CobaltParams, CodelParams, DualPi2Params, FifoParams,
    FlowParams, GspParams, HtbParams, Isolation, Limit, PieParams, RedParams, SteerParams,
    SteeredParams, TbfParams,
};
use crate::tree::TreeSpec;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem::discriminant;
use sojourn_units::{Rate, Span};

/// A discipline with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// First in, first out, under no policy.
    Fifo(FifoParams),
    /// One queue under a policy (`codel`).
    Single {
        /// Most that it may hold. Default 1000 packets.
        limit: Limit,
        /// What decides on drop and mark.
        policy: Policy,
    },
    /// A flow queue with the policy in each flow (`fq_codel`).
    Flows {
        /// The scheduler.
        flows: FlowParams,
        /// What decides on drop and mark.
        policy: Aimed,
    },
    /// Shaper, tins, host-fair flow queues and COBALT in one.
    Cake(CakeParams),
    /// Two queues under one controller: one for classic traffic, one for L4S (RFC 9332).
    DualPi2(DualPi2Params),
    /// Several of CAKE's, which share the rate by what each needs.
    CakeMq {
        /// How many.
        mq: CakeMqParams,
        /// Each.
        cake: CakeParams,
    },
    /// A class of HTB in front of another discipline (`htb rate 10mbit over fq_codel`).
    Htb {
        /// The shaper.
        htb: HtbParams,
        /// What holds the packets.
        inner: Box<Spec>,
    },
    /// A token bucket in front of another discipline (`tbf rate 20mbit burst 5kb over fq_codel`).
    Tbf {
        /// The shaper.
        tbf: TbfParams,
        /// What holds the packets: the discipline after `over`, or a bfifo with tbf's `limit`.
        inner: Box<Spec>,
    },
    /// A tree of rates with a queue in each leaf. No string says it: see `TreeSpec`.
    Tree(Arc<TreeSpec>),
}

/// What decides on drop and mark in a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// RED. Its thresholds are in the unit of the queue's limit.
    Red(RedParams),
    /// COBALT.
    Cobalt(CobaltParams),
    /// One with a delay target.
    Aimed(Aimed),
}

/// A policy with a delay target, which stays or is steered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimed {
    /// The policy.
    pub aim: Aim,
    /// What moves its target (`steer util 99% delay 30ms over gsp`). None: nothing.
    pub steer: Option<SteerParams>,
}

/// Makes the enum of the policies with a delay target, and for each its way into a [`Policy`] and
/// from a [`Spec`] to its parameters and its target.
macro_rules! aims {
    ($($(#[$doc:meta])* $name:ident($params:ident, $target:ident),)+) => {
        /// The policies with a delay target, which all flow queues take and Steering can move.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Aim {
            $($(#[$doc])* $name($params),)+
        }

        impl Aim {
            /// The delay target.
            pub const fn target_mut(&mut self) -> &mut Span {
                match self {
                    $(Self::$name(params) => &mut params.$target,)+
                }
            }
        }

        $(impl From<$params> for Aim {
            fn from(params: $params) -> Self {
                Self::$name(params)
            }
        }

        impl From<$params> for Aimed {
            fn from(params: $params) -> Self {
                Self { aim: params.into(), steer: None }
            }
        }

        impl From<$params> for Policy {
            fn from(params: $params) -> Self {
                Self::Aimed(params.into())
            }
        }

        part!($params, found: Spec::Single {
            policy: Policy::Aimed(Aimed { aim: Aim::$name(found), .. }), ..
        } | Spec::Flows { policy: Aimed { aim: Aim::$name(found), .. }, .. });)+
    };
}

/// Parameters that a spec may contain.
pub(crate) trait Part: Sized {
    /// Those of `spec`, where it contains such.
    fn of(spec: &Spec) -> Option<&Self>;

    /// Those of `spec`, to change.
    fn of_mut(spec: &mut Spec) -> Option<&mut Self>;
}

/// Parameters of an AQM, found in the spec that a live queue is to follow.
pub trait AqmParams: Sized {
    /// Those of `spec`; None where it has others.
    fn found_in(spec: &Spec) -> Option<Self>;
}

/// An AQM without words of its own: no spec has parameters for it.
impl AqmParams for () {
    fn found_in(_spec: &Spec) -> Option<Self> {
        None
    }
}

impl<P: Part + Copy> AqmParams for P {
    fn found_in(spec: &Spec) -> Option<Self> {
        Part::of(spec).copied()
    }
}

impl<P: AqmParams> AqmParams for SteeredParams<P> {
    fn found_in(spec: &Spec) -> Option<Self> {
        Some(Self {
            steer: AqmParams::found_in(spec)?,
            aim: AqmParams::found_in(spec)?,
        })
    }
}

/// [`Part`] by the pattern that finds it.
macro_rules! part {
    ($part:ty, $found:ident: $($pattern:tt)+) => {
        impl Part for $part {
            fn of(spec: &Spec) -> Option<&Self> {
                match spec {
                    $($pattern)+ => Some($found),
                    _ => None,
                }
            }

            fn of_mut(spec: &mut Spec) -> Option<&mut Self> {
                match spec {
                    $($pattern)+ => Some($found),
                    _ => None,
                }
            }
        }
    };
}

aims! {
    /// CoDel.
    Codel(CodelParams, target),
    /// PIE.
    Pie(PieParams, target),
    /// GSP.
    Gsp(GspParams, threshold),
    /// ADTH.
    Adth(AdthParams, target),
}

part!(FifoParams, fifo: Spec::Fifo(fifo));
part!(Limit, limit: Spec::Single { limit, .. });
part!(RedParams, red: Spec::Single { policy: Policy::Red(red), .. });
part!(CobaltParams, cobalt: Spec::Single { policy: Policy::Cobalt(cobalt), .. });
part!(FlowParams, flows: Spec::Flows { flows, .. });
part!(SteerParams, steer: Spec::Single {
    policy: Policy::Aimed(Aimed { steer: Some(steer), .. }), ..
} | Spec::Flows { policy: Aimed { steer: Some(steer), .. }, .. }
    | Spec::DualPi2(DualPi2Params { steer: Some(steer), .. }));
part!(Aimed, aimed: Spec::Single { policy: Policy::Aimed(aimed), .. }
    | Spec::Flows { policy: aimed, .. });
part!(CakeParams, cake: Spec::Cake(cake) | Spec::CakeMq { cake, .. });
part!(CakeMqParams, mq: Spec::CakeMq { mq, .. });
part!(DualPi2Params, dual: Spec::DualPi2(dual));
part!(HtbParams, htb: Spec::Htb { htb, .. });
part!(TbfParams, tbf: Spec::Tbf { tbf, .. });

impl From<RedParams> for Policy {
    fn from(red: RedParams) -> Self {
        Self::Red(red)
    }
}

impl From<CobaltParams> for Policy {
    fn from(cobalt: CobaltParams) -> Self {
        Self::Cobalt(cobalt)
    }
}

impl From<Aimed> for Policy {
    fn from(aimed: Aimed) -> Self {
        Self::Aimed(aimed)
    }
}

impl Spec {
    /// `pfifo`: first in, first out, with a limit in packets.
    pub const fn pfifo(limit: u32) -> Self {
        Self::Fifo(FifoParams::Packets(limit))
    }

    /// `bfifo`: first in, first out, with a limit in bytes.
    pub const fn bfifo(limit: u64) -> Self {
        Self::Fifo(FifoParams::Bytes(limit))
    }

    /// One queue of up to `limit` packets under `policy`.
    pub fn single(limit: u32, policy: impl Into<Policy>) -> Self {
        Self::Single {
            limit: Limit::Packets(limit.into()),
            policy: policy.into(),
        }
    }

    /// A flow queue with `policy` in each flow.
    pub fn flows(flows: FlowParams, policy: impl Into<Aimed>) -> Self {
        Self::Flows {
            flows,
            policy: policy.into(),
        }
    }

    /// Steers the delay target of its policy; None for a discipline without one.
    pub fn steered(mut self, steer: SteerParams) -> Option<Self> {
        *self.steer_mut()? = Some(steer);
        Some(self)
    }

    /// Where it says what moves its delay target; None for a discipline without one.
    fn steer_mut(&mut self) -> Option<&mut Option<SteerParams>> {
        match self {
            Self::DualPi2(dual) => Some(&mut dual.steer),
            _ => Aimed::of_mut(self).map(|aimed| &mut aimed.steer),
        }
    }

    /// The delay target of its policy.
    pub(crate) fn target_mut(&mut self) -> Option<&mut Span> {
        match self {
            Self::DualPi2(dual) => Some(&mut dual.target),
            _ => Aimed::of_mut(self).map(|aimed| aimed.aim.target_mut()),
        }
    }

    /// What is steered, from its own target on; None where nothing is.
    pub(crate) fn unsteered(&self) -> Option<Self> {
        let mut inner = self.clone();
        inner.steer_mut()?.take().map(|_| inner)
    }

    /// The discipline below it: what it shapes, or what it steers.
    pub(crate) fn inner(&self) -> Option<Self> {
        match self {
            Self::Htb { inner, .. } | Self::Tbf { inner, .. } => Some((**inner).clone()),
            _ => self.unsteered(),
        }
    }

    /// The rate to which it shapes by itself, or one below it does; of a tree the highest of a
    /// class. None where the link below holds packets back.
    pub fn shapes_to(&self) -> Option<Rate> {
        match self {
            Self::Cake(cake) | Self::CakeMq { cake, .. } => cake.bandwidth,
            Self::Htb { htb, inner } => Some(least(htb.rate, inner)),
            Self::Tbf { tbf, inner } => Some(least(tbf.rate, inner)),
            Self::Tree(tree) => tree.classes().iter().map(|class| class.ceil).max()?,
            Self::Fifo(_) | Self::Single { .. } | Self::Flows { .. } | Self::DualPi2(_) => None,
        }
    }

    /// Whether the discipline, or one below it, asks for the addresses inside a network address
    /// translation ([`Packet::inside_hashes`](crate::Packet::inside_hashes)).
    pub fn asks_nat(&self) -> bool {
        match self {
            Self::Tree(tree) => tree.queues().iter().any(Self::asks_nat),
            _ => self.tells_apart().is_some_and(|(_, nat)| nat),
        }
    }

    /// Whether the discipline, or one below it, asks for packets' hosts
    /// ([`Packet::host_hashes`](crate::Packet::host_hashes)).
    pub fn asks_hosts(&self) -> bool {
        if let Self::Tree(tree) = self {
            return tree.queues().iter().any(Self::asks_hosts);
        }
        let by = self.tells_apart();
        by.is_some_and(|(isolation, _)| isolation.asks_hosts())
    }

    /// What the discipline, or one below it, tells flows apart by, and whether inside a
    /// translation.
    fn tells_apart(&self) -> Option<(Isolation, bool)> {
        match self {
            Self::Cake(cake) | Self::CakeMq { cake, .. } => Some((cake.isolation, cake.nat)),
            Self::Flows { flows, .. } => Some((flows.parts.isolation, flows.parts.nat)),
            Self::Tbf { inner, .. } | Self::Htb { inner, .. } => inner.tells_apart(),
            Self::Fifo(_) | Self::Single { .. } | Self::DualPi2(_) | Self::Tree(_) => None,
        }
    }

    /// Whether both go by the same name, whatever their numbers.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let steered = [self, other].map(|spec| SteerParams::of(spec).is_some());
        if steered[0] || steered[1] {
            return steered[0] && steered[1];
        }
        let aims = [self, other].map(|spec| Aimed::of(spec).map(|aimed| discriminant(&aimed.aim)));
        let inside = match (self, other) {
            (Self::Fifo(a), Self::Fifo(b)) => discriminant(a) == discriminant(b),
            (Self::Single { policy: a, .. }, Self::Single { policy: b, .. }) => {
                discriminant(a) == discriminant(b)
            }
            _ => true,
        };
        discriminant(self) == discriminant(other) && inside && aims[0] == aims[1]
    }
}

/// The lower of a shaper's rate and of that of one below it.
fn least(rate: Rate, inner: &Spec) -> Rate {
    inner.shapes_to().map_or(rate, |below| below.min(rate))
}
