//! How the forwarding thread waits: for frames, for what is due, for room to send.

use super::Worker;
use crate::forwarding::engine::Wait;
use crate::forwarding::error::BridgeError;
use crate::forwarding::port::FramePort;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sojourn_units::{Span, Time};
use std::os::fd::AsFd;
use std::time::Duration;

/// Longest sleep: how late a request to stop may be seen.
const LONGEST_SLEEP: Span = Span::from_millis(50);

/// Shortest time from one look at the interfaces to the next: what is due sooner waits so long, and
/// leaves with what has become due by then. A frame that arrives ends it, unless the thread is
/// [busy](Load).
const SHORTEST_TURN: Span = Span::from_micros(50);

/// The same while a shaper holds frames: what is due within so short a time leaves together.
const SHAPED_TURN: Span = Span::from_micros(250);
/// The same while only frames in a hurry end it: the link's time for so many bytes, but no shorter
/// than [`SHAPED_TURN`] and no longer than what sqm-scripts has a shaper send at once by default.
const SHARED_BYTES: u64 = 32 << 10;
const LONGEST_SHARED: Span = Span::from_millis(1);
/// The same while frames that arrive do not end it: a question and its answer wait one each.
const SHAPED_STEADY_TURN: Span = Span::from_micros(200);

/// Frames in a second, over so long a time, that make the thread busy.
const BUSY: u64 = 40_000;
/// Sleeps in a second, over a [`SPELL`], that frames have ended while a shaper holds others, from
/// which on they end none for [`STEADY`]: the ACKs of what is being sent, for the most part.
const WOKEN: u64 = 2000;
const STEADY: Span = Span::from_millis(100);

/// Longest time for which no look is taken at an interface whose frames cannot leave: what arrives
/// meanwhile has to find room in its socket, 2 MiB of it at 10 Gbit/s.
const LONGEST_CLOSED: Span = Span::from_millis(2);

/// Frames in a second, over a [`SPELL`], from which it is [a flood](Load), and below which it ends.
const FLOOD: [u64; 2] = [200_000, 100_000];
const SPELL: Span = Span::from_millis(10);
/// The time between two looks in a flood.
const FLOOD_TURN: Span = Span::from_micros(100);

/// Whether so many frames come that waking up for each costs more than it brings: the sender a call
/// to this thread, this thread a look at all that may have woken it. While it is busy it looks
/// every [`SHORTEST_TURN`], as an interface does with moderated interrupts; in a flood, as one that
/// adapts them to the load, less often. Interfaces that can gather frames do so in a flood instead,
/// and wake it up for all that they have gathered.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Since when frames are counted, and how many there were.
    recent: Count,
    is_busy: bool,
    spell: Count,
    is_flood: bool,
    /// Bytes taken in, and how many of them there were a second.
    bytes: Count,
    pace: u64,
    /// Sleeps that frames have ended.
    woken: Count,
    /// Until then they end none while a shaper holds frames.
    steady_until: Time,
}

/// Frames since a time.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    since: Time,
    frames: u64,
}

impl Count {
    /// Adds those of a look at `now`. Yields how many there were a second, and begins anew, when
    /// so long a time has passed.
    fn add(&mut self, frames: usize, now: Time, least: Span) -> Option<u64> {
        self.frames += frames as u64;
        let passed = now - self.since;
        if passed < least {
            return None;
        }
        let nanos = self.frames.saturating_mul(1_000_000_000);
        *self = Self {
            since: now,
            frames: 0,
        };
        Some(nanos / passed.as_nanos())
    }
}

impl Load {
    /// At a look at `now` so many frames were taken in. Tells whether a flood has begun or ended.
    fn add(&mut self, frames: usize, now: Time) -> bool {
        if let Some(pace) = self.recent.add(frames, now, SHORTEST_TURN) {
            self.is_busy = pace >= BUSY;
        }
        let was_flood = self.is_flood;
        if let Some(pace) = self.spell.add(frames, now, SPELL) {
            self.is_flood = pace >= FLOOD[usize::from(was_flood)];
        }
        self.is_flood != was_flood
    }

    /// So many bytes were taken in at a look at `now`.
    fn carry(&mut self, bytes: usize, now: Time) {
        if let Some(pace) = self.bytes.add(bytes, now, SPELL) {
            self.pace = pace;
        }
    }

    /// As [`add`](Self::add), and has the ports gather frames as long as there is a flood.
    fn look<P: FramePort>(&mut self, frames: usize, now: Time, ports: &mut [P; 2]) {
        if self.add(frames, now) {
            for port in ports {
                port.moderate(self.is_flood);
            }
        }
    }

    /// Whether frames that arrive are to wait for the next look. Not in a flood that the ports
    /// gather: then they come seldom enough.
    fn sleeps<P: FramePort>(&self, ports: &[P; 2], is_steady: bool) -> bool {
        (self.is_busy || is_steady) && !(self.is_flood && ports.iter().all(P::gathers))
    }

    /// A sleep while a shaper holds frames has ended, with a frame or without. Tells whether
    /// frames are to end none from now on.
    fn slept(&mut self, was_woken: bool, now: Time) {
        if let Some(pace) = self.woken.add(usize::from(was_woken), now, SPELL)
            && pace >= WOKEN
        {
            self.steady_until = now + STEADY;
        }
    }

    /// The earliest time of the look after that at `now`.
    fn next(&self, wait: &Wait, sleeps: bool, now: Time) -> Time {
        if sleeps || !wait.is_patient() || wait.hurries {
            return now + self.turn(wait, sleeps);
        }
        // The next that is due is late by no more than this.
        let nanos = SHARED_BYTES * 1_000_000_000 / self.pace.max(1);
        let late = Span::from_nanos(nanos).max(SHAPED_TURN).min(LONGEST_SHARED);
        wait.until.max(now).min(now + LONGEST_CLOSED) + late
    }

    /// The shortest time between two looks.
    fn turn(&self, wait: &Wait, sleeps: bool) -> Span {
        let is_shaped = wait.is_shaped();
        if is_shaped && sleeps {
            SHAPED_STEADY_TURN
        } else if wait.is_patient() && wait.hurries {
            SHORTEST_TURN
        } else if is_shaped {
            SHAPED_TURN
        } else if self.is_flood {
            FLOOD_TURN
        } else {
            SHORTEST_TURN
        }
    }
}

impl Worker {
    /// Rests, then waits for a frame, for the next due time, or for room to send. Yields the time
    /// up to which frames are to be looked at then.
    pub(super) fn sleep(&mut self, wait: Wait, now: Time) -> Result<Time, BridgeError> {
        let clock = self.config.clock;
        let patience = self.engine.patience().min(self.longest_sleep());
        if self.config.busy_poll || wait.more {
            return Ok(clock.now());
        }
        if clock.is_virtual() && !wait.blocked && !patience.is_zero() {
            // Nothing that arrives can be due earlier, and sleep ends on time.
            let until = wait.until.min(now + patience);
            clock.sleep_until(until);
            return Ok(until);
        }
        if clock.is_virtual() {
            self.rest(wait)?;
            return Ok(clock.now());
        }
        self.load.look(wait.taken, now, &mut self.engine.ports);
        self.load.carry(wait.bytes, now);
        let is_shaped = wait.is_shaped();
        let is_steady = is_shaped && now < self.load.steady_until;
        let sleeps = if wait.is_patient() {
            is_steady
        } else {
            self.load.sleeps(&self.engine.ports, is_steady)
        };
        let next = self.load.next(&wait, sleeps, now);
        // If it is the interface's own queue that is full, sockets do not know.
        if wait.blocked || sleeps {
            clock.sleep_until(next);
        }
        if wait.blocked || !sleeps {
            let until = wait.until.max(next);
            let was_woken = self.rest(Wait { until, ..wait })?;
            let now = clock.now();
            if is_shaped {
                self.load.slept(was_woken, now);
            }
            return Ok(now);
        }
        Ok(clock.now())
    }

    fn longest_sleep(&self) -> Span {
        let watchdog = self.watchdog.as_ref();
        watchdog.map_or(LONGEST_SLEEP, |dog| dog.patience().min(LONGEST_SLEEP))
    }

    /// Sleeps until something is due; tells whether a port has ended it.
    fn rest(&self, wait: Wait) -> Result<bool, BridgeError> {
        if !self.config.rest.is_zero() {
            std::thread::sleep(Duration::from_nanos(self.config.rest.as_nanos()));
        }
        let now = self.config.clock.now();
        let mut span = (wait.until - now).min(self.longest_sleep());
        if wait.is_shaped() {
            span = span.min(LONGEST_CLOSED);
        }
        if span.is_zero() {
            return Ok(false);
        }
        let events = if wait.blocked {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let watch = |fd, events| PollFd::from_borrowed_fd(fd, events);
        let bell = self.inbox.as_ref().map(|inbox| inbox.bell());
        let mut polled: Vec<_> = bell
            .map(|bell| watch(bell, PollFlags::IN))
            .into_iter()
            .collect();
        let mut alarms = [None; 2];
        for (side, port) in self.engine.ports.iter().enumerate() {
            // What could not leave before this sleep ends need not end it.
            if wait.closed_until[side] >= now + span {
                continue;
            }
            match port.alarm().filter(|_| wait.patient[side] && !wait.blocked) {
                Some(alarm) => {
                    alarms[side] = Some(polled.len());
                    polled.push(watch(alarm, events));
                }
                None => polled.extend(port.fds().iter().map(|fd| watch(fd.as_fd(), events))),
            }
        }
        let timeout = Timespec {
            tv_sec: (span.as_nanos() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.as_nanos() % 1_000_000_000).cast_signed(),
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => Ok(false),
            Ok(count) => {
                let rung = bell.is_some() && !polled[0].revents().is_empty();
                if let Some(inbox) = self.inbox.as_ref().filter(|_| rung) {
                    inbox.heard();
                }
                for (port, alarm) in self.engine.ports.iter().zip(alarms) {
                    if alarm.is_some_and(|place: usize| !polled[place].revents().is_empty()) {
                        port.clear_alarm();
                    }
                }
                Ok(count > usize::from(rung))
            }
            Err(error) => Err(BridgeError::io("wait for frames", error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::forwarding::{Frame, Pool, PortCounters};
    use std::collections::VecDeque;
    use std::io;
    use std::os::fd::OwnedFd;

    /// Whether it is busy after each of these looks: µs since the last, and frames.
    fn busy(looks: &[(u64, usize)]) -> Vec<bool> {
        let (mut load, mut now) = (Load::default(), Time::ZERO + Span::from_secs(1));
        looks
            .iter()
            .map(|(micros, frames)| {
                now += Span::from_micros(*micros);
                load.add(*frames, now);
                load.is_busy
            })
            .collect()
    }

    #[test]
    fn forty_thousand_frames_a_second_are_busy_however_they_come() {
        // One by one every 25 µs, then in batches, then no more.
        let steady = [
            (25, 1),
            (25, 1),
            (25, 1),
            (50, 2),
            (50, 9),
            (50, 1),
            (1000, 1),
        ];
        assert_eq!(
            busy(&steady),
            [false, false, true, true, true, false, false]
        );
        // A burst after a silence, and every 30 µs.
        assert_eq!(busy(&[(5000, 60), (30, 1)]), [false, false]);
        assert!(!busy(&[(30, 1); 100]).contains(&true));
    }

    #[test]
    fn a_flood_begins_and_ends_with_its_load() {
        let (mut load, mut now) = (Load::default(), Time::ZERO + Span::from_secs(1));
        let mut look = |frames, looks| {
            let mut changes = 0;
            for _ in 0..looks {
                now += Span::from_micros(50);
                changes += u32::from(load.add(frames, now));
            }
            (load.is_flood, changes, load.turn(&waits(false), false))
        };
        // 180 000 a second are none, 220 000 are, and 120 000 still.
        assert_eq!(look(9, 1000), (false, 0, SHORTEST_TURN));
        assert_eq!(look(11, 400), (true, 1, FLOOD_TURN));
        assert_eq!(look(6, 1000), (true, 0, FLOOD_TURN));
        assert_eq!(look(4, 400), (false, 1, SHORTEST_TURN));
        // Nor is a burst of 1 ms.
        look(0, 1000);
        assert_eq!(look(60, 20), (false, 0, SHORTEST_TURN));
    }

    #[test]
    fn acks_that_end_many_sleeps_end_none_for_a_while() {
        let (mut load, mut now) = (Load::default(), Time::ZERO + Span::from_secs(1));
        let mut sleep = |length, woken: fn(u64) -> bool| {
            for number in 0..100 {
                now += Span::from_micros(length);
                load.slept(woken(number), now);
            }
            (now, load.steady_until)
        };
        // 4000 sleeps a second: of two in five 1600 are ended by frames, of all 4000.
        assert_eq!(sleep(250, |number| number % 5 < 2).1, Time::ZERO);
        let (now, until) = sleep(250, |_| true);
        assert!(until > now && until <= now + STEADY, "{until:?}");
        let ports = [Noting::default(), Noting::default()];
        assert!(!load.sleeps(&ports, false));
        assert!(load.sleeps(&ports, now < until));
        assert_eq!(load.turn(&waits(true), false), SHAPED_TURN);
        assert_eq!(load.turn(&waits(true), true), SHAPED_STEADY_TURN);
    }

    /// What to wait for where a shaper holds frames, or none.
    fn waits(is_shaped: bool) -> Wait {
        Wait {
            until: Time::MAX,
            blocked: false,
            more: false,
            taken: 0,
            bytes: 0,
            closed_until: [if is_shaped { Time::MAX } else { Time::ZERO }; 2],
            patient: [false; 2],
            hurries: false,
        }
    }

    /// What is due is late by no more than 1 ms, or the link's time for 32 KiB, unless something is
    /// in a hurry.
    #[test]
    fn the_faster_the_link_the_sooner_what_is_due_leaves() {
        let (now, due) = (Time::ZERO + Span::from_secs(1), Span::from_micros(600));
        let late = |bytes, hurries, sleeps| {
            let mut load = Load::default();
            load.carry(0, now);
            load.carry(bytes, now + SPELL);
            let (now, patient) = (now + SPELL, [true; 2]);
            let until = now + due;
            let wait = Wait {
                until,
                patient,
                hurries,
                ..waits(true)
            };
            load.next(&wait, sleeps, now) - now
        };
        // In 10 ms what 20 and 500 Mbit/s and 1 and 10 Gbit/s carry.
        assert_eq!(late(25_000, false, false), due + LONGEST_SHARED);
        assert_eq!(late(625_000, false, false), due + Span::from_nanos(524_288));
        assert_eq!(
            late(1_250_000, false, false),
            due + Span::from_nanos(262_144)
        );
        assert_eq!(late(12_500_000, false, false), due + SHAPED_TURN);
        assert_eq!(late(25_000, true, false), SHORTEST_TURN);
        assert_eq!(late(25_000, false, true), SHAPED_STEADY_TURN);
        // What is due long after that does not keep ACKs that long.
        let wait = Wait {
            patient: [true; 2],
            ..waits(true)
        };
        let next = Load::default().next(&wait, false, now);
        assert_eq!(next - now, LONGEST_CLOSED + LONGEST_SHARED);
    }

    /// A port that only notes whether it is to gather frames, and does.
    #[derive(Default)]
    struct Noting {
        told: Vec<bool>,
        can: bool,
    }

    impl FramePort for Noting {
        fn receive(&mut self, _: &mut Pool, _: &Clock, _: &mut Vec<Frame>) -> io::Result<usize> {
            Ok(0)
        }

        fn send(&mut self, _: &mut Pool, _: &mut VecDeque<Frame>) -> io::Result<()> {
            Ok(())
        }

        fn fds(&self) -> &[OwnedFd] {
            &[]
        }

        fn counters(&mut self) -> PortCounters {
            PortCounters::default()
        }

        fn moderate(&mut self, is_on: bool) {
            self.told.push(is_on);
        }

        fn gathers(&self) -> bool {
            self.can && self.told.last() == Some(&true)
        }
    }

    /// What both ports are told, and whether it sleeps after the last look.
    fn look_at(ports: &mut [Noting; 2], frames: usize, load: &mut Load, now: &mut Time) -> bool {
        for _ in 0..400 {
            *now += Span::from_micros(50);
            load.look(frames, *now, ports);
        }
        load.sleeps(ports, false)
    }

    #[test]
    fn in_a_flood_ports_gather_frames_and_wake_it_up() {
        let (mut load, mut now) = (Load::default(), Time::ZERO + Span::from_secs(1));
        let mut ports = [Noting::default(), Noting::default()];
        ports[0].can = true;
        let mut sleeps = |ports: &mut _, frames| look_at(ports, frames, &mut load, &mut now);
        assert!(sleeps(&mut ports, 9));
        // Frames of the other one would wake it up one by one.
        assert!(sleeps(&mut ports, 11));
        ports[1].can = true;
        assert!(!sleeps(&mut ports, 11));
        assert!(sleeps(&mut ports, 4));
        assert!(!sleeps(&mut ports, 0));
        for port in ports {
            assert_eq!(port.told, [true, false]);
        }
    }
}
