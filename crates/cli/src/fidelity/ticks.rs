//! What a guest's timers make of the intervals that its queues are told, and of a packet's way.
//!
//! PIE and FQ-PIE of Linux update their probability by a timer that sets itself again each time it
//! comes. It counts ticks, and since nobody knows how far into its tick a timer is set, the timer
//! wheel adds one: `tupdate 15ms` is an update every 16 ms at 1000 Hz, and every 20 ms at 250 Hz.
//! Ours keeps the interval that it is told. Beside Linux it is told the one that Linux keeps.
//!
//! A guest's clock reads whole steps of 256 ns, and each reading of it takes one. Its timers come
//! with it, the one that ends netem's delay too: a packet takes 0.8 to 2.0 µs longer than the delay
//! for a round trip on an idle line, 1.6 on average. That is little, but packets that come back in
//! step with their link come at the very time at which it takes the next one. In the simulator's
//! exact time all of these come before it, in a guest they come late.
//!
//! TCP's own timers come with the same ticks there, and so do those of the simulator's
//! (`timer_tick` of its settings).
//!
//! And a guest is one machine, whose kernel sees what waits in the network's queues: it sends no
//! segment again of which a copy is still under way (`skb_still_in_host_queue`). Neither netem nor
//! a veth pair separates a packet from its socket; the receiver does.
//!
//! Source: Linux 6.1 `kernel/time/timer.c` (`calc_wheel_index`), `sch_pie.c`, `sch_fq_pie.c`;
//! `arch/um/kernel/time.c` (`TIMER_MULTIPLIER`). The delays are measured, as
//! `an_idle_line_of_a_guest_is_late_by_a_microsecond` does.

use sojourn_kernel::Tick;
use sojourn_qdisc::{Aim, Aimed, PieLaw, PieParams, Policy, Spec};
use sojourn_units::Span;
use sojourn_world::{Cell, Medium, Transport};

/// How late a guest's packets are at least, each way …
const LATE: Span = Span::from_nanos(400);
/// … and by how much more, evenly from zero to this.
const LATER: Span = Span::from_nanos(800);
/// Ticks that the finest level of the timer wheel is for; each of the next ones, with steps eight
/// times as long, is for eight times as many.
const LEVEL: u64 = 63;

/// The interval at which a timer comes that is set anew for `interval` whenever it comes. Zero is
/// no timer.
fn kept(interval: Span, tick: Tick) -> Span {
    let tick = Span::from_secs(1) / u64::from(tick.hz());
    let ticks = interval.as_nanos().div_ceil(tick.as_nanos());
    if ticks == 0 {
        return interval;
    }
    let mut step = 1;
    // The tick in which the timer is set has begun.
    while ticks > LEVEL * step {
        step *= 8;
    }
    tick * ((ticks / step + 1) * step)
}

/// The cell with queues that are updated as often as in a kernel with this tick, packets that are
/// as late as in a guest, and hosts that see what of theirs is still under way.
pub(super) fn as_in_kernel(mut cell: Cell, tick: Tick) -> Cell {
    for interface in &mut cell.network.interfaces {
        if let Some(pie) = pie(&mut interface.qdisc) {
            pie.tupdate = kept(pie.tupdate, tick);
        }
    }
    cell.host_delay = LATE;
    cell.one_machine = true;
    for flow in &mut cell.flows {
        if let Transport::Tcp(config) = &mut flow.transport {
            config.timer_tick = Span::from_secs(1) / u64::from(tick.hz());
        }
    }
    for medium in &mut cell.network.media {
        if let Medium::Wire(wire) = medium {
            wire.line.jitter += LATER;
        }
    }
    cell
}

/// Linux's PIE in a queue.
fn pie(spec: &mut Spec) -> Option<&mut PieParams> {
    let (Spec::Single {
        policy: Policy::Aimed(aimed),
        ..
    }
    | Spec::Flows { policy: aimed, .. }) = spec
    else {
        return None;
    };
    let Aimed {
        aim: Aim::Pie(pie), ..
    } = aimed
    else {
        return None;
    };
    (pie.law == PieLaw::Linux).then_some(pie)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_fidelity::Grid;

    /// As seen in guests of both ticks: `pie` at 1000 Hz changes its probability every 16 ms, and
    /// by hand from the levels of the wheel: 63 ticks are the most of the first, whose step is one.
    /// 64 are in the second, whose steps are of 8 ticks.
    #[test]
    fn a_timer_that_sets_itself_again_takes_a_step_longer() {
        let ms =
            |interval: u64, tick| kept(Span::from_millis(interval), tick).as_nanos() / 1_000_000;
        assert_eq!(ms(15, Tick::Hz1000), 16);
        assert_eq!(ms(15, Tick::Hz250), 20);
        assert_eq!(ms(16, Tick::Hz250), 20);
        assert_eq!(ms(63, Tick::Hz1000), 64);
        assert_eq!(ms(64, Tick::Hz1000), 72);
        assert_eq!(ms(70, Tick::Hz1000), 72);
        assert_eq!(ms(0, Tick::Hz1000), 0);
    }

    fn cell() -> Cell {
        let names = ["start-up/6mbit/50ms/pie/cubic".into()];
        let grid = Grid::new(1, false, &names).expect("the built-in scenarios are right");
        grid.phases[0].cells[0].clone()
    }

    #[test]
    fn both_ways_are_late() {
        let late = as_in_kernel(cell(), Tick::Hz1000);
        for link in 0..2 {
            let [line] = &late.lines(link)[..] else {
                panic!("nothing changes");
            };
            assert_eq!(line.jitter.as_nanos(), 800);
        }
        assert_eq!(late.host_delay.as_nanos(), 400);
        assert!(late.one_machine);
        let mut told = cell().flows;
        assert_eq!(told.len(), late.flows.len());
        for (flow, late) in told.iter_mut().zip(&late.flows) {
            if let Transport::Tcp(config) = &mut flow.transport {
                config.timer_tick = Span::from_millis(1);
            }
            assert_eq!(flow, late, "what they say of themselves stays");
        }
    }

    #[test]
    fn only_linuxs_pie_is_told_so() {
        let of = |text: &str| {
            let mut cell = cell();
            for interface in &mut cell.network.interfaces {
                interface.qdisc = text.parse().expect("a queue");
            }
            let cell = as_in_kernel(cell, Tick::Hz1000);
            cell.network.interfaces[0].qdisc.to_string()
        };
        assert_eq!(of("pie"), of("pie tupdate 15ms"));
        assert!(of("pie").contains("tupdate 16ms"), "{}", of("pie"));
        assert!(of("fq_pie").contains("tupdate 16ms"));
        assert!(of("pie law dummynet").contains("tupdate 15ms"));
        let codel: Spec = "codel".parse().expect("a queue");
        assert_eq!(of("codel"), codel.to_string());
    }
}
