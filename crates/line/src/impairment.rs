//! What becomes of packets that a line has sent: losses, copies, jitter and order, on dice.
//!
//! As netem has them (`netem_enqueue` in Linux `net/sched/sch_netem.c`): a packet that is to be
//! copied and to be lost passes once, and a copy may be lost too but not be copied again. Differs
//! from netem: without [`Reorder`] no packet overtakes another.

use alloc::format;

use crate::{Chance, FourStates, GilbertElliott, Line, Loss, Reorder};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// A line's losses, copies, jitter and order.
#[derive(Clone, Debug)]
pub struct Impairment {
    delay: Span,
    jitter: Span,
    reorder: Reorder,
    loss: Loss,
    duplicate: Chance,
    /// Of loss and jitter.
    dice: Stream,
    duplicates: Draws,
    aheads: Draws,
    losses: Draws,
    /// Whether the state of Gilbert and Elliott's model is the bad one.
    is_bad: bool,
    /// The state of the model with four.
    state: State,
    /// Packets delayed since the last that passed the delay by.
    delayed: u32,
}

/// A state of [`FourStates`], by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    One,
    Two,
    Three,
    Four,
}

/// Draws for chances, of which each may have something of the one before.
#[derive(Clone, Debug)]
struct Draws {
    dice: Stream,
    last: f64,
}

impl Draws {
    fn named(seed: u64, name: &str) -> Self {
        let mut dice = Stream::named(seed, name);
        let last = dice.unit();
        Self { dice, last }
    }

    fn comes(&mut self, chance: Chance) -> bool {
        let Chance {
            probability,
            correlation,
        } = chance;
        let fresh = self.dice.unit();
        self.last = fresh * (1.0 - correlation) + self.last * correlation;
        self.last < probability
    }
}

/// When a packet that was sent arrives, and a copy of it. Neither does when it is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Of each that arrives, the copy first, which was sent first.
    pub arrivals: [Option<Time>; 2],
    /// Whether a copy was made.
    pub is_copied: bool,
}

impl Fate {
    /// Of a packet that arrives once.
    pub const fn once(at: Time) -> Self {
        Self {
            arrivals: [Some(at), None],
            is_copied: false,
        }
    }

    /// How many of the packet and its copy are lost.
    pub fn lost(&self) -> u64 {
        let arrived = self.arrivals.iter().flatten().count() as u64;
        1 + u64::from(self.is_copied) - arrived
    }
}

impl Impairment {
    /// Those of a line, with dice of this name.
    pub fn new(line: &Line, seed: u64, name: &str) -> Self {
        let draws = |what: &str| Draws::named(seed, &format!("{name}.{what}"));
        Self {
            delay: line.delay,
            jitter: line.jitter,
            reorder: line.reorder,
            loss: line.loss,
            duplicate: line.duplicate,
            dice: Stream::named(seed, name),
            duplicates: draws("duplicate"),
            aheads: draws("reorder"),
            losses: draws("loss"),
            is_bad: false,
            state: State::One,
            delayed: 0,
        }
    }

    /// As [`new`](Self::new); none for a line that only delays.
    pub fn of(line: &Line, seed: u64, name: &str) -> Option<Self> {
        let impaired = !line.jitter.is_zero()
            || line.loss.can_be()
            || line.duplicate.can_be()
            || matches!(line.reorder, Reorder::Ahead { .. });
        impaired.then(|| Self::new(line, seed, name))
    }

    /// Those of the line as it is from now on, with the same dice.
    pub fn follow(&mut self, line: &Line) {
        if self.loss != line.loss {
            self.is_bad = false;
            self.state = State::One;
        }
        (self.delay, self.jitter, self.reorder) = (line.delay, line.jitter, line.reorder);
        (self.loss, self.duplicate) = (line.loss, line.duplicate);
    }

    /// The fate of a packet that would arrive at `due`, and not before `last` without reordering.
    pub fn fate(&mut self, due: Time, last: Time) -> Fate {
        let copies = self.duplicate.can_be() && self.duplicates.comes(self.duplicate);
        let lost = self.loses();
        if !copies || lost {
            // Of one that is both copied and lost one is left.
            let passes = copies || !lost;
            return Fate {
                arrivals: [passes.then(|| self.arrival(due, last)), None],
                is_copied: false,
            };
        }
        let copy = (!self.loses()).then(|| self.arrival(due, last));
        let whole = self.arrival(due, copy.map_or(last, |copy| last.max(copy)));
        Fate {
            arrivals: [copy, Some(whole)],
            is_copied: true,
        }
    }

    fn loses(&mut self) -> bool {
        match self.loss {
            Loss::Random(chance) if !chance.can_be() => false,
            Loss::Random(chance) if chance.correlation > 0.0 => self.losses.comes(chance),
            Loss::Random(chance) => self.dice.chance(chance.probability),
            Loss::GilbertElliott(GilbertElliott { p, r, bad, good }) => {
                let (lost, turns) = if self.is_bad { (bad, r) } else { (good, p) };
                self.is_bad ^= self.losses.dice.chance(turns);
                self.losses.dice.chance(lost)
            }
            Loss::FourStates(model) => {
                self.state = self.next_state(&model);
                matches!(self.state, State::Three | State::Four)
            }
        }
    }

    fn next_state(&mut self, model: &FourStates) -> State {
        // The chances to leave a state share one draw, as in netem.
        let draw = self.losses.dice.unit();
        let (first, second) = match self.state {
            State::One => ((model.p14, State::Four), (model.p13, State::Three)),
            State::Two => ((model.p23, State::Three), (0.0, State::Two)),
            State::Three => ((model.p32, State::Two), (model.p31, State::One)),
            State::Four => return State::One,
        };
        if draw < first.0 {
            first.1
        } else if draw < first.0 + second.0 {
            second.1
        } else {
            self.state
        }
    }

    /// When a packet arrives that is not lost.
    fn arrival(&mut self, due: Time, last: Time) -> Time {
        if let Reorder::Ahead { chance, gap } = self.reorder {
            if self.delayed >= gap - 1 && self.aheads.comes(chance) {
                self.delayed = 0;
                return due - self.delay;
            }
            self.delayed = self.delayed.saturating_add(1);
        }
        let at = due + self.dice.span_below(self.jitter);
        match self.reorder {
            Reorder::Never => at.max(last),
            Reorder::Allowed | Reorder::Ahead { .. } => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineRate;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn line() -> Line {
        Line::new(LineRate::Infinite)
    }

    /// For each of so many packets whether it is lost.
    fn lost(loss: Loss, seed: u64, packets: u64) -> Vec<bool> {
        let line = Line { loss, ..line() };
        let mut impairment = Impairment::new(&line, seed, "test");
        let fate = |number| impairment.fate(at(number), Time::ZERO).lost() > 0;
        (0..packets).map(fate).collect()
    }

    /// What stands in tc-netem(8)'s sources: shares and lengths of bursts by the closed forms.
    #[test]
    fn bursts_have_their_rate_and_their_length() {
        for (p, r, bad, good) in [
            (0.01, 0.1, 1.0, 0.0),
            (0.01, 0.1, 0.7, 0.001),
            (0.2, 0.5, 0.9, 0.05),
            (0.05, 0.95, 1.0, 0.0),
        ] {
            let model = GilbertElliott { p, r, bad, good };
            let lost = lost(Loss::GilbertElliott(model), 7, 2_000_000);
            let all = lost.iter().filter(|&&lost| lost).count() as f64;
            let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
            let (rate, length) = (all / lost.len() as f64, all / bursts);
            // Some 10 000 bursts and more: four of their deviations are 4 %.
            let near = |found: f64, right: f64| (found - right).abs() < 0.04 * right;
            assert!(near(rate, model.loss_rate()), "{model:?}: {rate}");
            assert!(near(length, model.mean_burst()), "{model:?}: {length}");
        }
    }

    /// Shares by the closed form, and of the losses those alone and the bursts' lengths.
    #[test]
    fn four_states_lose_alone_and_in_bursts() {
        for (p13, p31, p32, p23, p14) in [
            (0.01, 0.2, 0.1, 0.5, 0.005),
            (0.05, 0.6, 0.4, 0.3, 0.1),
            (0.01, 0.99, 0.0, 1.0, 0.0),
            (0.0, 1.0, 0.0, 1.0, 0.25),
        ] {
            let model = FourStates {
                p13,
                p31,
                p32,
                p23,
                p14,
            };
            let lost = lost(Loss::FourStates(model), 7, 2_000_000);
            let rate = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
            let right = model.loss_rate();
            assert!(
                (rate - right).abs() < 0.04 * right,
                "{model:?}: {rate}, not {right}"
            );
        }
        // A loss alone is never followed by another one; one in a burst without receptions is, with
        // what its end leaves.
        let alone = lost(
            Loss::FourStates(FourStates {
                p14: 0.5,
                ..FourStates::new(0.0)
            }),
            1,
            9999,
        );
        assert!(alone.windows(2).all(|pair| !(pair[0] && pair[1])));
        let bursts = FourStates {
            p31: 0.2,
            ..FourStates::new(0.02)
        };
        let lost = lost(Loss::FourStates(bursts), 1, 2_000_000);
        let all = lost.iter().filter(|&&lost| lost).count() as f64;
        let ends = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
        assert!((all / ends - 5.0).abs() < 0.2, "{}", all / ends);
    }

    /// Draws with a correlation are of a mean of a half and a variance of (1 - ρ) / (1 + ρ) / 12,
    /// and each has ρ of the one before.
    #[test]
    fn draws_are_correlated_as_told() {
        let correlation = 0.6;
        let mut draws = Draws::named(1, "test");
        let mut draw = || {
            draws.comes(Chance {
                probability: 0.0,
                correlation,
            });
            draws.last - 0.5
        };
        let all: Vec<f64> = (0..1_000_000).map(|_| draw()).collect();
        let mean = |sum: f64| sum / all.len() as f64;
        let variance = mean(all.iter().map(|x| x * x).sum());
        let neighbours = mean(all.windows(2).map(|pair| pair[0] * pair[1]).sum());
        let right = (1.0 - correlation) / (1.0 + correlation) / 12.0;
        assert!((variance - right).abs() < 0.01 * right, "{variance}");
        let found = neighbours / variance;
        assert!((found - correlation).abs() < 0.01, "{found}");
    }

    #[test]
    fn every_fifth_passes_the_delay_by() {
        let line = Line {
            delay: Span::from_millis(10),
            reorder: "100% gap 5".parse().expect("netem's words"),
            ..line()
        };
        let mut impairment = Impairment::of(&line, 1, "test").expect("it reorders");
        for number in 1..=20 {
            let sent = at(100 * number);
            let due = sent + line.delay;
            let arrives = if number % 5 == 0 { sent } else { due };
            let fate = impairment.fate(due, Time::ZERO);
            assert_eq!(fate.arrivals, [Some(arrives), None], "{number}");
        }
    }

    #[test]
    fn copies_come_as_often_as_told_and_are_not_copied_again() {
        let line = Line {
            duplicate: 0.25.into(),
            loss: 0.1.into(),
            ..line()
        };
        let mut impairment = Impairment::of(&line, 1, "test").expect("it copies");
        let fates: Vec<Fate> = (0..100_000)
            .map(|n| impairment.fate(at(n), Time::ZERO))
            .collect();
        let share = |of: fn(&Fate) -> u64| fates.iter().map(of).sum::<u64>() as f64 / 1e5;
        // Copied are those that are not to be lost; of these a tenth of the copies are. What is to
        // be copied and to be lost is neither.
        let copied = share(|fate| u64::from(fate.is_copied));
        assert!((copied - 0.25 * 0.9).abs() < 0.005, "{copied}");
        let lost = share(Fate::lost);
        let right = 0.75 * 0.1 + 0.25 * 0.9 * 0.1;
        assert!((lost - right).abs() < 0.004, "{lost}");
    }

    fn chances() -> impl Strategy<Value = Chance> {
        (0.0..=1.0, 0.0..=1.0).prop_map(|(probability, correlation)| Chance {
            probability,
            correlation,
        })
    }

    fn losses() -> impl Strategy<Value = Loss> {
        let shares = (0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0);
        prop_oneof![
            chances().prop_map(Loss::Random),
            shares.prop_map(|(p, r, bad, good)| {
                Loss::GilbertElliott(GilbertElliott { p, r, bad, good })
            }),
            // Two ways from a state, of which neither is longer than half.
            prop::array::uniform5(0.0..=0.5).prop_map(|[p13, p31, p32, p23, p14]| {
                Loss::FourStates(FourStates {
                    p13,
                    p31,
                    p32,
                    p23,
                    p14,
                })
            }),
        ]
    }

    proptest! {
        /// Whatever a line does and becomes: what was sent and copied arrives or is lost, nothing
        /// before it was sent, and without `reorder` nothing before what was sent earlier.
        #[test]
        fn packets_are_accounted_for_and_keep_their_order(
            seed in any::<u64>(),
            lines in prop::collection::vec(
                (losses(), chances(), 0..20_u64, 0..20_u64, chances(), 1..9_u32, any::<bool>()),
                1..5,
            ),
        ) {
            let mut impairment = Impairment::new(&line(), seed, "test");
            let (mut sent, mut last) = (Time::ZERO, Time::ZERO);
            let (mut packets, mut copies, mut arrived, mut lost) = (0, 0, 0, 0);
            for (loss, duplicate, delay, jitter, chance, gap, ordered) in lines {
                let reorder = if ordered { Reorder::Never } else { Reorder::Ahead { chance, gap } };
                let line = Line {
                    delay: Span::from_millis(delay),
                    jitter: Span::from_millis(jitter),
                    loss,
                    duplicate,
                    reorder,
                    ..line()
                };
                impairment.follow(&line);
                for _ in 0..50 {
                    sent += Span::from_millis(1);
                    let fate = impairment.fate(sent + line.delay, last);
                    packets += 1;
                    copies += u64::from(fate.is_copied);
                    lost += fate.lost();
                    for at in fate.arrivals.into_iter().flatten() {
                        arrived += 1;
                        prop_assert!(at >= sent);
                        prop_assert!(!ordered || at >= last);
                        last = last.max(at);
                    }
                }
            }
            prop_assert_eq!(packets + copies, arrived + lost);
        }
    }
}
