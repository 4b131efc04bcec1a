//! Steps against numbers worked out by hand from the rules in the file's header.

use super::*;
use std::string::ToString;

const MS: u64 = 1_000_000;

/// A controller of 2 to 20 Mbit/s, its clock, and a source with a base of 20 ms.
struct Rig {
    it: Autorate,
    ms: u64,
}

fn mbit(mbit: f64) -> Rate {
    Rate::from_bps_f64(mbit * 1e6)
}

impl Rig {
    /// Known for a second, at half load.
    fn new() -> Self {
        let params = Params {
            min: mbit(2.0),
            base: mbit(10.0),
            max: mbit(20.0),
            threshold: Params::THRESHOLD,
        };
        let mut rig = Self {
            it: Autorate::new(params),
            ms: 0,
        };
        for _ in 0..=20 {
            assert_eq!(rig.step(Some(0), 5.0, 0.0), None);
        }
        rig
    }

    /// A step of 50 ms with a delay above the base, what is sent, and the load of the other side.
    fn step(&mut self, above: Option<u64>, sent: f64, other: f64) -> Option<Decision> {
        let now = Time::from_nanos(self.ms * MS);
        if let Some(above) = above {
            self.it.sample(1, Span::from_millis(20 + above), now);
        }
        self.ms += 50;
        let sent = mbit(sent);
        self.it.step(now, Load { sent, other })
    }

    fn steps(&mut self, count: u32, above: Option<u64>, sent: f64, other: f64) -> Vec<Decision> {
        let steps = (0..count).filter_map(|_| self.step(above, sent, other));
        steps.collect()
    }
}

use std::vec::Vec;

fn near(rate: Rate, expected: f64) -> bool {
    (rate.as_bps() as f64 / 1e6 - expected).abs() < 1e-5
}

#[test]
fn a_loaded_link_without_delay_gets_four_per_cent_more_a_step() {
    let mut rig = Rig::new();
    // Nothing is known of the link: below nine tenths nothing rises.
    assert_eq!(rig.step(Some(0), 8.9, 0.0), None);
    let decision = rig.step(Some(0), 9.1, 0.0).unwrap();
    assert!(near(decision.to, 10.4), "{decision}");
    assert_eq!(
        decision.to_string(),
        "10.0 -> 10.4 Mbit/s: load 91 % and delay 0 ms above base"
    );
    let decision = rig.step(Some(0), 10.0, 0.0).unwrap();
    assert!(near(decision.to, 10.816), "{decision}");
    // Without a sample there is no step; and at the most none either.
    assert_eq!(rig.step(None, 10.8, 0.0), None);
    rig.steps(30, Some(0), 20.0, 0.0);
    assert_eq!(rig.it.rate(), mbit(20.0));
    assert_eq!(rig.step(Some(0), 20.0, 0.0), None);
}

/// As behind a queue of its own connections that is shorter than the threshold: nobody sees it, and
/// what is sent says what the link takes.
#[test]
fn a_link_that_limits_without_a_queue_is_passed_by_a_tenth_and_a_step() {
    let mut rig = Rig::new();
    let mut most = Rate::ZERO;
    for _ in 0..2000 {
        let rate = rig.it.rate().as_bps() as f64 / 1e6;
        rig.step(Some(0), rate.min(9.5), 0.0);
        most = most.max(rig.it.rate());
    }
    assert!(
        most > mbit(10.5) && most <= mbit(9.5 / 0.9 * 1.04),
        "{most:?}"
    );
}

#[test]
fn steps_up_are_smaller_where_there_is_some_delay() {
    // The threshold is 30 ms and 1514 bytes at 10 Mbit/s: 31.2112 ms. Of the way from 10 ms to
    // there 15 ms are 0.235733; 4 % less that share are 3.05707 %.
    let mut rig = Rig::new();
    rig.steps(6, Some(15), 5.0, 0.0);
    let decision = rig.step(Some(15), 9.0, 0.0).unwrap();
    assert!(near(decision.to, 10.305_707), "{decision}");
}

#[test]
fn three_delayed_steps_of_six_cut_to_a_share_of_what_is_sent() {
    let mut rig = Rig::new();
    assert_eq!(rig.step(Some(45), 8.0, 0.0), None);
    assert_eq!(rig.step(Some(45), 8.0, 0.0), None);
    // The delay has grown by 45 ms in 250, so the link took 8 / 1.18 = 6.779661. 45 ms are 0.441790
    // of the way from 31.2112 to 62.4224 ms: 0.9 - 0.441790 * 0.15 of that.
    let decision = rig.step(Some(45), 8.0, 0.0).unwrap();
    assert!(near(decision.to, 5.652_417), "{decision}");
    assert_eq!(
        decision.to_string(),
        "10.0 -> 5.7 Mbit/s: delay 45 ms above base in 3 of 6 samples at load 80 %"
    );
    // No second cut within 300 ms, and after that with three delayed steps: the third is 150 ms
    // after the cut, the sixth 300 ms.
    assert_eq!(rig.steps(5, Some(45), 6.0, 0.0), []);
    let again = rig.step(Some(45), 6.0, 0.0).unwrap();
    assert!(again.to < decision.to, "{again}");
}

#[test]
fn beyond_what_the_link_takes_a_full_load_is_asked_for_and_steps_are_small() {
    let mut rig = Rig::new();
    let cut = rig.steps(3, Some(45), 8.0, 0.0);
    assert_eq!(cut.len(), 1);
    // The link takes 6.779661, as above: two fifths of the way back to it, 0.4 % at least.
    rig.steps(5, Some(0), 5.6, 0.0);
    let back = rig.step(Some(0), 5.6, 0.0).unwrap();
    assert!(
        near(
            back.to,
            5.652_417 * (1.0 + 0.4 * (1.0 - 5.652_417 / 6.779_661))
        ),
        "{back}"
    );
    for _ in 0..100 {
        if rig.it.rate() > mbit(6.8) {
            break;
        }
        let rate = rig.it.rate().as_bps() as f64 / 1e6;
        rig.step(Some(0), rate, 0.0).expect("it rises");
    }
    let rate = rig.it.rate().as_bps() as f64 / 1e6;
    assert_eq!(rig.step(Some(0), rate * 0.85, 0.0), None);
    let on = rig.step(Some(0), rate * 0.95, 0.0).unwrap();
    assert!(near(on.to, rate * 1.004), "{on}");
    // As long as it is full it rises: the link may be a faster one.
    rig.steps(60, Some(0), 20.0, 0.0);
    assert_eq!(rig.it.rate(), mbit(20.0));
}

#[test]
fn a_cut_leaves_half_the_rate_at_least_and_the_minimum() {
    let mut rig = Rig::new();
    let cut = rig.steps(3, Some(200), 1.5, 0.0);
    assert!(near(cut[0].to, 5.0), "{}", cut[0]);
    rig.steps(60, Some(300), 0.9, 0.0);
    assert_eq!(rig.it.rate(), mbit(2.0));
}

#[test]
fn while_the_delay_falls_there_is_no_cut() {
    let mut rig = Rig::new();
    assert_eq!(rig.steps(3, Some(200), 10.0, 0.0).len(), 1);
    // A queue of before is worked off. Then it stays, and is cut.
    for above in [200, 210, 200, 190, 180, 160] {
        assert_eq!(rig.step(Some(above), 7.0, 0.0), None);
    }
    assert_eq!(rig.steps(6, Some(150), 7.0, 0.0).len(), 1);
}

#[test]
fn the_more_loaded_direction_answers_for_a_delay() {
    let mut rig = Rig::new();
    // A queue from the third step on, which stays for a second: then both answer.
    assert_eq!(rig.steps(22, Some(100), 5.0, 0.6), []);
    let late = rig.step(Some(100), 5.0, 0.6).unwrap();
    assert!(near(late.to, 5.0), "{late}");
    let mut rig = Rig::new();
    assert_eq!(rig.steps(3, Some(100), 5.0, 0.4).len(), 1);
    // Without load nobody does.
    let mut rig = Rig::new();
    assert_eq!(rig.steps(15, Some(100), 0.9, 0.5), []);
}

#[test]
fn a_delay_that_stays_when_the_rate_falls_is_the_paths() {
    let mut rig = Rig::new();
    let told = |decision: &Decision| matches!(decision.why, Why::Path { .. });
    let mut seen = Vec::new();
    for _ in 0..60 {
        let sent = rig.it.rate().as_bps() as f64 / 1e6;
        seen.extend(rig.step(Some(40), sent, 0.0));
        if seen.last().is_some_and(told) {
            break;
        }
    }
    let last = seen.last().unwrap();
    assert!(told(last) && last.to == mbit(10.0), "{last}");
    assert_eq!(
        last.why.to_string(),
        "delay 40 ms above base stayed when the rate fell: the path is longer"
    );
    // Cuts to at most 0.7 of the rate, 300 ms from each other, the first in the third step.
    let cuts = seen.len() - 1;
    assert!((2..=4).contains(&cuts), "{cuts}");
    // From now on this is no delay at all, and the way back is the base at once.
    let up = rig.steps(7, Some(40), 10.0, 0.0);
    assert!(up[0].to > mbit(10.0), "{}", up[0]);
    assert_eq!(rig.it.delay(), Span::ZERO);
}

#[test]
fn a_queue_that_moves_or_is_long_is_no_path() {
    for (low, high) in [(40, 58), (90, 90)] {
        let mut rig = Rig::new();
        for step in 0..100 {
            let above = if step % 2 == 0 { low } else { high };
            let sent = rig.it.rate().as_bps() as f64 / 1e6;
            if let Some(decision) = rig.step(Some(above), sent, 0.0) {
                assert!(matches!(decision.why, Why::Queue { .. }), "{decision}");
            }
        }
        assert_eq!(rig.it.rate(), mbit(2.0));
    }
}

#[test]
fn without_load_the_rate_goes_back_by_a_hundredth_a_second() {
    let mut rig = Rig::new();
    rig.steps(3, Some(0), 10.0, 0.0);
    let high = rig.it.rate().as_bps() as f64 / 1e6;
    let down = rig.steps(20, Some(0), 2.0, 0.0);
    assert!(
        down.len() == 1 && near(down[0].to, high * 0.99),
        "{}",
        down[0]
    );
    assert_eq!(down[0].why, Why::Unused { load: 2.0 / high });
    rig.steps(400, Some(0), 2.0, 0.0);
    assert_eq!(rig.it.rate(), mbit(10.0));
    // And up again after a cut, by as much.
    rig.steps(3, Some(200), 2.0, 0.0);
    assert!(near(rig.it.rate(), 5.0));
    let up = rig.steps(26, Some(0), 2.0, 0.0);
    assert!(up.len() == 1 && near(up[0].to, 5.05), "{up:?}");
}

#[test]
fn who_sees_nothing_does_not_ask_for_more() {
    let mut rig = Rig::new();
    rig.steps(3, Some(0), 10.0, 0.0);
    let blind = rig.steps(45, None, 11.0, 0.0);
    assert!(!blind.is_empty());
    for decision in &blind {
        assert!(
            decision.to < decision.from && decision.why == Why::Blind,
            "{decision}"
        );
    }
    // Below the base it stays.
    rig.steps(3, Some(200), 5.0, 0.0);
    let low = rig.it.rate();
    assert!(low < mbit(10.0));
    assert_eq!(rig.steps(100, None, 5.0, 0.0), []);
}

#[test]
fn what_is_seen_without_load_is_the_base() {
    let mut rig = Rig::new();
    rig.steps(21, Some(40), 0.5, 0.05);
    assert_eq!(rig.step(Some(40), 9.0, 0.0).unwrap().from, mbit(10.0));
    assert_eq!(rig.it.delay(), Span::ZERO);
}

#[test]
fn a_clock_that_goes_back_begins_anew() {
    let mut rig = Rig::new();
    assert_eq!(rig.steps(3, Some(200), 10.0, 0.0).len(), 1);
    rig.ms = 0;
    assert_eq!(rig.steps(3, Some(200), 7.0, 0.0).len(), 1);
}
