//! Distributions and what is taken of them.

/// Makes [`Distribution`] and [`Statistic`] from the list of statistics in the order of results:
/// variant, field, of a quantile the fraction of samples at or below it, meaning.
macro_rules! statistics {
    ($($Name:ident $field:ident $(at $share:literal)?, $about:literal;)*) => {
        /// A sample's distribution, in its figure's unit. Empty samples have `count` zero and no
        /// values.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Distribution {
            /// Number of samples.
            pub count: u64,
            $(#[doc = $about] pub $field: f64,)*
            /// Points of the cumulative distribution (value, fraction at or below), rising, at
            /// most 200.
            pub cdf: Vec<(f64, f64)>,
        }

        /// What is taken of a distribution.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Statistic {
            $(#[doc = $about] $Name,)*
            /// Number of samples.
            Count,
        }

        impl Statistic {
            /// All of them, in the order of results.
            pub const ALL: [Self; 10] = [$(Self::$Name,)* Self::Count];

            /// As it stands in results: `mean`, `p25` and so on.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Name => stringify!($field),)*
                    Self::Count => "count",
                }
            }

            /// Of a quantile, the fraction of samples at or below it.
            pub const fn fraction(self) -> Option<f64> {
                match self {
                    $($(Self::$Name => Some($share),)?)*
                    _ => None,
                }
            }

            /// Its value; NaN for all but the count of an empty sample.
            pub fn of(self, d: &Distribution) -> f64 {
                match self {
                    Self::Count => d.count as f64,
                    _ if d.count == 0 => f64::NAN,
                    $(Self::$Name => d.$field,)*
                }
            }

            /// Gives a distribution its value.
            pub fn set(self, d: &mut Distribution, value: f64) {
                match self {
                    Self::Count => d.count = value as u64,
                    $(Self::$Name => d.$field = value,)*
                }
            }
        }
    };
}

statistics! {
    Mean mean, "Arithmetic mean.";
    P25 p25 at 0.25, "First quartile.";
    P50 p50 at 0.50, "Median.";
    P75 p75 at 0.75, "Third quartile.";
    P95 p95 at 0.95, "95th percentile.";
    P99 p99 at 0.99, "99th percentile.";
    Max max, "Largest.";
    Min min, "Smallest.";
    P5 p5 at 0.05, "5th percentile.";
}

impl Statistic {
    /// The statistic of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl Distribution {
    /// Of `count` samples: mean, minimum, maximum, and the value at or below which a fraction is.
    pub(crate) fn of(
        count: u64,
        [mean, min, max]: [f64; 3],
        at: impl Fn(f64) -> f64,
        cdf: Vec<(f64, f64)>,
    ) -> Self {
        let mut d = Self {
            count,
            mean,
            max,
            min,
            cdf,
            ..Self::default()
        };
        for statistic in Statistic::ALL {
            if let Some(share) = statistic.fraction() {
                statistic.set(&mut d, at(share));
            }
        }
        d
    }
}
