//! What limited a flow's sender, as shares of the time that its connections were open.

use sojourn_tcp::{LimitedBy, Limits};

/// In the order of [`LimitedBy::ALL`]; none of a flow without a connection in the time that counts.
pub(super) fn shares(limits: &Limits) -> [Option<f64>; LimitedBy::ALL.len()] {
    let total = limits.total().as_secs_f64();
    LimitedBy::ALL.map(|what| {
        let share = limits.by(what).as_secs_f64() / total;
        (total > 0.0).then_some(share)
    })
}
