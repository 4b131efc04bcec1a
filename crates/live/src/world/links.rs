//! The bridge's part of a run: its configuration, and what is recorded of its queues.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use rustix::time::ClockId;
use sojourn_qdisc::{Backlog, DropReason, Dual, Ecn, Gauge as QueueGauge, Packet};
use sojourn_random::mix;
use sojourn_units::{Span, Time};
use sojourn_wire::{FlowKey, Parsed, Segment, can_be_cut, write_segment};
use sojourn_world::{
    Cell, Change, Fate, Flow, FlowRecorder, Label, LineRate, LinkRecorder, Paths, SppRecorder,
    Transport, Window, link_recorders,
};

use super::programs::Programs;
use super::run::{ETHERNET_HEADER, Outcome, Run, Way};
use crate::host::{Ends, locked};
use crate::lab::Lab;
use crate::taps::Capture;
use sojourn_bridge as bridge;
use sojourn_bridge::Ordered;
use sojourn_bridge::{
    Bridge, BridgeConfig, Direction, Frame, Labels, Observer, PathDelays, Point, Side,
};
use sojourn_bridge::{Clock, read_nanos};

/// One frame in so many may be lost at the bridge's sockets before a run counts as failed.
const TOLERATED: u64 = 1000;
/// The bridge's pause between two looks. Woken up for every frame it takes a processor whole from
/// 300 Mbit/s on, and the kernel then stops real-time threads for 50 ms of each second
/// (`sched_rt_runtime_us`): a link that was full in the simulator was used to 95 %.
const REST: Span = Span::from_micros(50);

/// The packets now held by the two queues, for the thread that waits for them to drain.
#[derive(Debug, Default)]
pub(super) struct Gauge([AtomicU64; 2]);

impl Gauge {
    /// In both queues together.
    pub(super) fn backlog(&self) -> u64 {
        self.0.iter().map(|held| held.load(Ordering::Relaxed)).sum()
    }
}

/// Records what happens at the two queues.
pub(super) struct Links<'a> {
    /// By side.
    pub(super) recorders: Vec<LinkRecorder>,
    gauge: &'a Gauge,
    /// Packets sent from the start of the run, each side.
    pub(super) sent: [u64; 2],
    flows: Flows<'a>,
    capture: Option<Capture>,
    pub(super) digest: u64,
}

/// What the frames at the bridge's two ports tell of the flows. Between a port and the host beyond
/// it is a veth pair, so the ports stand for the two ends of the path.
struct Flows<'a> {
    /// The link of each side.
    links: [Option<usize>; 2],
    /// By flow: the first and the last link of its way, and of the way back.
    ways_ends: Vec<[Option<[usize; 2]>; 2]>,
    /// A flow's index, and whether it is the direction from its `from`, by source and destination
    /// port; and whether the connection is the flow's first, whose packets are matched.
    ways: BTreeMap<(u16, u16), (usize, bool, bool)>,
    /// None when nobody asked.
    pairs: Option<&'a Mutex<Pairs>>,
    /// Who else sends; none without programs.
    programs: Option<&'a Mutex<Programs>>,
    /// By flow: the other direction of a call.
    other_ways: Vec<Option<usize>>,
    recorders: &'a [Mutex<FlowRecorder>],
}

impl<'a> Flows<'a> {
    fn new(run: &'a Run<'_>) -> Self {
        let cell = run.cell;
        let ends = |from, to| {
            let way = cell.network.path(from, to)?;
            Some([*way.first()?, *way.last()?])
        };
        let ways_ends = |flow: &Flow| [ends(flow.from, flow.to), ends(flow.to, flow.from)];
        let mut ways = BTreeMap::new();
        for ends in Ends::of(cell, &cell.instances()) {
            let (from, to) = (ends.from.port(), ends.to.port());
            let first = ends.connection == 0;
            ways.insert((from, to), (ends.flow, true, first));
            ways.insert((to, from), (ends.flow, false, first));
        }
        Self {
            links: run.numbers,
            ways_ends: cell.flows.iter().map(ways_ends).collect(),
            ways,
            pairs: run.pairs,
            programs: run.programs,
            other_ways: cell.other_ways(),
            recorders: &run.shared.recorders,
        }
    }

    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        if !matches!(point, Point::Left | Point::Sent) {
            return;
        }
        let parsed = frame.parsed();
        let ports = (parsed.flow.src_port, parsed.flow.dst_port);
        let Some(&(flow, forth, first)) = self.ways.get(&ports) else {
            if let Some(programs) = self.programs {
                locked(programs).seen(now, side, point == Point::Left, frame);
            }
            return;
        };
        let Some([first_link, last_link]) = self.ways_ends[flow][usize::from(!forth)] else {
            return;
        };
        let left = point == Point::Left;
        let end = if left { first_link } else { last_link };
        if self.links[side as usize] != Some(end) {
            return;
        }
        if !left && forth {
            let segments = frame.segments().map_or(1, |(count, _)| count);
            let headers = segments * u32::from(ETHERNET_HEADER);
            let mut recorder = locked(&self.recorders[flow]);
            recorder.received(now, frame.len().saturating_sub(headers));
            if frame.ecn().is_capable() {
                for _ in 0..segments {
                    recorder.received_ecn(now, frame.ecn() == Ecn::Ce);
                }
            }
        }
        let Some(pairs) = self.pairs.filter(|_| first) else {
            return;
        };
        let Some(identity) = identity(frame) else {
            return;
        };
        // What one direction of a call sends forth comes back for the other.
        let other = self.other_ways[flow].map(|other| (other, !forth));
        for (flow, forth) in [Some((flow, forth)), other].into_iter().flatten() {
            let seen = Seen {
                flow,
                forth,
                left,
                identity,
            };
            locked(pairs).seen(now, seen);
        }
    }
}

/// What tells a packet from all others of the run, also behind a translation of its addresses: no
/// two connections have the same ports.
pub(super) fn identity(frame: &Frame) -> Option<u64> {
    let mut front = FRONT;
    let len = frame.copy_front(&mut front);
    identity_of(&front[..len], frame.parsed())
}

/// All headers, and as much behind them as is compared.
const FRONT: [u8; 512] = [0; 512];

fn identity_of(front: &[u8], parsed: &Parsed) -> Option<u64> {
    let nowhere = FlowKey::default();
    let flow = FlowKey {
        src: nowhere.src,
        dst: nowhere.dst,
        ..parsed.flow
    };
    sojourn_wire::identity(front, &Parsed { flow, ..*parsed })
}

/// The same of each segment that a train will be cut into; of nothing else.
pub(super) fn identities_in(train: &Frame) -> Vec<u64> {
    let parsed = train.parsed();
    let Some((count, each)) = train.segments() else {
        return Vec::new();
    };
    let mut front = FRONT;
    let len = train.copy_front(&mut front);
    if !can_be_cut(&front[..len], parsed) {
        return Vec::new();
    }
    let headers = u32::from(parsed.header_len);
    let payload = each - headers;
    let identity = |index| {
        let is_last = index + 1 == count;
        let rest = train.len() - index * each - headers;
        let segment = Segment {
            index: index as u16,
            offset: index * payload,
            len: if is_last { rest } else { payload } as u16,
            is_last,
        };
        let mut front = front;
        write_segment(&mut front[..len], parsed, segment);
        identity_of(&front[..len], parsed)
    };
    (0..count).filter_map(identity).collect()
}

/// A packet at an end of its way.
struct Seen {
    flow: usize,
    forth: bool,
    /// Whether it is the beginning.
    left: bool,
    identity: u64,
}

/// The packet pairs of a run, of which the bridges at both ends of a flow's way tell.
pub(super) struct Pairs {
    /// By flow.
    recorders: Vec<SppRecorder>,
    ordered: Ordered<Seen>,
}

impl Pairs {
    /// Those that were asked for, with so many bridges.
    pub(super) fn of(recorders: &[Mutex<FlowRecorder>], bridges: usize) -> Option<Self> {
        let recorders: Vec<_> = (recorders.iter())
            .filter_map(|recorder| locked(recorder).take_spp())
            .collect();
        (!recorders.is_empty()).then(|| Self {
            recorders,
            ordered: Ordered::of(bridges),
        })
    }

    fn seen(&mut self, now: Time, seen: Seen) {
        self.ordered.put(now, seen);
        while let Some((at, seen)) = self.ordered.take() {
            self.count(at, &seen);
        }
    }

    fn count(&mut self, at: Time, seen: &Seen) {
        let recorder = &mut self.recorders[seen.flow];
        if seen.left {
            recorder.left(at, seen.forth, seen.identity);
        } else {
            recorder.reached(at, seen.forth, seen.identity);
        }
    }

    /// Gives the packet pairs to their flows' recorders.
    pub(super) fn keep(mut self, recorders: &[Mutex<FlowRecorder>]) {
        while let Some((at, seen)) = self.ordered.rest() {
            self.count(at, &seen);
        }
        for (recorder, pairs) in recorders.iter().zip(self.recorders) {
            locked(recorder).set_spp(pairs);
        }
    }
}

impl<'a> Links<'a> {
    pub(super) fn new(run: &'a Run<'_>) -> Self {
        let cell = run.cell;
        let mut recorders: BTreeMap<_, _> = link_recorders(cell).into_iter().enumerate().collect();
        // What no link has is recorded too, and nobody asks for it.
        let spare = LinkRecorder::new(Window::of(cell), None);
        let mut recorder = |link: Option<usize>| match link {
            Some(link) => recorders.remove(&link).expect("each link has one"),
            None => spare.clone(),
        };
        Self {
            recorders: run.numbers.map(&mut recorder).into(),
            gauge: &run.gauge,
            sent: [0; 2],
            flows: Flows::new(run),
            capture: locked(&run.capture).take(),
            digest: 0,
        }
    }
}

impl Observer for Links<'_> {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        if let Some(capture) = &mut self.capture {
            capture.frame(point, side, now, frame);
        }
        self.flows.frame(point, side, now, frame);
        let what = (point as u64) << 34 | (side as u64) << 32 | u64::from(frame.len());
        self.digest = mix(mix(self.digest ^ now.as_nanos()) ^ what);
    }

    fn offered(&mut self, side: Side, now: Time, len: u32) {
        self.recorders[side as usize].offered(now, len);
    }

    fn cut(&mut self, side: Side, now: Time) {
        self.recorders[side as usize].offered(now, 0);
    }

    fn dropped(&mut self, side: Side, now: Time, _len: u32, _reason: DropReason) {
        self.recorders[side as usize].dropped(now);
    }

    fn marked(&mut self, side: Side, now: Time, _len: u32) {
        self.recorders[side as usize].marked(now);
    }

    fn dequeued(&mut self, side: Side, now: Time, len: u32, sojourn: Span) {
        self.sent[side as usize] += 1;
        self.recorders[side as usize].dequeued(now, len, sojourn);
    }

    fn launched(&mut self, side: Side, now: Time, fate: &Fate) {
        self.recorders[side as usize].launched(now, fate);
    }

    fn wants_gauges(&mut self, side: Side, now: Time) -> bool {
        self.recorders[side as usize].wants_gauges(now)
    }

    fn gauge(&mut self, side: Side, now: Time, gauge: QueueGauge) {
        self.recorders[side as usize].gauge(now, gauge);
    }

    fn dual(&mut self, side: Side, now: Time, dual: &Dual, left: Option<Span>) {
        self.recorders[side as usize].dual(now, dual, left);
    }

    fn dual_probability(&mut self, side: Side, now: Time, dual: &Dual) {
        self.recorders[side as usize].dual_probability(now, dual);
    }

    fn rate(&mut self, side: Side, now: Time, rate: &LineRate) {
        self.recorders[side as usize].rate(now, rate);
    }

    fn backlog(&mut self, side: Side, now: Time, backlog: Backlog) {
        self.gauge.0[side as usize].store(backlog.packets, Ordering::Relaxed);
        self.recorders[side as usize].backlog(now, backlog);
    }
}

/// One direction of a connection on its way over a link.
pub(super) struct Crossing {
    /// Where its packets come from.
    pub(super) port: u16,
    pub(super) transport: Transport,
    pub(super) label: Label,
    /// Its delay there beyond that of the links on its way: half of all where it enters its first
    /// link, and the other half where what comes back enters its first one.
    pub(super) delay: Span,
}

/// What crosses a link.
pub(super) fn crossings(cell: &Cell, link: Option<usize>) -> Vec<Crossing> {
    let Some(link) = link else {
        return Vec::new();
    };
    let paths = Paths::of(&cell.network);
    let instances = cell.instances();
    let mut all = Vec::new();
    for ends in Ends::of(cell, &instances) {
        let flow = &instances[ends.instance].spec;
        let links = paths.rtt(flow.from, flow.to).unwrap_or_default();
        let forth = (flow.from, flow.to, ends.from.port());
        let back = (flow.to, flow.from, ends.to.port());
        for (from, to, port) in [forth, back] {
            let way = paths.path(from, to).unwrap_or_default();
            if !way.contains(&link) {
                continue;
            }
            let delay = if way.first() == Some(&link) {
                (flow.base_rtt - links) / 2
            } else {
                Span::ZERO
            };
            all.push(Crossing {
                port,
                transport: flow.transport,
                label: flow.label,
                delay,
            });
        }
    }
    all
}

/// The delays of what crosses a link. What belongs to no flow has the shortest of them: then the
/// bridge, which looks at its interfaces no sooner than something can be due, need not look for
/// such. Where others send too, theirs is none.
fn paths(run: &Run<'_>, link: Option<usize>) -> PathDelays {
    let crossings = crossings(run.cell, link);
    let others = run.guests.has_programs();
    let shortest = crossings.iter().map(|crossing| crossing.delay).min();
    let mut paths = PathDelays::new(shortest.filter(|_| !others).unwrap_or_default());
    for Crossing {
        port,
        transport,
        delay,
        ..
    } in crossings
    {
        paths = match transport {
            Transport::Tcp(_) => paths.tcp(port, delay),
            Transport::Udp => paths.udp(port, delay),
        };
    }
    paths
}

/// Marks and classes of the flows that have one, by their ports.
fn labels(cell: &Cell) -> Labels {
    let mut labels = Labels::default();
    let instances = cell.instances();
    for ends in Ends::of(cell, &instances) {
        let flow = &instances[ends.instance].spec;
        if flow.label == Label::default() {
            continue;
        }
        for port in [ends.from.port(), ends.to.port()] {
            labels = match flow.transport {
                Transport::Tcp(_) => labels.tcp(port, flow.label),
                Transport::Udp => labels.udp(port, flow.label),
            };
        }
    }
    labels
}

/// Losses that no queue has decided on make every figure of a run doubtful.
pub(super) fn count_losses(frames: u64, lost: u64) -> io::Result<()> {
    if lost <= frames / TOLERATED {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the bridge could not keep up: {lost} of {} frames were lost before the queues saw \
         them; use lower rates, or fewer runs at once",
        frames + lost
    )))
}

/// The thread of the bridge.
pub(super) fn run(run: &Run<'_>, clock: Clock, ready: &Sender<bool>) -> io::Result<Outcome> {
    let mut links = Links::new(run);
    let opened = run
        .lab
        .bridge
        .enter()
        .and_then(|()| Bridge::open(config(run, clock)).map_err(io::Error::other));
    // The other end of the channel waits for exactly this.
    let _ = ready.send(opened.is_ok());
    let mut bridge = opened?;
    bridge
        .run(&run.shared.stop, &mut links)
        .map_err(io::Error::other)?;
    let reports = Side::BOTH.map(|side| bridge.report(side));
    let inputs = Side::BOTH.map(|side| bridge.stats(side).input);
    let frames: u64 = inputs.iter().map(|input| input.received).sum();
    let lost: u64 = inputs
        .iter()
        .map(|i| i.missed + i.no_buffer + i.unreadable)
        .sum();
    count_losses(frames, lost)?;
    Ok(Outcome {
        bottleneck_packets: links.sent[0].max(links.sent[1]),
        links: links.recorders.into_iter().zip(reports).collect(),
        frames,
        digest: links.digest,
        cpu_nanos: read_nanos(ClockId::ThreadCPUTime),
    })
}

fn config(run: &Run<'_>, clock: Clock) -> BridgeConfig {
    let labels = labels(run.cell);
    let direction = |side: usize| {
        let Way { name, qdisc, line } = run.links[side].clone();
        Direction {
            name,
            qdisc,
            // The queue has what a host hands it, and cuts that itself if it does.
            split_gso: run.cell.hosts.has_trains().then_some(false),
            line,
            paths: paths(run, run.numbers[side]),
            autorate: None,
            labels: labels.clone(),
            circuits: None,
        }
    };
    let [up, down] = [0, 1].map(direction);
    let change = |change: &Change| {
        let mut numbers = run.numbers.iter();
        let side = numbers.position(|&link| link == Some(change.link))?;
        Some(bridge::Change {
            at: change.at,
            side: Side::BOTH[side],
            line: change.line.clone(),
            qdisc: change.qdisc.clone(),
        })
    };
    BridgeConfig {
        up,
        down,
        changes: run.cell.changes.iter().filter_map(change).collect(),
        seed: run.cell.seed,
        gateway: run.cell.network.nodes[0]
            .nat
            .then(|| run.lab.client.clone()),
        clock,
        rest: REST,
        ..BridgeConfig::new(Lab::LEFT, Lab::RIGHT)
    }
}
