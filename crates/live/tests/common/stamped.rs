//! Datagrams with the kernel's times of arrival.
#![allow(unsafe_code, reason = "system calls")]
// The kernel's control messages are read unaligned.
#![allow(clippy::cast_ptr_alignment)]

use super::Net;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// A UDP socket that says when its interface got a datagram, whenever it is read.
pub struct Stamped(UdpSocket);

impl Stamped {
    /// At an IPv4 address in a namespace, with room for what comes while nobody reads.
    pub fn new(net: &Net, address: &str) -> Self {
        let socket = net.run(|| UdpSocket::bind(address).expect("a socket"));
        let set = |option, value: i32| {
            let value = (&raw const value).cast();
            // SAFETY: the option is an integer, which outlives the call.
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, 4) }
        };
        assert_eq!(set(libc::SO_TIMESTAMPNS, 1), 0, "stamps");
        assert_eq!(set(libc::SO_RCVBUFFORCE, 16 << 20), 0, "room");
        Self(socket)
    }

    /// The next datagram: the last byte of its sender's address, and when it arrived in nanoseconds
    /// of the system's clock.
    pub fn receive(&self) -> (u8, u64) {
        let mut payload = [0_u8; 2048];
        let mut control = [0_u64; 16];
        // SAFETY: plain old data for which all zeros is valid; pointers lead to live buffers of
        // the lengths beside them; the control message is read as the kernel wrote it.
        unsafe {
            let mut part = libc::iovec {
                iov_base: payload.as_mut_ptr().cast(),
                iov_len: payload.len(),
            };
            let mut from: libc::sockaddr_in = std::mem::zeroed();
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_name = (&raw mut from).cast();
            message.msg_namelen = size_of_val(&from) as u32;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control);
            let len = libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0);
            assert!(len >= 0, "a datagram");
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            assert!(!header.is_null(), "with a stamp");
            let stamp = libc::CMSG_DATA(header)
                .cast::<libc::timespec>()
                .read_unaligned();
            let last = u32::from_be(from.sin_addr.s_addr).to_be_bytes()[3];
            let nanos = stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec;
            (last, nanos.cast_unsigned())
        }
    }
}
