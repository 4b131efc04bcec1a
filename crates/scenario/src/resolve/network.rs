//! The network of a cell, written as a dumbbell or as nodes and links.

use super::Resolver;
use super::buffers::Pending;
use crate::format::{DumbbellTable, LinkTable, NodeTable, ScenarioFile};
use crate::problem::Problem;
use sojourn_qdisc::{Entrance, Spec as QdiscSpec};
use sojourn_text::hop::Hop;
use sojourn_text::queue::QueueWords;
use sojourn_world::Network;
use std::collections::BTreeSet;

/// Most nodes, and most entries of `link`.
const MOST: usize = 10_000;

/// Indices of a dumbbell's nodes.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

impl Resolver<'_> {
    pub(super) fn network(&mut self, file: &ScenarioFile) -> Option<Network> {
        if let Some(radio) = &file.radio {
            return self.radio(file, radio);
        }
        self.check_stations(file);
        match (&file.dumbbell, &file.node, &file.link) {
            (Some(dumbbell), None, None) => self.dumbbell(dumbbell),
            (Some(_), nodes, _) => {
                let path = if nodes.is_some() { "node" } else { "link" };
                let message = "a scenario has either `dumbbell`, or `node` and `link`";
                self.refuse(path, message)
            }
            (None, Some(nodes), Some(links)) => self.graph(nodes, links),
            (None, Some(_), None) => self.refuse("node", "nodes need links: `[[link]]` is missing"),
            (None, None, Some(_)) => self.refuse("link", "links need nodes: `[[node]]` is missing"),
            (None, None, None) => self.advise(
                "",
                "no topology",
                "give `[dumbbell]` (one bottleneck each way), or `[[node]]` and `[[link]]`",
            ),
        }
    }

    /// Keys of nodes that only stations have.
    fn check_stations(&mut self, file: &ScenarioFile) {
        for node in file.node.iter().flatten() {
            for (key, is_there) in [
                ("position", node.position.is_some()),
                ("qdisc", node.qdisc.is_some()),
                ("nodal_deadline", node.nodal_deadline.is_some()),
            ] {
                if is_there {
                    let path = format!("node.{}.{key}", node.name.0);
                    self.complain(&path, "only the stations of a `[radio]` have it");
                }
            }
        }
    }

    /// Clients and servers with one bottleneck each way: `up` from the clients, `down` back.
    fn dumbbell(&mut self, table: &DumbbellTable) -> Option<Network> {
        let ways = [&table.up, &table.down].map(Option::as_ref);
        let [up, down] = self.both_ways("dumbbell", &table.hop, ways)?;
        for (way, hop) in [("up", &up), ("down", &down)] {
            if hop.autorate.is_some() {
                let path = self.written("dumbbell", way, "autorate");
                let help = "write it with `[[node]]` and `[[link]]`: this link, and a slower one \
                            behind it";
                return self.advise(&path, "a dumbbell has nothing behind its links", help);
            }
        }
        let [up_queue, down_queue] =
            [("up", up.queue), ("down", down.queue)].map(|(way, queue)| {
                let own = format!("dumbbell.{way}");
                let is_own = self.tree.has(&format!("{own}.qdisc"));
                let above = if is_own { own } else { "dumbbell".to_owned() };
                let interface = usize::from(way == "down");
                self.measured_later(&above, &queue, vec![interface]);
                self.plain(&above, queue.entrance)
            });
        let (up_queue, down_queue) = (up_queue?, down_queue?);
        let mut network = Network::new(["client", "server"]);
        network.join([CLIENT, SERVER], "up", up_queue, up.line);
        network.join([SERVER, CLIENT], "down", down_queue, down.line);
        network.access = table.access.map(|rate| rate.0);
        network.nodes[CLIENT].nat = table.nat.unwrap_or(false);
        Some(network)
    }

    /// Notes a queue whose limit has to be measured by its link when that is known.
    fn measured_later(&mut self, above: &str, words: &QueueWords, interfaces: Vec<usize>) {
        if words.relative.is_some() {
            self.pending.push(Pending {
                interfaces,
                path: format!("{above}.qdisc"),
                words: words.clone(),
            });
        }
    }

    /// A scenario's queue: its worlds cut by the link's rate, and what they compare is the same in
    /// each.
    pub(super) fn plain(&mut self, above: &str, queue: Entrance) -> Option<QdiscSpec> {
        if queue.split_gso.is_none() {
            return Some(queue.spec);
        }
        let message = "`split-gso` and `no-split-gso` are for the queues of a bridge";
        let help = "leave the word out; only cake has it here";
        self.advise(&format!("{above}.qdisc"), message, help)
    }

    fn graph(&mut self, nodes: &[NodeTable], links: &[LinkTable]) -> Option<Network> {
        for (list, count) in [("node", nodes.len()), ("link", links.len())] {
            if count > MOST {
                return self.refuse(list, format!("{count} are more than {MOST}"));
            }
        }
        let mut good = self.check_unique("node", nodes.iter().map(|node| Some(&node.name)));
        let names: Vec<&str> = nodes.iter().map(|node| node.name.0.as_str()).collect();
        let mut network = Network::new(names.iter().copied());
        let mut following = Vec::new();
        for (index, link) in links.iter().enumerate() {
            let path = match &link.name {
                Some(name) => format!("link.{}", name.0),
                None => format!("link[{}]", index + 1),
            };
            let from = self.node(&names, &link.from, &format!("{path}.from"));
            let to = self.node(&names, &link.to, &format!("{path}.to"));
            let (Some(from), Some(to)) = (from, to) else {
                good = false;
                continue;
            };
            if from == to {
                let at = self.tree.locate(&format!("{path}.to"));
                let message = "a link joins two different nodes";
                self.problems.add(Problem::new(at, &path, message));
                good = false;
            }
            let name = link.name.as_ref().map_or_else(
                || format!("{}-{}", names[from], names[to]),
                |name| name.0.clone(),
            );
            let first = network.interfaces.len();
            let both = (first..=first + usize::from(link.duplex == Some(true))).collect();
            let hop = self
                .line(&path, &format!("{path}.autorate"), link.hop.clone())
                .inspect(|hop| self.measured_later(&path, &hop.queue, both))
                .and_then(|hop| Some((self.plain(&path, hop.queue.entrance.clone())?, hop)));
            let Some((queue, Hop { line, autorate, .. })) = hop else {
                good = false;
                continue;
            };
            let path_of_link = path.clone();
            if let Some(autorate) = autorate {
                let other = (link.duplex == Some(true)).then(|| autorate.turned());
                following.push((path.clone(), network.interfaces.len(), autorate));
                following.extend(other.map(|other| (path, network.interfaces.len() + 1, other)));
            }
            self.link_paths.push(path_of_link.clone());
            network.join([from, to], &name, queue.clone(), line.clone());
            if link.duplex == Some(true) {
                let back = match &link.name {
                    Some(name) => format!("{}-back", name.0),
                    None => format!("{}-{}", names[to], names[from]),
                };
                network.join([to, from], &back, queue, line);
                self.link_paths.push(path_of_link);
            }
        }
        good &= self.follow(&mut network, following);
        let mut seen = BTreeSet::new();
        let mut links = network.link_names().into_iter();
        if let Some(name) = links.find(|name| !seen.insert(*name)) {
            let message = format!("two links would have the name `{name}`; give them names");
            self.complain("link", message);
            good = false;
        }
        good.then_some(network)
    }
}
