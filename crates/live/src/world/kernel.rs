//! Queues in the kernel in place of the bridge, its own or ours of the module: how they are set up,
//! and what is seen of them.
//!
//! ```text
//! client ─ [down line] ─ queues ─ [up line, paths] ─ [paths] ─ server
//! ```
//!
//! In a graph client and server are the two nodes of a joint. The bridge's namespace hands frames
//! from one port to the other by `mirred`, so that the queues at its two ports have them as the
//! bridge's have. Where the clients' addresses are translated it is a router, which does that.
//! Behind a queue netem is its line: rate, delay, jitter, loss. What a flow's round trip has beyond
//! the lines is added there, half each way, at the first link of either; flows that differ in it
//! are told apart by a stage of its own, on the server's side.
//!
//! The queues themselves are made right before the run begins, as the other worlds make theirs at
//! that time: a queue of the kernel's has timers, and PIE's first update comes half a second after
//! it was made. Then the first packet finds them as all others do.
//!
//! Sockets listen to what comes from the hosts, arrives before a queue, right behind it and at the
//! hosts again, with the kernel's times. Drops and backlog are the queue's own counters, read every
//! [`COUNT_EVERY`] and at both ends of the measured time: drops count in the middle of such an
//! interval. Of a policy's variables only DualPI2's probability is read; the queue's own statistics
//! at the end are tc's. `pair.rs` tells its two queues apart.

mod changes;
mod ends;
mod filters;
mod offered;
mod pair;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::time::ClockId;
use sojourn_qdisc::{DropReason, Packet as _, Spec};
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Line, LineRate};

use super::Guests;
use super::links::{Crossing, Links, count_losses, crossings, identities_in, identity};
use super::run::{Outcome, Run, Way, way};
use crate::lab::graph::{Joint, is_dumbbell};
use crate::lab::{Gateway, Lab, Plan};
use crate::tc::{self, Counted, Counters, Whose};
use crate::unfit::Unfit;
use changes::Step;
use filters::{at_the_queues, handed_through, told_apart};
use offered::Offered;
use pair::Pair;
use sojourn_bridge::PacketSocket;
use sojourn_bridge::module::TEXT_MAX;
use sojourn_bridge::{BATCH, Frame, FramePort as _, Observer as _, Point, Pool, Side};
use sojourn_bridge::{Clock, read_nanos};
use sojourn_bridge::{Interface, Namespace};

/// How often what was heard is looked at: as seldom as the sockets have room for, up to 5 Gbit/s.
const LISTEN_EVERY: Span = Span::from_millis(25);
/// How often the queues' counters are read.
const COUNT_EVERY: Span = Span::from_millis(50);
/// How long before the end of the measured time they are read: what a full queue drops when the
/// flows' sockets close, a packet of each, is not the run's.
const BEFORE_END: Span = Span::from_micros(200);
/// How long before zero the queues are made in virtual time. tc takes none of it but for its looks
/// at the clock, of 256 ns each.
const EARLY: Span = Span::from_millis(1);
/// Most different round trips: bands of a prio queue.
const MOST_PATHS: usize = 16;
/// Frames in memory at a time, of all sockets.
const FRAMES: usize = 1 << 16;

/// Whether the kernel has the queues and lines of a cell.
pub(super) fn check(
    guests: &Guests,
    whose: Whose,
    cell: &Cell,
    joints: &[Joint],
) -> Result<(), Unfit> {
    if whose == Whose::Ours && cell.hosts.has_trains() {
        return Err(Unfit::ModuleQueue {
            what: "trains of `hosts = \"linux-gso\"` or `\"linux-gso-fq\"`, which the module cuts"
                .to_owned(),
        });
    }
    for link in joints.iter().flat_map(|joint| joint.links) {
        let Way { qdisc, line, .. } = way(&cell.network, link);
        refused_queue(whose, &qdisc)?;
        refused_line(&line)?;
        let (count, most) = (Paths::of(guests, cell, link).0.len(), MOST_PATHS);
        if count > most {
            return Err(Unfit::Paths { count, most });
        }
    }
    for joint in joints {
        changes::steps(guests, whose, cell, joint.links)?;
    }
    Ok(())
}

fn refused_queue(whose: Whose, spec: &Spec) -> Result<(), Unfit> {
    match whose {
        Whose::Linux => {
            let lacking = spec.beyond_linux();
            lacking.map_or(Ok(()), |what| Err(Unfit::KernelQueue { what }))
        }
        Whose::Ours if spec.to_string().len() > TEXT_MAX => Err(Unfit::ModuleQueue {
            what: format!("a string of more than {TEXT_MAX} bytes"),
        }),
        Whose::Ours => Ok(()),
    }
}

/// Whether a queue may cut a train: by its option, or because its bucket is smaller.
fn cuts(spec: &Spec) -> bool {
    match spec {
        Spec::Tbf { .. } => true,
        Spec::Htb { inner, .. } => cuts(inner),
        Spec::Cake(cake) | Spec::CakeMq { cake, .. } => cake.split_gso,
        Spec::DualPi2(dual) => dual.split_gso,
        Spec::Fifo(_) | Spec::Single { .. } | Spec::Flows { .. } | Spec::Tree(_) => false,
    }
}

fn refused_line(line: &Line) -> Result<(), Unfit> {
    if line.duplicate.can_be() {
        // Copies would take the line's time: netem puts them before its first part.
        return Err(Unfit::KernelQueue {
            what: "duplicate".to_owned(),
        });
    }
    match &line.rate {
        LineRate::Trace(trace) if ends::is_too_long(trace) => Err(Unfit::KernelQueue {
            what: "a trace of more than 49 days".to_owned(),
        }),
        LineRate::Trace(_) | LineRate::Fixed(_) | LineRate::Infinite => Ok(()),
    }
}

/// What crosses a link, by its delay beyond the lines': each delay once.
struct Paths(BTreeMap<Span, Vec<Crossing>>);

impl Paths {
    /// What programs send has no delay beyond the lines'.
    fn of(guests: &Guests, cell: &Cell, link: Option<usize>) -> Self {
        let mut paths = BTreeMap::<_, Vec<_>>::new();
        if guests.has_programs() {
            paths.insert(Span::ZERO, Vec::new());
        }
        for crossing in crossings(cell, link) {
            paths.entry(crossing.delay).or_default().push(crossing);
        }
        Self(paths)
    }

    /// Whether a stage has to tell them apart.
    fn differ(&self) -> bool {
        self.0.len() > 1
    }

    /// The delay of all, when it is the same.
    fn alike(&self) -> Span {
        let first = self.0.keys().next().copied();
        first.filter(|_| !self.differ()).unwrap_or_default()
    }
}

/// The stages that a cell's lines and paths take. What is translated is so where the queues are:
/// only there the kernel can tell them who is behind it.
pub(super) fn plan(guests: &Guests, cell: &Cell, joints: &[Joint], plan: Plan) -> Plan {
    let mut links = joints.iter().flat_map(|joint| joint.links);
    let differ = links.any(|link| Paths::of(guests, cell, link).differ());
    Plan {
        stages: [1, if differ { 2 } else { 1 }],
        nat: plan.nat.map(|_| Gateway::Bridge),
        ..plan
    }
}

/// Sets up lines and paths.
fn build(run: &Run<'_>) -> io::Result<()> {
    let [up_paths, down_paths] = run
        .numbers
        .map(|link| Paths::of(run.guests, run.cell, link));
    let [before, behind] = &run.lab.stages;
    let mut lines = handed_through();
    let [up_line, down_line] = Side::BOTH.map(|side| {
        let (link, way) = (run.numbers[side as usize], &run.links[side as usize]);
        let path = Paths::of(run.guests, run.cell, link).alike();
        changes::line_of(run.guests, run.cell, link, side, &way.line, path)
    });
    lines.extend(down_line);
    lines.push(tc::wire(Lab::RIGHT, "root"));
    before[0].run(|| tc::run(&lines))?;
    let mut lines = handed_through();
    lines.extend(up_line);
    lines.push(tc::wire(Lab::LEFT, "root"));
    behind[0].run(|| tc::run(&lines))?;
    if let Some(place) = behind.get(1) {
        let mut lines = handed_through();
        lines.extend(told_apart(Lab::RIGHT, &up_paths));
        lines.extend(told_apart(Lab::LEFT, &down_paths));
        place.run(|| tc::run(&lines))?;
    }
    let lines = at_the_queues(run.cell, [&up_paths, &down_paths]);
    run.lab.bridge.run(|| tc::run(&lines))
}

/// Makes the queues; their numbers.
fn make_queues(run: &Run<'_>, whose: Whose, clock: Clock) -> io::Result<[Vec<u16>; 2]> {
    let mut lines = Vec::new();
    let devices = queue_devices(run.cell);
    let majors = Side::BOTH.map(|side| {
        let (device, link) = (devices[side as usize], &run.links[side as usize]);
        let has_ends = ends::are_of(run.guests, run.cell, run.numbers[side as usize]);
        let (queue, majors) = tc::queue(whose, device, &link.qdisc, &link.line.rate, has_ends);
        lines.extend(queue);
        majors
    });
    run.lab.bridge.run(|| tc::run(&lines))?;
    for (side, link) in Side::BOTH.into_iter().zip(&run.links) {
        if ends::are_of(run.guests, run.cell, run.numbers[side as usize]) {
            tell_both_ends(run, side, &link.line.rate, clock)?;
        }
    }
    Ok(majors)
}

/// Where the line behind a side's queue is, and its device there.
fn line_place(lab: &Lab, side: Side) -> (&Namespace, &'static str) {
    let [before, behind] = &lab.stages;
    match side {
        Side::Up => (&behind[0], Lab::RIGHT),
        Side::Down => (&before[0], Lab::LEFT),
    }
}

/// Has both ends of a link send in this way from now on. The farther one is told first: as
/// soon as the nearer one knows it may send. One that goes down is told first at the nearer end:
/// what that still sends has to arrive.
fn tell_both_ends(run: &Run<'_>, side: Side, rate: &LineRate, clock: Clock) -> io::Result<()> {
    let zero = clock.monotonic(Time::ZERO);
    let near = (&run.lab.bridge, queue_devices(run.cell)[side as usize]);
    let mut ends = [line_place(run.lab, side), near];
    if rate.is_stopped() {
        ends.reverse();
    }
    let mut tell =
        |(place, device): (&Namespace, &str)| place.run(|| ends::tell(device, rate, zero));
    ends.into_iter().try_for_each(&mut tell)
}

/// The devices with the queues of the two sides.
fn queue_devices(cell: &Cell) -> [&'static str; 2] {
    let down = if is_gateway(cell) {
        Lab::INWARD
    } else {
        Lab::LEFT
    };
    [Lab::RIGHT, down]
}

/// Whether the place of the queues is a router that translates.
fn is_gateway(cell: &Cell) -> bool {
    cell.network.nodes[0].nat
}

/// A socket at a place where frames of one direction arrive.
struct Ear {
    point: Point,
    side: Side,
    socket: PacketSocket,
}

/// A frame where it was heard.
struct Heard {
    at: Time,
    point: Point,
    side: Side,
    frame: Frame,
}

/// Who listens to the queues.
struct Watch<'a> {
    links: Links<'a>,
    ears: Vec<Ear>,
    pool: Pool,
    clock: Clock,
    /// By side.
    offered: [Offered; 2],
    /// What is known of both queues where a side's queue is a pair.
    pairs: [Option<Pair>; 2],
    /// Whether a side's queue may cut a train of segments.
    cuts: [bool; 2],
    counters: [Counters; 2],
    counted: [Counted; 2],
    counted_at: Time,
    frames: u64,
}

/// The thread that sets up the queues and listens to them.
pub(super) fn run(
    run: &Run<'_>,
    whose: Whose,
    clock: Clock,
    ready: &Sender<bool>,
) -> io::Result<Outcome> {
    let opened = build(run).and_then(|()| Watch::open(run, whose, clock));
    // The other end of the channel waits for exactly this.
    let _ = ready.send(opened.is_ok());
    let mut watch = opened?;
    if clock.is_virtual() {
        clock.wait_for_zero_but(EARLY);
    }
    let mut majors = make_queues(run, whose, clock)?;
    let mut steps = changes::steps(run.guests, whose, run.cell, run.numbers)
        .map_err(io::Error::other)?
        .into_iter();
    let mut step = steps.next();
    let mut edges = [run.cell.warmup, run.cell.duration - BEFORE_END]
        .map(|after| Time::ZERO + after)
        .into_iter()
        .peekable();
    loop {
        let over = run.shared.stop.load(Ordering::Relaxed);
        watch.listen()?;
        let at_edge = edges.next_if(|&edge| edge <= clock.now()).is_some();
        watch.count(over || at_edge)?;
        if over {
            break;
        }
        let now = clock.now();
        if let Some(due) = step.take_if(|step| step.at <= now) {
            watch.change(run, &due)?;
            majors[due.side as usize] = due.majors;
            step = steps.next();
        } else {
            let next = step.as_ref().map_or(Time::MAX, |step| step.at);
            let next = edges.peek().map_or(next, |&edge| next.min(edge));
            clock.sleep_until(next.min(now + LISTEN_EVERY));
        }
    }
    let lost = watch.ears.iter_mut().map(|ear| {
        let counters = ear.socket.counters();
        counters.missed + counters.no_buffer + counters.unreadable
    });
    count_losses(watch.frames, lost.sum())?;
    let devices = queue_devices(run.cell);
    let report = |side: Side| {
        let device = devices[side as usize];
        let majors = &majors[side as usize];
        run.lab.bridge.run(|| tc::report(whose, device, majors))
    };
    let reports = [report(Side::Up)?, report(Side::Down)?];
    let links = watch.links;
    Ok(Outcome {
        bottleneck_packets: links.sent[0].max(links.sent[1]),
        digest: links.digest,
        links: links.recorders.into_iter().zip(reports).collect(),
        frames: watch.frames,
        cpu_nanos: read_nanos(ClockId::ThreadCPUTime),
    })
}

impl<'a> Watch<'a> {
    fn open(run: &'a Run<'_>, whose: Whose, clock: Clock) -> io::Result<Self> {
        let lab = run.lab;
        let [before, behind] = &lab.stages;
        let mut pool = Pool::new(FRAMES);
        let mut ears = Vec::new();
        let last = &behind[behind.len() - 1];
        for (point, side, place, device) in [
            (Point::Left, Side::Up, &before[0], Lab::LEFT),
            (Point::Left, Side::Down, last, Lab::RIGHT),
            (Point::Offered, Side::Up, &lab.bridge, Lab::LEFT),
            (Point::Offered, Side::Down, &lab.bridge, Lab::RIGHT),
            (Point::Dequeued, Side::Up, &behind[0], Lab::LEFT),
            (Point::Dequeued, Side::Down, &before[0], Lab::RIGHT),
            (Point::Sent, Side::Up, &lab.server, &*lab.hosts[1]),
            (Point::Sent, Side::Down, &lab.client, &*lab.hosts[0]),
        ] {
            let socket = place.run(|| {
                let mut socket = PacketSocket::open(&mut pool, false)?;
                let interface = Interface::find(device).map_err(io::Error::other)?;
                socket.bind(&interface)?;
                Ok(socket)
            })?;
            ears.push(Ear {
                point,
                side,
                socket,
            });
        }
        let counters = |device: &str| {
            let open = || Counters::open(whose, Interface::index_of(device)?);
            lab.bridge.run(open)
        };
        let [up, down] = queue_devices(run.cell);
        let mut links = Links::new(run);
        for recorder in &mut links.recorders {
            // netem tells nobody what it copies.
            recorder.count_line(false);
            if !is_dumbbell(&run.cell.network) {
                // A mark may be another queue's.
                recorder.omit_dual_marks();
            }
        }
        Ok(Self {
            links,
            ears,
            pool,
            clock,
            offered: Default::default(),
            pairs: Side::BOTH.map(|side| Pair::of(&run.links[side as usize].qdisc)),
            cuts: Side::BOTH.map(|side| cuts(&run.links[side as usize].qdisc)),
            counters: [counters(up)?, counters(down)?],
            counted: [Counted::default(); 2],
            counted_at: Time::ZERO,
            frames: 0,
        })
    }

    /// Changes a link.
    fn change(&mut self, run: &Run<'_>, step: &Step) -> io::Result<()> {
        if step.afresh {
            // What waits goes with the queue, and its counters do.
            self.count(true)?;
            let gone = std::mem::take(&mut self.counted[step.side as usize]).backlog;
            for _ in 0..gone.packets {
                self.links.dropped(step.side, step.at, 0, DropReason::Tail);
            }
            self.pairs[step.side as usize] = Pair::of(&step.spec);
        }
        // What waits may have been cut by the queue before.
        self.cuts[step.side as usize] |= cuts(&step.spec);
        if !step.queue.is_empty() {
            run.lab.bridge.run(|| tc::run(&step.queue))?;
        }
        if !step.line.is_empty() {
            let (place, _) = line_place(run.lab, step.side);
            place.run(|| tc::run(&step.line))?;
        }
        if let Some(rate) = &step.told {
            tell_both_ends(run, step.side, rate, self.clock)?;
        }
        self.links.rate(step.side, step.at, &step.rate);
        Ok(())
    }

    /// Takes what was heard since the last time, in the order of its times. Between two points on
    /// the way of a frame no time need pass.
    fn listen(&mut self) -> io::Result<()> {
        let mut all = Vec::new();
        let mut frames = Vec::new();
        for ear in &mut self.ears {
            let mut more = true;
            while more {
                let ear = &mut *ear;
                let received = ear
                    .socket
                    .receive(&mut self.pool, &self.clock, &mut frames)?;
                more = received == BATCH;
                all.extend(frames.drain(..).map(|frame| Heard {
                    at: frame.arrived(),
                    point: ear.point,
                    side: ear.side,
                    frame,
                }));
            }
        }
        all.sort_by_key(|heard| (heard.at, heard.point as u8));
        for heard in all {
            self.heard(&heard);
            self.pool.give(heard.frame);
        }
        Ok(())
    }

    fn heard(&mut self, heard: &Heard) {
        let Heard {
            at,
            point,
            side,
            ref frame,
        } = *heard;
        self.links.frame(point, side, at, frame);
        let identity = identity(frame);
        let waiting = &mut self.offered[side as usize];
        let pair = &mut self.pairs[side as usize];
        match point {
            Point::Offered => {
                self.frames += 1;
                self.links.offered(side, at, frame.len());
                let parts = if self.cuts[side as usize] {
                    identities_in(frame)
                } else {
                    Vec::new()
                };
                for &part in &parts {
                    waiting.insert(part, at);
                }
                if let Some(identity) = identity {
                    waiting.insert(identity, at);
                    if let Some(pair) = pair {
                        let alone = [identity];
                        let packets = if parts.is_empty() { &alone } else { &parts[..] };
                        for &packet in packets {
                            pair.offered(packet, frame.parsed());
                        }
                    }
                }
            }
            Point::Dequeued => {
                let offered = identity.and_then(|identity| waiting.take(identity));
                let since = offered.unwrap_or(at);
                self.links.dequeued(side, at, frame.len(), at - since);
                if let (Some(identity), Some(pair)) = (identity, pair)
                    && let Some(dual) = pair.dequeued(identity, frame.ecn(), frame.len())
                {
                    self.links.dual(side, at, &dual, Some(at - since));
                }
            }
            Point::Left | Point::Sent => {}
        }
    }

    /// Reads the counters when it is time, or at once.
    fn count(&mut self, at_once: bool) -> io::Result<()> {
        let now = self.clock.now();
        if now < self.counted_at + COUNT_EVERY && !at_once {
            return Ok(());
        }
        let between = self.counted_at + (now - self.counted_at) / 2;
        self.counted_at = now;
        for side in Side::BOTH {
            let new = self.counters[side as usize].read()?;
            let last = std::mem::replace(&mut self.counted[side as usize], new);
            for _ in 0..new.dropped.wrapping_sub(last.dropped) {
                self.links.dropped(side, between, 0, DropReason::Tail);
            }
            for _ in 0..new.marked.wrapping_sub(last.marked) {
                self.links.marked(side, between, 0);
            }
            if let (Some(pair), Some(probability)) =
                (&mut self.pairs[side as usize], new.probability)
            {
                self.links
                    .dual_probability(side, now, &pair.with(probability));
            }
            self.links.backlog(side, now, new.backlog);
            self.offered[side as usize].forget(new.backlog.packets);
        }
        Ok(())
    }
}
