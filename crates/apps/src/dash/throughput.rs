//! Choice by measured throughput, as dash.js does (ThroughputHistory, ThroughputRule): the smaller
//! of a fast and a slow moving average, times a safety factor, less the time that a request takes
//! before its first byte. The constants are the defaults of its versions 3 to 5; that it averages
//! so (`ewma`) is the default of version 5, and an option of 3 and 4. Compared with 5.2.1.
//! Not here: dash.js' other rules (abandoned requests, dropped frames, switch history,
//! insufficient buffer).

use super::manifest::Manifest;
use sojourn_units::Span;

/// Share of the estimate that is trusted (`bandwidthSafetyFactor`).
const SAFETY: f64 = 0.9;
/// Half-lives of the averages: seconds of download for throughput, requests for latency.
const THROUGHPUT: (f64, f64) = (3.0, 8.0);
const LATENCY: (f64, f64) = (1.0, 2.0);

/// A moving average that does not lean on its beginning: what is missing of the weight is
/// divided out.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    sum: f64,
    weight: f64,
}

impl Average {
    fn add(&mut self, value: f64, weight: f64, half_life: f64) {
        let past = libm::pow(0.5, weight / half_life);
        self.sum = past * self.sum + (1.0 - past) * value;
        self.weight += weight;
    }

    fn value(&self, half_life: f64) -> f64 {
        self.sum / (1.0 - libm::pow(0.5, self.weight / half_life))
    }
}

/// What the player has measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    throughput: (Average, Average),
    latency: (Average, Average),
}

impl Estimate {
    /// A chunk of `bytes` took `latency` to its first byte and `download` from there to its last.
    pub(super) fn add(&mut self, bytes: u64, latency: Span, download: Span) {
        // As dash.js, which counts in whole milliseconds and at least one.
        let seconds = download.as_secs_f64().max(0.001);
        let bps = bytes as f64 * 8.0 / seconds;
        self.throughput.0.add(bps, seconds, THROUGHPUT.0);
        self.throughput.1.add(bps, seconds, THROUGHPUT.1);
        self.latency.0.add(latency.as_secs_f64(), 1.0, LATENCY.0);
        self.latency.1.add(latency.as_secs_f64(), 1.0, LATENCY.1);
    }

    /// The throughput in bit/s that a representation may need; none before the first chunk.
    pub(super) fn usable_bps(&self, chunk: Span) -> Option<f64> {
        if self.throughput.0.weight == 0.0 {
            return None;
        }
        let of = |pair: &(Average, Average), half: (f64, f64)| {
            (pair.0.value(half.0), pair.1.value(half.1))
        };
        let (fast, slow) = of(&self.throughput, THROUGHPUT);
        let (low, high) = of(&self.latency, LATENCY);
        let dead = low.max(high) / chunk.as_secs_f64();
        Some((SAFETY * fast.min(slow) * (1.0 - dead)).max(0.0))
    }

    /// The highest representation that the throughput carries; none before the first chunk.
    pub(super) fn choose(&self, manifest: &Manifest) -> Option<usize> {
        let bps = self.usable_bps(manifest.chunk())?;
        Some(manifest.fitting(bps))
    }
}
