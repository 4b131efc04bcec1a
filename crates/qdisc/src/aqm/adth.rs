//! ADTH: moves the limit of a queue so that a node's delay stays within a target.
//!
//! Source: "adaptive dynamic threshold" queue management for delay-sensitive traffic over wireless
//! ad hoc networks, as `docs/studies/adth.md` states it.
//! Units: integer nanoseconds, packets, bytes.
//!
//! Terms. *Queueing delay* is a packet's time in the queue; *MAC delay* the time between two
//! consecutive departures while packets waited (contention, transmission and processing, but no
//! idle time); *nodal delay* their sum. A packet's MAC delay is known when the next one leaves.
//!
//! Every `sampling`, over what left since the last time:
//!
//! ```text
//! estimate = (target − mean MAC delay) · bytes / sampling / (bytes / packets)
//! b        = (target − mean nodal delay) / target
//! f        = max(fmin, f + b)      when the nodal delay is at the target or above it
//!          = min(fmax, f + b/2)    otherwise
//! limit    = f · estimate, at least `min`, at most `max`
//! ```
//!
//! Packets above the limit are dropped at once. Without a packet that waited, both delays count
//! as zero.
//!
//! The limit follows the estimate while there is congestion: the nodal delay has reached the
//! target, the queue has refused a packet, more packets wait than the estimate, or the line has
//! slowed down: at the mean MAC delay the largest estimate would take the target or more. In an
//! interval without congestion the limit is the largest estimate so far, and `max` before the
//! first one: the paper's scenario 1 has the limit at `max` until the load doubles, and at the
//! largest estimate when the congestion has gone. The largest estimate is forgotten after ten
//! seconds without a packet.
//!
//! An interval in which no packet was received and none waits has no congestion either. When
//! packets wait and none has left, there is nothing to estimate from, since the mean packet size
//! would be 0/0: limit and f stay.
//!
//! Differs from the printed pseudo-code in two things. It has MIN and MAX exchanged: its text
//! keeps f within [fmin, fmax], and so does this. And it sets `max` after every interval without
//! an arrival, where its text does not let the limit return to `max` after congestion: on a line
//! slower than the sampling most intervals have none, and the queue would fill.
//!
//! There is no timer: intervals are multiples of `sampling` from time zero, and those that have
//! ended are made up for when a packet comes or goes, in constant time. Nothing happened in
//! between, so that all but the first of them were empty.

use crate::accounts::{Counters, DropReason, FlowStatistics, Gauge};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Bound, Facts, QueueView, Verdict};
use crate::params::{AdthParams, Limit};
use crate::report::{Field, float, int, micros};
use alloc::vec::Vec;
use sojourn_units::{Span, Time, Unit};

/// How long a queue without a packet remembers its largest estimate, so that a flow queue gets the
/// memory of its state back.
const MEMORY: Span = Span::from_secs(10);

/// ADTH's parameters.
#[derive(Clone, Debug)]
pub struct Adth {
    params: AdthParams,
}

/// ADTH's variables for one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdthState {
    /// What was found at the end of the last interval; none before the first departure.
    control: Option<Control>,
    /// End of the interval that runs; zero before the first packet.
    next: Time,
    /// Largest limit that was set under congestion.
    largest: Option<u32>,
    /// The last departure, and how long that packet had waited.
    last: Option<(Time, Span)>,
    sums: Sums,
}

/// What was found at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Queue length factor.
    pub factor: f64,
    /// Most packets that the queue may hold.
    pub limit: u32,
    /// Mean nodal delay.
    pub nodal_delay: Span,
    /// Mean MAC delay.
    pub mac_delay: Span,
    /// Bytes that left in the interval, per second.
    pub throughput: f64,
}

/// Of the interval that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// Whether a packet arrived, refused ones included.
    received: bool,
    /// Whether the queue was full for one of them.
    refused: bool,
    /// Packets that left, and their bytes.
    packets: u64,
    bytes: u64,
    /// Delays known: one for each departure that ended a wait.
    delays: u64,
    mac: u64,
    nodal: u64,
}

impl Adth {
    /// An ADTH with these parameters.
    pub const fn new(params: AdthParams) -> Self {
        Self { params }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &AdthParams {
        &self.params
    }

    /// Changes the parameters; the interval that runs ends when it would have.
    pub const fn set_params(&mut self, params: AdthParams) {
        self.params = params;
    }

    /// What holds for a queue in this state: as found at the end of its last interval.
    pub fn control(&self, state: &AdthState) -> Control {
        state.control.unwrap_or(Control {
            factor: 1.0,
            limit: self.params.max,
            nodal_delay: Span::ZERO,
            mac_delay: Span::ZERO,
            throughput: 0.0,
        })
    }

    /// Ends the intervals that are over; `backlog` packets have waited since the first of them.
    fn advance(&self, state: &mut AdthState, backlog: u32, now: Time) {
        if now < state.next {
            return;
        }
        let step = self.params.sampling.as_nanos().max(1);
        let started = state.next > Time::ZERO;
        let idle = now - state.next;
        let first = Time::from_nanos(now.as_nanos() / step * step);
        // On the grid again after a change of `sampling`, too.
        state.next = first + Span::from_nanos(step);
        if !started {
            return;
        }
        let mut found = self.control(state);
        if state.sums.packets > 0 {
            self.estimate(state, &mut found, backlog);
        }
        let is_silent = !state.sums.received && backlog == 0;
        let held = state.largest.unwrap_or(self.params.max);
        state.sums = Sums::default();
        // The intervals after the first had neither an arrival nor a departure.
        let was_empty = idle.as_nanos() >= step && backlog == 0;
        if is_silent || was_empty {
            found.limit = held.min(self.params.max);
        }
        let is_long_idle = state.last.is_none_or(|(left, _)| now - left >= MEMORY);
        if backlog == 0 && is_long_idle {
            (state.largest, found.limit) = (None, self.params.max);
        }
        state.control = Some(found);
    }

    /// What the interval that has ended shows, when a packet has left in it.
    fn estimate(&self, state: &mut AdthState, control: &mut Control, backlog: u32) {
        let (params, sums) = (&self.params, &state.sums);
        let interval = params.sampling.as_secs_f64();
        let target = params.target.as_nanos() as f64;
        let delays = sums.delays.max(1) as f64;
        let (mac, nodal) = (sums.mac as f64 / delays, sums.nodal as f64 / delays);
        let packets_per_second = sums.packets as f64 / interval;
        let estimate = (target - mac).max(0.0) * 1e-9 * packets_per_second;
        let b = (target - nodal) / target;
        control.factor = if nodal >= target {
            (control.factor + b).max(params.fmin)
        } else {
            (control.factor + b / 2.0).min(params.fmax)
        };
        control.throughput = sums.bytes as f64 / interval;
        if sums.delays > 0 {
            control.nodal_delay = Span::from_nanos(nodal as u64);
            control.mac_delay = Span::from_nanos(mac as u64);
        }
        let limit = ((control.factor * estimate) as u32)
            .max(params.min)
            .min(params.max);
        let has_slowed = (state.largest).is_some_and(|largest| mac * f64::from(largest) >= target);
        if nodal >= target || sums.refused || backlog > limit || has_slowed {
            control.limit = limit;
            state.largest = Some(state.largest.map_or(limit, |largest| largest.max(limit)));
        } else {
            control.limit = (state.largest.unwrap_or(params.max)).min(params.max);
        }
    }
}

impl Aqm for Adth {
    type State = AdthState;
    type Params = AdthParams;

    const BOUNDS: bool = true;

    #[inline]
    fn bound(&mut self, state: &mut AdthState, queue: QueueView, now: Time) -> Bound {
        self.advance(state, queue.packets, now);
        let limit = self.control(state).limit;
        let params = &self.params;
        let (limit, keep) = if params.purge {
            (limit, limit)
        } else {
            // Every arrival replaces one packet while more than the limit wait.
            (limit.max(queue.packets), u32::MAX)
        };
        Bound {
            limit: Limit::Packets(limit.into()),
            full: params.full,
            keep: Limit::Packets(keep.into()),
            surplus: params.drop,
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        state: &mut AdthState,
        _queue: QueueView,
        _packet: Facts<'_>,
        _now: Time,
    ) -> Verdict {
        state.sums.received = true;
        Verdict::Pass
    }

    #[inline]
    fn tail_dropped(&mut self, state: &mut AdthState, _now: Time) {
        state.sums.received = true;
        state.sums.refused = true;
    }

    #[inline]
    fn overflowed(&mut self, state: &mut AdthState, _packets: u32, _now: Time) {
        state.sums.refused = true;
    }

    #[inline]
    fn leave(
        &mut self,
        state: &mut AdthState,
        _queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        if let Some((left, waited)) = state.last
            && !sojourn.is_zero()
        {
            let mac = now - left;
            state.sums.delays += 1;
            state.sums.mac = state.sums.mac.saturating_add(mac.as_nanos());
            let nodal = (waited + mac).as_nanos();
            state.sums.nodal = state.sums.nodal.saturating_add(nodal);
        }
        state.last = Some((now, sojourn));
        state.sums.packets += 1;
        state.sums.bytes += u64::from(packet.len);
        Verdict::Pass
    }

    fn is_forgettable(&mut self, state: &mut AdthState, now: Time) -> bool {
        self.advance(state, 0, now);
        let control = self.control(state);
        state.sums == Sums::default()
            && state.largest.is_none()
            && control.limit == self.params.max
            && control.factor >= 1.0
    }

    fn retune(&mut self, params: AdthParams) {
        self.set_params(params);
    }

    fn gauges(&self, state: Option<&AdthState>, _now: Time, tell: &mut dyn FnMut(Gauge)) {
        if let Some(state) = state {
            let control = self.control(state);
            let of = |name, unit, value| Gauge { name, unit, value };
            tell(of("limit", Unit::Packets, f64::from(control.limit)));
            tell(of("factor", Unit::None, control.factor));
            tell(of(
                "nodal_delay",
                Unit::Ms,
                control.nodal_delay.as_millis_f64(),
            ));
            tell(of("mac_delay", Unit::Ms, control.mac_delay.as_millis_f64()));
        }
    }

    fn statistics(&self, state: &AdthState, counters: &Counters, _now: Time) -> Vec<Field> {
        let control = self.control(state);
        Vec::from([
            int("threshold", u64::from(control.limit)),
            float("factor", control.factor),
            micros("nodal_delay", control.nodal_delay),
            micros("mac_delay", control.mac_delay),
            int("throughput", control.throughput as u64),
            int("purged", counters.dropped_for(DropReason::Surplus)),
            int(
                "drop_overlimit",
                counters.dropped_for(DropReason::Tail) + counters.dropped_for(DropReason::Head),
            ),
        ])
    }

    fn flow_statistics(&self, flows: &FlowStatistics) -> Vec<Field> {
        flows.fields().into()
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Setpoint for Adth {
    fn target(&self) -> Span {
        self.params.target
    }

    fn set_target(&mut self, target: Span) {
        self.params.target = target;
    }
}
