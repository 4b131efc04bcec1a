//! Steering's.

use super::{DescribeFlows, DescribeSingle};
use crate::change::ChangeError;
use crate::flow::FlowStatistics;
use crate::report::{Field, Value, int, micros};
use crate::{
    Backlog, Counters, FlowParams, Gauge, Limit, Report, Setpoint, Spec, SteerStatus, Steered,
    SteeredState,
};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use sojourn_units::{Rate, Span, Time, Unit};

/// The policy around `inner`, whose target is what it was configured with.
fn around<A: Setpoint>(steered: &Steered<A>, mut inner: Spec) -> Spec {
    let initial = steered.initial_target();
    if let Some(target) = inner.target_mut() {
        *target = initial;
    }
    Spec::Steer {
        steer: *steered.params(),
        inner: Box::new(inner),
    }
}

fn statistics(status: &SteerStatus, since: Option<Span>) -> Vec<Field> {
    let text = |name: &'static str, word: &str| Field {
        name: name.into(),
        value: Value::Text(word.to_string()),
    };
    let mut fields = Vec::from([
        micros("target", status.target),
        micros("swing", status.swing),
        micros("deviation", status.deviation),
        int("link_rate", status.link.bytes_per_sec()),
        int("avg_rate", status.rate.bytes_per_sec()),
    ]);
    if let Some(rate) = status.virtual_rate {
        fields.push(int("virtual_rate", rate.bytes_per_sec()));
    }
    fields.push(text("decision", status.decision.text()));
    fields.extend(since.map(|since| micros("decided", since)));
    fields.push(text(
        "unmet",
        status.unmet.map_or("none", |unmet| unmet.text()),
    ));
    fields.extend([int("lowered", status.lowered), int("raised", status.raised)]);
    fields
}

fn gauges(status: &SteerStatus, tell: &mut dyn FnMut(Gauge)) {
    let mut tell = |name, unit, value| tell(Gauge { name, unit, value });
    let bps = |rate: Rate| rate.as_bps() as f64;
    tell("target", Unit::Ms, status.target.as_millis_f64());
    tell("swing", Unit::Ms, status.swing.as_millis_f64());
    tell("deviation", Unit::Ms, status.deviation.as_millis_f64());
    if !status.link.is_zero() {
        tell("link_rate", Unit::Bps, bps(status.link));
    }
    if !status.rate.is_zero() {
        tell("avg_rate", Unit::Bps, bps(status.rate));
    }
    if let Some(rate) = status.virtual_rate {
        tell("virtual_rate", Unit::Bps, bps(rate));
    }
    tell("decision", Unit::None, f64::from(status.decision as u8));
    tell(
        "unmet",
        Unit::None,
        f64::from(status.unmet.map_or(0, |unmet| unmet as u8)),
    );
}

impl<A: Setpoint + DescribeSingle> DescribeSingle for Steered<A> {
    fn spec(&self, limit: Limit) -> Spec {
        around(self, DescribeSingle::spec(self.aqm(), limit))
    }

    fn change(&mut self, spec: &Spec) -> Result<Limit, ChangeError> {
        let Spec::Steer { steer, inner } = spec else {
            return Err(ChangeError::other_kind("steer", spec));
        };
        self.reconfigure(*steer, |aqm| DescribeSingle::change(aqm, inner))
    }

    fn statistics(&self, _state: &Self::State, _counters: &Counters, now: Time) -> Vec<Field> {
        let status = self.status();
        statistics(&status, Some(now - status.decided))
    }

    fn overlimits(&self) -> u64 {
        self.aqm().overlimits()
    }

    fn gauges(&self, state: &Self::State, now: Time, tell: &mut dyn FnMut(Gauge)) {
        gauges(&self.status(), tell);
        self.aqm().gauges(&state.aqm, now, tell);
    }

    fn below(
        &self,
        state: &SteeredState<A::State>,
        limit: Limit,
        (counters, backlog): (&Counters, Backlog),
        now: Time,
    ) -> Option<Box<Report>> {
        let own = DescribeSingle::statistics(self.aqm(), &state.aqm, counters, now);
        let spec = DescribeSingle::spec(self.aqm(), limit);
        Some(Box::new(Report::new(&spec, counters, backlog, own)))
    }
}

impl<A: Setpoint + DescribeFlows> DescribeFlows for Steered<A> {
    fn spec(&self, flows: FlowParams) -> Spec {
        around(self, DescribeFlows::spec(self.aqm(), flows))
    }

    fn change(&mut self, spec: &Spec, old: &FlowParams) -> Result<FlowParams, ChangeError> {
        let Spec::Steer { steer, inner } = spec else {
            return Err(ChangeError::other_kind("steer", spec));
        };
        self.reconfigure(*steer, |aqm| DescribeFlows::change(aqm, inner, old))
    }

    fn statistics(&self, _flows: &FlowStatistics, _counters: &Counters) -> Vec<Field> {
        statistics(&self.status(), None)
    }

    fn gauges(&self, tell: &mut dyn FnMut(Gauge)) {
        gauges(&self.status(), tell);
        self.aqm().gauges(tell);
    }

    fn below(
        &self,
        params: FlowParams,
        flows: &FlowStatistics,
        (counters, backlog): (&Counters, Backlog),
    ) -> Option<Box<Report>> {
        let own = DescribeFlows::statistics(self.aqm(), flows, counters);
        let spec = DescribeFlows::spec(self.aqm(), params);
        Some(Box::new(Report::new(&spec, counters, backlog, own)))
    }
}
