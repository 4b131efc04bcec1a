use super::pool::SPARE;
use super::*;

#[test]
fn the_pool_lends_no_more_than_its_limit_and_reuses() {
    let mut pool = Pool::new(2);
    let first = Frame::from_bytes(&mut pool, &[1; 60], Time::ZERO).unwrap();
    let second = Frame::from_bytes(&mut pool, &[2; HEAD + 100], Time::ZERO).unwrap();
    assert!(pool.take().is_none());
    assert_eq!(pool.lent(), 2);
    assert_eq!((first.held(), second.held()), (FRAME, FRAME + 4096));
    assert_eq!(pool.lent_bytes() as usize, 2 * FRAME + 4096);
    pool.give(first);
    pool.give(second);
    assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
    assert_eq!((pool.spare.len(), pool.spare_tails[0].len()), (2, 1));
    let again = Frame::from_bytes(&mut pool, &[3; HEAD + 4096], Time::ZERO).unwrap();
    assert_eq!((pool.spare.len(), pool.spare_tails[0].len()), (1, 0));
    assert_eq!(again.len() as usize, HEAD + 4096);
    // Its second part is as much as a frame and more.
    assert!(pool.take().is_none());
}

#[test]
fn the_pool_gives_back_what_it_does_not_need() {
    const FRAMES: usize = 1000;
    let mut pool = Pool::new(100 * FRAMES);
    let bytes = vec![0; HEAD + TAIL];
    let frames: Vec<_> = (0..FRAMES)
        .map(|_| Frame::from_bytes(&mut pool, &bytes, Time::ZERO).unwrap())
        .collect();
    assert_eq!(pool.lent_bytes() as usize, FRAMES * (FRAME + TAIL));
    for frame in frames {
        pool.give(frame);
    }
    let kept = pool.spare.len() * HANDLE
        + pool.spare_heads.len() * size_of::<Head>()
        + pool.spare_tails[4].len() * TAIL;
    assert_eq!(kept, pool.spare_bytes);
    assert!(kept <= SPARE && kept > SPARE / 2, "{kept}");
}

#[test]
fn long_frames_are_held_in_two_parts() {
    let bytes: Vec<u8> = (0..9014_u32).map(|i| (i % 251) as u8).collect();
    let mut pool = Pool::new(1);
    let frame = Frame::from_bytes(&mut pool, &bytes, Time::ZERO).unwrap();
    let [head, tail, rest] = frame.parts();
    assert_eq!([head.len(), tail.len(), rest.len()], [HEAD, 9014 - HEAD, 0]);
    assert_eq!(frame.parts().concat(), bytes);
    let mut pool = Pool::new(2);
    let copy = frame.copied(&mut pool).unwrap();
    assert_eq!(copy.parts().concat(), bytes);
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

pub(in super::super) fn receive(
    pool: &mut Pool,
    bytes: &[u8],
    vnet: VnetHeader,
    tag: Option<VlanTag>,
) -> Frame {
    let mut frame = Frame::from_bytes(pool, bytes, Time::ZERO).unwrap();
    frame.filled(bytes.len(), vnet, tag, Time::ZERO);
    frame
}

#[test]
fn a_tag_is_put_back_where_it_was_and_offsets_follow() {
    let mut pool = Pool::new(40);
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
        let mut expected = bytes[..12].to_vec();
        expected.extend([0x88, 0xa8, 0x20, 0x64]);
        expected.extend(&bytes[12..]);
        assert_eq!(frame.parts().concat(), expected);
        let vnet = frame.vnet();
        assert_eq!((vnet.flags, vnet.csum_start, vnet.hdr_len), (1, 38, 58));
        assert_eq!(frame.parsed().network_offset, 18);
    }
}

#[test]
fn a_super_packet_counts_with_the_headers_of_its_segments() {
    let mut pool = Pool::new(40);
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
    assert_eq!(frame.parts()[0][15], 3);
}

/// A super-packet of `payload` counted bytes with all that a sender leaves to the hardware:
/// sequence number 1000, FIN, PSH and CWR set, identification 7.
pub(in super::super) fn super_packet(payload: usize, v6: bool) -> (Vec<u8>, VnetHeader) {
    let mut ip = if v6 {
        let mut ip = vec![0; 40];
        ip[0] = 0x60;
        ip[4..6].copy_from_slice(&((20 + payload) as u16).to_be_bytes());
        (ip[6], ip[7]) = (6, 64);
        ip[8..40]
            .iter_mut()
            .zip(1..)
            .for_each(|(byte, i)| *byte = i);
        ip
    } else {
        let mut ip = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0];
        ip.extend([10, 0, 0, 1, 192, 0, 2, 9]);
        ip[2..4].copy_from_slice(&((40 + payload) as u16).to_be_bytes());
        let sum = !sum_of(&ip, 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip
    };
    let mut bytes = vec![0; 12];
    bytes.extend(if v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
    bytes.append(&mut ip);
    let start = bytes.len();
    bytes.extend([0x10, 0x92, 0, 80, 0, 0, 0x03, 0xe8, 0, 0, 0, 1, 0x50, 0x99]);
    bytes.extend([0; 6]);
    bytes.extend((0..payload).map(|i| (i % 251) as u8));
    let vnet = VnetHeader {
        flags: VnetHeader::NEEDS_CSUM,
        gso_type: if v6 { 4 } else { 1 },
        hdr_len: start as u16 + 20,
        gso_size: 1400,
        csum_start: start as u16,
        csum_offset: 16,
    };
    (bytes, vnet)
}

/// RFC 1071, the plain way.
fn sum_of(bytes: &[u8], start: u32) -> u16 {
    let mut sum = u64::from(start);
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Segments as any host would have sent them: checked from their bytes alone.
#[test]
fn a_super_packet_is_cut_into_right_packets() {
    let tag = VlanTag {
        protocol: 0x8100,
        tci: 5,
    };
    for (v6, tag) in [(false, None), (true, None), (false, Some(tag))] {
        for payload in [1401, 2800, 4300, 30_000] {
            let (bytes, vnet) = super_packet(payload, v6);
            let mut pool = Pool::new(100);
            let mut whole = receive(&mut pool, &bytes, vnet, tag);
            whole.set_mark(9);
            let counted = whole.len();
            let mut parts = Vec::new();
            while let Some(segment) = pool.cut(&mut whole) {
                parts.push(segment);
            }
            parts.push(whole);
            assert_eq!(parts.len(), payload.div_ceil(1400));
            assert_eq!(parts.iter().map(Frame::len).sum::<u32>(), counted);
            let mut data = Vec::new();
            for (index, frame) in parts.iter().enumerate() {
                let is_last = index + 1 == parts.len();
                let head = &frame.parts().concat()[..];
                assert_eq!(head.len() as u32, frame.size());
                assert!(frame.segments().is_none());
                assert_eq!((frame.mark(), frame.vnet().gso_type), (9, 0));
                // What parsing the bytes anew says is what is remembered.
                let parsed = *frame.parsed();
                assert_eq!(parse(head), parsed);
                let ip = &head[usize::from(parsed.network_offset)..];
                let tcp = &head[usize::from(parsed.transport_offset)..];
                let len = tcp.len() as u32;
                if v6 {
                    assert_eq!(u16::from_be_bytes([ip[4], ip[5]]), len as u16);
                } else {
                    assert_eq!(u16::from_be_bytes([ip[2], ip[3]]), 20 + len as u16);
                    assert_eq!(u16::from_be_bytes([ip[4], ip[5]]), 7 + index as u16);
                    assert_eq!(sum_of(&ip[..20], 0), 0xffff);
                }
                let number = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
                assert_eq!(number, 1000 + 1400 * index as u32);
                let flags = match (index, is_last) {
                    (0, _) => 0x90,
                    (_, false) => 0x10,
                    (_, true) => 0x19,
                };
                assert_eq!(tcp[13], flags);
                // As the hardware completes it: the sum from `csum_start` on goes to its place.
                let vnet = frame.vnet();
                assert_eq!(usize::from(vnet.csum_start) + tcp.len(), head.len());
                let mut tcp = tcp.to_vec();
                let sum = !sum_of(&tcp, 0);
                tcp[16..18].copy_from_slice(&sum.to_be_bytes());
                let addresses = if v6 { &ip[8..40] } else { &ip[12..20] };
                let pseudo = sum_of(addresses, 6 + len);
                assert_eq!(sum_of(&tcp, u32::from(pseudo)), 0xffff);
                data.extend_from_slice(&tcp[20..]);
            }
            assert_eq!(data, bytes[bytes.len() - payload..]);
            for frame in parts {
                pool.give(frame);
            }
            assert_eq!(pool.lent(), 0);
        }
    }
}

/// All segments of a super-packet, and their pool.
fn cut(payload: usize, v6: bool, flags: u8) -> (Vec<u8>, VnetHeader, Pool, Vec<Frame>) {
    let (bytes, mut vnet) = super_packet(payload, v6);
    vnet.gso_type |= flags;
    let mut pool = Pool::new(100);
    let mut whole = receive(&mut pool, &bytes, vnet, None);
    let mut parts = Vec::new();
    while let Some(segment) = pool.cut(&mut whole) {
        parts.push(segment);
    }
    parts.push(whole);
    (bytes, vnet, pool, parts)
}

/// Joins all that can be joined.
fn join(parts: Vec<Frame>, pool: &mut Pool) -> Vec<Frame> {
    let mut joined: Vec<Frame> = Vec::new();
    for frame in parts {
        if joined.last_mut().is_some_and(|last| last.join(&frame)) {
            pool.give(frame);
        } else {
            joined.push(frame);
        }
    }
    joined
}

#[test]
fn segments_that_stay_together_become_what_they_were() {
    for (v6, payload) in [(false, 30_000), (true, 4300), (false, 2800), (true, 60_000)] {
        let (bytes, vnet, mut pool, parts) = cut(payload, v6, VnetHeader::GSO_ECN);
        let counted: u32 = parts.iter().map(Frame::len).sum();
        let joined = join(parts, &mut pool);
        let [whole] = &joined[..] else {
            panic!("{} frames", joined.len());
        };
        let (got, start) = (whole.parts().concat(), usize::from(vnet.csum_start));
        assert!(got[start + 20..] == bytes[start + 20..]);
        assert_eq!((*whole.vnet(), whole.len()), (vnet, counted));
        // The pseudo header's sum, which this sender has left out.
        let addresses = if v6 { &got[22..54] } else { &got[26..34] };
        let sum = sum_of(addresses, 6 + 20 + payload as u32);
        assert_eq!(got[start + 16..start + 18], sum.to_be_bytes());
        assert_eq!(got[..start + 16], bytes[..start + 16]);
        assert_eq!(
            whole.segments(),
            Some((payload.div_ceil(1400) as u32, start as u32 + 1420))
        );
        for frame in joined {
            pool.give(frame);
        }
        assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
    }
}

/// A lost segment, one with a mark and one out of order are where a super-packet ends; the parts
/// are super-packets with right headers.
#[test]
fn segments_that_differ_stay_apart() {
    let of = |joined: &[Frame]| -> Vec<_> {
        joined
            .iter()
            .map(|frame| {
                let bytes = frame.parts().concat();
                assert_eq!(parse(&bytes).tos, frame.parsed().tos);
                assert_eq!(sum_of(&bytes[14..34], 0), 0xffff);
                assert_eq!(
                    usize::from(u16::from_be_bytes([bytes[16], bytes[17]])),
                    bytes.len() - 14
                );
                let id = u16::from_be_bytes([bytes[18], bytes[19]]) - 7;
                let number = u32::from_be_bytes([bytes[38], bytes[39], bytes[40], bytes[41]]);
                assert_eq!(number, 1000 + 1400 * u32::from(id));
                let count = frame.segments().map_or(1, |(count, _)| count);
                let gso = frame.vnet().gso_type;
                (u32::from(id), count, gso, bytes[47])
            })
            .collect()
    };
    // 0x10 is ACK, 0x80 CWR and 9 FIN and PSH; ten segments.
    let (_, _, mut pool, mut parts) = cut(14_000, false, VnetHeader::GSO_ECN);
    pool.give(parts.remove(3));
    let joined = join(parts, &mut pool);
    let ecn = 1 | VnetHeader::GSO_ECN;
    assert_eq!(of(&joined), [(0, 3, ecn, 0x90), (4, 6, 1, 0x19)]);
    let (_, _, mut pool, mut parts) = cut(14_000, false, 0);
    for frame in &mut parts {
        frame.clear_dscp();
    }
    assert!(!parts[5].set_ce(), "it is not capable");
    parts.swap(8, 9);
    let joined = join(parts, &mut pool);
    assert_eq!(
        of(&joined),
        [(0, 8, 1, 0x90), (9, 1, 0, 0x19), (8, 1, 0, 0x10)]
    );
}

#[test]
fn a_marked_segment_stays_apart() {
    let (mut bytes, vnet) = super_packet(14_000, true);
    // ECT(0) in the traffic class.
    bytes[15] = 0x20;
    let mut pool = Pool::new(100);
    let mut whole = receive(&mut pool, &bytes, vnet, None);
    let mut parts = Vec::new();
    while let Some(segment) = pool.cut(&mut whole) {
        parts.push(segment);
    }
    parts.push(whole);
    for marked in [4, 5] {
        assert!(parts[marked].set_ce());
    }
    let joined = join(parts, &mut pool);
    let counts: Vec<_> = joined
        .iter()
        .map(|frame| (frame.segments().map(|(count, _)| count), frame.ecn()))
        .collect();
    assert_eq!(
        counts,
        [
            (Some(4), Ecn::Ect0),
            (Some(2), Ecn::Ce),
            (Some(4), Ecn::Ect0)
        ]
    );
    for (frame, tos) in joined.iter().zip([0x20, 0x30, 0x20]) {
        assert_eq!(frame.parts()[0][15], tos);
    }
}

/// Of a super-packet everything is held until its last segment goes, and then nothing.
#[test]
fn segments_hold_what_they_share() {
    let (_, _, mut pool, parts) = cut(30_000, false, 0);
    let count = parts.len();
    let memory = |frames: &[Frame]| frames.iter().map(|frame| frame.held() as u64).sum();
    let all: u64 = memory(&parts);
    assert_eq!(all, pool.lent_bytes());
    assert_eq!(all as usize, count * HANDLE + (FRAME - HANDLE) + 32 * 1024);
    let mut parts = std::collections::VecDeque::from(parts);
    while let Some(frame) = parts.pop_front() {
        pool.give(frame);
        assert_eq!(memory(parts.make_contiguous()), pool.lent_bytes());
    }
    assert_eq!(pool.lent_bytes(), 0);
    // The same memory serves the next.
    let (spare, places) = (pool.spare_bytes, pool.spare.len());
    let (bytes, vnet) = super_packet(30_000, false);
    let mut whole = receive(&mut pool, &bytes, vnet, None);
    let first = pool.cut(&mut whole).unwrap();
    let rest = HANDLE * 2 + (FRAME - HANDLE) + 32 * 1024;
    assert_eq!(pool.spare_bytes, spare - rest);
    assert_eq!(pool.spare.len(), places - 2);
    // Whatever order they come back in.
    pool.give(whole);
    pool.give(first);
    assert_eq!(pool.spare_bytes, spare);
}

/// Without room for all segments, without a checksum left to the hardware, or in segments longer
/// than a usual frame, a super-packet stays whole.
#[test]
fn what_cannot_be_cut_stays_whole() {
    let (bytes, vnet) = super_packet(4300, false);
    let complete = VnetHeader { flags: 0, ..vnet };
    let jumbo = VnetHeader {
        gso_size: 2100,
        ..vnet
    };
    for (room, vnet) in [(2, vnet), (30, complete), (30, jumbo)] {
        let mut pool = Pool::new(room);
        let mut whole = receive(&mut pool, &bytes, vnet, None);
        let before = (whole.len(), *whole.vnet(), pool.lent());
        assert!(pool.cut(&mut whole).is_none());
        assert_eq!((whole.len(), *whole.vnet(), pool.lent()), before);
    }
}
