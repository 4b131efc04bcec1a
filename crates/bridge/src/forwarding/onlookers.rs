//! What sees a bridge's frames beside its observer: captures, the control of rates that follow
//! their link, and the measurement of circuits' round trips.

use super::capture::Probe;
use super::following::Following;
use super::frame::Frame;
use super::observer::{Observer, Point};
use super::round_trips::RoundTrips;
use super::side::Side;
use sojourn_line::{Fate, LineRate};
use sojourn_qdisc::{Backlog, DropReason, Dual, Gauge};
use sojourn_units::{Span, Time};

/// What sees a bridge's frames beside its observer.
#[derive(Debug, Default)]
pub(super) struct Onlookers {
    pub(super) probes: Vec<Probe>,
    /// What has rates follow their link, if one is to.
    pub(super) following: Option<Box<Following>>,
    /// Who measures round trips of circuits; none while it is away.
    pub(super) trips: Option<Box<RoundTrips>>,
}

/// An observer, and those beside it who see its frames.
pub(super) struct Watched<'a, O> {
    pub(super) observer: &'a mut O,
    pub(super) onlookers: Onlookers,
}

impl<O: Observer> Observer for Watched<'_, O> {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        for probe in &mut self.onlookers.probes {
            probe.frame(point, side, now, frame);
        }
        if let Some(following) = &mut self.onlookers.following {
            following.frame(point, side, now, frame);
        }
        if let Some(trips) = &mut self.onlookers.trips {
            trips.frame(point, side, now, frame);
        }
        self.observer.frame(point, side, now, frame);
    }

    fn offered(&mut self, side: Side, now: Time, len: u32) {
        self.observer.offered(side, now, len);
    }

    fn cut(&mut self, side: Side, now: Time) {
        self.observer.cut(side, now);
    }

    fn dropped(&mut self, side: Side, now: Time, len: u32, reason: DropReason) {
        self.observer.dropped(side, now, len, reason);
    }

    fn marked(&mut self, side: Side, now: Time, len: u32) {
        self.observer.marked(side, now, len);
    }

    fn dequeued(&mut self, side: Side, now: Time, len: u32, sojourn: Span) {
        if let Some(following) = &mut self.onlookers.following {
            following.sent(side, len);
        }
        self.observer.dequeued(side, now, len, sojourn);
    }

    fn launched(&mut self, side: Side, now: Time, fate: &Fate) {
        self.observer.launched(side, now, fate);
    }

    fn wants_gauges(&mut self, side: Side, now: Time) -> bool {
        self.observer.wants_gauges(side, now)
    }

    fn gauge(&mut self, side: Side, now: Time, gauge: Gauge) {
        self.observer.gauge(side, now, gauge);
    }

    fn dual(&mut self, side: Side, now: Time, dual: &Dual, left: Option<Span>) {
        self.observer.dual(side, now, dual, left);
    }

    fn dual_probability(&mut self, side: Side, now: Time, dual: &Dual) {
        self.observer.dual_probability(side, now, dual);
    }

    fn rate(&mut self, side: Side, now: Time, rate: &LineRate) {
        self.observer.rate(side, now, rate);
    }

    fn backlog(&mut self, side: Side, now: Time, backlog: Backlog) {
        self.observer.backlog(side, now, backlog);
    }
}
