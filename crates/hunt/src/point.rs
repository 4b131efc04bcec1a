//! A point of a space: a value of each dimension, and a seed.

use sojourn_random::Stream;
use sojourn_scenario::{Dimension, Gene, Space, Values};

/// Seeds are drawn from 1 to this: small ones are easier to tell.
const SEEDS: u64 = 1000;
/// Steps of a mutation, as a share of an interval: fine, middle, coarse.
const STEPS: [f64; 3] = [0.02, 0.1, 0.3];

/// A scenario of a space with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value of each dimension.
    pub genes: Vec<Gene>,
    /// The first seed.
    pub seed: u64,
}

impl Point {
    /// The first step and the lower end of everything, or the last and the upper.
    pub(crate) fn end(space: &Space, upper: bool) -> Self {
        let genes = space
            .dimensions()
            .iter()
            .map(|it| match &it.values {
                Values::Steps(steps) => Gene::Step(if upper { steps.len() - 1 } else { 0 }),
                Values::Interval(it) => Gene::Value(if upper { it.high() } else { it.low() }),
            })
            .collect();
        Self { genes, seed: 1 }
    }

    /// Any point.
    pub(crate) fn any(space: &Space, dice: &mut Stream) -> Self {
        let genes = space.dimensions().iter().map(|it| any(it, dice)).collect();
        let seed = 1 + dice.below(SEEDS);
        Self { genes, seed }
    }

    /// A point near to this one: some values differ, one at least, or only the seed.
    pub(crate) fn near(&self, space: &Space, dice: &mut Stream) -> Self {
        let mut near = self.clone();
        let dimensions = space.dimensions();
        if dimensions.is_empty() || dice.chance(0.2) {
            near.seed = 1 + dice.below(SEEDS);
            return near;
        }
        loop {
            let which = dice.below(dimensions.len() as u64) as usize;
            near.genes[which] = step(&dimensions[which], near.genes[which], dice);
            if dice.chance(0.5) {
                return near;
            }
        }
    }

    /// A mixture of two points.
    pub(crate) fn cross(&self, other: &Self, dice: &mut Stream) -> Self {
        let pairs = self.genes.iter().zip(&other.genes);
        let genes = pairs.map(|(&own, &other)| if dice.chance(0.5) { own } else { other });
        Self {
            genes: genes.collect(),
            seed: self.seed,
        }
    }
}

fn any(dimension: &Dimension, dice: &mut Stream) -> Gene {
    match &dimension.values {
        Values::Steps(steps) => Gene::Step(dice.below(steps.len() as u64) as usize),
        // An end, now and then: limits are where things break.
        Values::Interval(it) if dice.chance(0.2) => Gene::Value(if dice.chance(0.5) {
            it.low()
        } else {
            it.high()
        }),
        Values::Interval(it) => Gene::Value(it.at(dice.unit())),
    }
}

/// Another value, near to this one where there is a nearness.
fn step(dimension: &Dimension, from: Gene, dice: &mut Stream) -> Gene {
    let (Values::Interval(interval), Gene::Value(value)) = (&dimension.values, from) else {
        return any(dimension, dice);
    };
    if dice.chance(0.2) {
        return any(dimension, dice);
    }
    let scale = STEPS[dice.below(STEPS.len() as u64) as usize];
    let share = interval.share(value) + scale * dice.normal();
    let mut near = interval.at(share);
    // A small step among few whole numbers would lead nowhere.
    if interval.is_whole() && (near - value).abs() < 0.5 {
        near = value + if dice.chance(0.5) { 1.0 } else { -1.0 };
    }
    Gene::Value(near.clamp(interval.low(), interval.high()))
}
