//! Rates of a bridge that follow a slower link beyond its right interface (`autorate`).
//!
//! What leaves the bridge towards the right has departed, what arrives there has come back; the
//! same [`Monitor`] as in the simulator says what becomes of the rates. What it has said is kept
//! for those who ask.
//!
//! All memory is taken when it begins, on the thread that asks for it: nothing here allocates
//! while frames pass.

use super::config::{BridgeConfig, Direction};
use super::frame::Frame;
use super::observer::Point;
use super::round_trips::seen;
use super::side::Side;
use crate::prober::{Probing, Reflectors, Sample};
use sojourn_autorate::{Decision, Monitor, Seen, Setting, Way};
use sojourn_units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::fmt;

/// Decisions that are kept; the oldest goes for the newest.
pub(super) const KEPT: usize = 1000;
/// Decisions of one kind that are further apart are two.
const APART: Span = Span::from_secs(2);

/// Has the rates of a bridge follow their link.
#[derive(Debug)]
pub(super) struct Following {
    monitor: Monitor,
    /// Asks reflectors too, where there are some.
    probing: Option<Probing>,
    /// Who does not know it cannot make connections that are taken for one.
    seed: u64,
    /// The last decisions, oldest first.
    told: VecDeque<Told>,
}

/// Where a rate is that follows its link; the rate in words by its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The rate.
    pub rate: Rate,
    /// Mean delay above the base beyond the bridge in the last steps; zero where none is known.
    pub delay: Span,
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}Mbit", self.rate.as_bps() as f64 / 1e6)
    }
}

/// What was done to a rate, and why: one decision, or several of the same kind that followed each
/// other. In words by its `Display`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Whose rate.
    pub side: Side,
    /// When the first of them was made, on the bridge's clock.
    pub since: Time,
    /// When the last was.
    pub at: Time,
    /// How many they are.
    pub count: u32,
    /// From the rate before the first to that after the last, with its reason.
    pub decision: Decision,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.side.name(), self.decision)?;
        if self.count > 1 {
            let seconds = (self.at - self.since).as_secs_f64();
            write!(f, " ({} steps in {seconds:.1} s)", self.count)?;
        }
        Ok(())
    }
}

/// The slow link is beyond the right interface.
const fn way(side: Side) -> Way {
    match side {
        Side::Up => Way::Out,
        Side::Down => Way::Back,
    }
}

impl Following {
    /// Of a bridge of which one rate at least follows its link; none: no rate does.
    pub(super) fn of(config: &BridgeConfig) -> Option<Box<Self>> {
        if config.autorates() == [None; 2] {
            return None;
        }
        let setting = |direction: &Direction| match direction.autorate {
            Some(params) => Setting::Follows(params),
            None => Setting::Stays(direction.line.rate.fixed()),
        };
        Some(Box::new(Self {
            monitor: Monitor::new([&config.up, &config.down].map(setting)),
            probing: Probing::of(&config.reflectors),
            seed: config.seed,
            told: VecDeque::with_capacity(KEPT),
        }))
    }

    /// A frame passes a point.
    pub(super) fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        match (point, side) {
            (Point::Sent, Side::Up) => {
                if let Some(seen) = self.seen(side, frame) {
                    self.monitor.departs(&seen, now);
                }
            }
            (Point::Offered, Side::Down) => {
                if let Some(seen) = self.seen(side, frame) {
                    self.monitor.returns(&seen, now);
                }
            }
            _ => {}
        }
    }

    /// A packet leaves a direction's queue.
    pub(super) fn sent(&mut self, side: Side, len: u32) {
        self.monitor.sent(way(side), len);
    }

    /// What a frame's timestamps are, if it has any.
    fn seen(&self, side: Side, frame: &Frame) -> Option<Seen> {
        seen(frame, side, self.seed)
    }

    /// When the next step is.
    pub(super) fn due(&self) -> Time {
        self.monitor.due()
    }

    /// A step: the rates that change, by side.
    pub(super) fn step(&mut self, now: Time) -> [Option<Rate>; 2] {
        while let Some(Sample { source, way, delay }) =
            self.probing.as_ref().and_then(Probing::take)
        {
            match way {
                Some(way) => self.monitor.one_way(way, source, delay, now),
                None => self.monitor.sample(source, delay, now),
            }
        }
        let decisions = self.monitor.step(now);
        for (side, decision) in Side::BOTH.into_iter().zip(decisions) {
            if let Some(decision) = decision {
                self.tell(side, now, decision);
            }
        }
        decisions.map(|decision| decision.map(|decision| decision.to))
    }

    /// Remembers a decision; with the last one of its side, when that had the same reason.
    fn tell(&mut self, side: Side, now: Time, decision: Decision) {
        let last = self.told.iter_mut().rev().find(|told| told.side == side);
        if let Some(last) = last
            && last.decision.why.word() == decision.why.word()
            && last.decision.to == decision.from
            && now - last.at <= APART
        {
            last.at = now;
            last.count = last.count.saturating_add(1);
            last.decision = Decision {
                from: last.decision.from,
                ..decision
            };
            return;
        }
        if self.told.len() == KEPT {
            self.told.pop_front();
        }
        self.told.push_back(Told {
            side,
            since: now,
            at: now,
            count: 1,
            decision,
        });
    }

    /// Where a direction's rate is, if it follows.
    pub(super) fn followed(&self, side: Side) -> Option<Followed> {
        let control = self.monitor.control(way(side))?;
        Some(Followed {
            rate: control.rate(),
            delay: control.delay(),
        })
    }

    /// What reflectors do, if some are asked.
    pub(super) fn reflectors(&self) -> Option<Reflectors> {
        self.probing.as_ref().map(Probing::reflectors)
    }

    /// A direction that does not follow has this rate.
    pub(super) fn stays(&mut self, side: Side, rate: Option<Rate>) {
        self.monitor.stays(way(side), rate);
    }

    /// Takes over what another one has said.
    pub(super) fn goes_on_from(&mut self, before: &mut Self) {
        std::mem::swap(&mut self.told, &mut before.told);
    }

    /// Puts the last decisions, oldest first, where there is room for [`KEPT`].
    pub(super) fn tell_all(&self, to: &mut Vec<Told>) {
        to.extend(&self.told);
    }
}

#[cfg(test)]
mod tests;
