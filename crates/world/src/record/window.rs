//! The measured time, and the intervals of series in it.

use crate::cell::Cell;
use crate::figure::{Point, Series};
use sojourn_units::{Span, Time, Unit};

/// A count that is far below 2⁶³, in one instruction.
pub(super) fn float(count: u64) -> f64 {
    count.cast_signed() as f64
}

/// Longest series kept.
const MAX_POINTS: u64 = 2000;

/// What a series is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    pub(super) metric: &'static str,
    pub(super) unit: Unit,
}

/// When statistics count, and how series are cut.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Statistics count from here …
    pub from: Time,
    /// … to here.
    pub to: Time,
    /// Interval of the series.
    pub every: Span,
}

impl Window {
    /// The window of a cell: from the warm-up to the end, with at most 2000 points.
    pub fn of(cell: &Cell) -> Self {
        let every = cell
            .sample_every
            .max(cell.duration / MAX_POINTS)
            .max(Span::from_nanos(1));
        Self {
            from: Time::ZERO + cell.warmup,
            to: cell.end(),
            every,
        }
    }

    /// Its length.
    pub fn length(&self) -> Span {
        self.to - self.from
    }

    #[inline]
    pub(super) fn holds(&self, now: Time) -> bool {
        now >= self.from && now <= self.to
    }
}

/// A row of intervals, each with a sum and a count.
pub(super) type Bins = Rows<1>;

/// Several rows of the same intervals, told of by their index.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Rows<const N: usize> {
    /// End of the current interval: the hot path compares, and seldom divides.
    ends: Time,
    current: [(f64, u32); N],
    /// What is yet to be added to its sums: whole numbers take fewer instructions so.
    whole: [u64; N],
    every: Span,
    /// Intervals that are over, but for those in which nothing was added.
    done: Vec<Row<N>>,
    /// How many are over.
    over: u32,
    /// Intervals in the run.
    count: u32,
}

/// What was added in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row<const N: usize> {
    sums: [f64; N],
    counts: [u32; N],
    /// The interval's number, from zero.
    number: u32,
}

impl<const N: usize> Rows<N> {
    pub(super) fn new(window: &Window) -> Self {
        let count = (window.to.as_nanos() / window.every.as_nanos()).min(MAX_POINTS) as u32;
        Self {
            every: window.every,
            ends: Time::ZERO + window.every,
            current: [(0.0, 0); N],
            whole: [0; N],
            done: Vec::new(),
            over: 0,
            count,
        }
    }

    #[inline]
    pub(super) fn add_to(&mut self, row: usize, now: Time, value: f64) {
        if self.is_over(now) {
            // The last thing done, so that a caller that ends with it saves no registers for this.
            self.add_to_next(row, now, value);
        } else {
            self.put(row, value);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_next(&mut self, row: usize, now: Time, value: f64) {
        self.close_until(now);
        self.put(row, value);
    }

    /// Adds to a sum whose count nobody asks for.
    #[inline]
    pub(super) fn add_whole_to(&mut self, row: usize, now: Time, value: u64) {
        if self.is_over(now) {
            self.add_whole_to_next(row, now, value);
        } else {
            self.put_whole(row, value, 0);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_whole_to_next(&mut self, row: usize, now: Time, value: u64) {
        self.close_until(now);
        self.put_whole(row, value, 0);
    }

    /// End of the current interval.
    #[inline]
    pub(super) fn ends(&self) -> Time {
        self.ends
    }

    /// Whether the current interval has ended.
    #[inline]
    pub(super) fn is_over(&self, now: Time) -> bool {
        now > self.ends
    }

    /// Now is in the current interval.
    #[inline]
    pub(super) fn open(&mut self, now: Time) {
        if self.is_over(now) {
            self.close_until(now);
        }
    }

    /// Adds to the current interval.
    #[inline]
    pub(super) fn put(&mut self, row: usize, value: f64) {
        self.current[row].0 += value;
        self.current[row].1 += 1;
    }

    /// Adds so many whole numbers with this sum to the current interval.
    #[inline]
    pub(super) fn put_whole(&mut self, row: usize, sum: u64, count: u32) {
        self.whole[row] += sum;
        self.current[row].1 += count;
    }

    #[cold]
    #[inline(never)]
    fn close_until(&mut self, now: Time) {
        for ((sum, _), whole) in self.current.iter_mut().zip(&mut self.whole) {
            *sum += float(core::mem::take(whole));
        }
        if now <= self.ends || self.over == self.count {
            return;
        }
        let current = core::mem::replace(&mut self.current, [(0.0, 0); N]);
        if current.iter().any(|&(sum, count)| count > 0 || sum != 0.0) {
            self.done.push(Row {
                sums: current.map(|(sum, _)| sum),
                counts: current.map(|(_, count)| count),
                number: self.over,
            });
        }
        // The next interval holds `now`, or is the first after the last.
        let behind = (now - self.ends).as_nanos();
        let passed = (behind.div_ceil(self.every.as_nanos())).min((self.count - self.over).into());
        self.over += passed as u32;
        self.ends += self.every * passed;
    }

    pub(super) fn series_of(
        &mut self,
        row: usize,
        to: Time,
        quantity: Quantity,
        value: impl Fn(f64, u32) -> f64,
    ) -> Series {
        // One past the end, so that an interval that ends exactly there is closed too.
        self.close_until(to + Span::from_nanos(1));
        let every = self.every.as_secs_f64();
        let mut done = self.done.iter().peekable();
        let point = |number| {
            let held = done.next_if(|held| held.number == number);
            let (sum, count) = held.map_or((0.0, 0), |held| (held.sums[row], held.counts[row]));
            Point {
                t: f64::from(number + 1) * every,
                value: value(sum, count),
            }
        };
        Series {
            metric: quantity.metric.into(),
            unit: quantity.unit,
            points: (0..self.over).map(point).collect(),
        }
    }
}

impl Bins {
    #[inline]
    pub(super) fn add(&mut self, now: Time, value: f64) {
        self.add_to(0, now, value);
    }

    /// Whether anything was added.
    pub(super) fn any(&self) -> bool {
        self.current[0].1 > 0 || !self.done.is_empty()
    }

    /// Only the last value of an interval counts.
    pub(super) fn set(&mut self, now: Time, value: f64) {
        self.add(now, 0.0);
        self.current[0] = (value, 1);
    }

    pub(super) fn series(
        mut self,
        to: Time,
        quantity: Quantity,
        value: impl Fn(f64, u32) -> f64,
    ) -> Series {
        self.series_of(0, to, quantity, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one sum and one count for every interval, whether anything was added or not.
        #[test]
        fn intervals_without_anything_are_told_as_others(
            steps in prop::collection::vec((0..700_u64, 0..3_usize, 0..5_u32), 0..60),
            end in 1..60_u64,
        ) {
            let every = Span::from_millis(100);
            let to = Time::ZERO + every * end;
            let window = Window { from: Time::ZERO, to, every };
            let (mut rows, mut model) = (Rows::<2>::new(&window), vec![[(0.0, 0); 2]; end as usize]);
            let mut now = Time::ZERO;
            for (millis, row, value) in steps {
                now = (now + Span::from_millis(millis)).min(to);
                // What happens at the end of an interval belongs to it.
                let interval = (now.as_nanos().max(1) - 1) / every.as_nanos();
                let (sum, count) = &mut model[interval as usize][row % 2];
                *sum += f64::from(value);
                if row < 2 {
                    rows.add_to(row, now, value.into());
                    *count += 1;
                } else {
                    rows.add_whole_to(0, now, value.into());
                }
            }
            let quantity = Quantity { metric: "x", unit: Unit::None };
            for row in 0..2 {
                let told = rows.series_of(row, to, quantity, |sum, count| sum + 1e3 * f64::from(count));
                let values: Vec<f64> = told.points.iter().map(|point| point.value).collect();
                let wanted: Vec<f64> =
                    model.iter().map(|rows| rows[row].0 + 1e3 * f64::from(rows[row].1)).collect();
                prop_assert_eq!(values, wanted);
                let times: Vec<f64> = told.points.iter().map(|point| point.t).collect();
                let ends: Vec<f64> = (1..=end as u32).map(|i| f64::from(i) * 0.1).collect();
                prop_assert_eq!(times, ends);
            }
            // Only those take memory in which something was added.
            let filled = model.iter().filter(|rows| rows.iter().any(|told| *told != (0.0, 0)));
            prop_assert_eq!(rows.done.len(), filled.count());
        }
    }
}
