//! Random numbers that are the same everywhere: named streams from one seed.
//!
//! Every component that rolls dice owns a [`Stream`], made from the run's seed and the
//! component's name. Streams are independent, and adding a component changes no other's dice.
//! Generator: PCG XSL 128/64 (MCG), O'Neill 2014, from `rand_pcg`. The distributions are ours,
//! because those of `rand` may change their values between releases; they use no platform
//! mathematics, so results agree between machines.
#![no_std]
#![forbid(unsafe_code)]

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sojourn_units::Span;

/// One component's own sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Pcg64Mcg,
}

/// SplitMix64's output function (Steele, Lea, Flood 2014): spreads every bit of `x` over all.
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Stream {
    /// The stream of the component `name` (for example `link.up.loss`) in the run with `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then mixed with the seed; quality comes from `mix`.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        let low = mix(seed ^ mix(hash));
        let high = mix(low.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ hash);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&high.to_le_bytes());
        Self {
            generator: Pcg64Mcg::from_seed(bytes),
        }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `[0, 1)`, in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with probability `p`; never for `p <= 0`, always for `p >= 1`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform in `0..n` without bias (Lemire 2019); zero when `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            let low = wide as u64;
            // The threshold, which takes a division, is below `n`.
            if low >= n || low >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Uniform in `[Span::ZERO, limit)`; zero when the limit is zero.
    pub fn span_below(&mut self, limit: Span) -> Span {
        Span::from_nanos(self.below(limit.as_nanos()))
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: Span) -> Span {
        mean.mul_f64(-libm::log(1.0 - self.unit()))
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever() {
        // Our own first values: a change here changes every published result.
        let mut stream = Stream::named(1, "link.up.loss");
        let first = [stream.bits(), stream.bits()];
        let mut again = Stream::named(1, "link.up.loss");
        assert_eq!(first, [again.bits(), again.bits()]);
        assert_ne!(Stream::named(2, "link.up.loss").bits(), first[0]);
        assert_ne!(Stream::named(1, "link.down.loss").bits(), first[0]);
    }

    #[test]
    fn moments_are_right() {
        let mut s = Stream::named(7, "test");
        let n = 200_000;
        let mean: f64 = (0..n).map(|_| s.unit()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        let exp: f64 = (0..n)
            .map(|_| s.exponential(Span::from_secs(2)).as_secs_f64())
            .sum::<f64>()
            / f64::from(n);
        assert!((exp - 2.0).abs() < 0.03, "{exp}");
        let (sum, squares) = (0..n)
            .map(|_| s.normal())
            .fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
        assert!((sum / f64::from(n)).abs() < 0.01 && (squares / f64::from(n) - 1.0).abs() < 0.02);
        let thirds = (0..n).filter(|_| s.below(3) == 0).count() as f64 / f64::from(n);
        assert!((thirds - 1.0 / 3.0).abs() < 0.005, "{thirds}");
    }

    /// Backoffs are drawn alternately for two purposes: every second draw must be as good as all.
    /// Means of 2000 draws, over many streams, must scatter by as much as chance makes them.
    #[test]
    fn every_second_draw_is_as_good() {
        let (streams, draws, values) = (2000_u32, 2000_u32, 31_u32);
        let variance = f64::from(values * values - 1) / 12.0 / f64::from(draws);
        let mut squares = [0.0; 2];
        for seed in 0..streams {
            let mut stream = Stream::named(seed.into(), "radio.0");
            let mut sums = [0_u64; 2];
            for draw in 0..2 * draws as usize {
                sums[draw % 2] += stream.below(values.into());
            }
            for (squares, sum) in squares.iter_mut().zip(sums) {
                let off = sum as f64 / f64::from(draws) - f64::from(values - 1) / 2.0;
                *squares += off * off / variance;
            }
        }
        for squares in squares {
            // Chi-square with 2000 degrees of freedom: 4 standard deviations either way.
            let share = squares / f64::from(streams);
            assert!(
                (share - 1.0).abs() < 4.0 * libm::sqrt(2.0 / f64::from(streams)),
                "{share}"
            );
        }
    }

    #[test]
    fn the_edges_hold() {
        let mut s = Stream::named(0, "");
        assert_eq!(s.below(0), 0);
        assert!(!s.chance(0.0));
        assert!(s.chance(1.0));
        assert_eq!(s.span_below(Span::ZERO), Span::ZERO);
    }
}
