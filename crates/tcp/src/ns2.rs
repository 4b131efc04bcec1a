//! ns-2's one-way senders before receivers that send no SACK blocks.
//!
//! Source: ns-2 2.35, `tcp/tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc`, `tcp-sack1.cc`,
//! `tcp-linux.cc`, `scoreboard1.cc` and `tcl/lib/ns-default.tcl`, read for what they do; parameters
//! as the scripts of the study `codel-red` set them.
//! Units: windows and sequence numbers count packets of one size, from 0; `Time` for the clock.
//! Invariants: no more than [`WINDOW`] packets above the highest acknowledged one are sent; what
//! was sent stays a prefix; an ACK never lowers the highest acknowledged packet.
//!
//! Before such a receiver (`Agent/TCPSink`) only NewReno repairs losses before a timeout:
//! - `Agent/TCP/Sack1` counts a duplicate ACK only when its blocks are news;
//! - `Agent/TCP/Linux` finds losses by blocks alone. Each ACK, duplicates too, restarts its timer.
//!
//! After a timeout all go back to the first packet that is not acknowledged and send everything
//! again in slow start, but for what acknowledgements jump over.
//!
//! Not here: the handshake and the receiver, which are those of the connection.

mod clock;
mod linux;
#[cfg(test)]
mod tests;

use crate::config::{Algorithm, Ns2Agent};
use crate::{Config, Span, Time};
use clock::Clock;
use linux::Linux;

/// ns-2's default `window_`, in packets; also the first slow-start threshold.
pub(crate) const WINDOW: u32 = 20;
/// Packets of which the time of sending is kept: more than can be outstanding.
const KEPT: usize = 64;
/// Duplicate ACKs that mean a loss (`numdupacks_`).
const DUPLICATES: u32 = 3;

/// Packets that Sack1 sends at once (`maxburst_` of its script).
const BURST: u32 = 4;

/// What changed the window last (`last_cwnd_action_`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Action {
    #[default]
    None,
    Duplicates,
    Recovered,
    Timeout,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) packet: u64,
    pub(crate) again: bool,
}

/// One of ns-2's senders.
#[derive(Clone, Debug)]
pub(crate) struct Ns2 {
    agent: Ns2Agent,
    control: Linux,
    clock: Clock,
    /// When the timer expires; [`Time::MAX`] when it does not run.
    pub(crate) timer: Time,
    /// The next packet to send, one above the highest acknowledged and one above the highest sent
    /// (`t_seqno_`, `highest_ack_ + 1`, `maxseq_ + 1`).
    next: u64,
    acked: u64,
    sent: u64,
    /// The packet that is timed: its number, when it was sent, and whether one is (`rtt_seq_`).
    timed: (u64, Time, bool),
    /// When each was sent last, and whether that was again.
    times: [(Time, bool); KEPT],
    window: f64,
    threshold: u32,
    duplicates: u32,
    /// Duplicate ACKs by which recovery inflates the window (`dupwnd_`).
    inflation: u32,
    /// One above the highest packet that was sent when the last loss was found (`recover_`).
    recover: u64,
    action: Action,
    /// A packet to send whatever the window says, and how many may follow it.
    forced: Option<u64>,
    burst: u32,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) recoveries: u64,
}

impl Ns2 {
    pub(crate) fn new(agent: Ns2Agent, config: &Config) -> Self {
        Self {
            agent,
            control: Linux::new(config.algorithm),
            clock: Clock::new(agent, config),
            timer: Time::MAX,
            next: 0,
            acked: 0,
            sent: 0,
            timed: (0, Time::ZERO, false),
            times: [(Time::ZERO, false); KEPT],
            window: 2.0,
            threshold: WINDOW,
            duplicates: 0,
            inflation: 0,
            recover: 0,
            action: Action::None,
            forced: None,
            burst: u32::MAX,
            retransmitted: 0,
            timeouts: 0,
            recoveries: 0,
        }
    }

    /// Random bits: when its clock ticks.
    pub(crate) fn seed(&mut self, bits: u64) {
        self.clock.seed(bits);
    }

    fn is_linux(&self) -> bool {
        self.agent == Ns2Agent::Linux
    }

    /// The window in force, in packets.
    pub(crate) fn window(&self) -> u32 {
        if self.is_linux() {
            return self.control.window;
        }
        (self.window as u32 + self.inflation).min(WINDOW)
    }

    /// The slow-start threshold.
    pub(crate) fn threshold(&self) -> u32 {
        if self.is_linux() {
            self.control.threshold
        } else {
            self.threshold
        }
    }

    /// The timeout with its backoff.
    pub(crate) fn timeout(&self) -> Span {
        self.clock.timeout()
    }

    /// Packets between the highest acknowledged and the next one.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.next - self.acked) as u32
    }

    /// The next packet, if one may go now, of `available` in all.
    pub(crate) fn poll(&mut self, available: u64, now: Time) -> Option<Sent> {
        if let Some(packet) = self.forced.take() {
            return Some(self.output(packet, now));
        }
        let open = self.next < self.acked + u64::from(self.window());
        if self.burst == 0 || !open || self.next >= available {
            return None;
        }
        self.burst -= 1;
        self.next += 1;
        Some(self.output(self.next - 1, now))
    }

    fn output(&mut self, packet: u64, now: Time) -> Sent {
        let nothing_out = self.acked == self.sent;
        let again = packet < self.sent;
        self.times[packet as usize % KEPT] = (now, again);
        if again {
            self.retransmitted += 1;
        } else {
            self.sent = packet + 1;
            if !self.timed.2 {
                let newer = packet > self.timed.0 || packet == 0;
                self.timed = if newer {
                    (packet, now, true)
                } else {
                    (self.timed.0, self.timed.1, true)
                };
            }
        }
        if self.timer == Time::MAX || nothing_out {
            self.set_timer(now);
        }
        Sent { packet, again }
    }

    fn set_timer(&mut self, now: Time) {
        self.timer = now + self.clock.timeout();
    }

    /// After an ACK: the timer starts again while anything is outstanding.
    fn renew_timer(&mut self, now: Time) {
        if self.next > self.acked || self.acked < self.sent {
            self.set_timer(now);
        } else {
            self.timer = Time::MAX;
        }
    }

    /// An ACK of all below `acked` arrived; `echo` is the timestamp in it. Returns the round trip
    /// if it gives one.
    pub(crate) fn on_ack(&mut self, acked: u64, echo: Time, now: Time) -> Option<Span> {
        if acked > self.sent || acked < self.acked {
            return None;
        }
        // A packet that nothing was forced out for lets as many go as the window has room for.
        self.burst = match self.agent {
            Ns2Agent::Sack => BURST,
            Ns2Agent::NewReno | Ns2Agent::Linux => u32::MAX,
        };
        if self.is_linux() {
            return self.linux_ack(acked, echo, now);
        }
        if acked > self.acked {
            let in_recovery = self.action == Action::Duplicates && acked < self.recover;
            if self.agent == Ns2Agent::NewReno && in_recovery {
                self.partial_ack(acked, now);
                return None;
            }
            return self.new_ack(acked, now);
        }
        if self.agent == Ns2Agent::NewReno {
            self.duplicate(now);
        }
        None
    }

    /// The timed packet's round trip, if this is its acknowledgement.
    fn timed_by(&mut self, acked: u64, now: Time) -> Option<Span> {
        let (packet, sent, runs) = self.timed;
        if !runs || acked <= packet {
            return None;
        }
        self.timed.2 = false;
        Some(now - sent)
    }

    fn new_ack(&mut self, acked: u64, now: Time) -> Option<Span> {
        if self.inflation > 0 {
            self.inflation = 0;
            if self.action == Action::Duplicates {
                self.action = Action::Recovered;
            }
        }
        self.duplicates = 0;
        self.acked = acked;
        self.next = self.next.max(acked);
        let sample = self.timed_by(acked, now);
        if let Some(sample) = sample {
            self.clock.reset_backoff();
            self.clock.sample(sample, now);
        }
        self.renew_timer(now);
        self.window += if self.window < f64::from(self.threshold) {
            1.0
        } else {
            1.0 / self.window
        };
        sample
    }

    /// An ACK of a part of what was out when recovery began: the next hole is sent.
    fn partial_ack(&mut self, acked: u64, now: Time) {
        let last = self.acked;
        // The timer looks at the old edge (`newtimer` comes before `partialnewack`).
        if self.next > acked || acked < self.sent {
            self.set_timer(now);
        } else {
            self.timer = Time::MAX;
        }
        let deflate = (acked - last) as u32;
        if self.inflation > deflate {
            self.inflation -= deflate - 1;
        } else {
            self.window -= f64::from(deflate - self.inflation);
            self.inflation = 1;
        }
        self.window = self.window.max(1.0);
        self.acked = acked;
        self.next = self.next.max(acked);
        if self.timed_by(acked, now).is_some() {
            self.clock.reset_backoff();
        }
        self.forced = Some(acked);
        self.burst = if self.duplicates == 0 { u32::MAX } else { 2 };
    }

    fn duplicate(&mut self, now: Time) {
        self.duplicates += 1;
        self.burst = 0;
        if self.duplicates == DUPLICATES {
            if self.acked > self.recover || self.acked == 0 {
                self.enter_recovery(now);
            }
        } else if self.duplicates > DUPLICATES {
            if self.action == Action::Duplicates {
                self.inflation += 1;
            }
        } else if self.next < self.acked + u64::from(WINDOW)
            && (self.next + 1 - self.acked) as f64 <= self.window + f64::from(self.duplicates)
        {
            // Limited transmit, of whatever comes next (`send_one`).
            self.forced = Some(self.next);
            self.next += 1;
        }
        if self.duplicates >= DUPLICATES {
            self.burst = 2;
        }
    }

    fn enter_recovery(&mut self, now: Time) {
        self.recoveries += 1;
        self.recover = self.sent;
        self.set_timer(now);
        self.timed.2 = false;
        let half = f64::from(self.window() / 2);
        self.threshold = (half as u32).max(2);
        self.window = half;
        self.action = Action::Duplicates;
        self.forced = Some(self.acked);
        self.inflation = DUPLICATES;
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.timeouts += 1;
        self.burst = u32::MAX;
        self.recover = self.sent;
        if self.is_linux() {
            self.control.on_timeout();
        } else {
            self.window = self.window.max(1.0);
            (self.duplicates, self.inflation) = (0, 0);
            // NewReno halves whole windows here (`precisionReduce_` is off in its script).
            let half = match self.agent {
                Ns2Agent::NewReno => f64::from(self.window() / 2),
                _ => self.window.min(f64::from(WINDOW)) / 2.0,
            };
            self.threshold = (half as u32).max(2);
            self.window = 1.0;
            self.action = Action::Timeout;
            if self.agent == Ns2Agent::Sack {
                self.burst = BURST;
            }
        }
        self.clock.back_off();
        self.set_timer(now);
        self.timed.2 = false;
        self.next = self.acked;
    }

    fn linux_ack(&mut self, acked: u64, echo: Time, now: Time) -> Option<Span> {
        let count = (acked - self.acked) as u32;
        let in_flight = self.in_flight();
        // A round trip by the time of sending counts when nothing of it was sent again.
        let unsure = (self.acked..acked).any(|packet| self.times[packet as usize % KEPT].1);
        self.acked = acked;
        self.next = self.next.max(acked);
        let sample = if echo == Time::ZERO {
            let sample = self.timed_by(acked, now);
            if sample.is_some() {
                self.clock.reset_backoff();
            }
            sample
        } else {
            if self.timed_by(acked, now).is_some() || self.clock.echoes_end_backoff() {
                self.clock.reset_backoff();
            }
            Some(now - echo)
        };
        if let Some(sample) = sample {
            self.clock.sample(sample, now);
        }
        self.renew_timer(now);
        let newest = (count > 0 && !unsure)
            .then(|| now - self.times[(acked as usize).wrapping_sub(1) % KEPT].0);
        let ack = linux::Ack {
            acked,
            count,
            in_flight,
            next: self.next_new(),
            newest,
            now,
        };
        self.control.on_ack(&ack);
        if self.control.in_loss && acked >= self.recover {
            self.control.leave_loss(self.in_flight(), self.next_new());
        }
        sample
    }

    /// One above the highest packet sent: Linux's agents never step back behind it (`t_seqno_`).
    fn next_new(&self) -> u64 {
        self.sent
    }
}

/// Which of ns-2's agents a congestion control is.
impl Ns2Agent {
    /// Reno is NewReno, or Sack1 with `sack`; the others are modules of `Agent/TCP/Linux`. None
    /// where ns-2 2.35 has none.
    pub const fn of(algorithm: Algorithm, sack: bool) -> Option<Self> {
        match algorithm {
            Algorithm::Reno if sack => Some(Self::Sack),
            Algorithm::Reno => Some(Self::NewReno),
            Algorithm::Vegas | Algorithm::Westwood | Algorithm::Compound | Algorithm::Cubic => {
                Some(Self::Linux)
            }
            _ => None,
        }
    }
}
