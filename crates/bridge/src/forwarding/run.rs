//! One forwarding thread of a bridge: its loop, and what it does for those who ask.

use super::config::{BridgeConfig, Change};
use super::dual::DualStats;
use super::engine::{Engine, Wait};
use super::error::{BridgeError, Doing};
use super::following::{Followed, Following};
use super::observer::Observer;
use super::onlookers::{Onlookers, Watched};
use super::remote::{Answer, Inbox, Order, Wanted};
use super::round_trips::RoundTrips;
use super::side::Side;
use super::snapshot::{SideStats, Snapshot};
use super::watchdog::{Ending, Pulses, Watchdog};
use crate::clock::Clock;
use crate::fail_open::FailOpenBridge;
use crate::interface::Interface;
use crate::port::{Port, PortState};
use crate::sys;
use rustix::thread::set_current_timer_slack;
use sleep::Load;
use sojourn_line::LineRate;
use sojourn_qdisc::{Backlog, Counters, Report, Tally, Value};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// How long an interface that is slower than the bridge may take for what was held at the end.
const LAST_FRAMES: Span = Span::from_secs(1);

/// A forwarding thread, from the opening of a bridge to its end.
pub(super) struct Worker {
    /// Which of the bridge's it is.
    number: usize,
    pub(super) engine: Engine<Port>,
    port_state: PortState,
    config: BridgeConfig,
    names: [String; 2],
    /// Changes still to come.
    changes: VecDeque<Change>,
    /// Taken out while it serves.
    inbox: Option<Inbox>,
    /// While it does not forward: who sees its frames.
    pub(super) onlookers: Onlookers,
    /// Those of all workers.
    pulses: Arc<Pulses>,
    /// Set while it forwards in real time.
    watchdog: Option<Watchdog>,
    /// The queues at the stop, before what they held was sent.
    closing: Option<[AtQueue; 2]>,
    pub(super) wakeups: u64,
    load: Load,
}

/// A queue at one moment.
#[derive(Clone)]
struct AtQueue {
    queue: Counters,
    backlog: Backlog,
    report: Report,
    dual: Option<DualStats>,
}

/// What a worker has around it while it forwards.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The way round, where there is one.
    pub(super) kernel: Option<&'a FailOpenBridge>,
    /// Whether it is to end.
    pub(super) ends: &'a (dyn Fn() -> bool + Sync),
}

impl Worker {
    /// One that forwards by `config` once it is told to.
    pub(super) fn new(
        number: usize,
        config: BridgeConfig,
        engine: Engine<Port>,
        names: [String; 2],
        port_state: PortState,
        inbox: Inbox,
        pulses: Arc<Pulses>,
    ) -> Self {
        Self {
            number,
            engine,
            port_state,
            names,
            changes: config.changes.clone().into(),
            inbox: Some(inbox),
            onlookers: Onlookers {
                probes: Vec::new(),
                following: Following::of(&config),
                trips: Some(Box::new(RoundTrips::of(
                    config.up.circuits.as_ref(),
                    config.seed,
                ))),
            },
            config,
            pulses,
            watchdog: None,
            closing: None,
            wakeups: 0,
            load: Load::default(),
        }
    }

    /// Has its onlookers see what `work` does.
    pub(super) fn watched<O: Observer, T>(
        &mut self,
        observer: &mut O,
        work: impl FnOnce(&mut Self, &mut Watched<'_, O>) -> T,
    ) -> T {
        let onlookers = std::mem::take(&mut self.onlookers);
        let mut watched = Watched {
            observer,
            onlookers,
        };
        let result = work(self, &mut watched);
        self.onlookers = watched.onlookers;
        result
    }

    /// Forwards until it is to end.
    pub(super) fn forward<O: Observer>(
        &mut self,
        around: Around<'_>,
        observer: &mut Watched<'_, O>,
    ) -> Result<(), BridgeError> {
        // Also by a panic: the other workers must not wait for its sign of life.
        let _ending = Ending::new(&self.pulses, self.number);
        wake_precisely();
        self.go_round(around, observer)
    }

    fn go_round<O: Observer>(
        &mut self,
        around: Around<'_>,
        observer: &mut Watched<'_, O>,
    ) -> Result<(), BridgeError> {
        let mut now = self.config.clock.now();
        self.watchdog = self.watch(now, around.kernel);
        while !(around.ends)() {
            self.wakeups += 1;
            self.beat(now, around.kernel, observer)?;
            // Before the look: each change acts at its own time, however late this turn is.
            while let Some(change) = self.changes.front().filter(|change| change.at <= now) {
                let changed = self.engine.change(change, now, observer);
                changed.doing("forward frames")?;
                self.changes.pop_front();
            }
            let mut wait = self.step(now, observer)?;
            // It acts at its time though no frame comes.
            if let Some(change) = self.changes.front() {
                wait.until = wait.until.min(change.at);
            }
            wait.until = wait.until.min(self.follow_link(now, observer));
            self.serve(&mut observer.onlookers, around.kernel);
            now = self.sleep(wait, now)?;
        }
        // It may have stood still when it was told to end.
        self.beat(now, around.kernel, observer)
    }

    /// Keeps what its queues are now: statistics are those of the stop from here on.
    pub(super) fn close(&mut self) {
        let closing = Side::BOTH.map(|side| self.queue(side));
        self.closing = Some(closing);
    }

    /// Leaves frames to the kernel that arrive from now on.
    pub(super) fn leave_to_kernel(&self) {
        for port in &self.engine.ports {
            port.take_until(Time::ZERO, self.config.clock);
        }
    }

    /// Takes in what has arrived up to `now`, and sends all that is held.
    pub(super) fn finish<O: Observer>(
        &mut self,
        now: Time,
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        let what = "send the last frames";
        self.engine.finish(now, observer).doing(what)?;
        let start = self.config.clock.now();
        // An interface may need time for them; one that takes nothing any more keeps nobody.
        while !self.engine.send_ready().doing(what)?
            && self.config.clock.now() - start < LAST_FRAMES
        {
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    /// In virtual time nothing stands still. Where no kernel forwards, each worker is on its own.
    fn watch(&self, now: Time, kernel: Option<&FailOpenBridge>) -> Option<Watchdog> {
        let config = &self.config;
        if config.clock.is_virtual() {
            return None;
        }
        let limit = config.watchdog;
        if kernel.is_some() && !limit.is_zero() {
            return Some(Watchdog::new(limit, now, &self.pulses, self.number));
        }
        let is_wanted = config.stale < Span::MAX;
        is_wanted.then(|| Watchdog::new(config.stale, now, &Pulses::new(1), 0))
    }

    /// Says that this thread lives, and makes up for a time in which it did not.
    fn beat<O: Observer>(
        &mut self,
        now: Time,
        kernel: Option<&FailOpenBridge>,
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        let Some(watchdog) = &mut self.watchdog else {
            return Ok(());
        };
        if watchdog.still(now) > self.config.stale {
            // Before it takes frames again, so that what comes from then on is not among these.
            let expired = self.engine.expire(now, observer);
            expired.doing("read from the interfaces")?;
        }
        let until = watchdog.beat(now);
        if let Some(bridge) = kernel.filter(|_| !self.config.watchdog.is_zero()) {
            take_until(bridge, &self.engine.ports, until, self.config.clock);
        }
        Ok(())
    }

    /// Has rates follow their link, and says when it is to look at them again.
    fn follow_link<O: Observer>(&mut self, now: Time, observer: &mut Watched<'_, O>) -> Time {
        let Some(following) = &mut observer.onlookers.following else {
            return Time::MAX;
        };
        let due = following.due();
        if now < due {
            return due;
        }
        let rates = following.step(now);
        let due = following.due();
        for (side, rate) in Side::BOTH.into_iter().zip(rates) {
            if let Some(rate) = rate.map(LineRate::Fixed) {
                observer.rate(side, now, &rate);
                self.engine.lanes[side as usize].set_rate(rate, now);
            }
        }
        due
    }

    /// Looks whether somebody wants something.
    fn serve(&mut self, onlookers: &mut Onlookers, kernel: Option<&FailOpenBridge>) {
        // An order changes `self` while the inbox that brought it is in use.
        if let Some(inbox) = self.inbox.take() {
            inbox.serve(|order| self.carry_out(order, onlookers, kernel));
            self.inbox = Some(inbox);
        }
    }

    fn step<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<Wait, BridgeError> {
        self.engine.step(now, observer).map_err(|error| {
            let mut names = self.names.iter();
            // A socket's error says little; an interface that is gone is the usual cause.
            match names.find(|name| Interface::find(name).is_err()) {
                Some(name) => BridgeError::Gone(name.clone()),
                None => BridgeError::io("forward frames", error),
            }
        })
    }

    fn carry_out(
        &mut self,
        order: Order,
        onlookers: &mut Onlookers,
        kernel: Option<&FailOpenBridge>,
    ) -> Answer {
        let now = self.config.clock.now();
        match order {
            Order::Snapshot => Answer::Snapshot(Box::new(self.seen_by(onlookers))),
            Order::Tell(mut told) => {
                if let Some(following) = &onlookers.following {
                    following.tell_all(&mut told);
                }
                Answer::Told(told)
            }
            Order::Become(mut wanted) => {
                self.follow(&mut wanted, onlookers, now);
                self.watch_by(&wanted.config, now, kernel);
                Answer::Done(wanted)
            }
            Order::Count(mut flows) => {
                for table in &mut flows {
                    table.begin(now);
                }
                let [up, down] = &mut self.engine.lanes;
                let [of_up, of_down] = flows;
                Answer::Counted([up.count(of_up), down.count(of_down)])
            }
            Order::Classes(first, mut counts) => {
                for (lane, counts) in self.engine.lanes.iter().zip(&mut counts) {
                    lane.tell_classes(first, counts);
                }
                Answer::Classes(counts)
            }
            Order::Show(wanted) => Answer::Shown(std::mem::replace(&mut onlookers.probes, wanted)),
        }
    }

    /// Works by `wanted` from now on, which has what was before afterwards; what is fixed is the
    /// same in both.
    fn follow(&mut self, wanted: &mut Wanted, onlookers: &mut Onlookers, now: Time) {
        // Swapped, not dropped: to free a queue takes time, which whoever asked has.
        std::mem::swap(&mut self.config, &mut wanted.config);
        let (old, new) = (&wanted.config, &self.config);
        let directions = [[&old.up, &new.up], [&old.down, &new.down]];
        let lanes = self.engine.lanes.iter_mut();
        for ((lane, direction), built) in lanes.zip(directions).zip(&mut wanted.built) {
            lane.follow(direction, built.as_mut(), now);
        }
        if let Some(trips) = &mut onlookers.trips {
            trips.follow(self.config.up.circuits.as_ref());
        }
        if wanted.follows_anew {
            std::mem::swap(&mut onlookers.following, &mut wanted.following);
            if let (Some(new), Some(old)) = (&mut onlookers.following, &mut wanted.following) {
                new.goes_on_from(old);
            }
        }
        if let Some(following) = &mut onlookers.following {
            for (side, lane) in Side::BOTH.into_iter().zip(&mut self.engine.lanes) {
                // A rate that follows its link goes on from where it is: the one in the
                // configuration is where it began.
                match following.followed(side) {
                    Some(Followed { rate, .. }) => lane.set_rate(LineRate::Fixed(rate), now),
                    None => following.stays(side, lane.rate()),
                }
            }
        }
        let memory = self.config.memory_of_worker();
        for pool in &mut self.engine.pools {
            pool.set_limit(memory);
        }
    }

    /// Is watched as it is to be now, where it was otherwise by the `old` configuration.
    fn watch_by(&mut self, old: &BridgeConfig, now: Time, kernel: Option<&FailOpenBridge>) {
        if old.watchdog != self.config.watchdog || old.stale != self.config.stale {
            if let Some(bridge) = kernel {
                take_until(bridge, &self.engine.ports, Time::MAX, self.config.clock);
            }
            // The one before says that nobody watches.
            self.watchdog = None;
            self.watchdog = self.watch(now, kernel);
        }
    }

    /// What has been counted up to now.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let onlookers = std::mem::take(&mut self.onlookers);
        let snapshot = self.seen_by(&onlookers);
        self.onlookers = onlookers;
        snapshot
    }

    fn seen_by(&mut self, onlookers: &Onlookers) -> Snapshot {
        let following = onlookers.following.as_deref();
        Snapshot {
            names: self.names.clone(),
            stats: Side::BOTH.map(|side| self.stats(side)),
            reports: Side::BOTH.map(|side| self.report(side)),
            delays: Side::BOTH.map(|side| self.engine.lanes[side as usize].delays.clone()),
            duals: Side::BOTH.map(|side| self.queue(side).dual),
            port: self.port_state.clone(),
            followed: Side::BOTH.map(|side| following?.followed(side)),
            reflectors: following.and_then(Following::reflectors),
        }
    }

    /// What has happened in one direction.
    fn stats(&mut self, side: Side) -> SideStats {
        let (input, output) = self.engine.ports(side);
        let AtQueue { queue, backlog, .. } = self.queue(side);
        let lane = &self.engine.lanes[side as usize];
        SideStats {
            queue,
            backlog,
            lost: lane.lost(),
            duplicated: lane.duplicated(),
            under_way: lane.under_way() as u64,
            memory: self.engine.pools[side as usize].lent_bytes(),
            freed: self.engine.pools[side as usize].freed(),
            by_kernel: input.by_kernel,
            stale: lane.stale,
            input,
            output,
        }
    }

    /// The queue's parameters and statistics as `tc -s qdisc` shows them; after the end as they
    /// were at the stop, with what was held then.
    fn report(&mut self, side: Side) -> Report {
        self.queue(side).report
    }

    /// A queue now or at the stop.
    /// Frames that there was no memory for have not reached it, and count as its drops all the
    /// same.
    fn queue(&mut self, side: Side) -> AtQueue {
        if let Some(closing) = &self.closing {
            return closing[side as usize].clone();
        }
        let (input, _) = self.engine.ports(side);
        let lane = &self.engine.lanes[side as usize];
        let qdisc = lane.qdisc();
        let now = self.config.clock.now();
        let (mut counters, mut report) = (*qdisc.counters(), qdisc.report(now));
        counters.no_buffer(Tally {
            packets: input.no_buffer,
            bytes: input.no_buffer_bytes,
        });
        let mut stats = report.stats.iter_mut();
        if let Some(drops) = stats.find(|field| field.name == "drops")
            && let Value::Int(number) = &mut drops.value
        {
            *number = number.saturating_add_unsigned(input.no_buffer);
        }
        AtQueue {
            queue: counters,
            backlog: qdisc.backlog(),
            report,
            dual: lane.dual(),
        }
    }
}

/// Takes frames up to a time; later ones are the kernel bridge's.
fn take_until(bridge: &FailOpenBridge, ports: &[Port; 2], time: Time, clock: Clock) {
    bridge.take_until(time, clock);
    for port in ports {
        port.take_until(time, clock);
    }
}

/// Asks the kernel to wake this thread up on time: no timer slack, and real-time priority if we
/// may have it. Without the latter the bridge works as well, only less evenly on a busy machine.
fn wake_precisely() {
    // Failure leaves things as they were.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = sys::real_time(10);
}

mod sleep;
