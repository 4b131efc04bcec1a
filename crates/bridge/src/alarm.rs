//! A socket that tells of frames that are in a hurry, and holds no other: what wakes a thread up
//! while a shaper has enough to send. The frames themselves come through another one.
//!
//! The filter has the rule of [`hurry`](crate::hurry). Whatever it does not know is in a hurry:
//! frames within VLAN tags, fragments, headers behind others.

use crate::hurry::{ENDS, FULL};
use crate::interface::Interface;
use crate::sys;
use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JGE, BPF_JMP};
use libc::{BPF_ADD, BPF_JSET, BPF_K, BPF_LD, BPF_LDX, BPF_LEN, BPF_MEM, BPF_MISC, BPF_MSH};
use libc::{BPF_RET, BPF_RSH, BPF_ST, BPF_TAX, BPF_W, BPF_X, sock_filter};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socket_with};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `PACKET_IGNORE_OUTGOING`, Linux 4.20 (`if_packet.h`).
pub(crate) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A socket of one interface that becomes readable when a frame in a hurry arrives.
///
/// It has to be opened and bound before the socket that has the frames: the kernel hands a frame to
/// the one that was bound last first, so that it is there when this one tells.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not bound: it tells of nothing yet.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        let one = 1_i32.to_ne_bytes();
        let level = libc::SOL_PACKET;
        sys::set_option(&socket, level, PACKET_IGNORE_OUTGOING, &one)?;
        // The least that there is: one frame is as good as many.
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &one)?;
        sys::attach_filter(&socket, &filter())?;
        Ok(Self(socket))
    }

    /// From now on it tells of the frames of this interface.
    pub(crate) fn bind(&self, interface: &Interface) -> io::Result<()> {
        sys::bind_to_interface(&self.0, interface.index)
    }

    /// It has been heard: from now on it tells of others.
    pub(crate) fn clear(&self) {
        /// More than fit, and an error that it tells of.
        const MOST: usize = 16;
        for _ in 0..MOST {
            let heard = recv(&self.0, &mut [0_u8; 1], RecvFlags::DONTWAIT);
            if heard.is_err_and(|error| error == Errno::AGAIN) {
                return;
            }
        }
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Where a jump leads to.
#[derive(Clone, Copy)]
enum To {
    Next,
    Hurry,
    None,
    V4,
    V6,
}

/// An instruction: code, operand, and where to go on if it is true and if it is not.
type Step = (u32, u32, To, To);

/// The filter: zero bytes of what is in no hurry, one of everything else.
fn filter() -> Vec<sock_filter> {
    let parts = parts();
    let places = [parts[0].len(), parts[1].len(), parts[2].len()];
    let place = |at: usize, to: To| {
        let place = match to {
            To::Next => at + 1,
            To::V4 => places[0],
            To::V6 => places[0] + places[1],
            To::Hurry => places.iter().sum(),
            To::None => places.iter().sum::<usize>() + 1,
        };
        (place - at - 1) as u8
    };
    let steps = parts
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, (code, k, jt, jf))| sock_filter {
            code: code as u16,
            jt: place(at, jt),
            jf: place(at, jf),
            k,
        });
    steps.collect()
}

/// What is asked of all frames, of IPv4, of IPv6, and both ends.
fn parts() -> [Vec<Step>; 4] {
    use To::{Hurry, Next, None, V4, V6};
    const ETHERNET: u32 = 14;
    const TCP: u32 = 6;
    let load = BPF_LD | BPF_ABS;
    let jump = |kind| BPF_JMP | kind | BPF_K;
    let jump_x = BPF_JMP | BPF_JEQ | BPF_X;
    let front = [
        (BPF_LD | BPF_W | BPF_LEN, 0, Next, Next),
        (jump(BPF_JGE), FULL, None, Next),
        (load | BPF_H, 12, Next, Next),
        (jump(BPF_JEQ), 0x0800, V4, Next),
        (jump(BPF_JEQ), 0x86dd, V6, Hurry),
    ];
    // The length that the packet says is that of its headers, in M[0], and TCP's flags are plain.
    let v4 = [
        (load | BPF_B, ETHERNET + 9, Next, Next),
        (jump(BPF_JEQ), TCP, Next, Hurry),
        (load | BPF_H, ETHERNET + 6, Next, Next),
        (jump(BPF_JSET), 0x3fff, Hurry, Next),
        (load | BPF_H, ETHERNET + 2, Next, Next),
        (BPF_ST, 0, Next, Next),
        (BPF_LDX | BPF_B | BPF_MSH, ETHERNET, Next, Next),
        (BPF_LD | BPF_B | BPF_IND, ETHERNET + 13, Next, Next),
        (jump(BPF_JSET), ENDS.into(), Hurry, Next),
        (BPF_LD | BPF_B | BPF_IND, ETHERNET + 12, Next, Next),
        (BPF_ALU | BPF_RSH | BPF_K, 2, Next, Next),
        (BPF_ALU | BPF_AND | BPF_K, 0x3c, Next, Next),
        (BPF_ALU | BPF_ADD | BPF_X, 0, Next, Next),
        (BPF_MISC | BPF_TAX, 0, Next, Next),
        (BPF_LD | BPF_MEM, 0, Next, Next),
        (jump_x, 0, None, Hurry),
    ];
    let v6 = [
        (load | BPF_B, ETHERNET + 6, Next, Next),
        (jump(BPF_JEQ), TCP, Next, Hurry),
        (load | BPF_H, ETHERNET + 4, Next, Next),
        (BPF_ST, 0, Next, Next),
        (load | BPF_B, ETHERNET + 40 + 13, Next, Next),
        (jump(BPF_JSET), ENDS.into(), Hurry, Next),
        (load | BPF_B, ETHERNET + 40 + 12, Next, Next),
        (BPF_ALU | BPF_RSH | BPF_K, 2, Next, Next),
        (BPF_ALU | BPF_AND | BPF_K, 0x3c, Next, Next),
        (BPF_MISC | BPF_TAX, 0, Next, Next),
        (BPF_LD | BPF_MEM, 0, Next, Next),
        (jump_x, 0, None, Hurry),
    ];
    let ends = [
        (BPF_RET | BPF_K, 1, Next, Next),
        (BPF_RET | BPF_K, 0, Next, Next),
    ];
    [front.to_vec(), v4.to_vec(), v6.to_vec(), ends.to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::forwarding::{Frame, FramePort, Pool};
    use crate::links::Links;
    use crate::packet_socket::PacketSocket;
    use crate::sys::new_network_namespace;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use sojourn_units::Time;
    use std::io::ErrorKind;
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;

    /// An Ethernet frame of this type.
    fn ethernet(ether_type: u16, packet: &[u8]) -> Vec<u8> {
        [&[2; 12], &ether_type.to_be_bytes()[..], packet].concat()
    }

    /// An IPv4 packet with so many bytes of options, this field of fragments, and this protocol.
    fn v4(options: usize, fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 20 + options];
        header[0] = 0x40 | (header.len() / 4) as u8;
        let total = (header.len() + payload.len()) as u16;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        (header[8], header[9]) = (64, protocol);
        ethernet(0x0800, &[&header, payload].concat())
    }

    fn v6(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut header = [0; 40];
        header[0] = 0x60;
        header[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        (header[6], header[7]) = (protocol, 64);
        ethernet(0x86dd, &[&header, payload].concat())
    }

    /// A TCP segment with so many bytes of options and of payload.
    fn tcp(flags: u8, options: usize, payload: usize) -> Vec<u8> {
        let mut segment = vec![0; 20 + options + payload];
        segment[12] = (((20 + options) / 4) << 4) as u8;
        segment[13] = flags;
        segment
    }

    const ACK: u8 = 0x10;
    const PUSH: u8 = 0x18;

    /// Frames, and whether they are in a hurry.
    fn frames() -> Vec<(Vec<u8>, bool)> {
        let mut padded = v4(0, 0, 6, &tcp(ACK, 0, 0));
        padded.resize(60, 0);
        vec![
            (v4(0, 0, 6, &tcp(ACK, 0, 0)), false),
            (padded, false),
            (v4(0, 0x4000, 6, &tcp(ACK, 12, 0)), false),
            (v4(8, 0, 6, &tcp(ACK | 0x40, 40, 0)), false),
            (v4(0, 0, 6, &tcp(PUSH, 12, 1)), true),
            (v4(8, 0, 6, &tcp(ACK, 40, 800)), true),
            (v4(0, 0, 6, &tcp(PUSH, 0, 946)), false),
            (v4(0, 0, 6, &tcp(PUSH, 0, 945)), true),
            (v4(0, 0, 6, &tcp(0x02, 20, 0)), true),
            (v4(0, 0, 6, &tcp(0x11, 12, 0)), true),
            (v4(0, 0, 6, &tcp(0x04, 0, 0)), true),
            (v4(0, 0x2000, 6, &tcp(ACK, 0, 0)), true),
            (v4(0, 7, 6, &tcp(ACK, 0, 0)), true),
            (v4(0, 0, 17, &[0; 8]), true),
            (v4(0, 0, 17, &[0; 1208]), false),
            (v4(0, 0, 1, &[8; 64]), true),
            (v6(6, &tcp(ACK, 12, 0)), false),
            (v6(6, &tcp(PUSH, 12, 5)), true),
            (v6(6, &tcp(0x12, 12, 0)), true),
            (v6(17, &[0; 30]), true),
            (v6(58, &[128; 64]), true),
            (ethernet(0x0806, &[0; 28]), true),
            (ethernet(0x88b5, &[0; 1500]), false),
        ]
    }

    /// A socket of any kind asks the filter, with what was sent from its first byte on.
    #[test]
    fn full_frames_and_acks_are_in_no_hurry() {
        let (from, to) = UnixDatagram::pair().expect("a pair");
        to.set_nonblocking(true).expect("it does not block");
        sys::attach_filter(&to, &filter()).expect("it is a filter");
        let mut pool = Pool::new(4);
        for (number, (bytes, hurries)) in frames().into_iter().enumerate() {
            from.send(&bytes).expect("there is room");
            match to.recv(&mut [0; 2048]) {
                Ok(told) => assert!(hurries && told == 1, "frame {number}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    assert!(!hurries, "frame {number}");
                }
            }
            let mut frame =
                Frame::from_bytes(&mut pool, &bytes, Time::ZERO).expect("there is room");
            frame.note_hurry();
            assert_eq!(frame.hurries(), hurries, "frame {number}");
            pool.give(frame);
        }
    }

    /// A frame that was told of is there, and one in no hurry is not told of.
    #[test]
    fn it_tells_of_what_has_arrived() {
        let inside = || {
            if new_network_namespace().is_err() {
                assert!(std::env::var_os("CI").is_none(), "this takes root");
                return;
            }
            for words in [
                "link add a0 type veth peer name a1",
                "link set a0 addrgenmode none",
                "link set a1 addrgenmode none",
                "link set a0 up",
                "link set a1 up",
            ] {
                let ran = Command::new("ip").args(words.split(' ')).status();
                assert!(ran.expect("iproute2 is there").success(), "ip {words}");
            }
            // What a cable is given before the kernel's worker has seen its carrier is lost.
            let mut links = Links::open().expect("netlink is there");
            for name in ["a0", "a1"] {
                let index = Interface::index_of(name).expect("it is there");
                while !links.link(index).expect("it is there").is_operational() {
                    thread::yield_now();
                }
            }
            let clock = Clock::start();
            let mut pool = Pool::new(10_000);
            let mut open = |name, has_alarm: bool| {
                let alarm = has_alarm.then(|| Alarm::open().expect("there is one"));
                let mut socket = PacketSocket::open(&mut pool, false).expect("a socket");
                socket.set_alarm(alarm);
                let interface = Interface::find(name).expect("it is there");
                socket.bind(&interface).expect("it can be bound");
                socket
            };
            let (mut from, mut to) = (open("a0", false), open("a1", true));
            let (go_on, goes_on) = mpsc::channel();
            let sender = thread::spawn(move || {
                let mut pool = Pool::new(200);
                while let Ok(()) = goes_on.recv() {
                    let mut frames = [1000, 100]
                        .map(|len| ethernet(0x88b5, &vec![0; len - 14]))
                        .map(|frame| Frame::from_bytes(&mut pool, &frame, Time::ZERO))
                        .into_iter()
                        .flatten()
                        .collect();
                    from.send(&mut pool, &mut frames).expect("it is up");
                    assert!(frames.is_empty());
                }
            });
            let rings = |to: &PacketSocket, patience| {
                let alarm = to.alarm().expect("it has one");
                let mut polled = [PollFd::from_borrowed_fd(alarm, PollFlags::IN)];
                poll(&mut polled, patience).expect("it is open") > 0
            };
            let (at_once, mut into) = (Timespec::default(), Vec::new());
            for _ in 0..500 {
                go_on.send(()).expect("the sender waits");
                assert!(rings(&to, None));
                to.receive(&mut pool, &clock, &mut into).expect("it is up");
                let sizes: Vec<_> = into.iter().map(Frame::size).collect();
                assert_eq!(sizes, [1000, 100]);
                into.drain(..).for_each(|frame| pool.give(frame));
                to.clear_alarm();
                assert!(!rings(&to, Some(&at_once)));
            }
            drop(go_on);
            sender.join().expect("it does not panic");
        };
        thread::spawn(inside).join().expect("it does not panic");
    }
}
