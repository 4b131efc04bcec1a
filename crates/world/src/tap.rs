//! Where a world shows the packets of a run to somebody who keeps them.

use crate::Cell;
use sojourn_units::Time;

/// A place where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPoint {
    /// All packets that leave or reach the hosts at a node, by its index.
    Node(usize),
    /// Packets offered to a link's queue, by the link's index: also those that it drops.
    Offered(usize),
    /// Packets as they leave a link's queue, when the transmitter takes them.
    Dequeued(usize),
    /// Frames that a node's radio sends, and those that it can receive, to whomever they are; with
    /// a radiotap header.
    Air(usize),
}

impl TapPoint {
    /// The place of this name: a node, a link (behind its queue), `LINK:in` (before it), or
    /// `NODE:air` (its radio). Where a link and a node have the same name, the link is meant.
    ///
    /// # Errors
    /// What names there are.
    pub fn find(name: &str, cell: &Cell) -> Result<Self, NoSuchPoint> {
        let (links, nodes) = (cell.network.link_names(), cell.network.node_names());
        if let Some(node) = name.strip_suffix(":air")
            && cell.network.radio().is_some()
            && let Some(node) = nodes.iter().position(|other| *other == node)
        {
            return Ok(Self::Air(node));
        }
        let (base, before) = match name.strip_suffix(":in") {
            Some(base) => (base, true),
            None => (name, false),
        };
        if let Some(link) = links.iter().position(|link| *link == base) {
            return Ok(if before {
                Self::Offered(link)
            } else {
                Self::Dequeued(link)
            });
        }
        if let Some(node) = nodes.iter().position(|node| *node == name) {
            return Ok(Self::Node(node));
        }
        Err(NoSuchPoint {
            name: name.into(),
            links: links.join(", "),
            nodes: nodes.join(", "),
        })
    }
}

/// Nothing in a cell has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is neither a link ({links}) nor a node ({nodes}); `LINK:in` is before the queue, \
     `NODE:air` what a radio sends and receives"
)]
pub struct NoSuchPoint {
    /// The name.
    pub name: String,
    /// The links' names, for people.
    pub links: String,
    /// The nodes' names, for people.
    pub nodes: String,
}

/// Takes the packets that pass one point.
pub trait Tap: Send {
    /// A packet of `len` bytes passes, `outgoing` from the node, or out of the link's queue. Its
    /// first bytes are at hand: an Ethernet frame, or an IP packet where the cell's links have no
    /// header ([`Cell::link_header`]), or a radiotap header and a frame of IEEE 802.11. Times
    /// do not decrease by more than the world's clock does.
    fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], len: u32);

    /// So many packets could not be shown; told once, at the end.
    fn lost(&mut self, _packets: u64) {}
}

/// All taps of a run.
#[derive(Default)]
pub struct Taps {
    /// Each with its place.
    pub points: Vec<(TapPoint, Box<dyn Tap>)>,
    /// Bytes of each packet that are wanted; a world may show fewer.
    pub snap_len: usize,
}

impl Taps {
    /// Whether there are no taps.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Line, LineRate, Network};
    use sojourn_qdisc::Spec;
    use sojourn_units::Span;

    #[test]
    fn places_have_names() {
        let mut network = Network::new(["a", "b", "c"]);
        let line = Line::new(LineRate::Infinite);
        network.join([0, 1], "b", Spec::pfifo(1), line);
        let cell = Cell::new("test", network, Vec::new(), Span::from_secs(1));
        let find = |name| TapPoint::find(name, &cell);
        assert_eq!(find("a"), Ok(TapPoint::Node(0)));
        assert_eq!(find("b"), Ok(TapPoint::Dequeued(0)));
        assert_eq!(find("b:in"), Ok(TapPoint::Offered(0)));
        let error = find("d").unwrap_err().to_string();
        assert!(
            error.contains("neither a link (b) nor a node (a, b, c)"),
            "{error}"
        );
        assert!(find("a:in").is_err());
    }
}
