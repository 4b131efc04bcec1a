//! Distributions and what is taken of them.

/// A sample's distribution, in its figure's unit. Empty samples have `count` zero and no values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Quantiles.
    pub p5: f64,
    /// First quartile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// Third quartile.
    pub p75: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
    /// Points of the cumulative distribution (value, fraction at or below), rising, at most 200.
    pub cdf: Vec<(f64, f64)>,
}

/// What is taken of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// First quartile.
    P25,
    /// Median.
    P50,
    /// Third quartile.
    P75,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// 5th percentile.
    P5,
    /// Number of samples.
    Count,
}

impl Statistic {
    /// All of them, in the order of results.
    pub const ALL: [Self; 10] = [
        Self::Mean,
        Self::P25,
        Self::P50,
        Self::P75,
        Self::P95,
        Self::P99,
        Self::Max,
        Self::Min,
        Self::P5,
        Self::Count,
    ];

    /// As it stands in results: `mean`, `p25` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P25 => "p25",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::Min => "min",
            Self::P5 => "p5",
            Self::Count => "count",
        }
    }

    /// The statistic of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Of a quantile, the fraction of samples at or below it.
    pub const fn fraction(self) -> Option<f64> {
        match self {
            Self::P5 => Some(0.05),
            Self::P25 => Some(0.25),
            Self::P50 => Some(0.50),
            Self::P75 => Some(0.75),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::Mean | Self::Max | Self::Min | Self::Count => None,
        }
    }

    /// Its value; NaN for all but the count of an empty sample.
    pub fn of(self, d: &Distribution) -> f64 {
        match self {
            Self::Count => d.count as f64,
            _ if d.count == 0 => f64::NAN,
            Self::Mean => d.mean,
            Self::P25 => d.p25,
            Self::P50 => d.p50,
            Self::P75 => d.p75,
            Self::P95 => d.p95,
            Self::P99 => d.p99,
            Self::Max => d.max,
            Self::Min => d.min,
            Self::P5 => d.p5,
        }
    }
}
