//! A cell on its way into a guest, and what comes back: files in the folder that both share.
//!
//! The cell goes in as the scenario's text with the cell's parameters, from which it is read anew,
//! and its result comes out as the files of a result folder. Captured packets come back as records
//! one behind the other.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sojourn_live::Queues;
use sojourn_world::{Source, TapPoint};

/// The task, for the guest.
pub(crate) const TASK: &str = "task";
/// The captured packets, from the guest.
pub(crate) const PACKETS: &str = "packets";

/// Whose queues there can be.
const QUEUES: [Queues; 3] = [Queues::Ours, Queues::Kernel, Queues::Module];

/// One cell and how it is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The scenario: its name in messages, its text, the folder of the files that it names.
    name: String,
    text: String,
    base: PathBuf,
    /// What was swept or set.
    pub(crate) params: Vec<(String, String)>,
    pub(crate) seed: u64,
    /// Commands of the shell on the clients' and the servers' side.
    pub(crate) programs: [Option<String>; 2],
    /// Whose the queues are, by its place among [`QUEUES`].
    queues: u8,
    /// Where packets are captured: the kind of place, and its index.
    taps: Vec<(u8, usize)>,
    /// Bytes of each that are wanted.
    pub(crate) snap_len: usize,
}

impl Task {
    /// A task without programs and captures.
    pub(crate) fn new(source: &Source, params: &[(String, String)], seed: u64) -> Self {
        Self {
            name: source.name.clone(),
            text: source.text.clone(),
            // The folder of a file without one is empty: this process's.
            base: std::path::absolute(Path::new(".").join(&source.base))
                .unwrap_or_else(|_| source.base.clone()),
            params: params.to_vec(),
            seed,
            programs: [None, None],
            queues: 0,
            taps: Vec::new(),
            snap_len: 0,
        }
    }

    /// Whose queues it has.
    pub(crate) fn set_queues(&mut self, queues: Queues) {
        let at = QUEUES.iter().position(|&known| known == queues);
        self.queues = at.map_or(0, |at| at as u8);
    }

    /// Whose queues it has; none that this program knows.
    pub(crate) fn queues(&self) -> Option<Queues> {
        QUEUES.get(usize::from(self.queues)).copied()
    }

    /// Captures at these places.
    pub(crate) fn capture(&mut self, points: impl Iterator<Item = TapPoint>, snap_len: usize) {
        let places = points.map(|point| match point {
            TapPoint::Node(index) => (0, index),
            TapPoint::Offered(index) => (1, index),
            TapPoint::Dequeued(index) => (2, index),
            TapPoint::Air(index) => (3, index),
        });
        self.taps = places.collect();
        self.snap_len = snap_len;
    }

    /// The places of the captures.
    pub(crate) fn points(&self) -> impl Iterator<Item = TapPoint> {
        self.taps.iter().map(|&(kind, index)| match kind {
            0 => TapPoint::Node(index),
            1 => TapPoint::Offered(index),
            2 => TapPoint::Dequeued(index),
            _ => TapPoint::Air(index),
        })
    }

    /// The scenario, its files below `root`.
    pub(crate) fn source(&self, root: &str) -> Source {
        let below = self.base.strip_prefix("/").unwrap_or(&self.base);
        Source {
            name: self.name.clone(),
            text: self.text.clone(),
            base: PathBuf::from(root).join(below),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("text and numbers can be written")
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// What a tap was told.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record<'a> {
    /// A packet has passed.
    Frame {
        /// Number of the tap.
        tap: usize,
        /// When, in nanoseconds.
        at: u64,
        outgoing: bool,
        /// Its whole length.
        len: u32,
        /// Its beginning.
        #[serde(borrow)]
        bytes: Cow<'a, [u8]>,
    },
    /// So many packets could not be shown.
    Lost { tap: usize, packets: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_arrives_as_it_was() {
        let source = Source {
            name: "x.toml".into(),
            text: "name = 'x'".into(),
            base: "/home/me".into(),
        };
        let mut task = Task::new(&source, &[("dumbbell.rtt".into(), "1ms".into())], 7);
        let points = [
            TapPoint::Node(1),
            TapPoint::Offered(0),
            TapPoint::Dequeued(1),
        ];
        task.capture(points.into_iter(), 192);
        task.set_queues(Queues::Module);
        let arrived = Task::from_bytes(&task.to_bytes()).unwrap();
        assert_eq!(arrived, task);
        assert_eq!(arrived.points().collect::<Vec<_>>(), points);
        assert_eq!(arrived.queues(), Some(Queues::Module));
        let there = arrived.source("/run/host");
        assert_eq!(there.base, PathBuf::from("/run/host/home/me"));
        assert_eq!(there.text, source.text);
    }
}
