//! What a user says of a link.

use sojourn_units::{Rate, Span};

/// Between which rates, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The rate is never below; above zero, not above `base`.
    pub min: Rate,
    /// Where it begins, and where it goes back to without load.
    pub base: Rate,
    /// The rate is never above; not below `base`.
    pub max: Rate,
    /// Delay above the base that counts as a queue, beside the time of a full packet at the rate
    /// of the moment. Default [`Params::THRESHOLD`].
    pub threshold: Span,
}

impl Params {
    /// 30 ms (cake-autorate, `dl_owd_delta_delay_thr_ms`).
    pub const THRESHOLD: Span = Span::from_millis(30);

    /// A rate within the bounds.
    pub(crate) fn bound(&self, rate: Rate) -> Rate {
        rate.min(self.max).max(self.min)
    }
}
