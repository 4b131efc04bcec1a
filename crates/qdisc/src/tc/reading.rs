//! How a queue's string is read: on its own or over what runs, strictly or as tc reads it.

use super::entrance::{self, Entrance};
use super::error::SpecError;
use super::opt::{Opt, Unit};
use super::relative::LinkPath;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{Rate, Span, parse_rate, parse_span, rate_in_bytes, show_rate};

/// How a queue's string is read. By default on its own and strictly, as [`Entrance`] is.
///
/// ```
/// use sojourn_qdisc::{Entrance, Reading};
/// let running: Entrance = "cake bandwidth 20mbit nat".parse()?;
/// let reading = Reading { running: Some(&running), ..Reading::default() };
/// let changed = reading.read("cake rtt 50ms")?.queue;
/// assert_eq!(changed, "cake bandwidth 20mbit nat rtt 50ms".parse()?);
/// # Ok::<(), sojourn_qdisc::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// The queue that runs. As with `tc qdisc change`, options that the string does not name stay
    /// as they are, if both are of the same kind.
    pub running: Option<&'a Entrance>,
    /// Read as tc does: of an option that is given twice the last one counts, and numbers without
    /// a unit are bit/s or microseconds.
    pub as_tc: bool,
}

/// A queue that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The queue.
    pub queue: Entrance,
    /// What words were taken for, where tc's reading may surprise: a sentence each.
    pub notes: Vec<String>,
}

impl Reading<'_> {
    /// Reads a queue.
    ///
    /// # Errors
    /// As those of an [`Entrance`].
    pub fn read(self, text: &str) -> Result<Taken, SpecError> {
        let mut reader = Reader {
            as_tc: self.as_tc,
            ..Reader::default()
        };
        let queue = entrance::read(text, self.running, &mut reader)?;
        let notes = reader.notes;
        Ok(Taken { queue, notes })
    }
}

/// What reads the words of a discipline and of those below it.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) as_tc: bool,
    /// What limits in time follow from; none where no link is known.
    pub(super) path: Option<LinkPath>,
    notes: Vec<String>,
}

impl Reader {
    /// One that reads strictly, before a link that is known.
    pub(super) fn before(path: LinkPath) -> Self {
        Self {
            path: Some(path),
            ..Self::default()
        }
    }

    pub(super) fn note(&mut self, what: String) {
        self.notes.push(what);
    }

    /// Notes a rate in bytes per second, which elsewhere would be bits.
    pub(super) fn note_bytes(&mut self, opt: &Opt, text: &str) {
        let bytes = rate_in_bytes(text).filter(|_| opt.unit == Unit::Rate);
        if let Some(rate) = bytes {
            let shown = show_rate(rate);
            let name = opt.name;
            self.note(format!(
                "`{name} {text}` is {shown}: `bps` are bytes per second, as in tc"
            ));
        }
    }

    /// What tc takes a number without a unit for, if that is how words are read.
    pub(super) fn bare(&mut self, opt: &Opt, text: &str) -> Option<u64> {
        let (unit, error) = match opt.unit {
            Unit::Rate => ("bit", parse_rate(text).err()?),
            Unit::Time => ("us", parse_span(text).err()?),
            _ => return None,
        };
        if !self.as_tc || !error.lacks_unit() {
            return None;
        }
        let whole = format!("{text}{unit}");
        let number = match opt.unit {
            Unit::Rate => parse_rate(&whole).map(Rate::as_bps),
            _ => parse_span(&whole).map(Span::as_nanos),
        }
        .ok()?;
        self.note(format!(
            "`{} {text}` has no unit: tc takes it for {whole}",
            opt.name
        ));
        Some(number)
    }
}
