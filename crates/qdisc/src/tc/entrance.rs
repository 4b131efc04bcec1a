//! A queue's string with a word on super-packets, for links that have them.

use super::error::SpecError;
use super::kind::error;
use super::parse::whole;
use super::reading::Reader;
use super::relative::LinkPath;
use super::word::words;
use crate::params::CakeParams;
use crate::spec::{Part, Spec};
use alloc::string::ToString;
use core::fmt;
use core::ops::Range;
use core::str::FromStr;

/// The words, by whether super-packets are cut.
const WORDS: [&str; 2] = ["no-split-gso", "split-gso"];

/// A discipline before a link that may carry super-packets (TSO, GRO): `fq_codel split-gso`.
///
/// The words are those of cake, for every discipline: `split-gso` has super-packets cut into their
/// segments before they reach it, `no-split-gso` leaves them whole. They stand anywhere among the
/// options and count for the whole queue; behind `cake` they are cake's own. Whoever runs the link
/// cuts: the discipline itself knows nothing of it, and so a [`Spec`] does not either.
#[derive(Clone, Debug, PartialEq)]
pub struct Entrance {
    /// The discipline.
    pub spec: Spec,
    /// Whether super-packets are cut before it. Default none: as the link has it.
    pub split_gso: Option<bool>,
}

impl From<Spec> for Entrance {
    fn from(spec: Spec) -> Self {
        let split_gso = None;
        Self { spec, split_gso }
    }
}

impl FromStr for Entrance {
    type Err = SpecError;

    /// As a [`Spec`], with one of the words or none.
    ///
    /// # Errors
    /// As those of a [`Spec`]; when there are two of the words.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        read(text, None, &mut Reader::default())
    }
}

impl Entrance {
    /// As [`from_str`](Self::from_str), of a queue before a link that is known: limits may be in
    /// time (`limit 100ms`: what the link sends in it) and in bandwidth-delay products
    /// (`limit 2bdp`). The discipline has them in packets or bytes.
    ///
    /// ```
    /// use sojourn_qdisc::{Entrance, LinkPath};
    /// use sojourn_units::{Rate, Span};
    /// let path = LinkPath {
    ///     rate: Some(Rate::from_bps(10_000_000)),
    ///     rtt: Some(Span::from_millis(40)),
    ///     frame: 1514,
    /// };
    /// // 2 · 10 Mbit/s · 40 ms are 100 000 bytes, 66.05 full frames.
    /// let queue = Entrance::for_link("pfifo limit 2bdp", path).unwrap();
    /// assert_eq!(queue.to_string(), "pfifo limit 67");
    /// ```
    ///
    /// # Errors
    /// As those of a string; when a limit needs what the path does not have.
    pub fn for_link(text: &str, path: LinkPath) -> Result<Self, SpecError> {
        read(text, None, &mut Reader::before(path))
    }
}

/// A queue from a string, laid over the one that runs.
pub(super) fn read(
    text: &str,
    running: Option<&Entrance>,
    reader: &mut Reader,
) -> Result<Entrance, SpecError> {
    let mut found: Option<(bool, Range<usize>)> = None;
    // Places in the string stay what they are.
    let mut rest = text.to_string();
    for word in words(text).take_while(|word| !word.text.starts_with("cake")) {
        let Some(cuts) = WORDS.iter().position(|known| *known == word.text) else {
            continue;
        };
        if found.is_some() {
            let what = "`split-gso` or `no-split-gso` is given twice".to_string();
            let wanted = "which one is meant? Leave out the other".to_string();
            return Err(error(text, word.at(), what).of(WORDS[1]).want(wanted));
        }
        rest.replace_range(word.at(), &" ".repeat(word.text.len()));
        found = Some((cuts == 1, word.at()));
    }
    let below = running.map(|running| &running.spec);
    let spec = whole(&rest, below, reader).map_err(|error| SpecError {
        text: text.to_string(),
        ..error
    })?;
    let own = found.map(|(cuts, _)| cuts);
    let split_gso = own.or_else(|| running.and_then(|running| running.split_gso));
    Ok(Entrance { spec, split_gso })
}

impl fmt::Display for Entrance {
    /// The discipline, and its word before what stands `over` another.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.spec.to_string();
        let Some(cuts) = self.split_gso else {
            return f.write_str(&text);
        };
        // Behind its name cake would take the word as its own.
        if CakeParams::of(&self.spec).is_some() {
            return write!(f, "{} {text}", WORDS[usize::from(cuts)]);
        }
        let (own, over) = match text.split_once(" over ") {
            Some((own, over)) => (own, Some(over)),
            None => (&*text, None),
        };
        write!(f, "{own} {}", WORDS[usize::from(cuts)])?;
        over.map_or(Ok(()), |over| write!(f, " over {over}"))
    }
}
