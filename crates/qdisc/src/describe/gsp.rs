//! GSP's.

use super::{DescribeFlows, DescribeSingle, same_flows};
use crate::change::ChangeError;
use crate::flow::FlowStatistics;
use crate::report::{Field, int, micros};
use crate::{Counters, DropReason, FlowParams, Gauge, Gsp, GspState, Limit, Spec};
use alloc::vec::Vec;
use sojourn_units::{Time, Unit};

impl DescribeSingle for Gsp {
    fn spec(&self, limit: Limit) -> Spec {
        Spec::Gsp {
            limit: limit.packets,
            gsp: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Gsp { limit, gsp } = *spec else {
            return Err(ChangeError::other_kind("gsp", spec));
        };
        self.set_params(gsp);
        Ok(Limit::packets(limit))
    }

    fn gauges(&self, state: &GspState, now: Time, tell: &mut dyn FnMut(Gauge)) {
        tell(Gauge {
            name: "pause",
            unit: Unit::Ms,
            value: self.interval(&self.state_at(state, now)).as_millis_f64(),
        });
    }

    fn statistics(&self, state: &GspState, counters: &Counters, now: Time) -> Vec<Field> {
        let state = self.state_at(state, now);
        let own = self.counters();
        Vec::from([
            micros("delay", state.delay),
            micros("pause", self.interval(&state)),
            micros("cumul", state.cumul),
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("overflows", own.overflows),
            int("drop_overlimit", counters.dropped_for(DropReason::Tail)),
        ])
    }
}

impl DescribeFlows for Gsp {
    fn spec(&self, flows: FlowParams) -> Spec {
        Spec::FqGsp {
            flows,
            gsp: *self.params(),
        }
    }

    fn change(&mut self, spec: &Spec, old: &FlowParams) -> Result<FlowParams, ChangeError> {
        let Spec::FqGsp { flows, gsp } = *spec else {
            return Err(ChangeError::other_kind("fq_gsp", spec));
        };
        let flows = same_flows(flows, old)?;
        self.set_params(gsp);
        Ok(flows)
    }

    fn statistics(&self, flows: &FlowStatistics, _counters: &Counters) -> Vec<Field> {
        let own = self.counters();
        Vec::from([
            int("dropped", own.dropped),
            int("ecn_mark", own.ecn_mark),
            int("overflows", own.overflows),
            int("drop_overlimit", flows.drop_overlimit),
            int("drop_overmemory", flows.drop_overmemory),
            int("new_flow_count", flows.new_flow_count),
            int("memory_used", flows.memory_used),
            int("new_flows_len", flows.new_flows_len),
            int("old_flows_len", flows.old_flows_len),
        ])
    }
}
