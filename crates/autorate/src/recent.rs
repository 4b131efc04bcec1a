//! The last few values of something.

use sojourn_units::Span;

/// The last `N` delays.
#[derive(Clone, Debug)]
pub(crate) struct Recent<const N: usize> {
    values: [Span; N],
    len: usize,
    next: usize,
}

impl<const N: usize> Recent<N> {
    pub(crate) const fn new() -> Self {
        Self {
            values: [Span::ZERO; N],
            len: 0,
            next: 0,
        }
    }

    pub(crate) fn push(&mut self, value: Span) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % N;
        self.len = (self.len + 1).min(N);
    }

    pub(crate) fn clear(&mut self) {
        (self.len, self.next) = (0, 0);
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len == N
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The value so many after the oldest.
    fn at(&self, place: usize) -> Span {
        let oldest = if self.is_full() { self.next } else { 0 };
        self.values[(oldest + place) % N]
    }

    /// By how much the delay grows in a time, when there is a value every `step`; 0 when it falls.
    pub(crate) fn growth(&self, step: Span) -> f64 {
        let steps = self.len.saturating_sub(1);
        let grown = self.at(steps).saturating_sub(self.at(0));
        grown.as_secs_f64() / (step.as_secs_f64() * steps.max(1) as f64)
    }

    /// Whether the last two together are a twentieth below two others that follow each other.
    pub(crate) fn falls(&self) -> bool {
        let pairs = self.len.saturating_sub(1);
        let pair = |place: usize| self.at(place) + self.at(place + 1);
        let most = (0..pairs).map(pair).max().unwrap_or(Span::ZERO);
        pairs > 0 && pair(pairs - 1) < most.mul_f64(0.95)
    }

    /// In no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.values[..self.len].iter().copied()
    }

    /// The smallest and the largest; zero when there is none.
    pub(crate) fn range(&self) -> (Span, Span) {
        let least = self.iter().min().unwrap_or(Span::ZERO);
        (least, self.iter().max().unwrap_or(Span::ZERO))
    }
}

/// How many there are, and their mean; zero of none.
pub(crate) fn mean(values: impl Iterator<Item = Span>) -> (usize, Span) {
    let (count, sum) = values.fold((0, Span::ZERO), |(count, sum), value| {
        (count + 1, sum + value)
    });
    (count, sum / (count.max(1) as u64))
}
