//! Which delay a flow gets: a map from ports to spans.

use sojourn_units::Span;
use sojourn_wire::{Parsed, protocol};

/// Delay by TCP or UDP port, on top of the link's own.
///
/// A frame belongs to the path of its destination port, else to that of its source port, else
/// to the default. Frames without ports (ARP, fragments, ICMP) take the default.
#[derive(Clone, Debug)]
pub struct PathDelays {
    /// Distinct delays; class 0 is the default.
    classes: Vec<Span>,
    /// Class of a port, TCP first, then UDP; empty when there is only the default.
    table: Vec<u16>,
}

impl Default for PathDelays {
    fn default() -> Self {
        Self::new(Span::ZERO)
    }
}

/// Ports of one protocol.
const PORTS: usize = 1 << 16;

impl PathDelays {
    /// Every frame is delayed by `default`.
    pub fn new(default: Span) -> Self {
        Self {
            classes: vec![default],
            table: Vec::new(),
        }
    }

    /// Frames from or to this TCP port are delayed by `delay`.
    #[must_use]
    pub fn tcp(self, port: u16, delay: Span) -> Self {
        self.with(usize::from(port), delay)
    }

    /// Frames from or to this UDP port are delayed by `delay`.
    #[must_use]
    pub fn udp(self, port: u16, delay: Span) -> Self {
        self.with(PORTS + usize::from(port), delay)
    }

    fn with(mut self, slot: usize, delay: Span) -> Self {
        let class = if let Some(known) = self.classes.iter().position(|&span| span == delay) {
            known
        } else {
            self.classes.push(delay);
            self.classes.len() - 1
        };
        self.table.resize(2 * PORTS, 0);
        // There are no more classes than slots, and two protocols never need that many delays.
        self.table[slot] = u16::try_from(class).expect("fewer than 65536 different delays");
        self
    }

    /// The delays of all classes, the default first.
    pub fn classes(&self) -> &[Span] {
        &self.classes
    }

    /// The class of a frame.
    pub fn class_of(&self, parsed: &Parsed) -> usize {
        let base = match parsed.flow.protocol {
            protocol::TCP => 0,
            protocol::UDP => PORTS,
            _ => return 0,
        };
        if self.table.is_empty() || !parsed.has_ports() {
            return 0;
        }
        let class = |port: u16| usize::from(self.table[base + usize::from(port)]);
        match class(parsed.flow.dst_port) {
            0 => class(parsed.flow.src_port),
            class => class,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_finds_its_delay_whichever_end_it_is() {
        let (five, ten) = (Span::from_millis(5), Span::from_millis(10));
        let paths = PathDelays::new(five)
            .tcp(80, ten)
            .udp(80, Span::ZERO)
            .tcp(81, ten);
        assert_eq!(paths.classes(), [five, ten, Span::ZERO]);
        let class = |protocol, src_port, dst_port| {
            let mut parsed = Parsed::default();
            parsed.flow.protocol = protocol;
            parsed.flow.src_port = src_port;
            parsed.flow.dst_port = dst_port;
            parsed.transport_offset = 34;
            paths.class_of(&parsed)
        };
        assert_eq!(class(protocol::TCP, 40_000, 80), 1);
        assert_eq!(class(protocol::TCP, 80, 40_000), 1);
        assert_eq!(class(protocol::TCP, 40_000, 81), 1);
        assert_eq!(class(protocol::UDP, 40_000, 80), 2);
        assert_eq!(class(protocol::UDP, 40_000, 81), 0);
        assert_eq!(class(protocol::ICMP, 80, 80), 0);
        assert_eq!(paths.class_of(&Parsed::default()), 0);
    }
}
