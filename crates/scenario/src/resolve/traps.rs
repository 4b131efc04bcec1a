//! What is right and yet not meant: warnings, each with its place and what it means.
//!
//! Not here: `20Mbps`, which is bytes in tc; whoever reads a rate warns of it.

use super::Resolver;
use crate::format::{Framing, ScenarioFile};
use crate::problem::Problem;
use sojourn_qdisc::{FifoParams, Limit, Spec};
use sojourn_text::queue::MTU;
use sojourn_units::{Rate, Span, Unit, show_rate, show_size};
use sojourn_world::{Flow, LineRate, Network, Transport};

/// What flows must reach of a link's rate not to be called held: headers take some of it.
const FULL: f64 = 0.9;

impl Resolver<'_> {
    /// Warns of what a cell means and its author may not.
    pub(super) fn traps(&mut self, file: &ScenarioFile, network: &Network, flows: &[Flow]) {
        let framing = file.framing.unwrap_or(Framing::Ethernet).value();
        let frame = u64::from(MTU) + u64::from(framing);
        for (link, interface) in network.interfaces.iter().enumerate() {
            let Some(path) = self.queue_path(file, link) else {
                continue;
            };
            let rate = network.wire(link).map(|wire| &wire.line.rate);
            self.idle_shaper(&path, &interface.qdisc, rate);
            self.closed_queue(&path, &interface.qdisc, frame);
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

    fn warn(&mut self, path: &str, message: String, help: String) {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.warn(problem.help(help));
    }

    /// A shaper above the rate of its link.
    fn idle_shaper(&mut self, path: &str, spec: &Spec, rate: Option<&LineRate>) {
        let Some(&LineRate::Fixed(link)) = rate else {
            return;
        };
        let (own, inner) = match spec {
            Spec::Cake(cake) | Spec::CakeMq { cake, .. } => (cake.bandwidth, None),
            Spec::Htb { htb, inner } => (Some(htb.rate), Some(inner)),
            Spec::Tbf { tbf, inner } => (Some(tbf.rate), Some(inner)),
            Spec::Fifo(_)
            | Spec::Single { .. }
            | Spec::Flows { .. }
            | Spec::DualPi2(_)
            | Spec::Tree(_) => return,
        };
        if let Some(own) = own.filter(|own| *own > link && !link.is_zero()) {
            let message = format!(
                "the shaper of {} never shapes: the link sends at {}",
                show_rate(own),
                show_rate(link)
            );
            let help = "a shaper has a rate below its link's; without one the link itself holds \
                        packets back";
            self.warn(path, message, help.to_owned());
        }
        if let Some(inner) = inner {
            self.idle_shaper(path, inner, rate);
        }
    }

    /// A limit in bytes that no full packet fits in.
    fn closed_queue(&mut self, path: &str, spec: &Spec, frame: u64) {
        let (what, most, help) = match spec {
            Spec::Fifo(FifoParams::Bytes(limit)) => {
                let help = format!("for {limit} packets write `pfifo limit {limit}`");
                ("limit", *limit, help)
            }
            Spec::Single {
                limit: Limit::Bytes(limit),
                ..
            } => {
                let help = format!("for {limit} packets write `limit {limit}p`");
                ("limit", *limit, help)
            }
            Spec::Tbf { tbf, inner } => {
                self.closed_queue(path, inner, frame);
                let least = tbf.mtu.map_or(tbf.burst, |mtu| mtu.min(tbf.burst));
                ("bucket", least, format!("at least {frame} bytes"))
            }
            Spec::Htb { inner, .. } => return self.closed_queue(path, inner, frame),
            _ => return,
        };
        if most < frame {
            let message = format!(
                "a {what} of {} passes no full packet: each has {frame} bytes and is dropped",
                show_size(most)
            );
            self.warn(path, message, help);
        }
    }

    /// TCP flows that cannot fill their bottleneck whatever the queue does: what is in flight is
    /// bounded by the send buffer and by the receive window.
    fn held_flows(&mut self, network: &Network, flows: &[Flow]) {
        let mut held: Vec<Held> = flows
            .iter()
            .filter_map(|flow| Held::of(flow, network))
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
    fn of(flow: &Flow, network: &Network) -> Option<Self> {
        let Transport::Tcp(config) = flow.transport else {
            return None;
        };
        if !flow.app.kind().is_elastic || flow.base_rtt.is_zero() {
            return None;
        }
        let rate = |link: &usize| network.wire(*link)?.line.rate.fixed();
        let path = network.path(flow.from, flow.to)?;
        let rates = path.iter().map(|link| Some((rate(link)?, *link)));
        let rates: Option<Vec<_>> = rates.collect();
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
