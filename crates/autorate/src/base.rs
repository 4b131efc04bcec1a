//! The delay without load, by source: what is measured above it is a queue.
//!
//! Rules, and where they are from:
//! - A lower delay counts at once, as in cake-autorate (`alpha_baseline_decrease` 0.9).
//! - The base is the minimum of the last 30 to 60 s (RFC 6817 section 3.4.2 keeps minima of
//!   minutes), where cake-autorate has an average that rises by a thousandth of the difference with
//!   each sample: 20 s for two thirds of a step at 50 samples/s, while the step counts as a queue.
//! - What all sources share may change at once ([`Sources::shift`]): whoever knows that a delay is
//!   none of a queue says so. A satellite link's path becomes another every 15 s.
//!
//! A source that is first seen while there is a queue takes that for its base until it has seen
//! less (LEDBAT's latecomer); for a second sources that are known go before it.

use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Sources that are remembered; the one seen longest ago goes for a new one.
const MOST: usize = 64;
/// Half the time that a minimum is kept at most.
const HALF: Span = Span::from_secs(30);
/// A source is known after this time.
const RIPE: Span = Span::from_secs(1);

/// The bases of all sources.
#[derive(Clone, Debug)]
pub(crate) struct Sources(Vec<Baseline>);

#[derive(Clone, Debug)]
struct Baseline {
    id: u64,
    first: Time,
    seen: Time,
    /// Minima of the time since `turned` and of the one before.
    least: [Span; 2],
    turned: Time,
}

/// A sample, seen from its source's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Above {
    /// What it is above the base.
    pub(crate) delay: Span,
    /// Whether its source is known for long enough.
    pub(crate) ripe: bool,
}

impl Baseline {
    fn new(id: u64, delay: Span, now: Time) -> Self {
        Self {
            id,
            first: now,
            seen: now,
            least: [delay, Span::MAX],
            turned: now,
        }
    }
}

impl Default for Sources {
    /// With room for all that there may be: later nothing is allocated.
    fn default() -> Self {
        Self(Vec::with_capacity(MOST))
    }
}

impl Sources {
    /// Takes a sample in and says what it is above the base.
    pub(crate) fn sample(&mut self, id: u64, delay: Span, now: Time) -> Above {
        let source = match self.0.iter_mut().position(|source| source.id == id) {
            Some(at) => &mut self.0[at],
            None => self.enter(Baseline::new(id, delay, now)),
        };
        let age = now - source.turned;
        if age >= HALF {
            source.least = [delay, source.least[0]];
            if age >= HALF * 2 {
                source.least[1] = Span::MAX;
            }
            source.turned = now;
        }
        source.seen = now;
        source.least[0] = source.least[0].min(delay);
        let base = source.least[0].min(source.least[1]);
        Above {
            delay: delay.saturating_sub(base),
            ripe: now - source.first >= RIPE,
        }
    }

    fn enter(&mut self, source: Baseline) -> &mut Baseline {
        let at = if self.0.len() < MOST {
            self.0.push(source);
            self.0.len() - 1
        } else {
            let oldest = self
                .0
                .iter()
                .enumerate()
                .min_by_key(|(_, known)| known.seen);
            let at = oldest.map_or(0, |(at, _)| at);
            self.0[at] = source;
            at
        };
        &mut self.0[at]
    }

    /// All bases are by so much higher from now on.
    pub(crate) fn shift(&mut self, by: Span) {
        for least in self.0.iter_mut().flat_map(|source| &mut source.least) {
            *least += by;
        }
    }

    /// The clock has gone back: times of before mean nothing.
    pub(crate) fn restart(&mut self, now: Time) {
        for source in &mut self.0 {
            (source.first, source.seen, source.turned) = (now, now, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn a_lower_delay_counts_at_once_and_for_30_to_60_seconds() {
        let mut sources = Sources::default();
        let above = |sources: &mut Sources, delay, time| sources.sample(7, ms(delay), at(time));
        let young = above(&mut sources, 50, 0);
        assert_eq!((young.delay, young.ripe), (ms(0), false));
        assert_eq!(above(&mut sources, 60, 500).delay, ms(10));
        assert_eq!(above(&mut sources, 40, 999).delay, ms(0));
        let known = above(&mut sources, 60, 1000);
        assert_eq!((known.delay, known.ripe), (ms(20), true));
        // The minimum of the first 30 s is kept for 30 s more.
        assert_eq!(above(&mut sources, 65, 30_000).delay, ms(25));
        assert_eq!(above(&mut sources, 65, 59_999).delay, ms(25));
        assert_eq!(above(&mut sources, 65, 60_000).delay, ms(0));
        // After a minute without samples nothing is left of what was.
        assert_eq!(above(&mut sources, 90, 120_000).delay, ms(0));
    }

    #[test]
    fn each_source_has_its_own_base_and_all_may_shift() {
        let mut sources = Sources::default();
        sources.sample(1, ms(10), at(0));
        sources.sample(2, ms(100), at(0));
        assert_eq!(sources.sample(2, ms(104), at(1)).delay, ms(4));
        sources.shift(ms(30));
        assert_eq!(sources.sample(1, ms(45), at(2)).delay, ms(5));
        assert_eq!(sources.sample(2, ms(130), at(2)).delay, ms(0));
    }

    #[test]
    fn the_source_seen_longest_ago_goes_for_a_new_one() {
        let mut sources = Sources::default();
        for id in 0..MOST as u64 {
            sources.sample(id, ms(10), at(id));
        }
        sources.sample(0, ms(20), at(100));
        sources.sample(1000, ms(20), at(101));
        assert_eq!(sources.0.len(), MOST);
        assert_eq!(sources.sample(0, ms(20), at(102)).delay, ms(10));
        // Source 1 has gone: its base is a new one.
        assert_eq!(sources.sample(1, ms(20), at(103)).delay, ms(0));
    }
}
