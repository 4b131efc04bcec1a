//! What goes in comes out, byte for byte. Needs root.

mod common;

use common::{Link, Raw, frame, plain};
use sojourn_bridge::{BridgeConfig, Frame, Observer, Point, Side};
use sojourn_qdisc::Packet;
use sojourn_units::{Rate, Time};
use sojourn_world::LineRate;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;

#[test]
fn every_kind_of_frame_passes_unchanged_both_ways() {
    let link = Link::new();
    link.mtu(9000);
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ip6: Vec<u8> = [&[0x60, 0, 0, 0, 0, 8, 58, 255][..], &[7; 32], &[135; 8]].concat();
    let frames = [
        frame(0x88b5, &[1; 46]),
        frame(0x88b6, &[2; 3]),
        frame(0x0806, &[3; 28]),
        frame(0x86dd, &ip6),
        frame(0x8100, &[&[0x20, 0x64, 0x88, 0xb5][..], &[4; 60]].concat()),
        frame(
            0x88a8,
            &[&[0, 5, 0x81, 0, 0, 6, 0x88, 0xb5][..], &[5; 60]].concat(),
        ),
        frame(
            0x8864,
            &[&[0x11, 0, 0, 1, 0, 6, 0xc0, 0x21][..], &[6; 40]].concat(),
        ),
        frame(0x8847, &[&[0, 1, 1, 64][..], &[7; 80]].concat()),
        frame(0x0026, &[0x42; 38]),
        frame(
            0x88b5,
            &(0..9000_u32).map(|i| (i % 253) as u8).collect::<Vec<_>>(),
        ),
    ];
    let ((), stats) = link.bridged(plain(), || {
        for sent in &frames {
            left.send(sent);
            assert_eq!(right.receive(|got| got == sent).as_ref(), Some(sent), "up");
            right.send(sent);
            assert_eq!(left.receive(|got| got == sent).as_ref(), Some(sent), "down");
        }
    });
    for stats in [stats.up, stats.down] {
        assert_eq!(stats.queue.dropped.packets, 0);
        assert_eq!(stats.queue.offered, stats.queue.dequeued);
        assert_eq!(stats.output.sent, stats.queue.dequeued.packets);
        assert_eq!((stats.input.missed, stats.output.refused), (0, 0));
    }
}

#[test]
fn no_frame_is_sent_twice_or_back() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ours = |got: &[u8]| got[12..14] == [0x88, 0xb5];
    link.bridged(plain(), || {
        for _ in 0..100 {
            left.send(&frame(0x88b5, &[1; 100]));
        }
        assert_eq!(right.count(100, ours), 100);
        assert_eq!(left.count(0, ours), 0);
    });
}

/// Bytes that depend on their position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 65_521 % 251) as u8).collect()
}

/// Sends `data` from client to server by TCP with all offloads, and checks that it arrives.
fn transfer(link: &Link, data: &[u8]) {
    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000").expect("a socket"));
    thread::scope(|scope| {
        let received = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut received = Vec::new();
            stream.read_to_end(&mut received).expect("bytes");
            received
        });
        let mut stream = link
            .client
            .run(|| TcpStream::connect("10.9.0.2:5000").expect("the way is open"));
        stream.write_all(data).expect("bytes are taken");
        stream.shutdown(Shutdown::Write).expect("it is open");
        // Until the server's end has come too: the last ACK is sent then.
        let answer = stream.read_to_end(&mut Vec::new()).expect("an end");
        assert_eq!(answer, 0);
        assert!(received.join().expect("the server ends") == data);
    });
}

#[test]
fn a_kernel_tcp_transfer_with_all_offloads_arrives_intact() {
    let link = Link::new();
    let data = pattern(20 << 20);
    let ((), stats) = link.bridged(plain(), || transfer(&link, &data));
    let up = stats.up;
    assert_eq!(up.output.refused, 0);
    // Super-packets passed whole: far fewer frames than segments.
    let segments = data.len() as u64 / 1448;
    assert!(up.output.sent < segments / 4, "{} frames", up.output.sent);
    assert!(up.queue.dequeued.bytes > data.len() as u64);
}

/// Frames that left a queue going up: all, super-packets among them, and how often one was cut.
#[derive(Debug, Default)]
struct Cuts {
    sent: u64,
    whole: u64,
    cut: u64,
}

impl Observer for Cuts {
    fn frame(&mut self, point: Point, side: Side, _now: Time, frame: &Frame) {
        if point == Point::Dequeued && side == Side::Up {
            self.sent += 1;
            self.whole += u64::from(frame.segments().is_some());
        }
    }

    fn cut(&mut self, side: Side, _now: Time) {
        self.cut += u64::from(side == Side::Up);
    }
}

/// What a bridge cuts of a transfer up, and the frames that came in and went out.
fn cuts(config: BridgeConfig, data: &[u8]) -> (Cuts, [u64; 2]) {
    let link = Link::new();
    let what = format!("{:?}", config.up);
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats, cuts) = link.observed(config, Cuts::default(), || {
        transfer(&link, data);
        // Statistics are those of the stop. What has gone before this frame is through by then.
        left.send(&frame(0x88b5, &[1; 100]));
        assert_eq!(right.count(1, |got| got[12..14] == [0x88, 0xb5]), 1);
    });
    let queue = stats.up.queue;
    assert_eq!(queue.offered.packets, cuts.sent, "{what}: {queue:?}");
    assert_eq!(queue.dropped.packets, 0, "{what}");
    assert_eq!(stats.up.output.refused, 0, "{what}");
    (cuts, [stats.up.input.received, stats.up.output.sent])
}

/// Every queue behind a low rate gets single packets, unless it is told otherwise.
#[test]
fn slow_links_get_no_super_packets() {
    let data = pattern(2 << 20);
    let through = |words: &str, mbit: u64, asked: Option<bool>| {
        let mut config = plain();
        config.up.qdisc = words.parse().expect("a test's own spec");
        config.up.line.rate = LineRate::Fixed(Rate::from_bps(mbit * 1_000_000));
        config.up.split_gso = asked;
        cuts(config, &data)
    };
    let shaped = "htb rate 200mbit over pfifo limit 10000";
    let bucket = "tbf rate 200mbit burst 5kb over pfifo limit 10000";
    for (words, mbit, asked) in [
        ("pfifo limit 10000", 200, None),
        ("fq_codel target 1s interval 2s", 200, None),
        ("pfifo limit 10000", 2000, Some(true)),
        (shaped, 10_000, None),
        (bucket, 10_000, None),
    ] {
        let (cuts, [received, _]) = through(words, mbit, asked);
        assert!(cuts.cut > 0 && cuts.whole == 0, "{words}: {cuts:?}");
        assert_eq!(cuts.sent, received + cuts.cut, "{words}");
    }
    for (words, mbit, asked) in [
        ("pfifo limit 10000", 2000, None),
        ("pfifo limit 10000", 200, Some(false)),
    ] {
        let (cuts, _) = through(words, mbit, asked);
        assert!(cuts.cut == 0 && cuts.whole > 0, "{words}: {cuts:?}");
    }
}

#[test]
fn cake_cuts_super_packets_unless_told_not_to() {
    let data = pattern(4 << 20);
    let segments = data.len() as u64 / 1448;
    let through = |words: &str| {
        let mut config = plain();
        config.up.qdisc = words.parse().expect("a test's own spec");
        cuts(config, &data)
    };
    // tc's default; one packet in, n out, and each of them fits into a frame. At a rate so high
    // they leave together again.
    for words in ["cake", "cake bandwidth 10gbit"] {
        let (cuts, [received, sent]) = through(words);
        assert!(cuts.cut > 0 && cuts.whole == 0, "{cuts:?}");
        assert_eq!(cuts.sent, received + cuts.cut);
        assert!(cuts.sent >= segments, "{cuts:?}");
        assert!(sent < cuts.sent / 2, "{sent} of {cuts:?}");
    }
    let (cuts, [received, _]) = through("cake no-split-gso");
    assert!(cuts.cut == 0 && cuts.whole > 0, "{cuts:?}");
    assert_eq!(cuts.sent, received);
    assert!(cuts.sent < segments / 2, "{cuts:?}");
}

#[test]
fn partial_checksums_of_udp_pass() {
    let link = Link::new();
    link.bridged(plain(), || {
        let server = link
            .server
            .run(|| UdpSocket::bind("10.9.0.2:5000").expect("a socket"));
        let client = link
            .client
            .run(|| UdpSocket::bind("10.9.0.1:5001").expect("a socket"));
        client
            .send_to(b"hello", "10.9.0.2:5000")
            .expect("it is sent");
        let mut buffer = [0; 100];
        let (len, from) = server.recv_from(&mut buffer).expect("it arrives");
        assert_eq!(&buffer[..len], b"hello");
        server.send_to(b"world", from).expect("it is sent");
        let len = client.recv(&mut buffer).expect("it arrives");
        assert_eq!(&buffer[..len], b"world");
    });
}
