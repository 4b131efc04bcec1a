//! The congestion controls of ns-2's Linux agents, as far as they act before such receivers.
//! Source: ns-2 2.35, `tcp/tcp-linux.cc` and `tcp/linux/src/tcp_cong.c`, `tcp_vegas.c`,
//! `tcp_compound.c`, `tcp_cubic.c`, `tcp_westwood.c` (Linux 2.6.22), with byte counting
//! (`sysctl_tcp_abc` 1).
//!
//! Left out, because it never acts: Westwood's estimate (it replaces the window in fast recovery
//! alone, which never begins); Compound's delay window (it begins at 41 packets, `window_` is 20);
//! CUBIC's cubic function (each timeout resets its state, and until a loss in congestion avoidance
//! `cnt` is 50).

use super::WINDOW;
use crate::config::Algorithm;
use crate::{Span, Time};

/// Bursts after recovery (`tcp_max_burst`), in packets.
const BURST: u32 = 3;

/// Vegas's thresholds, in half packets, from these seconds on: Linux's, and what the study's script
/// sets.
const VEGAS: [(u64, u32); 2] = [(15, 40), (30, 20)];

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// One above the highest packet acknowledged.
    pub(super) acked: u64,
    /// Packets newly acknowledged.
    pub(super) count: u32,
    /// In the network before.
    pub(super) in_flight: u32,
    /// One above the highest packet sent.
    pub(super) next: u64,
    /// Round trip of the newest, if none was sent again.
    pub(super) newest: Option<Span>,
    pub(super) now: Time,
}

#[derive(Clone, Debug)]
enum Module {
    Reno,
    Vegas(Vegas),
    /// Its own window, which the one in force follows.
    Compound(Option<u32>),
    Cubic(Cubic),
}

#[derive(Clone, Debug, Default)]
struct Vegas {
    off: bool,
    begin_next: u64,
    begin_acked: u64,
    begin_window: u32,
    samples: u32,
    shortest: Option<u64>,
    base: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Cubic {
    last_window: u32,
    last_time: u64,
    started: bool,
    acks: u32,
    reno_window: u32,
    count: u32,
    /// Packets per ACK, in sixteenths.
    delayed: u32,
}

impl Cubic {
    fn reset() -> Self {
        Self {
            delayed: 32,
            ..Self::default()
        }
    }

    /// `bictcp_update` without a loss in congestion avoidance.
    fn update(&mut self, window: u32, now: Time) {
        self.acks += 1;
        let millis = now.as_nanos() / 1_000_000;
        if self.last_window == window && millis - self.last_time <= 31 {
            return;
        }
        (self.last_window, self.last_time) = (window, millis);
        if !self.started {
            self.started = true;
            self.acks = 1;
            self.reno_window = window;
        }
        // 8·(1024 + 819)/3/(1024 - 819), in integers.
        let delta = (window * 23) >> 3;
        while self.acks > delta {
            self.acks -= delta;
            self.reno_window += 1;
        }
        let mut count = 50;
        if self.reno_window > window {
            count = count.min(window / (self.reno_window - window));
        }
        self.count = ((count << 4) / self.delayed.max(1)).max(1);
    }
}

/// A Linux agent's window.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    module: Module,
    pub(super) window: u32,
    pub(super) threshold: u32,
    /// `snd_cwnd_cnt`, and `bytes_acked` in packets.
    count: u32,
    acked: u32,
    pub(super) in_loss: bool,
}

impl Linux {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let module = match algorithm {
            Algorithm::Vegas => Module::Vegas(Vegas::default()),
            Algorithm::Compound => Module::Compound(None),
            Algorithm::Cubic => Module::Cubic(Cubic::reset()),
            _ => Module::Reno,
        };
        Self {
            module,
            window: 2,
            threshold: WINDOW,
            count: 0,
            acked: 0,
            in_loss: false,
        }
    }

    pub(super) fn on_timeout(&mut self) {
        let half = match self.module {
            Module::Cubic(_) => self.window * 819 / 1024,
            _ => self.window / 2,
        };
        self.threshold = half.max(2);
        (self.window, self.count, self.acked) = (1, 0, 0);
        self.in_loss = true;
        match &mut self.module {
            Module::Cubic(cubic) => *cubic = Cubic::reset(),
            Module::Vegas(vegas) => vegas.off = true,
            Module::Reno | Module::Compound(_) => {}
        }
    }

    /// All that was out at the timeout has been acknowledged.
    pub(super) fn leave_loss(&mut self, in_flight: u32, next: u64) {
        if self.window < self.threshold {
            self.window = self.threshold.min(in_flight + BURST);
        }
        self.in_loss = false;
        if let Module::Vegas(vegas) = &mut self.module {
            *vegas = Vegas {
                off: false,
                begin_next: next,
                samples: 0,
                shortest: None,
                ..*vegas
            };
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if ack.count == 0 {
            return;
        }
        self.acked += ack.count;
        match &mut self.module {
            Module::Vegas(vegas) => vegas.sample(ack.newest),
            Module::Cubic(cubic) if !self.in_loss => {
                let change = ack.count.wrapping_sub(cubic.delayed >> 4);
                cubic.delayed = cubic.delayed.wrapping_add(change);
            }
            _ => {}
        }
        let limited = ack.in_flight >= self.window;
        match &self.module {
            Module::Vegas(vegas) if !vegas.off => self.vegas(ack, limited),
            Module::Compound(_) => self.compound(limited),
            _ if !limited => {}
            _ if self.window <= self.threshold => self.slow_start(),
            Module::Cubic(_) => self.cubic(ack.now),
            Module::Reno | Module::Vegas(_) => self.avoid(),
        }
    }

    fn grow(&mut self) {
        self.window = (self.window + 1).min(WINDOW);
    }

    fn slow_start(&mut self) {
        self.acked = 0;
        self.count += self.window;
        while self.count >= self.window {
            self.count -= self.window;
            self.grow();
        }
    }

    /// A packet more for a window of acknowledged ones.
    fn avoid(&mut self) {
        if self.acked >= self.window {
            self.acked -= self.window;
            self.grow();
        }
    }

    fn cubic(&mut self, now: Time) {
        let Module::Cubic(cubic) = &mut self.module else {
            return;
        };
        cubic.update(self.window, now);
        if self.count >= cubic.count {
            self.count = 0;
            self.grow();
        } else {
            self.count += 1;
        }
    }

    fn compound(&mut self, limited: bool) {
        let Module::Compound(own) = &mut self.module else {
            return;
        };
        let own = own.get_or_insert(self.window);
        *own = (*own).min(self.window);
        if !limited {
            return;
        }
        let mut more = *own <= self.threshold;
        if !more && self.count < self.window {
            self.count += 1;
        }
        if self.count >= self.window {
            more = true;
            self.count = 0;
        }
        if more && self.window < WINDOW {
            *own += 1;
        }
        self.window = *own;
    }

    fn vegas(&mut self, ack: &Ack, limited: bool) {
        let Module::Vegas(vegas) = &mut self.module else {
            return;
        };
        if ack.acked <= vegas.begin_next {
            if self.window <= self.threshold {
                self.slow_start();
            }
            return;
        }
        let outstanding = vegas.begin_next.saturating_sub(vegas.begin_acked) as u32;
        let before = vegas.begin_window;
        let measured = (vegas.samples > 2)
            .then_some(vegas.base.zip(vegas.shortest))
            .flatten();
        *vegas = Vegas {
            begin_acked: vegas.begin_next,
            begin_next: ack.next,
            begin_window: self.window,
            samples: 0,
            shortest: None,
            ..*vegas
        };
        let Some((base, shortest)) = measured else {
            // Too few round trips to tell: as Reno.
            match () {
                () if !limited => {}
                () if self.window <= self.threshold => self.slow_start(),
                () => self.avoid(),
            }
            return;
        };
        let wanted = (u64::from(outstanding) * base * 2 / shortest.max(1)) as u32;
        let surplus = (outstanding * 2).wrapping_sub(wanted);
        if self.window <= self.threshold {
            if surplus > 2 {
                self.threshold = 2;
                self.window = self.window.min(wanted / 2 + 1);
            }
            self.slow_start();
        } else {
            let (alpha, beta) = thresholds(ack.now);
            let target = if surplus > beta {
                before.wrapping_sub(1)
            } else if surplus < alpha {
                before + 1
            } else {
                before
            };
            match target.cmp(&self.window) {
                core::cmp::Ordering::Greater => self.window += 1,
                core::cmp::Ordering::Less => self.window -= 1,
                core::cmp::Ordering::Equal => {}
            }
        }
        self.window = self.window.clamp(2, WINDOW);
    }
}

impl Vegas {
    fn sample(&mut self, round_trip: Option<Span>) {
        let Some(round_trip) = round_trip else {
            return;
        };
        let micros = round_trip.as_nanos() / 1000 + 1;
        self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
        self.shortest = Some(self.shortest.map_or(micros, |least| least.min(micros)));
        self.samples += 1;
    }
}

/// Vegas's alpha and beta, in half packets.
fn thresholds(now: Time) -> (u32, u32) {
    let seconds = now.as_nanos() / 1_000_000_000;
    let set = VEGAS.iter().rev().find(|(from, _)| seconds >= *from);
    set.map_or((4, 8), |(_, both)| (*both, *both))
}
