//! Both directions over two ports: what happens at one wake-up. No clock of its own.

use super::config::{BridgeConfig, Change};
use super::frame::{BATCH, Frame, Pool};
use super::lane::Lane;
use super::observer::Observer;
use super::plan::Plan;
use super::port::{FramePort, PortCounters};
use super::side::Side;
use crate::clock::Clock;
use crate::hurry::FULL;
use sojourn_units::{Span, Time};
use std::io;

/// Most batches taken from one port before the other has its turn.
const BATCHES: usize = 8;

/// Batches that a port holds at most: 32 MiB of the smallest frames, as the kernel counts them.
const WAITING: usize = (32 << 20) / 768 / BATCH;

/// A direction in which no full frame has come for so long has only ACKs of the other one.
const ONLY_ACKS: Span = Span::from_millis(10);

/// The two ports and what is between them.
pub(crate) struct Engine<P> {
    /// Where each side comes in.
    pub(crate) ports: [P; 2],
    /// By side, as what follows.
    pub(crate) pools: [Pool; 2],
    pub(crate) lanes: [Lane; 2],
    clock: Clock,
    /// See [`BridgeConfig::saves_wakeups`].
    saves_wakeups: bool,
    arrivals: Vec<Frame>,
    /// When the last frame arrived.
    pub(crate) last_arrival: Time,
    /// By side, when the last full one did.
    last_full: [Time; 2],
    /// Bytes that have arrived since the last look.
    bytes: usize,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The next time at which something has to leave.
    pub(crate) until: Time,
    /// A port had no room for frames that have to leave now.
    pub(crate) blocked: bool,
    /// Frames are left to be read.
    pub(crate) more: bool,
    /// Frames that have been taken in, and their bytes.
    pub(crate) taken: usize,
    pub(crate) bytes: usize,
    /// By side, until when no frame that arrives there could leave: none need wake the thread up.
    pub(crate) closed_until: [Time; 2],
    /// By side, whether of the frames that arrive there only those in a hurry need wake it up.
    pub(crate) patient: [bool; 2],
    /// A frame in a hurry is held.
    pub(crate) hurries: bool,
}

impl Wait {
    /// Whether only frames in a hurry need wake it up.
    pub(crate) fn is_patient(&self) -> bool {
        self.patient == [true; 2]
    }

    /// Whether a shaper holds frames of either direction.
    pub(crate) fn is_shaped(&self) -> bool {
        self.closed_until.iter().any(|time| *time > Time::ZERO)
    }
}

impl<P: FramePort> Engine<P> {
    /// With what is to be between the ports, by side.
    pub(crate) fn new(
        config: &BridgeConfig,
        pools: [Pool; 2],
        ports: [P; 2],
        lanes: [Lane; 2],
    ) -> Self {
        Self {
            ports,
            pools,
            lanes,
            clock: config.clock,
            // A wake-up saved makes something late, which in virtual time would change results and
            // save nothing.
            saves_wakeups: config.saves_wakeups && !config.clock.is_virtual(),
            arrivals: Vec::with_capacity(BATCH),
            last_arrival: Time::ZERO,
            last_full: [Time::ZERO; 2],
            bytes: 0,
        }
    }

    /// What its queues are, by side.
    pub(crate) fn plans(&self) -> [Plan; 2] {
        self.lanes.each_ref().map(|lane| lane.plan.clone())
    }

    /// Takes in what has arrived, runs both queues up to `now` and sends what is due. `now` was
    /// read before the call, so that everything stamped earlier has arrived.
    pub(crate) fn step<O: Observer>(&mut self, now: Time, observer: &mut O) -> io::Result<Wait> {
        let mut wait = Wait {
            until: Time::MAX,
            blocked: false,
            more: false,
            taken: 0,
            bytes: 0,
            closed_until: [Time::ZERO; 2],
            patient: [false; 2],
            hurries: false,
        };
        for side in self.order(now) {
            let (taken, more) = self.take_in(side, now, observer)?;
            wait.taken += taken;
            let (lane, pool) = (
                &mut self.lanes[side as usize],
                &mut self.pools[side as usize],
            );
            // Only a port that sends super-packets gains by joined segments.
            let joins = self.saves_wakeups && self.ports[side.other()].joins();
            wait.more |= more;
            loop {
                // With more to come, the queue's clock must not run past what is still unread. What
                // an interface held back that takes frames again leaves in pieces then, too: at the
                // next arrival it would leave all at once.
                let until = if more { lane.queue_time() } else { now };
                lane.serve(until, pool, observer);
                lane.release(now, now, joins, pool, observer);
                self.ports[side.other()].send(pool, &mut lane.ready)?;
                if !lane.offered() {
                    break;
                }
            }
            wait.blocked |= !lane.ready.is_empty();
            wait.until = wait.until.min(lane.next_due());
            if self.saves_wakeups {
                let closed = lane.closed_until().filter(|until| *until > now);
                wait.closed_until[side as usize] = closed.unwrap_or(Time::ZERO);
            }
        }
        wait.bytes = std::mem::take(&mut self.bytes);
        // Without a shaper every frame leaves at the look that finds it: nothing can wait.
        if wait.is_shaped() {
            wait.hurries = self.lanes.iter().any(Lane::hurries);
            wait.patient = self.patient(&wait, now);
        }
        Ok(wait)
    }

    /// By side, whether what arrives there may wait for the next look, unless it is in a hurry:
    /// where a shaper holds enough, and where ACKs of that arrive and nothing large.
    fn patient(&self, wait: &Wait, now: Time) -> [bool; 2] {
        // What holds one circuit does not hold another, whose frame may leave at once.
        if self.lanes.iter().any(Lane::has_circuits) {
            return [false; 2];
        }
        Side::BOTH.map(|side| {
            let is_closed = wait.closed_until[side as usize] > Time::ZERO;
            let last_full = self.last_full[side as usize];
            let may_wait = is_closed || last_full + ONLY_ACKS < now;
            may_wait && self.ports[side as usize].alarm().is_some()
        })
    }

    /// The side that has something to send first: what answers it at once is found at the same
    /// look.
    fn order(&mut self, now: Time) -> [Side; 2] {
        let [up, down] = self.lanes.each_mut().map(|lane| lane.next_due() <= now);
        if down && !up {
            return [Side::Down, Side::Up];
        }
        Side::BOTH
    }

    /// Puts a batch of what has arrived at one side into `arrivals`; returns how many frames came.
    fn receive(&mut self, side: Side) -> io::Result<usize> {
        let pool = &mut self.pools[side as usize];
        self.ports[side as usize].receive(pool, &self.clock, &mut self.arrivals)
    }

    /// Takes in what has arrived for one side. Tells how many frames came, and whether there may be
    /// more.
    fn take_in<O: Observer>(
        &mut self,
        side: Side,
        now: Time,
        observer: &mut O,
    ) -> io::Result<(usize, bool)> {
        let mut taken = 0;
        // A flood on one side must not keep the other from its turn.
        for _ in 0..BATCHES {
            let count = self.receive(side)?;
            taken += count;
            let lane = &mut self.lanes[side as usize];
            for frame in self.arrivals.drain(..) {
                self.last_arrival = self.last_arrival.max(frame.arrived());
                self.bytes += frame.size() as usize;
                if frame.size() >= FULL {
                    self.last_full[side as usize] = self.last_arrival;
                }
                lane.arrive(frame, now, &mut self.pools[side as usize], observer);
            }
            // A batch that is not full has emptied the socket.
            if count < BATCH {
                return Ok((taken, false));
            }
        }
        Ok((taken, true))
    }

    /// How long after a look nothing can be due that has arrived since: the shortest delay.
    pub(crate) fn patience(&self) -> Span {
        let [up, down] = &self.lanes;
        up.shortest_delay().min(down.shortest_delay())
    }

    /// Makes a change at its own time: what could leave before it leaves as if it were not to
    /// come.
    pub(crate) fn change<O: Observer>(
        &mut self,
        change: &Change,
        now: Time,
        observer: &mut O,
    ) -> io::Result<()> {
        // What arrived before the change meets the line and the queue from before it.
        let side = change.side;
        self.take_in(side, now, observer)?;
        let lane = &mut self.lanes[side as usize];
        lane.transmit(change.at, &mut self.pools[side as usize], observer);
        if let Some(rate) = &change.line.rate {
            observer.rate(side, change.at, rate);
        }
        lane.change_line(&change.line, change.at);
        if let Some(spec) = &change.qdisc {
            let mut built = lane.plan.build(spec, None);
            lane.set_spec(spec, &mut built, change.at);
        }
        Ok(())
    }

    /// Throws away what waits in the ports if somebody else has forwarded it.
    pub(crate) fn discard_waiting(&mut self) -> io::Result<()> {
        for side in Side::BOTH {
            // Where the kernel forwards none, nobody else has these frames.
            if !self.ports[side as usize].is_alone() {
                self.discard(side)?;
            }
        }
        Ok(())
    }

    /// Throws away what waits in a port, and tells how many frames: as many as wait, and not what
    /// arrives in the meantime on a busy link.
    fn discard(&mut self, side: Side) -> io::Result<u64> {
        let mut discarded = 0;
        for _ in 0..WAITING {
            let count = self.receive(side)?;
            for frame in self.arrivals.drain(..) {
                discarded += 1;
                self.pools[side as usize].give(frame);
            }
            if count < BATCH {
                break;
            }
        }
        Ok(discarded)
    }

    /// Drops all that is held and all that waits: it is too old to be sent.
    pub(crate) fn expire<O: Observer>(&mut self, now: Time, observer: &mut O) -> io::Result<()> {
        for side in Side::BOTH {
            let lane = &mut self.lanes[side as usize];
            lane.expire(now, &mut self.pools[side as usize], observer);
            // The socket's frames have waited as long as the queue's.
            let waited = self.discard(side)?;
            self.lanes[side as usize].stale += waited;
        }
        Ok(())
    }

    /// Takes in what has arrived, and sends all that is held.
    pub(crate) fn finish<O: Observer>(&mut self, now: Time, observer: &mut O) -> io::Result<()> {
        for side in Side::BOTH {
            // On a link that stays busy there is always more: what a socket holds is the end.
            for _ in 0..WAITING / BATCHES {
                let (_, more) = self.take_in(side, now, observer)?;
                if !more {
                    break;
                }
            }
            let lane = &mut self.lanes[side as usize];
            lane.flush(now, &mut self.pools[side as usize], observer);
        }
        self.send_ready().map(drop)
    }

    /// Sends what is ready; tells whether all of it went.
    pub(crate) fn send_ready(&mut self) -> io::Result<bool> {
        let mut all = true;
        for side in Side::BOTH {
            let ready = &mut self.lanes[side as usize].ready;
            self.ports[side.other()].send(&mut self.pools[side as usize], ready)?;
            all &= ready.is_empty();
        }
        Ok(all)
    }

    /// Counts of the port where `side` comes in, and of the one where it goes out.
    pub(crate) fn ports(&mut self, side: Side) -> (PortCounters, PortCounters) {
        let [input, output] = [side as usize, side.other()];
        (self.ports[input].counters(), self.ports[output].counters())
    }
}

#[cfg(test)]
mod tests;
