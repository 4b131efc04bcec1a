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
//! and what waits above the limit goes at once. Without a MAC delay (nothing left, or every packet
//! found the line idle) the limit is `max` and f stays.
//!
//! Differs from the printed pseudo-code, which has MIN and MAX exchanged: its text keeps f within
//! [fmin, fmax], and so does this.
//!
//! There is no timer: intervals are multiples of `sampling` from time zero, and those that have
//! ended are made up for when a packet comes or goes, in constant time. Nothing happened in
//! between, so that all but the first of them were empty; a surplus of the first one's limit goes
//! even if the limit is back at `max` by then.

use crate::accounts::{Counters, DropReason, FlowStatistics, Gauge};
use crate::aqm::setpoint::Setpoint;
use crate::aqm::{Aqm, Bound, Facts, QueueView, Verdict};
use crate::params::{AdthParams, Limit};
use crate::report::{Field, float, int, micros};
use alloc::vec::Vec;
use sojourn_units::{Span, Time, Unit};

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

    /// Ends the intervals that are over. Returns the limit that held in between, if one did.
    fn advance(&self, state: &mut AdthState, now: Time) -> Option<u32> {
        if now < state.next {
            return None;
        }
        let step = self.params.sampling.as_nanos().max(1);
        let started = state.next > Time::ZERO;
        let over = (now - state.next).as_nanos() / step;
        let first = Time::from_nanos(now.as_nanos() / step * step);
        // On the grid again after a change of `sampling`, too.
        let next = first + Span::from_nanos(step);
        state.next = next;
        if !started {
            return None;
        }
        let found = self.estimate(state);
        state.sums = Sums::default();
        state.control = Some(found);
        if over == 0 {
            return None;
        }
        // Of the intervals since then nothing is known.
        state.control = Some(Control {
            limit: self.params.max,
            ..found
        });
        Some(found.limit)
    }

    /// What the interval that has ended shows.
    fn estimate(&self, state: &AdthState) -> Control {
        let (params, sums, before) = (&self.params, &state.sums, self.control(state));
        let interval = params.sampling.as_secs_f64();
        let throughput = sums.bytes as f64 / interval;
        if sums.delays == 0 {
            return Control {
                limit: params.max,
                throughput,
                ..before
            };
        }
        let target = params.target.as_nanos() as f64;
        let mac = sums.mac as f64 / sums.delays as f64;
        let nodal = sums.nodal as f64 / sums.delays as f64;
        let packets_per_second = sums.packets as f64 / interval;
        let estimate = (target - mac).max(0.0) * 1e-9 * packets_per_second;
        let b = (target - nodal) / target;
        let factor = if nodal >= target {
            (before.factor + b).max(params.fmin)
        } else {
            (before.factor + b / 2.0).min(params.fmax)
        };
        let limit = (factor * estimate) as u32;
        Control {
            factor,
            limit: limit.max(params.min).min(params.max),
            nodal_delay: Span::from_nanos(nodal as u64),
            mac_delay: Span::from_nanos(mac as u64),
            throughput,
        }
    }
}

impl Aqm for Adth {
    type State = AdthState;
    type Params = AdthParams;

    const BOUNDS: bool = true;

    #[inline]
    fn bound(&mut self, state: &mut AdthState, queue: QueueView, now: Time) -> Bound {
        let between = self.advance(state, now);
        let limit = self.control(state).limit;
        let params = &self.params;
        let (limit, keep) = if params.purge {
            (limit, limit.min(between.unwrap_or(limit)))
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
    fn leave(
        &mut self,
        state: &mut AdthState,
        _queue: QueueView,
        packet: Facts,
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
        self.advance(state, now);
        let control = self.control(state);
        state.sums == Sums::default() && control.limit == self.params.max && control.factor >= 1.0
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
}

impl Setpoint for Adth {
    fn target(&self) -> Span {
        self.params.target
    }

    fn set_target(&mut self, target: Span) {
        self.params.target = target;
    }
}
