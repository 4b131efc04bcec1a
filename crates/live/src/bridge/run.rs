//! The bridge on real interfaces: opening, the loop, closing.

use super::config::{BridgeConfig, Side};
use super::engine::{Engine, Wait};
use super::error::BridgeError;
use super::frame::Pool;
use super::observer::Observer;
use super::port::{BATCH, FramePort, PortCounters};
use crate::interface::{Interface, OffloadsOff};
use crate::packet_socket::PacketSocket;
use sojourn_qdisc::{Backlog, Counters, Report, Tally};
use sojourn_units::{Span, Time};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest sleep: how late a request to stop may be seen.
const LONGEST_SLEEP: Span = Span::from_millis(50);

/// A bridge with its interfaces open. Open and run it on a thread that is in the network
/// namespace of the interfaces.
pub struct Bridge {
    engine: Engine<PacketSocket>,
    config: BridgeConfig,
    names: [String; 2],
    _offloads: Vec<OffloadsOff>,
    counters: LoopCounters,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoopCounters {
    wakeups: u64,
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
            PacketSocket::open(&mut pool, config.qdisc_bypass).map_err(|error| {
                BridgeError::io(
                    &format!("open a packet socket on `{}`", interface.name),
                    error,
                )
            })
        };
        let mut sockets = (open(&left)?, open(&right)?);
        let mut offloads = Vec::new();
        if !config.keep_offloads {
            for interface in [&left, &right] {
                let off = OffloadsOff::new(&interface.name).map_err(|error| {
                    BridgeError::io(&format!("turn off GRO on `{}`", interface.name), error)
                })?;
                offloads.push(off);
            }
        }
        for (socket, interface) in [(&mut sockets.0, &left), (&mut sockets.1, &right)] {
            socket.bind(interface).map_err(|error| {
                BridgeError::io(&format!("bind to `{}`", interface.name), error)
            })?;
        }
        let mtu = left.mtu.min(right.mtu);
        Ok(Self {
            engine: Engine::new(&config, pool, sockets.0, sockets.1, mtu),
            names: [left.name, right.name],
            _offloads: offloads,
            config,
            counters: LoopCounters::default(),
        })
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
        while !stop.load(Ordering::Relaxed) {
            self.counters.wakeups += 1;
            let now = self.config.clock.now();
            let wait = self.step(now, observer)?;
            self.sleep(wait)?;
        }
        let now = self.config.clock.now();
        let finished = self.engine.finish(now, observer);
        finished.map_err(|error| BridgeError::io("send the last frames", error))
    }

    fn step<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<Wait, BridgeError> {
        self.engine.step(now, observer).map_err(|error| {
            let gone = self
                .names
                .iter()
                .find(|name| Interface::find(name).is_err());
            match gone {
                Some(name) => BridgeError::Gone(name.clone()),
                None => BridgeError::io("forward frames", error),
            }
        })
    }

    /// Waits for a frame, for the next due time, or for room to send.
    fn sleep(&mut self, wait: Wait) -> Result<(), BridgeError> {
        if self.config.busy_poll {
            return Ok(());
        }
        let now = self.config.clock.now();
        let span = (wait.until - now).min(LONGEST_SLEEP);
        if span.is_zero() {
            return Ok(());
        }
        let events = if wait.blocked {
            libc::POLLIN | libc::POLLOUT
        } else {
            libc::POLLIN
        };
        let poll = |fd: Option<i32>| libc::pollfd {
            fd: fd.unwrap_or(-1),
            events,
            revents: 0,
        };
        let mut fds = [poll(self.engine.left.fd()), poll(self.engine.right.fd())];
        let timeout = libc::timespec {
            tv_sec: (span.as_nanos() / 1_000_000_000) as libc::time_t,
            tv_nsec: (span.as_nanos() % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the array and the time outlive the call; the mask may be null.
        let result = unsafe {
            libc::ppoll(
                fds.as_mut_ptr(),
                fds.len() as libc::nfds_t,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(BridgeError::io("wait for frames", error));
            }
        }
        Ok(())
    }

    /// What has happened in one direction.
    pub fn stats(&mut self, side: Side) -> SideStats {
        let (input, output) = self.engine.ports(side);
        let lane = self.engine.lane(side);
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
        self.engine.lane(side).qdisc().report(now)
    }

    /// Times that the loop went round.
    pub fn wakeups(&self) -> u64 {
        self.counters.wakeups
    }
}

/// Asks the kernel to wake this thread up on time: no timer slack, and real-time priority if we
/// may have it. Without the latter the bridge works as well, only less evenly on a busy machine.
fn wake_precisely() {
    let parameter = libc::sched_param { sched_priority: 10 };
    // SAFETY: PR_SET_TIMERSLACK takes a number; the parameter outlives the other call, and 0
    // means the calling thread. Failure leaves things as they were.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter);
    }
}
