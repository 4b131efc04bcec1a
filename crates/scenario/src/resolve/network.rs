//! The network of a cell, written as a dumbbell or as nodes and links.

use super::Resolver;
use crate::format::{DumbbellTable, HopTable, LinkTable, NodeTable, ScenarioFile};
use crate::problem::suggestion;
use crate::quantity::{LinkSpeed, Name};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_units::Span;
use sojourn_world::{Line, LineRate, Network};

/// The queue of a link without one: what `tc` calls pfifo, with its usual length.
const DEFAULT_QDISC: QdiscSpec = QdiscSpec::pfifo(1000);

/// Indices of a dumbbell's nodes.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// A link's keys, wherever they were written.
struct Keys<'a> {
    /// The table that holds them, as a path.
    path: &'a str,
    hop: HopTable,
}

impl Resolver<'_> {
    pub(super) fn network(&mut self, file: &ScenarioFile) -> Option<Network> {
        match (&file.dumbbell, &file.node, &file.link) {
            (Some(dumbbell), None, None) => self.dumbbell(dumbbell),
            (Some(_), nodes, _) => {
                let path = if nodes.is_some() { "node" } else { "link" };
                self.complain(
                    path,
                    "a scenario has either `dumbbell`, or `node` and `link`",
                );
                None
            }
            (None, Some(nodes), Some(links)) => self.graph(nodes, links),
            (None, Some(_), None) => {
                self.complain("node", "nodes need links: `[[link]]` is missing");
                None
            }
            (None, None, Some(_)) => {
                self.complain("link", "links need nodes: `[[node]]` is missing");
                None
            }
            (None, None, None) => {
                self.advise(
                    "",
                    "no topology",
                    "give `[dumbbell]` (one bottleneck each way), or `[[node]]` and `[[link]]`",
                );
                None
            }
        }
    }

    /// Clients and servers with one bottleneck each way: `up` from the clients, `down` back.
    fn dumbbell(&mut self, table: &DumbbellTable) -> Option<Network> {
        self.check_unused(table);
        let up = self.direction(table, table.up.as_ref(), "up");
        let down = self.direction(table, table.down.as_ref(), "down");
        let ((up, up_queue), (down, down_queue)) = (up?, down?);
        let mut network = Network::new(["client", "server"]);
        network.join([CLIENT, SERVER], "up", up_queue, up);
        network.join([SERVER, CLIENT], "down", down_queue, down);
        network.access = table.access.map(|rate| rate.0);
        network.nodes[CLIENT].nat = table.nat.unwrap_or(false);
        Some(network)
    }

    /// A key for both directions that both directions override would be changed, or swept,
    /// without any effect.
    fn check_unused(&mut self, table: &DumbbellTable) {
        let (Some(up), Some(down)) = (&table.up, &table.down) else {
            return;
        };
        macro_rules! check {
            ($($key:ident),*) => {
                $(if table.$key.is_some() && up.$key.is_some() && down.$key.is_some() {
                    let path = concat!("dumbbell.", stringify!($key));
                    self.complain(path, "has no effect: `up` and `down` have their own");
                })*
            };
        }
        check!(rate, trace, qdisc, delay, jitter, reorder, loss);
    }

    /// One direction: its own keys before those of the whole dumbbell.
    fn direction(
        &mut self,
        table: &DumbbellTable,
        own: Option<&HopTable>,
        name: &'static str,
    ) -> Option<(Line, QdiscSpec)> {
        let own = own.cloned().unwrap_or_default();
        let own_rate = own.rate.is_some() || own.trace.is_some();
        let (rate, trace) = if own_rate {
            (own.rate, own.trace.clone())
        } else {
            (table.rate, table.trace.clone())
        };
        let path = format!("dumbbell.{name}");
        let both = HopTable {
            qdisc: table.qdisc.clone(),
            delay: table.delay,
            jitter: table.jitter,
            reorder: table.reorder,
            loss: table.loss,
            ..HopTable::default()
        };
        let hop = HopTable {
            rate,
            trace,
            ..own.over(both)
        };
        let rate_above = !own_rate && (hop.rate.is_some() || hop.trace.is_some());
        let path = if rate_above {
            "dumbbell"
        } else {
            path.as_str()
        };
        self.line(Keys { path, hop })
    }

    /// A line, and the queue before it.
    fn line(&mut self, keys: Keys<'_>) -> Option<(Line, QdiscSpec)> {
        let Keys { path, hop } = keys;
        let rate = match (hop.rate, hop.trace) {
            (Some(LinkSpeed(Some(rate))), None) => Some(LineRate::Fixed(rate)),
            (Some(LinkSpeed(None)), None) => Some(LineRate::Infinite),
            (None, Some(file)) => match self.files.trace(&file) {
                Ok(trace) => Some(LineRate::Trace(trace)),
                Err(error) => {
                    self.complain(&format!("{path}.trace"), error.to_string());
                    None
                }
            },
            (Some(_), Some(_)) => {
                let path = format!("{path}.trace");
                self.complain(&path, "a link has either a `rate` or a `trace`");
                None
            }
            (None, None) => {
                let help = "for example `rate = \"12mbit\"`, or `rate = \"unlimited\"`";
                self.advise(path, "missing key `rate`", help);
                None
            }
        };
        let line = Line {
            rate: rate?,
            delay: hop.delay.map_or(Span::ZERO, |delay| delay.0),
            jitter: hop.jitter.map_or(Span::ZERO, |jitter| jitter.0),
            reorder: hop.reorder.unwrap_or(false),
            loss: hop.loss.map_or(0.0, |loss| loss.0),
        };
        Some((line, hop.qdisc.map_or(DEFAULT_QDISC, |queue| queue.0)))
    }

    fn graph(&mut self, nodes: &[NodeTable], links: &[LinkTable]) -> Option<Network> {
        let mut good = self.check_unique("node", nodes.iter().map(|node| Some(&node.name)));
        let names: Vec<&str> = nodes.iter().map(|node| node.name.0.as_str()).collect();
        let mut network = Network::new(names.iter().copied());
        for (index, link) in links.iter().enumerate() {
            let path = match &link.name {
                Some(name) => format!("link.{}", name.0),
                None => format!("link[{}]", index + 1),
            };
            let from = self.node(&names, &link.from, index, &path, "from");
            let to = self.node(&names, &link.to, index, &path, "to");
            let (Some(from), Some(to)) = (from, to) else {
                good = false;
                continue;
            };
            if from == to {
                let at = self.tree.locate_key("link", index, "to");
                self.complain_at(at, &path, "a link joins two different nodes", None);
                good = false;
            }
            let name = link.name.as_ref().map_or_else(
                || format!("{}-{}", names[from], names[to]),
                |name| name.0.clone(),
            );
            let Some((line, queue)) = self.line(keys(link, &path)) else {
                good = false;
                continue;
            };
            network.join([from, to], &name, queue.clone(), line.clone());
            if link.duplex == Some(true) {
                let back = match &link.name {
                    Some(name) => format!("{}-back", name.0),
                    None => format!("{}-{}", names[to], names[from]),
                };
                network.join([to, from], &back, queue, line);
            }
        }
        let links = network.link_names();
        if let Some(twice) = (1..links.len()).find(|&i| links[..i].contains(&links[i])) {
            let name = links[twice];
            let message = format!("two links would have the name `{name}`; give them names");
            self.complain("link", message);
            good = false;
        }
        good.then_some(network)
    }

    /// Index of the node that `key` of a link names.
    fn node(
        &mut self,
        names: &[&str],
        name: &Name,
        index: usize,
        path: &str,
        key: &str,
    ) -> Option<usize> {
        let found = names.iter().position(|known| *known == name.0);
        if found.is_none() {
            let at = self.tree.locate_key("link", index, key);
            let message = format!("no node has the name `{}`", name.0);
            let help = Some(suggestion(&name.0, names));
            self.complain_at(at, &format!("{path}.{key}"), message, help);
        }
        found
    }
}

fn keys<'a>(link: &LinkTable, path: &'a str) -> Keys<'a> {
    Keys {
        path,
        hop: HopTable {
            rate: link.rate,
            trace: link.trace.clone(),
            qdisc: link.qdisc.clone(),
            delay: link.delay,
            jitter: link.jitter,
            reorder: link.reorder,
            loss: link.loss,
        },
    }
}
