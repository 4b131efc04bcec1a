//! Distributions of latencies.

use crate::figure::Distribution;
use hdrhistogram::Histogram;
use sojourn_units::Span;

/// Longest cumulative distribution kept.
pub(super) const MAX_CDF_POINTS: usize = 200;
/// One hour in microseconds: above that a latency is a broken clock, and the histogram stays
/// small.
const LARGEST_US: u64 = 3_600_000_000;
/// Spans gathered into a histogram: exact mean, minimum and maximum; quantiles of what exceeds
/// `base` within 0.5 % plus half a microsecond.
///
/// A few at a time: of thousands of flows each has a histogram far from everything that its
/// packets need, and those that wait are in two cache lines. A flow without any has none.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Spread {
    /// What every span is expected to exceed: only the rest needs the histogram's precision.
    base: Span,
    waiting: [Span; WAITING],
    waits: usize,
    gathered: Option<Box<Gathered>>,
}

const WAITING: usize = 13;

// Where pointers have 32 bits it is smaller.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Spread>() == 128);

#[derive(Clone, Debug)]
struct Gathered {
    /// Microseconds; grows by itself as larger values come.
    histogram: Histogram<u32>,
    sum: u128,
    min: Span,
    max: Span,
}

impl Gathered {
    fn new() -> Self {
        Self {
            histogram: Histogram::new(2).expect("two significant digits are within 0 to 5"),
            sum: 0,
            min: Span::MAX,
            max: Span::ZERO,
        }
    }
}

impl Spread {
    pub(super) fn new(base: Span) -> Self {
        Self {
            base,
            waiting: [Span::ZERO; WAITING],
            waits: 0,
            gathered: None,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, span: Span) {
        self.waiting[self.waits] = span;
        self.waits += 1;
        if self.waits == WAITING {
            self.gather();
        }
    }

    fn gather(&mut self) {
        let waiting = &self.waiting[..std::mem::take(&mut self.waits)];
        if waiting.is_empty() {
            return;
        }
        let to = self
            .gathered
            .get_or_insert_with(|| Box::new(Gathered::new()));
        for &span in waiting {
            to.sum += u128::from(span.as_nanos());
            to.min = to.min.min(span);
            to.max = to.max.max(span);
            to.histogram
                .record((span - self.base).as_micros().min(LARGEST_US))
                .expect("it grows by itself");
        }
    }

    /// The distribution of the spans less `base` (zero where it is longer), in milliseconds.
    pub(super) fn less(&mut self, base: Span) -> Distribution {
        self.gather();
        let Some(gathered) = &self.gathered else {
            return Distribution::default();
        };
        let histogram = &gathered.histogram;
        let count = histogram.len();
        let base_ms = base.as_millis_f64();
        let (min, max) = (gathered.min.as_millis_f64(), gathered.max.as_millis_f64());
        // The middle of the bucket, never outside what was seen.
        let value = |us: u64| {
            let low = histogram.lowest_equivalent(us);
            let high = histogram.next_non_equivalent(us);
            (self.base.as_millis_f64() + (low + high) as f64 / 2000.0).clamp(min, max)
        };
        // Buckets that hold something, with the samples up to each: of the whole histogram one
        // pass, where a question for a quantile is one each.
        let mut rank = 0;
        let steps: Vec<(u64, u64)> = histogram
            .iter_recorded()
            .map(|step| {
                rank += step.count_since_last_iteration();
                (rank, step.value_iterated_to())
            })
            .collect();
        let last = steps.len() - 1;
        let at = |q: f64| {
            let wanted = (q * count as f64).ceil() as u64;
            let reached = steps.partition_point(|&(rank, _)| rank < wanted);
            (value(steps[reached.min(last)].1) - base_ms).max(0.0)
        };
        let stride = steps.len().div_ceil(MAX_CDF_POINTS);
        let cdf = steps
            .iter()
            .enumerate()
            .filter(|(i, _)| i % stride == 0 || *i == last)
            .map(|(_, &(rank, us))| {
                let ms = (value(us) - base_ms).max(0.0);
                (ms, rank as f64 / count as f64)
            })
            .collect();
        let mean = gathered.sum as f64 / count as f64 * 1e-6;
        let ends = [mean, min, max].map(|ms| (ms - base_ms).max(0.0));
        Distribution::of(count, ends, at, cdf)
    }

    pub(super) fn distribution(&mut self) -> Distribution {
        self.less(Span::ZERO)
    }
}
