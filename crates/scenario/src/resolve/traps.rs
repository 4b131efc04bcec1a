//! What is right and yet not meant: warnings, each with its place and what it means.
//!
//! Not here: queues that do not what they should (`text`'s `traps.rs`), and `20Mbps`, which is
//! bytes in tc; whoever reads a rate warns of it.

use super::Resolver;
use super::buffers::frame_of;
use crate::format::ScenarioFile;
use sojourn_units::{Rate, Span, Unit};
use sojourn_world::{Flow, Network, Paths, Transport};

/// What flows must reach of a link's rate not to be called held: headers take some of it.
const FULL: f64 = 0.9;

impl Resolver<'_> {
    /// Warns of what a cell means and its author may not.
    pub(super) fn traps(&mut self, file: &ScenarioFile, network: &Network, flows: &[Flow]) {
        for (link, interface) in network.interfaces.iter().enumerate() {
            let Some(path) = self.queue_path(file, link) else {
                continue;
            };
            let rate = network.wire(link).and_then(|wire| wire.line.rate.fixed());
            self.queue_traps(&path, &interface.qdisc, rate, frame_of(file));
        }
        self.held_flows(network, flows);
    }

    /// Where the queue of a link was written; none for the usual one.
    fn queue_path(&self, file: &ScenarioFile, link: usize) -> Option<String> {
        let path = match (&file.dumbbell, self.link_paths.get(link)) {
            (Some(_), _) => {
                let way = if link == 0 { "up" } else { "down" };
                self.written("dumbbell", way, "qdisc")
            }
            (None, above) => format!("{}.qdisc", above?),
        };
        self.tree.has(&path).then_some(path)
    }

    /// TCP flows that cannot fill their bottleneck whatever the queue does: what is in flight is
    /// bounded by the send buffer and by the receive window.
    fn held_flows(&mut self, network: &Network, flows: &[Flow]) {
        let paths = Paths::of(network);
        let mut held: Vec<Held> = flows
            .iter()
            .filter_map(|flow| Held::of(flow, network, &paths))
            .collect();
        for link in 0..network.interfaces.len() {
            let sum: f64 = held
                .iter()
                .filter(|one| one.link == link)
                .map(Held::most)
                .sum();
            held.retain(|one| one.link != link || sum < FULL * one.rate.as_bps() as f64);
        }
        // Equal flows of one `count` are one warning.
        let tables = self.tree.get("flow");
        let names: Vec<String> = match tables.map(|entry| &entry.node.value) {
            Some(crate::tree::Value::Array(items)) => {
                let names = items.iter().filter_map(|item| item.text_at("name"));
                names.map(str::to_owned).collect()
            }
            _ => return,
        };
        for name in names {
            let is_its = |held: &&Held| {
                let rest = held.name.strip_prefix(&name);
                rest.is_some_and(|rest| rest.is_empty() || is_number(rest))
            };
            if let Some(one) = held.iter().find(is_its) {
                let (message, help) = one.said();
                self.warn(&format!("flow.{name}"), message, help);
            }
        }
    }
}

fn is_number(rest: &str) -> bool {
    let digits = rest.strip_prefix('-');
    digits.is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit()))
}

/// A flow with what bounds it beside its bottleneck.
struct Held {
    name: String,
    /// Its bottleneck.
    link: usize,
    rate: Rate,
    rtt: Span,
    /// Most bytes in flight, and what says so.
    bytes: u64,
    by: &'static str,
}

impl Held {
    /// None of a flow that takes no more than it needs, or whose way has no constant rate.
    fn of(flow: &Flow, network: &Network, paths: &Paths<'_>) -> Option<Self> {
        let Transport::Tcp(config) = flow.transport else {
            return None;
        };
        if !flow.app.kind().is_elastic || flow.base_rtt.is_zero() {
            return None;
        }
        let rate = |link: &usize| network.wire(*link)?.line.rate.fixed();
        let path = paths.path(flow.from, flow.to)?;
        let rates: Option<Vec<_>> = path.iter().map(|link| Some((rate(link)?, *link))).collect();
        let (rate, link) = rates?.into_iter().min()?;
        let window = u64::from(config.receive_window_max);
        // ns-2's senders have no buffer.
        let (bytes, by) = if config.ns2.is_none() && config.send_buffer < window {
            (config.send_buffer, "send_buffer")
        } else {
            (window, "receive_window_max")
        };
        Some(Self {
            name: flow.name.clone(),
            link,
            rate,
            rtt: flow.base_rtt,
            bytes,
            by,
        })
    }

    /// Most bit/s.
    fn most(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.rtt.as_secs_f64()
    }

    fn said(&self) -> (String, String) {
        let rtt = Unit::Ms.show(self.rtt.as_millis_f64());
        let message = format!(
            "a `{}` of {} bytes carries at most {} over {rtt}, and the link {}: the flow is \
             limited by its own end, not by the queue",
            self.by,
            self.bytes,
            Unit::Bps.show(self.most()),
            Unit::Bps.show(self.rate.as_bps() as f64),
        );
        // Twice the product: a queue and recovery need some too.
        let wanted = self
            .rate
            .bytes_in(self.rtt)
            .saturating_mul(2)
            .div_ceil(1 << 20);
        let help = format!(
            "for more, `tcp = {{ send_buffer = \"{wanted}mb\", receive_window_max = \
             \"{wanted}mb\" }}`"
        );
        (message, help)
    }
}
