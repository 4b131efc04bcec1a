//! How the queues of a direction are built, by whoever has the time: not by the forwarding thread.

use super::config::{BridgeConfig, Direction};
use super::frame::Frame;
use crate::namespace::Namespace;
use crate::nat::Conntrack;
use sojourn_qdisc::{Qdisc, Setting, SharedRate, Spec};
use std::fmt;
use std::sync::Arc;

/// Bytes before the IP header that Linux counts.
pub(super) const LINK_HEADER: u16 = 14;

/// What a lane's queues are built from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What a queue is built with, but for the name.
    setting: Setting<'static>,
    name: String,
    /// Whose connection tracking knows translations.
    gateway: Option<Namespace>,
    /// With several workers: what they share of this direction, and which one this is.
    worker: Option<(Arc<SharedRate>, u32)>,
}

/// A queue that a lane can take at once, and what it asks; or those that it has given up.
pub(crate) struct Built {
    pub(super) qdisc: Box<dyn Qdisc<Frame>>,
    /// The kernel's translations, when the spec asks for them.
    pub(super) nat: Option<Conntrack>,
}

impl Plan {
    /// For a direction at an interface of `mtu` bytes of IP packet; of several workers, which one
    /// it is and what they share.
    pub(super) fn new(
        config: &BridgeConfig,
        direction: &Direction,
        mtu: u32,
        worker: Option<(Arc<SharedRate>, u32)>,
    ) -> Self {
        Self {
            setting: Setting {
                seed: config.seed,
                name: "",
                mtu: mtu + u32::from(LINK_HEADER),
                link_header: u32::from(LINK_HEADER),
            },
            name: format!("link.{}", direction.name),
            gateway: config.gateway.clone(),
            worker,
        }
    }

    /// It takes time: memory for all flows, a thread, the kernel's list. `before` is what there is.
    pub(crate) fn build(&self, spec: &Spec, before: Option<&Spec>) -> Built {
        Built {
            qdisc: self.queue(spec, before),
            nat: spec
                .asks_nat()
                .then(|| Conntrack::follow(self.gateway.clone())),
        }
    }

    pub(super) fn queue(&self, spec: &Spec, before: Option<&Spec>) -> Box<dyn Qdisc<Frame>> {
        let shared = self.worker.as_ref().and_then(|(shared, number)| {
            // None only for what workers cannot share, which is refused before.
            spec.build_worker(self.setting(), shared, *number)
        });
        shared.unwrap_or_else(|| match before {
            Some(before) => spec.build_after(before, self.setting()),
            None => spec.build(self.setting()),
        })
    }

    /// What names the dice of the line.
    pub(super) fn impairment(&self) -> String {
        match &self.worker {
            Some((_, number)) if *number > 0 => format!("{}.worker{number}.impairment", self.name),
            _ => format!("{}.impairment", self.name),
        }
    }

    fn setting(&self) -> Setting<'_> {
        self.setting.named(&self.name)
    }
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").finish_non_exhaustive()
    }
}
