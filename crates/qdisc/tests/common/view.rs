//! What an AQM sees, for tests that drive one by hand.

use sojourn_qdisc::{Ecn, Facts, QueueView};
use sojourn_units::{Span, Time};

pub(crate) fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// So many packets of 1500 bytes wait.
pub(crate) fn held(packets: u32) -> QueueView {
    let bytes = u64::from(packets) * 1500;
    QueueView {
        bulk_flows: 0,
        packets,
        bytes,
        total_bytes: bytes,
        ..QueueView::default()
    }
}

pub(crate) const PLAIN: Facts<'static> = Facts::new(1500, &Ecn::NotEct);
pub(crate) const CAPABLE: Facts<'static> = Facts::new(1500, &Ecn::Ect0);

/// Of the arrivals between two signals.
pub(crate) fn mean(gaps: &[u32]) -> f64 {
    gaps.iter().map(|gap| f64::from(*gap)).sum::<f64>() / gaps.len() as f64
}
