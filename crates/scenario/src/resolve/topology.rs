//! The topology of a cell: a dumbbell, or nodes and links.

use super::Resolver;
use crate::format::{DumbbellTable, HopTable, LinkTable, NodeTable, ScenarioFile};
use crate::problem::suggestion;
use crate::quantity::{LinkSpeed, Name};
use sojourn_qdisc::Spec as QdiscSpec;
use sojourn_units::Span;
use sojourn_world::{Dumbbell, Graph, GraphLink, Hop, HopRate, Topology};

/// The queue of a link without one: what `tc` calls pfifo, with its usual length.
const DEFAULT_QDISC: QdiscSpec = QdiscSpec::Pfifo { limit: 1000 };

/// A link's keys, wherever they were written.
struct Keys<'a> {
    /// The table that holds them, as a path.
    path: &'a str,
    hop: HopTable,
}

impl Resolver<'_> {
    pub(super) fn topology(&mut self, file: &ScenarioFile) -> Option<Topology> {
        match (&file.dumbbell, &file.node, &file.link) {
            (Some(dumbbell), None, None) => self.dumbbell(dumbbell).map(Topology::Dumbbell),
            (Some(_), nodes, _) => {
                let path = if nodes.is_some() { "node" } else { "link" };
                self.complain(
                    path,
                    "a scenario has either `dumbbell`, or `node` and `link`",
                );
                None
            }
            (None, Some(nodes), Some(links)) => self.graph(nodes, links).map(Topology::Graph),
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

    fn dumbbell(&mut self, table: &DumbbellTable) -> Option<Dumbbell> {
        self.check_unused(table);
        let up = self.direction(table, table.up.as_ref(), "up");
        let down = self.direction(table, table.down.as_ref(), "down");
        Some(Dumbbell {
            up: up?,
            down: down?,
            access: table.access.map(|rate| rate.0),
            nat: table.nat.unwrap_or(false),
        })
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
    ) -> Option<Hop> {
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
        self.hop(name.to_owned(), Keys { path, hop })
    }

    fn hop(&mut self, name: String, keys: Keys<'_>) -> Option<Hop> {
        let Keys { path, hop } = keys;
        let rate = match (hop.rate, hop.trace) {
            (Some(LinkSpeed(Some(rate))), None) => Some(HopRate::Fixed(rate)),
            (Some(LinkSpeed(None)), None) => Some(HopRate::Infinite),
            (None, Some(file)) => match self.traces.get(&file) {
                Ok(trace) => Some(HopRate::Trace(trace)),
                Err(message) => {
                    self.complain(&format!("{path}.trace"), message);
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
        Some(Hop {
            name,
            rate: rate?,
            qdisc: hop.qdisc.map_or(DEFAULT_QDISC, |queue| queue.0),
            delay: hop.delay.map_or(Span::ZERO, |delay| delay.0),
            jitter: hop.jitter.map_or(Span::ZERO, |jitter| jitter.0),
            reorder: hop.reorder.unwrap_or(false),
            loss: hop.loss.map_or(0.0, |loss| loss.0),
        })
    }

    fn graph(&mut self, nodes: &[NodeTable], links: &[LinkTable]) -> Option<Graph> {
        let mut good = self.check_unique("node", nodes.iter().map(|node| Some(&node.name)));
        let names: Vec<&str> = nodes.iter().map(|node| node.name.0.as_str()).collect();
        let mut resolved = Vec::new();
        let mut link_names: Vec<Name> = Vec::new();
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
            let Some(hop) = self.hop(name.clone(), keys(link, &path)) else {
                good = false;
                continue;
            };
            link_names.push(Name(name.clone()));
            if link.duplex == Some(true) {
                let back = Hop {
                    name: match &link.name {
                        Some(name) => format!("{}-back", name.0),
                        None => format!("{}-{}", names[to], names[from]),
                    },
                    ..hop.clone()
                };
                resolved.push(GraphLink { from, to, hop });
                link_names.push(Name(back.name.clone()));
                resolved.push(GraphLink {
                    from: to,
                    to: from,
                    hop: back,
                });
            } else {
                resolved.push(GraphLink { from, to, hop });
            }
        }
        if let Some(twice) =
            (1..link_names.len()).find(|&i| link_names[..i].contains(&link_names[i]))
        {
            let name = &link_names[twice].0;
            let message = format!("two links would have the name `{name}`; give them names");
            self.complain("link", message);
            good = false;
        }
        good.then(|| Graph {
            nodes: names.into_iter().map(str::to_owned).collect(),
            links: resolved,
        })
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
