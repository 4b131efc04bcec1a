//! Each frame goes one way, through us or through the kernel bridge, whatever happens meanwhile.
//! Passed over without root, except in CI.

use super::*;
use crate::alarm::Alarm;
use crate::forwarding::{Frame, FramePort, Pool};
use crate::packet_socket::PacketSocket;
use crate::sys::{new_network_namespace, tap};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Frames that are under way at once: as many as fit into any queue.
const BATCH: u32 = 64;
const KIND: [u8; 2] = [0x88, 0xb5];
/// Longer than anything takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two TAP devices, whose other ends are the files: what is written there arrives at the device,
/// and what leaves by it is read there.
struct Rig {
    wires: [File; 2],
    interfaces: [Interface; 2],
    ports: Vec<[Port; 2]>,
    pool: Pool,
    clock: Clock,
    sent: u32,
}

impl Rig {
    /// With so many sockets at each interface; none where the kernel has no TAP devices, which
    /// fails in CI.
    fn new(sockets: usize) -> Option<Self> {
        if let Err(error) = tap("probe") {
            assert!(std::env::var_os("CI").is_none(), "/dev/net/tun: {error}");
            eprintln!("passed over: /dev/net/tun: {error}");
            return None;
        }
        let wires = ["left", "right"].map(|name| {
            let wire = tap(name).expect("there are TAP devices");
            let up = ["link", "set", name, "up"];
            let ran = Command::new("ip").args(up).status();
            assert!(ran.expect("iproute2 is there").success());
            wire
        });
        let interfaces = ["left", "right"].map(|name| Interface::find(name).expect("it is up"));
        let mut rig = Self {
            wires,
            interfaces,
            ports: Vec::new(),
            pool: Pool::of(1 << 30),
            clock: Clock::start(),
            sent: 0,
        };
        rig.listen(sockets);
        Some(rig)
    }

    fn listen(&mut self, sockets: usize) {
        let mut groups = [None; 2];
        for _ in 0..sockets {
            let opened = [0, 1].map(|side| {
                let mut socket =
                    PacketSocket::open(&mut self.pool, false).expect("this takes root");
                // A second filter that sees every frame.
                socket.set_alarm((sockets == 1).then(|| Alarm::open().expect("a socket")));
                socket.bind(&self.interfaces[side]).expect("it is there");
                if sockets > 1 {
                    let joined = socket.join(&mut groups[side], &mut self.pool, &self.clock);
                    joined.expect("Linux 6.2");
                }
                Port::Packet(Box::new(socket))
            });
            self.ports.push(opened);
        }
    }

    fn install(&mut self, hook: Hook) -> FailOpenBridge {
        let [left, right] = &self.interfaces;
        let bridge = FailOpenBridge::install(left, right, false, hook, &mut [], &mut self.ports);
        bridge.expect("the kernel can do it")
    }

    /// Sends a batch of frames to the left interface; tells how often our sockets and the kernel
    /// bridge had each of them once all have come.
    fn send(&mut self) -> Vec<[u32; 2]> {
        let first = self.sent;
        self.sent += BATCH;
        for number in first..self.sent {
            let frame = [&[2; 12], &KIND[..], &number.to_be_bytes(), &[0; 42]].concat();
            self.wires[0].write_all(&frame).expect("it is up");
        }
        let mut seen = vec![[0; 2]; BATCH as usize];
        let start = Instant::now();
        let mut looks = 0;
        // A look more once each has come somewhere: whether it comes twice.
        while looks < 2 {
            for number in self.taken() {
                seen[(number - first) as usize][0] += 1;
            }
            for number in self.forwarded() {
                seen[(number - first) as usize][1] += 1;
            }
            let all = seen.iter().all(|[ours, theirs]| ours + theirs > 0);
            looks += u32::from(all || start.elapsed() > PATIENCE);
        }
        seen
    }

    fn taken(&mut self) -> Vec<u32> {
        let mut frames: Vec<Frame> = Vec::new();
        for [left, _] in &mut self.ports {
            while left
                .receive(&mut self.pool, &self.clock, &mut frames)
                .expect("it is up")
                > 0
            {}
        }
        let numbers = frames
            .iter()
            .filter_map(|frame| number(frame.parts()[0]))
            .collect();
        for frame in frames {
            self.pool.give(frame);
        }
        numbers
    }

    fn forwarded(&mut self) -> Vec<u32> {
        let (mut buffer, mut numbers) = ([0; 2048], Vec::new());
        while let Ok(len) = self.wires[1].read(&mut buffer) {
            numbers.extend(number(&buffer[..len]));
        }
        numbers
    }

    fn by_kernel(&mut self) -> u64 {
        let left = self.ports.iter_mut().map(|[left, _]| left);
        left.map(|port| port.counters().by_kernel).sum()
    }
}

/// A child that another test starts holds copies of our sockets until it has become its program:
/// so long they still mark frames as taken, and nobody reads them.
fn wait_until_sockets_are_closed() {
    let start = Instant::now();
    loop {
        let open = fs::read_to_string("/proc/thread-self/net/packet");
        // The first line names the columns.
        if open.expect("it is our own").lines().count() == 1 {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "a socket stays open");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The number in a frame of ours.
fn number(frame: &[u8]) -> Option<u32> {
    let number = frame.get(14..18)?.first_chunk()?;
    (frame[12..14] == KIND).then_some(u32::from_be_bytes(*number))
}

/// In a network namespace of its own.
fn apart(work: impl FnOnce() + Send + 'static) {
    let inside = || {
        if new_network_namespace().is_err() {
            assert!(std::env::var_os("CI").is_none(), "this takes root");
            return;
        }
        work();
    };
    thread::spawn(inside).join().expect("it does not panic");
}

const OURS: [u32; 2] = [1, 0];
const THEIRS: [u32; 2] = [0, 1];

#[test]
fn frames_go_the_way_that_the_time_says() {
    for (hook, sockets) in [(Hook::Newest, 1), (Hook::Newest, 2), (Hook::Clsact, 1)] {
        apart(move || {
            let Some(mut rig) = Rig::new(sockets) else {
                return;
            };
            let mut bridge = rig.install(hook);
            let all = |seen: Vec<[u32; 2]>, way| assert_eq!(seen, [way; BATCH as usize]);
            all(rig.send(), OURS);
            bridge.take_until(rig.clock.now(), rig.clock);
            all(rig.send(), THEIRS);
            assert_eq!(rig.by_kernel(), u64::from(BATCH));
            bridge.open_now();
            all(rig.send(), THEIRS);
            bridge.take_over();
            all(rig.send(), OURS);
            assert_eq!(rig.by_kernel(), u64::from(BATCH));
            // As when the process dies and leaves its gate.
            rig.ports.clear();
            wait_until_sockets_are_closed();
            all(rig.send(), THEIRS);
            // Another one finds a bridge that forwards.
            rig.listen(sockets);
            drop(rig.install(hook));
        });
    }
}

/// Others remove the programs that keep frames from the kernel bridge: a frame comes twice until
/// they are back, and once from then on.
#[test]
fn a_gate_that_was_removed_is_put_back() {
    for hook in [Hook::Newest, Hook::Clsact] {
        apart(move || {
            let Some(mut rig) = Rig::new(1) else {
                return;
            };
            let bridge = rig.install(hook);
            let gate = bridge.gate();
            let put_back = || locked(&gate).put_back().expect("the interfaces are there");
            assert_eq!(put_back(), [false; 2], "{hook:?}: nothing is gone");
            locked(&gate).detach().expect("it is ours");
            if hook == Hook::Clsact {
                tc("qdisc delete dev left clsact");
                tc("filter delete dev right ingress");
            }
            assert_eq!(rig.send(), [[1, 1]; BATCH as usize], "{hook:?}: no gate");
            assert_eq!(put_back(), [true; 2], "{hook:?}");
            assert_eq!(rig.send(), [OURS; BATCH as usize], "{hook:?}: a gate");
            assert_eq!(put_back(), [false; 2], "{hook:?}: it is there again");
        });
    }
}

fn tc(words: &str) {
    let ran = Command::new("tc").args(words.split(' ')).status();
    assert!(ran.expect("iproute2 is there").success(), "tc {words}");
}

/// The time is changed while frames are under way, as fast as a processor can.
#[test]
fn no_frame_goes_both_ways_or_neither() {
    for (hook, sockets) in [(Hook::Newest, 1), (Hook::Newest, 2), (Hook::Clsact, 1)] {
        apart(move || {
            let Some(mut rig) = Rig::new(sockets) else {
                return;
            };
            let bridge = rig.install(hook);
            let (clock, done) = (rig.clock, AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        bridge.take_until(clock.now(), clock);
                        bridge.take_until(Time::MAX, clock);
                        bridge.open_now();
                        bridge.take_until(Time::MAX, clock);
                    }
                });
                let mut ways = [0; 2];
                let seen: Vec<_> = (0..300).map(|_| rig.send()).collect();
                done.store(true, Ordering::Relaxed);
                for way in seen.into_iter().flatten() {
                    assert!([OURS, THEIRS].contains(&way), "{hook:?}: {way:?}");
                    ways[way[1] as usize] += 1;
                }
                println!("{hook:?}, {sockets} sockets: {ways:?}");
            });
        });
    }
}
