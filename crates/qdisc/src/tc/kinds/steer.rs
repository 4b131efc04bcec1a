//! Steering's row.

use super::super::catalogue::{Initial, Kind, Style, Unit};
use super::{RATE, TIME, first, opt, stat, styled};
use Initial::{From, Is};

pub(super) const STEER: Kind = Kind {
    name: "steer",
    summary: "moves the delay target of an AQM so that a policy of use and delay is met",
    source: "Bless, Hock and Zitterbart, Policy-oriented AQM Steering, 2018; not in tc",
    example: "steer util 99% delay 30ms over gsp limit 40000",
    options: &[
        opt(
            "rate",
            Unit::Rate,
            (8, RATE),
            From("measured while packets wait"),
            "rate of the link",
        ),
        opt(
            "util",
            Unit::Percent,
            (1, 100),
            Is("99"),
            "use of the link wanted at least",
        ),
        opt("delay", Unit::Time, (1, TIME), Is("30ms"), "highest target"),
        opt(
            "ceiling",
            Unit::Percent,
            (1, 100),
            Is("100"),
            "use of the link wanted at most; below 100 a virtual queue can keep the real one empty",
        ),
        opt(
            "over",
            Unit::Discipline,
            (0, 0),
            From("gsp"),
            "what is steered, from its own target on: codel, pie, gsp, fq_codel, fq_pie or fq_gsp; \
             must come last",
        ),
    ],
    absent: &[],
    stats: &[
        first(styled(stat("target", "target in force"), Style::Time)),
        styled(
            stat(
                "swing",
                "mean depth to which the queue drains below the target",
            ),
            Style::Time,
        ),
        styled(
            stat("deviation", "standard deviation of that depth"),
            Style::Time,
        ),
        first(styled(
            stat("link_rate", "rate of the link, given or measured"),
            Style::Rate,
        )),
        styled(stat("avg_rate", "long-term rate"), Style::Rate),
        styled(
            stat(
                "virtual_rate",
                "rate of the virtual queue, while there is one",
            ),
            Style::Rate,
        ),
        first(stat(
            "decision",
            "what was done last: lowered, raised, stepped_down, virtual_queue, virtual_rate, \
             real_queue, kept_swing, kept_underused, kept_standing, kept_highest",
        )),
        styled(
            stat("decided", "time since then (single queues)"),
            Style::Time,
        ),
        stat(
            "unmet",
            "part of the policy that is not met: util, delay, ceiling or none",
        ),
        stat("lowered", "times that the target was lowered"),
        stat("raised", "times that the target was raised"),
    ],
};
