//! Whose packets are whose: from a subscriber's address to the number of his circuit.

use super::round_trips::Means;
use super::side::Side;
use sojourn_units::Span;
use sojourn_wire::{FlowKey, ether_type};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses and prefixes with the circuit of each, which [`Packet::circuit`] tells a queue.
///
/// The longest prefix that has the address counts. A look costs a search for each length that there
/// is, and no memory.
///
/// [`Packet::circuit`]: sojourn_qdisc::Packet::circuit
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuits {
    v4: Prefixes,
    v6: Prefixes,
    /// What round trips of each were.
    pub(super) means: Means,
}

/// By their lengths, the longest first; addresses begin at the first bit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Prefixes(Vec<Length>);

/// Prefixes of one length, in order, and the circuit of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Length {
    len: u8,
    addresses: Box<[u128]>,
    circuits: Box<[u32]>,
}

/// The first `len` bits.
fn first_bits(address: u128, len: u8) -> u128 {
    match len {
        0 => 0,
        len => address & (u128::MAX << (128 - u32::from(len))),
    }
}

impl Prefixes {
    fn new(prefixes: BTreeMap<(Reverse<u8>, u128), u32>) -> Self {
        let all: Vec<_> = prefixes.into_iter().collect();
        let lengths = all
            .chunk_by(|((one, _), _), ((other, _), _)| one == other)
            .map(|alike| Length {
                len: alike[0].0.0.0,
                addresses: alike.iter().map(|((_, address), _)| *address).collect(),
                circuits: alike.iter().map(|(_, circuit)| *circuit).collect(),
            });
        Self(lengths.collect())
    }

    fn find(&self, address: u128) -> Option<u32> {
        let mut lengths = self.0.iter();
        lengths.find_map(|of| {
            let first = first_bits(address, of.len);
            let place = of.addresses.binary_search(&first).ok()?;
            Some(of.circuits[place])
        })
    }
}

/// An IPv4 address with its first bit first.
fn v4(octets: [u8; 4]) -> u128 {
    u128::from(u32::from_be_bytes(octets)) << 96
}

impl Circuits {
    /// Addresses, how many of their bits count, and the number of the circuit: one more than that
    /// of its class in the tree. Of two equal ones the later counts.
    pub fn new(prefixes: impl IntoIterator<Item = (IpAddr, u8, u32)>) -> Self {
        let mut families = [const { BTreeMap::new() }; 2];
        for (address, len, circuit) in prefixes {
            let (family, address) = match address {
                IpAddr::V4(address) => (0, v4(address.octets())),
                IpAddr::V6(address) => (1, address.to_bits()),
            };
            families[family].insert((Reverse(len), first_bits(address, len)), circuit);
        }
        let numbers = families.iter().flat_map(BTreeMap::values);
        let means = Means::up_to(numbers.copied().max().unwrap_or(0));
        let [v4, v6] = families.map(Prefixes::new);
        Self { v4, v6, means }
    }

    /// Prefixes, of both families.
    pub fn len(&self) -> usize {
        let lengths = self.v4.0.iter().chain(&self.v6.0);
        lengths.map(|of| of.circuits.len()).sum()
    }

    /// How many prefixes each circuit has that has some, by its number.
    pub fn prefixes_of_each(&self) -> BTreeMap<u32, usize> {
        let lengths = self.v4.0.iter().chain(&self.v6.0);
        let mut counts = BTreeMap::new();
        for circuit in lengths.flat_map(|of| &of.circuits) {
            *counts.entry(*circuit).or_insert(0) += 1;
        }
        counts
    }

    /// A moving mean of the round trips of a circuit's TCP connections beyond the port where this
    /// side goes out: up to the hosts on the right, down to the subscriber. None: none is known.
    pub fn round_trip(&self, circuit: u32, side: Side) -> Option<Span> {
        self.means.of(circuit, side)
    }

    /// Whether nobody has an address.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The circuit of a frame: by its source on the way up, by its destination on the way down. 0:
    /// none, or it has no address.
    pub fn of(&self, flow: &FlowKey, side: Side) -> u32 {
        let address = match side {
            Side::Up => flow.src,
            Side::Down => flow.dst,
        };
        let found = match flow.ether_type {
            ether_type::IPV4 => {
                let [.., a, b, c, d] = address;
                self.v4.find(v4([a, b, c, d]))
            }
            ether_type::IPV6 => self.v6.find(u128::from_be_bytes(address)),
            _ => None,
        };
        found.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(src: &str, dst: &str) -> FlowKey {
        let mut flow = FlowKey::default();
        for (text, bytes) in [(src, &mut flow.src), (dst, &mut flow.dst)] {
            match text.parse::<IpAddr>().unwrap() {
                IpAddr::V4(address) => {
                    flow.ether_type = ether_type::IPV4;
                    bytes[12..].copy_from_slice(&address.octets());
                }
                IpAddr::V6(address) => {
                    flow.ether_type = ether_type::IPV6;
                    *bytes = address.octets();
                }
            }
        }
        flow
    }

    fn circuits() -> Circuits {
        let prefixes = [
            ("100.64.0.0", 16, 1),
            ("100.64.7.0", 24, 2),
            ("100.64.7.9", 32, 3),
            ("2001:db8:1::", 48, 4),
            ("2001:db8:1:2::", 64, 5),
        ];
        Circuits::new(prefixes.map(|(text, len, circuit)| (text.parse().unwrap(), len, circuit)))
    }

    #[test]
    fn the_longest_prefix_counts() {
        for (address, circuit) in [
            ("100.64.1.1", 1),
            ("100.64.7.1", 2),
            ("100.64.7.9", 3),
            ("100.65.0.0", 0),
        ] {
            assert_eq!(
                circuits().of(&flow(address, "192.0.2.1"), Side::Up),
                circuit
            );
        }
        for (address, circuit) in [
            ("2001:db8:1:1::1", 4),
            ("2001:db8:1:2::1", 5),
            ("2001:db8:2::", 0),
        ] {
            assert_eq!(circuits().of(&flow(address, "::1"), Side::Up), circuit);
        }
    }

    /// Else a subscriber's traffic with another one would count once for the wrong one.
    #[test]
    fn the_subscriber_sends_up_and_receives_down() {
        let flow = flow("100.64.7.9", "100.64.1.1");
        assert_eq!(circuits().of(&flow, Side::Up), 3);
        assert_eq!(circuits().of(&flow, Side::Down), 1);
    }

    #[test]
    fn all_addresses_are_a_prefix_too() {
        let all = Circuits::new([("0.0.0.0".parse().unwrap(), 0, 7)]);
        assert_eq!(all.of(&flow("192.0.2.1", "192.0.2.2"), Side::Up), 7);
        assert_eq!(all.of(&flow("2001:db8::1", "2001:db8::2"), Side::Up), 0);
        assert_eq!(all.of(&FlowKey::default(), Side::Up), 0);
    }

    #[test]
    fn prefixes_are_counted_by_circuit() {
        let two = ["192.0.2.0", "2001:db8::"].map(|text| (text.parse().unwrap(), 24, 2));
        let one = ("192.0.3.0".parse().unwrap(), 24, 5);
        let counts = Circuits::new(two.into_iter().chain([one])).prefixes_of_each();
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(2, 2), (5, 1)]);
    }
}
