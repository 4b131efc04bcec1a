//! One direction: queue, transmitter, delay stage. No I/O and no clock.

use super::by_port::{Labels, PathDelays};
use super::circuits::Circuits;
use super::config::{BridgeConfig, Direction};
use super::delay::DelayStage;
use super::delays::Delays;
use super::dual::DualStats;
use super::flows::FlowTable;
use super::frame::{Frame, Pool};
use super::gather::Gather;
use super::observer::{Observer, Point};
use super::plan::{Built, LINK_HEADER, Plan};
use super::side::Side;
use super::splitting::Splitting;
use crate::nat::Conntrack;
use sojourn_line::{Impairment, Line, LineChange, LineRate, Reorder, Transmitter};
use sojourn_qdisc::{
    ClassCounts, Dequeue, DropReason, Outlet, Packet, Qdisc, Reconfigured, SharedRate, Spec, Tally,
};
use sojourn_units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest standstill of this process that is made up for. A queue that could not be served for
/// longer (we were stopped, the machine slept) has lost that time, as a link that was down.
const LONGEST_LAG: Span = Span::from_millis(100);

/// Memory that frames hold which wait behind the queue for an interface that takes no more, apart
/// from those that were on their way and those that passed the queue at the look at which that was
/// seen. The rest waits in the queue, which knows what to do with it.
const READY: usize = 1 << 20;

/// Frames of one direction.
pub(crate) struct Lane {
    side: Side,
    line: Line,
    seed: u64,
    pub(crate) plan: Plan,
    qdisc: Box<dyn Qdisc<Frame>>,
    /// What packets have waited in the C and the L queue, where the queue is a pair.
    dual_delays: Option<Box<[Delays; 2]>>,
    transmitter: Transmitter,
    splitting: Splitting,
    /// When the frame being sent has been sent.
    free_at: Time,
    /// The queue has frames but gives none before this time.
    held_until: Time,
    /// The queue's clock: time of the last enqueue or dequeue.
    queue_time: Time,
    stage: DelayStage,
    paths: PathDelays,
    labels: Labels,
    circuits: Option<Arc<Circuits>>,
    /// Asked only when the queue's spec does.
    nat: Option<Conntrack>,
    shortest_delay: Span,
    /// None for the usual line that only delays.
    impairment: Option<Impairment>,
    /// Frames to be sent now.
    pub(crate) ready: VecDeque<Frame>,
    gather: Gather,
    /// Memory of what the queue has given since the interface last took all that was ready.
    given: usize,
    /// The interface has not taken all that was ready.
    is_blocked: bool,
    lost: Tally,
    duplicated: Tally,
    /// What packets have waited in the queue.
    pub(crate) delays: Delays,
    /// Frames in its queue that are in a hurry.
    hurried: usize,
    /// What its flows have done, while somebody wants to know.
    flows: Option<FlowTable>,
    /// Frames dropped before or behind the queue because they were too old.
    pub(crate) stale: u64,
}

/// Hands a queue's drops back to the pool and tells the observer.
struct Drain<'a, O> {
    side: Side,
    now: Time,
    pool: &'a mut Pool,
    observer: &'a mut O,
    flows: Option<&'a mut FlowTable>,
    hurried: &'a mut usize,
}

impl<O: Observer> Outlet<Frame> for Drain<'_, O> {
    fn dropped(&mut self, frame: Frame, reason: DropReason) {
        if let Some(flows) = &mut self.flows {
            flows.dropped(self.now, &frame);
        }
        *self.hurried -= usize::from(frame.hurries());
        self.observer
            .dropped(self.side, self.now, frame.len(), reason);
        self.pool.give(frame);
    }

    fn marked(&mut self, frame: &Frame) {
        if let Some(flows) = &mut self.flows {
            flows.marked(self.now, frame);
        }
        self.observer.marked(self.side, self.now, frame.len());
    }

    fn cut(&mut self, whole: &mut Frame) -> Option<Frame> {
        let segment = self.pool.cut(whole)?;
        self.observer.cut(self.side, self.now);
        Some(segment)
    }
}

/// Where delays of a pair's queues are counted; None of any other queue.
fn dual_delays(qdisc: &dyn Qdisc<Frame>) -> Option<Box<[Delays; 2]>> {
    qdisc.dual().map(|_| Box::default())
}

impl Lane {
    /// The lane of a bridge with one worker at an interface of `mtu` bytes of IP packet.
    #[cfg(test)]
    pub(crate) fn new(side: Side, config: &BridgeConfig, mtu: u32) -> Self {
        Self::of_worker(side, config, mtu, None)
    }

    /// A lane at an interface of `mtu` bytes of IP packet; of several workers, which one it is and
    /// what they share.
    pub(crate) fn of_worker(
        side: Side,
        config: &BridgeConfig,
        mtu: u32,
        worker: Option<(Arc<SharedRate>, u32)>,
    ) -> Self {
        let direction = match side {
            Side::Up => &config.up,
            Side::Down => &config.down,
        };
        let line = &direction.line;
        let shortest = direction.paths.classes().iter().min().copied();
        let plan = Plan::new(config, direction, mtu, worker);
        let impairment = Impairment::of(line, config.seed, &plan.impairment());
        let Built { qdisc, nat } = plan.build(&direction.qdisc, None);
        Self {
            side,
            plan,
            dual_delays: dual_delays(&*qdisc),
            qdisc,
            nat,
            impairment,
            transmitter: Transmitter::new(&line.rate, LINK_HEADER),
            splitting: Splitting::new(direction.split_gso, &direction.qdisc, &line.rate),
            free_at: Time::ZERO,
            held_until: Time::ZERO,
            queue_time: Time::ZERO,
            stage: DelayStage::new(
                direction.paths.classes().len(),
                line.reorder != Reorder::Never,
            ),
            shortest_delay: line.delay + shortest.unwrap_or(Span::ZERO),
            paths: direction.paths.clone(),
            labels: direction.labels.clone(),
            circuits: direction.circuits.clone(),
            ready: VecDeque::new(),
            gather: Gather::default(),
            given: 0,
            is_blocked: false,
            lost: Tally::default(),
            duplicated: Tally::default(),
            delays: Delays::default(),
            hurried: 0,
            flows: None,
            stale: 0,
            line: line.clone(),
            seed: config.seed,
        }
    }

    /// A frame arrives. Frames come in order of their time of arrival; a stamp from before the
    /// queue's clock counts as now.
    pub(crate) fn arrive<O: Observer>(
        &mut self,
        mut frame: Frame,
        now: Time,
        pool: &mut Pool,
        observer: &mut O,
    ) {
        let arrived = frame.arrived().max(now - LONGEST_LAG);
        // What left before this frame came must be out of the backlog that it meets.
        self.transmit(arrived, pool, observer);
        self.queue_time = self.queue_time.max(arrived);
        let (side, at) = (self.side, self.queue_time);
        if let Some(nat) = &mut self.nat {
            // Behind a translation all hosts have one address; `nat` asks for their own.
            frame.set_inside(nat.inside(&frame.parsed().flow));
        }
        if let Some(label) = self.labels.of(frame.parsed()) {
            frame.set_label(label);
        }
        if let Some(circuits) = &self.circuits {
            frame.set_circuit(circuits.of(&frame.parsed().flow, self.side));
        }
        frame.note_hurry();
        self.hurried += usize::from(frame.hurries());
        observer.frame(Point::Left, side, at, &frame);
        observer.frame(Point::Offered, side, at, &frame);
        observer.offered(side, at, frame.len());
        let mut drain = Drain {
            side,
            now: at,
            pool,
            observer,
            flows: self.flows.as_mut(),
            hurried: &mut self.hurried,
        };
        if self.splitting.is_on() && frame.segments().is_some() {
            // The last segment stays in `frame`.
            while let Some(segment) = drain.cut(&mut frame) {
                self.qdisc.enqueue(segment, at, &mut drain);
            }
        }
        self.qdisc.enqueue(frame, at, &mut drain);
        if self.circuits.is_some() {
            // Another circuit's packet need not wait for what holds those that are there.
            self.held_until = Time::ZERO;
        }
        observer.backlog(side, at, self.qdisc.backlog());
        self.tell_dual(at, None, observer);
    }

    /// Counts and tells what both queues of a pair have done; `left`: a packet has left it after so
    /// long.
    #[inline]
    fn tell_dual<O: Observer>(&mut self, now: Time, left: Option<Span>, observer: &mut O) {
        let Some(delays) = &mut self.dual_delays else {
            return;
        };
        if let Some(dual) = self.qdisc.dual() {
            if let Some(sojourn) = left {
                delays[usize::from(dual.served_low)].add(sojourn);
            }
            observer.dual(self.side, now, &dual, left);
        }
    }

    /// Takes frames from the queue as the transmitter becomes free, up to and including `until`; as
    /// long as the interface takes no more, those that [may wait for it](READY).
    pub(crate) fn transmit<O: Observer>(&mut self, until: Time, pool: &mut Pool, observer: &mut O) {
        let most = if self.is_blocked { READY } else { usize::MAX };
        self.give(until, most, pool, observer);
    }

    /// The same in pieces, each to be offered to the interface before the next: what has waited for
    /// it does not leave the queue all at once.
    pub(crate) fn serve<O: Observer>(&mut self, until: Time, pool: &mut Pool, observer: &mut O) {
        self.give(until, READY, pool, observer);
    }

    /// Takes frames from the queue until it has given memory of `most` since the interface last
    /// took all that was ready.
    fn give<O: Observer>(&mut self, until: Time, most: usize, pool: &mut Pool, observer: &mut O) {
        while self.qdisc.backlog().packets > 0 && self.given < most {
            // After a standstill the link does not send at once what it missed meanwhile.
            self.free_at = self.free_at.max(until - LONGEST_LAG);
            let at = self.next_start();
            if at > until {
                return;
            }
            self.queue_time = at;
            let side = self.side;
            let mut drain = Drain {
                side,
                now: at,
                pool,
                observer,
                flows: self.flows.as_mut(),
                hurried: &mut self.hurried,
            };
            match self.qdisc.dequeue(at, &mut drain) {
                Dequeue::Packet { packet, sojourn } => {
                    self.hurried -= usize::from(packet.hurries());
                    self.delays.add(sojourn);
                    if let Some(flows) = &mut self.flows {
                        flows.sent(at, &packet, sojourn, || self.qdisc.tin());
                    }
                    observer.frame(Point::Dequeued, side, at, &packet);
                    observer.dequeued(side, at, packet.len(), sojourn);
                    self.tell_dual(at, Some(sojourn), observer);
                    if observer.wants_gauges(side, at) {
                        let tell = &mut |gauge| observer.gauge(side, at, gauge);
                        self.qdisc.gauges(at, tell);
                        if let Some(dual) = self.qdisc.dual() {
                            observer.dual_probability(side, at, &dual);
                        }
                    }
                    observer.backlog(side, at, self.qdisc.backlog());
                    self.free_at = self.transmitter.finish(at, packet.len());
                    self.given += packet.held();
                    self.launch(packet, at, pool, observer);
                }
                // A time that has come would turn this loop for ever.
                Dequeue::NotBefore(time) => {
                    self.held_until = time.max(at + Span::from_nanos(1));
                }
                Dequeue::Empty => {
                    observer.backlog(side, at, self.qdisc.backlog());
                    self.tell_dual(at, None, observer);
                    return;
                }
            }
        }
    }

    /// Says that what was ready was offered to the interface. Tells whether the queue may have more
    /// to give that was held back until then.
    pub(crate) fn offered(&mut self) -> bool {
        let was_full = self.given >= READY;
        self.is_blocked = !self.ready.is_empty();
        if !self.is_blocked {
            self.given = 0;
        }
        was_full && !self.is_blocked
    }

    /// When the next frame may start, if the queue has one.
    fn next_start(&mut self) -> Time {
        let ready = self.free_at.max(self.held_until).max(self.queue_time);
        self.transmitter.start(ready)
    }

    /// A frame leaves the transmitter at `free_at`.
    fn launch<O: Observer>(&mut self, frame: Frame, now: Time, pool: &mut Pool, observer: &mut O) {
        let class = self.paths.class_of(frame.parsed());
        let due = self.free_at + self.line.delay + self.paths.classes()[class];
        let Some(impairment) = &mut self.impairment else {
            return self.stage.hold(frame, due, class);
        };
        let fate = impairment.fate(due, self.stage.last_due(class));
        observer.launched(self.side, now, &fate);
        for _ in 0..fate.lost() {
            self.lost.add(frame.len());
        }
        if fate.is_copied {
            self.duplicated.add(frame.len());
        }
        let [first, second] = fate.arrivals;
        match (first, second) {
            (Some(first), Some(second)) => {
                // Without memory the copy is left out; the frame itself goes on.
                if let Some(copy) = frame.copied(pool) {
                    self.stage.hold(copy, first, class);
                }
                self.stage.hold(frame, second, class);
            }
            (Some(due), None) | (None, Some(due)) => self.stage.hold(frame, due, class),
            (None, None) => pool.give(frame),
        }
    }

    /// Moves what is due by `until` to `ready`, to be sent `now`. Segments of a super-packet are
    /// [joined](Gather); nothing waits for that. So are full segments that came alone, if the port
    /// `joins` and they were shaped.
    pub(crate) fn release<O: Observer>(
        &mut self,
        until: Time,
        now: Time,
        joins: bool,
        pool: &mut Pool,
        observer: &mut O,
    ) {
        let may_overtake = self.line.reorder != Reorder::Never;
        let with_alone = joins && self.is_shaped();
        self.gather
            .begin(self.ready.len(), may_overtake, with_alone);
        while let Some((due, frame)) = self.stage.release(until) {
            observer.frame(Point::Sent, self.side, now, &frame);
            if let Some(joined) = self.gather.add(frame, due, &mut self.ready, pool) {
                pool.give(joined);
            }
        }
    }

    /// Whether the link or the queue limits the rate.
    fn is_shaped(&self) -> bool {
        let is_link = !matches!(self.transmitter, Transmitter::Infinite);
        is_link || self.circuits.is_some() || self.held_until > Time::ZERO
    }

    /// When something will have to leave; [`Time::MAX`] when nothing is held.
    ///
    /// A frame that starts later than now cannot be due before the shortest delay has passed, so
    /// the queue need not be served on time: it runs in the link's time, not in ours.
    pub(crate) fn next_due(&mut self) -> Time {
        let due = self.stage.next_due().unwrap_or(Time::MAX);
        // An interface without room decides when the next leaves; the loop waits for that.
        let is_held_back = self.is_blocked && self.given >= READY;
        if self.qdisc.backlog().packets == 0 || is_held_back {
            return due;
        }
        due.min(self.next_start() + self.shortest_delay)
    }

    /// The earliest time at which a frame that arrives from now on may leave, while there are
    /// others before it, for which there will be a look: until then none need be looked for.
    pub(crate) fn closed_until(&mut self) -> Option<Time> {
        if self.qdisc.backlog().packets == 0 || self.is_blocked {
            return None;
        }
        // Of a tree of rates what holds one circuit does not hold others.
        let start = match self.circuits {
            Some(_) => self.free_at,
            None => self.next_start(),
        };
        Some(start + self.shortest_delay)
    }

    /// The queue's clock: time of the last enqueue or dequeue.
    pub(crate) fn queue_time(&self) -> Time {
        self.queue_time
    }

    /// Whether a frame is held that is in a hurry: then all leave at their own times.
    pub(crate) fn hurries(&self) -> bool {
        self.hurried > 0 || self.stage.hurries()
    }

    /// Whether frames of some that arrive do not wait for those of others.
    pub(crate) fn has_circuits(&self) -> bool {
        self.circuits.is_some()
    }

    /// The delay of the frames that have the least.
    pub(crate) fn shortest_delay(&self) -> Span {
        self.shortest_delay
    }

    /// Puts everything held into `ready`, in order, whatever the rate: the end of the bridge.
    pub(crate) fn flush<O: Observer>(&mut self, now: Time, pool: &mut Pool, observer: &mut O) {
        self.transmitter = Transmitter::Infinite;
        self.free_at = now;
        let mut at = now.max(self.queue_time);
        while self.qdisc.backlog().packets > 0 {
            self.give(at, usize::MAX, pool, observer);
            // A shaper names the time; to the queue that time has come.
            at = at.max(self.held_until);
        }
        self.release(Time::MAX, now, false, pool, observer);
    }

    /// Drops everything held: it has become too old.
    pub(crate) fn expire<O: Observer>(&mut self, now: Time, pool: &mut Pool, observer: &mut O) {
        if let Some(spec) = self.qdisc.spec() {
            let mut drain = Drain {
                side: self.side,
                now: self.queue_time,
                pool: &mut *pool,
                observer: &mut *observer,
                flows: self.flows.as_mut(),
                hurried: &mut self.hurried,
            };
            Spec::restart(&mut self.qdisc, self.plan.queue(&spec, None), &mut drain);
            observer.backlog(self.side, self.queue_time, self.qdisc.backlog());
        }
        while let Some((_, frame)) = self.stage.release(Time::MAX) {
            self.ready.push_back(frame);
        }
        self.stale += self.ready.len() as u64;
        for frame in self.ready.drain(..) {
            pool.give(frame);
        }
        (self.given, self.is_blocked) = (0, false);
        // What was being sent, and held the link, is gone.
        self.free_at = self.free_at.min(now);
        self.held_until = Time::ZERO;
    }

    /// Does as `new` says from now on, where that is not what `old` said, with the queue that was
    /// built for it. No frame is lost.
    pub(crate) fn follow(
        &mut self,
        [old, new]: [&Direction; 2],
        built: Option<&mut Built>,
        now: Time,
    ) {
        self.circuits.clone_from(&new.circuits);
        // One that has followed its link is not at the line's rate.
        if old.line != new.line || old.autorate != new.autorate {
            self.set_line(new.line.clone(), now);
        }
        if let Some(built) = built {
            self.set_spec(&new.qdisc, built, now);
        }
        self.splitting = Splitting::new(new.split_gso, &new.qdisc, &self.line.rate);
    }

    /// Changes the line from now on.
    pub(crate) fn change_line(&mut self, change: &LineChange, now: Time) {
        let mut line = self.line.clone();
        change.apply(&mut line);
        self.set_line(line, now);
    }

    /// Its line is this one from now on. A frame that is being sent is sent as it began, and those
    /// under way leave as they would have.
    fn set_line(&mut self, line: Line, now: Time) {
        if self.line.rate != line.rate {
            self.set_rate(line.rate.clone(), now);
        }
        let shortest = self.paths.classes().iter().min().copied();
        self.shortest_delay = line.delay + shortest.unwrap_or(Span::ZERO);
        self.stage.set_reorder(line.reorder != Reorder::Never);
        if let Some(impairment) = &mut self.impairment {
            impairment.follow(&line);
        } else {
            self.impairment = Impairment::of(&line, self.seed, &self.plan.impairment());
        }
        self.line = line;
    }

    /// Sends at this rate from now on. A frame that is being sent is sent as it began.
    pub(crate) fn set_rate(&mut self, rate: LineRate, now: Time) {
        // What has waited for a link that was down leaves from now on, not since it was free.
        if matches!(self.transmitter, Transmitter::Stopped) {
            self.free_at = self.free_at.max(now);
        }
        self.transmitter = Transmitter::new(&rate, LINK_HEADER);
        self.splitting.set_rate(&rate);
        self.line.rate = rate;
    }

    /// The link's, if it is constant.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.line.rate.fixed()
    }

    /// Makes the queue follow another spec from now on, whatever it was. No frame is lost. `built`
    /// was made of that spec, and has what is not needed any more afterwards.
    pub(crate) fn set_spec(&mut self, spec: &Spec, built: &mut Built, now: Time) {
        self.queue_time = self.queue_time.max(now);
        let fresh = &mut built.qdisc;
        let result = spec.reconfigure_with(&mut self.qdisc, self.queue_time, || fresh);
        if result == Reconfigured::Replaced {
            std::mem::swap(&mut self.qdisc, &mut built.qdisc);
        }
        if spec.asks_nat() != self.nat.is_some() {
            std::mem::swap(&mut self.nat, &mut built.nat);
        }
        self.splitting.follow(spec, &self.line.rate);
        self.dual_delays = self
            .dual_delays
            .take()
            .filter(|_| self.qdisc.dual().is_some())
            .or_else(|| dual_delays(&*self.qdisc));
        // What the old one said of its next packet does not bind the new one.
        self.held_until = Time::ZERO;
    }

    /// Counts what its flows do in this table from now on, and gives up the one before.
    pub(crate) fn count(&mut self, flows: FlowTable) -> Option<FlowTable> {
        self.flows.replace(flows)
    }

    /// Both queues apart, where its queue is a pair.
    pub(crate) fn dual(&self) -> Option<DualStats> {
        let delays = self.dual_delays.as_deref()?.clone();
        let dual = self.qdisc.dual()?;
        Some(DualStats { dual, delays })
    }

    pub(crate) fn qdisc(&self) -> &dyn Qdisc<Frame> {
        &*self.qdisc
    }

    /// What classes of its queue have counted, from this number on, as many as there is room for.
    pub(crate) fn tell_classes(&self, first: u32, to: &mut Vec<ClassCounts>) {
        let room = to.capacity() - to.len();
        let counts = (first..).map_while(|number| self.qdisc.class_counts(number));
        to.extend(counts.take(room));
    }

    /// Frames lost on purpose after transmission.
    pub(crate) fn lost(&self) -> Tally {
        self.lost
    }

    /// Copies made after transmission.
    pub(crate) fn duplicated(&self) -> Tally {
        self.duplicated
    }

    /// Frames on their way after transmission.
    pub(crate) fn under_way(&self) -> usize {
        self.stage.held() + self.ready.len()
    }
}
