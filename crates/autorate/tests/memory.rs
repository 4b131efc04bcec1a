//! Once it is made it allocates nothing, whatever passes: a bridge asks it for every frame.
#![allow(unsafe_code, reason = "an allocator that counts")]

use sojourn_autorate::{Monitor, Params, STEP, Seen, Setting, Way};
use sojourn_units::{Rate, Span, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is the system's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_is_allocated_while_packets_pass() {
    let mbps = |rate: u64| Rate::from_bps(rate * 1_000_000);
    let follows = Setting::Follows(Params {
        min: mbps(1),
        base: mbps(10),
        max: mbps(40),
        threshold: Params::THRESHOLD,
    });
    let mut monitor = Monitor::new([follows, follows]);
    let before = CALLS.get();
    let (mut decisions, mut due) = (0, STEP);
    // A minute of a thousand flows to three hundred hosts, whose delays come and go.
    for ms in 0..60_000_u64 {
        let now = Time::ZERO + Span::from_millis(ms);
        let flow = ms % 1000;
        let round = 20 + if ms % 4000 < 1000 { 80 } else { 0 };
        let seen = |value, echo| Seen {
            flow,
            source: flow % 300,
            value,
            echo,
            payload: true,
        };
        monitor.departs(&seen(ms as u32, 0), now);
        monitor.returns(&seen(0, (ms as u32).wrapping_sub(1000)), now);
        monitor.sample(flow % 300, Span::from_millis(round), now);
        for way in Way::BOTH {
            monitor.sent(way, 1514);
        }
        if now >= Time::ZERO + due {
            decisions += monitor.step(now).iter().flatten().count();
            due += STEP;
        }
    }
    assert_eq!(CALLS.get() - before, 0);
    assert!(decisions > 20, "{decisions}");
}
