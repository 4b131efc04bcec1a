use super::*;

#[test]
fn the_pool_lends_no_more_than_its_limit_and_reuses() {
    let mut pool = Pool::new(2);
    let first = Frame::from_bytes(&mut pool, &[1; 60], Time::ZERO).unwrap();
    let second = Frame::from_bytes(&mut pool, &[2; HEAD + 100], Time::ZERO).unwrap();
    assert!(pool.take().is_none());
    assert_eq!(pool.lent(), 2);
    pool.give(first);
    pool.give(second);
    assert_eq!(
        (pool.lent(), pool.spare.len(), pool.spare_tails.len()),
        (0, 2, 1)
    );
    let again = Frame::from_bytes(&mut pool, &[3; 9000], Time::ZERO).unwrap();
    assert_eq!((pool.spare.len(), pool.spare_tails.len()), (1, 0));
    assert_eq!(again.len(), 9000);
}

#[test]
fn long_frames_are_held_in_two_parts() {
    let bytes: Vec<u8> = (0..9014_u32).map(|i| (i % 251) as u8).collect();
    let mut pool = Pool::new(1);
    let frame = Frame::from_bytes(&mut pool, &bytes, Time::ZERO).unwrap();
    let (head, tail) = frame.parts();
    assert_eq!((head.len(), tail.len()), (HEAD, 9014 - HEAD));
    assert_eq!([head, tail].concat(), bytes);
    assert!(Frame::from_bytes(&mut pool, &vec![0; HEAD + TAIL + 1], Time::ZERO).is_none());
}

/// An Ethernet and IPv4 header of 34 bytes and a TCP header of 20, all else zero.
fn tcp(payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 54 + payload];
    bytes[12..14].copy_from_slice(&[0x08, 0x00]);
    bytes[14] = 0x45;
    bytes[15] = 2;
    let total = (40 + payload) as u16;
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    bytes[23] = 6;
    bytes[46] = 0x50;
    bytes
}

fn receive(pool: &mut Pool, bytes: &[u8], vnet: VnetHeader, tag: Option<VlanTag>) -> Frame {
    let mut frame = Frame::from_bytes(pool, bytes, Time::ZERO).unwrap();
    frame.filled(bytes.len(), vnet, tag, Time::ZERO);
    frame
}

#[test]
fn a_tag_is_put_back_where_it_was_and_offsets_follow() {
    let mut pool = Pool::new(4);
    let vnet = VnetHeader {
        flags: VnetHeader::NEEDS_CSUM | 2,
        gso_type: 1,
        hdr_len: 54,
        gso_size: 1448,
        csum_start: 34,
        csum_offset: 16,
    };
    let tag = VlanTag {
        protocol: 0x88a8,
        tci: 0x2064,
    };
    for payload in [100, 5000] {
        let mut bytes = tcp(payload);
        bytes[..12].copy_from_slice(b"destinsource");
        let frame = receive(&mut pool, &bytes, vnet, Some(tag));
        let (head, tail) = frame.parts();
        let mut expected = bytes[..12].to_vec();
        expected.extend([0x88, 0xa8, 0x20, 0x64]);
        expected.extend(&bytes[12..]);
        assert_eq!([head, tail].concat(), expected);
        let vnet = frame.vnet();
        assert_eq!((vnet.flags, vnet.csum_start, vnet.hdr_len), (1, 38, 58));
        assert_eq!(frame.parsed().network_offset, 18);
    }
}

#[test]
fn a_super_packet_counts_with_the_headers_of_its_segments() {
    let mut pool = Pool::new(4);
    let gso = VnetHeader {
        gso_type: 1,
        gso_size: 1460,
        ..VnetHeader::default()
    };
    // 3 segments: 3 · 1460 bytes of payload and 3 · 54 of headers.
    assert_eq!(receive(&mut pool, &tcp(4380), gso, None).len(), 3 * 1514);
    // The last is short: 100 bytes.
    assert_eq!(
        receive(&mut pool, &tcp(3020), gso, None).len(),
        2 * 1514 + 154
    );
    let plain = VnetHeader::default();
    assert_eq!(receive(&mut pool, &tcp(4380), plain, None).len(), 4434);
}

#[test]
fn marking_reaches_the_bytes() {
    let mut pool = Pool::new(1);
    let mut frame = receive(&mut pool, &tcp(0), VnetHeader::default(), None);
    assert_eq!(frame.ecn(), Ecn::Ect0);
    assert!(frame.set_ce());
    assert_eq!(frame.ecn(), Ecn::Ce);
    assert_eq!(frame.parts().0[15], 3);
}
