//! The border between a sender and its congestion control.
//!
//! Windows count segments, as Linux and ns-2 count them (RFC 5681 counts bytes, which is the
//! same for full segments). The sender owns loss detection, recovery (PRR or the control's own),
//! the retransmission timer and the limits by the application and the receiver; the control
//! owns the window, the slow-start threshold and, if it wants, the pacing rate.

mod bbr;
mod bbr3;
mod compound;
mod cubic;
mod dctcp;
#[cfg(test)]
mod events;
mod hystart;
mod hystart_plus_plus;
mod reno;
mod vegas;
mod westwood;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use compound::Compound;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;

use crate::config::{Algorithm, Config};
use crate::rate::RateSample;
use alloc::boxed::Box;
use core::fmt::Debug;
use sojourn_units::{Rate, Span, Time};

/// A slow-start threshold that nothing has set yet.
pub const INFINITE: u32 = u32::MAX / 4;

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Segments found lost since the last ACK.
    pub lost: u32,
    /// Of these, what this ACK showed; the others were a timer's (Linux `rs->losses`).
    pub lost_by_ack: u32,
    /// Round trip of the newest acknowledged segment, if it was sent once.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Shortest round trip of the last five minutes.
    pub min_rtt: Span,
    /// Segments in the network before and after this ACK.
    pub prior_in_flight: u32,
    /// After this ACK.
    pub in_flight: u32,
    /// Bytes delivered over the connection's life.
    pub delivered_total: u64,
    /// The end of what is acknowledged cumulatively, in bytes of the stream (SND.UNA).
    pub una: u64,
    /// The end of what has been sent (SND.NXT).
    pub next: u64,
    /// Nothing is out of order, lost or being repaired, and no reduction is under way (Linux
    /// `TCP_CA_Open`).
    pub calm: bool,
    /// The delivery rate seen by the newest delivered segment.
    pub rate: Option<RateSample>,
    /// The first ACK for data sent after the previous round's first ACK.
    pub round_start: bool,
    /// The window is what limits the sender.
    pub window_limited: bool,
    /// The sender paces.
    pub paced: bool,
    /// The rate at which the sender paces, or would; zero outside slow start.
    pub pacing_rate: Rate,
    /// How long pacing still holds the next segment back.
    pub pacing_wait: Span,
    /// The ACK carries ECN-echo.
    pub ecn_echo: bool,
    /// Segments of `delivered` that the receiver reports as marked: all of them or none with an
    /// echo that follows the marks (RFC 8257 section 3.2); AccECN (RFC 9768) would count them.
    pub marked: u32,
    /// The window may grow: data was acknowledged and no reduction is under way.
    pub may_grow: bool,
}

/// What an ACK says before it is known what it means.
#[derive(Clone, Copy, Debug)]
pub struct AckArrival {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively; none for a duplicate.
    pub acked: u32,
    /// Round trip of the newest acknowledged segment, if it was sent once.
    pub rtt: Option<Span>,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Fast recovery begins (RFC 5681 section 3.2).
    Loss,
    /// A mark was echoed (RFC 3168 section 6.1.2).
    Mark,
    /// The retransmission timer expired (RFC 5681 section 3.1, equation 4 and LW).
    Timeout,
    /// It expired for data that has already cost a reduction: only the window collapses.
    TimeoutAgain,
}

impl Congestion {
    /// Whether the retransmission timer expired.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::TimeoutAgain)
    }
}

/// A congestion control.
pub trait CongestionControl: Debug {
    /// The congestion window in segments, at least 1.
    fn window(&self) -> u32;

    /// The slow-start threshold in segments; [`INFINITE`] before anything set it.
    fn ssthresh(&self) -> u32;

    /// The control's own pacing rate. None: the sender paces, if told to, at 2 windows a round
    /// trip in early slow start and 1.2 otherwise, as Linux does.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether [`window`](Self::window) holds during recovery too; otherwise the sender follows
    /// proportional rate reduction (RFC 6937) down to `ssthresh`.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// Whether the control keeps the window below the path's capacity on purpose now, so that
    /// delivery rates say nothing about the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Windows of data that the send buffer grows to hold (Linux `sndbuf_expand`).
    fn buffered_windows(&self) -> u32 {
        2
    }

    /// 64 random bits for what the control decides by lot.
    fn seed(&mut self, _bits: u64) {}

    /// An ACK has come. Before recovery looks at it, which may end by it, and before
    /// [`CongestionControl::on_ack`].
    fn on_ack_arrival(&mut self, _arrival: &AckArrival) {}

    /// The handshake is over; `rtt` is its round trip, if it was measured.
    fn on_established(&mut self, _rtt: Option<Span>, _now: Time) {}

    /// An ACK arrived.
    fn on_ack(&mut self, ack: &AckEvent);

    /// Congestion, once a window of data. `in_flight`: segments in the network now.
    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time);

    /// Recovery or the reaction to a mark is over.
    fn on_recovery_end(&mut self, _now: Time) {}

    /// The last [`on_congestion`](Self::on_congestion) was a mistake (RFC 4015, RFC 5682).
    fn on_undo(&mut self);

    /// Something is about to be sent, for the first time or again, with nothing in flight: what
    /// has been sent before, up to `next`, was acknowledged or is lost. The last was sent `idle`
    /// ago.
    fn on_transmit_start(&mut self, _idle: Span, _next: u64, _now: Time) {}

    /// Nothing was sent for longer than a timeout: back to `restart` segments at most, after
    /// one halving per `timeouts` (RFC 2861 section 3; RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, timeouts: u32, restart: u32);

    /// Only `used` segments of the window were needed for a timeout (RFC 2861 section 3.2).
    fn on_application_limited(&mut self, used: u32);
}

/// The controls by name, dispatched without an indirect call, and those from outside with one.
#[derive(Debug)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Cubic),
    Vegas(Vegas),
    Westwood(Westwood),
    Compound(Compound),
    Dctcp(Dctcp),
    // Boxed: large, and what every connection holds should stay small.
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Own(Box<dyn CongestionControl + Send>),
}

impl Control {
    pub(crate) fn new(config: &Config) -> Self {
        match config.algorithm {
            Algorithm::Reno | Algorithm::Linux(_) => Self::Reno(Reno::new(config)),
            Algorithm::Cubic => Self::Cubic(Cubic::new(config)),
            Algorithm::Vegas => Self::Vegas(Vegas::new(config)),
            Algorithm::Westwood => Self::Westwood(Westwood::new(config)),
            Algorithm::Compound => Self::Compound(Compound::new(config)),
            Algorithm::Dctcp => Self::Dctcp(Dctcp::new(config)),
            Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(config))),
            Algorithm::Bbr3 => Self::Bbr3(Box::new(Bbr3::new(config))),
        }
    }
}

macro_rules! each {
    ($self:ident, $control:ident => $call:expr) => {
        match $self {
            Control::Reno($control) => $call,
            Control::Cubic($control) => $call,
            Control::Vegas($control) => $call,
            Control::Westwood($control) => $call,
            Control::Compound($control) => $call,
            Control::Dctcp($control) => $call,
            Control::Bbr($control) => $call,
            Control::Bbr3($control) => $call,
            Control::Own($control) => $call,
        }
    };
}

impl CongestionControl for Control {
    fn window(&self) -> u32 {
        each!(self, control => control.window())
    }
    fn ssthresh(&self) -> u32 {
        each!(self, control => control.ssthresh())
    }
    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, control => control.pacing_rate())
    }
    fn controls_recovery(&self) -> bool {
        each!(self, control => control.controls_recovery())
    }
    fn limits_itself(&self) -> bool {
        each!(self, control => control.limits_itself())
    }
    fn buffered_windows(&self) -> u32 {
        each!(self, control => control.buffered_windows())
    }
    fn seed(&mut self, bits: u64) {
        each!(self, control => control.seed(bits));
    }
    fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        each!(self, control => control.on_established(rtt, now));
    }
    fn on_ack_arrival(&mut self, arrival: &AckArrival) {
        each!(self, control => control.on_ack_arrival(arrival));
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        each!(self, control => control.on_ack(ack));
    }
    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        each!(self, control => control.on_congestion(why, in_flight, now));
    }
    fn on_recovery_end(&mut self, now: Time) {
        each!(self, control => control.on_recovery_end(now));
    }
    fn on_undo(&mut self) {
        each!(self, control => control.on_undo());
    }
    fn on_transmit_start(&mut self, idle: Span, next: u64, now: Time) {
        each!(self, control => control.on_transmit_start(idle, next, now));
    }
    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        each!(self, control => control.on_idle_restart(timeouts, restart));
    }
    fn on_application_limited(&mut self, used: u32) {
        each!(self, control => control.on_application_limited(used));
    }
}

/// Window and threshold with the rules that all but BBR share.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) segments: u32,
    pub(crate) ssthresh: u32,
    /// Acknowledged segments that have not yet made the window grow.
    pub(crate) credit: f64,
    /// Window and threshold before the last reduction.
    prior: Option<(u32, u32)>,
}

impl Window {
    pub(crate) fn new(config: &Config) -> Self {
        let ssthresh = config.initial_ssthresh.map_or(INFINITE, |bytes| {
            u32::try_from(bytes / u64::from(config.mss.max(1)))
                .unwrap_or(INFINITE)
                .clamp(2, INFINITE)
        });
        Self {
            segments: config.initial_window.clamp(1, INFINITE),
            ssthresh,
            credit: 0.0,
            prior: None,
        }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }

    /// Slow start (RFC 5681 equation 2, without the limit of appropriate byte counting, as
    /// Linux); returns the segments left when `ssthresh` is reached.
    pub(crate) fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.segments.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by `acked` times `per_segment` segments, whole segments at a time.
    pub(crate) fn grow(&mut self, acked: u32, per_segment: f64) {
        self.credit += f64::from(acked) * per_segment;
        // n times 1/n must count as one.
        if self.credit >= 1.0 - 1e-9 {
            let whole = (self.credit + 1e-9) as u32;
            self.credit -= f64::from(whole);
            self.segments = self.segments.saturating_add(whole).min(INFINITE);
        }
    }

    /// Reno's growth (RFC 5681 equations 2 and 3): doubling below the threshold, one segment a
    /// round trip above.
    pub(crate) fn reno(&mut self, ack: &AckEvent) {
        self.reno_from(ack, Self::slow_start);
    }

    /// Reno's growth with a slow start of one's own, which returns the segments it has left.
    /// As Linux: by what left the network, not what a filled hole releases.
    pub(crate) fn reno_from(
        &mut self,
        ack: &AckEvent,
        slow_start: impl FnOnce(&mut Self, u32) -> u32,
    ) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.delivered;
        if self.in_slow_start() {
            acked = slow_start(self, acked);
        }
        if acked > 0 {
            self.grow_each(acked, f64::from(self.segments));
        }
    }

    /// Grows by one for each `count` acknowledged segments, a whole number; those that a larger
    /// count has left over make one at most (Linux `tcp_cong_avoid_ai`).
    pub(crate) fn grow_each(&mut self, acked: u32, count: f64) {
        if self.credit >= count {
            self.credit = 0.0;
            self.segments = self.segments.saturating_add(1).min(INFINITE);
        }
        self.credit += f64::from(acked);
        if self.credit >= count {
            let whole = libm::floor(self.credit / count);
            self.credit -= whole * count;
            self.segments = self.segments.saturating_add(whole as u32).min(INFINITE);
        }
    }

    /// Sets the threshold, and the window to it or, after a timeout, to what is in flight and
    /// one (RFC 5681's loss window, when everything in flight is lost).
    pub(crate) fn reduce(&mut self, ssthresh: u32, why: Congestion, in_flight: u32) {
        if why != Congestion::TimeoutAgain {
            self.prior = Some((self.segments, self.ssthresh));
            self.ssthresh = ssthresh.max(2);
        }
        self.segments = if why.is_timeout() {
            in_flight.saturating_add(1).min(self.segments)
        } else {
            self.ssthresh
        };
        self.credit = 0.0;
    }

    pub(crate) fn undo(&mut self) {
        if let Some((segments, ssthresh)) = self.prior.take() {
            self.segments = self.segments.max(segments);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// The threshold that remembers the window when it is lowered for want of use, or by delay
    /// (Linux `tcp_current_ssthresh`).
    fn remember(&mut self) {
        let kept = self.segments / 2 + self.segments / 4;
        self.ssthresh = self.ssthresh.max(kept);
    }

    pub(crate) fn idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.remember();
        let floor = restart.min(self.segments);
        self.segments = (self.segments >> timeouts.min(31)).max(floor);
        self.credit = 0.0;
    }

    pub(crate) fn application_limited(&mut self, used: u32) {
        if used < self.segments {
            self.remember();
            self.segments = u32::midpoint(self.segments, used).max(1);
        }
    }
}
