//! Frames that we build, read by `etherparse`.

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use sojourn_wire::build::{ETHERNET, Envelope, TcpSegment};

fn envelope(tos: u8, identification: u16) -> Envelope {
    Envelope {
        macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
        addresses: [[198, 18, 0, 1], [198, 19, 0, 1]],
        ports: [30_001, 5_001],
        tos,
        identification,
        ..Envelope::default()
    }
}

/// The whole frame: the headers and zeros.
fn whole(headers: &sojourn_wire::build::Headers) -> Vec<u8> {
    let mut frame = headers.bytes().to_vec();
    frame.resize(headers.frame_len(), 0);
    frame
}

/// The SYN of a Linux 6 kernel: 20 bytes of options in this order.
#[test]
fn a_syn_has_linux_s_options() {
    let syn = TcpSegment {
        flags: 2,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((5, 0)),
        ..TcpSegment::default()
    };
    let headers = envelope(0, 1).tcp(&syn);
    let options = &headers.bytes()[ETHERNET + 40..];
    let expected = [
        2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 5, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    assert_eq!(options, expected);
    assert_eq!(headers.frame_len(), 74);
}

#[test]
fn without_timestamps_four_blocks_fit_and_with_them_three() {
    let blocks = [(1, 2), (3, 4), (5, 6), (7, 8)];
    for (timestamps, options) in [(None, 36), (Some((1, 2)), 40)] {
        let segment = TcpSegment {
            timestamps,
            sack: &blocks,
            ..TcpSegment::default()
        };
        assert_eq!(
            envelope(0, 0).tcp(&segment).frame_len(),
            ETHERNET + 40 + options
        );
    }
}

/// AE, which the oracle calls NS, CWR and ECE.
fn flag_bits(flags: u16) -> (bool, bool, bool) {
    (flags & 0x100 != 0, flags & 0x80 != 0, flags & 0x40 != 0)
}

/// RFC 9768 figure 4: kind 172, eleven bytes, three fields; with padding before it. Two fields make
/// eight bytes, which need none.
#[test]
fn accecn_has_its_option() {
    let segment = TcpSegment {
        flags: 0x150,
        timestamps: Some((1, 2)),
        accecn: Some((172, &[1001, 0x0102_0304, 1])),
        sack: &[(5, 6)],
        ..TcpSegment::default()
    };
    let headers = envelope(0, 0).tcp(&segment);
    let bytes = headers.bytes();
    let tcp = &bytes[ETHERNET + 20..];
    assert_eq!(
        tcp[12..14],
        [0xe1, 0x50],
        "14 words, AE, and ECE beside ACK"
    );
    let option = [1, 172, 11, 0, 3, 233, 2, 3, 4, 0, 0, 1];
    assert_eq!(tcp[32..44], option);
    assert_eq!(tcp[44..48], [1, 1, 5, 10]);
    let segment = TcpSegment {
        accecn: Some((174, &[1, 2])),
        ..TcpSegment::default()
    };
    let headers = envelope(0, 0).tcp(&segment);
    assert_eq!(headers.bytes()[ETHERNET + 40..], [174, 8, 0, 0, 1, 0, 0, 2]);
}

proptest! {
    #[test]
    fn the_oracle_reads_what_was_built(
        sequence: u32, acknowledgement: u32, flags in 0..0x200_u16, window: u16, payload in 0..1461_u16,
        stamps: Option<(u32, u32)>, blocks in prop::collection::vec(any::<(u32, u32)>(), 0..4),
        tos: u8, identification: u16,
    ) {
        let segment = TcpSegment {
            sequence, acknowledgement, flags, window, payload,
            timestamps: stamps, sack: &blocks, ..TcpSegment::default()
        };
        let frame = whole(&envelope(tos, identification).tcp(&segment));
        let packet = SlicedPacket::from_ethernet(&frame).expect("a frame");
        let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("no IPv4") };
        let ip = ip.header();
        prop_assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
        prop_assert_eq!(usize::from(ip.total_len()), frame.len() - ETHERNET);
        prop_assert_eq!(ip.identification(), identification);
        prop_assert_eq!(ip.dcp().value() << 2 | ip.ecn().value(), tos);
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        let sum = tcp.to_header().calc_checksum_ipv4(&ip.to_header(), tcp.payload());
        prop_assert_eq!(sum.expect("it is short"), tcp.checksum());
        prop_assert_eq!((tcp.ns(), tcp.cwr(), tcp.ece()), flag_bits(flags));
        prop_assert_eq!(tcp.sequence_number(), sequence);
        prop_assert_eq!(tcp.acknowledgment_number(), acknowledgement);
        prop_assert_eq!((tcp.window_size(), tcp.payload().len()), (window, usize::from(payload)));
        for option in tcp.options_iterator() {
            match option.expect("good options") {
                TcpOptionElement::Timestamp(stamp, echo) => {
                    prop_assert_eq!(stamps, Some((stamp, echo)));
                }
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    let found: Vec<_> = [Some(first)].into_iter().chain(rest).flatten().collect();
                    prop_assert_eq!(&found, &blocks);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn datagrams_have_their_numbers_and_right_sums(
        prefix in prop::collection::vec(any::<u8>(), 0..30), len in 0..1473_u16,
    ) {
        let frame = whole(&envelope(0, 9).udp(&prefix, len));
        let packet = SlicedPacket::from_ethernet(&frame).expect("a frame");
        let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("no IPv4") };
        let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("no UDP") };
        let header = udp.to_header();
        let sum = header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload());
        prop_assert_eq!(sum.expect("it is short"), udp.checksum());
        prop_assert_eq!(udp.payload().len(), usize::from(len));
        let kept = prefix.len().min(20).min(usize::from(len));
        prop_assert_eq!(&udp.payload()[..kept], &prefix[..kept]);
    }
}
