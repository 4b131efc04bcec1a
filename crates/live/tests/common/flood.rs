//! Datagrams of several flows that take no notice of losses.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

use super::{Link, Raw, StopOnDrop, stay_on_a_processor};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The first source port of the flows.
pub const FIRST: u16 = 4000;
/// What a frame has in front of its datagram's payload.
const HEADERS: usize = 42;

/// What has come out of a flow.
#[derive(Default)]
pub struct Came {
    pub frames: u64,
    last: u32,
}

/// Jain's index of what came out of flows.
pub fn jain(came: &BTreeMap<u16, Came>) -> f64 {
    let frames = || came.values().map(|flow| flow.frames as f64);
    let (sum, squares): (f64, f64) = (frames().sum(), frames().map(|it| it * it).sum());
    sum * sum / (squares * came.len() as f64)
}

/// Has flows send up twice `rate` together for a while, each with numbers, and yields by source port
/// what came out, in order, and the rate of all in bit/s from the first second on; zero if a busy
/// machine has let nothing come by then.
pub fn flood(link: &Link, flows: u16, rate: u64, length: Duration) -> (BTreeMap<u16, Came>, f64) {
    let right = Raw::new(&link.server, "b0");
    let sink = link
        .server
        .run(|| UdpSocket::bind("10.9.0.2:9"))
        .expect("a socket");
    let socket = |port| {
        let socket = link
            .client
            .run(|| UdpSocket::bind(("10.9.0.1", port)))
            .expect("a port");
        socket.connect("10.9.0.2:9").expect("an address");
        socket
    };
    let sockets: Vec<UdpSocket> = (FIRST..FIRST + flows).map(socket).collect();
    let done = AtomicBool::new(false);
    let came = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut came, mut sum, mut began) = (BTreeMap::<u16, Came>::new(), 0, None);
            let (start, mut last) = (Instant::now(), Instant::now());
            while !done.load(Ordering::Relaxed) {
                let Some(got) = right.read() else { continue };
                if got.len() < HEADERS + 4 || got[12..14] != [8, 0] || got[23] != 17 {
                    continue;
                }
                last = Instant::now();
                if start.elapsed() < Duration::from_secs(1) {
                    continue;
                }
                match began {
                    None => began = Some(last),
                    Some(_) => sum += got.len(),
                }
                let port = u16::from_be_bytes([got[34], got[35]]);
                let number = got[HEADERS..HEADERS + 4].try_into().expect("four bytes");
                let number = u32::from_be_bytes(number);
                let flow = came.entry(port).or_default();
                assert!(
                    flow.frames == 0 || flow.last < number,
                    "{port} is out of order"
                );
                flow.last = number;
                flow.frames += 1;
            }
            let lasted = began.map_or(Duration::ZERO, |began| last - began);
            let is_rate = !lasted.is_zero();
            let rate = is_rate.then(|| sum as f64 * 8.0 / lasted.as_secs_f64());
            (came, rate.unwrap_or(0.0))
        });
        let _done = StopOnDrop(&done);
        let sender = scope.spawn(|| {
            stay_on_a_processor();
            send(&sockets, 2 * rate / 8 / 1514, length);
        });
        sender.join().expect("the sender ends");
        done.store(true, Ordering::Relaxed);
        receiver.join().expect("the receiver ends")
    });
    drop(sink);
    came
}

/// Sends so many datagrams a second for a while, of each socket in turn.
fn send(sockets: &[UdpSocket], each_second: u64, length: Duration) {
    let start = Instant::now();
    let (mut sent, mut number) = (0_u64, 0_u32);
    while start.elapsed() < length {
        while sent < start.elapsed().as_micros() as u64 * each_second / 1_000_000 {
            number += 1;
            let mut datagram = [0; 1472];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            for socket in sockets {
                // What finds no room is a loss like others.
                let _ = socket.send(&datagram);
                sent += 1;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}
