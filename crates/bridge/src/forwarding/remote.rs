//! Orders to a running bridge from other threads, and its answers.
//!
//! The forwarding thread looks once a turn, carries out at most one order, and never waits
//! (`slot.rs`). What each of several workers works by is kept here, since one may miss a change
//! that the others have made.

use super::capture::Probe;
use super::config::{BridgeConfig, Direction};
use super::flows::FlowTable;
use super::following::{Following, KEPT, Told};
use super::plan::{Built, Plan};
use super::side::Side;
use super::snapshot::Snapshot;
use super::workers::BeyondWorkers;
use crate::fail_open::FailOpenState;
pub(super) use slot::Inbox;
use slot::Slot;
use sojourn_line::LineRate;
use sojourn_qdisc::{ClassCounts, Spec, TreeSpec, WORKERS};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// A snapshot this young is as good as a new one: however many ask, the forwarding thread takes
/// no more than a hundred a second.
const YOUNG: Duration = Duration::from_millis(10);

/// Most probes of a bridge at once: each takes the forwarding thread's time.
pub const PROBES: usize = 4;

/// Most classes of which the forwarding thread tells at once, which takes it some microseconds.
const SLICE: u32 = 128;

/// What a bridge is to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Say what has been counted.
    Snapshot,
    /// Say what was done to rates that follow their link, into this.
    Tell(Vec<Told>),
    /// Work as this says instead of as before.
    Become(Box<Wanted>),
    /// Show frames to these instead of those before.
    Show(Vec<Probe>),
    /// Say what classes of trees have counted, by side, from a number on and no more than there is
    /// room for.
    Classes(u32, [Vec<ClassCounts>; 2]),
    /// Count flows in these, by side.
    Count([FlowTable; 2]),
}

/// Another configuration, in which what differs is something that can be changed.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) config: BridgeConfig,
    /// The queues of directions that get another one, by side. Built by those who ask, who also
    /// throw away what comes back: both take time.
    pub(super) built: [Option<Built>; 2],
    /// Whether the rates follow their link by other rules: from now on `following` has them do so,
    /// if one is to.
    pub(super) follows_anew: bool,
    pub(super) following: Option<Box<Following>>,
}

/// What comes back.
#[derive(Debug)]
pub(super) enum Answer {
    Snapshot(Box<Snapshot>),
    Told(Vec<Told>),
    /// With what is not needed any more.
    Done(Box<Wanted>),
    Classes([Vec<ClassCounts>; 2]),
    /// As `Done`.
    Shown(Vec<Probe>),
    /// The tables before, if there were any.
    Counted([Option<FlowTable>; 2]),
}

#[derive(Debug)]
struct Shared {
    workers: Vec<Arc<Slot>>,
    /// Whoever asks holds this; a forwarding thread never does.
    turn: Mutex<Turn>,
    /// What happens when the process dies, as its monitor knows it.
    fail_open: Mutex<Arc<FailOpenState>>,
}

/// What those who ask know.
#[derive(Debug)]
struct Turn {
    /// The last snapshot, and when it was taken.
    last: Option<(Instant, Arc<Snapshot>)>,
    /// What the bridge is to work by: the last change that a worker has made.
    config: BridgeConfig,
    /// What each worker works by.
    works: Vec<Works>,
    /// Its probes, by the numbers of their guards.
    probes: Vec<(u64, Probe)>,
    /// Probes that there have been.
    shown: u64,
}

/// What is known of one worker.
#[derive(Debug)]
struct Works {
    /// What it works by; a change that it has begun with is in it.
    config: BridgeConfig,
    /// How its queues are built, by side.
    plans: [Plan; 2],
    /// Whether it has not confirmed the last change that another worker has made, or begun with.
    lacks: bool,
}

impl Works {
    /// What it is to become.
    fn wanted(&self, config: &BridgeConfig) -> Box<Wanted> {
        let build = |plan: &Plan, [old, new]: [&Direction; 2]| {
            (old.qdisc != new.qdisc).then(|| plan.build(&new.qdisc, Some(&old.qdisc)))
        };
        let [up, down] = &self.plans;
        // Against what this worker has: it may have missed changes that others made.
        let follows_anew = self.config.autorates() != config.autorates()
            || self.config.reflectors != config.reflectors;
        Box::new(Wanted {
            config: config.clone(),
            built: [
                build(up, [&self.config.up, &config.up]),
                build(down, [&self.config.down, &config.down]),
            ],
            follows_anew,
            following: follows_anew.then(|| Following::of(config)).flatten(),
        })
    }
}

impl Turn {
    /// Keeps what became of a change in each worker, and says which have not made it.
    fn changed(
        &mut self,
        config: BridgeConfig,
        answers: &[Result<Answer, RemoteError>],
    ) -> Result<(), RemoteError> {
        let failed = |answer: &Result<Answer, RemoteError>| answer.as_ref().err().copied();
        let begun = |answer: &_| matches!(failed(answer), None | Some(RemoteError::Late));
        // A worker that has ended ends the bridge: there is nothing to keep.
        if let Some(Err(error)) = answers
            .iter()
            .find(|it| failed(it) == Some(RemoteError::Ended))
        {
            return Err(*error);
        }
        // Nobody has it, so that the same request compares old with new once more.
        if !answers.iter().any(begun) {
            return Err(RemoteError::Hangs);
        }
        for (works, answer) in self.works.iter_mut().zip(answers) {
            if begun(answer) {
                // One that stands still in the middle of it goes on with it, before anything else.
                works.config.clone_from(&config);
            }
            works.lacks = answer.is_err();
        }
        // A snapshot from before the change would show the queue that was.
        (self.config, self.last) = (config, None);
        match (self.behind(), &self.works[..]) {
            (None, _) => Ok(()),
            (Some(_), [_]) => Err(RemoteError::Late),
            (Some(behind), _) => Err(RemoteError::Partly(behind)),
        }
    }

    /// The workers that have not confirmed the last change.
    fn behind(&self) -> Option<Behind> {
        let bits = self.works.iter().zip(0..).fold(0, |bits, (works, number)| {
            bits | u64::from(works.lacks) << number
        });
        (bits != 0).then_some(Behind(bits))
    }

    fn probes(&self) -> Vec<Probe> {
        self.probes.iter().map(|(_, probe)| probe.clone()).collect()
    }
}

/// What classes of a bridge's trees of rates have counted.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// The trees, by side; none where the queue is another.
    pub trees: [Option<Arc<TreeSpec>>; 2],
    /// Of each tree those asked for, in its order; behind the last of all that of packets that
    /// match none.
    pub counts: [Vec<ClassCounts>; 2],
}

/// Workers of a bridge that have not confirmed the last change; their numbers by its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind(u64);

// A bit for each.
const _: () = assert!(WORKERS <= u64::BITS);

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = (0..WORKERS)
            .filter(|number| self.0 & 1 << number != 0)
            .map(|number| (number + 1).to_string())
            .collect();
        let plural = if numbers.len() == 1 { "" } else { "s" };
        write!(f, "worker{plural} {}", numbers.join(", "))
    }
}

/// Why a bridge does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It hangs, or was stopped.
    #[error("the forwarding thread has not answered for a second; nothing was changed")]
    Hangs,
    /// It has begun with what it was asked for, and stands still.
    #[error(
        "the forwarding thread has begun with the change and has not answered for a second; \
         ask again"
    )]
    Late,
    /// Some of several workers have made a change, or have begun with it, and these have not
    /// confirmed it.
    #[error(
        "the change is incomplete: {0} did not confirm it within a second, the others made it; \
         ask again"
    )]
    Partly(Behind),
    /// It has ended.
    #[error("the bridge has ended")]
    Ended,
    /// The most captures that are allowed at once are running.
    #[error("{PROBES} captures are under way already, and more would slow the bridge down")]
    Crowded,
    /// What is asked for takes one worker.
    #[error("with several workers {0}; nothing was changed")]
    Workers(#[source] BeyondWorkers),
}

/// A running bridge as other threads see it.
#[derive(Clone, Debug)]
pub struct Remote(Arc<Shared>);

/// A bridge shows frames to a probe; dropping this takes it away.
#[derive(Debug)]
pub struct Showing {
    remote: Remote,
    id: u64,
}

/// Both ends of a bridge that works by `config`, and how the queues of each worker are built.
pub(super) fn pair(
    config: &BridgeConfig,
    plans: Vec<[Plan; 2]>,
) -> io::Result<(Remote, Vec<Inbox>)> {
    let slots = plans.iter().map(|_| Ok(Arc::new(Slot::new()?)));
    let workers = slots.collect::<io::Result<Vec<_>>>()?;
    let inboxes = workers.iter().map(|slot| Inbox(Arc::clone(slot))).collect();
    let works = |plans| Works {
        config: config.clone(),
        plans,
        lacks: false,
    };
    let shared = Arc::new(Shared {
        workers,
        turn: Mutex::new(Turn {
            last: None,
            config: config.clone(),
            works: plans.into_iter().map(works).collect(),
            probes: Vec::new(),
            shown: 0,
        }),
        fail_open: Mutex::default(),
    });
    Ok((Remote(shared), inboxes))
}

impl Remote {
    /// What has been counted, up to 10 ms ago.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, RemoteError> {
        let mut turn = self.turn();
        if let Some((at, snapshot)) = &turn.last
            && at.elapsed() < YOUNG
        {
            return Ok(Arc::clone(snapshot));
        }
        let mut all = Vec::with_capacity(self.0.workers.len());
        for slot in &self.0.workers {
            let Answer::Snapshot(snapshot) = slot.ask(Order::Snapshot)? else {
                return Err(RemoteError::Ended);
            };
            all.push(*snapshot);
        }
        let snapshot = Arc::new(Snapshot::of_workers(all, &turn.config));
        turn.last = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// What happens to the link when the process dies. A bridge that hangs tells it too.
    pub fn fail_open(&self) -> Arc<FailOpenState> {
        let state = self.0.fail_open.lock();
        Arc::clone(&state.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_fail_open(&self, state: FailOpenState) {
        let known = self.0.fail_open.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// What the bridge works by now; workers that are [behind](Self::behind) may work by another.
    pub fn config(&self) -> BridgeConfig {
        self.turn().config.clone()
    }

    /// Has the bridge work by another configuration from one moment on, in both directions. No
    /// packet is lost. What can be changed are queues, lines, `autorate`, super-packets,
    /// `busy_poll`, `watchdog`, `stale` and `memory`; the rest stays as it was at the start.
    ///
    /// Every worker is asked, and whatever some of them did not confirm can be asked for again.
    ///
    /// # Errors
    /// When the bridge hangs or has ended, or has several workers that cannot do it or of which
    /// some have not done it.
    pub fn reconfigure(&self, change: impl FnOnce(&mut BridgeConfig)) -> Result<(), RemoteError> {
        let mut turn = self.turn();
        let mut config = turn.config.clone();
        change(&mut config);
        // Callers read a whole file: what cannot change is put back here, at one place.
        config.keep_fixed(&turn.config);
        if let Some(why) = config.beyond_workers() {
            return Err(RemoteError::Workers(why));
        }
        let wanted = turn.works.iter().map(|works| works.wanted(&config));
        let orders: Vec<Order> = wanted.map(Order::Become).collect();
        let answers = self.ask_all(orders);
        let changed = turn.changed(config, &answers);
        let not_needed: Vec<Box<Wanted>> = answers
            .into_iter()
            .filter_map(|answer| match answer {
                Ok(Answer::Done(old)) => Some(old),
                _ => None,
            })
            .collect();
        // Nobody else waits while it is thrown away.
        drop(turn);
        drop(not_needed);
        changed
    }

    /// Which workers have not confirmed the last change: it is to be asked for again.
    pub fn behind(&self) -> Option<Behind> {
        self.turn().behind()
    }

    /// Each worker's answer to its order. All have the same second for it.
    fn ask_all(&self, orders: Vec<Order>) -> Vec<Result<Answer, RemoteError>> {
        let slots = self.0.workers.iter();
        let posted: Vec<_> = slots
            .zip(orders)
            .map(|(slot, order)| (slot, slot.post(order)))
            // All have their orders before the first answer is waited for: a worker that hangs
            // does not keep the change from the others.
            .collect();
        let end = slot::deadline();
        let answers = posted
            .into_iter()
            .map(|(slot, posted)| posted.and_then(|()| slot.answer_by(end)));
        answers.collect()
    }

    /// Makes one direction's queue follow another spec. It keeps every packet.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn change(&self, side: Side, spec: Spec) -> Result<(), RemoteError> {
        self.reconfigure(|config| config.side(side).qdisc = spec)
    }

    /// Gives one direction another rate.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn set_rate(&self, side: Side, rate: LineRate) -> Result<(), RemoteError> {
        self.reconfigure(|config| config.side(side).line.rate = rate)
    }

    /// What was last done to rates that follow their link, oldest first.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn told(&self) -> Result<Vec<Told>, RemoteError> {
        let turn = self.turn();
        if turn.config.autorates() == [None; 2] {
            return Ok(Vec::new());
        }
        match self.first().ask(Order::Tell(Vec::with_capacity(KEPT)))? {
            Answer::Told(told) => Ok(told),
            _ => Err(RemoteError::Ended),
        }
    }

    /// What the classes of its trees of rates have counted, of those with numbers from `first` on
    /// `most`.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn classes(&self, first: u32, most: u32) -> Result<Classes, RemoteError> {
        let turn = self.turn();
        let tree = |direction: &Direction| match &direction.qdisc {
            Spec::Tree(tree) => Some(Arc::clone(tree)),
            _ => None,
        };
        let mut classes = Classes {
            trees: [&turn.config.up, &turn.config.down].map(tree),
            counts: Default::default(),
        };
        let end = first.saturating_add(most);
        let mut next = first;
        // In slices: between two the forwarding thread forwards.
        while next < end && classes.trees.iter().any(Option::is_some) {
            let room = (end - next).min(SLICE);
            let empty = [(); 2].map(|()| Vec::with_capacity(room as usize));
            let Answer::Classes(counts) = self.first().ask(Order::Classes(next, empty))? else {
                return Err(RemoteError::Ended);
            };
            // A side that fills its room may have more.
            let is_last = counts.iter().all(|counts| counts.len() < room as usize);
            for (all, more) in classes.counts.iter_mut().zip(counts) {
                all.extend(more.into_iter().take(room as usize));
            }
            if is_last {
                break;
            }
            next += room;
        }
        Ok(classes)
    }

    /// What flows have done since the last time, by side: `empty` are the tables that count from
    /// now on. None the first time, and nothing more than two seconds after the last one.
    ///
    /// # Errors
    /// When the bridge hangs or has ended.
    pub fn flows(&self, empty: [FlowTable; 2]) -> Result<[Option<FlowTable>; 2], RemoteError> {
        let _turn = self.turn();
        let mut all: [Option<FlowTable>; 2] = [None, None];
        let empty = std::iter::repeat_n(empty, self.0.workers.len());
        for answer in self.ask_all(empty.map(Order::Count).collect()) {
            let Answer::Counted(flows) = answer? else {
                return Err(RemoteError::Ended);
            };
            for (all, flows) in all.iter_mut().zip(flows) {
                match (all.as_mut(), flows) {
                    (Some(all), Some(flows)) => all.absorb(&flows),
                    (_, flows) => *all = flows,
                }
            }
        }
        Ok(all)
    }

    /// Has the bridge show its frames to another probe, [`PROBES`] at most, from now on.
    ///
    /// # Errors
    /// When there are as many already, or the bridge hangs or has ended.
    pub fn show(&self, probe: Probe) -> Result<Showing, RemoteError> {
        let mut turn = self.turn();
        let showing = self.enter(&mut turn, probe)?;
        let answers = self.show_all(&turn);
        drop(turn);
        let mut failed = answers.into_iter().filter_map(Result::err);
        match failed.find(|error| *error != RemoteError::Late) {
            None => Ok(showing),
            // And so it is taken away again.
            Some(error) => Err(error),
        }
    }

    /// Before the bridge runs: a probe that shows from the first frame on, with all that there are.
    pub(super) fn show_first(&self, probe: Probe) -> Result<(Showing, Vec<Probe>), RemoteError> {
        let mut turn = self.turn();
        let showing = self.enter(&mut turn, probe)?;
        Ok((showing, turn.probes()))
    }

    /// Has every worker show its frames to all probes that there are.
    /// Yields what is not needed any more.
    fn show_all(&self, turn: &Turn) -> Vec<Result<Vec<Probe>, RemoteError>> {
        let orders = self.0.workers.iter().map(|_| Order::Show(turn.probes()));
        let answers = self.ask_all(orders.collect()).into_iter();
        let shown = answers.map(|answer| match answer? {
            Answer::Shown(before) => Ok(before),
            _ => Err(RemoteError::Ended),
        });
        shown.collect()
    }

    fn enter(&self, turn: &mut Turn, probe: Probe) -> Result<Showing, RemoteError> {
        if turn.probes.len() == PROBES {
            return Err(RemoteError::Crowded);
        }
        turn.shown += 1;
        turn.probes.push((turn.shown, probe));
        Ok(Showing {
            remote: self.clone(),
            id: turn.shown,
        })
    }

    /// Whether the bridge has ended.
    pub fn has_ended(&self) -> bool {
        self.0.workers.iter().any(|slot| slot.is_closed())
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first(&self) -> &Slot {
        &self.0.workers[0]
    }

    /// Makes the forwarding threads look up at once, from whatever they wait for.
    pub fn wake(&self) {
        self.0.workers.iter().for_each(|slot| slot.wake());
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        let mut turn = self.remote.turn();
        turn.probes.retain(|(id, _)| *id != self.id);
        // A bridge that hangs drops it with the next order about probes; nobody looks at it.
        let not_needed = self.remote.show_all(&turn);
        drop(turn);
        drop(not_needed);
    }
}

mod slot;
#[cfg(test)]
mod tests;
