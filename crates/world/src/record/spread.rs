//! Distributions of latencies.

use crate::figure::Distribution;
use sojourn_memory::fetch;
use sojourn_units::Span;

/// Longest cumulative distribution kept.
pub(super) const MAX_CDF_POINTS: usize = 200;
/// One hour: above that a latency is a broken clock, and the histogram stays small.
const LARGEST: Span = Span::from_secs(3600);
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
    waits: u32,
    /// Spans of zero length, which are only counted: those of packets that nothing holds up.
    zeros: u32,
    gathered: Option<Box<Gathered>>,
}

const WAITING: usize = 13;

// Where pointers have 32 bits it is smaller.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Spread>() == 128);

#[derive(Clone, Debug)]
struct Gathered {
    buckets: Buckets,
    count: u64,
    sum: u128,
    min: Span,
    max: Span,
}

/// How many of each value in microseconds, in the buckets of an HDR histogram of two digits: one
/// for each value below 256, then 128 for each octave, none wider than a 128th of what it holds.
#[derive(Clone, Debug)]
enum Buckets {
    /// The buckets of the first [values](FIRST), one by one. That takes less memory than counts,
    /// and those added next to each other lie side by side.
    First(Vec<u16>),
    /// Up to the largest value so far, and some beyond; at least one.
    Counts(Vec<u32>),
}

/// So many values are kept one by one: they take two fifths of the memory of counts up to 15 ms.
const FIRST: usize = 64 * WAITING;
const _: () = assert!(place(LARGEST.as_micros()) <= u16::MAX as usize);

impl Buckets {
    /// The values one by one, if so many more are kept so.
    #[inline]
    fn room_for(&mut self, more: usize) -> Option<&mut Vec<u16>> {
        match self {
            Self::First(first) if first.len() + more <= FIRST => Some(first),
            Self::First(_) | Self::Counts(_) => None,
        }
    }

    /// The counts, from now on.
    #[inline]
    fn counts(&mut self) -> &mut Vec<u32> {
        if let Self::First(first) = self {
            *self = Self::Counts(counted(first));
        }
        match self {
            Self::Counts(counts) => counts,
            Self::First(_) => unreachable!("they have been counted"),
        }
    }
}

/// The counts of values that have been kept one by one.
#[cold]
#[inline(never)]
fn counted(first: &[u16]) -> Vec<u32> {
    let mut counts = Vec::new();
    grow(&mut counts, first.iter().copied().max().unwrap_or(0).into());
    for place in first {
        counts[usize::from(*place)] += 1;
    }
    counts
}

/// Has counts go up to this place.
#[cold]
fn grow(counts: &mut Vec<u32>, place: usize) {
    // Whole octaves, so that it happens seldom.
    counts.resize((place / 128 + 1) * 128, 0);
}

/// A thousandth, rounded down, of what is at most [`LARGEST`]. The compiler's own division holds
/// for all numbers and takes two instructions more.
#[inline]
fn thousandth(nanos: u64) -> u64 {
    const INVERSE: u128 = (1 << 64) / 1000 + 1;
    ((u128::from(nanos) * INVERSE) >> 64) as u64
}

/// The bucket of a value.
#[inline]
const fn place(value: u64) -> usize {
    let octave = (value | 255).ilog2() - 7;
    octave as usize * 128 + (value >> octave) as usize
}

/// The least value of a bucket, and that of the next.
fn bounds(place: usize) -> (u64, u64) {
    let octave = (place / 128).saturating_sub(1);
    let low = (place - octave * 128) as u64;
    (low << octave, (low + 1) << octave)
}

impl Gathered {
    fn new() -> Self {
        Self {
            buckets: Buckets::First(Vec::new()),
            count: 0,
            sum: 0,
            min: Span::MAX,
            max: Span::ZERO,
        }
    }

    /// Adds spans.
    fn add_all(&mut self, spans: &[Span], base: Span) {
        self.count += spans.len() as u64;
        let Self { sum, min, max, .. } = self;
        if let Some(first) = self.buckets.room_for(spans.len()) {
            first.extend(spans.iter().map(|&span| {
                *sum += u128::from(span.as_nanos());
                (*min, *max) = ((*min).min(span), (*max).max(span));
                place((span - base).min(LARGEST).as_micros()) as u16
            }));
            return;
        }
        let mut spans = spans.iter();
        while let Some(span) = self.add_usual(&mut spans, base) {
            self.add(span, base);
        }
    }

    /// Adds spans of zero length.
    fn add_zeros(&mut self, zeros: u32) {
        self.count += u64::from(zeros);
        self.min = Span::ZERO;
        let held = &mut self.buckets.counts()[0];
        *held = held.saturating_add(zeros);
    }

    /// Adds spans, but for their number, until one is not as most are, which it returns: those lie
    /// between the shortest and the longest so far.
    #[expect(clippy::inline_always, reason = "what is done to nearly all spans")]
    #[inline(always)]
    fn add_usual(&mut self, spans: &mut std::slice::Iter<'_, Span>, base: Span) -> Option<Span> {
        // Of those nothing below can overflow: no difference, no sum and, as there are few enough
        // of all, no bucket.
        let few = u32::try_from(self.count).is_ok();
        let least = if few { self.min.max(base) } else { Span::MAX }.as_nanos();
        let most = (self.max.min(base + LARGEST))
            .min(Span::MAX / WAITING as u64)
            .as_nanos();
        let Some(width) = most.checked_sub(least) else {
            return spans.next().copied();
        };
        let counts = self.buckets.counts().as_mut_slice();
        let (mut sum, mut other) = (0, None);
        for &span in spans {
            let nanos = span.as_nanos();
            // One comparison for both ends.
            if nanos.wrapping_sub(least) > width {
                other = Some(span);
                break;
            }
            let Some(count) = counts.get_mut(place(thousandth(nanos - base.as_nanos()))) else {
                other = Some(span);
                break;
            };
            sum += nanos;
            *count += 1;
        }
        self.sum += u128::from(sum);
        other
    }

    /// Adds a span, but for their number.
    #[inline(never)]
    fn add(&mut self, span: Span, base: Span) {
        self.sum += u128::from(span.as_nanos());
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        let place = place((span - base).min(LARGEST).as_micros());
        let counts = self.buckets.counts();
        if place >= counts.len() {
            grow(counts, place);
        }
        counts[place] = counts[place].saturating_add(1);
    }
}

impl Spread {
    pub(super) fn new(base: Span) -> Self {
        Self {
            base,
            waiting: [Span::ZERO; WAITING],
            waits: 0,
            zeros: 0,
            gathered: None,
        }
    }

    /// Whether the next span that is added goes into the histogram, with those that wait.
    #[inline]
    pub(super) fn gathers_next(&self) -> bool {
        self.waits as usize == WAITING - 1
    }

    /// Asks for the histogram, if the next span goes there.
    #[inline]
    pub(super) fn fetch_apart(&self) {
        if self.gathers_next()
            && let Some(gathered) = &self.gathered
        {
            fetch(&**gathered);
        }
    }

    #[inline]
    pub(super) fn add(&mut self, span: Span) {
        self.waiting[self.waits as usize] = span;
        self.waits += 1;
        if self.waits as usize == WAITING {
            self.gather();
        }
    }

    /// Adds one after which [others wait too](Self::gathers_next).
    #[inline]
    pub(super) fn add_waiting(&mut self, span: Span) {
        debug_assert!(!self.gathers_next(), "asked before");
        self.waiting[self.waits as usize] = span;
        self.waits += 1;
    }

    /// Adds a span of zero length.
    #[inline]
    pub(super) fn add_zero(&mut self) {
        self.zeros += 1;
        if self.zeros == u32::MAX {
            self.gather_zeros();
        }
    }

    fn gather(&mut self) {
        let waiting = &self.waiting[..std::mem::take(&mut self.waits) as usize];
        let to = self
            .gathered
            .get_or_insert_with(|| Box::new(Gathered::new()));
        to.add_all(waiting, self.base);
    }

    fn gather_zeros(&mut self) {
        let zeros = std::mem::take(&mut self.zeros);
        let to = self
            .gathered
            .get_or_insert_with(|| Box::new(Gathered::new()));
        to.add_zeros(zeros);
    }

    /// The distribution of the spans less `base` (zero where it is longer), in milliseconds.
    pub(super) fn less(&mut self, base: Span) -> Distribution {
        if self.waits > 0 {
            self.gather();
        }
        if self.zeros > 0 {
            self.gather_zeros();
        }
        let Some(gathered) = &mut self.gathered else {
            return Distribution::default();
        };
        let count = gathered.count;
        let base_ms = base.as_millis_f64();
        let (min, max) = (gathered.min.as_millis_f64(), gathered.max.as_millis_f64());
        // The middle of the bucket, never outside what was seen.
        let value = |place: usize| {
            let (low, high) = bounds(place);
            (self.base.as_millis_f64() + (low + high) as f64 / 2000.0).clamp(min, max)
        };
        // Buckets that hold something, with the samples up to each: of all of them one pass, where
        // a question for a quantile is one each.
        let mut rank = 0;
        let buckets = gathered.buckets.counts().iter().enumerate();
        let steps: Vec<(u64, usize)> = buckets
            .filter(|(_, held)| **held > 0)
            .map(|(place, &held)| {
                rank += u64::from(held);
                (rank, place)
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
            .map(|(_, &(rank, place))| {
                let ms = (value(place) - base_ms).max(0.0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_of_zero_length_count_as_others() {
        for base in [Span::ZERO, Span::from_millis(3)] {
            let (mut one, mut other) = (Spread::new(base), Spread::new(base));
            for micros in [0, 0, 7000, 0, 0, 0, 40, 0, 0, 0, 0, 0, 900, 0, 0, 0] {
                let span = Span::from_micros(micros);
                one.add(span);
                match micros {
                    0 => other.add_zero(),
                    _ => other.add(span),
                }
            }
            let told = format!("{:?}", one.distribution());
            assert_eq!(told, format!("{:?}", other.distribution()));
            assert!(told.contains("0.0") && one.gathered.is_some());
        }
        let mut only = Spread::new(Span::ZERO);
        only.add_zero();
        let mut same = Spread::new(Span::ZERO);
        same.add(Span::ZERO);
        let told = format!("{:?}", only.distribution());
        assert_eq!(told, format!("{:?}", same.distribution()));
    }

    /// Those that are no longer than the longest so far are added in another way than others.
    #[test]
    fn spans_are_added_in_any_order() {
        let base = Span::from_millis(3);
        let spans = [
            4000,
            9000,
            2000,
            5000,
            5000,
            1,
            8999,
            7000,
            7_200_000_000_u64,
        ];
        let mut spans = spans.map(Span::from_micros);
        spans.sort();
        let mut by_hand = Gathered::new();
        for &span in &spans {
            by_hand.add(span, base);
        }
        let mut usual = Gathered::new();
        usual.add(spans[0], base);
        usual.add(spans[8], base);
        let mut others = spans[1..8].iter();
        while let Some(span) = usual.add_usual(&mut others, base) {
            usual.add(span, base);
        }
        assert_eq!(usual.buckets.counts(), by_hand.buckets.counts());
        assert_eq!(
            (usual.sum, usual.min, usual.max),
            (by_hand.sum, by_hand.min, by_hand.max)
        );
    }

    /// Of thousands of flows each has a histogram.
    #[test]
    fn few_values_take_little_memory() {
        let mut spread = Spread::new(Span::ZERO);
        for micros in 0..500 {
            spread.add(Span::from_micros(30_000 + 100 * micros));
        }
        let gathered = spread.gathered.expect("more than wait");
        let Buckets::First(first) = &gathered.buckets else {
            panic!("counts up to 80 ms take 4.6 KB");
        };
        assert!(first.capacity() * size_of::<u16>() <= 2048);
    }

    proptest! {
        /// The first values are kept one by one; a histogram that counts from the start has the
        /// same counts.
        #[test]
        fn values_kept_one_by_one_are_counted_as_others(
            micros in prop::collection::vec(0..20_000_000_u64, 0..2 * FIRST),
            parts in 1..=WAITING,
        ) {
            let base = Span::from_millis(3);
            let spans: Vec<Span> = micros.into_iter().map(Span::from_micros).collect();
            let (mut kept, mut counted) = (Gathered::new(), Gathered::new());
            counted.buckets.counts();
            for spans in spans.chunks(parts) {
                kept.add_all(spans, base);
                counted.add_all(spans, base);
            }
            prop_assert_eq!(
                (kept.count, kept.sum, kept.min, kept.max),
                (counted.count, counted.sum, counted.min, counted.max)
            );
            prop_assert_eq!(kept.buckets.counts(), counted.buckets.counts());
        }

        #[test]
        fn thousandths_are_exact(micros in 0..LARGEST.as_micros(), nanos in 0..1000_u64) {
            prop_assert_eq!(thousandth(1000 * micros + nanos), micros);
        }
    }

    #[test]
    fn buckets_are_one_microsecond_wide_and_then_a_128th_of_an_octave() {
        for (value, low, high) in [
            (0, 0, 1),
            (255, 255, 256),
            (256, 256, 258),
            (511, 510, 512),
            (512, 512, 516),
            (1_000_000, 999_424, 1_003_520),
            (LARGEST.as_micros(), 3_590_324_224, 3_607_101_440),
        ] {
            assert_eq!(bounds(place(value)), (low, high), "{value}");
        }
        let places: Vec<usize> = (0..100_000).map(place).collect();
        assert!(places.windows(2).all(|two| two[1] - two[0] <= 1));
        let ends = (0..places[99_999]).map(|place| (bounds(place).1, bounds(place + 1).0));
        assert!(ends.into_iter().all(|(end, next)| end == next), "no gap");
    }
}
