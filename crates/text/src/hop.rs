//! A link as files write it: its keys, in scenarios and in a bridge's file, and what they mean.

pub use crate::autorate::Autorate;
use crate::quantity::{ChanceWords, Duration, LinkSpeed, LossWords, Queue, ReorderWords, Speed};
use crate::queue::QueueWords;
use crate::resolver::Resolver;
use crate::{table, words};
use sojourn_line::{Chance, Line, LineRate, Loss, Reorder};
use sojourn_qdisc::{Entrance, Spec};
use sojourn_units::Span;

/// The queue of a link without one: what `tc` calls pfifo, with its usual length.
pub const DEFAULT_QDISC: Spec = Spec::pfifo(1000);

table! {
    overlay
    /// One direction of a dumbbell, or of a bridge's pair.
    pub struct HopTable {
        /// Rate of the link. Required in a scenario, unless there is a `trace`; a bridge's default
        /// is `unlimited`.
        rate: Option<LinkSpeed>,
        /// A mahimahi trace as the link's rate: a path, relative to this file.
        trace: Option<String>,
        /// Queue at the link's entrance, in tc's words. Default `pfifo limit 1000`.
        qdisc: Option<Queue>,
        /// Propagation delay, part of the base RTT. Default 0.
        delay: Option<Duration>,
        /// Extra delay of each packet, uniform from 0 to below this. Default 0.
        jitter: Option<Duration>,
        /// Whether packets may overtake others, by jitter or a change; or, in netem's words, which
        /// packets skip the `delay`. Default false.
        reorder: Option<ReorderWords>,
        /// Packets that are lost behind the queue. Default: none.
        loss: Option<LossWords>,
        /// Packets that arrive twice: copies are made behind the queue. Default: none.
        duplicate: Option<ChanceWords>,
        /// Lets the `rate` follow a slower link behind this one; in a bridge's file, a link beyond
        /// its right interface. Not in a dumbbell, which has nothing behind its links. Default: the
        /// rate is fixed.
        autorate: Option<AutorateTable>,
    }
}

table! {
    /// A link's rate that follows a slower link behind it, by the delay of passing packets, which
    /// TCP's timestamps show. `rate` is the initial rate, and the rate that it returns to without
    /// load.
    pub struct AutorateTable {
        /// Lower bound of the rate; above zero and at most `rate`.
        min: Speed,
        /// Upper bound of the rate; at least `rate`.
        max: Speed,
        /// Additional delay, compared with the delay without load, that counts as a queue. Default
        /// 30 ms.
        threshold: Option<Duration>,
        /// The end of this link behind which the slow link is. Default `to`; for the second link of
        /// a `duplex`, the other end. Not in a bridge's file: there the slow link is beyond the
        /// right interface.
        beyond: Option<EndWord>,
    }
}

words! {
    /// An end of a link.
    #[derive(Default)]
    pub enum EndWord {
        /// Where it leads to.
        #[default]
        To = "to",
        /// Where it comes from.
        From = "from",
    }
}

/// One direction of a dumbbell or of a bridge's pair, or a link.
pub struct Hop {
    /// What it does to packets.
    pub line: Line,
    /// The queue at its entrance.
    pub queue: QueueWords,
    /// How its rate follows a slower link; none: it stays.
    pub autorate: Option<Autorate>,
}

impl Resolver<'_> {
    /// Up and down: the keys of the table at `above` count for both, those of
    /// its `up` and `down` for one.
    pub fn both_ways(
        &mut self,
        above: &str,
        both: &HopTable,
        [up, down]: [Option<&HopTable>; 2],
    ) -> Option<[Hop; 2]> {
        self.check_unused(above);
        let up = self.direction(above, both, up, "up");
        let down = self.direction(above, both, down, "down");
        Some([up?, down?])
    }

    /// A key for both directions that both directions override would be changed, or swept,
    /// without any effect.
    fn check_unused(&mut self, above: &str) {
        for key in HopTable::KEYS.concat() {
            let path = format!("{above}.{key}");
            let own = ["up", "down"].map(|way| format!("{above}.{way}.{key}"));
            if self.tree.has(&path) && own.iter().all(|path| self.tree.has(path)) {
                self.complain(&path, "has no effect: `up` and `down` have their own");
            }
        }
    }

    /// Where a direction's key is written: in its own table, or in the one above for both.
    pub fn written(&self, above: &str, way: &str, key: &str) -> String {
        let own = format!("{above}.{way}.{key}");
        if self.tree.has(&own) {
            own
        } else {
            format!("{above}.{key}")
        }
    }

    /// One direction: its own keys before those for both. Rate and trace are one thing in this.
    fn direction(
        &mut self,
        above: &str,
        both: &HopTable,
        own: Option<&HopTable>,
        name: &str,
    ) -> Option<Hop> {
        let own = own.cloned().unwrap_or_default();
        let autorate = self.written(above, name, "autorate");
        if own.rate.is_some() || own.trace.is_some() {
            let (rate, trace) = (own.rate, own.trace.clone());
            let hop = own.over(both.clone());
            let hop = HopTable { rate, trace, ..hop };
            return self.line(&format!("{above}.{name}"), &autorate, hop);
        }
        let path = match (&both.rate, &both.trace) {
            (None, None) => format!("{above}.{name}"),
            _ => above.to_owned(),
        };
        self.line(&path, &autorate, own.over(both.clone()))
    }

    /// The link at `path`, whose rate follows as is written at `autorate`.
    pub fn line(&mut self, path: &str, autorate: &str, hop: HopTable) -> Option<Hop> {
        let rate = match (hop.rate, hop.trace) {
            (Some(LinkSpeed(Some(rate))), None) => LineRate::Fixed(rate),
            (Some(LinkSpeed(None)), None) => LineRate::Infinite,
            (None, Some(file)) => match self.files.trace(&file) {
                Ok(trace) => LineRate::Trace(trace),
                Err(error) => return self.refuse(&format!("{path}.trace"), error.to_string()),
            },
            (Some(_), Some(_)) => {
                let message = "a link has either a `rate` or a `trace`";
                return self.refuse(&format!("{path}.trace"), message);
            }
            (None, None) => {
                let help = "for example `rate = \"12mbit\"`, or `rate = \"unlimited\"`";
                return self.advise(path, "missing key `rate`", help);
            }
        };
        let line = Line {
            rate,
            delay: hop.delay.map_or(Span::ZERO, |delay| delay.0),
            jitter: hop.jitter.map_or(Span::ZERO, |jitter| jitter.0),
            reorder: hop.reorder.map_or(Reorder::Never, |reorder| reorder.0),
            loss: hop.loss.map_or(Loss::NONE, |loss| loss.0),
            duplicate: hop.duplicate.map_or(Chance::NEVER, |chance| chance.0),
        };
        self.check_reorder(path, &line);
        let autorate = match hop.autorate {
            Some(table) => Some(self.autorate(autorate, &table, &line.rate)?),
            None => None,
        };
        let queue = hop.qdisc.map(|queue| queue.0);
        Some(Hop {
            line,
            queue: queue.unwrap_or_else(|| Entrance::from(DEFAULT_QDISC).into()),
            autorate,
        })
    }

    /// Who passes no delay by changes nothing: netem's words need one.
    pub fn check_reorder(&mut self, path: &str, line: &Line) {
        if matches!(line.reorder, Reorder::Ahead { .. }) && line.delay.is_zero() {
            let path = format!("{path}.reorder");
            self.complain(&path, "the link has no `delay` that a packet could pass by");
        }
    }
}
