//! What becomes of a cell's links while it runs.

use super::Resolver;
use super::buffers::{base_rtt, constant, frame_of, link_path};
use crate::format::{ChangeTable, ScenarioFile};
use crate::problem::suggestion;
use crate::quantity::NewRate;
use sojourn_qdisc::LinkPath;
use sojourn_units::{Time, show_span};
use sojourn_world::{Change, Flow, Line, LineChange, LineRate, Network};

/// What becomes of a link's line.
fn line(table: &ChangeTable) -> LineChange {
    LineChange {
        rate: table.rate.map(|rate| match rate.0 {
            NewRate::Is(rate) => rate.map_or(LineRate::Infinite, LineRate::Fixed),
            // Which one is known when all changes stand in the order of time.
            NewRate::Before => LineRate::Infinite,
        }),
        delay: table.delay.map(|delay| delay.0),
        jitter: table.jitter.map(|jitter| jitter.0),
        reorder: table.reorder.map(|reorder| reorder.0),
        loss: table.loss.map(|loss| loss.0),
        duplicate: table.duplicate.map(|chance| chance.0),
    }
}

impl Resolver<'_> {
    /// The changes in the order of time; those at the same time in that of the file.
    pub(super) fn changes(
        &mut self,
        file: &ScenarioFile,
        network: &Network,
        flows: &[Flow],
    ) -> Vec<Change> {
        let named = file.change.iter().flatten();
        self.check_unique("change", named.map(|table| table.name.as_ref()));
        let names = network.link_names();
        let tables = file.change.iter().flatten().enumerate();
        let mut changes: Vec<(String, Change, &ChangeTable)> = tables
            .filter_map(|(index, table)| {
                let path = match &table.name {
                    Some(name) => format!("change.{}", name.0),
                    None => format!("change[{}]", index + 1),
                };
                let change = self.change(file, table, &path, network)?;
                Some((path, change, table))
            })
            .collect();
        changes.sort_by_key(|(_, change, _)| change.at);
        let mut lines: Vec<Option<Line>> = (0..names.len())
            .map(|link| Some(network.wire(link)?.line.clone()))
            .collect();
        // The rate of each link before it went down.
        let mut rates_before: Vec<Option<LineRate>> = vec![None; names.len()];
        for (path, change, table) in &mut changes {
            let line = lines[change.link].as_mut();
            if let Some(line) = line {
                let before = &mut rates_before[change.link];
                self.outage(path, table, change, &line.rate, before);
                change.line.apply(line);
                if change.line.is_behind() {
                    self.check_reorder(path, line);
                }
            }
            let rate = constant(lines[change.link].as_ref());
            if let Some(queue) = &table.qdisc {
                let link = LinkPath {
                    rtt: base_rtt(file, network, flows, change.link),
                    ..link_path(file, rate)
                };
                let words = queue.0.clone();
                let queue = words.for_link(&format!("{path}.qdisc"), link, self.problems);
                change.qdisc = queue.map(|queue| queue.spec);
                if let Some(spec) = &change.qdisc {
                    self.queue_traps(&format!("{path}.qdisc"), spec, rate, frame_of(file));
                }
            }
        }
        changes.into_iter().map(|(_, change, _)| change).collect()
    }

    /// Has a link that comes up have the rate with which it went down.
    fn outage(
        &mut self,
        path: &str,
        table: &ChangeTable,
        change: &mut Change,
        now: &LineRate,
        before: &mut Option<LineRate>,
    ) {
        let is_down = now.is_stopped();
        match (table.rate.map(|rate| rate.0), &change.line.rate) {
            (Some(NewRate::Before), _) if is_down => change.line.rate = before.take(),
            (Some(NewRate::Before), _) => {
                let help = "an earlier change says `rate = \"down\"`";
                self.advise::<()>(&format!("{path}.rate"), "the link is not down then", help);
            }
            (_, Some(rate)) if rate.is_stopped() && !is_down => *before = Some(now.clone()),
            _ => {}
        }
    }

    fn change(
        &mut self,
        file: &ScenarioFile,
        table: &ChangeTable,
        path: &str,
        network: &Network,
    ) -> Option<Change> {
        let names = &network.link_names();
        let end = file.duration.0;
        let at = table.at.0;
        if at >= end && !end.is_zero() {
            let message = format!("the run ends at {}", show_span(end));
            return self.refuse(&format!("{path}.at"), message);
        }
        let name = table.link.0.as_str();
        let path = format!("{path}.link");
        let Some(link) = names.iter().position(|known| *known == name) else {
            let message = format!("no link has the name `{name}`");
            return self.advise(&path, message, suggestion(name, names));
        };
        let line = line(table);
        if line.is_empty() && table.qdisc.is_none() && table.position.is_none() {
            let help = match &file.radio {
                None => {
                    "give a `rate`, `delay`, `jitter`, `reorder`, `loss`, `duplicate` or `qdisc`"
                }
                Some(_) => "give a `position`, a `qdisc` or both",
            };
            return self.advise(&path, "it changes nothing", help);
        }
        let whole = path.trim_end_matches(".link");
        let mut following = network.following.iter();
        let follows = following.any(|pair| {
            let mut ways = pair.interfaces.into_iter().zip(pair.params);
            ways.any(|(interface, params)| interface == link && params.is_some())
        });
        if follows && line.rate.is_some() {
            let message = "the rate of this link follows another one (`autorate`)";
            return self.refuse(&format!("{whole}.rate"), message);
        }
        if file.radio.is_some() {
            for (key, is_there) in [
                ("rate", line.rate.is_some()),
                ("delay", line.delay.is_some()),
                ("jitter", line.jitter.is_some()),
                ("reorder", line.reorder.is_some()),
                ("loss", line.loss.is_some()),
                ("duplicate", line.duplicate.is_some()),
            ] {
                if is_there {
                    let message = format!("a radio's {key} stays; its `position` may change");
                    return self.refuse(&format!("{whole}.{key}"), message);
                }
            }
        }
        let place = match &table.position {
            Some(_) if file.radio.is_none() => {
                let message = "only the stations of a `[radio]` have it";
                return self.refuse(&format!("{whole}.position"), message);
            }
            Some(position) => Some(self.position(position, &format!("{whole}.position"))?),
            None => None,
        };
        let qdisc = match &table.qdisc {
            Some(queue) => Some(self.plain(whole, queue.0.entrance.clone())?),
            None => None,
        };
        Some(Change {
            at: Time::ZERO + at,
            link,
            line,
            qdisc,
            place,
        })
    }
}
