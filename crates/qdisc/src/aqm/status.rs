//! What Steering tells of itself.

use crate::accounts::Gauge;
use crate::report::{Field, int, micros, text};
use alloc::vec::Vec;
use sojourn_units::{Rate, Span, Time, Unit, words};

words! {
    /// What Steering did last, and why. Series show the number, from 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Decision {
        /// Nothing yet: no drop so far.
        #[default]
        None = "none",
        /// The target went down: part of the queue never drained.
        Lowered = "lowered",
        /// The target went up: the link ran idle and was under-used.
        Raised = "raised",
        /// The target went down by a quarter: both rates are above the ceiling.
        SteppedDown = "stepped_down",
        /// The AQM was given the virtual queue: the rate exceeds the ceiling at the minimum.
        VirtualQueue = "virtual_queue",
        /// The virtual queue's rate moved, since the long-term rate is outside the policy's bounds.
        VirtualRate = "virtual_rate",
        /// The AQM was given the real queue back: the virtual one took the whole link.
        RealQueue = "real_queue",
        /// No change: the queue swings as deep as the target.
        KeptSwing = "kept_swing",
        /// No change: the link is not used well enough to lower the target.
        KeptUnderused = "kept_underused",
        /// No change: the delay was never below the target, so the AQM has not converged.
        KeptStanding = "kept_standing",
        /// No change: the link is under-used, but the target is at its highest.
        KeptHighest = "kept_highest",
        /// No change: the rate does not exceed the ceiling, and the virtual queue's rate stays.
        KeptVirtual = "kept_virtual",
    }
}

words! {
    /// The part of a policy that is not met at present. Series show the number from 1, 0 for none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unmet {
        /// The utilisation is below, though the target is at its highest.
        Util = "util",
        /// The delay has not been below the highest since the last drop.
        Delay = "delay",
        /// The rate is above the ceiling, though the virtual queue is as slow as it may be.
        Ceiling = "ceiling",
    }
}

/// Steering's variables, for statistics and series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteerStatus {
    /// Target in force.
    pub target: Span,
    /// Rate of the link, as given or measured; zero while unknown.
    pub link: Rate,
    /// Long-term rate; zero before the first drop.
    pub rate: Rate,
    /// Mean depth of the swing below the target.
    pub swing: Span,
    /// Deviation of that depth: the root of its variance.
    pub deviation: Span,
    /// Rate of the virtual queue; None while the AQM sees the real one.
    pub virtual_rate: Option<Rate>,
    /// Length of the virtual queue as time at its rate; None while the AQM sees the real one.
    pub virtual_delay: Option<Span>,
    /// What was decided last.
    pub decision: Decision,
    /// When that was.
    pub decided: Time,
    /// What is not met.
    pub unmet: Option<Unmet>,
    /// Times that the target was lowered, for whatever reason.
    pub lowered: u64,
    /// Times that the target was raised.
    pub raised: u64,
}

impl SteerStatus {
    /// As statistics; of a single queue with the time `now`, which tells since when.
    pub(crate) fn statistics(&self, now: Option<Time>) -> Vec<Field> {
        let mut fields = Vec::from([
            micros("target", self.target),
            micros("swing", self.swing),
            micros("deviation", self.deviation),
            int("link_rate", self.link.bytes_per_sec()),
            int("avg_rate", self.rate.bytes_per_sec()),
        ]);
        if let Some(rate) = self.virtual_rate {
            fields.push(int("virtual_rate", rate.bytes_per_sec()));
        }
        fields.push(text("decision", self.decision.word()));
        fields.extend(now.map(|now| micros("decided", now - self.decided)));
        fields.extend([
            text("unmet", self.unmet.map_or("none", Unmet::word)),
            int("lowered", self.lowered),
            int("raised", self.raised),
        ]);
        fields
    }

    /// As gauges.
    pub(crate) fn gauges(&self, tell: &mut dyn FnMut(Gauge)) {
        let mut tell = |name, unit, value| tell(Gauge { name, unit, value });
        let bps = |rate: Rate| rate.as_bps() as f64;
        tell("target", Unit::Ms, self.target.as_millis_f64());
        tell("swing", Unit::Ms, self.swing.as_millis_f64());
        tell("deviation", Unit::Ms, self.deviation.as_millis_f64());
        for (name, rate) in [("link_rate", self.link), ("avg_rate", self.rate)] {
            if !rate.is_zero() {
                tell(name, Unit::Bps, bps(rate));
            }
        }
        if let Some(rate) = self.virtual_rate {
            tell("virtual_rate", Unit::Bps, bps(rate));
        }
        if let Some(delay) = self.virtual_delay {
            tell("virtual_delay", Unit::Ms, delay.as_millis_f64());
        }
        tell("decision", Unit::None, f64::from(self.decision as u8));
        let unmet = self.unmet.map_or(0, |unmet| unmet as u8 + 1);
        tell("unmet", Unit::None, f64::from(unmet));
    }
}
