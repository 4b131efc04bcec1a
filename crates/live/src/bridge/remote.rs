//! Orders to a running bridge from other threads, and its answers.
//!
//! The forwarding thread looks once a turn, carries out at most one order, and never waits. Who
//! may touch what the two sides share says a word of state, so that the locks are always free
//! when somebody takes them.

use super::capture::Probe;
use super::config::{BridgeConfig, Direction};
use super::flows::FlowTable;
use super::following::{Following, KEPT, Told};
use super::plan::{Built, Plan};
use super::side::Side;
use super::snapshot::Snapshot;
use rustix::event::{EventfdFlags, eventfd};
use sojourn_qdisc::{ClassCounts, Spec, TreeSpec};
use sojourn_world::{BeyondWorkers, LineRate};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an answer may take: a forwarding thread that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// A snapshot this young is as good as a new one: however many ask, the forwarding thread takes
/// no more than a hundred a second.
const YOUNG: Duration = Duration::from_millis(10);

/// Most probes of a bridge at once: each takes the forwarding thread's time.
pub const PROBES: usize = 4;

/// Most classes of which the forwarding thread tells at once, which takes it some microseconds.
const SLICE: u32 = 128;

/// Nobody wants anything; the asking side may write an order.
const IDLE: u8 = 0;
/// The order is there; the forwarding side may take it, or the asking side back.
const ASKED: u8 = 1;
/// It is being carried out; the forwarding side writes the answer.
const TAKEN: u8 = 2;
/// The answer is there; the asking side may take it.
const ANSWERED: u8 = 3;
/// The bridge is gone.
const CLOSED: u8 = 4;

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
    workers: Vec<Slot>,
    /// Whoever asks holds this; a forwarding thread never does.
    turn: Mutex<Turn>,
}

/// Between one forwarding thread and whoever asks.
#[derive(Debug)]
struct Slot {
    state: AtomicU8,
    order: Mutex<Option<(Order, Thread)>>,
    answer: Mutex<Option<Answer>>,
    /// Readable when the forwarding thread is to look.
    bell: OwnedFd,
}

/// What those who ask know.
#[derive(Debug)]
struct Turn {
    /// The last snapshot, and when it was taken.
    last: Option<(Instant, Arc<Snapshot>)>,
    /// What the bridge works by.
    config: BridgeConfig,
    /// How the queues of each worker are built, by side.
    plans: Vec<[Plan; 2]>,
    /// Its probes, by the numbers of their guards.
    probes: Vec<(u64, Probe)>,
    /// Probes that there have been.
    shown: u64,
}

impl Turn {
    /// What a worker is to become.
    fn wanted(&self, number: usize, config: &BridgeConfig) -> Box<Wanted> {
        let build = |plan: &Plan, [old, new]: [&Direction; 2]| {
            (old.qdisc != new.qdisc).then(|| plan.build(&new.qdisc, Some(&old.qdisc)))
        };
        let [up, down] = &self.plans[number];
        let follows_anew = self.config.autorates() != config.autorates();
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

    fn probes(&self) -> Vec<Probe> {
        self.probes.iter().map(|(_, probe)| probe.clone()).collect()
    }
}

/// What classes of a bridge's trees of rates have counted.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// The trees, by side; none where the queue is another.
    pub trees: [Option<Arc<TreeSpec>>; 2],
    /// Of each tree those asked for, in its order.
    pub counts: [Vec<ClassCounts>; 2],
}

/// Why a bridge does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It hangs, or was stopped.
    #[error("the forwarding thread has not answered for a second; nothing was changed")]
    Hangs,
    /// It has begun with what it was asked for, and stands still.
    #[error("the forwarding thread has begun with it, and stands still since")]
    Late,
    /// It has ended.
    #[error("the bridge has ended")]
    Ended,
    /// As many look on as may.
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

/// A forwarding thread's end.
#[derive(Debug)]
pub(super) struct Inbox {
    shared: Arc<Shared>,
    number: usize,
}

/// Both ends of a bridge that works by `config`, and how the queues of each worker are built.
pub(super) fn pair(
    config: &BridgeConfig,
    plans: Vec<[Plan; 2]>,
) -> io::Result<(Remote, Vec<Inbox>)> {
    let slot = |_| {
        Ok(Slot {
            state: AtomicU8::new(IDLE),
            order: Mutex::default(),
            answer: Mutex::default(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    };
    let workers = plans.iter().map(slot).collect::<io::Result<Vec<_>>>()?;
    let shared = Arc::new(Shared {
        workers,
        turn: Mutex::new(Turn {
            last: None,
            config: config.clone(),
            plans,
            probes: Vec::new(),
            shown: 0,
        }),
    });
    let inbox = |number| Inbox {
        shared: Arc::clone(&shared),
        number,
    };
    let inboxes = (0..shared.workers.len()).map(inbox).collect();
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

    /// What the bridge works by now.
    pub fn config(&self) -> BridgeConfig {
        self.turn().config.clone()
    }

    /// Has the bridge work by another configuration from one moment on, in both directions. No
    /// packet is lost. What can be changed are queues, lines, `autorate`, super-packets,
    /// `busy_poll`, `watchdog`, `stale` and `memory`; the rest stays as it was at the start.
    ///
    /// # Errors
    /// When the bridge hangs or has ended, or has several workers that cannot do it.
    pub fn reconfigure(&self, change: impl FnOnce(&mut BridgeConfig)) -> Result<(), RemoteError> {
        let mut turn = self.turn();
        let mut config = turn.config.clone();
        change(&mut config);
        config.keep_fixed(&turn.config);
        if let Some(why) = config.beyond_workers() {
            return Err(RemoteError::Workers(why));
        }
        let mut not_needed = Vec::with_capacity(turn.plans.len());
        for (number, slot) in self.0.workers.iter().enumerate() {
            let wanted = turn.wanted(number, &config);
            match slot.ask(Order::Become(wanted)) {
                Ok(Answer::Done(old)) => not_needed.push(old),
                Ok(_) => {}
                Err(error) if number == 0 && error != RemoteError::Late => return Err(error),
                // It has begun with it, or those before it have.
                Err(_) => {
                    (turn.config, turn.last) = (config, None);
                    return Err(RemoteError::Late);
                }
            }
        }
        (turn.config, turn.last) = (config, None);
        drop(turn);
        drop(not_needed);
        Ok(())
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
        while next < end && classes.trees.iter().any(Option::is_some) {
            let room = (end - next).min(SLICE);
            let empty = [(); 2].map(|()| Vec::with_capacity(room as usize));
            let Answer::Classes(counts) = self.first().ask(Order::Classes(next, empty))? else {
                return Err(RemoteError::Ended);
            };
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
        let others = self.0.workers.iter().skip(1);
        let others: Vec<_> = others.map(|slot| (slot, empty.clone())).collect();
        for (slot, empty) in others.into_iter().chain([(self.first(), empty)]) {
            let Answer::Counted(flows) = slot.ask(Order::Count(empty))? else {
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
        let show = |slot: &Slot| match slot.ask(Order::Show(turn.probes()))? {
            Answer::Shown(before) => Ok(before),
            _ => Err(RemoteError::Ended),
        };
        self.0.workers.iter().map(show).collect()
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
        let is_closed = |slot: &Slot| slot.state.load(Ordering::Acquire) == CLOSED;
        self.0.workers.iter().any(is_closed)
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first(&self) -> &Slot {
        &self.0.workers[0]
    }

    /// Makes the forwarding threads look up at once, from whatever they wait for.
    pub fn wake(&self) {
        self.0.workers.iter().for_each(Slot::wake);
    }
}

impl Slot {
    fn wake(&self) {
        // It can only fail when the bell has been rung for 2^64 - 1 times.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// One order at a time: the caller holds `turn`.
    fn ask(&self, order: Order) -> Result<Answer, RemoteError> {
        let slot = |slot: &Mutex<Option<Answer>>| {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take()
        };
        match self.state.load(Ordering::Acquire) {
            CLOSED => return Err(RemoteError::Ended),
            // The answer to somebody who has left.
            ANSWERED => drop(slot(&self.answer)),
            TAKEN => return Err(RemoteError::Hangs),
            _ => {}
        }
        let mut orders = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        *orders = Some((order, thread::current()));
        drop(orders);
        if !self.step(IDLE, ASKED) && !self.step(ANSWERED, ASKED) {
            return Err(RemoteError::Ended);
        }
        self.wake();
        let end = Instant::now() + PATIENCE;
        loop {
            match self.state.load(Ordering::Acquire) {
                ANSWERED => {
                    let answer = slot(&self.answer).ok_or(RemoteError::Ended);
                    self.step(ANSWERED, IDLE);
                    return answer;
                }
                CLOSED => return Err(RemoteError::Ended),
                _ => {}
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Not carried out later either, unless that has begun.
                let is_taken_back = self.step(ASKED, IDLE);
                return Err(if is_taken_back {
                    RemoteError::Hangs
                } else {
                    RemoteError::Late
                });
            }
            thread::park_timeout(left);
        }
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

impl Slot {
    fn step(&self, from: u8, to: u8) -> bool {
        let swapped = self
            .state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }
}

impl Inbox {
    fn slot(&self) -> &Slot {
        &self.shared.workers[self.number]
    }

    /// What becomes readable when there is something to see.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.slot().bell.as_fd()
    }

    /// Carries out the order that is there, if one is.
    pub(super) fn serve(&self, carry_out: impl FnOnce(Order) -> Answer) {
        let shared = self.slot();
        if shared.state.load(Ordering::Acquire) != ASKED || !shared.step(ASKED, TAKEN) {
            return;
        }
        // Nobody else touches either slot while the order is taken.
        let order = shared.order.try_lock().ok().and_then(|mut o| o.take());
        let Some((order, asker)) = order else {
            debug_assert!(false, "an order was announced and is not there");
            return;
        };
        let answer = carry_out(order);
        if let Ok(mut slot) = shared.answer.try_lock() {
            *slot = Some(answer);
        }
        shared.state.store(ANSWERED, Ordering::Release);
        asker.unpark();
    }

    /// Makes the bell silent again.
    pub(super) fn heard(&self) {
        let _ = rustix::io::read(&self.slot().bell, &mut [0; 8]);
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.slot().state.store(CLOSED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
