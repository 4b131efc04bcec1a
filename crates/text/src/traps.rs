//! Queues that are right and not meant: a shaper that never shapes, a limit that passes nothing.

use crate::problem::Problem;
use crate::resolver::Resolver;
use sojourn_qdisc::{FifoParams, Limit, Spec};
use sojourn_units::{Rate, show_rate, show_size};

impl Resolver<'_> {
    /// Warns of the field at `path`.
    pub fn warn(&mut self, path: &str, message: String, help: String) {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.warn(problem.help(help));
    }

    /// Warns of a queue before a link of this rate, if it has one, that does not what it should;
    /// `frame` is the length of a full packet there.
    pub fn queue_traps(&mut self, path: &str, spec: &Spec, rate: Option<Rate>, frame: u32) {
        self.idle_shaper(path, spec, rate);
        self.closed_queue(path, spec, frame.into());
    }

    /// A shaper above the rate of its link.
    fn idle_shaper(&mut self, path: &str, spec: &Spec, rate: Option<Rate>) {
        let Some(link) = rate else {
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
}
