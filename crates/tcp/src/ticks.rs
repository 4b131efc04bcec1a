//! The ticks of a kernel's timers.
//! Source: Linux 6.1 `kernel/time/timer.c` (`calc_wheel_index`).

use crate::{Span, Time};

/// Ticks that the finest level of the timer wheel is for. Each of the next ones, with steps eight
/// times as long, is for eight times as many.
const LEVEL: u64 = 63;
const COARSER: u64 = 8;

/// When a timer comes that is set at `now` for `at`: with a tick, never early, and the later it is
/// due the fewer ticks there are for it. Ticks are counted from time zero. Without a tick (zero) it
/// comes at `at`, and what is beyond the end of time at the end.
pub(crate) fn on_tick(at: Time, now: Time, tick: Span) -> Time {
    if tick.is_zero() {
        return at;
    }
    let tick = tick.as_nanos();
    let ticks = (at - now).as_nanos().div_ceil(tick).max(1);
    let due = (now.as_nanos() / tick).saturating_add(ticks);
    let mut step = 1;
    while ticks >= LEVEL * step && step < 1 << 24 {
        step *= COARSER;
    }
    let after = (due / step).saturating_add(1).saturating_mul(step);
    Time::from_nanos(after.saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::on_tick;
    use crate::{Span, Time};

    /// By hand from the levels: up to 62 ticks in steps of one, 63 to 503 in steps of 8, 504 to
    /// 4031 in steps of 64; a step more than is due, as the tick in which a timer is set has begun.
    #[test]
    fn a_timer_comes_with_a_tick_and_never_early() {
        let comes = |micros: u64, after: u64| {
            let now = Time::ZERO + Span::from_micros(micros);
            let at = now + Span::from_micros(after);
            let comes = on_tick(at, now, Span::from_millis(1)).as_nanos();
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

    #[test]
    fn no_time_and_no_tick_is_too_long() {
        let long = [Span::from_nanos(1), Span::from_secs(1), Span::MAX];
        let times = [Time::ZERO, Time::from_nanos(u64::MAX / 2), Time::MAX];
        for (now, at) in times
            .into_iter()
            .flat_map(|now| times.map(|at| (now, at.max(now))))
        {
            assert_eq!(on_tick(at, now, Span::ZERO), at);
            for tick in long {
                assert!(on_tick(at, now, tick) >= at);
            }
        }
    }
}
