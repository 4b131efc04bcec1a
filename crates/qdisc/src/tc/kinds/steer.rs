//! Steering's row.

use crate::params::{GspParams, SteerParams};
use crate::spec::{Aimed, Part, Policy, Spec};
use crate::tc::SpecError;
use crate::tc::kind::{Given, Kind};
use crate::tc::opt::{Opt, Unit, When, from, options, over, stats, when};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

options! { SteerParams;
    RATE_OF_LINK: rate rate, "rate of the link";
    UTIL: opt(Unit::Percent, 1..=100) util, "lowest wanted utilisation of the link";
    DELAY: time delay, "highest target";
    CEILING: opt(Unit::Percent, 1..=100) ceiling,
        "highest wanted utilisation of the link; below 100 a virtual queue can keep the real one \
         empty";
}
const OVER: Opt = over(
    "the discipline to steer, which starts with its own target: an AQM with a delay target \
    (`gsp`), or flow queues \
     with one (`fq_gsp`), or the pair `dualpi2` (its C queue's target); must come last",
);

/// The ceiling is no lower than the floor, and there is a target to steer.
fn rules(given: &Given<'_>, spec: &mut Spec) -> Result<(), SpecError> {
    let steer = SteerParams::of(spec).copied().unwrap_or_default();
    if steer.ceiling < steer.util {
        return Err(given.wrong(
            "ceiling",
            format!("`ceiling` is below `util`, which is {} %", steer.util),
            format!("it can be {} to 100 %", steer.util),
        ));
    }
    let Some(inner) = &given.inner else {
        return Ok(());
    };
    let is_free = SteerParams::of(inner).is_none();
    let steered = inner.clone().steered(steer).filter(|_| is_free);
    if steer.ceiling < 100 && matches!(inner, Spec::DualPi2(_)) {
        return Err(given.wrong(
            "ceiling",
            "`ceiling` of steer is for one queue, and dualpi2 has two".to_string(),
            "leave it out, or steer another discipline, `fq_codel` for example".to_string(),
        ));
    }
    *spec = steered.ok_or_else(|| {
        given.wrong(
            "over",
            format!("{} has no delay target to steer", inner.name()),
            format!("it can be {}", steerable().join(", ")),
        )
    })?;
    Ok(())
}

/// The disciplines with a delay target, from the catalogue.
fn steerable() -> Vec<&'static str> {
    let all = super::catalogue().iter();
    let steerable = all.filter(|kind| {
        let spec = (kind.initial)();
        let is_steered = SteerParams::of(&spec).is_some();
        !is_steered && spec.steered(SteerParams::default()).is_some()
    });
    steerable.map(|kind| kind.name).collect()
}

pub(super) const STEER: Kind = Kind {
    name: "steer",
    summary: "moves the delay target of an AQM so that a policy of utilisation and delay is met",
    source: "Bless, Hock and Zitterbart, Policy-oriented AQM Steering, 2018; not in tc",
    example: "steer util 99% delay 30ms over gsp limit 40000",
    options: &[
        from(RATE_OF_LINK, "measured while packets wait"),
        UTIL,
        DELAY,
        when(CEILING, When::Changed, When::Changed),
        from(OVER, "gsp"),
    ],
    stats: stats! {
        [target as Time: "target in force";
         swing as Time: "mean depth to which the queue drains below the target";
         deviation as Time: "standard deviation of that depth"]
        [link_rate as Rate: "rate of the link, given or measured";
         avg_rate as Rate: "long-term rate";
         virtual_rate as Rate: "rate of the virtual queue, while there is one"]
        [decision:
             "last action: lowered, raised, stepped_down, virtual_queue, virtual_rate, \
              real_queue, kept_swing, kept_underused, kept_standing, kept_highest, kept_virtual";
         decided as Time: "time since then (single queues)";
         unmet: "part of the policy that is not met: util, delay, ceiling or none";
         lowered: "times that the target was lowered";
         raised: "times that the target was raised"]
    },
    initial: || {
        let policy = Aimed {
            aim: GspParams::default().into(),
            steer: Some(SteerParams::default()),
        };
        Spec::single(1000, Policy::Aimed(policy))
    },
    rules,
    ..Kind::BARE
};
