//! The congestion controls, and the border between a sender and its own.
//!
//! Windows count segments, as Linux and ns-2 count them (RFC 5681 counts bytes, which is the
//! same for full segments). The sender owns loss detection, recovery (PRR or the control's own),
//! the retransmission timer and the limits by the application and the receiver; the control
//! owns the window, the slow-start threshold and, if it wants, the pacing rate.

mod bbr;
mod bbr3;
mod border;
mod compound;
mod cubic;
mod dctcp;
#[cfg(test)]
mod events;
mod hystart;
mod hystart_plus_plus;
mod prague;
mod reno;
mod vegas;
mod westwood;
mod window;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use border::{AckArrival, AckEvent, Congestion, CongestionControl, INFINITE};
pub use compound::Compound;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use prague::Prague;
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;
pub use window::Window;

use crate::config::{Algorithm, Config};
use alloc::boxed::Box;
use core::fmt::Debug;
use sojourn_units::{Rate, Span, Time};

/// A sender's control, and what it has last said: of that a sender asks many times a segment.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Control {
    said: Said,
    /// One from outside may change its mind at any time, and is asked each time.
    is_asked: bool,
    kind: Dispatch,
}

/// What a control says until something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    window: u32,
    ssthresh: u32,
    buffered_windows: u32,
    paces: bool,
    limits_itself: bool,
}

/// What a control says now.
macro_rules! said {
    ($control:ident) => {
        Said {
            window: $control.window(),
            ssthresh: $control.ssthresh(),
            buffered_windows: $control.buffered_windows(),
            paces: $control.pacing_rate().is_some(),
            limits_itself: $control.limits_itself(),
        }
    };
}

/// The controls by name, dispatched without an indirect call, and those from outside with one.
#[derive(Clone, Debug)]
enum Dispatch {
    Reno(Reno),
    Cubic(Cubic),
    Vegas(Vegas),
    Westwood(Westwood),
    Compound(Compound),
    Dctcp(Dctcp),
    Prague(Prague),
    // Boxed: large, and what every connection holds should stay small.
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Own(Own),
}

/// One from outside.
#[derive(Debug)]
struct Own(Box<dyn CongestionControl + Send>);

/// Only where it can be copied: [`Control::can_fork`] is asked first.
impl Clone for Own {
    fn clone(&self) -> Self {
        let copy = self.0.fork();
        Self(copy.expect("`Control::can_fork` has been asked"))
    }
}

impl Dispatch {
    fn new(config: &Config) -> Self {
        match config.algorithm {
            Algorithm::Reno | Algorithm::Linux(_) => Self::Reno(Reno::new(config)),
            Algorithm::Cubic => Self::Cubic(Cubic::new(config)),
            Algorithm::Vegas => Self::Vegas(Vegas::new(config)),
            Algorithm::Westwood => Self::Westwood(Westwood::new(config)),
            Algorithm::Compound => Self::Compound(Compound::new(config)),
            Algorithm::Dctcp => Self::Dctcp(Dctcp::new(config)),
            Algorithm::Prague => Self::Prague(Prague::new(config)),
            Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(config))),
            Algorithm::Bbr3 => Self::Bbr3(Box::new(Bbr3::new(config))),
        }
    }
}

macro_rules! each {
    ($kind:expr, $control:ident => $call:expr) => {
        match $kind {
            Dispatch::Reno($control) => $call,
            Dispatch::Cubic($control) => $call,
            Dispatch::Vegas($control) => $call,
            Dispatch::Westwood($control) => $call,
            Dispatch::Compound($control) => $call,
            Dispatch::Dctcp($control) => $call,
            Dispatch::Prague($control) => $call,
            Dispatch::Bbr($control) => $call,
            Dispatch::Bbr3($control) => $call,
            Dispatch::Own(Own($control)) => $call,
        }
    };
}

/// Tells the control something, and remembers what it says then.
macro_rules! tell {
    ($self:ident, $control:ident => $call:expr) => {
        each!(&mut $self.kind, $control => {
            $call;
            $self.said = said!($control);
        })
    };
}

impl Control {
    pub(crate) fn new(config: &Config) -> Self {
        Self::of(Dispatch::new(config))
    }

    /// One from outside.
    pub(crate) fn own(control: Box<dyn CongestionControl + Send>) -> Self {
        Self::of(Dispatch::Own(Own(control)))
    }

    fn of(kind: Dispatch) -> Self {
        Self {
            said: each!(&kind, control => said!(control)),
            is_asked: matches!(kind, Dispatch::Own(_)),
            kind,
        }
    }

    /// The one from outside.
    pub(crate) fn own_ref(&self) -> Option<&(dyn CongestionControl + Send)> {
        match &self.kind {
            Dispatch::Own(Own(control)) => Some(&**control),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn own_mut(&mut self) -> Option<&mut (dyn CongestionControl + Send)> {
        match &mut self.kind {
            Dispatch::Own(Own(control)) => Some(&mut **control),
            _ => None,
        }
    }

    /// Whether it can be cloned.
    pub(crate) fn can_fork(&self) -> bool {
        match &self.kind {
            Dispatch::Own(Own(control)) => control.fork().is_some(),
            _ => true,
        }
    }

    /// One thing that it says.
    #[inline]
    fn says<T>(&self, what: impl Fn(&Said) -> T) -> T {
        if self.is_asked {
            return what(&self.ask());
        }
        debug_assert_eq!(self.said, self.ask(), "changed without being told anything");
        what(&self.said)
    }

    #[cold]
    fn ask(&self) -> Said {
        each!(&self.kind, control => said!(control))
    }

    #[inline]
    pub(crate) fn window(&self) -> u32 {
        self.says(|said| said.window)
    }

    #[inline]
    pub(crate) fn ssthresh(&self) -> u32 {
        self.says(|said| said.ssthresh)
    }

    #[inline]
    pub(crate) fn buffered_windows(&self) -> u32 {
        self.says(|said| said.buffered_windows)
    }

    #[inline]
    pub(crate) fn limits_itself(&self) -> bool {
        self.says(|said| said.limits_itself)
    }

    /// Whether it has a pacing rate.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.says(|said| said.paces)
    }

    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        each!(&self.kind, control => control.pacing_rate())
    }

    pub(crate) fn marked_share(&self) -> Option<f64> {
        each!(&self.kind, control => control.marked_share())
    }

    /// The peer does not count marks. A control that cannot do without becomes Reno: a sender of
    /// L4S must have accurate feedback (RFC 9331 section 4.2).
    pub(crate) fn do_without_counts(&mut self, config: &Config) {
        if matches!(self.kind, Dispatch::Prague(_)) {
            *self = Self::of(Dispatch::Reno(Reno::new(config)));
        }
    }

    pub(crate) fn controls_recovery(&self) -> bool {
        each!(&self.kind, control => control.controls_recovery())
    }

    pub(crate) fn seed(&mut self, bits: u64) {
        tell!(self, control => control.seed(bits));
    }

    pub(crate) fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        tell!(self, control => control.on_established(rtt, now));
    }

    /// Whether it listens to [arrivals](Self::on_ack_arrival): the most usual one does not.
    #[inline]
    pub(crate) fn hears_arrivals(&self) -> bool {
        !matches!(self.kind, Dispatch::Cubic(_))
    }

    #[inline(never)]
    pub(crate) fn on_ack_arrival(&mut self, arrival: &AckArrival) {
        // Changes nothing of what it says.
        each!(&mut self.kind, control => control.on_ack_arrival(arrival));
    }

    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        tell!(self, control => control.on_ack(ack));
    }

    /// Whether [`avoid`](Self::avoid) will do.
    #[inline]
    pub(crate) fn avoids(&self) -> bool {
        matches!(&self.kind, Dispatch::Cubic(cubic) if !cubic.in_slow_start())
    }

    /// [`on_ack`](Self::on_ack) for CUBIC beyond slow start, which asks for little of what an event
    /// says; `grows`: the window limits, and may grow after this ACK. False where it is another
    /// control's.
    #[expect(clippy::inline_always, reason = "as `Sender::finish_ack`")]
    #[inline(always)]
    pub(crate) fn avoid(
        &mut self,
        delivered: u32,
        rtt: Option<Span>,
        grows: bool,
        now: Time,
    ) -> bool {
        let Dispatch::Cubic(cubic) = &mut self.kind else {
            return false;
        };
        if cubic.in_slow_start() {
            return false;
        }
        cubic.avoid(delivered, rtt, grows, now);
        self.said.window = cubic.window();
        true
    }

    pub(crate) fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        tell!(self, control => control.on_congestion(why, in_flight, now));
    }

    pub(crate) fn on_recovery_end(&mut self, now: Time) {
        tell!(self, control => control.on_recovery_end(now));
    }

    pub(crate) fn on_undo(&mut self) {
        tell!(self, control => control.on_undo());
    }

    pub(crate) fn on_transmit_start(&mut self, idle: Span, next: u64, now: Time) {
        tell!(self, control => control.on_transmit_start(idle, next, now));
    }

    pub(crate) fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        tell!(self, control => control.on_idle_restart(timeouts, restart));
    }

    pub(crate) fn on_application_limited(&mut self, used: u32) {
        tell!(self, control => control.on_application_limited(used));
    }
}
