//! A shaper's rate that follows the link behind it, by the delay that packets meet there.
//!
//! [`Monitor`] looks at both directions of a shaped link: it takes round-trip times from the TCP
//! timestamps of the packets that pass ([`Passive`]) or from whoever has some, and what has been
//! sent. Every [`STEP`] the [`Autorate`] of a direction says whether the rate changes, and why.
//!
//! Where somebody sends probes, [`Prober`] says which [`Reflector`] is asked when.
//!
//! Sources: cake-autorate (github.com/lynxthecat/cake-autorate: `defaults.sh`, `cake-autorate.sh`)
//! for the classes of load, the detection by a window, the refractory times and the steps;
//! Nichols, pping (github.com/pollere/pping) and RFC 7323 for passive round-trip times; RFC 6817
//! section 3.4.2 (LEDBAT) for a base that is the minimum of some time. Each file says where it
//! differs.
//!
//! Not here: any clock, packet, socket or shaper. Time and samples come in, rates come out.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod base;
mod control;
mod decision;
mod meter;
mod monitor;
mod params;
mod passive;
mod prober;
mod recent;
mod reflector;

pub use control::{Autorate, Load};
pub use decision::{Decision, Why};
pub use monitor::{Monitor, Setting, Way};
pub use params::Params;
pub use passive::{Passive, Seen};
pub use prober::{Probe, Prober};
pub use reflector::{How, Reflector};

use sojourn_units::Span;

/// How often a rate is looked at: as often as cake-autorate gets answers with its six pingers
/// every 300 ms.
pub const STEP: Span = Span::from_millis(50);
