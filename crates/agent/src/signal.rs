//! The AQM of an agent: a probability, by which arriving packets are marked or dropped.

use sojourn_qdisc::{Aqm, Facts, QueueView, Verdict};
use sojourn_random::Stream;
use sojourn_units::Time;

/// Marks what is ECN-capable, drops what is not, at arrival.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) probability: f64,
    dice: Stream,
}

impl Signal {
    pub(crate) fn new(seed: u64, link: &str) -> Self {
        Self {
            probability: 0.0,
            dice: Stream::named(seed, &format!("link.{link}.agent")),
        }
    }
}

impl Aqm for Signal {
    type State = ();
    type Params = ();

    fn arrive(&mut self, (): &mut (), _: QueueView, packet: Facts<'_>, _: Time) -> Verdict {
        if !self.dice.chance(self.probability) {
            Verdict::Pass
        } else if packet.ect() {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}
