//! The bridge through AF_XDP: what goes in comes out, what is counted is right, and where it is
//! refused AF_PACKET takes over and says why. Needs root.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::disallowed_methods, reason = "signals come in real time")]

mod common;

use common::{Link, Net, PATIENCE, Raw, frame, plain, tag_what_leaves, wait_for};
use sojourn_bridge::{Bridge, BridgeConfig, BridgeError, NoObserver, PortChoice, PortState};
use sojourn_units::Rate;
use sojourn_world::LineRate;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A bridge that passes everything at once, through AF_XDP.
fn xdp() -> BridgeConfig {
    BridgeConfig {
        port: PortChoice::Xdp,
        ..plain()
    }
}

/// Whether a program is attached to a device in the middle.
fn has_program(link: &Link, device: &str) -> bool {
    link.middle.run(|| {
        let mut ip = Command::new("ip");
        let output = ip
            .args(["-d", "link", "show", device])
            .output()
            .expect("ip runs");
        String::from_utf8_lossy(&output.stdout).contains("prog/xdp")
    })
}

/// Bytes that depend on their position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 65_521 % 251) as u8).collect()
}

#[test]
fn frames_of_all_sizes_pass_unchanged_both_ways_and_are_counted() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let bytes = pattern(1500);
    let tagged = |len: usize| [&[0, 5, 0x88, 0xb5][..], &bytes[..len]].concat();
    let plain_frames = (0..=1500).map(|len| frame(0x88b5, &bytes[..len]));
    let tagged_frames = [3, 46, 1500].map(|len| frame(0x8100, &tagged(len)));
    let frames: Vec<_> = plain_frames.chain(tagged_frames).collect();
    let ((), stats) = link.bridged(xdp(), || {
        assert!(has_program(&link, "a1") && has_program(&link, "b1"));
        for sent in &frames {
            left.send(sent);
            assert_eq!(right.receive(|got| got == sent).as_ref(), Some(sent), "up");
            right.send(sent);
            assert_eq!(left.receive(|got| got == sent).as_ref(), Some(sent), "down");
        }
    });
    assert!(!has_program(&link, "a1") && !has_program(&link, "b1"));
    for stats in [stats.up, stats.down] {
        assert_eq!(stats.queue.dropped.packets, 0);
        assert_eq!(stats.queue.offered, stats.queue.dequeued);
        assert_eq!(stats.input.received, frames.len() as u64);
        assert_eq!(stats.output.sent, frames.len() as u64);
        let lost = (
            stats.input.missed,
            stats.input.unreadable,
            stats.output.refused,
        );
        assert_eq!(lost, (0, 0, 0));
    }
}

/// Sends `data` from client to server and back by TCP.
fn transfer(link: &Link, data: &[u8]) {
    let listener = link
        .server
        .run(|| TcpListener::bind("10.9.0.2:5000").expect("a socket"));
    thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut received = Vec::new();
            stream.read_to_end(&mut received).expect("bytes");
            stream.write_all(&received).expect("bytes are taken");
        });
        let mut stream = link
            .client
            .run(|| TcpStream::connect("10.9.0.2:5000").expect("the way is open"));
        stream.write_all(data).expect("bytes are taken");
        let end = stream.shutdown(std::net::Shutdown::Write);
        end.expect("it is open");
        let mut back = Vec::new();
        stream.read_to_end(&mut back).expect("bytes");
        echo.join().expect("the server ends");
        assert!(back == data);
    });
}

/// Sends a datagram there and back.
fn ask(link: &Link) {
    let bound = |net: &Net, address| {
        let socket = net.run(move || UdpSocket::bind((address, 0)).expect("a socket"));
        socket.set_read_timeout(Some(PATIENCE)).expect("it is open");
        socket
    };
    let (server, client) = (
        bound(&link.server, "10.9.0.2"),
        bound(&link.client, "10.9.0.1"),
    );
    let to = server.local_addr().expect("it is bound");
    for len in [0, 1, 2, 1001, 1472, 4000] {
        let sent = pattern(len);
        client.send_to(&sent, to).expect("it is sent");
        let mut buffer = [0; 5000];
        let got = server.recv_from(&mut buffer);
        let (got, from) = got.unwrap_or_else(|error| panic!("{len} bytes: {error}"));
        assert!(buffer[..got] == sent);
        server.send_to(&buffer[..got], from).expect("it is sent");
        assert_eq!(client.recv(&mut buffer).expect("it arrives"), len);
    }
}

/// veth leaves checksums unfinished.
#[test]
fn tcp_and_udp_pass_with_partial_checksums() {
    let link = Link::new();
    let data = pattern(8 << 20);
    let ((), stats) = link.bridged(xdp(), || {
        ask(&link);
        transfer(&link, &data);
    });
    for stats in [stats.up, stats.down] {
        assert_eq!(stats.output.refused, 0);
        assert!(stats.queue.dequeued.bytes > data.len() as u64);
        // No super-packets: each frame is one segment.
        assert!(stats.output.sent > data.len() as u64 / 1448);
    }
}

/// More wait in the queue than there is memory for where they were received.
#[test]
fn what_waits_long_leaves_as_it_came() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let mut config = xdp();
    config.up.qdisc = "pfifo limit 5000".parse().expect("a qdisc");
    config.up.line.rate = LineRate::Fixed(Rate::from_bps(20_000_000));
    let frames: Vec<_> = (0..2000_u16)
        .map(|number| {
            let len = 100 + usize::from(number) % 200;
            frame(0x88b5, &[&number.to_be_bytes()[..], &pattern(len)].concat())
        })
        .collect();
    let ((), stats, _) = link.asked(config, NoObserver, |remote| {
        // The ring where they arrive has room for each part, though nobody looks for a while.
        for (number, part) in (1..).zip(frames.chunks(500)) {
            for sent in part {
                left.send(sent);
            }
            wait_for("the bridge has them", || {
                let up = &remote.snapshot().expect("it answers").stats[0];
                up.input.received >= number * 500
            });
        }
        for sent in &frames {
            assert_eq!(
                right.receive(|got| got[12..14] == sent[12..14]).as_ref(),
                Some(sent)
            );
        }
    });
    assert_eq!(stats.up.output.sent, frames.len() as u64);
}

#[test]
fn every_queue_of_an_interface_is_served() {
    let link = Link::with("numrxqueues 4 numtxqueues 4");
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats) = link.bridged(xdp(), || {
        // The sender's kernel chooses the queue by the flow.
        for number in 0..200_u8 {
            let sent = frame(0x88b5, &[number; 60]);
            left.send(&sent);
            assert_eq!(right.receive(|got| got == sent), Some(sent));
        }
        for _ in 0..20 {
            ask(&link);
        }
    });
    assert!(stats.up.input.received > 200);
    assert_eq!(stats.up.input.received, stats.up.output.sent);
}

/// What a bridge through AF_XDP says of its ports, and whether frames pass all the same.
fn refused(link: &Link, config: BridgeConfig) -> String {
    let state = link.middle.run(|| {
        let bridge = Bridge::open(config.clone()).expect("it goes on without");
        bridge.port_state().clone()
    });
    assert!(!has_program(link, "a1") && !has_program(link, "b1"));
    let said = state.to_string();
    assert!(
        said.starts_with("port: AF_PACKET, because AF_XDP is refused: "),
        "{said}"
    );
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let (word, stats, _) = link.asked(config, NoObserver, |remote| {
        let sent = frame(0x88b5, &[1; 100]);
        left.send(&sent);
        assert_eq!(right.receive(|got| got == sent), Some(sent));
        let snapshot = remote.snapshot().expect("it runs");
        let json = snapshot.json();
        let why = json["up"]["xdp_refused"].as_str().map(str::to_owned);
        assert!(
            snapshot.text().contains(" up port packet "),
            "{}",
            snapshot.text()
        );
        (json["up"]["port"].as_str().map(str::to_owned), why)
    });
    assert_eq!(stats.up.input.received, stats.up.output.sent);
    let PortState::Packet { refused } = state else {
        panic!("{said}");
    };
    assert_eq!(word, (Some("packet".to_owned()), refused.clone()));
    refused.expect("there is a reason")
}

#[test]
fn where_it_is_refused_packet_sockets_take_over_and_say_why() {
    let link = Link::new();
    let auto = BridgeConfig {
        port: PortChoice::Auto,
        ..plain()
    };
    let why = refused(&link, auto);
    assert_eq!(why, "`a1`: its driver has no zero-copy");
    let kept = BridgeConfig {
        keep_offloads: true,
        ..xdp()
    };
    assert!(refused(&link, kept).contains("rxvlan"));
    link.middle.ip("address add 192.0.2.1/24 dev b1");
    assert!(refused(&link, xdp()).contains("`b1`: it has an IP address"));
    link.middle.ip("address del 192.0.2.1/24 dev b1");
    link.mtu(9000);
    let why = refused(&link, xdp());
    assert!(why.contains("MTU of 9000 bytes is above"), "{why}");
    // The kernel's own limit, which lies below ours.
    link.mtu(3600);
    let why = refused(&link, xdp());
    assert!(why.contains("attach an XDP program"), "{why}");
    link.mtu(3000);
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    link.bridged(xdp(), || {
        let sent = frame(0x88b5, &pattern(3000));
        left.send(&sent);
        assert_eq!(right.receive(|got| got == sent), Some(sent));
    });
}

/// The kernel gives up loading a program when a signal is pending.
#[test]
fn signals_keep_no_program_from_being_loaded() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: plain old data for which all zeros is valid; the handler does nothing, and the
    // structure outlives the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        let before = std::ptr::null_mut();
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, before), 0);
    }
    let link = Link::new();
    thread::scope(|scope| {
        let (tell, opener) = mpsc::channel();
        let opens = scope.spawn(move || {
            link.middle.enter();
            // SAFETY: no pointers are passed.
            tell.send(unsafe { libc::pthread_self() })
                .expect("somebody hears");
            for _ in 0..20 {
                let bridge = Bridge::open(xdp()).expect("the bridge opens");
                let state = bridge.port_state();
                assert_eq!(state.word(), "xdp copy", "{state}");
            }
        });
        let opener = opener.recv().expect("it has begun");
        while !opens.is_finished() {
            // SAFETY: the thread has not been joined.
            assert_eq!(unsafe { libc::pthread_kill(opener, libc::SIGUSR2) }, 0);
            thread::sleep(Duration::from_micros(100));
        }
        opens.join().expect("it does not panic");
    });
}

/// The kernel lets go of a queue some time after the end of the bridge that had it.
#[test]
fn the_next_bridge_waits_for_the_queues_of_the_last() {
    let link = Link::new();
    link.middle.run(|| {
        for _ in 0..50 {
            let bridge = Bridge::open(xdp()).expect("the bridge opens");
            let state = bridge.port_state();
            assert_eq!(state.word(), "xdp copy", "{state}");
        }
    });
}

/// Frames longer than the other side's MTU are refused and counted, as by a packet socket.
#[test]
fn frames_too_long_for_the_other_side_are_refused() {
    let link = Link::new();
    link.client.ip("link set a0 mtu 2500");
    link.middle.ip("link set a1 mtu 2500");
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats) = link.bridged(xdp(), || {
        left.send(&frame(0x88b5, &[1; 2500]));
        let sent = frame(0x88b5, &[2; 1500]);
        left.send(&sent);
        assert_eq!(right.receive(|got| got[12] == 0x88), Some(sent));
    });
    assert_eq!(stats.up.output.refused, 1);
    assert_eq!(stats.up.output.sent, 1);
}

/// A tag that the kernel holds beside a frame, as of a VLAN device's, is put back into it.
#[test]
fn tags_beside_frames_pass_both_ways() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let ((), stats) = link.bridged(xdp(), || {
        for (ether_type, tci) in [(0x8100_u16, 0x2005_u16), (0x88a8, 7)] {
            let _tags = [
                tag_what_leaves(&link.client, "a0", ether_type, tci),
                tag_what_leaves(&link.server, "b0", ether_type, tci),
            ];
            for len in [46, 1000, 1500] {
                let payload = pattern(len);
                let tagged = [&tci.to_be_bytes()[..], &[0x88, 0xb5], &payload].concat();
                let expected = Some(frame(ether_type, &tagged));
                let wanted = |got: &[u8]| got.len() == 18 + len;
                left.send(&frame(0x88b5, &payload));
                assert_eq!(right.receive(wanted), expected, "up");
                right.send(&frame(0x88b5, &payload));
                assert_eq!(left.receive(wanted), expected, "down");
            }
        }
    });
    for stats in [stats.up, stats.down] {
        assert_eq!((stats.output.refused, stats.input.unreadable), (0, 0));
    }
}

/// How a bridge through AF_XDP ends by itself when `remove` is done to its link.
fn end(link: &Link, remove: impl FnOnce()) -> BridgeError {
    let (ready, is_ready) = mpsc::channel();
    thread::scope(|scope| {
        let runner = scope.spawn(move || {
            link.middle.enter();
            let mut bridge = Bridge::open(xdp()).expect("it opens");
            assert!(matches!(bridge.port_state(), PortState::Xdp { .. }));
            ready.send(()).expect("the test waits");
            bridge.run(&AtomicBool::new(false), &mut NoObserver)
        });
        is_ready.recv().expect("it is open");
        remove();
        let ended = runner.join().expect("it does not panic");
        ended.expect_err("an interface is gone")
    })
}

#[test]
fn it_ends_when_an_interface_is_removed_and_says_which() {
    for gone in ["a1", "b1"] {
        let link = Link::new();
        let error = end(&link, || link.middle.ip(&format!("link delete {gone}")));
        assert!(
            matches!(&error, BridgeError::Gone(name) if name == gone),
            "{error}"
        );
        let other = if gone == "a1" { "b1" } else { "a1" };
        assert!(!has_program(&link, other));
    }
    // With the other end of its pair it is gone as well.
    let link = Link::new();
    let error = end(&link, || link.client.ip("link delete a0"));
    assert!(
        matches!(&error, BridgeError::Gone(name) if name == "a1"),
        "{error}"
    );
}

#[test]
fn an_interface_that_was_down_is_served_again() {
    let link = Link::new();
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    link.bridged(xdp(), || {
        for round in 0..3_u8 {
            for device in ["a1", "b1"] {
                link.middle.ip(&format!("link set {device} down"));
                link.middle.ip(&format!("link set {device} up"));
                let sent = frame(
                    0x88b5,
                    &[&[round][..], device.as_bytes(), &[0; 80]].concat(),
                );
                for [from, to] in [[&left, &right], [&right, &left]] {
                    // The kernel needs some time to see that the other end has a carrier.
                    let arrives = || {
                        from.send(&sent);
                        (0..5).any(|_| to.read().is_some_and(|got| got == sent))
                    };
                    assert!((0..200).any(|_| arrives()), "{device}, round {round}");
                }
            }
        }
    });
}
