//! System calls that rustix does not have, each behind a function that is safe to call. All of the
//! program's `unsafe` code stands here; everything else calls rustix.

mod batch;
mod bpf;
mod interface;
mod mapping;
mod signals;
mod xdp;

pub(crate) use batch::{ControlBuffer, receive, send};
pub use bpf::Hook;
pub(crate) use bpf::{Gate, Held, META, Redirect, TAGGED, Taking, wait_for_packets};
pub use interface::Request;
pub(crate) use interface::names;
pub use signals::{Signal, Signals};
pub(crate) use xdp::{Arrived, Chunk, Layout, Partial, SEND_AT, XdpSocket, XdpSockets};

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

/// The answer of a call that says -1 and sets `errno` when it fails.
fn check<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// `setsockopt(2)` for an option that has no function of its own.
///
/// # Errors
/// What the kernel refuses.
pub fn set_option(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the kernel reads `value.len()` bytes from `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// Has a socket receive what this filter lets through (`socket(7)`, `SO_ATTACH_FILTER`).
pub(crate) fn attach_filter(socket: impl AsFd, filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as libc::c_ushort,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads the program and as many instructions as it says, which outlive the
    // call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// `getsockopt(2)` for an option that has no function of its own: how much of `value` it filled.
///
/// # Errors
/// What the kernel refuses.
pub fn option(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `value` and tells how many in `len`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    check(result).map(|_| len as usize)
}

/// Binds a packet socket to an interface, for frames of all protocols.
pub(crate) fn bind_to_interface(socket: impl AsFd, index: u32) -> io::Result<()> {
    // SAFETY: plain old data for which all zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    // SAFETY: the address outlives the call, and its length is its own.
    let result = unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// Has a packet socket make an interface promiscuous as long as it lives.
pub(crate) fn make_promiscuous(socket: impl AsFd, index: u32) -> io::Result<()> {
    // `struct packet_mreq`: index, type, length of the address, the address.
    let mut request = [0; 16];
    request[..4].copy_from_slice(&index.to_ne_bytes());
    request[4..6].copy_from_slice(&(libc::PACKET_MR_PROMISC as u16).to_ne_bytes());
    let membership = libc::PACKET_ADD_MEMBERSHIP;
    set_option(socket, libc::SOL_PACKET, membership, &request)
}

/// Gives free memory back to the system that the allocator keeps for later (`malloc_trim(3)`). It
/// takes milliseconds, in which other threads wait when they allocate.
pub fn give_memory_back() {
    /// What the allocator may keep at the end of each thread's memory: its usual limit, and the
    /// highest that it goes up to by itself (`mallopt(3)`).
    #[cfg(target_env = "gnu")]
    const KEPT: [libc::c_int; 2] = [128 << 10, 64 << 20];
    /// From 64 KiB on it looks whether it keeps more when something is freed.
    #[cfg(target_env = "gnu")]
    const LARGE: usize = 96 << 10;
    // SAFETY: numbers, a piece of memory that nobody has used, and free memory alone are touched.
    #[cfg(target_env = "gnu")]
    unsafe {
        // `malloc_trim` passes over the end of the memory of threads but the first.
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT[0]);
        libc::free(std::hint::black_box(libc::malloc(LARGE)));
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT[1]);
        libc::malloc_trim(0);
    }
}

/// Gives the calling thread a real-time priority (SCHED_FIFO).
///
/// # Errors
/// What the kernel refuses.
pub fn real_time(priority: libc::c_int) -> io::Result<()> {
    // SAFETY: plain old data for which all zeros is valid.
    let mut parameter: libc::sched_param = unsafe { zeroed() };
    parameter.sched_priority = priority;
    // musl's `sched_setscheduler` refuses: threads are not processes to it.
    // SAFETY: the parameter outlives the call, and 0 means the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO,
            &raw const parameter,
        )
    };
    check(result).map(drop)
}

/// Moves the calling thread into a new, empty network namespace.
pub(crate) fn new_network_namespace() -> io::Result<()> {
    // SAFETY: unsharing is unsafe for the table of descriptors, which stays shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// A TUN device that lives as long as the file, which is its other end: `tun.rst` of the kernel.
/// Each packet has `struct virtio_net_hdr` before it, and may be of several segments in both
/// directions.
///
/// # Errors
/// What the kernel refuses.
pub fn tun(name: &str) -> io::Result<std::fs::File> {
    /// `TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO6` and `TUN_F_TSO_ECN` of `linux/if_tun.h`.
    const OFFLOADS: libc::c_ulong = 1 | 2 | 4 | 8;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let file = tun_device(name, flags)?;
    // SAFETY: the argument of this request is a number.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, OFFLOADS) };
    check(result).map(|_| file)
}

/// A TAP device that lives as long as the file, which is its other end.
#[cfg(test)]
pub(crate) fn tap(name: &str) -> io::Result<std::fs::File> {
    tun_device(name, libc::IFF_TAP | libc::IFF_NO_PI)
}

fn tun_device(name: &str, flags: libc::c_int) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut request = [0_u8; size_of::<libc::ifreq>()];
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    request[..name.len()].copy_from_slice(name.as_bytes());
    request[libc::IFNAMSIZ..][..2].copy_from_slice(&(flags as u16).to_ne_bytes());
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: the request is as long as `struct ifreq`, and outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) };
    check(result).map(|_| file)
}
