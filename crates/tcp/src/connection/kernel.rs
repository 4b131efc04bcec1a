//! What an end does that is a Linux kernel's on one machine with the network: it sees its segments'
//! copies there, and its timers come with the kernel's ticks.

use super::{Connection, Phase};
use crate::{Span, Time, seq};

/// Ticks that the finest level of the timer wheel is for. Each of the next ones, with steps eight
/// times as long, is for eight times as many.
const LEVEL: u64 = 63;
const COARSER: u64 = 8;

/// When a timer comes that is set at `now` for `at`: with a tick, never early, and the later it is
/// due the fewer ticks there are for it (Linux 6.1 `kernel/time/timer.c`, `calc_wheel_index`).
/// Ticks are counted from time zero.
fn on_the_wheel(at: Time, now: Time, tick: Span) -> Time {
    let tick = tick.as_nanos().max(1);
    let ticks = (at - now).as_nanos().div_ceil(tick);
    let due = now.as_nanos() / tick + ticks;
    let mut step = 1;
    while ticks >= LEVEL * step && step < 1 << 24 {
        step *= COARSER;
    }
    Time::from_nanos((due / step + 1) * step * tick)
}

impl Connection {
    /// The network and the peer are on this end's own machine, as in a test bed: it does not send
    /// again what is still under way there (Linux `skb_still_in_host_queue`). From now on it is
    /// told of [lost copies](Self::lose_copy) and of [what the peer has](Self::peer_expects),
    /// before each [`poll_transmit`](Self::poll_transmit).
    pub fn see_copies(&mut self) {
        self.sender.see_copies();
    }

    /// A copy of the segment with this number is lost.
    pub fn lose_copy(&mut self, number: u32) {
        let offset = seq::offset(self.isn, number, self.sender.una);
        self.sender.lose_copy(offset);
    }

    /// The number that the peer expects next; none before it has the SYN.
    pub fn peer_expects(&mut self, number: Option<u32>) {
        let una = self.sender.una;
        let offset = number.map_or(0, |number| seq::offset(self.isn, number, una));
        self.sender.peer_has(offset);
    }

    /// The number that this end expects next; none before it has the peer's SYN.
    pub fn expects(&self) -> Option<u32> {
        let has = matches!(self.phase, Phase::SynReceived | Phase::Open);
        has.then(|| self.receiver.ack_number())
    }

    /// Timers of the sending half that were set now come with a tick of the kernel, as its timer
    /// wheel has them. To be told after each last [`poll_transmit`](Self::poll_transmit). Pacing
    /// and held ACKs have timers of their own in Linux, which know no ticks; a delayed ACK's has
    /// them there, and not here.
    pub fn follow_ticks(&mut self, tick: Span, now: Time) {
        let wheel = &mut self.sender.on_wheel;
        let timers = [&mut self.sender.timer.at, &mut self.syn_at];
        for (timer, known) in timers.into_iter().zip(wheel) {
            if *timer != *known && *timer > now && *timer != Time::MAX {
                *timer = on_the_wheel(*timer, now, tick);
            }
            *known = *timer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::on_the_wheel;
    use crate::{Span, Time};

    /// By hand from the levels: up to 62 ticks in steps of one, 63 to 503 in steps of 8, 504 to
    /// 4031 in steps of 64; a step more than is due, as the tick in which a timer is set has begun.
    #[test]
    fn a_timer_comes_with_a_tick_and_never_early() {
        let comes = |micros: u64, after: u64| {
            let now = Time::ZERO + Span::from_micros(micros);
            let at = now + Span::from_micros(after);
            let comes = on_the_wheel(at, now, Span::from_millis(1)).as_nanos();
            assert_eq!(comes % 1_000_000, 0);
            comes / 1_000_000
        };
        assert_eq!(comes(0, 3000), 4);
        assert_eq!(comes(500, 3000), 4);
        assert_eq!(comes(500, 2001), 4);
        assert_eq!(comes(10_900, 62_000), 73);
        assert_eq!(comes(10_900, 63_000), 80);
        assert_eq!(comes(200, 200_000), 208);
        assert_eq!(comes(7200, 200_000), 208);
        assert_eq!(comes(8200, 200_000), 216);
        assert_eq!(comes(0, 504_000), 512);
        assert_eq!(comes(0, 1_000_000), 1024);
        assert_eq!(comes(40_000, 1_000_000), 1088);
    }
}
