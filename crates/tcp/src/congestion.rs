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
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;
pub(crate) use window::Window;

use crate::config::{Algorithm, Config};
use alloc::boxed::Box;
use core::fmt::Debug;
use sojourn_units::{Rate, Span, Time};

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

    /// Whether it can be cloned.
    pub(crate) fn can_fork(&self) -> bool {
        match self {
            Self::Own(control) => control.fork().is_some(),
            _ => true,
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

/// Of a control from outside only where it can be copied: [`Control::can_fork`] is asked first.
impl Clone for Control {
    fn clone(&self) -> Self {
        match self {
            Self::Reno(control) => Self::Reno(control.clone()),
            Self::Cubic(control) => Self::Cubic(control.clone()),
            Self::Vegas(control) => Self::Vegas(control.clone()),
            Self::Westwood(control) => Self::Westwood(control.clone()),
            Self::Compound(control) => Self::Compound(control.clone()),
            Self::Dctcp(control) => Self::Dctcp(control.clone()),
            Self::Bbr(control) => Self::Bbr(control.clone()),
            Self::Bbr3(control) => Self::Bbr3(control.clone()),
            Self::Own(control) => {
                let copy = control.fork();
                Self::Own(copy.expect("`Control::can_fork` has been asked"))
            }
        }
    }
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
