//! The bridge on real interfaces: opening, the loop, closing.

use super::capture::Probe;
use super::config::{BridgeConfig, FailOpen, PortChoice, Side};
use super::engine::{Engine, Wait};
use super::error::{BridgeError, Doing};
use super::following::{Followed, Following};
use super::frame::Pool;
use super::observer::{Observer, Onlookers, Watched};
use super::port::FramePort;
use super::remote::{self, Answer, Inbox, Order, Remote, RemoteError, Showing, Wanted};
use super::snapshot::{SideStats, Snapshot};
use super::watchdog::Watchdog;
use crate::claim::Claim;
use crate::clock::Clock;
use crate::fail_open::{FailOpenBridge, FailOpenError, common_master};
use crate::interface::{Interface, Offloads, OffloadsOff};
use crate::port::{self, Port, PortState};
use crate::sys;
use rustix::thread::set_current_timer_slack;
use sleep::Load;
use sojourn_qdisc::{Backlog, Counters, Report, Tally, Value};
use sojourn_units::{Span, Time};
use sojourn_world::{Change, LineRate};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A bridge with its interfaces open. Open and run it on a thread that is in the network
/// namespace of the interfaces.
pub struct Bridge {
    engine: Engine<Port>,
    port_state: PortState,
    config: BridgeConfig,
    names: [String; 2],
    /// Changes still to come.
    changes: VecDeque<Change>,
    /// Restores the interfaces when dropped.
    _offloads: Vec<OffloadsOff>,
    way_round: WayRound,
    /// After everything that is undone at the end.
    claims: Vec<Claim>,
    remote: Remote,
    /// Taken out while it serves.
    inbox: Option<Inbox>,
    /// While it does not forward: who sees its frames.
    onlookers: Onlookers,
    /// Set while it forwards in real time.
    watchdog: Option<Watchdog>,
    /// The queues at the stop, before what they held was sent.
    closing: Option<[(Counters, Backlog, Report); 2]>,
    wakeups: u64,
    load: Load,
}

/// What happens to the link when this process dies.
#[derive(Debug)]
enum WayRound {
    /// It goes down, as was asked for.
    NotWanted,
    /// It goes down, because there is no way round.
    Impossible(FailOpenError),
    /// A kernel bridge forwards.
    Bridge(FailOpenBridge),
}

impl Bridge {
    /// Whether `config`'s interfaces are there and can be bridged; nothing is touched.
    ///
    /// # Errors
    /// When an interface is missing, down, named twice or no Ethernet.
    pub fn check(config: &BridgeConfig) -> Result<(), BridgeError> {
        Self::interfaces(config).map(drop)
    }

    fn interfaces(config: &BridgeConfig) -> Result<(Interface, Interface), BridgeError> {
        if config.left == config.right {
            return Err(BridgeError::Same(config.left.clone()));
        }
        let left = Interface::find(&config.left)?;
        Ok((left, Interface::find(&config.right)?))
    }

    /// Opens both interfaces in the calling thread's network namespace. Frames that arrive from
    /// now on are forwarded once [`Bridge::run`] is called.
    ///
    /// # Errors
    /// When an interface is missing, down, named twice or no Ethernet; when permission is missing.
    pub fn open(config: BridgeConfig) -> Result<Self, BridgeError> {
        let (left, right) = Self::interfaces(&config)?;
        let claim = |interface| config.claim.then(|| Claim::take(interface)).transpose();
        let claims = [claim(&left)?, claim(&right)?];
        let mut claims: Vec<Claim> = claims.into_iter().flatten().collect();
        // One for each direction, so that a flood in one leaves the other alone.
        let mut pools = Side::BOTH.map(|_| Pool::of(config.memory));
        let offloads = offloads_off(&config, [&left, &right], &mut claims)?;
        // Before the way round is closed, so that no frame falls between the two.
        let (ports, port_state) = port::open(&config, [&left, &right], &mut pools)?;
        let way_round = way_round(&config, &left, &right, &mut claims)?;
        let mtu = left.mtu.min(right.mtu);
        let mut engine = Engine::new(&config, pools, ports, mtu);
        let plans = engine.lanes.each_ref().map(|lane| lane.plan.clone());
        let remotes = remote::pair(&config, plans);
        let (remote, inbox) = remotes.doing("make an event counter")?;
        if let WayRound::Bridge(bridge) = &way_round {
            engine.foreign.until = bridge.forwarded_until;
            if engine.foreign.until > Time::ZERO {
                engine.discard_waiting().doing("read from the interfaces")?;
            }
        }
        let onlookers = Onlookers {
            probes: Vec::new(),
            following: Following::of(&config),
        };
        Ok(Self {
            engine,
            port_state,
            names: [left.name, right.name],
            changes: config.changes.clone().into(),
            _offloads: offloads,
            way_round,
            claims,
            config,
            remote,
            inbox: Some(inbox),
            onlookers,
            watchdog: None,
            closing: None,
            wakeups: 0,
            load: Load::default(),
        })
    }

    /// What happens to the link when this process dies, as a sentence for the user.
    pub fn fail_open_state(&self) -> String {
        match &self.way_round {
            WayRound::NotWanted => "fail open: off, the link goes down with this process".into(),
            WayRound::Impossible(why) => {
                format!("fail open: not possible, the link goes down with this process: {why}")
            }
            WayRound::Bridge(bridge) => {
                format!("fail open: kernel bridge `{}` takes over", bridge.name)
            }
        }
    }

    /// What brings frames in and out; as a sentence for the user by its `Display`.
    pub fn port_state(&self) -> &PortState {
        &self.port_state
    }

    /// The bridge as other threads see it while it runs.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Has it show its frames to a probe from the first one on; see [`Remote::show`].
    ///
    /// # Errors
    /// When there are as many probes as there may be.
    pub fn show(&mut self, probe: Probe) -> Result<Showing, RemoteError> {
        let (showing, probes) = self.remote.show_first(probe)?;
        self.onlookers.probes = probes;
        Ok(showing)
    }

    /// Forwards until `stop` is set, then sends what is held and returns. Statistics are then those
    /// of the stop. A stop is seen within
    /// 50 ms.
    ///
    /// # Errors
    /// When an interface is removed, or the operating system refuses to wait.
    pub fn run<O: Observer>(
        &mut self,
        stop: &AtomicBool,
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        wake_precisely();
        let onlookers = std::mem::take(&mut self.onlookers);
        let mut watched = Watched {
            observer,
            onlookers,
        };
        let result = self.forward(stop, &mut watched);
        self.onlookers = watched.onlookers;
        // Without one of its interfaces the kernel bridge is of no use either.
        if result.is_err()
            && !matches!(result, Err(BridgeError::Gone(_)))
            && let WayRound::Bridge(bridge) = &mut self.way_round
        {
            bridge.leave_in_place();
            bridge.open_now();
        }
        result
    }

    fn forward<O: Observer>(
        &mut self,
        stop: &AtomicBool,
        observer: &mut Watched<'_, O>,
    ) -> Result<(), BridgeError> {
        let mut now = self.config.clock.now();
        self.watchdog = self.watch(now);
        while !stop.load(Ordering::Relaxed) {
            self.wakeups += 1;
            self.beat(now, observer)?;
            while let Some(change) = self.changes.front().filter(|change| change.at <= now) {
                let changed = self.engine.change(change, now, observer);
                changed.doing("forward frames")?;
                self.changes.pop_front();
            }
            let mut wait = self.step(now, observer)?;
            if let Some(change) = self.changes.front() {
                wait.until = wait.until.min(change.at);
            }
            wait.until = wait.until.min(self.follow_link(now, observer));
            self.serve(&mut observer.onlookers);
            now = self.sleep(wait, now)?;
        }
        let mut now = self.config.clock.now();
        if matches!(&self.way_round, WayRound::Bridge(bridge) if bridge.stays()) {
            now = self.wait_for_a_gap(observer)?;
        }
        let closing = Side::BOTH.map(|side| self.queue(side));
        self.closing = Some(closing);
        // From here on the kernel bridge forwards, if it stays; what arrived before is ours.
        if let WayRound::Bridge(bridge) = &self.way_round
            && bridge.stays()
        {
            bridge.open_now();
            leave_to_kernel(&self.engine.ports, self.config.clock);
        }
        self.engine
            .finish(now, observer)
            .doing("send the last frames")
    }

    /// In virtual time nothing stands still.
    fn watch(&self, now: Time) -> Option<Watchdog> {
        let config = &self.config;
        let kernel = matches!(&self.way_round, WayRound::Bridge(_)) && !config.watchdog.is_zero();
        let limit = if kernel {
            config.watchdog
        } else {
            config.stale
        };
        let wanted = !config.clock.is_virtual() && limit < Span::MAX;
        wanted.then(|| Watchdog::new(limit, now))
    }

    /// Says that this thread lives, and makes up for a time in which it did not.
    fn beat<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<(), BridgeError> {
        let Some(watchdog) = &mut self.watchdog else {
            return Ok(());
        };
        let clock = self.config.clock;
        let kernel = match &self.way_round {
            WayRound::Bridge(bridge) if !self.config.watchdog.is_zero() => Some(bridge),
            _ => None,
        };
        let ports = &self.engine.ports;
        let stall = watchdog.beat(now, clock, |until| {
            if let Some(bridge) = kernel {
                hold_until(bridge, ports, until, clock);
            }
        });
        let Some(stall) = stall else { return Ok(()) };
        let (kernel, stale) = (kernel.is_some(), self.config.stale);
        let resumed = self.engine.resume(stall, kernel, stale, observer);
        resumed.doing("read from the interfaces")
    }

    /// Goes on until no frame is between the socket and the gate, so that none passes both: a
    /// frame wakes us up before it reaches the gate. On a link that is never quiet, for 20 ms.
    fn wait_for_a_gap<O: Observer>(&mut self, observer: &mut O) -> Result<Time, BridgeError> {
        const GAP: Span = Span::from_micros(100);
        const LONGEST: Span = Span::from_millis(20);
        let start = self.config.clock.now();
        loop {
            let now = self.config.clock.now();
            self.step(now, observer)?;
            if now - self.engine.last_arrival > GAP || now - start > LONGEST {
                // What is stamped later but not seen yet will find the gate open.
                return Ok(self.engine.last_arrival);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
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
    fn serve(&mut self, onlookers: &mut Onlookers) {
        if let Some(inbox) = self.inbox.take() {
            inbox.serve(|order| self.carry_out(order, onlookers));
            self.inbox = Some(inbox);
        }
    }

    fn step<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<Wait, BridgeError> {
        self.engine.step(now, observer).map_err(|error| {
            let mut names = self.names.iter();
            match names.find(|name| Interface::find(name).is_err()) {
                Some(name) => BridgeError::Gone(name.clone()),
                None => BridgeError::io("forward frames", error),
            }
        })
    }

    fn carry_out(&mut self, order: Order, onlookers: &mut Onlookers) -> Answer {
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
        std::mem::swap(&mut self.config, &mut wanted.config);
        let (old, new) = (&wanted.config, &self.config);
        let directions = [[&old.up, &new.up], [&old.down, &new.down]];
        let lanes = self.engine.lanes.iter_mut();
        for ((lane, direction), built) in lanes.zip(directions).zip(&mut wanted.built) {
            lane.follow(direction, built.as_mut(), now);
        }
        if wanted.follows_anew {
            std::mem::swap(&mut onlookers.following, &mut wanted.following);
            if let (Some(new), Some(old)) = (&mut onlookers.following, &mut wanted.following) {
                new.goes_on_from(old);
            }
        }
        if let Some(following) = &mut onlookers.following {
            for (side, lane) in Side::BOTH.into_iter().zip(&mut self.engine.lanes) {
                match following.followed(side) {
                    Some(Followed { rate, .. }) => lane.set_rate(LineRate::Fixed(rate), now),
                    None => following.stays(side, lane.rate()),
                }
            }
        }
        for pool in &mut self.engine.pools {
            pool.set_limit(self.config.memory);
        }
        if old.watchdog != self.config.watchdog || old.stale != self.config.stale {
            if let WayRound::Bridge(bridge) = &self.way_round {
                hold_until(bridge, &self.engine.ports, Time::MAX, self.config.clock);
            }
            self.watchdog = self.watch(now);
        }
    }

    /// What has been counted up to now.
    pub fn snapshot(&mut self) -> Snapshot {
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
            port: self.port_state.clone(),
            followed: Side::BOTH.map(|side| following?.followed(side)),
        }
    }

    /// What has happened in one direction.
    pub fn stats(&mut self, side: Side) -> SideStats {
        let (input, output) = self.engine.ports(side);
        let (queue, backlog, _) = self.queue(side);
        let lane = &self.engine.lanes[side as usize];
        SideStats {
            queue,
            backlog,
            lost: lane.lost(),
            duplicated: lane.duplicated(),
            under_way: lane.under_way() as u64,
            memory: self.engine.pools[side as usize].lent_bytes(),
            freed: self.engine.pools[side as usize].freed(),
            by_kernel: lane.by_kernel + input.by_kernel,
            stale: lane.stale,
            input,
            output,
        }
    }

    /// The queue's parameters and statistics as `tc -s qdisc` shows them; after the end as they
    /// were at the stop, with what was held then.
    pub fn report(&mut self, side: Side) -> Report {
        self.queue(side).2
    }

    /// Of a queue, now or at the stop: its accounts, its backlog and its report.
    /// Frames that there was no memory for have not reached it, and count as its drops all the
    /// same.
    fn queue(&mut self, side: Side) -> (Counters, Backlog, Report) {
        if let Some(closing) = &self.closing {
            return closing[side as usize].clone();
        }
        let (input, _) = self.engine.ports(side);
        let qdisc = self.engine.lanes[side as usize].qdisc();
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
        (counters, qdisc.backlog(), report)
    }

    /// Times that the loop went round.
    pub fn wakeups(&self) -> u64 {
        self.wakeups
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let WayRound::Bridge(bridge) = &mut self.way_round
            && bridge.remove()
        {
            for claim in &mut self.claims {
                // At worst it remembers a bridge that is gone.
                let _ = claim.remember_bridge(None);
            }
        }
    }
}

/// Keeps frames from the kernel bridge up to a time.
fn hold_until(bridge: &FailOpenBridge, ports: &[Port; 2], time: Time, clock: Clock) {
    bridge.hold_until(time, clock);
    for port in ports {
        port.hold_until(time, clock);
    }
}

/// From here on frames are the kernel's; waits until those that are not have come.
fn leave_to_kernel(ports: &[Port; 2], clock: Clock) {
    const ON_THE_WAY: Duration = Duration::from_millis(1);
    for port in ports {
        port.hold_until(Time::ZERO, clock);
    }
    if ports.iter().any(FramePort::is_alone) {
        std::thread::sleep(ON_THE_WAY);
    }
}

/// Turns off what spoils latency, and has it remembered before. What a killed bridge has turned
/// off comes on first, so that it is found to be on.
fn offloads_off(
    config: &BridgeConfig,
    interfaces: [&Interface; 2],
    claims: &mut [Claim],
) -> Result<Vec<OffloadsOff>, BridgeError> {
    let mut off = Vec::new();
    for (side, interface) in interfaces.into_iter().enumerate() {
        let (name, mut claim) = (&interface.name, claims.get_mut(side));
        let what = format!("turn off GRO on `{name}`");
        if let Some(claim) = &mut claim {
            claim.restore_offloads().doing(&what)?;
        }
        let mut offloads = Offloads::default();
        if !config.keep_offloads {
            offloads = Offloads::on(name).doing(&what)?;
            // Packet sockets are told the tags.
            offloads.rx_vlan &= config.port != PortChoice::Packet;
        }
        if let Some(claim) = claim {
            claim.remember_offloads(offloads).doing(&what)?;
        }
        off.push(OffloadsOff::new(name, offloads).doing(&what)?);
    }
    Ok(off)
}

/// Sets up what `config` wants to happen when this process dies.
fn way_round(
    config: &BridgeConfig,
    left: &Interface,
    right: &Interface,
    claims: &mut [Claim],
) -> Result<WayRound, BridgeError> {
    let without = match config.fail_open {
        FailOpen::Off => WayRound::NotWanted,
        wanted => {
            let keep = config.keep_bridge;
            match FailOpenBridge::install(left, right, keep, config.clock, claims) {
                Ok(bridge) => return Ok(WayRound::Bridge(bridge)),
                Err(why) if wanted == FailOpen::Require => return Err(BridgeError::FailOpen(why)),
                Err(why) => WayRound::Impossible(why),
            }
        }
    };
    match common_master(left, right) {
        None => Ok(without),
        Some(name) => Err(BridgeError::Doubled {
            name,
            reason: match without {
                WayRound::Impossible(why) => why.to_string(),
                _ => "it has to be the way round, and fail open is off".to_owned(),
            },
        }),
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
