//! How well a line fits what was measured.

use crate::measurement::{DOWN, Figures, UP};
use crate::search::{Fit, apart, delays_apart};
use std::fmt;

/// All figures that are fitted are this close on a good line ...
const GOOD: f64 = 0.05;
/// ... and the median, which is not fitted, this close.
const GOOD_MEDIAN: f64 = 0.4;
/// The same for a fair line.
const FAIR: f64 = 0.25;
const FAIR_MEDIAN: f64 = 0.6;

/// How well a line fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// No line gives these figures.
    None,
    /// The line is near; its figures are to be taken as rough.
    Fair,
    /// The figures agree.
    Good,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Fair => "fair",
            Self::Good => "good",
        })
    }
}

impl Fit {
    /// Its grade: good where the fitted figures are within 5 % and the median of the delay within
    /// 40 %, fair within 25 % and 60 %. What makes a measurement doubtful leaves fair at most.
    pub fn grade(&self) -> Grade {
        let pairs = || self.measured.iter().zip(&self.simulated);
        let fitted = pairs()
            .map(|(measured, simulated)| fitted(measured, simulated))
            .fold(0.0, f64::max);
        let median = pairs()
            .map(|(measured, simulated)| {
                delays_apart(measured.added_p50_ms, simulated.added_p50_ms)
            })
            .fold(0.0, f64::max);
        if fitted <= GOOD && median <= GOOD_MEDIAN && self.doubts.is_empty() {
            Grade::Good
        } else if fitted <= FAIR && median <= FAIR_MEDIAN {
            Grade::Fair
        } else {
            Grade::None
        }
    }
}

/// The largest difference of the figures that are fitted, as a share.
pub(crate) fn fitted(measured: &Figures, simulated: &Figures) -> f64 {
    let rates = [UP, DOWN]
        .map(|way| measured.telling(way).zip(simulated.telling(way)))
        .into_iter()
        .flatten()
        .map(|(a, b)| apart(a.max(1.0), b.max(1.0)));
    rates
        .chain([delays_apart(measured.idle_ms, simulated.idle_ms)])
        .chain([delays_apart(measured.added_p95_ms, simulated.added_p95_ms)])
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Line, Queue};

    fn fit(simulated: Figures) -> Fit {
        let measured = figures();
        Fit {
            line: Line {
                queue: Queue::Fifo,
                rtt_ms: 30.0,
                rate: [Some(4e6), None],
                buffer: [80_000.0, 0.0],
            },
            measured: vec![measured],
            simulated: vec![simulated],
            doubts: Vec::new(),
        }
    }

    fn figures() -> Figures {
        Figures {
            idle_ms: 30.0,
            throughput: [Some(4e6), None],
            full: [Some(4e6), None],
            added_p50_ms: 140.0,
            added_p95_ms: 160.0,
        }
    }

    #[test]
    fn a_line_is_graded_by_its_worst_figure() {
        let graded = |change: fn(&mut Figures)| {
            let mut simulated = figures();
            change(&mut simulated);
            fit(simulated).grade()
        };
        assert_eq!(graded(|_| {}), Grade::Good);
        assert_eq!(graded(|it| it.throughput[UP] = Some(4.1e6)), Grade::Good);
        assert_eq!(graded(|it| it.added_p50_ms = 110.0), Grade::Good);
        assert_eq!(graded(|it| it.throughput[UP] = Some(4.5e6)), Grade::Fair);
        assert_eq!(graded(|it| it.added_p95_ms = 135.0), Grade::Fair);
        assert_eq!(graded(|it| it.added_p50_ms = 95.0), Grade::Fair);
        assert_eq!(graded(|it| it.throughput[UP] = Some(2e6)), Grade::None);
        assert_eq!(graded(|it| it.idle_ms = 60.0), Grade::None);
        assert_eq!(graded(|it| it.added_p50_ms = 20.0), Grade::None);
    }

    #[test]
    fn doubts_leave_fair_at_most() {
        let mut fit = fit(figures());
        fit.doubts.push("it is sparse".into());
        assert_eq!(fit.grade(), Grade::Fair);
    }
}
