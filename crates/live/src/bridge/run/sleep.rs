//! How the forwarding thread waits: for frames, for what is due, for room to send.

use super::Worker;
use crate::bridge::engine::Wait;
use crate::bridge::error::BridgeError;
use crate::bridge::port::FramePort;
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

/// Frames in so long a time that make the thread busy: 40 000 a second.
const BUSY: u64 = 2;

/// Whether so many frames come that waking up for each costs more than it brings: the sender a call
/// to this thread, this thread a look at all that may have woken it. While it is busy it looks
/// every [`SHORTEST_TURN`], as an interface does with moderated interrupts.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Since when frames are counted, and how many there were.
    since: Time,
    frames: u64,
    is_busy: bool,
}

impl Load {
    /// At a look at `now` so many frames were taken in.
    fn add(&mut self, frames: usize, now: Time) {
        self.frames += frames as u64;
        let passed = now - self.since;
        if passed >= SHORTEST_TURN {
            let [came, least] = [(self.frames, SHORTEST_TURN), (BUSY, passed)]
                .map(|(frames, span)| frames.saturating_mul(span.as_nanos()));
            *self = Self {
                since: now,
                frames: 0,
                is_busy: came >= least,
            };
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
        let next = now + SHORTEST_TURN;
        self.load.add(wait.taken, now);
        // If it is the interface's own queue that is full, sockets do not know.
        if wait.blocked || self.load.is_busy {
            clock.sleep_until(next);
        }
        if wait.blocked || !self.load.is_busy {
            let until = wait.until.max(next);
            self.rest(Wait { until, ..wait })?;
        }
        Ok(clock.now())
    }

    fn longest_sleep(&self) -> Span {
        let watchdog = self.watchdog.as_ref();
        watchdog.map_or(LONGEST_SLEEP, |dog| dog.patience().min(LONGEST_SLEEP))
    }

    fn rest(&self, wait: Wait) -> Result<(), BridgeError> {
        if !self.config.rest.is_zero() {
            std::thread::sleep(Duration::from_nanos(self.config.rest.as_nanos()));
        }
        let now = self.config.clock.now();
        let span = (wait.until - now).min(self.longest_sleep());
        if span.is_zero() {
            return Ok(());
        }
        let events = if wait.blocked {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let ports = self.engine.ports.iter().flat_map(FramePort::fds);
        let ports = ports.map(|fd| (fd.as_fd(), events));
        let bell = self.inbox.iter().map(|inbox| (inbox.bell(), PollFlags::IN));
        let mut polled: Vec<_> = bell
            .chain(ports)
            .map(|(fd, events)| PollFd::from_borrowed_fd(fd, events))
            .collect();
        let timeout = Timespec {
            tv_sec: (span.as_nanos() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.as_nanos() % 1_000_000_000).cast_signed(),
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) => {
                let rung = polled
                    .first()
                    .is_some_and(|bell| !bell.revents().is_empty());
                if let Some(inbox) = self.inbox.as_ref().filter(|_| rung) {
                    inbox.heard();
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(BridgeError::io("wait for frames", error.into())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
