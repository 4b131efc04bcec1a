//! Which rate samples say what the app wrote, and not what the path carries.

use super::pair::{A, Pair};
use crate::{AckEvent, Config, Congestion, CongestionControl, Span, Time};
use std::boxed::Box;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

/// A window that stays, and for each sample whether it is limited by the app.
#[derive(Debug)]
struct Still {
    window: u32,
    limited: Arc<Mutex<Vec<bool>>>,
}

impl CongestionControl for Still {
    fn window(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let rate = ack.rate.expect("each ACK tells of something new");
        let mut limited = self.limited.lock().expect("nothing has panicked");
        limited.extend((0..ack.delivered).map(|_| rate.app_limited));
    }

    fn on_congestion(&mut self, _why: Congestion, _in_flight: u32, _now: Time) {}

    fn on_undo(&mut self) {}

    fn on_idle_restart(&mut self, _timeouts: u32, _restart: u32) {}

    fn on_application_limited(&mut self, _used: u32) {}
}

/// By hand from Linux `tcp_rate_check_app_limited`: a write that finds nothing unsent and room in
/// the window marks what is sent until one segment more is delivered than had been and was in
/// flight. A write behind unsent data or into a full window marks nothing.
#[test]
fn a_write_into_an_open_window_limits_the_samples() {
    const MSS: u64 = 1448;
    let rtt = Span::from_millis(50);
    let limited = Arc::new(Mutex::new(Vec::new()));
    let mut pair = Pair::new(&Config::default(), rtt / 2);
    pair.ends[A].set_control(Box::new(Still {
        window: 20,
        limited: Arc::clone(&limited),
    }));
    pair.run_until(Time::ZERO + rtt * 2);
    let mut samples = |segments: u64, then: u64| {
        limited.lock().expect("nothing has panicked").clear();
        let start = pair.now;
        pair.ends[A].write(segments * MSS);
        pair.run_until(start + rtt / 2);
        pair.ends[A].write(then * MSS);
        pair.run_until(start + rtt * 8);
        let all = limited.lock().expect("nothing has panicked").clone();
        assert_eq!(all.len() as u64, segments + then);
        all.iter().filter(|limited| **limited).count()
    };
    // The whole of a short write; the window that a long one fills.
    assert_eq!(samples(10, 0), 10);
    assert_eq!(samples(60, 0), 20);
    // Half a round trip later: what is in flight is in the way only where it fills the window.
    assert_eq!(samples(10, 5), 15);
    assert_eq!(samples(20, 10), 20);
    assert_eq!(samples(60, 10), 20);
}
