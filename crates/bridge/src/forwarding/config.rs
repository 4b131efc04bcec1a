//! What a bridge is made of.

use super::by_port::{Labels, PathDelays};
use super::circuits::Circuits;
use super::side::Side;
use super::workers::BeyondWorkers;
use crate::clock::Clock;
use crate::namespace::Namespace;
use crate::sys::Hook;
use rustix::rand::{GetRandomFlags, getrandom};
use sojourn_autorate::{Params, Reflector};
use sojourn_line::{Line, LineChange, LineRate};
use sojourn_qdisc::Spec;
use sojourn_units::{Span, Time};
use std::sync::Arc;

/// A bridge between two interfaces of the calling thread's network namespace.
#[derive(Clone, Debug)]
pub struct BridgeConfig {
    /// The clients' interface: frames that arrive here go up.
    pub left: String,
    /// The servers' interface: frames that arrive here go down.
    pub right: String,
    /// From left to right.
    pub up: Direction,
    /// From right to left.
    pub down: Direction,
    /// What becomes of the two directions while it runs, in the order of time.
    pub changes: Vec<Change>,
    /// Seed of the random streams (AQM, loss, jitter) and of the hash of flows: who knows it can
    /// choose ports that share a queue with others. Default random.
    pub seed: u64,
    /// Whose connection tracking queues with `nat` ask; none: that of the calling thread's
    /// network namespace.
    pub gateway: Option<Namespace>,
    /// The clock whose zero is [`sojourn_units::Time::ZERO`] in everything the bridge reports.
    pub clock: Clock,
    /// Never sleep: poll the interfaces in a loop. Costs one processor.
    pub busy_poll: bool,
    /// What a shaper holds leaves together with what is due within the next millisecond, unless it
    /// is in a hurry, and full TCP segments of it as super-packets: that takes fewer wake-ups. Not
    /// in a test bed, where each frame leaves alone at its own time. Default false.
    pub saves_wakeups: bool,
    /// Pause after each look at the interfaces: a busy bridge wakes up that much more seldom, and
    /// frames leave up to that much later. What the queues see stays as it is: arrivals have the
    /// kernel's stamps, and transmitters their own clock. Zero: none.
    pub rest: Span,
    /// What happens to the link when this process dies.
    pub fail_open: FailOpen,
    /// What keeps frames that this process has taken from the kernel bridge.
    pub hook: Hook,
    /// Claim the interfaces in [`STATE`](crate::STATE): no other bridge may have them, and what is
    /// changed there is remembered. Not for interfaces that nobody else sees, the default.
    pub claim: bool,
    /// How long the forwarding thread may stand still before the kernel bridge of [`FailOpen`]
    /// takes over; zero: for ever. Default 100 ms.
    pub watchdog: Span,
    /// When it has stood still for longer, what was held and what waits is too old to be sent: it
    /// is dropped and counted. Default never.
    pub stale: Span,
    /// Leave the kernel bridge of [`FailOpen`] in place on a clean stop too.
    pub keep_bridge: bool,
    /// Leave GRO and LRO of both interfaces as they are. They gather packets into bursts before
    /// the queue sees them, so they are turned off by default, and on again at the end.
    pub keep_offloads: bool,
    /// What brings frames in and out. Default AF_PACKET.
    pub port: PortChoice,
    /// Hand frames to the driver without the interface's own qdisc (`PACKET_QDISC_BYPASS`); AF_XDP
    /// always does.
    pub qdisc_bypass: bool,
    /// Forwarding threads, each with a queue of its own each way; flows are spread over them by a
    /// hash that both directions of a flow have in common, and all have one rate together
    /// ([`sojourn_qdisc::SharedRate`]). Default 1, [`sojourn_qdisc::WORKERS`] at most.
    pub workers: u32,
    /// Most bytes that the frames of one direction may hold, in its queue and on the way. Beyond
    /// it arriving frames are dropped and counted (`no_buffer`). A frame holds 2.2 KiB, and above
    /// 2 KiB a second part of 4, 8, 16, 32 or 64 KiB. Default 144 MiB.
    pub memory: u64,
    /// Who is asked how long the link beyond the right interface takes, where a rate follows it,
    /// beside the packets that pass. The host must reach them over that link. Default: nobody.
    pub reflectors: Vec<Reflector>,
}

impl BridgeConfig {
    /// A bridge that passes frames on at once, to be filled in.
    pub fn new(left: &str, right: &str) -> Self {
        Self {
            left: left.to_owned(),
            right: right.to_owned(),
            up: Direction::transparent("up"),
            down: Direction::transparent("down"),
            changes: Vec::new(),
            seed: random_word(),
            gateway: None,
            clock: Clock::start(),
            busy_poll: false,
            saves_wakeups: false,
            rest: Span::ZERO,
            fail_open: FailOpen::Off,
            hook: Hook::Newest,
            claim: false,
            watchdog: Span::from_millis(100),
            stale: Span::MAX,
            keep_bridge: false,
            keep_offloads: false,
            port: PortChoice::Packet,
            qdisc_bypass: false,
            workers: 1,
            memory: 144 << 20,
            reflectors: Vec::new(),
        }
    }
}

impl BridgeConfig {
    /// One of the directions.
    pub fn side(&mut self, side: Side) -> &mut Direction {
        match side {
            Side::Up => &mut self.up,
            Side::Down => &mut self.down,
        }
    }

    /// The same to look at.
    pub(super) const fn direction(&self, side: Side) -> &Direction {
        match side {
            Side::Up => &self.up,
            Side::Down => &self.down,
        }
    }

    /// What of `memory` is a worker's.
    pub(super) fn memory_of_worker(&self) -> u64 {
        self.memory / u64::from(self.workers.max(1))
    }

    /// What several workers cannot do, where there are several and it is asked for.
    pub fn beyond_workers(&self) -> Option<BeyondWorkers> {
        if self.workers <= 1 {
            return None;
        }
        if self.port == PortChoice::Xdp {
            return Some(BeyondWorkers::Xdp);
        }
        if !self.changes.is_empty() {
            return Some(BeyondWorkers::Changes);
        }
        [&self.up, &self.down]
            .into_iter()
            .find_map(|it| BeyondWorkers::of(&it.line, &it.qdisc, it.autorate.is_some()))
    }

    /// How the rates follow the link beyond the right interface, by side.
    pub(super) fn autorates(&self) -> [Option<Params>; 2] {
        [self.up.autorate, self.down.autorate]
    }

    /// What cannot be changed while a bridge runs becomes as it is in `running`: interfaces, clock,
    /// dice, changes to come, and all that is set up once at the interfaces.
    pub(super) fn keep_fixed(&mut self, running: &Self) {
        let wanted = std::mem::replace(self, running.clone());
        self.busy_poll = wanted.busy_poll;
        self.watchdog = wanted.watchdog;
        self.stale = wanted.stale;
        self.memory = wanted.memory;
        self.reflectors = wanted.reflectors;
        for (side, wanted) in Side::BOTH.into_iter().zip([wanted.up, wanted.down]) {
            let direction = self.side(side);
            direction.qdisc = wanted.qdisc;
            direction.circuits = wanted.circuits;
            direction.split_gso = wanted.split_gso;
            direction.line = wanted.line;
            direction.autorate = wanted.autorate;
        }
    }
}

/// From the kernel's own dice.
pub(crate) fn random_word() -> u64 {
    let mut seed = [0; 8];
    // It waits until the kernel has gathered enough, and a signal cannot cut eight bytes short.
    let filled = getrandom(&mut seed[..], GetRandomFlags::empty());
    debug_assert_eq!(filled, Ok(seed.len()), "Linux has getrandom(2) since 3.17");
    u64::from_ne_bytes(seed)
}

/// One direction of a bridge: queue, transmitter, delay.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Its name, which names its dice.
    pub name: String,
    /// The queue.
    pub qdisc: Spec,
    /// Whether super-packets are cut into their segments before the queue; not before a CAKE with
    /// `no-split-gso`. Default (none): behind a rate of up to 1 Gbit/s, a trace or a token bucket.
    pub split_gso: Option<bool>,
    /// Rate, delay, jitter and loss, as in the simulator.
    pub line: Line,
    /// Has the rate of `line`, from which it begins, follow the link beyond the right interface;
    /// see [`sojourn_autorate`]. Default: it stays.
    pub autorate: Option<Params>,
    /// Delay beyond that of `line`, by flow.
    pub paths: PathDelays,
    /// Marks and classes, by flow; they go before the mark that the kernel tells.
    pub labels: Labels,
    /// Whose packets are whose, for a queue that is a tree of rates.
    pub circuits: Option<Arc<Circuits>>,
}

impl Direction {
    /// Infinite rate, no delay, `pfifo`.
    pub fn transparent(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            qdisc: Spec::pfifo(1000),
            split_gso: None,
            line: Line::new(LineRate::Infinite),
            autorate: None,
            paths: PathDelays::default(),
            labels: Labels::default(),
            circuits: None,
        }
    }
}

/// What becomes of a direction while the bridge runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// Of which direction.
    pub side: Side,
    /// Its line from then on.
    pub line: LineChange,
    /// The queue from then on; no packet is lost by the change itself. None: it stays.
    pub qdisc: Option<Spec>,
}

/// What happens to the link when this process dies, even by `kill -9`.
///
/// A kernel bridge over both interfaces is the way round us. While we live, our sockets take all
/// frames, for the next moment only ([`BridgeConfig::watchdog`]), and a BPF program at the ingress
/// of both keeps those from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOpen {
    /// The link goes down with us.
    Off,
    /// The kernel bridge takes over if the kernel can do it; else as [`FailOpen::Off`].
    Prefer,
    /// As `Prefer`, but the bridge does not start if the kernel cannot do it.
    Require,
}

/// What brings the frames of both interfaces in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortChoice {
    /// AF_PACKET: offloads stay as they are, super-packets pass whole.
    #[default]
    Packet,
    /// AF_XDP, without copies where the driver can do that; AF_PACKET where it is refused.
    Xdp,
    /// AF_XDP where the drivers of both can do without copies, else AF_PACKET.
    Auto,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the same ports would share a queue in every installation.
    #[test]
    fn no_two_bridges_have_the_same_dice() {
        assert_ne!(
            BridgeConfig::new("a", "b").seed,
            BridgeConfig::new("a", "b").seed
        );
    }
}
