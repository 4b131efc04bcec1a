//! What becomes of links while a run goes on.

use crate::build::{link_name, setting};
use crate::link::Link;
use sojourn_qdisc::{Setting, Spec};
use sojourn_units::Time;
use sojourn_world::{Cell, LineRate, Transmitter};
use std::collections::VecDeque;

/// A cell's changes that are still to come, the next one first.
#[derive(Debug)]
pub(crate) struct Changes {
    pending: VecDeque<Change>,
    /// The queues', but for the name.
    setting: Setting<'static>,
    link_header: u16,
}

/// One of them.
#[derive(Debug)]
struct Change {
    at: Time,
    link: usize,
    /// The name of the link's random streams.
    name: String,
    rate: Option<LineRate>,
    qdisc: Option<Spec>,
}

impl Changes {
    pub(crate) fn new(cell: &Cell) -> Self {
        let names: Vec<String> = cell.network.interfaces.iter().map(link_name).collect();
        let mut pending: Vec<Change> = (cell.changes.iter())
            .map(|change| Change {
                at: change.at,
                link: change.link,
                name: names[change.link].clone(),
                rate: change.rate.clone(),
                qdisc: change.qdisc.clone(),
            })
            .collect();
        // Stable: what happens at the same time happens in the order given.
        pending.sort_by_key(|change| change.at);
        Self {
            pending: pending.into(),
            setting: setting(cell, ""),
            link_header: cell.link_header,
        }
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.pending.front().map(|change| change.at)
    }

    /// Makes the next change, if it is due, and returns its link.
    pub(crate) fn apply(&mut self, links: &mut [Link], now: Time) -> Option<usize> {
        if self.next()? > now {
            return None;
        }
        let change = self.pending.pop_front()?;
        let link = &mut links[change.link];
        if let Some(rate) = &change.rate {
            link.recorder.rate(now, rate.fixed());
            link.transmitter = Transmitter::new(rate, self.link_header);
        }
        if let Some(spec) = &change.qdisc {
            let setting = Setting {
                name: &change.name,
                ..self.setting
            };
            spec.reconfigure(&mut link.qdisc, setting, now);
            link.recorder.backlog(now, link.qdisc.backlog());
        }
        Some(change.link)
    }
}
