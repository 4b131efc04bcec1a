//! What a frame gets by its ports: its delay, and the mark and class that the firewall of a gateway
//! would have given it.
//!
//! A lab's frames come over a cable, and neither `skb->mark` nor `skb->priority` crosses one: the
//! kernel clears both where a veth pair leads into another namespace.

use sojourn_qdisc::Label;
use sojourn_units::Span;
use sojourn_wire::{Parsed, protocol};

/// Values by TCP or UDP port.
///
/// A frame belongs to its destination port, else to its source port, else to the default. Frames
/// without ports (ARP, fragments, ICMP) take the default.
#[derive(Clone, Debug)]
pub struct ByPort<T> {
    /// Distinct values; class 0 is the default.
    classes: Vec<T>,
    /// Class of a port, TCP first, then UDP; empty when there is only the default.
    table: Vec<u16>,
}

/// Delay on top of the link's own.
pub type PathDelays = ByPort<Span>;

/// Mark and class, of frames that have one.
pub type Labels = ByPort<Option<Label>>;

impl<T: Default> Default for ByPort<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Ports of one protocol.
const PORTS: usize = 1 << 16;

impl<T> ByPort<T> {
    /// Every frame gets `default`.
    pub fn new(default: T) -> Self {
        Self {
            classes: vec![default],
            table: Vec::new(),
        }
    }

    /// The values of all classes, the default first.
    pub fn classes(&self) -> &[T] {
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

impl<T: Copy + PartialEq> ByPort<T> {
    /// Frames from or to this TCP port get `value`.
    #[must_use]
    pub fn tcp(self, port: u16, value: impl Into<T>) -> Self {
        self.with(usize::from(port), value.into())
    }

    /// Frames from or to this UDP port get `value`.
    #[must_use]
    pub fn udp(self, port: u16, value: impl Into<T>) -> Self {
        self.with(PORTS + usize::from(port), value.into())
    }

    fn with(mut self, slot: usize, value: T) -> Self {
        let known = self.classes.iter().position(|&other| other == value);
        let class = known.unwrap_or_else(|| {
            self.classes.push(value);
            self.classes.len() - 1
        });
        self.table.resize(2 * PORTS, 0);
        // There are no more classes than slots, and two protocols never need that many values.
        self.table[slot] = u16::try_from(class).expect("fewer than 65536 different values");
        self
    }

    /// What a frame gets.
    pub fn of(&self, parsed: &Parsed) -> T {
        self.classes[self.class_of(parsed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_finds_its_value_whichever_end_it_is() {
        let (five, ten) = (Span::from_millis(5), Span::from_millis(10));
        let label = Label { mark: 1, class: 0 };
        let labels = Labels::default().tcp(80, label);
        let paths = PathDelays::new(five)
            .tcp(80, ten)
            .udp(80, Span::ZERO)
            .tcp(81, ten);
        assert_eq!(paths.classes(), [five, ten, Span::ZERO]);
        let parsed = |protocol, src_port, dst_port| {
            let mut parsed = Parsed::default();
            parsed.flow.protocol = protocol;
            (parsed.flow.src_port, parsed.flow.dst_port) = (src_port, dst_port);
            parsed.transport_offset = 34;
            parsed
        };
        for (protocol, src_port, dst_port, delay, found) in [
            (protocol::TCP, 40_000, 80, ten, Some(label)),
            (protocol::TCP, 80, 40_000, ten, Some(label)),
            (protocol::TCP, 40_000, 81, ten, None),
            (protocol::UDP, 40_000, 80, Span::ZERO, None),
            (protocol::UDP, 40_000, 81, five, None),
            (protocol::ICMP, 80, 80, five, None),
        ] {
            let parsed = parsed(protocol, src_port, dst_port);
            assert_eq!((paths.of(&parsed), labels.of(&parsed)), (delay, found));
        }
        assert_eq!(paths.of(&Parsed::default()), five);
    }
}
