//! What a wire does to packets: rate, delay, jitter, order, loss. The same in every world.

use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};
use std::sync::Arc;

/// One direction of a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How fast it sends.
    pub rate: LineRate,
    /// Propagation delay of every packet, after transmission.
    pub delay: Span,
    /// Extra delay, uniform in `[0, jitter)`.
    pub jitter: Span,
    /// Whether jitter may reorder packets; otherwise a packet never overtakes another.
    pub reorder: bool,
    /// Probability that a packet is lost after transmission.
    pub loss: f64,
}

impl Line {
    /// Takes no time but for sending, and loses nothing.
    pub const fn new(rate: LineRate) -> Self {
        Self {
            rate,
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reorder: false,
            loss: 0.0,
        }
    }
}

/// What of a line becomes another; the rest stays.
///
/// Packets that have been sent arrive as they would have. Those sent later have the new delay, but
/// without [`Line::reorder`] none overtakes another, so that behind a shorter delay they wait until
/// the last of those before them has arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChange {
    /// [`Line::rate`]; a packet that is being sent is sent as it began.
    pub rate: Option<LineRate>,
    /// [`Line::delay`].
    pub delay: Option<Span>,
    /// [`Line::jitter`].
    pub jitter: Option<Span>,
    /// [`Line::reorder`].
    pub reorder: Option<bool>,
    /// [`Line::loss`].
    pub loss: Option<f64>,
}

impl From<LineRate> for LineChange {
    fn from(rate: LineRate) -> Self {
        Self {
            rate: Some(rate),
            ..Self::default()
        }
    }
}

impl LineChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it changes what becomes of packets that have been sent: anything but the rate.
    pub fn is_behind(&self) -> bool {
        let rate = self.rate.clone();
        *self
            != Self {
                rate,
                ..Self::default()
            }
    }

    /// Makes the line another one.
    pub fn apply(&self, line: &mut Line) {
        if let Some(rate) = &self.rate {
            line.rate = rate.clone();
        }
        line.delay = self.delay.unwrap_or(line.delay);
        line.jitter = self.jitter.unwrap_or(line.jitter);
        line.reorder = self.reorder.unwrap_or(line.reorder);
        line.loss = self.loss.unwrap_or(line.loss);
    }
}

/// How fast a line sends.
#[derive(Clone, Debug, PartialEq)]
pub enum LineRate {
    /// No serialisation at all.
    Infinite,
    /// Constant.
    Fixed(Rate),
    /// Opportunities from a recording.
    Trace(Arc<RateTrace>),
}

impl LineRate {
    /// The rate, if it is constant and not infinite.
    pub const fn fixed(&self) -> Option<Rate> {
        match self {
            Self::Fixed(rate) => Some(*rate),
            Self::Infinite | Self::Trace(_) => None,
        }
    }
}

/// A mahimahi trace: at each time a packet of up to 1500 bytes (or several smaller ones) may
/// leave; the trace repeats after its last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// Milliseconds of each opportunity, not decreasing, not empty; the last is above zero.
    pub opportunities_ms: Vec<u64>,
}

/// A line's loss, jitter and order.
#[derive(Debug)]
pub struct Impairment {
    jitter: Span,
    reorder: bool,
    loss: f64,
    dice: Stream,
}

impl Impairment {
    /// Those of a line, with dice of this name.
    pub fn new(line: &Line, seed: u64, name: &str) -> Self {
        Self {
            jitter: line.jitter,
            reorder: line.reorder,
            loss: line.loss,
            dice: Stream::named(seed, name),
        }
    }

    /// As [`new`](Self::new); none for a line that only delays.
    pub fn of(line: &Line, seed: u64, name: &str) -> Option<Self> {
        let impaired = !line.jitter.is_zero() || line.loss > 0.0;
        impaired.then(|| Self::new(line, seed, name))
    }

    /// Those of the line as it is from now on, with the same dice.
    pub fn follow(&mut self, line: &Line) {
        (self.jitter, self.reorder, self.loss) = (line.jitter, line.reorder, line.loss);
    }

    /// When a packet arrives that would arrive at `due`, and not before `last` without reordering;
    /// none when it is lost.
    pub fn arrival(&mut self, due: Time, last: Time) -> Option<Time> {
        if self.loss > 0.0 && self.dice.chance(self.loss) {
            return None;
        }
        let at = due + self.dice.span_below(self.jitter);
        Some(if self.reorder { at } else { at.max(last) })
    }
}
