//! Queues in tc's words, whose limits may follow from the link: `pfifo limit 100ms`, `2bdp`.
//!
//! Such a limit is resolved when the link and its base RTT are known: by whoever reads the file.

use crate::problem::{Origin, Problem, Problems};
use crate::quantity::{Queue, warn_of_bytes};
use crate::read::{Read, wrong_type};
use crate::tree::{Node, Value};
use sojourn_qdisc::{Entrance, LinkPath, SpecError};
use sojourn_units::{Rate, Span, rate_in_bytes};
use std::ops::Range;

/// A queue as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueWords {
    /// What it is; with limits of some link while it [has to be resolved](Self::relative).
    pub entrance: Entrance,
    /// The words, and where they stand, if a limit in them follows from the link.
    pub relative: Option<(String, Origin)>,
}

impl From<Entrance> for QueueWords {
    fn from(entrance: Entrance) -> Self {
        Self {
            entrance,
            relative: None,
        }
    }
}

impl QueueWords {
    /// The queue before this link. A limit that does not follow from it is a problem of the field
    /// at `path`.
    pub fn for_link(self, path: &str, link: LinkPath, problems: &mut Problems) -> Option<Entrance> {
        let Some((text, at)) = self.relative else {
            return Some(self.entrance);
        };
        match Entrance::for_link(&text, link) {
            Ok(queue) => Some(queue),
            Err(error) => {
                let problem = wrong_queue(error, &text, at, path, problems);
                problems.refuse(problem)
            }
        }
    }
}

/// Largest IP packet of a link.
pub const MTU: u32 = 1500;

/// Length of a full packet's frame on Ethernet.
pub const FRAME: u32 = MTU + 14;

/// A link of Ethernet at this rate, whose base RTT nobody knows.
#[must_use]
pub const fn ethernet(rate: Option<Rate>) -> LinkPath {
    LinkPath {
        rate,
        rtt: None,
        frame: FRAME,
    }
}

/// Any link that has all: what may be said of a queue is found out with it.
const SOME_LINK: LinkPath = LinkPath {
    rate: Some(Rate::from_bps(1_000_000_000)),
    rtt: Some(Span::from_millis(100)),
    ..ethernet(None)
};

fn wrong_queue(
    error: SpecError,
    text: &str,
    at: Origin,
    path: &str,
    problems: &Problems,
) -> Problem {
    let at = inside(at, text, error.at.clone(), problems);
    let problem = Problem::new(at, path, error.what);
    match (error.suggestion, error.wanted) {
        (Some(word), _) => problem.help(format!("did you mean `{word}`?")),
        (None, Some(wanted)) => problem.help(wanted),
        (None, None) => problem,
    }
}

impl Read for Queue {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let Value::Text(text) = &node.value else {
            let wanted = "a string such as \"fq_codel limit 1000\"";
            return problems.refuse(wrong_type(node, path, wanted));
        };
        let in_bytes = |word: &&str| rate_in_bytes(word).is_some();
        for word in text.split_whitespace().filter(in_bytes) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let at = inside(node.at, text, start..start + word.len(), problems);
            warn_of_bytes(word, at, path, problems);
        }
        if let Ok(entrance) = text.parse::<Entrance>() {
            return Some(Self(entrance.into()));
        }
        match Entrance::for_link(text, SOME_LINK) {
            Ok(entrance) => Some(Self(QueueWords {
                entrance,
                relative: Some((text.clone(), node.at)),
            })),
            Err(error) => {
                let problem = wrong_queue(error, text, node.at, path, problems);
                problems.refuse(problem)
            }
        }
    }
}

/// The place of some bytes of a string's value, when it was written without escapes.
fn inside(whole: Origin, value: &str, range: Range<usize>, problems: &Problems) -> Origin {
    let written = &problems.source_text(whole.source)[whole.start..whole.end];
    let quotes = match written.len().checked_sub(value.len()) {
        Some(0) if written == value => 0,
        Some(2) if &written[1..written.len() - 1] == value => 1,
        _ => return whole,
    };
    let start = whole.start + quotes;
    Origin {
        source: whole.source,
        start: start + range.start.min(value.len()),
        end: start + range.end.min(value.len()),
    }
}
