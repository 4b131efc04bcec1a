//! ACKs for the tests of congestion controls.

use super::{AckArrival, AckEvent};
use sojourn_units::{Rate, Span, Time};

/// An ACK of one segment that the window allowed, with this round trip.
pub(crate) fn ack(now: Time, rtt: Span) -> AckEvent {
    AckEvent {
        now,
        acked: 1,
        delivered: 1,
        lost: 0,
        lost_by_ack: 0,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        prior_in_flight: 0,
        in_flight: 0,
        delivered_total: 0,
        una: now.as_nanos(),
        next: now.as_nanos(),
        calm: true,
        rate: None,
        round_start: false,
        window_limited: true,
        paced: false,
        pacing_rate: Rate::ZERO,
        pacing_wait: Span::ZERO,
        ecn_echo: false,
        marked: 0,
        marked_bytes: 0,
        may_grow: true,
    }
}

/// The same ACK as it arrives.
pub(crate) fn arrival(ack: &AckEvent) -> AckArrival {
    AckArrival {
        now: ack.now,
        acked: ack.acked,
        rtt: ack.rtt,
        delivered: ack.delivered,
        marked: ack.marked,
        delivered_bytes: 0,
        marked_bytes: ack.marked_bytes,
        una: ack.una,
        next: ack.next,
    }
}

/// A window of ACKs, evenly spread over a round trip; the first starts the round. The stream
/// has a byte for each nanosecond, and what is sent in one round is acknowledged in the next.
pub(crate) fn round(
    control: &mut impl super::CongestionControl,
    now: &mut Time,
    rtt: Span,
    mut mend: impl FnMut(u32, &mut AckEvent),
) {
    let window = control.window();
    let step = rtt / u64::from(window);
    let end = *now + step * u64::from(window);
    for index in 0..window {
        *now += step;
        let mut event = ack(*now, rtt);
        event.round_start = index == 0;
        event.next = end.as_nanos();
        mend(index, &mut event);
        control.on_ack(&event);
    }
}
