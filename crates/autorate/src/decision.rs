//! What is done to a rate, and why, in words for the one who looks after the link.

use core::fmt;
use sojourn_units::{Rate, Span};

/// A change of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What it was.
    pub from: Rate,
    /// What it is from now on.
    pub to: Rate,
    /// Why.
    pub why: Why,
}

/// Why a rate changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The link is in use and its delay is as it is without load.
    Loaded {
        /// Share of the rate in use.
        load: f64,
        /// Mean delay above the base.
        delay: Span,
    },
    /// There is a queue behind the shaper.
    Queue {
        /// Mean delay above the base, of the delayed samples.
        delay: Span,
        /// Delayed samples.
        delayed: u32,
        /// Samples.
        of: u32,
        /// Share of the rate in use.
        load: f64,
    },
    /// Less rate did not make the delay less: the path has become longer, and there is no queue.
    Path {
        /// By so much.
        delay: Span,
    },
    /// The link is not in use: back towards the base.
    Unused {
        /// Share of the rate in use.
        load: f64,
    },
    /// Nobody has seen the link's delay for a while: back towards the base.
    Blind,
}

impl Why {
    /// Its kind: changes of the same one that follow each other are one in a log.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Loaded { .. } => "loaded",
            Self::Queue { .. } => "queue",
            Self::Path { .. } => "path",
            Self::Unused { .. } => "unused",
            Self::Blind => "blind",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbit = |rate: Rate| rate.as_bps() as f64 / 1e6;
        let digits = if mbit(self.from.max(self.to)) < 10.0 {
            2
        } else {
            1
        };
        write!(
            f,
            "{:.digits$} -> {:.digits$} Mbit/s: {}",
            mbit(self.from),
            mbit(self.to),
            self.why
        )
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded { load, delay } => write!(
                f,
                "load {:.0} % and delay {:.0} ms above base",
                100.0 * load,
                delay.as_millis_f64()
            ),
            Self::Queue {
                delay,
                delayed,
                of,
                load,
            } => write!(
                f,
                "delay {:.0} ms above base in {delayed} of {of} samples at load {:.0} %",
                delay.as_millis_f64(),
                100.0 * load
            ),
            Self::Path { delay } => write!(
                f,
                "delay {:.0} ms above base stayed when the rate fell: the path is longer",
                delay.as_millis_f64()
            ),
            Self::Unused { load } => write!(f, "load {:.0} %, towards the base", 100.0 * load),
            Self::Blind => f.write_str("no delay seen for a second, towards the base"),
        }
    }
}
