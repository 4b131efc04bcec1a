//! What a packet of the kernel's says to a discipline that takes more than its own headers: the
//! addresses inside a translation, and where the network header begins.

use sojourn_module::{FRONT, Handle, Kernel, Offer, Skb};
use sojourn_qdisc::{InsideHashes, Packet};
use sojourn_wire::{FlowKey, protocol};

const SERVER: u32 = 0x0a00_0001;
const GATEWAY: u32 = 0x0a00_0002;
const HOST: u32 = 0xc0a8_0107;
/// Ports 40000 and 443 outside, 50000 and 443 inside.
const OUTSIDE_PORTS: u32 = ports(40_000, 443);
const INSIDE_PORTS: u32 = ports(50_000, 443);
/// Key of the hash.
const KEY: u64 = 99;

/// What the handle of a packet says about it.
const TRANSLATED: usize = 1;
const UNKNOWN: usize = 2;
const AS_IT_IS: usize = 3;
const ECHO: usize = 4;

/// Ethernet and the start of an IPv4 packet of a gateway's.
fn bytes(packet: usize) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 0x2e << 2]);
    bytes[16..18].copy_from_slice(&46_u16.to_be_bytes());
    bytes[26..30].copy_from_slice(&GATEWAY.to_be_bytes());
    bytes[30..34].copy_from_slice(&SERVER.to_be_bytes());
    if packet == ECHO {
        bytes[23] = protocol::ICMP;
        bytes[34] = 8;
        bytes[38..40].copy_from_slice(&77_u16.to_be_bytes());
    } else {
        bytes[23] = protocol::UDP;
        bytes[34..38].copy_from_slice(&OUTSIDE_PORTS.to_be_bytes());
    }
    bytes
}

const fn ports(src: u16, dst: u16) -> u32 {
    (src as u32) << 16 | dst as u32
}

struct Gateway;

impl Kernel for Gateway {
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize {
        let bytes = bytes(packet.number());
        room[..bytes.len()].copy_from_slice(&bytes);
        bytes.len()
    }

    fn set_ce(_: Handle) -> bool {
        true
    }

    fn clear_dscp(_: Handle) {}

    fn inside(packet: Handle) -> Option<[u32; 3]> {
        match packet.number() {
            UNKNOWN => None,
            AS_IT_IS => Some([GATEWAY, SERVER, OUTSIDE_PORTS]),
            _ => Some([HOST, SERVER, INSIDE_PORTS]),
        }
    }

    fn free(_: Handle) {}
}

fn skb(packet: usize, front: &[u8]) -> Skb<Gateway> {
    Skb::read(&Offer {
        handle: Handle::new(packet).unwrap(),
        len: 60,
        memory: 768,
        hash: 0,
        front,
    })
}

fn hashes(key: &FlowKey) -> InsideHashes {
    InsideHashes {
        flow: key.hash(KEY),
        hosts: (key.src_hash(KEY), key.dst_hash(KEY)),
    }
}

#[test]
fn a_translated_packet_is_of_the_host_and_the_flow_inside() {
    let inside = FlowKey::of_v4(HOST, SERVER, INSIDE_PORTS, protocol::UDP);
    let packet = skb(TRANSLATED, &bytes(TRANSLATED));
    assert_eq!(packet.inside_hashes(KEY), Some(hashes(&inside)));
    let outside = FlowKey::of_v4(GATEWAY, SERVER, OUTSIDE_PORTS, protocol::UDP);
    let hosts = (outside.src_hash(KEY), outside.dst_hash(KEY));
    assert_eq!(packet.host_hashes(KEY), hosts);
    assert_eq!(packet.flow_hash(KEY), outside.hash(KEY));
}

/// An echo has an identifier in place of ports, which stays that of the packet.
#[test]
fn a_translation_gives_no_ports_to_a_packet_without() {
    let inside = FlowKey {
        src_port: 77,
        ..FlowKey::of_v4(HOST, SERVER, 0, protocol::ICMP)
    };
    let packet = skb(ECHO, &bytes(ECHO));
    assert_eq!(packet.inside_hashes(KEY), Some(hashes(&inside)));
}

/// Then the hash that the packet carries may be used.
#[test]
fn nothing_is_inside_where_nothing_is_known_or_translated() {
    for packet in [UNKNOWN, AS_IT_IS] {
        assert_eq!(skb(packet, &bytes(packet)).inside_hashes(KEY), None);
    }
}

/// The kernel makes up the header of a device without Ethernet: only the link's length counts.
#[test]
fn the_network_header_begins_where_the_link_says_unless_there_are_tags() {
    let plain = bytes(TRANSLATED);
    let packet = skb(TRANSLATED, &plain);
    assert_eq!((packet.network_offset(), packet.dscp()), (None, 0x2e));
    let [dst_src, rest] = [&plain[..12], &plain[12..]];
    // IEEE 802.1Q, VLAN 7.
    let tagged = [dst_src, &[0x81, 0, 0, 7], rest].concat();
    let packet = skb(TRANSLATED, &tagged);
    assert_eq!((packet.network_offset(), packet.dscp()), (Some(18), 0x2e));
}
