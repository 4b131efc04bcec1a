//! The bridge on real interfaces: opening them, its forwarding threads, closing.

use super::capture::Probe;
use super::config::{BridgeConfig, FailOpen, PortChoice};
use super::engine::Engine;
use super::error::{BridgeError, Doing};
use super::frame::Pool;
use super::lane::Lane;
use super::observer::{NoObserver, Observer};
use super::remote::{self, Remote, RemoteError, Showing};
use super::run::{Around, Worker};
use super::side::Side;
use super::snapshot::{SideStats, Snapshot};
use super::watchdog::Pulses;
use crate::claim::Claim;
use crate::fail_open::{
    FailOpenBridge, FailOpenError, FailOpenState, Monitor, Watched, common_master, foresee,
    in_the_way, mtus_differ,
};
use crate::interface::{Interface, Offloads, OffloadsOff};
use crate::port::{self, Port, PortState};
use crate::sys::wait_for_packets;
use sojourn_qdisc::{Report, SharedRate};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A bridge with its interfaces open. Open and run it on a thread that is in the network
/// namespace of the interfaces.
pub struct Bridge {
    /// At least one.
    workers: Vec<Worker>,
    port_state: PortState,
    /// What it began with.
    config: BridgeConfig,
    /// Restores the interfaces when dropped.
    _offloads: Vec<OffloadsOff>,
    fallback: Fallback,
    /// Looks after it; ends before it is undone.
    monitor: Option<Monitor>,
    ports: [Interface; 2],
    /// After everything that is undone at the end.
    claims: Arc<Mutex<Vec<Claim>>>,
    remote: Remote,
}

/// What happens to the link when this process dies.
#[derive(Debug)]
enum Fallback {
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
    /// When an interface is missing, down, named twice or no Ethernet; when several workers are
    /// wanted that cannot do what is asked for.
    pub fn check(config: &BridgeConfig) -> Result<(), BridgeError> {
        Self::interfaces(config).map(drop)
    }

    /// What will happen to the link when the process dies, and what is odd about the interfaces, a
    /// sentence each; nothing is touched.
    ///
    /// # Errors
    /// As [`Bridge::check`].
    pub fn foresee(config: &BridgeConfig) -> Result<Vec<String>, BridgeError> {
        let (left, right) = Self::interfaces(config)?;
        let mut told = vec![match config.fail_open {
            FailOpen::Off => "fail open: off".to_owned(),
            FailOpen::Prefer | FailOpen::Require => match foresee([&left, &right], config.hook) {
                Ok(what) => format!("fail open: possible, {what}"),
                Err(why) => format!("fail open: not possible, because {why}"),
            },
        }];
        told.extend(mtus_differ(
            [&left.name, &right.name],
            [left.mtu, right.mtu],
        ));
        Ok(told)
    }

    fn interfaces(config: &BridgeConfig) -> Result<(Interface, Interface), BridgeError> {
        if let Some(why) = config.beyond_workers() {
            return Err(BridgeError::Workers(why));
        }
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
    /// As [`Bridge::check`], and when permission is missing.
    pub fn open(config: BridgeConfig) -> Result<Self, BridgeError> {
        let (left, right) = Self::interfaces(&config)?;
        // First of all: another bridge on these interfaces would undo what this one sets up.
        let claim = |interface| config.claim.then(|| Claim::take(interface)).transpose();
        let mut claims: Vec<Claim> = [claim(&left)?, claim(&right)?]
            .into_iter()
            .flatten()
            .collect();
        let count = config.workers.max(1);
        // One for each direction of each worker, so that a flood in one leaves the others alone.
        let pools = || Side::BOTH.map(|_| Pool::of(config.memory_of_worker()));
        let mut pools: Vec<[Pool; 2]> = (0..count).map(|_| pools()).collect();
        let offloads = offloads_off(&config, [&left, &right], &mut claims)?;
        // Before the way round is closed, so that no frame falls between the two.
        let (mut ports, port_state) = port::open(&config, [&left, &right], &mut pools)?;
        let mut fallback = set_up_fallback(&config, [&left, &right], &mut claims, &mut ports)?;
        // What one of them cannot send cannot pass: a queue's full packet is the smaller MTU.
        let mtu = left.mtu.min(right.mtu);
        let shared = Side::BOTH.map(|_| (count > 1).then(|| SharedRate::new(count)));
        let lanes = |number: u32| {
            Side::BOTH.map(|side| {
                let shared = shared[side as usize].clone();
                Lane::of_worker(side, &config, mtu, shared.map(|shared| (shared, number)))
            })
        };
        let mut engines: Vec<_> = pools
            .into_iter()
            .zip(ports)
            .zip(0..)
            .map(|((pools, ports), number)| Engine::new(&config, pools, ports, lanes(number)))
            .collect();
        let plans = engines.iter().map(Engine::plans).collect();
        let remotes = remote::pair(&config, plans);
        let (remote, inboxes) = remotes.doing("make an event counter")?;
        if let Fallback::Bridge(bridge) = &mut fallback
            && bridge.forwards
        {
            // The kernel bridge has forwarded these already; from us they would come twice.
            for engine in &mut engines {
                engine.discard_waiting().doing("read from the interfaces")?;
            }
            bridge.take_over();
        }
        let pulses = Pulses::new(engines.len());
        let names = [left.name.clone(), right.name.clone()];
        remote.set_fail_open(fallback.state([&left, &right]));
        let workers =
            engines
                .into_iter()
                .zip(inboxes)
                .enumerate()
                .map(|(number, (engine, inbox))| {
                    Worker::new(
                        number,
                        config.clone(),
                        engine,
                        names.clone(),
                        port_state.clone(),
                        inbox,
                        Arc::clone(&pulses),
                    )
                });
        Ok(Self {
            workers: workers.collect(),
            port_state,
            _offloads: offloads,
            fallback,
            monitor: None,
            ports: [left, right],
            claims: Arc::new(Mutex::new(claims)),
            remote,
            config,
        })
    }

    /// What happens to the link when this process dies, as a sentence for the user.
    pub fn fail_open_state(&self) -> String {
        self.remote.fail_open().text.clone()
    }

    /// Has a thread look after what happens to the link when this process dies, and mend it, until
    /// the bridge is dropped. `tell` gets a sentence when something has changed or was mended.
    ///
    /// # Errors
    /// When there can be no thread, or no socket for it.
    pub fn look_after_fail_open(
        &mut self,
        tell: impl Fn(String) + Send + 'static,
    ) -> Result<(), BridgeError> {
        let watched = Watched {
            ports: self.ports.clone(),
            place: self.fallback.bridge().map(FailOpenBridge::place),
            gate: self.fallback.bridge().map(FailOpenBridge::gate),
            state: FailOpenState::clone(&self.remote.fail_open()),
            claims: Arc::clone(&self.claims),
        };
        let remote = self.remote.clone();
        let monitor = Monitor::start(watched, move |state, text| {
            remote.set_fail_open(state.clone());
            if let Some(text) = text {
                tell(text);
            }
        });
        self.monitor = Some(monitor.doing("look after the kernel bridge")?);
        Ok(())
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
        for worker in &mut self.workers {
            worker.onlookers.probes.clone_from(&probes);
        }
        Ok(showing)
    }

    /// Forwards until `stop` is set, then sends what is held and returns. Statistics are then those
    /// of the stop. A stop is seen within 50 ms.
    ///
    /// The first worker runs on the calling thread, and what it does the observer is told; others
    /// have a thread each, and nobody is told of them but probes.
    ///
    /// # Errors
    /// When an interface is removed, or the operating system refuses to wait or to start a thread.
    pub fn run<O: Observer>(
        &mut self,
        stop: &AtomicBool,
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        let result = self
            .forward(stop, observer)
            .and_then(|()| self.finish(observer));
        // Without one of its interfaces the kernel bridge is of no use either.
        if result.is_err()
            && !matches!(result, Err(BridgeError::Gone(_)))
            && let Fallback::Bridge(bridge) = &mut self.fallback
        {
            bridge.leave_in_place();
            bridge.open_now();
        }
        result
    }

    /// As [`run`](Self::run), and nobody is told. The forwarding loop of most programs, optimised
    /// with this crate.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_unobserved(&mut self, stop: &AtomicBool) -> Result<(), BridgeError> {
        self.run(stop, &mut NoObserver)
    }

    /// Has all workers forward until `stop` is set or one of them cannot go on.
    fn forward<O: Observer>(
        &mut self,
        stop: &AtomicBool,
        observer: &mut O,
    ) -> Result<(), BridgeError> {
        let ended = AtomicBool::new(false);
        let ends = || stop.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed);
        let around = Around {
            kernel: self.fallback.bridge(),
            ends: &ends,
        };
        let (first, others) = self.workers.split_first_mut().expect("there is one");
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(others.len());
            let mut result = Ok(());
            for worker in others {
                let number = threads.len() + 1;
                let ended = &ended;
                let forward = move || {
                    // Also when it panics: then all end, and the link is the kernel's.
                    let _all_end = Ends(ended);
                    worker.watched(&mut NoObserver, |worker, seen| worker.forward(around, seen))
                };
                let thread = thread::Builder::new().name(format!("worker {number}"));
                match thread.spawn_scoped(scope, forward) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        ended.store(true, Ordering::Relaxed);
                        result = Err(error).doing("start a forwarding thread");
                        break;
                    }
                }
            }
            {
                let _all_end = Ends(&ended);
                let own = first.watched(observer, |worker, seen| worker.forward(around, seen));
                result = result.and(own);
            }
            for thread in threads {
                match thread.join() {
                    Ok(of_worker) => result = result.and(of_worker),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })
    }

    /// Hands over to the kernel bridge, if it stays, and sends what is held.
    fn finish<O: Observer>(&mut self, observer: &mut O) -> Result<(), BridgeError> {
        let clock = self.config.clock;
        let stays = self.fallback.bridge().filter(|bridge| bridge.stays());
        // Before the queues are emptied: a report of the end shows what they held.
        self.workers.iter_mut().for_each(Worker::close);
        // From here on the kernel bridge forwards, if it stays; what our sockets have is ours.
        if let Some(bridge) = stays {
            // The gate tells packet sockets whose a frame is; AF_XDP's program is told apart.
            bridge.open_now();
            self.workers.iter().for_each(Worker::leave_to_kernel);
            // Frames that saw the word from before are in our sockets then, and are sent below.
            wait_for_packets();
        }
        let now = clock.now();
        let (first, others) = self.workers.split_first_mut().expect("there is one");
        first.watched(observer, |worker, seen| worker.finish(now, seen))?;
        for worker in others {
            worker.watched(&mut NoObserver, |worker, seen| worker.finish(now, seen))?;
        }
        Ok(())
    }

    /// What has been counted up to now.
    pub fn snapshot(&mut self) -> Snapshot {
        let config = self.remote.config();
        let all = self.workers.iter_mut().map(Worker::snapshot).collect();
        Snapshot::of_workers(all, &config)
    }

    /// What has happened in one direction.
    pub fn stats(&mut self, side: Side) -> SideStats {
        self.snapshot().stats[side as usize]
    }

    /// The queue's parameters and statistics as `tc -s qdisc` shows them; after the end as they
    /// were at the stop, with what was held then.
    pub fn report(&mut self, side: Side) -> Report {
        let [up, down] = self.snapshot().reports;
        match side {
            Side::Up => up,
            Side::Down => down,
        }
    }

    /// Times that the loops went round.
    pub fn wakeups(&self) -> u64 {
        self.workers.iter().map(|worker| worker.wakeups).sum()
    }
}

/// Tells all workers that one of them has ended.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Fallback {
    /// The kernel bridge, where it forwards.
    const fn bridge(&self) -> Option<&FailOpenBridge> {
        match self {
            Self::Bridge(bridge) => Some(bridge),
            Self::NotWanted | Self::Impossible(_) => None,
        }
    }

    fn state(&self, ports: [&Interface; 2]) -> FailOpenState {
        match self {
            Self::NotWanted => FailOpenState::off(),
            Self::Impossible(why) => FailOpenState::impossible(&why.to_string()),
            Self::Bridge(bridge) => {
                let filters = in_the_way(ports, Some(bridge.index()));
                FailOpenState::of(&bridge.name(), None, filters.as_deref())
            }
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It would make anew what is removed here.
        self.monitor = None;
        if let Fallback::Bridge(bridge) = &mut self.fallback
            && bridge.remove()
        {
            let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
            for claim in claims.iter_mut() {
                // At worst it remembers a bridge that is gone.
                let _ = claim.remember_bridge(None);
            }
        }
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
        off.push(OffloadsOff::new(interface, offloads).doing(&what)?);
    }
    Ok(off)
}

/// Sets up what `config` wants to happen when this process dies.
fn set_up_fallback(
    config: &BridgeConfig,
    [left, right]: [&Interface; 2],
    claims: &mut [Claim],
    ports: &mut [[Port; 2]],
) -> Result<Fallback, BridgeError> {
    let without = match config.fail_open {
        FailOpen::Off => Fallback::NotWanted,
        wanted => {
            let keep = config.keep_bridge;
            let over = common_master(left, right).map(|(index, _)| index);
            if wanted == FailOpen::Require
                && let Some(why) = in_the_way([left, right], over)
            {
                return Err(BridgeError::FailOpen(FailOpenError::Filtered(why)));
            }
            match FailOpenBridge::install(left, right, keep, config.hook, claims, ports) {
                Ok(bridge) => return Ok(Fallback::Bridge(bridge)),
                Err(why) if wanted == FailOpen::Require => return Err(BridgeError::FailOpen(why)),
                Err(why) => Fallback::Impossible(why),
            }
        }
    };
    match common_master(left, right) {
        None => Ok(without),
        Some((_, name)) => Err(BridgeError::Doubled {
            name,
            reason: match without {
                Fallback::Impossible(why) => why.to_string(),
                _ => "it has to be the way round, and fail open is off".to_owned(),
            },
        }),
    }
}
