//! Samples of any unit, and the throughput of a window that slides.

use super::spread::MAX_CDF_POINTS;
use super::window::Window;
use crate::figure::Distribution;
use sojourn_units::{Span, Time};

/// Most samples kept; beyond, every second one goes, and so on.
const MAX_SAMPLES: usize = 1024;

impl Distribution {
    /// Of samples that somebody else has taken; quantiles as those of a run's own.
    pub fn of_samples(values: impl IntoIterator<Item = f64>) -> Self {
        let mut samples = Samples::default();
        for value in values {
            samples.add(value);
        }
        samples.distribution()
    }
}

/// Samples: exact count, mean, minimum and maximum; quantiles by the nearest rank, exact up to
/// 1024 samples, of evenly spaced ones beyond.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    kept: Vec<f64>,
    /// One in so many is kept; a power of two.
    stride: u64,
    count: u64,
    pub(super) sum: f64,
    min: f64,
    max: f64,
}

impl Samples {
    pub(super) fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.stride, self.min, self.max) = (1, value, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        if self.count.is_multiple_of(self.stride) {
            if self.kept.len() == MAX_SAMPLES {
                let mut index = 0_usize;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            // After a halving the next sample may be off the new grid.
            if self.count.is_multiple_of(self.stride) {
                self.kept.push(value);
            }
        }
        self.count += 1;
    }

    pub(super) fn distribution(&self) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let value = |rank: usize| sorted[rank];
        let at = |q: f64| value(((q * n as f64).ceil() as usize).clamp(1, n) - 1);
        let stride = n.div_ceil(MAX_CDF_POINTS);
        let mean = self.sum / self.count as f64;
        let points = (1..=n).filter(|rank| rank.is_multiple_of(stride) || *rank == n);
        let cdf = points.map(|rank| (value(rank - 1), rank as f64 / n as f64));
        Distribution::of(self.count, [mean, self.min, self.max], at, cdf.collect())
    }
}

/// Steps of the window.
const STEPS: usize = 20;
/// How far it slides.
const STEP: Span = Span::from_millis(250);

/// Throughput in a window of 5 s that slides by 0.25 s, within the measured time.
/// Source: the study "home-broadband", IEEE IoT Journal 2017, doi 10.1109/JIOT.2017.2722683.
///
/// What packets do not need lies apart.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sliding {
    /// End of the current step.
    ends: Time,
    current: u64,
    steps: Box<Steps>,
}

/// What is over.
#[derive(Clone, Debug)]
struct Steps {
    /// How many.
    done: usize,
    /// Bytes of the last ones, in a ring.
    bytes: [u64; STEPS],
    to: Time,
    samples: Samples,
}

impl Sliding {
    pub(super) fn new(window: &Window) -> Self {
        Self {
            ends: window.from + STEP,
            current: 0,
            steps: Box::new(Steps {
                done: 0,
                bytes: [0; STEPS],
                to: window.to,
                samples: Samples::default(),
            }),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, now: Time, bytes: u32) {
        if now >= self.ends {
            self.close_until(now);
        }
        if now + STEP >= self.ends {
            self.current += u64::from(bytes);
        }
    }

    #[cold]
    fn close_until(&mut self, now: Time) {
        let steps = &mut *self.steps;
        while now >= self.ends && self.ends <= steps.to {
            steps.bytes[steps.done % STEPS] = core::mem::take(&mut self.current);
            steps.done += 1;
            self.ends += STEP;
            if steps.done >= STEPS {
                let bytes: u64 = steps.bytes.iter().sum();
                let seconds = STEP.as_secs_f64() * STEPS as f64;
                steps.samples.add(bytes as f64 * 8.0 / seconds);
            }
        }
    }

    /// The distribution in bit/s; empty when the measured time is shorter than the window.
    pub(super) fn distribution(&mut self) -> Distribution {
        self.close_until(self.steps.to);
        self.steps.samples.distribution()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_are_exact_and_many_are_thinned_evenly() {
        let mut samples = Samples::default();
        for value in [4.0, -2.0, 1.0, 3.0] {
            samples.add(value);
        }
        let d = samples.distribution();
        // Nearest rank: the smallest value with at least that share at or below.
        assert_eq!(
            (d.count, d.min, d.p25, d.p50, d.p75, d.max),
            (4, -2.0, -2.0, 1.0, 3.0, 4.0)
        );
        assert_eq!((d.mean, d.cdf.last()), (1.5, Some(&(4.0, 1.0))));
        assert_eq!(Samples::default().distribution().count, 0);

        let mut many = Samples::default();
        for value in 0..10_000 {
            many.add(f64::from(value));
        }
        let d = many.distribution();
        assert_eq!((d.count, d.min, d.max), (10_000, 0.0, 9999.0));
        assert!(many.kept.len() <= MAX_SAMPLES && many.kept.len() > MAX_SAMPLES / 2);
        assert!((d.p50 - 5000.0).abs() < 20.0 && (d.p95 - 9500.0).abs() < 20.0);
        assert!((d.mean - 4999.5).abs() < 1e-9 && d.cdf.len() <= MAX_CDF_POINTS + 1);
    }

    #[test]
    fn the_window_slides_by_a_quarter_of_a_second() {
        let ms = |millis| Time::ZERO + Span::from_millis(millis);
        let window = |to| Window {
            from: ms(1000),
            to: ms(to),
            every: Span::from_millis(100),
        };
        // A packet of 1250 bytes every 10 ms: 1 Mbit/s, and five seconds of nothing.
        let mut sliding = Sliding::new(&window(16_000));
        for at in (0..11_000).step_by(10) {
            sliding.add(ms(at), 1250);
        }
        let d = sliding.distribution();
        // The first window ends at 6 s, the last at 16 s; from 11 s on a twentieth goes each time.
        assert_eq!(d.count, 41);
        assert!((d.max - 1e6).abs() < 1.0 && d.min == 0.0, "{d:?}");
        assert!(
            (d.p25 - 0.5e6).abs() < 0.06e6 && (d.p75 - 1e6).abs() < 1.0,
            "{d:?}"
        );
        // Four seconds hold no window of five.
        let mut short = Sliding::new(&window(5000));
        short.add(ms(2000), 1000);
        assert_eq!(short.distribution().count, 0);
    }
}
