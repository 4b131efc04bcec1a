//! Parsing against `etherparse` as an oracle, and against bytes that are no packets at all.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use sojourn_qdisc::Ecn;
use sojourn_wire::{Network, Plain, ack_facts, clear_dscp, identity, parse, plain_tos, set_ce};

/// Sum of an IPv4 header in one's complement (RFC 791): all ones when the checksum is right.
fn checksum_is_right(header: &[u8]) -> bool {
    let mut sum: u32 = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

/// What the oracle says must be what we say.
fn agrees(frame: &[u8]) {
    let oracle = SlicedPacket::from_ethernet(frame).expect("built by the oracle");
    let parsed = parse(frame);
    match oracle.net.expect("it has a network header") {
        NetSlice::Ipv4(ip) => {
            assert_eq!(parsed.network, Network::Ipv4);
            assert_eq!(parsed.flow.src[12..], ip.header().source());
            assert_eq!(parsed.flow.dst[12..], ip.header().destination());
            assert_eq!(parsed.dscp(), ip.header().dcp().value());
            assert_eq!(parsed.ecn() as u8, ip.header().ecn().value());
        }
        NetSlice::Ipv6(ip) => {
            assert_eq!(parsed.network, Network::Ipv6);
            assert_eq!(parsed.flow.src, ip.header().source());
            assert_eq!(parsed.flow.dst, ip.header().destination());
            assert_eq!(parsed.tos, ip.header().traffic_class());
        }
        other @ NetSlice::Arp(_) => panic!("{other:?}"),
    }
    let (src, dst, payload) = match oracle.transport.expect("it has a transport header") {
        TransportSlice::Tcp(tcp) => (tcp.source_port(), tcp.destination_port(), tcp.payload()),
        TransportSlice::Udp(udp) => (udp.source_port(), udp.destination_port(), udp.payload()),
        other => panic!("{other:?}"),
    };
    assert_eq!((parsed.flow.src_port, parsed.flow.dst_port), (src, dst));
    assert_eq!(usize::from(parsed.header_len), frame.len() - payload.len());
}

/// What is read on the short way is what `parse` finds.
fn short_ways_agree(frame: &[u8]) {
    let parsed = parse(frame);
    if let Some(plain) = Plain::read(frame) {
        assert_eq!(plain.flow(), parsed.flow);
        assert_eq!(
            (plain.tos, plain.protocol),
            (parsed.tos, parsed.flow.protocol)
        );
        assert_eq!(plain.header_len, parsed.header_len);
        assert_eq!(Plain::NETWORK_OFFSET, parsed.network_offset);
    }
    if let Some(tos) = plain_tos(frame) {
        assert_eq!(
            (tos, Plain::NETWORK_OFFSET),
            (parsed.tos, parsed.network_offset)
        );
    }
}

proptest! {
    /// Headers that are right but for a few bytes, and cut anywhere.
    #[test]
    fn the_short_ways_find_what_parsing_finds(
        tcp: bool, v6: bool, payload in prop::collection::vec(any::<u8>(), 0..40),
        wrong in prop::collection::vec((12..54_usize, any::<u8>()), 0..3), len in 0..120_usize,
    ) {
        let mut frame = Vec::new();
        let ethernet = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let ip = if v6 {
            ethernet.ipv6([3; 16], [4; 16], 64)
        } else {
            ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        if tcp {
            ip.tcp(7, 8, 1, 1000).write(&mut frame, &payload).expect("it fits");
        } else {
            ip.udp(7, 8).write(&mut frame, &payload).expect("it fits");
        }
        short_ways_agree(&frame);
        prop_assert!(plain_tos(&frame).is_some());
        prop_assert_eq!(Plain::read(&frame).is_some(), !v6 && frame.len() >= 48);
        for (at, byte) in wrong {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        frame.truncate(len);
        short_ways_agree(&frame);
    }

    #[test]
    fn any_bytes_are_safe(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..8_usize) {
        let kinds = [0x0800, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x8864, 0x0806, 0x0100_u16];
        if bytes.len() >= 14 {
            bytes[12..14].copy_from_slice(&kinds[kind].to_be_bytes());
        }
        short_ways_agree(&bytes);
        let mut parsed = parse(&bytes);
        let capable = parsed.ecn().is_capable();
        let before = identity(&bytes, &parsed);
        prop_assert_eq!(set_ce(&mut bytes, &mut parsed), capable);
        prop_assert_eq!(identity(&bytes, &parsed), before);
        prop_assert_eq!(parsed.flow.hash(1), parse(&bytes).flow.hash(1));
    }

    #[test]
    fn ipv4_agrees_with_the_oracle_and_is_marked(
        src: [u8; 4], dst: [u8; 4], ports: (u16, u16), tos: u8,
        payload in prop::collection::vec(any::<u8>(), 0..64), tagged: bool, tcp: bool,
    ) {
        let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, src, dst)
            .expect("it is short");
        ip.dscp = etherparse::IpDscp::try_new(tos >> 2).expect("six bits");
        ip.ecn = etherparse::IpEcn::try_new(tos & 3).expect("two bits");
        let headers = etherparse::IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default());
        let ethernet = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let mut frame = Vec::new();
        let ip = if tagged {
            ethernet.single_vlan(etherparse::VlanId::try_new(5).expect("small")).ip(headers)
        } else {
            ethernet.ip(headers)
        };
        if tcp {
            ip.tcp(ports.0, ports.1, 1, 1000).write(&mut frame, &payload).expect("it fits");
        } else {
            ip.udp(ports.0, ports.1).write(&mut frame, &payload).expect("it fits");
        }
        agrees(&frame);
        let before = frame.clone();
        let mut parsed = parse(&frame);
        let at = usize::from(parsed.network_offset);
        prop_assert!(checksum_is_right(&frame[at..at + 20]));
        prop_assert_eq!(set_ce(&mut frame, &mut parsed), tos & 3 != 0);
        prop_assert!(checksum_is_right(&frame[at..at + 20]));
        prop_assert_eq!(parse(&frame), parsed);
        if tos & 3 != 0 {
            prop_assert_eq!(parsed.ecn(), Ecn::Ce);
        } else {
            prop_assert_eq!(before, frame);
        }
    }

    #[test]
    fn ipv6_agrees_with_the_oracle(
        src: [u8; 16], dst: [u8; 16], ports: (u16, u16),
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut frame = Vec::new();
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv6(src, dst, 64)
            .udp(ports.0, ports.1)
            .write(&mut frame, &payload)
            .expect("it fits");
        agrees(&frame);
        // ECT(0) in the traffic class: its low bits are the high half of the second byte.
        frame[15] |= 0x20;
        let mut parsed = parse(&frame);
        prop_assert_eq!(parsed.ecn(), Ecn::Ect0);
        prop_assert!(set_ce(&mut frame, &mut parsed));
        prop_assert_eq!(parse(&frame).ecn(), Ecn::Ce);
        agrees(&frame);
    }
}

#[test]
fn tunnels_of_the_access_network_are_looked_into() {
    let mut plain = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1000, 2000)
        .write(&mut plain, &[7; 40])
        .expect("it fits");
    let flow = parse(&plain).flow;
    let wrap = |kind: &[u8]| [&plain[..12], kind, &plain[14..]].concat();
    let pppoe = wrap(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 70, 0, 0x21]);
    let mpls = wrap(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]);
    let qinq = wrap(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]);
    for frame in [&pppoe, &mpls, &qinq] {
        assert_eq!(parse(frame).flow, flow);
    }
    // Behind MPLS, what only begins like IPv4 is left alone.
    let mut pseudowire = mpls;
    pseudowire[34] ^= 1;
    assert_eq!(parse(&pseudowire).network, Network::Opaque);
}

#[test]
fn all_fragments_of_a_packet_are_one_flow() {
    let mut first = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1000, 2000)
        .write(&mut first, &[7; 40])
        .expect("it fits");
    let mut last = first.clone();
    first[20] = 0x20;
    last[21] = 5;
    assert!(parse(&first).fragment && parse(&last).fragment);
    assert_eq!(parse(&first).flow, parse(&last).flow);
    assert!(!parse(&first).has_ports());
}

/// An acknowledgement with these options, by the oracle.
fn ack_with(options: &[u8], payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(443, 50_000, 7, 1000)
        .ack(0x0102_0304)
        .options_raw(options)
        .expect("at most 40 bytes");
    let mut frame = Vec::new();
    builder.write(&mut frame, payload).expect("memory");
    frame
}

fn facts(options: &[u8], payload: &[u8]) -> sojourn_qdisc::AckFacts {
    let frame = ack_with(options, payload);
    ack_facts(&frame, &parse(&frame)).expect("it has the ACK flag")
}

/// RFC 7323 and RFC 2018 bytes by hand.
#[test]
fn acknowledgements_are_read_with_their_options() {
    let stamps = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 5];
    let plain = facts(&stamps, &[]);
    assert_eq!((plain.ack, plain.timestamp), (0x0102_0304, Some((9, 5))));
    assert!(plain.is_trigger() && !plain.payload && !plain.other_options);
    let sack = [1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0];
    let holes = facts(&[&stamps[..], &sack[..]].concat(), &[]);
    assert_eq!((holes.sacks, holes.sack[0]), (1, (256, 512)));
    assert!(facts(&stamps, &[1]).payload);
    // MPTCP (30) is not known; lengths of 0 and beyond the end are malformed.
    assert!(facts(&[30, 4, 0, 0], &[]).other_options);
    assert!(facts(&[8, 0, 1, 1], &[]).other_options);
    assert!(facts(&[1, 1, 8, 10], &[]).other_options);
    assert!(facts(&[5, 3, 0, 1], &[]).other_options);
}

/// RFC 9768: AE is the last bit before the flag byte (section 3.1), kinds 172 and 174 are the option
/// in its two orders (section 3.2.3).
#[test]
fn counts_of_accecn_are_read_and_its_option_is_kept() {
    let stamps = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 5];
    for (flags, byte) in [(0x010, 0x10), (0x110, 0x10), (0x150, 0x50), (0x1d0, 0xd0)] {
        let mut frame = ack_with(&stamps, &[]);
        let at = usize::from(parse(&frame).transport_offset) + 12;
        frame[at] |= (flags >> 8) as u8;
        frame[at + 1] = (flags & 0xff) as u8;
        let facts = ack_facts(&frame, &parse(&frame)).expect("it has the ACK flag");
        assert_eq!((facts.flags, facts.ae), (byte, flags & 0x100 != 0));
        assert_eq!(facts.other_options, facts.ae, "with AE it stays");
        assert_eq!(facts.ecn_flags(), (byte & 0xc0, facts.ae));
    }
    for kind in [172, 174] {
        let option = [kind, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1];
        assert!(facts(&option, &[]).other_options, "{kind}");
    }
}

#[test]
fn padding_is_no_payload_and_data_is_no_ack() {
    let mut frame = ack_with(&[], &[]);
    frame.resize(60, 0);
    assert!(!ack_facts(&frame, &parse(&frame)).expect("an ACK").payload);
    // The flags without ACK.
    frame[14 + 20 + 13] = 0x02;
    assert!(ack_facts(&frame, &parse(&frame)).is_none());
}

#[test]
fn washing_clears_the_class_and_keeps_ecn_and_checksum() {
    let mut frame = ack_with(&[], &[]);
    // EF and ECT(0), with the checksum mended by hand: it falls by what the word grows.
    frame[15] = 0xba;
    let sum = u16::from_be_bytes([frame[24], frame[25]]);
    frame[24..26].copy_from_slice(&(sum - 0xba).to_be_bytes());
    assert!(checksum_is_right(&frame[14..34]));
    let mut parsed = parse(&frame);
    clear_dscp(&mut frame, &mut parsed);
    assert_eq!(
        (frame[15], parsed.dscp(), parsed.ecn()),
        (0x02, 0, Ecn::Ect0)
    );
    assert!(checksum_is_right(&frame[14..34]));
    // Opaque frames stay as they are.
    let mut other = vec![0xaa; 40];
    let mut parsed = parse(&other);
    clear_dscp(&mut other, &mut parsed);
    assert_eq!(other, vec![0xaa; 40]);
}

/// A TCP segment of 100 bytes with a timestamp option.
fn stamped(sequence: u32, stamp: u32) -> Vec<u8> {
    let options = [etherparse::TcpOptionElement::Timestamp(stamp, 7)];
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1, 2, sequence, 1000)
        .options(&options)
        .expect("they fit")
        .write(&mut frame, &[0; 100])
        .expect("it fits");
    frame
}

fn identity_of(frame: &[u8]) -> Option<u64> {
    identity(frame, &parse(frame))
}

#[test]
fn a_packet_keeps_its_identity_on_the_way() {
    let frame = stamped(1, 2);
    let known = identity_of(&frame);
    assert!(known.is_some());
    // Time to live, DSCP and ECN, both checksums: bytes 22, 15, 24, 25, 50, 51.
    for at in [22, 15, 24, 25, 50, 51] {
        let mut changed = frame.clone();
        changed[at] ^= 1;
        assert_eq!(identity_of(&changed), known, "byte {at}");
    }
    assert_eq!(
        identity_of(&frame[..80]),
        known,
        "a capture may cut the payload"
    );
    assert_eq!(identity_of(&frame[..60]), None, "but not the options");
}

#[test]
fn other_packets_have_another_identity() {
    let known = identity_of(&stamped(1, 2));
    assert_ne!(identity_of(&stamped(2, 2)), known, "the next segment");
    assert_ne!(identity_of(&stamped(1, 3)), known, "its retransmission");
    let datagram = |first: u8| {
        let mut frame = Vec::new();
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .udp(1, 2)
            .write(&mut frame, &[first; 20])
            .expect("it fits");
        frame
    };
    assert_ne!(identity_of(&datagram(0)), identity_of(&datagram(1)));
    assert_eq!(identity_of(&[0; 60]), None, "no IP");
}
