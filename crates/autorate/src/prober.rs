//! When which reflector is asked, and which of them is given up for another.
//!
//! As cake-autorate does it (`defaults.sh`: `no_pingers`, `reflector_ping_interval_s`,
//! `reflector_response_deadline_s`, `reflector_misbehaving_detection_window` and `_thr`): six are
//! asked every 300 ms, evenly in turn. Each second it is seen who has not answered for a second;
//! three times in a minute are too often, and the first of those that wait takes its place. Where
//! it differs: while nobody answers, nobody is to blame, and the list is kept in its order, where
//! cake-autorate shuffles it. It does not compare reflectors' baselines with each other: of each
//! step the smallest delay counts, so that a slow reflector changes nothing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Reflectors that are asked at a time.
const ASKED: usize = 6;
/// How often each is.
const EVERY: Span = Span::from_millis(300);
/// An answer later than this is none.
const DEADLINE: Span = Span::from_secs(1);
/// Checks that are remembered, one a second, and how many of them may find a reflector silent.
const CHECKS: u32 = 60;
const SILENT: u32 = 3;
/// Probes of a reflector whose answers may still come.
const UNDER_WAY: usize = 4;

/// Asks reflectors in turn. They are numbered as in the list.
#[derive(Clone, Debug)]
pub struct Prober {
    asked: Vec<Asked>,
    spare: VecDeque<usize>,
    /// Whose turn it is.
    turn: usize,
    due: Time,
    checked: Time,
    sequence: u16,
}

/// A reflector that is asked.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: usize,
    /// When it last answered, or was first asked.
    heard: Option<Time>,
    since: Option<Time>,
    /// The last checks, one bit each: whether it was silent.
    silent: u64,
    under_way: [Option<(u16, Time)>; UNDER_WAY],
}

/// A probe to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The reflector's number.
    pub reflector: usize,
    /// What tells its answer from others.
    pub sequence: u16,
}

impl Asked {
    const fn new(number: usize) -> Self {
        Self {
            number,
            heard: None,
            since: None,
            silent: 0,
            under_way: [None; UNDER_WAY],
        }
    }

    fn has_answered(&self, now: Time) -> bool {
        self.heard.is_some_and(|at| now - at <= DEADLINE)
    }

    fn is_silent(&self, now: Time) -> bool {
        !self.has_answered(now) && self.since.is_some_and(|since| now - since > DEADLINE)
    }
}

impl Prober {
    /// Of so many reflectors.
    pub fn new(reflectors: usize) -> Self {
        let first = reflectors.min(ASKED);
        Self {
            asked: (0..first).map(Asked::new).collect(),
            spare: (first..reflectors).collect(),
            turn: 0,
            due: Time::ZERO,
            checked: Time::ZERO,
            sequence: 0,
        }
    }

    /// When the next probe is to be sent.
    pub const fn due(&self) -> Time {
        self.due
    }

    /// The next probe, if it is due.
    pub fn ask(&mut self, now: Time) -> Option<Probe> {
        if now < self.due || self.asked.is_empty() {
            return None;
        }
        if now - self.checked >= Span::from_secs(1) {
            self.checked = now;
            self.check(now);
        }
        self.due = now + EVERY / self.asked.len() as u64;
        self.turn = (self.turn + 1) % self.asked.len();
        self.sequence = self.sequence.wrapping_add(1);
        let asked = &mut self.asked[self.turn];
        asked.since = asked.since.or(Some(now));
        asked.under_way.rotate_right(1);
        asked.under_way[0] = Some((self.sequence, now));
        Some(Probe {
            reflector: asked.number,
            sequence: self.sequence,
        })
    }

    /// An answer has come: how long it took, unless it answers nothing that was asked of late.
    pub fn answered(&mut self, probe: Probe, now: Time) -> Option<Span> {
        let Probe {
            reflector,
            sequence,
        } = probe;
        let asked = self.asked.iter_mut().find(|it| it.number == reflector)?;
        let of = |it: &&mut Option<(u16, Time)>| it.is_some_and(|(number, _)| number == sequence);
        let (_, sent) = asked.under_way.iter_mut().find(of)?.take()?;
        let trip = now - sent;
        if trip > DEADLINE {
            return None;
        }
        asked.heard = Some(now);
        Some(trip)
    }

    /// Gives up who has been silent too often.
    fn check(&mut self, now: Time) {
        if !self.asked.iter().any(|it| it.has_answered(now)) {
            return; // the link, or our way to it
        }
        for asked in &mut self.asked {
            let silent = asked.is_silent(now);
            asked.silent = (asked.silent << 1 | u64::from(silent)) & ((1 << CHECKS) - 1);
            if silent
                && asked.silent.count_ones() >= SILENT
                && let Some(next) = self.spare.pop_front()
            {
                self.spare.push_back(asked.number);
                *asked = Asked::new(next);
            }
        }
    }

    /// How many are asked, and how many of those answer.
    pub fn answering(&self, now: Time) -> [usize; 2] {
        let answer = self.asked.iter().filter(|it| it.has_answered(now));
        [self.asked.len(), answer.count()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// So many seconds in which those answer, after 20 ms, that `answers` has; who was asked how
    /// often.
    fn run(
        prober: &mut Prober,
        from: u64,
        seconds: u64,
        answers: impl Fn(usize) -> bool,
    ) -> [u32; 9] {
        let mut asked = [0; 9];
        let mut back = VecDeque::new();
        for ms in from..from + seconds * 1000 {
            if let Some(probe) = prober.ask(at(ms)) {
                asked[probe.reflector] += 1;
                if answers(probe.reflector) {
                    back.push_back((ms + 20, probe));
                }
            }
            while let Some(&(due, probe)) = back.front().filter(|(due, _)| *due <= ms) {
                back.pop_front();
                assert_eq!(prober.answered(probe, at(due)), Some(Span::from_millis(20)));
                assert_eq!(prober.answered(probe, at(due)), None, "once");
            }
        }
        asked
    }

    #[test]
    fn six_are_asked_evenly_and_the_others_wait() {
        let mut prober = Prober::new(8);
        let asked = run(&mut prober, 0, 30, |_| true);
        assert_eq!(asked, [100, 100, 100, 100, 100, 100, 0, 0, 0]);
        assert_eq!(prober.answering(at(30_000)), [6, 6]);
        let mut one = Prober::new(1);
        assert_eq!(run(&mut one, 0, 3, |_| true)[0], 10);
        assert_eq!(Prober::new(0).ask(at(1)), None);
    }

    /// Silent from the second second on: 3 checks, and the first of those that wait has its place.
    #[test]
    fn a_dead_one_is_given_up_for_the_next() {
        let mut prober = Prober::new(8);
        let asked = run(&mut prober, 0, 30, |number| number != 2);
        assert!((10..=20).contains(&asked[2]), "{asked:?}");
        assert_eq!(asked[2] + asked[6], 100, "{asked:?}");
        assert_eq!(prober.answering(at(30_000)), [6, 6]);
        // With the last one too, those that were given up have another turn.
        let asked = run(&mut prober, 30_000, 60, |number| number > 2 && number < 6);
        assert!(asked[0] > 0 && asked[2] > 0 && asked[7] > 0, "{asked:?}");
    }

    #[test]
    fn without_others_it_is_asked_on_and_a_dead_link_blames_nobody() {
        let mut prober = Prober::new(3);
        let asked = run(&mut prober, 0, 30, |number| number == 0);
        assert_eq!(asked[..3], [100, 100, 100]);
        assert_eq!(prober.answering(at(30_000)), [3, 1]);
        let mut prober = Prober::new(8);
        assert_eq!(run(&mut prober, 0, 30, |_| false)[6..], [0, 0, 0]);
    }

    #[test]
    fn what_answers_nothing_is_no_sample() {
        let mut prober = Prober::new(2);
        let probe = prober.ask(at(5)).expect("it is due");
        let other = Probe {
            sequence: probe.sequence + 1,
            ..probe
        };
        assert_eq!(prober.answered(other, at(6)), None);
        let missing = Probe {
            reflector: 7,
            ..probe
        };
        assert_eq!(prober.answered(missing, at(6)), None);
        assert_eq!(prober.answered(probe, at(1100)), None, "too late");
    }
}
