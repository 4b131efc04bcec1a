//! Which mark and class a frame gets: what the firewall of a gateway would have said of it.
//!
//! A lab's frames come over a cable, and neither `skb->mark` nor `skb->priority` crosses one: the
//! kernel clears both where a veth pair leads into another namespace.

use sojourn_wire::{Parsed, protocol};
use sojourn_world::Label;
use std::collections::HashMap;

/// Labels by TCP or UDP port, the destination's before the source's.
#[derive(Clone, Debug, Default)]
pub struct Labels(HashMap<(u8, u16), Label>);

impl Labels {
    /// Frames from or to this TCP port get `label`.
    #[must_use]
    pub fn tcp(self, port: u16, label: Label) -> Self {
        self.with(protocol::TCP, port, label)
    }

    /// Frames from or to this UDP port get `label`.
    #[must_use]
    pub fn udp(self, port: u16, label: Label) -> Self {
        self.with(protocol::UDP, port, label)
    }

    fn with(mut self, protocol: u8, port: u16, label: Label) -> Self {
        self.0.insert((protocol, port), label);
        self
    }

    /// What is to be said of a frame, if anything.
    pub fn of(&self, parsed: &Parsed) -> Option<Label> {
        if self.0.is_empty() || !parsed.has_ports() {
            return None;
        }
        let of = |port| self.0.get(&(parsed.flow.protocol, port)).copied();
        of(parsed.flow.dst_port).or_else(|| of(parsed.flow.src_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_finds_its_label_whichever_end_it_is() {
        let label = |mark| Label { mark, class: 0 };
        let labels = Labels::default().tcp(80, label(1)).udp(80, label(2));
        let of = |protocol, src_port, dst_port| {
            let mut parsed = Parsed::default();
            parsed.flow.protocol = protocol;
            (parsed.flow.src_port, parsed.flow.dst_port) = (src_port, dst_port);
            parsed.transport_offset = 34;
            labels.of(&parsed).map(|label| label.mark)
        };
        assert_eq!(of(protocol::TCP, 40_000, 80), Some(1));
        assert_eq!(of(protocol::TCP, 80, 40_000), Some(1));
        assert_eq!(of(protocol::UDP, 40_000, 80), Some(2));
        assert_eq!(of(protocol::UDP, 40_000, 81), None);
        assert_eq!(of(protocol::ICMP, 80, 80), None);
        assert_eq!(labels.of(&Parsed::default()), None);
    }
}
