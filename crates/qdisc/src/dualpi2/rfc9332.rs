//! The rules of RFC 9332, appendix A.2: a ramp for the L queue, and counts in place of dice.
//!
//! The base probability and the scheduler are those of the other law. Here a packet is judged as it
//! leaves, with the larger of the ramp's and the coupled probability.

use super::{DualPi2, Fate};
use crate::params::{DualOverload, DualPi2Params};
use sojourn_units::Ecn;
use sojourn_units::Span;

/// A probability of one. Others are in the same unit, 2⁻³².
const ONE: u64 = u32::MAX as u64;

/// What is left of each queue's likelihood since its last signal (`recur` of figure 4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    classic: u64,
    low: u64,
}

/// Adds the likelihood; whether that is a signal. One of one signals each packet but the first.
fn recur(count: &mut u64, likelihood: u64) -> bool {
    *count += likelihood;
    let is_signal = *count > ONE;
    if is_signal {
        *count -= ONE;
    }
    is_signal
}

/// Likelihood by the wait of a packet of the L queue alone (figure 5).
fn native(params: &DualPi2Params, sojourn: Span) -> u64 {
    let above = sojourn.as_nanos().saturating_sub(params.ramp.as_nanos());
    let range = params.ramp_range.as_nanos();
    if sojourn >= params.ramp + params.ramp_range {
        ONE
    } else {
        // Below the ramp's end the range is not zero unless nothing is above its beginning.
        (u128::from(above) * u128::from(ONE) / u128::from(range.max(1))) as u64
    }
}

impl<P> DualPi2<P> {
    /// What becomes of a packet that leaves (figure 7), and whether the ramp alone would have
    /// marked it no less. `sojourn` is that of a packet of the L queue which found more than
    /// `min_qlen_step` packets there, its own included.
    pub(super) fn judge_by_rfc(
        &mut self,
        is_low: bool,
        ecn: Ecn,
        sojourn: Option<Span>,
    ) -> (Fate, bool) {
        let base = u64::from(self.probability);
        let squared = (base * base) / ONE;
        let coupled = base * u64::from(self.params.coupling_factor);
        let overload = coupled >= ONE;
        let counts = &mut self.counts;
        if !is_low {
            // Above `p_Cmax` = 1/k² no mark stands for a loss.
            let fate = match recur(&mut counts.classic, squared) {
                false => Fate::Pass,
                true if overload || ecn == Ecn::NotEct => Fate::Drop,
                true => Fate::Mark,
            };
            return (fate, false);
        }
        if overload {
            let drops = self.params.overload == DualOverload::Drop;
            if drops && recur(&mut counts.low, squared) {
                return (Fate::Drop, false);
            }
            let is_hit = recur(&mut counts.low, coupled.min(ONE));
            return (if is_hit { Fate::Mark } else { Fate::Pass }, false);
        }
        let ramp = sojourn.map_or(0, |sojourn| native(&self.params, sojourn));
        let is_hit = recur(&mut counts.low, ramp.max(coupled));
        (
            if is_hit { Fate::Mark } else { Fate::Pass },
            ramp >= coupled,
        )
    }
}

#[cfg(test)]
mod tests;
