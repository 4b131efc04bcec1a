//! Datagrams of a UDP socket with the ECN field that they came with (`IP_RECVTOS`, `ip(7)`).

use crate::sys::{ControlBuffer, receive, set_option};
use sojourn_qdisc::Ecn;
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;

/// Has a socket tell [`receive_datagram`] of ECN fields.
///
/// # Errors
/// What the kernel refuses.
pub fn hear_ecn(socket: impl AsFd) -> io::Result<()> {
    set_option(
        socket,
        libc::IPPROTO_IP,
        libc::IP_RECVTOS,
        &1_i32.to_ne_bytes(),
    )
}

/// Receives a datagram without waiting: its payload's whole length in bytes, even of what did not
/// fit into `buffer`, and its ECN field. Without [`hear_ecn`] this is always [`Ecn::NotEct`].
///
/// # Errors
/// What the kernel says; `WouldBlock` when there is none.
pub fn receive_datagram(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Ecn)> {
    let mut control = [ControlBuffer([0; ControlBuffer::LEN])];
    let mut lengths = [0];
    receive::<1, 1>(
        socket,
        &mut [[IoSliceMut::new(buffer)]],
        &mut control,
        &mut lengths,
    )?;
    Ok((lengths[0] as usize, ecn(&control[0].0)))
}

/// The ECN field of a control message (`cmsg(3)`): the first one, since no other is asked for.
fn ecn(control: &[u8; ControlBuffer::LEN]) -> Ecn {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let half = |at: usize| {
        let bytes = control[at..]
            .first_chunk()
            .expect("it is within the header");
        u32::from_ne_bytes(*bytes).cast_signed()
    };
    // Behind the length, a word: level and kind.
    match (half(HEADER - 8), half(HEADER - 4)) {
        (libc::IPPROTO_IP, libc::IP_TOS) => Ecn::from_bits(control[HEADER]),
        _ => Ecn::NotEct,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::sockopt;
    use std::net::UdpSocket;

    #[test]
    fn a_datagram_tells_its_ecn_field() {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = far.local_addr().unwrap();
        let mut buffer = [0; 4];
        let mut sent = |ecn: Ecn| {
            // The DSCP is no part of it.
            sockopt::set_ip_tos(&near, 0xb8 | ecn as u8).unwrap();
            near.send_to(&[7; 9], to).unwrap();
            receive_datagram(&far, &mut buffer).unwrap()
        };
        assert_eq!(sent(Ecn::Ect1), (9, Ecn::NotEct));
        hear_ecn(&far).unwrap();
        for ecn in [Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::NotEct] {
            assert_eq!(sent(ecn), (9, ecn));
        }
        let none = receive_datagram(&far, &mut buffer).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(buffer, [7; 4]);
    }
}
