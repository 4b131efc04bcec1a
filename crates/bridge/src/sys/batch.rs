//! Batches of messages: `recvmmsg(2)` and `sendmmsg(2)`.
//!
//! Both as bare system calls: musl's `sendmmsg` sends one message after the other. Its `msghdr` has
//! shorter lengths than the kernel's, beside padding that is zero here and makes them whole.

use super::check;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null_mut;

/// Room for the control messages of one message, aligned as `cmsghdr` wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct ControlBuffer(pub(crate) [u8; Self::LEN]);

impl ControlBuffer {
    /// Bytes: enough for the time stamp, the mark and the auxiliary data of a packet.
    pub(crate) const LEN: usize = 128;
}

/// Receives a message into each of `parts` without waiting; a message fills its parts one after
/// the other. Yields how many came; their whole lengths, even of what did not fit, are in
/// `lengths`, and their control messages, zero behind the last one, in `control`.
pub(crate) fn receive<const MOST: usize, const PARTS: usize>(
    socket: impl AsFd,
    parts: &mut [[IoSliceMut<'_>; PARTS]],
    control: &mut [ControlBuffer],
    lengths: &mut [u32],
) -> io::Result<usize> {
    // SAFETY: plain old data for which all zeros is valid.
    let mut messages: [libc::mmsghdr; MOST] = unsafe { zeroed() };
    let mut batch = 0;
    for (message, (parts, control)) in messages.iter_mut().zip(parts.iter_mut().zip(&mut *control))
    {
        let header = &mut message.msg_hdr;
        // An `IoSliceMut` is an `iovec`, says its documentation.
        header.msg_iov = parts.as_mut_ptr().cast();
        header.msg_iovlen = PARTS as _;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = ControlBuffer::LEN as _;
        batch += 1;
    }
    // SAFETY: every pointer in the first `batch` messages leads to memory of the length beside it,
    // which the arguments borrow until the call returns.
    let count = unsafe {
        libc::syscall(
            libc::SYS_recvmmsg,
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            batch,
            libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            null_mut::<libc::timespec>(),
        )
    };
    let count = check(count)? as usize;
    for (slot, message) in messages[..count].iter().enumerate() {
        lengths[slot] = message.msg_len;
        // What was not written this time must not be read as if it had been.
        let written = ControlBuffer::LEN.min(message.msg_hdr.msg_controllen as _);
        control[slot].0[written..].fill(0);
    }
    Ok(count)
}

/// Sends a message of each of `parts` without waiting; yields how many went.
pub(crate) fn send<const MOST: usize, const PARTS: usize>(
    socket: impl AsFd,
    parts: &[[IoSlice<'_>; PARTS]],
) -> io::Result<usize> {
    // SAFETY: plain old data for which all zeros is valid.
    let mut messages: [libc::mmsghdr; MOST] = unsafe { zeroed() };
    let mut batch = 0;
    for (message, parts) in messages.iter_mut().zip(parts) {
        let used = PARTS
            - parts
                .iter()
                .rev()
                .take_while(|part| part.is_empty())
                .count();
        // An `IoSlice` is an `iovec`, says its documentation; the kernel only reads through it.
        message.msg_hdr.msg_iov = parts.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_iovlen = used as _;
        batch += 1;
    }
    // SAFETY: every pointer in the first `batch` messages leads to memory of the length beside it,
    // which the argument borrows until the call returns.
    let count = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            batch,
            libc::MSG_DONTWAIT,
        )
    };
    check(count).map(|count| count as usize)
}
