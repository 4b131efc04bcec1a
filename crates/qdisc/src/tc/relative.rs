//! Limits in time or in bandwidth-delay products: `limit 100ms`, `limit 2bdp`.
//!
//! A discipline counts packets or bytes, and that is what a [`Spec`](crate::Spec) has. What a time
//! comes to follows from the rate at which the queue is emptied, so that such a limit can be read
//! only for a queue whose link is known.

use super::error::SpecError;
use super::kind::{Given, Kind};
use super::opt::{Amount, Opt, Unit};
use super::word::Word;
use alloc::format;
use alloc::string::String;
use sojourn_units::{Rate, Span, parse_rate, parse_span};

/// What limits in time and in bandwidth-delay products are resolved against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkPath {
    /// Rate at which the queue is emptied; none where the link has no constant one.
    pub rate: Option<Rate>,
    /// Base RTT of the path, for limits in BDP; none where there is none.
    pub rtt: Option<Span>,
    /// Bytes of a full frame: what a packet counts as where the limit is in packets.
    pub frame: u32,
}

/// A limit that is not in packets or bytes.
#[derive(Clone, Copy, Debug)]
enum Length {
    /// What the link sends in this time.
    Time(Span),
    /// So many bandwidth-delay products.
    Bdp(f64),
}

impl Length {
    fn of(text: &str) -> Option<Self> {
        let stem = text
            .len()
            .checked_sub(3)
            .filter(|&at| text.is_char_boundary(at));
        if let Some((number, unit)) = stem.map(|at| text.split_at(at))
            && unit.eq_ignore_ascii_case("bdp")
        {
            let plain = number.bytes().all(|c| c.is_ascii_digit() || c == b'.');
            let number: f64 = number.parse().ok().filter(|_| plain)?;
            return (number > 0.0).then_some(Self::Bdp(number));
        }
        // A bare number counts packets or bytes, and zero has its own complaint.
        let span = parse_span(text).ok().filter(|span| !span.is_zero());
        span.map(Self::Time)
    }
}

impl Opt {
    /// Whether it may be given in time or in BDP: it bounds what the queue holds.
    pub(super) fn is_length(&self) -> bool {
        let counts = matches!(
            self.unit,
            Unit::Packets | Unit::Bytes | Unit::BytesOrPackets
        );
        counts && matches!(self.name, "limit" | "memory_limit" | "memlimit")
    }
}

impl LinkPath {
    /// The path seen from below a shaper of this kind, with these words: its rate, if that is
    /// below the link's.
    pub(super) fn through(self, kind: &Kind, words: &[Word<'_>]) -> Self {
        let shapes = |word: &&[Word<'_>]| {
            matches!(
                (kind.name, word[0].text),
                ("cake" | "cake_mq", "bandwidth") | ("htb" | "tbf", "rate")
            )
        };
        let own = words
            .windows(2)
            .find(shapes)
            .and_then(|pair| parse_rate(pair[1].text).ok());
        let rate = match (self.rate, own) {
            (Some(link), Some(own)) => Some(link.min(own)),
            (link, own) => link.or(own),
        };
        Self { rate, ..self }
    }
}

impl Given<'_> {
    /// The amount of an option that is given in time or in BDP; none for one in its own unit.
    pub(super) fn length(
        &self,
        opt: &Opt,
        value: &Word<'_>,
        path: Option<LinkPath>,
    ) -> Option<Result<Amount, SpecError>> {
        let length = Length::of(value.text).filter(|_| opt.is_length())?;
        Some(self.resolved(opt, value, length, path))
    }

    fn resolved(
        &self,
        opt: &Opt,
        value: &Word<'_>,
        length: Length,
        path: Option<LinkPath>,
    ) -> Result<Amount, SpecError> {
        let refuse = |needs: &str, help: &str| {
            let what = format!("`{} {}` needs {needs}", opt.name, value.text);
            let wanted = format!("{help}, or give {}", plain_unit(opt));
            let error = super::kind::error(self.text, value.at(), what);
            Err(error.of(opt.name).want(wanted))
        };
        let Some(path) = path else {
            return refuse(
                "the rate of the link, which is not known here",
                "write it in the file of a scenario or of a bridge",
            );
        };
        let Some(rate) = path.rate.filter(|rate| !rate.is_zero()) else {
            return refuse(
                "a constant rate, and the link has none",
                "give the link a `rate`",
            );
        };
        let time = match (length, path.rtt.filter(|rtt| !rtt.is_zero())) {
            (Length::Time(time), _) => time,
            (Length::Bdp(times), Some(rtt)) => rtt.mul_f64(times),
            (Length::Bdp(_), None) => {
                let needs = "a base RTT, and there is none";
                return refuse(needs, "give the scenario an `rtt`, or write a time");
            }
        };
        let bytes = rate.bytes_in(time).max(1);
        let amount = match opt.unit {
            Unit::Packets => bytes.div_ceil(u64::from(path.frame.max(1))),
            _ => bytes,
        };
        self.in_range(opt, amount, value)?;
        Ok(Amount::Number(amount))
    }
}

/// The option's own unit, with an example.
fn plain_unit(opt: &Opt) -> String {
    match opt.unit {
        Unit::Packets => format!("packets (`{} 1000`)", opt.name),
        _ => format!("bytes (`{} 64kb`)", opt.name),
    }
}
