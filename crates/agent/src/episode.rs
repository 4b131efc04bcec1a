//! One run of one cell, from decision to decision.

use crate::control::Decided;
use crate::field::show;
use crate::signal::Signal;
use crate::task::{Measure, Role, Task, Unfit, target_mut};
use crate::watched::{Stays, Watched};
use sojourn_qdisc::{Counters, Limit, Qdisc, Setting, SingleQueue};
use sojourn_sim::{Instead, NoFork, Packet, Run, Setup};
use sojourn_tcp::{Config, CongestionControl};
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Flow, Interface, RunResult, WorldError};
use std::any::Any;
use std::sync::Arc;

/// Places the agent in a run that is being built.
struct Placing<'a>(&'a Role);

impl Placing<'_> {
    fn is_at(&self, at: &Interface) -> bool {
        match self.0 {
            Role::Signal { link, .. } | Role::Target { link } => *link == at.name,
            Role::Control { .. } => false,
        }
    }
}

impl Instead for Placing<'_> {
    fn queue(&mut self, at: &Interface, set: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        match self.0 {
            Role::Signal { link, limit } if *link == at.name => {
                let limit = Limit::Packets(u64::from(*limit));
                let signal = Signal::new(set.seed, link);
                Some(Box::new(SingleQueue::<Packet, _>::new(limit, signal)))
            }
            _ => None,
        }
    }

    fn around(&mut self, at: &Interface, queue: Box<dyn Qdisc<Packet>>) -> Box<dyn Qdisc<Packet>> {
        if self.is_at(at) {
            Box::new(Watched::new(queue))
        } else {
            queue
        }
    }

    fn control(&mut self, at: &Flow, config: &Config) -> Option<Box<dyn CongestionControl + Send>> {
        match self.0 {
            Role::Control { flow } if *flow == at.name => Some(Box::new(Decided::new(config))),
            _ => None,
        }
    }
}

/// What a decision has led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Delivered share of the rate, less the share of the RTT that is queueing, less the share of
    /// packets lost: from -2 to 1.
    pub reward: f64,
    /// The run is over, and nothing is decided any more.
    pub over: bool,
}

/// A run in which an agent decides.
pub struct Episode {
    run: Run,
    task: Arc<Task>,
    measure: Measure,
    end: Time,
    /// What the queue had counted at the last decision.
    before: Counters,
    /// The last mean sojourn or RTT, in ms.
    delay_ms: f64,
    /// How long the last interval was: the end of the run may cut it short.
    passed: Span,
}

impl Episode {
    /// The run of a cell up to its first decision: after one interval, or for a
    /// congestion control after the first in which it heard an ACK.
    ///
    /// # Errors
    /// When the cell has no place for the agent, the simulator cannot run it, or nothing is decided
    /// in it.
    pub fn new(task: &Arc<Task>, cell: Cell, observation: &mut [f32]) -> Result<Self, WorldError> {
        let measure = task.measure(&cell)?;
        let end = cell.end();
        let mut episode = Self {
            run: Run::new(Setup {
                own: Some(&mut Placing(task.role())),
                ..Setup::from(cell)
            })?,
            task: Arc::clone(task),
            measure,
            end,
            before: Counters::default(),
            delay_ms: 0.0,
            passed: Span::ZERO,
        };
        loop {
            let over = episode.pass_time()?;
            if episode.has_heard() {
                episode.observe(observation);
                return Ok(episode);
            }
            if over && let Role::Control { flow } = task.role() {
                return Err(Unfit::Silent(flow.clone()).into());
            }
        }
    }

    /// Takes a decision, lets time pass until the next one, and tells what was seen meanwhile.
    /// Once the run is over, nothing happens and nothing is told.
    ///
    /// # Errors
    /// When the decision is no number, or there are too many packets for the memory.
    pub fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Outcome, WorldError> {
        let ranges = self.task.role().actions();
        if action.len() != ranges.len() || !action.iter().all(|value| value.is_finite()) {
            return Err(Unfit::Action(action.to_vec(), ranges.len()).into());
        }
        if self.is_over() {
            return Ok(Outcome {
                reward: 0.0,
                over: true,
            });
        }
        let mut values = ranges
            .iter()
            .zip(action)
            .map(|([low, high], value)| f64::from(value.clamp(*low, *high)));
        let mut next = || values.next().unwrap_or_default();
        self.decide([next(), next()]);
        let over = self.pass_time()?;
        let reward = self.observe(observation);
        Ok(Outcome { reward, over })
    }

    /// A copy: both go on as this one alone would have, bit for bit.
    ///
    /// # Errors
    /// None for scenarios; see [`Run::fork`].
    pub fn fork(&self) -> Result<Self, NoFork> {
        Ok(Self {
            run: self.run.fork()?,
            task: Arc::clone(&self.task),
            ..*self
        })
    }

    /// The simulated time.
    pub const fn now(&self) -> Time {
        self.run.look().now()
    }

    /// The result of the run, or what it would be if nothing more happened.
    ///
    /// # Errors
    /// As for [`Episode::fork`], and when there are too many packets for the memory.
    pub fn result(&self) -> Result<RunResult, WorldError> {
        if !self.is_over() {
            return Ok(self.run.look().result());
        }
        let mut run = self.run.fork().map_err(WorldError::unfit)?;
        run.forward(Time::MAX)?;
        Ok(run.finish())
    }

    /// Whether nothing is decided any more.
    pub fn is_over(&self) -> bool {
        self.now() >= self.end
    }

    /// Lets one interval pass, and says whether the run is over.
    fn pass_time(&mut self) -> Result<bool, WorldError> {
        let now = self.now();
        let next = (now + self.task.every()).min(self.end);
        self.run.forward(next)?;
        self.passed = next.since(now);
        Ok(next >= self.end)
    }

    fn decide(&mut self, action: [f64; 2]) {
        let [value, _] = action;
        match self.task.role() {
            Role::Control { flow } => {
                let decide = |control: &mut Decided| control.decide(action);
                self.run.change().controls(flow, decide);
            }
            Role::Signal { link, .. } => {
                let Some(watched) = watched_mut(&mut self.run, link) else {
                    return;
                };
                watched.stays = Stays::default();
                let queue: &mut dyn Any = &mut *watched.queue;
                if let Some(queue) = queue.downcast_mut::<SingleQueue<Packet, Signal>>() {
                    queue.aqm_mut().probability = value * value;
                }
            }
            Role::Target { link } => {
                let now = self.now();
                let Some(queue) = watched_mut(&mut self.run, link) else {
                    return;
                };
                queue.stays = Stays::default();
                if let Some(mut spec) = queue.spec()
                    && let Some(target) = target_mut(&mut spec)
                {
                    *target = Span::from_secs_f64(1e-3 * libm::pow(100.0, value));
                    let changed = queue.change(&spec, now);
                    debug_assert!(changed.is_ok(), "only the target is another one");
                }
            }
        }
    }

    /// Whether there is something to decide about.
    fn has_heard(&self) -> bool {
        match self.task.role() {
            Role::Control { flow } => {
                let mut controls = self.run.look().controls::<Decided>(flow);
                controls.any(|control| control.talks)
            }
            Role::Signal { .. } | Role::Target { .. } => true,
        }
    }

    /// Shows what was seen in the last interval, and yields the reward.
    fn observe(&mut self, observation: &mut [f32]) -> f64 {
        let task = Arc::clone(&self.task);
        let (values, [delivered_mbps, queueing_ms, lost]) = match task.role() {
            Role::Control { flow } => self.flow(flow),
            Role::Signal { link, .. } | Role::Target { link } => self.queue(link),
        };
        show(task.role().fields(), values, observation);
        let share = (delivered_mbps * 1e6 / self.measure.bps).min(1.0);
        let base_ms = self.measure.base_rtt.as_millis_f64();
        share - queueing_ms / (queueing_ms + base_ms) - lost
    }

    /// What the flow did, and its rate in Mbit/s, queueing delay in ms and loss.
    fn flow(&mut self, name: &str) -> ([f64; 9], [f64; 3]) {
        // Those that heard something, and those that have only ever done so.
        let mut groups = [Ends::default(); 2];
        for control in self.run.look().controls::<Decided>(name) {
            if control.talks {
                groups[usize::from(!control.heard.any)].add(control);
            }
        }
        let [now, ever] = groups;
        let ends = if now.count > 0.0 { now } else { ever };
        let count = ends.count.max(1.0);
        if ends.rtts.1 > 0.0 {
            self.delay_ms = ends.rtts.0 / ends.rtts.1 * 1e-6;
        }
        let mbps = ends.bits / self.passed.as_secs_f64() * 1e-6;
        let lost = share(ends.lost, ends.lost + ends.delivered);
        let values = [
            ends.window / count,
            ends.pacing / count,
            ends.in_flight,
            ends.srtt.as_millis_f64() / count,
            self.delay_ms,
            ends.min_rtt.map_or(0.0, Span::as_millis_f64),
            mbps,
            lost,
            share(ends.marked, ends.delivered),
        ];
        let queueing_ms = (self.delay_ms - self.measure.base_rtt.as_millis_f64()).max(0.0);
        (values, [mbps, queueing_ms, lost])
    }

    /// What the queue did, and its rate in Mbit/s, delay in ms and loss.
    fn queue(&mut self, link: &str) -> ([f64; 9], [f64; 3]) {
        let Some(queue) = watched(&self.run, link) else {
            debug_assert!(false, "the queue stays what it is");
            return ([0.0; 9], [0.0; 3]);
        };
        let decided = decided(queue);
        let stays = queue.stays;
        let (backlog, after) = (queue.backlog(), *queue.counters());
        let before = std::mem::replace(&mut self.before, after);
        if let Some(mean) = mean_ms(stays) {
            self.delay_ms = mean;
        }
        let arrived = after.offered.packets - before.offered.packets;
        let departed = after.dequeued.packets - before.dequeued.packets;
        let interval = self.passed.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / interval;
        let departed_mbps = mbps(after.dequeued.bytes - before.dequeued.bytes);
        let dropped = after.dropped.packets - before.dropped.packets;
        // A queue may drop more than arrives in an interval.
        let dropped = share(dropped as f64, arrived.max(dropped) as f64);
        let marked = after.marked.packets - before.marked.packets;
        let values = [
            decided,
            backlog.packets as f64,
            backlog.bytes as f64,
            self.delay_ms,
            stays.longest.as_millis_f64(),
            mbps(after.offered.bytes - before.offered.bytes),
            departed_mbps,
            dropped,
            share(marked as f64, departed.max(marked) as f64),
        ];
        (values, [departed_mbps, self.delay_ms, dropped])
    }
}

/// The agent's queue.
fn watched<'a>(run: &'a Run, link: &str) -> Option<&'a Watched> {
    let queue: &dyn Any = run.look().queue(link)?;
    queue.downcast_ref()
}

/// The same, to be changed.
fn watched_mut<'a>(run: &'a mut Run, link: &str) -> Option<&'a mut Watched> {
    let queue: &mut dyn Any = run.change().queue(link)?;
    queue.downcast_mut()
}

/// The probability or the target in ms that is in force.
fn decided(watched: &Watched) -> f64 {
    let queue: &dyn Any = &*watched.queue;
    if let Some(queue) = queue.downcast_ref::<SingleQueue<Packet, Signal>>() {
        return queue.aqm().probability;
    }
    let mut spec = watched.spec();
    let target = spec.as_mut().and_then(target_mut);
    target.map_or(0.0, |target| target.as_millis_f64())
}

fn mean_ms(stays: Stays) -> Option<f64> {
    (stays.packets > 0).then(|| stays.sum as f64 / stays.packets as f64 * 1e-6)
}

/// A share of one; none of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Sums over ends of connections.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    count: f64,
    window: f64,
    pacing: f64,
    in_flight: f64,
    srtt: Span,
    min_rtt: Option<Span>,
    /// Sum in ns, and how many.
    rtts: (f64, f64),
    delivered: f64,
    bits: f64,
    lost: f64,
    marked: f64,
}

impl Ends {
    fn add(&mut self, control: &Decided) {
        let heard = control.heard;
        let [window, pacing] = control.decided();
        self.count += 1.0;
        self.window += window;
        self.pacing += pacing;
        self.in_flight += f64::from(control.in_flight);
        self.srtt += control.srtt;
        let lower = self.min_rtt.unwrap_or(control.min_rtt);
        self.min_rtt = Some(lower.min(control.min_rtt));
        self.rtts.0 += heard.rtt.0 as f64;
        self.rtts.1 += heard.rtt.1 as f64;
        self.delivered += heard.delivered as f64;
        self.bits += (heard.delivered * control.mss() * 8) as f64;
        self.lost += heard.lost as f64;
        self.marked += heard.marked as f64;
    }
}

impl std::fmt::Debug for Episode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Episode")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
