//! What netem can do to packets of a line, in netem's words.
//!
//! Sources: tc-netem(8); Linux `net/sched/sch_netem.c`; Gilbert 1960; Elliott 1963; Salsano,
//! Ludovici, Ordine, Giannuzzi, "Definition of a general and intuitive loss model for packet
//! networks and its implementation in the Netem module in the Linux kernel", 2012.
//!
//! Not here: dice (see `impairment`).

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::iter::Peekable;
use core::ops::RangeInclusive;
use core::str::{FromStr, SplitWhitespace};

/// A chance that is drawn for each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// Probability, 0 to 1.
    pub probability: f64,
    /// How much of each draw is the one before, 0 to 1. As in netem this is a weight of numbers
    /// and not of outcomes: with it the share of packets is not the probability, but nearer to
    /// none or all.
    pub correlation: f64,
}

impl Chance {
    /// That never comes.
    pub const NEVER: Self = Self {
        probability: 0.0,
        correlation: 0.0,
    };

    /// Whether it can come.
    pub fn can_be(self) -> bool {
        self.probability > 0.0
    }
}

impl From<f64> for Chance {
    fn from(probability: f64) -> Self {
        Self {
            probability,
            correlation: 0.0,
        }
    }
}

/// The model of Gilbert and Elliott: a good and a bad state, each with a chance of loss. A packet's
/// fate is that of the state that it finds, which then may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Chance that the bad state follows the good one.
    pub p: f64,
    /// Chance that the good state follows the bad one.
    pub r: f64,
    /// Chance of loss in the bad state: `1-h`.
    pub bad: f64,
    /// Chance of loss in the good state: `1-k`.
    pub good: f64,
}

impl GilbertElliott {
    /// With netem's defaults for what is not said: `r` is 1 - `p`, and exactly what meets the bad
    /// state is lost.
    pub fn new(p: f64) -> Self {
        Self {
            p,
            r: 1.0 - p,
            bad: 1.0,
            good: 0.0,
        }
    }

    /// Share of the packets that meet the bad state, in the long run: p / (p + r).
    pub fn share_of_bad(&self) -> f64 {
        if self.p > 0.0 {
            self.p / (self.p + self.r)
        } else {
            0.0
        }
    }

    /// Share of the packets that are lost, in the long run.
    pub fn loss_rate(&self) -> f64 {
        let bad = self.share_of_bad();
        bad * self.bad + (1.0 - bad) * self.good
    }

    /// Mean number of packets lost in a row, in the long run: what is lost over how often a packet
    /// that is lost is followed by one that is not. NaN where nothing is lost.
    pub fn mean_burst(&self) -> f64 {
        let share = self.share_of_bad();
        let kept_after_bad = self.r * (1.0 - self.good) + (1.0 - self.r) * (1.0 - self.bad);
        let kept_after_good = self.p * (1.0 - self.bad) + (1.0 - self.p) * (1.0 - self.good);
        let ends_in_bad = share * self.bad * kept_after_bad;
        let ends_in_good = (1.0 - share) * self.good * kept_after_good;
        self.loss_rate() / (ends_in_bad + ends_in_good)
    }
}

/// The model of Salsano and others with four states, of which 3 and 4 lose: 1 is reception in a
/// gap, 2 reception in a burst, 3 loss in a burst, 4 a loss alone in a gap, after which 1 follows.
/// A packet's fate is that of the state that it leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourStates {
    /// Chance that a burst begins: from 1 to 3.
    pub p13: f64,
    /// Chance that a burst ends: from 3 to 1.
    pub p31: f64,
    /// Chance of a reception in a burst: from 3 to 2.
    pub p32: f64,
    /// Chance of a loss after that: from 2 to 3.
    pub p23: f64,
    /// Chance of a loss alone: from 1 to 4.
    pub p14: f64,
}

impl FourStates {
    /// With netem's defaults for what is not said: bursts end with 1 - `p13`, and nothing is
    /// received in them nor lost outside.
    pub fn new(p13: f64) -> Self {
        Self {
            p13,
            p31: 1.0 - p13,
            p32: 0.0,
            p23: 1.0,
            p14: 0.0,
        }
    }

    /// Share of the packets that are lost, in the long run: that of the states 3 and 4. Where a
    /// burst cannot end, or what is received in it has no end, all or none from some packet on.
    pub fn loss_rate(&self) -> f64 {
        if self.p13 == 0.0 {
            return self.p14 / (1.0 + self.p14);
        }
        if self.p32 > 0.0 && self.p23 == 0.0 {
            return 0.0;
        }
        let received = if self.p32 > 0.0 {
            self.p32 / self.p23
        } else {
            0.0
        };
        // Shares of 1, 2 and 4 in terms of that of 3: between gap and burst, between 3 and 2, and
        // between 1 and 4 as many go as come.
        let gap = self.p31 / self.p13;
        let alone = gap * self.p14;
        (1.0 + alone) / (gap + received + 1.0 + alone)
    }
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each with the same chance.
    Random(Chance),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// In bursts with gaps of their own.
    FourStates(FourStates),
}

impl Loss {
    /// None.
    pub const NONE: Self = Self::Random(Chance::NEVER);

    /// Whether a packet can be lost.
    pub fn can_be(&self) -> bool {
        match self {
            Self::Random(chance) => chance.can_be(),
            Self::GilbertElliott(model) => model.good > 0.0 || (model.p > 0.0 && model.bad > 0.0),
            Self::FourStates(model) => model.p13 > 0.0 || model.p14 > 0.0,
        }
    }
}

impl From<f64> for Loss {
    fn from(probability: f64) -> Self {
        Self::Random(probability.into())
    }
}

/// Which packets may overtake others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reorder {
    /// None.
    #[default]
    Never,
    /// Those whose delay, by jitter or by a change, ends sooner.
    Allowed,
    /// Besides, some pass the line's delay and jitter by: of those that follow `gap - 1` delayed
    /// ones without another such between, each with the chance.
    Ahead {
        /// Of each that may.
        chance: Chance,
        /// Above zero.
        gap: u32,
    },
}

/// A share in netem's per cent.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.07 * 100 is not 7.
        let digits = format!("{:.10}", self.0 * 100.0);
        write!(f, "{}%", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Percent(self.probability).fmt(f)?;
        if self.correlation > 0.0 {
            write!(f, " {}", Percent(self.correlation))?;
        }
        Ok(())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(chance) => chance.fmt(f),
            Self::GilbertElliott(GilbertElliott { p, r, bad, good }) => {
                let [p, r, bad, good] = [*p, *r, *bad, *good].map(Percent);
                write!(f, "gemodel p {p} r {r} 1-h {bad} 1-k {good}")
            }
            Self::FourStates(FourStates {
                p13,
                p31,
                p32,
                p23,
                p14,
            }) => {
                let [p13, p31, p32, p23, p14] = [*p13, *p31, *p32, *p23, *p14].map(Percent);
                write!(f, "state p13 {p13} p31 {p31} p32 {p32} p23 {p23} p14 {p14}")
            }
        }
    }
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("false"),
            Self::Allowed => f.write_str("true"),
            Self::Ahead { chance, gap } => write!(f, "{chance} gap {gap}"),
        }
    }
}

/// Why words are none of netem's for a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNetem {
    /// A number is missing.
    #[error("{after} a number such as `1%` is missing")]
    Missing {
        /// What it should follow.
        after: String,
    },
    /// Not a share of packets.
    #[error("`{word}` is not a share of {least}% to {most}%, with its `%`")]
    Share {
        /// The word.
        word: String,
        /// In per cent.
        least: u8,
        /// In per cent.
        most: u8,
    },
    /// Not a number of packets.
    #[error("`{word}` is not a number of packets from 1 on")]
    Gap {
        /// The word.
        word: String,
    },
    /// A word that has no place here.
    #[error("`{word}` has no place here; {wanted}")]
    Unknown {
        /// The word.
        word: String,
        /// What may stand here.
        wanted: &'static str,
    },
    /// Chances of one state's ends that are more than all.
    #[error("`{words}` are more than 100% together; from one state only one way is taken")]
    Ways {
        /// Their names.
        words: &'static str,
    },
}

/// Words that are taken one by one.
struct Words<'a> {
    left: Peekable<SplitWhitespace<'a>>,
    last: String,
}

impl<'a> Words<'a> {
    fn of(text: &'a str, what: &str) -> Self {
        Self {
            left: text.split_whitespace().peekable(),
            last: format!("for {what}"),
        }
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        let found = self.left.next_if_eq(&word).is_some();
        if found {
            self.last = format!("after `{word}`");
        }
        found
    }

    /// The share that must come next, in whole per cent at the ends.
    fn share(&mut self, within: RangeInclusive<u8>) -> Result<f64, NotNetem> {
        let after = || self.last.clone();
        let word = self
            .left
            .next()
            .ok_or_else(|| NotNetem::Missing { after: after() })?;
        let ends = f64::from(*within.start())..=f64::from(*within.end());
        let number = word
            .strip_suffix('%')
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|number| ends.contains(number));
        self.last = format!("after `{word}`");
        let wrong = || NotNetem::Share {
            word: word.into(),
            least: *within.start(),
            most: *within.end(),
        };
        number.map(|number| number / 100.0).ok_or_else(wrong)
    }

    /// Whether a share comes next.
    fn has_share(&mut self) -> bool {
        let digit = |c: char| c.is_ascii_digit() || c == '.';
        self.left
            .peek()
            .is_some_and(|word| word.starts_with(digit) && word.ends_with('%'))
    }

    fn chance(&mut self) -> Result<Chance, NotNetem> {
        let probability = self.share(0..=100)?;
        let correlation = if self.has_share() {
            self.share(0..=100)?
        } else {
            0.0
        };
        Ok(Chance {
            probability,
            correlation,
        })
    }

    /// The shares with these names, as many as there are, in this order.
    fn named(&mut self, slots: &mut [(&str, &mut f64)]) -> Result<(), NotNetem> {
        for (name, slot) in slots {
            if self.take(name) || self.has_share() {
                **slot = self.share(0..=100)?;
            }
        }
        Ok(())
    }

    fn gilbert_elliott(&mut self) -> Result<GilbertElliott, NotNetem> {
        self.take("p");
        let mut model = GilbertElliott::new(self.share(0..=100)?);
        self.named(&mut [
            ("r", &mut model.r),
            ("1-h", &mut model.bad),
            ("1-k", &mut model.good),
        ])?;
        self.end("`gemodel` has `p`, `r`, `1-h` and `1-k`, in this order")?;
        Ok(model)
    }

    fn four_states(&mut self) -> Result<FourStates, NotNetem> {
        self.take("p13");
        let mut model = FourStates::new(self.share(0..=100)?);
        self.named(&mut [
            ("p31", &mut model.p31),
            ("p32", &mut model.p32),
            ("p23", &mut model.p23),
            ("p14", &mut model.p14),
        ])?;
        self.end("`state` has `p13`, `p31`, `p32`, `p23` and `p14`, in this order")?;
        for (words, sum) in [
            ("p13 and p14", model.p13 + model.p14),
            ("p31 and p32", model.p31 + model.p32),
        ] {
            // Of per cents that add up to a hundred the shares may not.
            if sum > 1.0 + 1e-9 {
                return Err(NotNetem::Ways { words });
            }
        }
        Ok(model)
    }

    fn end(&mut self, wanted: &'static str) -> Result<(), NotNetem> {
        self.left.next().map_or(Ok(()), |word| {
            Err(NotNetem::Unknown {
                word: word.into(),
                wanted,
            })
        })
    }
}

impl FromStr for Chance {
    type Err = NotNetem;

    /// `PERCENT [CORRELATION]`.
    fn from_str(text: &str) -> Result<Self, NotNetem> {
        let mut words = Words::of(text, "the share of packets");
        let chance = words.chance()?;
        words.end("a share may be followed by a correlation, as in `1% 25%`")?;
        Ok(chance)
    }
}

impl FromStr for Loss {
    type Err = NotNetem;

    /// `[random] PERCENT [CORRELATION]`, `gemodel [p] P [[r] R [[1-h] H [[1-k] K]]]` or
    /// `state [p13] P13 [[p31] P31 [[p32] P32 [[p23] P23 [[p14] P14]]]]`.
    fn from_str(text: &str) -> Result<Self, NotNetem> {
        let mut words = Words::of(text, "the loss");
        if words.take("gemodel") {
            return words.gilbert_elliott().map(Self::GilbertElliott);
        }
        if words.take("state") {
            return words.four_states().map(Self::FourStates);
        }
        words.take("random");
        let chance = words.chance()?;
        words.end("a share may be followed by a correlation, as in `1% 25%`")?;
        Ok(Self::Random(chance))
    }
}

impl FromStr for Reorder {
    type Err = NotNetem;

    /// `PERCENT [CORRELATION] [gap DISTANCE]`.
    fn from_str(text: &str) -> Result<Self, NotNetem> {
        let mut words = Words::of(text, "the share of packets");
        let chance = words.chance()?;
        let mut gap = 1;
        if words.take("gap") {
            let word = words.left.next().unwrap_or_default();
            let number = word.parse().ok().filter(|&number| number > 0);
            gap = number.ok_or_else(|| NotNetem::Gap { word: word.into() })?;
        }
        words.end("shares may be followed by `gap` and a number, as in `25% 50% gap 5`")?;
        Ok(Self::Ahead { chance, gap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn words_mean_what_netem_means_by_them() {
        let model = |p, r, bad, good| Loss::GilbertElliott(GilbertElliott { p, r, bad, good });
        let states = Loss::FourStates(FourStates {
            p13: 0.01,
            p31: 0.2,
            p32: 0.1,
            p23: 0.5,
            p14: 0.005,
        });
        let correlated = |probability, correlation| Chance {
            probability,
            correlation,
        };
        for (words, loss) in [
            ("1%", Loss::from(0.01)),
            ("random 1%", Loss::from(0.01)),
            ("0.3% 25%", Loss::Random(correlated(0.003, 0.25))),
            ("gemodel 1%", model(0.01, 0.99, 1.0, 0.0)),
            ("gemodel 1% 10%", model(0.01, 0.1, 1.0, 0.0)),
            ("gemodel 1% 10% 70% 0.1%", model(0.01, 0.1, 0.7, 0.001)),
            (
                "gemodel p 1% r 10% 1-h 70% 1-k 0.1%",
                model(0.01, 0.1, 0.7, 0.001),
            ),
            ("gemodel p 2% 1-k 5%", model(0.02, 0.98, 1.0, 0.05)),
            ("state 1%", Loss::FourStates(FourStates::new(0.01))),
            ("state 1% 20% 10% 50% 0.5%", states),
            ("state p13 1% p31 20% p32 10% p23 50% p14 0.5%", states),
        ] {
            assert_eq!(words.parse(), Ok(loss), "{words}");
            assert_eq!(loss.to_string().parse(), Ok(loss), "{words}");
        }
        for (words, reorder) in [
            ("25% 50%", (correlated(0.25, 0.5), 1)),
            ("100% gap 5", (Chance::from(1.0), 5)),
        ] {
            let (chance, gap) = reorder;
            assert_eq!(words.parse(), Ok(Reorder::Ahead { chance, gap }), "{words}");
        }
        assert_eq!("7%".parse::<Chance>().unwrap().to_string(), "7%");
    }

    #[test]
    fn other_words_are_refused_with_what_would_be_right() {
        for (words, message) in [
            ("", "for the loss a number such as `1%` is missing"),
            ("1", "`1` is not a share of 0% to 100%, with its `%`"),
            ("101%", "`101%` is not a share of 0% to 100%, with its `%`"),
            (
                "gemodel",
                "after `gemodel` a number such as `1%` is missing",
            ),
            (
                "gemodel r 10%",
                "`r` is not a share of 0% to 100%, with its `%`",
            ),
            (
                "gemodel 1% 1-h 70% r 10%",
                "`r` has no place here; `gemodel` has `p`, `r`, `1-h` and `1-k`, in this order",
            ),
            (
                "state 1% 50% 60%",
                "`p31 and p32` are more than 100% together; from one state only one way is taken",
            ),
            (
                "state 1% 2% 3% 4% 5% 6%",
                "`6%` has no place here; `state` has `p13`, `p31`, `p32`, `p23` and `p14`, in this \
                 order",
            ),
            (
                "state 60% p14 50%",
                "`p13 and p14` are more than 100% together; from one state only one way is taken",
            ),
        ] {
            let error = words.parse::<Loss>().unwrap_err();
            assert_eq!(error.to_string(), message, "{words}");
        }
        let error = "25% gap 0".parse::<Reorder>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`0` is not a number of packets from 1 on"
        );
        assert!("1% 2% 3%".parse::<Chance>().is_err());
    }

    #[test]
    fn the_closed_forms_are_those_of_the_special_cases() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // Bernoulli: bursts of 1 / (1 - p).
        let bernoulli = GilbertElliott::new(0.2);
        assert!(near(bernoulli.loss_rate(), 0.2) && near(bernoulli.mean_burst(), 1.25));
        // Simple Gilbert: p / (p + r), and bursts of 1 / r.
        let simple = GilbertElliott {
            r: 0.25,
            ..GilbertElliott::new(0.01)
        };
        assert!(near(simple.loss_rate(), 0.01 / 0.26) && near(simple.mean_burst(), 4.0));
        let none = GilbertElliott::new(0.0);
        assert!(none.loss_rate() == 0.0 && none.mean_burst().is_nan());
        assert!(!Loss::GilbertElliott(none).can_be());
        // Without receptions in bursts and losses alone it is the simple Gilbert model.
        let simple = FourStates {
            p31: 0.25,
            ..FourStates::new(0.01)
        };
        assert!(near(simple.loss_rate(), 0.01 / 0.26));
        // Losses alone: after each comes a reception.
        let alone = FourStates {
            p14: 0.25,
            ..FourStates::new(0.0)
        };
        assert!(near(alone.loss_rate(), 0.2));
    }
}
