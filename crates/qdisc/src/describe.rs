//! What an AQM says of itself to the outside: the [`Spec`] it runs, its statistics with tc's
//! names, and whether it can take new parameters while it runs.

mod gsp;
mod steered;

use crate::change::ChangeError;
use crate::flow::FlowStatistics;
use crate::report::{Field, float, int, micros};
use crate::{
    Aqm, Backlog, Cobalt, CobaltState, Codel, CodelState, Counters, DropReason, FlowParams,
    FlowParts, Gauge, Limit, Pie, PieState, Red, RedState, RedUnit, Report, Spec,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Time, Unit};

/// An AQM that has a discipline of its own, on one queue.
pub trait DescribeSingle: Aqm {
    /// The discipline with this limit.
    fn spec(&self, limit: Limit) -> Spec;

    /// Takes the parameters of `spec` and returns its limit.
    ///
    /// # Errors
    /// When `spec` is of another kind; then nothing has changed.
    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError>;

    /// The statistics beyond those that every discipline has.
    fn statistics(&self, state: &Self::State, counters: &Counters, now: Time) -> Vec<Field>;

    /// tc's `overlimits`, which is not only for shapers: RED counts its signals there.
    fn overlimits(&self) -> u64 {
        0
    }

    /// The variables that show how it controls.
    fn gauges(&self, _state: &Self::State, _now: Time, _tell: &mut dyn FnMut(Gauge)) {}

    /// The report of the AQM inside, with these accounts, when there is one.
    fn below(
        &self,
        _state: &Self::State,
        _limit: Limit,
        _accounts: (&Counters, Backlog),
        _now: Time,
    ) -> Option<Box<Report>> {
        None
    }
}

/// An AQM that has a discipline with many flows.
pub trait DescribeFlows: Aqm {
    /// The discipline with these parameters of its flow queue.
    fn spec(&self, flows: FlowParams) -> Spec;

    /// Takes the parameters of `spec` and returns those of its flow queue.
    ///
    /// # Errors
    /// When `spec` is of another kind or has another number of flows; then nothing has changed.
    fn change(&mut self, spec: &Spec, old: &FlowParams) -> Result<FlowParams, ChangeError>;

    /// The statistics beyond those that every discipline has.
    fn statistics(&self, flows: &FlowStatistics, counters: &Counters) -> Vec<Field>;

    /// The variables that show how it controls, of all flows together.
    fn gauges(&self, _tell: &mut dyn FnMut(Gauge)) {}

    /// The report of the AQM inside, with these accounts, when there is one.
    fn below(
        &self,
        _params: FlowParams,
        _flows: &FlowStatistics,
        _accounts: (&Counters, Backlog),
    ) -> Option<Box<Report>> {
        None
    }
}

/// The number of flows and what tells them apart are fixed, because packets are in queues by them,
/// and whether there are parts of CAKE at all. So is the default quantum, because the link's MTU
/// is known only at construction.
fn same_flows(new: FlowParams, old: &FlowParams) -> Result<FlowParams, ChangeError> {
    if new.flows != old.flows {
        Err(ChangeError::Fixed { option: "flows" })
    } else if (new.parts.isolation, new.parts.nat) != (old.parts.isolation, old.parts.nat) {
        Err(ChangeError::Fixed { option: "flowmode" })
    } else if new.parts.set_associative != old.parts.set_associative
        || (new.parts == FlowParts::NONE) != (old.parts == FlowParts::NONE)
    {
        Err(ChangeError::Fixed {
            option: "set-associative",
        })
    } else if old.quantum.is_some() && new.quantum.is_none() {
        Err(ChangeError::Fixed { option: "quantum" })
    } else {
        Ok(new)
    }
}

impl DescribeSingle for Codel {
    fn spec(&self, limit: Limit) -> Spec {
        Spec::Codel {
            limit: limit.packets,
            codel: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Codel { limit, codel } = *spec else {
            return Err(ChangeError::other_kind("codel", spec));
        };
        self.set_params(codel);
        Ok(Limit::packets(limit))
    }

    fn statistics(&self, state: &CodelState, counters: &Counters, now: Time) -> Vec<Field> {
        let own = self.counters();
        let mut fields = Vec::from([
            int("count", state.count),
            int("lastcount", state.lastcount),
            micros("ldelay", state.ldelay),
        ]);
        let mut drop_next = int("drop_next", 0_u32);
        if state.dropping {
            fields.push(Field::switch("dropping", true));
            drop_next = if state.drop_next >= now {
                micros("drop_next", state.drop_next - now)
            } else {
                micros("drop_next", now - state.drop_next).negated()
            };
        }
        fields.extend([
            drop_next,
            int("maxpacket", own.maxpacket),
            int("ecn_mark", own.ecn_mark),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ]);
        if own.ce_mark > 0 {
            fields.push(int("ce_mark", own.ce_mark));
        }
        fields
    }
}

impl DescribeSingle for Cobalt {
    fn spec(&self, limit: Limit) -> Spec {
        Spec::Cobalt {
            limit: limit.packets,
            cobalt: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Cobalt { limit, cobalt } = *spec else {
            return Err(ChangeError::other_kind("cobalt", spec));
        };
        self.set_params(cobalt);
        Ok(Limit::packets(limit))
    }

    fn statistics(&self, state: &CobaltState, counters: &Counters, _now: Time) -> Vec<Field> {
        let own = self.counters();
        let mut fields = Vec::from([int("count", state.count)]);
        if state.dropping {
            fields.push(Field::switch("dropping", true));
        }
        fields.extend([
            float("blue_prob", state.blue_fraction()),
            int("maxpacket", own.maxpacket),
            int("ecn_mark", own.ecn_mark),
            int("blue_drop", own.blue_drop),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ]);
        fields
    }
}

impl DescribeFlows for Codel {
    fn spec(&self, flows: FlowParams) -> Spec {
        Spec::FqCodel {
            flows,
            codel: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec, old: &FlowParams) -> Result<FlowParams, ChangeError> {
        let Spec::FqCodel { flows, codel } = *spec else {
            return Err(ChangeError::other_kind("fq_codel", spec));
        };
        let flows = same_flows(flows, old)?;
        self.set_params(codel);
        Ok(flows)
    }

    fn statistics(&self, flows: &FlowStatistics, _counters: &Counters) -> Vec<Field> {
        let own = self.counters();
        let mut fields = Vec::from([
            int("maxpacket", own.maxpacket),
            int("drop_overlimit", flows.drop_overlimit),
            int("new_flow_count", flows.new_flow_count),
            int("ecn_mark", own.ecn_mark),
        ]);
        // tc leaves these out while they are zero.
        for (name, count) in [
            ("ce_mark", own.ce_mark),
            ("memory_used", flows.memory_used),
            ("drop_overmemory", flows.drop_overmemory),
        ] {
            if count > 0 {
                fields.push(int(name, count));
            }
        }
        fields.extend([
            int("new_flows_len", flows.new_flows_len),
            int("old_flows_len", flows.old_flows_len),
        ]);
        fields
    }
}

impl DescribeSingle for Pie {
    fn spec(&self, limit: Limit) -> Spec {
        Spec::Pie {
            limit: limit.packets,
            pie: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Pie { limit, pie } = *spec else {
            return Err(ChangeError::other_kind("pie", spec));
        };
        self.set_params(pie);
        Ok(Limit::packets(limit))
    }

    fn gauges(&self, state: &PieState, _now: Time, tell: &mut dyn FnMut(Gauge)) {
        tell(Gauge {
            name: "probability",
            unit: Unit::Share,
            value: state.prob,
        });
    }

    fn statistics(&self, state: &PieState, counters: &Counters, now: Time) -> Vec<Field> {
        let own = self.counters();
        let gone = counters.dequeued.bytes + counters.dropped.bytes;
        let state = self.state_at(state, counters.offered.bytes - gone, now);
        let mut fields = Vec::from([float("prob", state.prob), micros("delay", state.delay)]);
        if self.params().dq_rate_estimator {
            fields.push(int("avg_dq_rate", state.avg_dq_rate as u64));
        }
        fields.extend([
            int("pkts_in", own.pkts_in),
            int("overlimit", counters.dropped_for(DropReason::Tail)),
            int("dropped", own.dropped),
            int("maxq", own.maxq),
            int("ecn_mark", own.ecn_mark),
        ]);
        fields
    }
}

impl DescribeFlows for Pie {
    fn spec(&self, flows: FlowParams) -> Spec {
        Spec::FqPie {
            flows,
            pie: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec, old: &FlowParams) -> Result<FlowParams, ChangeError> {
        let Spec::FqPie { flows, pie } = *spec else {
            return Err(ChangeError::other_kind("fq_pie", spec));
        };
        let flows = same_flows(flows, old)?;
        self.set_params(pie);
        Ok(flows)
    }

    fn statistics(&self, flows: &FlowStatistics, counters: &Counters) -> Vec<Field> {
        let own = self.counters();
        Vec::from([
            int("pkts_in", own.pkts_in),
            int("overlimit", counters.dropped_for(DropReason::Overlimit)),
            int("overmemory", flows.drop_overmemory),
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("new_flow_count", flows.new_flow_count),
            int("new_flows_len", flows.new_flows_len),
            int("old_flows_len", flows.old_flows_len),
            int("memory_used", flows.memory_used),
        ])
    }
}

impl DescribeSingle for Red {
    fn spec(&self, _limit: Limit) -> Spec {
        Spec::Red(*self.params())
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Red(red) = *spec else {
            return Err(ChangeError::other_kind("red", spec));
        };
        if red.unit != self.params().unit {
            // The average would be in the wrong unit.
            return Err(ChangeError::Fixed { option: "limit" });
        }
        self.set_params(red);
        Ok(red_limit(&red))
    }

    fn statistics(&self, _state: &RedState, counters: &Counters, _now: Time) -> Vec<Field> {
        let own = self.counters();
        Vec::from([
            int("marked", own.prob_mark + own.forced_mark),
            int("early", own.prob_drop + own.forced_drop),
            int("pdrop", counters.dropped_for(DropReason::Tail)),
            int("other", 0_u32),
        ])
    }

    fn overlimits(&self) -> u64 {
        let own = self.counters();
        own.prob_mark + own.forced_mark + own.prob_drop + own.forced_drop
    }
}

/// RED's hard limit, in its unit.
pub(crate) fn red_limit(red: &crate::RedParams) -> Limit {
    match red.unit {
        RedUnit::Bytes => Limit::bytes(red.limit),
        RedUnit::Packets => Limit::packets(u32::try_from(red.limit).unwrap_or(u32::MAX)),
    }
}
