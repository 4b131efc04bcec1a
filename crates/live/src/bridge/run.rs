//! The bridge on real interfaces: opening, the loop, closing.

use super::config::{BridgeConfig, FailOpen, Side};
use super::control::{Control, Request};
use super::engine::{Engine, Wait};
use super::error::{BridgeError, Doing};
use super::frame::Pool;
use super::observer::Observer;
use super::port::{BATCH, FramePort, PortCounters};
use crate::fail_open::{FailOpenBridge, FailOpenError};
use crate::interface::{Interface, OffloadsOff};
use crate::packet_socket::PacketSocket;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;
use serde_json::{Value, json};
use sojourn_qdisc::{Backlog, Counters, Place, Report, Tally};
use sojourn_units::{Span, Time, show_rate};
use sojourn_world::{Change, LineRate};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest sleep: how late a request to stop may be seen.
const LONGEST_SLEEP: Span = Span::from_millis(50);

/// A bridge with its interfaces open. Open and run it on a thread that is in the network
/// namespace of the interfaces.
pub struct Bridge {
    engine: Engine<PacketSocket>,
    config: BridgeConfig,
    names: [String; 2],
    /// Changes still to come.
    changes: VecDeque<Change>,
    /// Restores the interfaces when dropped.
    _offloads: Vec<OffloadsOff>,
    way_round: WayRound,
    control: Option<Control>,
    /// When set, a report is due.
    report_wanted: Option<&'static AtomicBool>,
    wakeups: u64,
    control_due: Time,
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

/// What has happened in one direction since the bridge was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideStats {
    /// At the queue.
    pub queue: Counters,
    /// Held by the queue now.
    pub backlog: Backlog,
    /// Lost on purpose after transmission.
    pub lost: Tally,
    /// Frames on their way after transmission.
    pub under_way: u64,
    /// At the interface where frames come in.
    pub input: PortCounters,
    /// At the interface where they go out.
    pub output: PortCounters,
}

impl SideStats {
    /// What the bridge counts itself, and in what.
    fn counts(&self) -> [(&'static str, &'static str, u64); 8] {
        [
            ("received", "frames", self.input.received),
            ("sent", "frames", self.output.sent),
            ("missed", "frames", self.input.missed),
            ("no_buffer", "frames", self.input.no_buffer),
            ("unreadable", "frames", self.input.unreadable),
            ("refused", "frames", self.output.refused),
            ("lost", "packets", self.lost.packets),
            ("under_way", "frames", self.under_way),
        ]
    }
}

impl Bridge {
    /// Opens both interfaces in the calling thread's network namespace. Frames that arrive from
    /// now on are forwarded once [`Bridge::run`] is called.
    ///
    /// # Errors
    /// When an interface is missing, down, named twice or no Ethernet; when permission is missing.
    pub fn open(config: BridgeConfig) -> Result<Self, BridgeError> {
        if config.left == config.right {
            return Err(BridgeError::Same(config.left));
        }
        let left = Interface::find(&config.left)?;
        let right = Interface::find(&config.right)?;
        let mut pool = Pool::new(config.frames + 2 * BATCH);
        let mut open = |interface: &Interface| {
            let socket = PacketSocket::open(&mut pool, config.qdisc_bypass);
            socket.doing(&format!("open a packet socket on `{}`", interface.name))
        };
        let mut sockets = (open(&left)?, open(&right)?);
        let mut offloads = Vec::new();
        if !config.keep_offloads {
            for interface in [&left, &right] {
                let off = OffloadsOff::new(&interface.name);
                offloads.push(off.doing(&format!("turn off GRO on `{}`", interface.name))?);
            }
        }
        // Bound before the way round is closed, so that no frame falls between the two.
        for (socket, interface) in [(&mut sockets.0, &left), (&mut sockets.1, &right)] {
            let bound = socket.bind(interface);
            bound.doing(&format!("bind to `{}`", interface.name))?;
        }
        let way_round = way_round(&config, &left, &right)?;
        let mtu = left.mtu.min(right.mtu);
        let mut engine = Engine::new(&config, pool, sockets.0, sockets.1, mtu);
        if let WayRound::Bridge(bridge) = &way_round {
            engine.foreign_until = bridge.forwarded_until;
            if engine.foreign_until > Time::ZERO {
                engine.discard_waiting().doing("read from the interfaces")?;
            }
        }
        Ok(Self {
            engine,
            names: [left.name, right.name],
            changes: config.changes.clone().into(),
            _offloads: offloads,
            way_round,
            config,
            control: None,
            report_wanted: None,
            wakeups: 0,
            control_due: Time::ZERO,
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

    /// Listens for requests at a Unix socket; see the manual for what can be asked. The file is
    /// removed with the bridge.
    ///
    /// # Errors
    /// When the socket cannot be made, or another bridge listens there.
    pub fn listen(&mut self, path: &Path) -> Result<(), BridgeError> {
        self.control = Some(Control::listen(path)?);
        Ok(())
    }

    /// Prints [`Bridge::text`] on standard output whenever `flag` is found set.
    pub fn report_when(&mut self, flag: &'static AtomicBool) {
        self.report_wanted = Some(flag);
    }

    /// Forwards until `stop` is set, then sends what is held and returns. A stop is seen within
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
        let result = self.forward(stop, observer);
        if result.is_err()
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
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        let mut now = self.config.clock.now();
        while !stop.load(Ordering::Relaxed) {
            self.wakeups += 1;
            while let Some(change) = self.changes.front().filter(|change| change.at <= now) {
                let changed = self.engine.change(change, now, observer);
                changed.doing("forward frames")?;
                self.changes.pop_front();
            }
            let mut wait = self.step(now, observer)?;
            if let Some(change) = self.changes.front() {
                wait.until = wait.until.min(change.at);
            }
            self.serve(now);
            now = self.sleep(wait, now)?;
        }
        let mut now = self.config.clock.now();
        if matches!(&self.way_round, WayRound::Bridge(bridge) if bridge.stays()) {
            now = self.wait_for_a_gap(observer)?;
        }
        // From here on the kernel bridge forwards, if it stays; what arrived before is ours.
        if let WayRound::Bridge(bridge) = &self.way_round
            && bridge.stays()
        {
            bridge.open_now();
        }
        self.engine
            .finish(now, observer)
            .doing("send the last frames")
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
            std::thread::sleep(std::time::Duration::from_micros(20));
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

    /// Rests, then waits for a frame, for the next due time, or for room to send. Yields the time
    /// up to which frames are to be looked at then.
    fn sleep(&mut self, wait: Wait, now: Time) -> Result<Time, BridgeError> {
        let clock = self.config.clock;
        let patience = self.engine.patience().min(LONGEST_SLEEP);
        if self.config.busy_poll || wait.more {
            return Ok(clock.now());
        }
        if clock.is_virtual() && !wait.blocked && !patience.is_zero() {
            // Nothing that arrives can be due earlier, and sleep ends on time.
            let until = wait.until.min(now + patience);
            clock.sleep_until(until);
            return Ok(until);
        }
        self.rest(wait)?;
        Ok(clock.now())
    }

    fn rest(&self, wait: Wait) -> Result<(), BridgeError> {
        if !self.config.rest.is_zero() {
            std::thread::sleep(std::time::Duration::from_nanos(self.config.rest.as_nanos()));
        }
        let now = self.config.clock.now();
        let span = (wait.until - now).min(LONGEST_SLEEP);
        if span.is_zero() {
            return Ok(());
        }
        let events = if wait.blocked {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let ports = self.engine.ports.iter().filter_map(FramePort::fd);
        let ports = ports.map(|fd| (fd, events));
        let control = self.control.iter().flat_map(Control::fds);
        let control = control.map(|fd| (fd, PollFlags::IN));
        let mut polled: Vec<_> = ports
            .chain(control)
            .map(|(fd, events)| PollFd::from_borrowed_fd(fd, events))
            .collect();
        let timeout = Timespec {
            tv_sec: (span.as_nanos() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.as_nanos() % 1_000_000_000).cast_signed(),
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(BridgeError::io("wait for frames", error.into())),
        }
        Ok(())
    }

    /// Answers requests, at most every millisecond, so that a busy link does not pay for it.
    fn serve(&mut self, now: Time) {
        if now < self.control_due {
            return;
        }
        self.control_due = now + Span::from_millis(1);
        if let Some(flag) = self.report_wanted
            && flag.swap(false, Ordering::Relaxed)
        {
            print!("{}", self.text());
        }
        if let Some(mut control) = self.control.take() {
            control.serve(|request| self.answer(request, now));
            self.control = Some(control);
        }
    }

    fn answer(&mut self, request: Request, now: Time) -> Value {
        match request {
            Request::Stats => json!({"ok": true, "stats": self.json()}),
            Request::Text => json!({"ok": true, "text": self.text()}),
            Request::Change(side, spec) => {
                let text = spec.to_string();
                self.engine.lanes[side as usize].set_spec(&spec, now);
                json!({"ok": true, "side": side.name(), "spec": text})
            }
            Request::Rate(side, rate) => {
                let text = rate.map_or("unlimited".to_owned(), show_rate);
                let rate = rate.map_or(LineRate::Infinite, LineRate::Fixed);
                self.engine.lanes[side as usize].set_rate(&rate, now);
                json!({"ok": true, "side": side.name(), "rate": text})
            }
        }
    }

    /// Statistics of both directions: of each queue what `tc -s -j qdisc` prints, and beside it
    /// what the bridge counts.
    pub fn json(&mut self) -> Value {
        let sides = Side::BOTH.map(|side| {
            let tc = self.report(side).tc_json(self.place(side));
            let qdisc = serde_json::from_str::<Value>(&tc).expect("tc_json prints JSON");
            let mut side_json = json!({"qdisc": qdisc});
            for (name, unit, number) in self.stats(side).counts() {
                side_json[format!("{name}_{unit}")] = number.into();
            }
            (side.name().to_owned(), side_json)
        });
        Value::Object(sides.into_iter().collect())
    }

    /// Statistics of both directions as `tc -s qdisc` prints them, and beside it what the bridge
    /// counts.
    pub fn text(&mut self) -> String {
        let mut text = String::new();
        for side in Side::BOTH {
            text.push_str(&self.report(side).tc_text(self.place(side)));
            let _ = write!(text, " {}", side.name());
            for (name, _, number) in self.stats(side).counts() {
                let _ = write!(text, " {name} {number}");
            }
            text.push('\n');
        }
        text
    }

    /// A queue stands where its frames go out.
    fn place(&self, side: Side) -> Place<'_> {
        let (dev, handle) = match side {
            Side::Up => (&self.names[1], 0x8001),
            Side::Down => (&self.names[0], 0x8002),
        };
        Place {
            dev: Some(dev),
            handle,
        }
    }

    /// What has happened in one direction.
    pub fn stats(&mut self, side: Side) -> SideStats {
        let (input, output) = self.engine.ports(side);
        let lane = &self.engine.lanes[side as usize];
        SideStats {
            queue: *lane.qdisc().counters(),
            backlog: lane.qdisc().backlog(),
            lost: lane.lost(),
            under_way: lane.under_way() as u64,
            input,
            output,
        }
    }

    /// The queue's parameters and statistics as `tc -s qdisc` shows them.
    pub fn report(&self, side: Side) -> Report {
        let now = self.config.clock.now();
        self.engine.lanes[side as usize].qdisc().report(now)
    }

    /// Times that the loop went round.
    pub fn wakeups(&self) -> u64 {
        self.wakeups
    }
}

/// Sets up what `config` wants to happen when this process dies.
fn way_round(
    config: &BridgeConfig,
    left: &Interface,
    right: &Interface,
) -> Result<WayRound, BridgeError> {
    if config.fail_open == FailOpen::Off {
        return Ok(WayRound::NotWanted);
    }
    match FailOpenBridge::install(left, right, config.keep_bridge, config.clock) {
        Ok(bridge) => Ok(WayRound::Bridge(bridge)),
        Err(why) if config.fail_open == FailOpen::Require => Err(BridgeError::FailOpen(why)),
        Err(why) => Ok(WayRound::Impossible(why)),
    }
}

/// Asks the kernel to wake this thread up on time: no timer slack, and real-time priority if we
/// may have it. Without the latter the bridge works as well, only less evenly on a busy machine.
fn wake_precisely() {
    // Failure leaves things as they were.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = sys::real_time(10);
}
