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
    done: Vec<[(f64, u32); N]>,
    /// Intervals in the run.
    count: usize,
}

impl<const N: usize> Rows<N> {
    pub(super) fn new(window: &Window) -> Self {
        let count = (window.to.as_nanos() / window.every.as_nanos()).min(MAX_POINTS) as usize;
        Self {
            every: window.every,
            ends: Time::ZERO + window.every,
            current: [(0.0, 0); N],
            whole: [0; N],
            done: Vec::new(),
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
        while now > self.ends && self.done.len() < self.count {
            let current = core::mem::replace(&mut self.current, [(0.0, 0); N]);
            self.done.push(current);
            self.ends += self.every;
        }
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
        let point = |(i, rows): (usize, &[(f64, u32); N])| Point {
            t: (i + 1) as f64 * every,
            value: value(rows[row].0, rows[row].1),
        };
        Series {
            metric: quantity.metric.into(),
            unit: quantity.unit,
            points: self.done.iter().enumerate().map(point).collect(),
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
