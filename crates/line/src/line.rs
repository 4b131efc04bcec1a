//! What a wire does to packets: rate, delay, jitter, order, loss, copies. The same in every world.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::{Chance, Loss, Reorder};
use sojourn_units::{Rate, Span, Time};

/// One direction of a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How fast it sends.
    pub rate: LineRate,
    /// Propagation delay of every packet, after transmission.
    pub delay: Span,
    /// Extra delay, uniform in `[0, jitter)`.
    pub jitter: Span,
    /// Which packets may overtake others.
    pub reorder: Reorder,
    /// Which packets are lost after transmission.
    pub loss: Loss,
    /// Which packets arrive twice.
    pub duplicate: Chance,
}

impl Line {
    /// Takes no time but for sending, and loses nothing.
    pub const fn new(rate: LineRate) -> Self {
        Self {
            rate,
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reorder: Reorder::Never,
            loss: Loss::NONE,
            duplicate: Chance::NEVER,
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
    pub reorder: Option<Reorder>,
    /// [`Line::loss`].
    pub loss: Option<Loss>,
    /// [`Line::duplicate`].
    pub duplicate: Option<Chance>,
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
        line.duplicate = self.duplicate.unwrap_or(line.duplicate);
    }
}

/// How fast a line sends.
#[derive(Clone, Debug, PartialEq)]
pub enum LineRate {
    /// No serialisation at all.
    Infinite,
    /// Constant; at zero the link is down, and packets stay in its queue.
    Fixed(Rate),
    /// Opportunities from a recording.
    Trace(Arc<RateTrace>),
}

impl LineRate {
    /// Bits that can be sent after one time until another; not finite without a rate.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        match self {
            Self::Infinite => f64::INFINITY,
            Self::Fixed(rate) => rate.as_bps() as f64 * (to - from).as_secs_f64(),
            Self::Trace(trace) => trace.bits_until(to) - trace.bits_until(from),
        }
    }

    /// Whether nothing is sent: the link is down.
    pub const fn is_stopped(&self) -> bool {
        matches!(self, Self::Fixed(rate) if rate.is_zero())
    }

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

/// Bytes of IP packets that may leave at one opportunity (`mm-link(1)`).
pub(crate) const OPPORTUNITY: u32 = 1500;

impl RateTrace {
    /// After how many milliseconds it repeats.
    pub(crate) fn period_ms(&self) -> u64 {
        self.opportunities_ms.last().map_or(1, |&ms| ms.max(1))
    }

    /// Bits that may leave until a time, this included.
    pub(crate) fn bits_until(&self, time: Time) -> f64 {
        let ms = time.as_nanos() / 1_000_000;
        let (rounds, rest) = (ms / self.period_ms(), ms % self.period_ms());
        let whole = rounds as f64 * self.opportunities_ms.len() as f64;
        let part = self.opportunities_ms.partition_point(|&at| at <= rest);
        (whole + part as f64) * f64::from(OPPORTUNITY) * 8.0
    }
}
