//! What the flows of a running pair do, for observers.
//!
//! The bridge counts flows only while somebody asks ([`Remote::flows`]): each question takes what
//! was counted since the last one and adds it to what is known of the flows here.

use sojourn_bridge::{Circuits, FlowCounts, FlowTable, Remote, RemoteError, Side};
use sojourn_units::words;
use sojourn_wire::{FlowKey, ether_type, protocol};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

/// As young as this, what is known is as good as new.
const YOUNG: Duration = Duration::from_millis(50);
/// After so long without a question, or without a packet of a flow, nothing is known any more.
const OLD: Duration = Duration::from_secs(10);
/// Most flows of a direction that are known.
const MOST: usize = 4096;
/// How fast rates follow: what lies so far back counts 1/e.
const MEMORY: Duration = Duration::from_secs(1);

words! {
    /// By what flows are ordered, the largest first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Order {
        /// Bits that leave the queue in a second.
        #[default]
        Rate = "rate",
        /// What packets wait.
        Delay = "delay",
        /// Packets dropped in a second.
        Drops = "drops",
        /// Packets marked in a second.
        Marks = "marks",
    }
}

impl Order {
    /// The one of this word.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.word() == word)
    }
}

/// What is known of the flows of a pair.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    asked: Option<Instant>,
    /// What the bridge gave back, to be emptied and handed over again.
    spare: Option<[FlowTable; 2]>,
    known: [BTreeMap<FlowKey, Flow>; 2],
}

/// What is known of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flow {
    /// Since it is known.
    pub(crate) counts: FlowCounts,
    /// Bytes, packets, drops and marks in a second, and seconds that its packets have waited
    /// together.
    pace: [f64; 5],
    /// Seconds: the longest that one has waited, which falls as the rates do.
    peak: f64,
    idle: Duration,
}

impl Flow {
    /// It has done this in the last `span`.
    fn follow(&mut self, counts: &FlowCounts, span: Duration) {
        self.counts.add(counts);
        let seconds = span.as_secs_f64();
        let kept = (-seconds / MEMORY.as_secs_f64()).exp();
        let new = [
            counts.sent.bytes as f64,
            counts.sent.packets as f64,
            counts.dropped.packets as f64,
            counts.marked.packets as f64,
            counts.sojourn.as_secs_f64(),
        ];
        for (pace, new) in self.pace.iter_mut().zip(new) {
            *pace = *pace * kept + new / seconds * (1.0 - kept);
        }
        self.peak = counts.longest.as_secs_f64().max(self.peak * kept);
        self.idle = if *counts == FlowCounts::default() {
            self.idle + span
        } else {
            Duration::ZERO
        };
    }

    /// In bit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.pace[0] * 8.0
    }

    /// Packets that leave, are dropped and are marked, in a second.
    pub(crate) fn packets(&self) -> [f64; 3] {
        [self.pace[1], self.pace[2], self.pace[3]]
    }

    /// What its packets wait, in seconds: on average, and at most.
    pub(crate) fn delays(&self) -> [f64; 2] {
        let mean = if self.pace[1] > 0.0 {
            self.pace[4] / self.pace[1]
        } else {
            0.0
        };
        [mean, self.peak]
    }

    fn measure(&self, order: Order) -> f64 {
        match order {
            Order::Rate => self.rate(),
            Order::Delay => self.delays()[0],
            Order::Drops => self.pace[2],
            Order::Marks => self.pace[3],
        }
    }
}

impl Flows {
    /// Asks the bridge what has happened since the last time.
    pub(crate) fn look(&mut self, remote: &Remote) -> Result<(), RemoteError> {
        let now = Instant::now();
        let span = self.asked.map(|asked| now.duration_since(asked));
        if span.is_some_and(|span| span < YOUNG) {
            return Ok(());
        }
        let seed = remote.config().seed;
        let empty = self
            .spare
            .take()
            .unwrap_or_else(|| [FlowTable::new(seed), FlowTable::new(seed)]);
        let counted = remote.flows(empty)?;
        self.asked = Some(now);
        match span {
            Some(span) if span < OLD => self.follow(counted.each_ref().map(Option::as_ref), span),
            _ => self.known = Default::default(),
        }
        if let [Some(up), Some(down)] = counted {
            self.spare = Some([up, down].map(|mut table| {
                table.clear();
                table
            }));
        }
        Ok(())
    }

    fn follow(&mut self, counted: [Option<&FlowTable>; 2], span: Duration) {
        for (known, table) in self.known.iter_mut().zip(counted) {
            let mut idle: BTreeMap<_, _> = std::mem::take(known);
            let counted = table.into_iter().flat_map(FlowTable::flows);
            for (key, counts) in counted {
                let mut flow = idle.remove(key).unwrap_or_default();
                flow.follow(counts, span);
                known.insert(*key, flow);
            }
            for (key, mut flow) in idle {
                flow.follow(&FlowCounts::default(), span);
                if flow.idle < OLD && known.len() < MOST {
                    known.insert(key, flow);
                }
            }
        }
    }

    /// The first `most` flows of a direction, and how many are known.
    pub(crate) fn first(
        &self,
        side: usize,
        order: Order,
        most: usize,
    ) -> (Vec<(&FlowKey, &Flow)>, usize) {
        let mut flows: Vec<_> = self.known[side].iter().collect();
        let larger = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        flows.sort_by(|(key, flow), (other_key, other)| {
            larger(flow.measure(order), other.measure(order))
                .then_with(|| larger(flow.rate(), other.rate()))
                .then_with(|| key.cmp(other_key))
        });
        flows.truncate(most);
        (flows, self.known[side].len())
    }

    /// The addresses on the left whose packets match no circuit, with what they send or receive in
    /// bit/s, the most first; what is no IP by its Ethernet type.
    pub(crate) fn unmatched(
        &self,
        side: Side,
        circuits: &Circuits,
        most: usize,
    ) -> Vec<(String, f64)> {
        let mut rates = BTreeMap::new();
        let known = self.known[side as usize].iter();
        for (key, flow) in known.filter(|(key, _)| circuits.of(key, side) == 0) {
            let (protocol, [(source, _), (destination, _)]) = name(key);
            let who = match (key.ether_type, side) {
                (ether_type::IPV4 | ether_type::IPV6, Side::Up) => source,
                (ether_type::IPV4 | ether_type::IPV6, Side::Down) => destination,
                _ => protocol,
            };
            *rates.entry(who).or_insert(0.0) += flow.rate();
        }
        let mut rates: Vec<_> = rates.into_iter().collect();
        rates.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        rates.truncate(most);
        rates
    }
}

/// A flow's protocol and its ends, each an address and a port, in words.
pub(crate) fn name(key: &FlowKey) -> (String, [(String, u16); 2]) {
    let address = |bytes: [u8; 16]| match key.ether_type {
        ether_type::IPV4 => {
            let [.., a, b, c, d] = bytes;
            Ipv4Addr::from([a, b, c, d]).to_string()
        }
        ether_type::IPV6 => Ipv6Addr::from(bytes).to_string(),
        _ => {
            let mac = bytes[10..].iter().map(|byte| format!("{byte:02x}"));
            mac.collect::<Vec<_>>().join(":")
        }
    };
    let protocol = match (key.ether_type, key.protocol) {
        (ether_type::ARP, _) => "arp".to_owned(),
        (ether_type::IPV4 | ether_type::IPV6, number) => match number {
            protocol::ICMP => "icmp".to_owned(),
            protocol::TCP => "tcp".to_owned(),
            protocol::UDP => "udp".to_owned(),
            protocol::DCCP => "dccp".to_owned(),
            protocol::ICMPV6 => "icmpv6".to_owned(),
            protocol::SCTP => "sctp".to_owned(),
            protocol::UDP_LITE => "udplite".to_owned(),
            other => format!("ip {other}"),
        },
        (other, _) => format!("0x{other:04x}"),
    };
    let ends = [(key.src, key.src_port), (key.dst, key.dst_port)];
    (protocol, ends.map(|(bytes, port)| (address(bytes), port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_qdisc::Tally;
    use sojourn_units::Span;

    fn key(port: u16) -> FlowKey {
        let mut key = FlowKey {
            ether_type: ether_type::IPV4,
            protocol: protocol::TCP,
            src_port: port,
            dst_port: 443,
            ..FlowKey::default()
        };
        key.src[12..].copy_from_slice(&[10, 0, 0, 1]);
        key.dst[12..].copy_from_slice(&[192, 0, 2, 7]);
        key
    }

    fn counts(packets: u64, drops: u64, wait: Span) -> FlowCounts {
        FlowCounts {
            sent: Tally {
                packets,
                bytes: packets * 1000,
            },
            dropped: Tally {
                packets: drops,
                bytes: drops * 1000,
            },
            sojourn: Span::from_nanos(wait.as_nanos() * packets),
            longest: wait,
            ..FlowCounts::default()
        }
    }

    #[test]
    fn addresses_of_no_circuit_are_added_up() {
        let mut other = key(7);
        other.src[15] = 9;
        let table = |flows: [(FlowKey, u64); 3]| {
            let flow = |packets| {
                let mut flow = Flow::default();
                flow.follow(&counts(packets, 0, Span::ZERO), Duration::from_secs(60));
                flow
            };
            flows.map(|(key, packets)| (key, flow(packets))).into()
        };
        let mut flows = Flows::default();
        flows.known[0] = table([(key(1), 60), (key(2), 60), (other, 600)]);
        let whose = |text: &str| Circuits::new([(text.parse().expect("an address"), 32, 1)]);
        let found = |circuits: &Circuits| {
            let all = flows.unmatched(Side::Up, circuits, 5).into_iter();
            all.map(|(who, rate)| (who, rate.round()))
                .collect::<Vec<_>>()
        };
        let both = [
            ("10.0.0.9".to_owned(), 80_000.0),
            ("10.0.0.1".to_owned(), 16_000.0),
        ];
        assert_eq!(found(&whose("192.0.2.1")), both);
        assert_eq!(found(&whose("10.0.0.9")), both[1..]);
    }

    #[test]
    fn rates_settle_within_seconds_and_fade() {
        let mut flow = Flow::default();
        let tick = Duration::from_millis(100);
        for _ in 0..50 {
            flow.follow(&counts(10, 1, Span::from_millis(4)), tick);
        }
        // 1 - e^-5 of 800 kbit/s.
        assert!(
            (flow.rate() / 800_000.0 - 0.99326).abs() < 1e-4,
            "{}",
            flow.rate()
        );
        assert!((flow.delays()[0] - 0.004).abs() < 1e-9);
        assert_eq!(
            (flow.counts.sent.packets, flow.counts.dropped.packets),
            (500, 50)
        );
        let full = flow.rate();
        for _ in 0..10 {
            flow.follow(&FlowCounts::default(), tick);
        }
        assert!((flow.rate() / full - (-1.0_f64).exp()).abs() < 1e-9);
        assert!(
            (flow.delays()[0] - 0.004).abs() < 1e-9,
            "the mean of what left"
        );
        assert!((flow.delays()[1] / 0.004 - (-1.0_f64).exp()).abs() < 1e-9);
        assert_eq!(flow.idle, Duration::from_secs(1));
    }

    #[test]
    fn flows_are_ordered_as_asked() {
        let mut flows = Flows::default();
        let known = [
            (1, counts(100, 0, Span::from_millis(1))),
            (2, counts(50, 9, Span::from_millis(2))),
            (3, counts(10, 0, Span::from_millis(30))),
        ];
        for (port, counts) in known {
            let mut flow = Flow::default();
            flow.follow(&counts, Duration::from_millis(100));
            flows.known[0].insert(key(port), flow);
        }
        let ports = |order| {
            let (first, all) = flows.first(0, order, 2);
            assert_eq!(all, 3);
            let ports = first.iter().map(|(key, _)| key.src_port);
            ports.collect::<Vec<_>>()
        };
        assert_eq!(ports(Order::Rate), [1, 2]);
        assert_eq!(ports(Order::Delay), [3, 2]);
        assert_eq!(ports(Order::Drops), [2, 1]);
        assert_eq!(ports(Order::Marks), [1, 2], "none has any: by rate");
    }

    #[test]
    fn flows_have_names() {
        let (protocol, ends) = name(&key(5));
        assert_eq!(protocol, "tcp");
        assert_eq!(ends, [("10.0.0.1".into(), 5), ("192.0.2.7".into(), 443)]);
        let mut arp = FlowKey {
            ether_type: ether_type::ARP,
            ..FlowKey::default()
        };
        arp.src[10..].copy_from_slice(&[2, 0, 0, 0, 0, 0xab]);
        let (protocol, [(mac, _), _]) = name(&arp);
        assert_eq!((&*protocol, &*mac), ("arp", "02:00:00:00:00:ab"));
    }

    #[test]
    fn what_is_silent_is_forgotten() {
        let mut flows = Flows::default();
        flows.known[0].insert(key(1), Flow::default());
        for _ in 0..9 {
            flows.follow([None, None], Duration::from_secs(1));
        }
        assert_eq!(flows.first(0, Order::Rate, 9).1, 1);
        flows.follow([None, None], Duration::from_secs(1));
        assert_eq!(flows.first(0, Order::Rate, 9).1, 0);
    }
}
