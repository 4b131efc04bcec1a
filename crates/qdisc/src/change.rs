//! New parameters for a live instance, and a new discipline in its place.

use crate::{Packet, Qdisc, Setting, Spec};
use alloc::boxed::Box;
use core::fmt;
use sojourn_units::Time;

/// Why a live instance cannot take a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The instance is of another kind: [`Spec::reconfigure`] puts a new one in its place.
    OtherKind {
        /// The instance's kind.
        is: &'static str,
        /// The kind asked for.
        wanted: &'static str,
    },
    /// What this option says is fixed when the instance is made.
    Fixed {
        /// tc's name.
        option: &'static str,
    },
}

impl ChangeError {
    pub(crate) const fn other_kind(is: &'static str, wanted: &Spec) -> Self {
        Self::OtherKind {
            is,
            wanted: wanted.name(),
        }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherKind { is, wanted } => {
                write!(f, "a live {is} cannot become {wanted}; replace it")
            }
            Self::Fixed { option } => {
                write!(f, "`{option}` cannot change on a live instance; replace it")
            }
        }
    }
}

impl core::error::Error for ChangeError {}

/// How [`Spec::reconfigure`] did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// The live instance has the new parameters and keeps its state.
    InPlace,
    /// A new instance holds the packets and the accounts; its AQM starts afresh.
    Replaced,
}

impl Spec {
    /// Makes `live` follow this spec, whatever it was: in place where [`Qdisc::change`] can,
    /// else by a new instance that takes over the packets and [`crate::Counters`]. No packet
    /// is lost, none changes its order within its flow, and each keeps its time of arrival, so
    /// that its sojourn goes on. A shaper that is replaced starts with a full bucket.
    pub fn reconfigure<P: Packet + 'static>(
        &self,
        live: &mut Box<dyn Qdisc<P>>,
        setting: Setting<'_>,
        now: Time,
    ) -> Reconfigured {
        if live.change(self, now).is_ok() {
            return Reconfigured::InPlace;
        }
        let mut held = live.drain();
        // Flows are drained one by one; the sort is stable, so each keeps its order.
        held.sort_by_key(|&(arrived, _)| arrived);
        let mut fresh = self.build(setting);
        fresh.adopt(held, *live.counters());
        *live = fresh;
        Reconfigured::Replaced
    }
}
